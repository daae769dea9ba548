//! Polyphase FIR filters: loops through the phases of the taps.
//!
//! They serve rates at which a block has few outputs, or a sample has many. The inner loop goes through the
//! phases, the outer one along the block.
//!
//! Decimation, an output every M samples: taps and samples whose distance is a multiple of M form a phase. A
//! turn of the loop applies a phase to all outputs of a tile, whose sums stay in registers. Interpolation, I
//! outputs a sample: a turn computes one or two phases of the outputs of a tile from the same samples.
//!
//! An issue multiplies two complex samples by real taps: two adjacent samples of one output, whose sums are
//! added at the end, or one sample for two adjacent outputs. Quads begin at even numbers: where M or I is
//! odd, the block is walked twice, once for every other output or sample.

use super::polyphase_loop::{OperandForm, PhaseTapCounts, PolyphaseLoop, TileSums};
use super::program::PageText;
use crate::pipeline::Operations;
use cp2_machine::Machine;
use num_complex::Complex32;

/// Taps of a phase up to which two phases share their samples.
const SHARED_SAMPLE_TAPS: usize = 7;

/// Outputs of a tile computed together, for complex and for real taps, the best first. The first keep a
/// multiply-add from waiting for the one before; the others take less local memory.
const TRIED_TILE_OUTPUTS: [[usize; 2]; 3] = [[8, 6], [4, 4], [2, 2]];

/// The loops of a polyphase filter.
#[derive(Clone, Debug)]
pub(super) struct PolyphaseFilter {
    /// Outputs (interpolating: samples) of a tile.
    pub(super) points: usize,
    /// Samples before an output's own that are read.
    pub(super) lead: usize,
    /// Numbers of a block from an output's samples to the next one's.
    pub(super) row: usize,
    /// The taps in the order of their use.
    pub(super) table: Vec<Complex32>,
    /// True if the table has zeros that the user has not given.
    pub(super) fills: bool,
    passes: Vec<PolyphasePass>,
    /// Operations of a tile, for the model.
    pub(super) operations: Operations,
}

/// A walk over the block: the loops of a tile.
#[derive(Clone, Debug)]
struct PolyphasePass {
    loops: Vec<PolyphaseLoop>,
    sums: Option<TileSums>,
    /// Bytes of samples and outputs from a tile to the next.
    steps: [i64; 2],
}

/// Taps and rate of a polyphase filter.
#[derive(Clone, Copy, Debug)]
pub(super) struct PolyphaseSpec<'a> {
    pub(super) taps: &'a [Complex32],
    pub(super) real: bool,
    pub(super) decimate: usize,
    pub(super) interpolate: usize,
    /// True if local memory holds only those samples of an output that meet a tap.
    pub(super) gathered: bool,
}

impl PolyphaseFilter {
    /// Makes the loops with the greatest width that `fits` accepts. None where a turn takes more than `words`
    /// words, or more registers than there are.
    pub(super) fn new(
        rates: PolyphaseSpec<'_>,
        words: usize,
        machine: &Machine,
        fits: impl Fn(&PolyphaseLayout) -> bool,
    ) -> Option<Self> {
        let widths = TRIED_TILE_OUTPUTS
            .into_iter()
            .map(|w| w[usize::from(rates.real)]);
        let layout = widths
            .map(|width| PolyphaseLayout::new(rates, width))
            .find(fits)?;
        layout.phases(words, machine)
    }

    /// Writes the page for a block of `tiles` tiles.
    pub(super) fn page(&self, tiles: usize, machine: &Machine) -> PageText {
        let set_up = 1 + machine.cp2.loop_setup.0;
        let mut page = PageText::default();
        for (number, pass) in self.passes.iter().enumerate() {
            if number > 0 {
                page.add_words("    ldx2 a8, [a15]\n");
            }
            let [samples, outputs] = pass.steps;
            page.add_words(&format!(
                "    movi s14, {samples}\n    movi s15, {outputs}\n    movi a11, zero\n    loop {tiles} {{\n"
            ));
            let mut tile = 0;
            if let Some(sums) = &pass.sums {
                page.add_words(&sums.zeros());
                tile += sums.cycles_of_zeros();
            }
            for (turn, each) in pass.loops.iter().enumerate() {
                tile += each.write(&format!("turns{number}_{turn}"), &mut page);
            }
            let latency = machine.cp2.latency[cp2_machine::Class::Madd].0;
            match &pass.sums {
                Some(sums) => {
                    page.add_words(&sums.stores());
                    tile += latency + sums.cycles_of_stores();
                }
                None => {
                    page.add_words("    add a8, a8, s14\n    add a9, a9, s15\n");
                    tile += 2;
                }
            }
            page.add_words("    }\n");
            page.cycles += tiles as u64 * tile + set_up + 8;
        }
        page
    }
}

/// Layout of a tile's numbers, before its loops are scheduled.
#[derive(Clone, Debug)]
pub(super) struct PolyphaseLayout {
    pub(super) points: usize,
    pub(super) lead: usize,
    pub(super) row: usize,
    pub(super) table: Vec<Complex32>,
    fills: bool,
    passes: Vec<PolyphasePassLayout>,
}

/// Layout of a pass, and the turns of its loops.
#[derive(Clone, Debug)]
struct PolyphasePassLayout {
    width: usize,
    sums: Option<TileSums>,
    steps: [i64; 2],
    turns: Vec<PolyphaseTurns>,
}

/// Turns of a loop that are alike.
#[derive(Clone, Debug)]
pub(super) struct PolyphaseTurns {
    pub(super) unit: OperandForm,
    /// Taps of each of the phases that share their samples.
    pub(super) counts: PhaseTapCounts,
    pub(super) turns: usize,
    /// Byte offsets of the first sample, output and tap of the first turn.
    pub(super) at: [i64; 3],
    /// Bytes from a point of the tile to the next: samples and outputs.
    pub(super) apart: [i64; 2],
}

impl PolyphaseLayout {
    fn new(rates: PolyphaseSpec<'_>, width: usize) -> Self {
        if rates.interpolate > 1 {
            Self::interpolating(rates, width)
        } else {
            Self::decimating(rates, width)
        }
    }

    fn decimating(rates: PolyphaseSpec<'_>, width: usize) -> Self {
        let (taps, every) = (rates.taps, rates.decimate);
        let mut fills = false;
        let mut at = |m: Option<usize>| {
            let tap = m.and_then(|m| taps.get(m)).copied();
            fills |= tap.is_none();
            tap.unwrap_or_default()
        };
        let odd = every % 2 == 1 && (rates.real || rates.gathered);
        // An output's own sample lies at an odd place, the end of a quad: if a quad holds one sample too
        // many, that sample precedes all that are needed. At odd rates own samples lie at even places too,
        // for which a channel has one sample more before it.
        let lead = match (rates.real, odd) {
            (_, true) if rates.gathered => taps.len() | 1,
            (false, _) if !rates.gathered => (taps.len() - 1).next_multiple_of(2),
            (true, true) => taps.len().next_multiple_of(2),
            _ => (taps.len() - 1) | 1,
        };
        // Runs begin at even numbers. At an odd rate the run of every other output begins one sample later,
        // so its own sample lies one place earlier in the run.
        let (row, step) = match (rates.gathered, odd) {
            (true, odd) => (lead + 1, lead + 1 - usize::from(odd)),
            (false, _) => (every, every),
        };
        let unit = if rates.real {
            OperandForm::Real
        } else {
            OperandForm::Complex
        };
        let size = unit.bytes();
        let numbers = (size / 8) as usize;
        let passes = if odd { 2 } else { 1 };
        // Distance from an output of a pass to the next, in units of the operand.
        let apart = row * passes / numbers;
        let mut table = Vec::new();
        let walks = (0..passes).map(|pass| {
            let own = lead + pass * step;
            let last = own / numbers;
            let units = last - (own + 1 - taps.len()) / numbers + 1;
            let mut turns: Vec<PolyphaseTurns> = Vec::new();
            for phase in 0..apart.min(units) {
                let of = (phase..units).step_by(apart);
                let (count, tap) = (of.clone().count(), 8 * table.len() as i64);
                for unit in of {
                    let first = numbers * (last - unit);
                    for place in first..first + numbers {
                        let h = at(own.checked_sub(place));
                        let twice = Complex32::new(h.re, h.re);
                        table.push(if rates.real { twice } else { h });
                    }
                }
                match turns.last_mut().filter(|t| t.counts == [count, 0]) {
                    Some(turns) => turns.turns += 1,
                    None => turns.push(PolyphaseTurns {
                        unit,
                        counts: [count, 0],
                        turns: 1,
                        at: [(last as i64 - phase as i64) * size, 0, tap],
                        apart: [apart as i64 * size, 0],
                    }),
                }
            }
            let points = (width * passes) as i64;
            PolyphasePassLayout {
                width,
                sums: Some(TileSums {
                    real: rates.real,
                    width,
                    first: pass,
                    stride: passes,
                }),
                steps: [points * row as i64 * 8, points * 8],
                turns,
            }
        });
        let passes: Vec<_> = walks.collect();
        Self {
            points: width * passes.len(),
            lead,
            row,
            table,
            fills,
            passes,
        }
    }

    fn interpolating(rates: PolyphaseSpec<'_>, width: usize) -> Self {
        let (taps, phases) = (rates.taps, rates.interpolate);
        let all = taps.len().max(phases);
        let mut fills = false;
        let mut at = |m: usize| {
            let tap = taps.get(m).copied();
            fills |= tap.is_none();
            tap.unwrap_or_default()
        };
        let lead = ((taps.len() - 1) / phases).next_multiple_of(2);
        let count = |phase: usize| (all - phase).div_ceil(phases);
        let passes = if rates.real { 1 + phases % 2 } else { 1 };
        let together = if count(0) <= SHARED_SAMPLE_TAPS { 2 } else { 1 };
        let mut table: Vec<Complex32> = Vec::new();
        let walks = (0..passes).map(|pass| {
            let mut turns: Vec<PolyphaseTurns> = Vec::new();
            let mut phase = 0;
            while phase < phases {
                // An output at an odd place has no right neighbour in its quad.
                let alone = phase + 1 == phases || (pass * phases + phase) % 2 == 1;
                let (unit, units) = match (rates.real, alone) {
                    (false, _) => (OperandForm::Complex, together.min(phases - phase)),
                    (true, true) => (OperandForm::Single, 1),
                    (true, false) => (OperandForm::Real, 1),
                };
                if unit == OperandForm::Real && table.len() % 2 == 1 {
                    table.push(Complex32::default());
                }
                let tap = 8 * table.len() as i64;
                let mut counts = [0, 0];
                counts
                    .iter_mut()
                    .zip(phase..phase + units)
                    .for_each(|(c, p)| *c = count(p));
                for i in 0..counts[0] {
                    for (unit_phase, _) in (phase..).zip(counts).filter(|&(_, c)| i < c) {
                        let lanes = unit_phase..unit_phase + (unit.bytes() / 8) as usize;
                        for p in lanes {
                            let h = at(p + i * phases);
                            let twice = Complex32::new(h.re, h.re);
                            table.push(if rates.real { twice } else { h });
                        }
                    }
                }
                let alike = |t: &&mut PolyphaseTurns| (t.unit, t.counts) == (unit, counts);
                match turns.last_mut().filter(alike) {
                    Some(turns) => turns.turns += 1,
                    None => turns.push(PolyphaseTurns {
                        unit,
                        counts,
                        turns: 1,
                        at: [
                            8 * (lead + pass) as i64,
                            8 * (pass * phases + phase) as i64,
                            tap,
                        ],
                        apart: [8 * passes as i64, 8 * (passes * phases) as i64],
                    }),
                }
                phase += units * (unit.bytes() / 8) as usize;
            }
            let points = (width * passes) as i64;
            PolyphasePassLayout {
                width,
                sums: None,
                steps: [8 * points, 8 * points * phases as i64],
                turns,
            }
        });
        let passes: Vec<_> = walks.collect();
        Self {
            points: width * passes.len(),
            lead,
            row: 1,
            table,
            fills,
            passes,
        }
    }

    fn phases(self, words: usize, machine: &Machine) -> Option<PolyphaseFilter> {
        let mut operations = Operations::default();
        let mut passes = Vec::new();
        for walk in self.passes {
            let mut loops = Vec::new();
            for turns in &walk.turns {
                let taps: usize = turns.counts.iter().sum();
                if walk.width * taps > words {
                    return None;
                }
                let made = PolyphaseLoop::new(turns, walk.width, walk.sums.as_ref(), machine)?;
                operations.join(&made.operations, 1);
                loops.push(made);
            }
            passes.push(PolyphasePass {
                loops,
                sums: walk.sums,
                steps: walk.steps,
            });
        }
        Some(PolyphaseFilter {
            points: self.points,
            lead: self.lead,
            row: self.row,
            table: self.table,
            fills: self.fills,
            passes,
            operations,
        })
    }
}
