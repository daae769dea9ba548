//! Direct decimating filters in transposed form: no sample is loaded twice.
//!
//! There is an output every M samples, and the blocks of a section follow each other.
//!
//! The samples of a block are rows of M, one for each output. An output's taps reach its own row and rows
//! before it. A turn of the inner loop takes a number of every row of a tile and the taps that it meets, and
//! adds the products to the sums of the rows' outputs and of later ones. These sums are carried on, from a
//! tile to the next and from a block to the next, so that a block needs no samples before its own. With real
//! taps and odd M, rows have 2 M numbers and two outputs; see `polyphase`.

mod pages;

use super::block_filter::{BlockFilter, COMPLEX};
use super::error::ConvError;
use super::polyphase_loop::{OperandForm, PolyphaseLoop, TileSums, TransposedFormTurns};
use super::program::{PageText, fill, program};
use crate::assembly::moves;
use crate::pipeline::Operations;
use cp2_host::paging::Ring;
use cp2_machine::{Class, Machine};
use num_complex::Complex32;
use pages::TransposedFormPass;
use std::fmt::Write as _;
use std::sync::Arc;

/// Samples for an output from which on this form pays.
const MIN_DECIMATION: usize = 9;
/// Rows of a tile that are tried, the best first.
const TRIED_TILE_ROWS: [usize; 4] = [8, 6, 4, 2];
/// Numbers of rows of a tile for which filters are made: the greatest that fits, and the next.
const TRIED_ROW_COUNTS: usize = 2;
/// Blocks in local memory.
const BUFFERS: usize = 2;
/// Pair registers that a turn needs in addition to its sums, at least.
const RESERVED_PAIR_REGISTERS: usize = 12;
/// Number of pair registers.
const PAIR_REGISTERS: usize = 64;

/// Tiles of a filter on a machine.
#[derive(Clone, Debug)]
struct TransposedForm {
    decimate: usize,
    real: bool,
    /// Numbers of a row.
    row: usize,
    /// Outputs of a row.
    passes: usize,
    /// Rows of a tile.
    rows: usize,
    /// Number of rows whose samples an output needs, its own included.
    reach: usize,
    table: Vec<Complex32>,
    /// True if the table has zeros that the user has not given.
    fills: bool,
    /// Loops of each output of a row.
    loops: Vec<Vec<PolyphaseLoop>>,
    operations: Operations,
}

/// Returns all such filters that the machine has room for; none for few taps, where outputs share no samples.
pub(super) fn filters(
    taps: &[Complex32],
    decimate: usize,
    machine: &Arc<Machine>,
) -> Vec<Result<BlockFilter, ConvError>> {
    tiles(taps, decimate, machine)
        .take(TRIED_ROW_COUNTS)
        .flat_map(|(carried, most)| {
            let fewer = |&tiles: &usize| (tiles > 1).then_some(tiles / 2);
            let sizes = std::iter::successors(Some(most), fewer);
            sizes.map(move |tiles| carried.filter(tiles, machine))
        })
        .collect()
}

/// Returns whether such a filter fits the machine.
pub(super) fn fits(taps: &[Complex32], decimate: usize, machine: &Arc<Machine>) -> bool {
    let mut all = tiles(taps, decimate, machine).take(TRIED_ROW_COUNTS);
    all.any(|(carried, _)| carried.filter(1, machine).is_ok())
}

/// Returns the tiles for which there is room, and the most of each in a block.
fn tiles(
    taps: &[Complex32],
    decimate: usize,
    machine: &Machine,
) -> impl Iterator<Item = (TransposedForm, usize)> {
    let tried = TRIED_TILE_ROWS
        .into_iter()
        .filter(move |_| decimate >= MIN_DECIMATION);
    tried.filter_map(move |rows| {
        let carried = TransposedForm::new(taps, decimate, rows, machine)?;
        let most = carried.most_tiles(machine);
        (most > 0).then_some((carried, most))
    })
}

impl TransposedForm {
    fn new(taps: &[Complex32], decimate: usize, rows: usize, machine: &Machine) -> Option<Self> {
        let real = taps.iter().all(|h| h.im == 0.0);
        let (unit, numbers, pairs) = if real {
            (OperandForm::Real, 2, 2)
        } else {
            (OperandForm::Complex, 1, 1)
        };
        let passes = if real { 1 + decimate % 2 } else { 1 };
        let row = decimate * passes;
        let most = taps.len() / row + 2;
        if taps.len() <= decimate
            || pairs * (rows + most) > PAIR_REGISTERS - RESERVED_PAIR_REGISTERS
        {
            return None;
        }
        let (mut table, mut fills) = (Vec::new(), false);
        let mut all: Vec<Vec<TransposedFormTurns>> = Vec::new();
        for pass in 0..passes {
            // Place of an output's own sample in its row.
            let own = pass * decimate + Self::own_sample_index(decimate);
            let mut turns: Vec<TransposedFormTurns> = Vec::new();
            for turn in 0..row / numbers {
                let first = row - numbers * (turn + 1);
                let at = |place: usize, back: usize| {
                    let tap = (own + back * row).checked_sub(place)?;
                    taps.get(tap).copied()
                };
                let meets = |back: &usize| (first..first + numbers).any(|p| at(p, *back).is_some());
                let mut backs = (0..most).filter(meets);
                let (Some(from), Some(last)) = (backs.clone().next(), backs.next_back()) else {
                    continue;
                };
                let tap = COMPLEX as i64 * table.len() as i64;
                for back in from..=last {
                    for place in first..first + numbers {
                        let tap = at(place, back);
                        fills |= tap.is_none();
                        let h = tap.unwrap_or_default();
                        let twice = Complex32::new(h.re, h.re);
                        table.push(if real { twice } else { h });
                    }
                }
                let reached = from..last + 1;
                match turns.last_mut().filter(|t| t.taps == reached) {
                    Some(turns) => turns.turns += 1,
                    None => turns.push(TransposedFormTurns {
                        unit,
                        taps: reached,
                        turns: 1,
                        at: [(COMPLEX as usize * first) as i64, tap],
                    }),
                }
            }
            all.push(turns);
        }
        let reach = all.iter().flatten().map(|turns| turns.taps.end).max()?;
        let mut operations = Operations::default();
        let sums = Self::sums(real, rows, reach);
        let apart = (COMPLEX as usize * row) as i64;
        let of = |turns: &Vec<TransposedFormTurns>| -> Option<Vec<PolyphaseLoop>> {
            let loops = turns.iter();
            loops
                .map(|turns| PolyphaseLoop::rows(turns, (rows, apart), &sums, machine))
                .collect()
        };
        let loops: Vec<Vec<PolyphaseLoop>> = all.iter().map(of).collect::<Option<_>>()?;
        for made in loops.iter().flatten() {
            operations.join(&made.operations, 1);
        }
        Some(Self {
            decimate,
            real,
            row,
            passes,
            rows,
            reach,
            table,
            fills,
            loops,
            operations,
        })
    }

    /// Returns the place of an output's own sample among the M samples of the output: the last, or the one
    /// before, so that signals begin at granules.
    fn own_sample_index(decimate: usize) -> usize {
        (decimate - 1) / 2 * 2
    }

    /// Returns the sums of the outputs of a tile's rows, and of the following outputs that have been begun.
    fn sums(real: bool, rows: usize, reach: usize) -> TileSums {
        TileSums {
            real,
            width: rows + reach - 1,
            first: 0,
            stride: 1,
        }
    }

    /// Returns the quads of the sums that are carried on for an output of a row.
    fn quads(&self) -> usize {
        let sums = self.reach - 1;
        if self.real { sums } else { sums.div_ceil(2) }
    }

    /// Returns the numbers of a block, and of its outputs.
    fn block(&self, tiles: usize) -> [usize; 2] {
        let rows = tiles * self.rows;
        [rows * self.row, rows * self.passes]
    }

    fn most_tiles(&self, machine: &Machine) -> usize {
        let data = 16 + 16 * self.passes * self.quads() + COMPLEX as usize * self.table.len();
        let taken = data as u64 + Ring::argument_bytes(BUFFERS) + 32;
        let each = BUFFERS * self.block(1).iter().sum::<usize>();
        let room = machine.cp2.dmem.0.saturating_sub(taken);
        usize::try_from(room / (each as u64 * COMPLEX).max(1)).unwrap_or(0)
    }

    /// Writes the page for a block of `tiles` tiles.
    fn page(&self, tiles: usize, machine: &Machine) -> PageText {
        let sums = Self::sums(self.real, self.rows, self.reach);
        let [numbers, outputs] = self.block(1).map(|n| n as u64 * COMPLEX);
        let (carried, bytes) = (self.reach - 1, if self.real { 16 } else { 8 });
        let name = |o: usize| match self.real {
            true => format!("q q{}", sums.register(o) / 2),
            false => format!("p r{}", sums.register(o)),
        };
        let mut page = PageText::default();
        for (pass, loops) in self.loops.iter().enumerate() {
            let place = 16 * pass * self.quads();
            let mut text = String::new();
            let _ = write!(
                text,
                "    mov a8, a12\n    mov a9, a10\n    movi s14, {numbers}\n    movi s15, {outputs}\n    movi a11, zero\n    loop {tiles} {{\n"
            );
            for o in 0..carried {
                let _ = writeln!(
                    text,
                    "    ld{}, [a11 + {}]",
                    name(o),
                    16 + place + bytes * o
                );
            }
            for o in carried..sums.width {
                let _ = writeln!(text, "    ld{}, [a11]", name(o));
            }
            let mut tile = sums.width as u64;
            page.add_words(&text);
            for (turn, each) in loops.iter().enumerate() {
                tile += each.write(&format!("turns{pass}_{turn}"), &mut page);
            }
            let mut text = String::new();
            for o in 0..carried {
                let at = 16 + place + bytes * o;
                let _ = writeln!(text, "    st{}, [a11 + {at}]", name(self.rows + o));
            }
            for o in 0..self.rows {
                let r = sums.register(o);
                if self.real {
                    let _ = writeln!(text, "    add r{r}, r{r}, r{}", r + 1);
                }
                tile += u64::from(self.real);
            }
            for o in 0..self.rows {
                let (r, at) = (sums.register(o), 8 * (pass + o * self.passes));
                let _ = writeln!(text, "    stp r{r}, [a9 + {at}]");
            }
            text += "    add a8, a8, s14\n    add a9, a9, s15\n    }\n";
            page.add_words(&text);
            let latency = machine.cp2.latency[Class::Madd].0;
            tile += (carried + self.rows) as u64 + 2 + latency;
            page.cycles += tiles as u64 * tile + 6 + machine.cp2.loop_setup.0;
        }
        page
    }

    fn filter(&self, tiles: usize, machine: &Arc<Machine>) -> Result<BlockFilter, ConvError> {
        let title = format!(
            "direct, sums carried on, an output every {} samples",
            self.decimate
        );
        let [hop, out] = self.block(tiles);
        let page = self.page(tiles, machine);
        let defines = [
            ("TAPS", self.table.len() as i64),
            ("SUMS", (self.passes * self.quads()).max(1) as i64),
        ];
        let mut program = program(
            ("transposed_form.s", "direct filter"),
            &defines,
            &page.text,
            machine,
        )?;
        fill(&mut program, "taps", &self.table);
        let program = Arc::new(program);
        // Number of blocks at the beginning of a section whose outputs lack earlier samples.
        let before = ((self.reach - 1) * self.row).div_ceil(hop);
        let blocks = TransposedFormPass {
            title: title.clone(),
            machine: machine.clone(),
            program: program.clone(),
            hop: hop as u64 * COMPLEX,
            out: out as u64 * COMPLEX,
            before: before as u64,
            operations: self.operations.times(tiles as u64),
        };
        moves(&title, &blocks.pass(1, [0; 2]), machine)?;
        let filter = BlockFilter {
            title,
            program,
            machine: machine.clone(),
            lead: before * hop + Self::own_sample_index(self.decimate),
            window: (before + 1) * hop,
            rows: None,
            hop,
            out,
            apart: out,
            skip: 0,
            first: 0,
            in_place: false,
            fixed: true,
            deal: machine.cp2.sections,
            operations: Vec::new(),
            cycles_per_block: page.cycles,
            passes: None,
            mixes: None,
            exact: !self.fills,
            keep: 1,
        };
        Ok(filter.with_passes(blocks))
    }
}
