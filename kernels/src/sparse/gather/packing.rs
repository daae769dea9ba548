//! A matrix packed into pages.

use super::block::{BlockBuilder, RowBlock, VectorPlace};
use super::group_pairs::match_slots;
use super::lane_masks::Masks;
use super::layout::BlockGrid;
use super::page_growth::WordCounts;
use super::page_values::EntryOfValue;
use super::pages::{
    GatherLayout, GatherPage, MatrixTile, PAGE_BUFFERS, STEP_VALUE_BYTES, branch, control, event,
    movi,
};
use super::registers::GatherRegisters;
use super::slot_assignment::{ColumnLanes, ColumnValues, MultiplicationSlot, slots};
use super::word_packing::WordOperations;
use crate::sparse::SparseError;
use crate::sparse::work::PackingWork;
use cp2_asm::Program;
use cp2_asm::isa::{Inst, Op, Scalar};
use cp2_emu::cycles::{Counter, KernelInterval, Mark};
use cp2_machine::{Class, ClassMap, Machine};
use cp2_problems::sparse::{MatrixEntries, SparseMatrix};

/// Words reserved in a page in addition to those of its blocks: its begin and end, an unfinished step and
/// delayed operations.
const RESERVED_PAGE_WORDS: usize = 192;

/// Pages of a matrix, the steps of the kernel, and the operations issued.
#[derive(Debug)]
pub(super) struct PackedPages {
    pub(super) pages: Vec<GatherPage>,
    pub(super) steps: Vec<KernelInterval>,
    /// Operations issued: arithmetic by class, and accesses without arithmetic in the same word.
    pub(super) operations: ClassMap<u64>,
}

/// Operations for an entry of a block: its column, from the first of the segment on, stored.
const COLUMN_OPERATIONS: u64 = 3;
/// Operations for a place of a slot: its entry is compared with none; the first of its row is added, and
/// stored.
const PLACE_OPERATIONS: u64 = 5;
/// Operations for a word: two operations are joined and counted by their classes.
const WORD_OPERATIONS: u64 = 16;
/// Operations to encode a word, which is done twice, once to count its cycles: for up to four operands of
/// each slot, the field, the number of bits, and joining them.
const ENCODING_OPERATIONS: u64 = 2 * 8 * 6;
/// Operations to count the cycles of a word: it is decoded twice, for the flow and for its times, by up to
/// eight fields of six operations each; then the waits, by eight registers of four operations each.
const CYCLE_COUNT_OPERATIONS: u64 = 2 * 8 * 6 + 8 * 4;
/// Operations for a value: where its row begins, its number in the row, the number itself, stored.
const VALUE_OPERATIONS: u64 = 6;

/// Returns the entries of a block assigned to slots, and the rows of its groups.
pub(super) fn block(
    matrix: &SparseMatrix,
    lanes: ColumnLanes,
    (grid, tile, number): (BlockGrid, &MatrixTile, usize),
    work: &PackingWork,
) -> (Vec<Vec<MultiplicationSlot>>, Vec<Vec<usize>>) {
    let (from, to) = (tile.columns.start as u32, tile.columns.end as u32);
    let width = to - from;
    let (mut groups, mut rows) = (Vec::new(), Vec::new());
    for group in 0..grid.groups() {
        let own: Vec<usize> = (0..grid.sections)
            .map(|section| grid.row(number, section, group))
            .collect();
        let parts: Vec<(u32, Vec<u32>)> = own
            .iter()
            .map(|&row| {
                let columns = if row < matrix.rows() {
                    matrix.columns_of(row)
                } else {
                    &[]
                };
                work.searched_often(2, columns.len());
                let begin = columns.partition_point(|&column| column < from);
                let end = columns.partition_point(|&column| column < to);
                let columns = columns[begin..end].iter().map(|column| column - from);
                work.add(columns.len(), COLUMN_OPERATIONS);
                (begin as u32, columns.collect())
            })
            .collect();
        let columns: Vec<&[u32]> = parts
            .iter()
            .map(|(_, columns)| columns.as_slice())
            .collect();
        let mut dealt = slots(&columns, lanes, width, work);
        for slot in &mut dealt {
            work.add(slot.entries.len(), PLACE_OPERATIONS);
            for (place, entry) in slot.entries.iter_mut().enumerate() {
                if let Some(entry) = entry {
                    *entry += parts[place / lanes.entries_per_section()].0;
                }
            }
        }
        groups.push(dealt);
        rows.push(own);
    }
    match_slots(&mut groups, work);
    (groups, rows)
}

/// Builds the pages of a matrix.
struct PageBuilder<'a> {
    matrix: &'a SparseMatrix,
    numbers: ColumnValues,
    lanes: ColumnLanes,
    layout: &'a GatherLayout,
    resident: &'a Program,
    machine: &'a Machine,
    work: &'a PackingWork,
    made: PackedPages,
    /// Words that begin the next page.
    begin: Vec<cp2_asm::isa::Word>,
    page: GatherPage,
    pace: WordCounts,
}

/// Packs a matrix into pages.
pub(super) fn pages(
    matrix: &SparseMatrix,
    (numbers, lanes, balance): (ColumnValues, ColumnLanes, f64),
    (grid, layout, tiles): (BlockGrid, &GatherLayout, &[MatrixTile]),
    (registers, mut masks, resident): (&GatherRegisters, Masks, &Program),
    (machine, work): (&Machine, &PackingWork),
) -> Result<PackedPages, SparseError> {
    let mut making = PageBuilder {
        matrix,
        numbers,
        lanes,
        layout,
        resident,
        machine,
        work,
        made: PackedPages {
            pages: Vec::new(),
            steps: Vec::new(),
            operations: ClassMap::default(),
        },
        begin: Vec::new(),
        page: GatherPage::default(),
        pace: WordCounts::new(balance, matrix.nnz()),
    };
    let mut maker = BlockBuilder::new(registers, &mut masks, (numbers, lanes), (machine, work));
    maker.load_single_section_values(layout.single_section_address(0));
    // Number of the buffer of results in use.
    let mut results = 1;
    // First page that may write each buffer: the stores of a page are done before the page so many behind it
    // is loaded.
    let mut free = [0; 2];
    for (i, tile) in tiles.iter().enumerate() {
        if tile.first {
            results = 1 - results;
            // Rows without entries may make a single page; empty pages then let the store before end.
            while making.made.pages.len() < free[results] {
                making.end(&mut maker, false)?;
            }
        }
        if !tile.loaded {
            making.segment(tile, layout.segment);
        }
        let x = VectorPlace {
            own: layout.segment,
            shifted: layout.shifted,
            lanes,
        };
        // Units of the result that pages of the tile have stored.
        let mut stored = tile.blocks.start / grid.unit;
        for number in tile.blocks.clone() {
            let (groups, rows) = block(matrix, lanes, (grid, tile, number), work);
            let slots = groups.iter().flatten();
            making.pace.entries += slots.flat_map(|slot| slot.entries.iter().flatten()).count();
            let result =
                |number: usize| layout.results[results] + 16 * (number - tile.blocks.start) as u32;
            let block = RowBlock {
                groups,
                rows,
                result: result(number),
                adds: !tile.first,
            };
            let mut end =
                |maker: &mut BlockBuilder<'_>, making: &mut PageBuilder<'_>, done: usize| {
                    let units = done / grid.unit;
                    if tile.last && units > stored {
                        let local = result(stored * grid.unit);
                        making.page.results = Some((stored..units, local));
                        stored = units;
                    }
                    making.end(maker, false)
                };
            maker.block(&block, x, |maker| {
                if making.is_full(maker) {
                    end(maker, &mut making, number)?;
                }
                Ok::<(), SparseError>(())
            })?;
            let done = number + 1;
            if done < tile.blocks.end && making.is_full(&maker) {
                end(&mut maker, &mut making, done)?;
            }
        }
        // The next tile needs another page for its segment and its results.
        let units = tile.blocks.end.div_ceil(grid.unit);
        if tile.last && units > stored {
            making.page.results = Some((
                stored..units,
                result_address(layout, results, (tile, stored * grid.unit)),
            ));
        }
        making.end(&mut maker, i + 1 == tiles.len())?;
        if tile.last {
            free[results] = making.made.pages.len() - 1 + PAGE_BUFFERS;
        }
    }
    Ok(making.made)
}

fn result_address(
    layout: &GatherLayout,
    results: usize,
    (tile, number): (&MatrixTile, usize),
) -> u32 {
    layout.results[results] + 16 * (number - tile.blocks.start) as u32
}

impl PageBuilder<'_> {
    /// Makes the next page bring a segment of the vector.
    fn segment(&mut self, tile: &MatrixTile, at: u32) {
        self.page.segment = Some((tile.columns.clone(), at));
        if self.lanes == ColumnLanes::Either {
            let quads = tile.columns.len().div_ceil(4) as i32 - 1;
            let unroll = self.resident.symbol("UNROLL").unwrap_or(1).max(1) as i32;
            self.begin.extend([
                movi(Scalar::address(9), at as i32),
                movi(Scalar::control(9), quads / unroll),
                movi(Scalar::control(10), quads % unroll),
            ]);
            let shift = self.resident.symbol("shift").unwrap_or(0);
            self.begin
                .push(branch(Op::Call, u16::try_from(shift).unwrap_or(u16::MAX)));
        }
    }

    /// Returns whether the operations so far make a page.
    fn is_full(&self, maker: &BlockBuilder<'_>) -> bool {
        let [arithmetic, memory] = maker.ops.counts();
        let [all, alone] = maker.values.bytes(if self.lanes == ColumnLanes::Both {
            8
        } else {
            4
        });
        let room = self.layout.most_words.saturating_sub(RESERVED_PAGE_WORDS);
        maker.ops.len() >= self.pace.target.min(room)
            || arithmetic + memory >= room
            || all + STEP_VALUE_BYTES > self.layout.value_bytes - self.layout.alone
            || self.layout.alone > 0 && alone + STEP_VALUE_BYTES > self.layout.alone
    }

    /// Ends a page.
    fn end(&mut self, maker: &mut BlockBuilder<'_>, last: bool) -> Result<(), SparseError> {
        let (ops, values) = maker.finish_page();
        let number = self.made.pages.len();
        let mut page = std::mem::take(&mut self.page);
        page.words = self.words(ops, number, last)?;
        page.values = values.all.iter().flat_map(|own| self.values(own)).collect();
        page.alone = values.alone.iter().map(|own| self.values(own)).collect();
        let shifted = match &page.segment {
            Some((columns, _)) if self.lanes == ColumnLanes::Either => columns.len(),
            _ => 0,
        };
        self.pace.page(page.words.len(), shifted);
        self.made.pages.push(page);
        maker.load_single_section_values(self.layout.single_section_address(number + 1));
        Ok(())
    }

    /// Returns the words of a page, and counts their operations and cycles.
    fn words(
        &mut self,
        ops: WordOperations,
        number: usize,
        last: bool,
    ) -> Result<Vec<u64>, SparseError> {
        let mut words = vec![movi(
            Scalar::address(8),
            self.layout.values[number % PAGE_BUFFERS] as i32,
        )];
        words.append(&mut self.begin);
        let own = ops.words(&self.machine.cp2, self.work);
        self.work.add(own.len(), WORD_OPERATIONS);
        for word in &own {
            let issued = match (word.arith.op, word.mem.op) {
                (Op::Nop, Op::MemNop) => continue,
                (Op::Nop, _) => Class::Load,
                (arithmetic, _) => arithmetic.row().class,
            };
            self.made.operations[issued] += 1;
        }
        words.extend(own);
        words.push(event(Op::Signal, 1));
        let mut counted = words.clone();
        if last {
            words.push(control(Inst::new(Op::Stop)));
            counted.push(control(Inst::new(Op::Stop)));
        } else {
            words.push(event(Op::Wait, 0));
            words.push(branch(
                Op::Jmp,
                self.layout.code[(number + 1) % PAGE_BUFFERS],
            ));
            counted.push(event(Op::Wait, 0));
            counted.push(control(Inst::new(Op::Stop)));
        }
        let granule = (self.machine.dma.granule.0 as usize / 8).max(1);
        words.resize(
            words.len().next_multiple_of(granule),
            control(Inst::new(Op::MemNop)),
        );
        self.work.add(words.len(), ENCODING_OPERATIONS);
        let encode =
            |words: &[cp2_asm::isa::Word]| words.iter().map(|word| word.encode()).collect();
        let steps = self.steps(encode(&counted), number, last)?;
        self.made.steps.extend(steps);
        Ok(encode(&words))
    }

    /// Returns the cycles of a page by the issue rule, from the wait for it to the wait for the next.
    fn steps(
        &self,
        page: Vec<u64>,
        number: usize,
        last: bool,
    ) -> Result<Vec<KernelInterval>, SparseError> {
        let code = usize::from(self.layout.code[0]);
        let mut words: Vec<u64> = self.resident.words[..code].to_vec();
        words.extend(page);
        let entry = match number {
            0 => self.resident.entry.into(),
            _ => {
                // The end of the page before.
                let entry = words.len() as u32;
                words.push(event(Op::Wait, 0).encode());
                words.push(branch(Op::Jmp, self.layout.code[0]).encode());
                entry
            }
        };
        self.work.add(words.len(), CYCLE_COUNT_OPERATIONS);
        let mut counter = Counter::new(&words, entry, Vec::new(), self.machine)?;
        let counted = counter.count(self.machine, 0, (0, &[]))?;
        let own = counted.steps().skip(usize::from(number > 0));
        Ok(own.filter(|step| last || step.mark != Mark::Stop).collect())
    }

    /// Returns the bits of the values of a section, in whole granules.
    fn values(&self, sources: &[EntryOfValue]) -> Vec<u32> {
        let granule = (self.machine.dma.granule.0 as usize / 4).max(4);
        self.work.add(sources.len(), VALUE_OPERATIONS);
        let mut values = Vec::new();
        for source in sources {
            let entry = source.map(|(row, entry)| self.matrix.range(row).start + entry as usize);
            match self.matrix.coefficients() {
                MatrixEntries::Complex(_) => {
                    let z = entry.map(|entry| self.matrix.value(entry));
                    let z = z.unwrap_or_default();
                    values.extend([z.re, z.im].map(f32::to_bits));
                }
                MatrixEntries::DoubleSingle(_) => {
                    let parts = entry.map_or([0.0; 2], |entry| self.matrix.double_single(entry));
                    values.extend(parts.map(f32::to_bits));
                }
                MatrixEntries::Double(_) => {
                    let value = entry.map_or(0.0, |entry| self.matrix.wide(entry));
                    // The lower half comes first.
                    let bits = value.to_bits();
                    values.extend([bits as u32, (bits >> 32) as u32]);
                }
                _ => {
                    let value = entry.map_or(0.0, |entry| self.matrix.real(entry));
                    let value = value.to_bits();
                    values.push(value);
                    if self.numbers == ColumnValues::Two {
                        values.push(value);
                    }
                }
            }
        }
        values.resize(values.len().next_multiple_of(granule), 0);
        values
    }
}
