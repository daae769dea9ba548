//! Overlap-save with blocks beyond local memory, as 64 or 512 rows.
//!
//! Every block goes over system memory three times: columns forward, rows
//! (forward, product, back), columns back, its pages dealt to the sections. While
//! the rows of one block are computed, the columns of the next and of the one before
//! take turns with them, so that arithmetic and transfers are level. A few blocks
//! can go together, a *unit*, so that factors are loaded once for all of them
//! (`docs/convolution.md`).

mod output_transfers;
mod pages;
mod phase_buffers;
mod schedule;
mod shape;
mod twiddle_tables;

use super::block_filter::{BlockFilter, COMPLEX, FilterPasses};
use super::error::ConvError;
use super::overlap_save::{Digits, digits};
use super::program::program;
use crate::job::{Job, JobError, data_end};
use cp2_asm::Program;
use cp2_host::Buffer;
use cp2_host::paging::{QUAD, RingPass, deals_quads, expect_all, overlap_passes};
use cp2_machine::{Class, Machine};
use num_complex::Complex32;
use pages::{LongAddresses, LongBlocks, LongPhase};
use phase_buffers::{PhaseBuffers, PhaseDmem, PrefetchRoom};
use schedule::{KindTurns, Rounds, build_equal_groups, build_groups, turns};
use shape::{LongBlockShape, PAGE};
use std::sync::{Arc, Mutex, PoisonError};

pub(super) use shape::{BlockMatrix, CUTS};
pub(super) use twiddle_tables::{middle_factors, root};

/// Most taps: all rows but one may overlap.
pub(super) const MOST_TAPS: usize = (512 - 1) * (1 << 10) + 1;

/// Numbers of blocks that may go through their pages together. The more, the fewer factors are moved; but the
/// first and the last unit overlap with nothing, and the number of all blocks should be a multiple.
const TRIED_BLOCKS_TOGETHER: [usize; 11] = [1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16];
/// Most steps in which units grow at the beginning, and shrink at the end.
const MOST_GROWTH_STEPS: u64 = 4;
/// Bytes of local memory that a machine needs: approximately the least that pages, factors and tables take.
const MIN_DMEM_BYTES: u64 = 56 << 10;

/// Number of schedules whose kernels' words are counted; the others are priced by arithmetic.
const COUNTED_SCHEDULES: usize = 2;

/// Number of block counts whose schedules are kept: planning asks for the same few again, a stream for one.
const KEPT_BLOCK_COUNTS: usize = 8;

/// Phases of a filter, and their expected time.
#[derive(Clone, Debug)]
struct LongSchedule {
    turns: Vec<KindTurns>,
    room: PrefetchRoom,
    cycles: f64,
}

/// A filter by blocks beyond local memory.
#[derive(Debug)]
pub(super) struct LongOverlapSave {
    machine: Arc<Machine>,
    program: Arc<Program>,
    shape: LongBlockShape,
    /// Pages of each kind in a block.
    pages: u64,
    rows: Arc<[Complex32]>,
    columns: Arc<[Complex32]>,
    /// Cheapest schedules of the block counts asked for so far. To find one takes longer than the rest of
    /// planning.
    known: Mutex<Vec<(usize, Option<Arc<LongSchedule>>)>>,
}

/// Says what blocks beyond local memory need of a machine.
pub(super) fn needs(machine: &Machine) -> String {
    let (cp2, dma) = (&machine.cp2, &machine.dma);
    format!(
        "blocks beyond local memory take a DMA that deals 16 bytes to a section at a time, {MIN_DMEM_BYTES} bytes of local memory and sections by which {} can be divided; these are {}, {} and {}",
        CUTS[0].numbers() / PAGE,
        dma.dealt(),
        cp2.dmem.0,
        cp2.sections,
    )
}

/// Returns the filters with blocks of one kind; none where the blocks cannot be dealt to the sections or
/// local memory is too small.
pub(super) fn filters(
    taps: &[Complex32],
    cut: BlockMatrix,
    machine: &Arc<Machine>,
) -> Result<Vec<BlockFilter>, ConvError> {
    let Digits { outer, middle } = digits(cut.row);
    let defines = [
        ("R", cut.row as i64),
        ("A", outer.into()),
        ("M", middle as i64),
        ("C", cut.passes().into()),
    ];
    let shape = LongBlockShape {
        cut,
        sections: machine.cp2.sections,
        together: 1,
        overlap: cut.overlap(taps.len(), machine.cp2.sections),
    };
    let Some(pages) = shape.pages().filter(|_| deals_quads(machine)) else {
        return Ok(Vec::new());
    };
    let program = Arc::new(program(
        ("overlap_save_long.s", &title(cut)),
        &defines,
        "",
        machine,
    )?);
    let rows: Arc<[Complex32]> = twiddle_tables::rows(taps, &shape).into();
    let columns: Arc<[Complex32]> = twiddle_tables::columns(&shape).into();
    let longs = TRIED_BLOCKS_TOGETHER.map(|together| LongOverlapSave {
        machine: machine.clone(),
        program: program.clone(),
        shape: LongBlockShape { together, ..shape },
        pages: pages as u64,
        rows: rows.clone(),
        columns: columns.clone(),
        known: Mutex::default(),
    });
    let fit = longs.into_iter().filter(LongOverlapSave::fits);
    Ok(fit.map(LongOverlapSave::filter).collect())
}

/// Returns the name of the kernel for users.
pub(super) fn title(cut: BlockMatrix) -> String {
    format!("overlap-save {} by rows of {}", cut.numbers(), cut.row)
}

impl LongOverlapSave {
    fn filter(self) -> BlockFilter {
        let LongBlockShape {
            cut,
            together,
            overlap: lead,
            ..
        } = self.shape;
        let n = self.shape.numbers();
        let turns = match together {
            1 => String::new(),
            _ => format!(", {together} blocks in turn"),
        };
        BlockFilter {
            title: title(cut) + &turns,
            program: self.program.clone(),
            machine: self.machine.clone(),
            lead,
            window: n,
            rows: None,
            hop: n - lead,
            out: n - lead,
            apart: n - lead,
            skip: 0,
            first: 0,
            in_place: true,
            fixed: true,
            deal: 1,
            operations: Vec::new(),
            cycles_per_block: 0,
            passes: Some(Arc::new(self)),
            mixes: Some(lead),
            exact: false,
            keep: 1,
        }
    }

    /// Returns whether local memory has room for all pages that alternate.
    fn fits(&self) -> bool {
        let blocks = self.shape.together as u64;
        let three = build_groups(3 * blocks, blocks, blocks).unwrap_or_default();
        let turns = turns(&three, self.pages, Rounds::Single);
        self.passes(&turns, PrefetchRoom::Both, LongAddresses::NOWHERE)
            .is_some()
    }

    /// Returns the passes of phases, if local memory has room for all of them. Phases of more than one kind
    /// have at most the room `most` for prefetched factors and taps.
    fn passes(
        &self,
        turns: &[KindTurns],
        most: PrefetchRoom,
        at: LongAddresses,
    ) -> Option<Vec<(&'static str, RingPass)>> {
        let blocks = LongBlocks {
            shape: self.shape,
            pages: self.pages,
            at,
        };
        let local = PhaseDmem {
            first: data_end(&self.program).next_multiple_of(QUAD),
            dmem: self.machine.cp2.dmem.0,
            most,
        };
        let places = |areas: usize| -> Option<Vec<PhaseBuffers>> {
            let all = turns.iter().enumerate();
            all.map(|(number, (kinds, _))| local.places(kinds, &self.shape, (number, areas)))
                .collect()
        };
        // The argument blocks of two adjacent phases lie apart, unless that leaves less room for factors.
        let rooms = |all: &[PhaseBuffers]| all.iter().map(|places| places.room).collect::<Vec<_>>();
        let one = places(1)?;
        let two = places(2).filter(|two| rooms(two) == rooms(&one));
        let mut names = Vec::new();
        let mut all = Vec::new();
        for ((kinds, steps), places) in turns.iter().zip(two.unwrap_or(one)) {
            let PhaseBuffers { ring, room, taps } = places;
            let phase = LongPhase {
                blocks,
                kinds: kinds.clone(),
                steps: *steps,
                room,
                taps,
            };
            let entry = phase.entry();
            names.push(entry);
            all.push(RingPass::new(ring, phase).price_by_kernel(&self.program, entry));
        }
        Some(
            names
                .into_iter()
                .zip(overlap_passes(all, &self.machine))
                .collect(),
        )
    }

    /// Returns the phases of `total` blocks in the schedule with the shortest expected time, from the
    /// schedules kept if possible.
    fn cheapest(&self, total: usize) -> Option<Arc<LongSchedule>> {
        let kept = || self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let known = kept().iter().find(|known| known.0 == total).cloned();
        if let Some((_, way)) = known {
            return way;
        }
        let way = self.search(total).map(Arc::new);
        let mut kept = kept();
        if kept.len() == KEPT_BLOCK_COUNTS {
            kept.remove(0);
        }
        kept.push((total, way.clone()));
        way
    }

    /// Searches for the cheapest schedule of `total` blocks.
    fn search(&self, total: usize) -> Option<LongSchedule> {
        let together = self.shape.together as u64;
        let first = together.div_ceil(MOST_GROWTH_STEPS)..=together;
        // Units are all of one size, or the second is at most twice as large as the first.
        let first = first.filter(|first| *first == together || 2 * first <= together);
        let ways = first.flat_map(|first| {
            let units = build_groups(total as u64, together, first);
            let rounds = &Rounds::ALL[..if first < together { 3 } else { 1 }];
            let turns = |rounds: &Rounds| Some(turns(units.as_ref()?, self.pages, *rounds));
            let mut turns: Vec<Vec<KindTurns>> = rounds.iter().filter_map(turns).collect();
            turns.dedup();
            turns
        });
        let thirds = (together.div_ceil(3)..=together).filter(|_| together.is_multiple_of(2));
        let alike = thirds.filter_map(|first| build_equal_groups(total as u64, together, first));
        let ways = ways.chain(alike.map(|units| turns(&units, self.pages, Rounds::Merged)));
        let priced = |turns: Vec<KindTurns>, room: PrefetchRoom| {
            let passes = self.passes(&turns, room, LongAddresses::NOWHERE)?;
            let passes: Vec<_> = passes
                .into_iter()
                .map(|(_, pass)| pass.price_by_arithmetic())
                .collect();
            let cycles = expect_all(&passes, &self.machine);
            Some(LongSchedule {
                turns,
                room,
                cycles,
            })
        };
        let less = |a: &LongSchedule, b: &LongSchedule| a.cycles.total_cmp(&b.cycles);
        // With less room for prefetched tables, the next phase's buffers may keep their places.
        let rooms = |turns: Vec<KindTurns>| {
            [PrefetchRoom::Both, PrefetchRoom::Taps].map(|room| priced(turns.clone(), room))
        };
        // Counting the words of all schedules would take seconds: only the cheapest by arithmetic and
        // transfers are counted.
        let mut ways: Vec<LongSchedule> = ways.flat_map(rooms).flatten().collect();
        ways.sort_by(less);
        let counted = ways.into_iter().take(COUNTED_SCHEDULES).filter_map(|way| {
            let passes = self.passes(&way.turns, way.room, LongAddresses::NOWHERE)?;
            let cycles = expect_all(passes.iter().map(|(_, pass)| pass), &self.machine);
            Some(LongSchedule { cycles, ..way })
        });
        counted.min_by(less)
    }
}

impl FilterPasses for LongOverlapSave {
    fn append(
        &self,
        job: &mut Job,
        x: Buffer<Complex32>,
        y: Buffer<Complex32>,
        total: usize,
    ) -> Result<(), JobError> {
        let mut at = LongAddresses {
            x: x.address(),
            between: [0; 3],
            rows: job.table(&self.rows)?.address(),
            columns: job.table(&self.columns)?.address(),
            y: y.address(),
        };
        let numbers = (self.shape.together * self.shape.numbers()) as u64;
        for place in &mut at.between {
            *place = job.temporary::<Complex32>(numbers)?.address();
        }
        let program = job.program("overlap-save by rows", &self.program)?;
        let way = self.cheapest(total);
        let passes = way.and_then(|way| self.passes(&way.turns, way.room, at));
        for (name, pass) in passes.unwrap_or_default() {
            job.ring(&program, name, pass)?;
        }
        Ok(())
    }

    fn bytes(&self, _blocks: usize) -> u64 {
        let tables = (self.rows.len() + self.columns.len()) as u64 * COMPLEX;
        tables + 3 * (self.shape.together * self.shape.numbers()) as u64 * COMPLEX
    }

    fn min_blocks(&self) -> usize {
        self.shape.together
    }

    fn estimate(&self, total: usize) -> Option<f64> {
        (total >= self.min_blocks())
            .then(|| self.cheapest(total))
            .flatten()
            .map(|way| way.cycles)
    }

    fn operations(&self, total: usize) -> Vec<Vec<(Class, u64)>> {
        let way = self.cheapest(total);
        let phases = way.iter().flat_map(|way| &way.turns);
        let operations = |(shares, steps): &KindTurns| self.shape.operations(shares, *steps);
        phases.map(operations).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conv::block_filter::BlockFilter;

    /// Local memory has room for every kind of blocks, and on both machines for many blocks of 2^15 in turn.
    #[test]
    fn all_blocks_fit_the_machines() {
        for name in ["vm7", "vm9"] {
            let machine = Arc::new(Machine::builtin(name).unwrap());
            for cut in CUTS {
                let filters: Vec<BlockFilter> =
                    filters(&[Complex32::ONE; 10], cut, &machine).unwrap();
                let many = if cut.numbers() == 1 << 15 { 11 } else { 2 };
                assert!(filters.len() >= many, "{name} {cut:?}: {}", filters.len());
            }
        }
    }
}
