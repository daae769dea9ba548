//! The inner loop of a direct filter as a schedule: a *tile* makes a few outputs
//! side by side, every tap and every sample in registers, and the tiles
//! overlap: while one computes, the next loads and the one before stores.
//!
//! Every word of a tile is one multiply-add where the memory slot suffices for
//! its loads and stores; where it does not, the words are as many as those.

mod text;

use cp2_machine::{Class, Machine};
use num_complex::Complex32;
use std::collections::BTreeMap;

/// What is filtered, and how often there is an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Shape {
    /// Taps.
    pub(super) taps: usize,
    /// Real taps: an issue multiplies two complex samples by one.
    pub(super) real: bool,
    /// Samples for an output.
    pub(super) decimate: usize,
    /// Outputs for a sample.
    pub(super) interpolate: usize,
}

impl Shape {
    /// The shape of a filter with `taps`.
    pub(super) fn new(taps: &[Complex32], decimate: usize, interpolate: usize) -> Self {
        Self {
            taps: taps.len(),
            real: taps.iter().all(|h| h.im == 0.0),
            decimate,
            interpolate,
        }
    }

    /// Samples before an output's own that it needs, made even.
    pub(super) fn lead(&self) -> usize {
        ((self.taps - 1) / self.interpolate).next_multiple_of(2)
    }

    /// Outputs (of each phase) side by side; as many as a multiply-add takes
    /// cycles, so that none waits for the one before.
    pub(super) fn width(&self) -> usize {
        if self.real { 6 } else { 8 }
    }

    /// Outputs of a phase that one accumulator holds: two complex numbers where taps are real.
    pub(super) fn lanes(&self) -> usize {
        if self.real { 2 } else { 1 }
    }

    /// The taps of a phase, in the order in which they are applied, each with
    /// the sample of output 0 it applies to: through the samples of one
    /// residue, so that an output's sample is the next tap's of its neighbour.
    fn phase(&self, phase: usize) -> Vec<(usize, usize)> {
        let taps = (phase..self.taps.max(self.interpolate)).step_by(self.interpolate);
        let mut taps: Vec<(usize, usize)> = taps
            .map(|m| (m, self.lead() - m / self.interpolate))
            .collect();
        taps.sort_by_key(|&(_, at)| (at % self.decimate, at));
        taps
    }

    /// The order in which a tile applies the taps.
    pub(super) fn order(&self) -> Vec<usize> {
        (0..self.interpolate)
            .flat_map(|phase| self.phase(phase))
            .map(|(m, _)| m)
            .collect()
    }
}

/// A multiply-add, or the multiplication that a sum begins with.
#[derive(Clone, Copy, Debug)]
struct Op {
    accumulator: usize,
    sample: usize,
    tap: usize,
    first: bool,
    last: bool,
}

/// Something the memory slot does.
#[derive(Clone, Copy, Debug)]
enum Move {
    /// Lane of a sample.
    Sample(usize, usize),
    Tap(usize),
    /// Lane of output `place` from an output register.
    Store {
        register: usize,
        place: usize,
        lane: usize,
    },
    /// Pointers of a lane: samples, outputs.
    Advance(&'static str, usize),
}

/// The words of a tile.
#[derive(Clone, Debug)]
pub(super) struct Tile {
    shape: Shape,
    /// Cycles.
    pub(super) words: usize,
    ops: Vec<Option<Op>>,
    /// The move of each cycle, and by how many tiles it is early (-1: a load for
    /// the next tile) or late (1: a store of the one before).
    moves: Vec<Option<(Move, i32)>>,
    /// Byte offset of each sample.
    offsets: Vec<usize>,
    /// Register of each sample and tap.
    samples: Vec<usize>,
    taps: Vec<usize>,
    /// Loads before the first tile, in order.
    prologue: Vec<Move>,
    /// Stores after the last.
    epilogue: Vec<Move>,
}

/// Registers: pairs, or quads where taps are real. Two sets for the sums, the rest for taps and samples.
const PAIRS: usize = 64;

impl Tile {
    /// The shortest schedule on `machine` that registers suffice for.
    pub(super) fn new(shape: Shape, machine: &Machine) -> Option<Self> {
        let least = least(shape);
        (least..2 * least + 64).find_map(|words| {
            // Short sums leave loads little room, the phases of an interpolation stores.
            [false, true]
                .into_iter()
                .find_map(|stores_first| Self::of_length(shape, words, stores_first, machine))
        })
    }

    fn of_length(
        shape: Shape,
        words: usize,
        stores_first: bool,
        machine: &Machine,
    ) -> Option<Self> {
        let latency = |class| machine.cp2.latency[class].0 as i64;
        let (load, madd) = (latency(Class::Load), latency(Class::Madd));
        let (width, lanes) = (shape.width(), shape.lanes());
        let period = words as i64;
        // Operations, evenly spread.
        let list = operations(shape);
        let cycle = |i: usize| (i * words / list.ops.len()) as i64;
        let mut ops = vec![None; words];
        for (i, op) in list.ops.iter().enumerate() {
            ops[cycle(i) as usize] = Some(*op);
        }
        // The pointers go on in the last words.
        let mut moves: Vec<Option<(Move, i32)>> = vec![None; words];
        let advances = ["a0", "a1", "a3", "a4"]
            .into_iter()
            .filter(|a| lanes == 2 || *a < "a2");
        for (i, pointer) in advances.enumerate() {
            let by = if ["a0", "a3"].contains(&pointer) {
                8 * width * shape.decimate
            } else {
                8 * width * shape.interpolate
            };
            *moves.get_mut(words.checked_sub(i + 1)?)? = Some((Move::Advance(pointer, by), 0));
        }
        let ends: Vec<i64> = (0..list.ops.len())
            .filter(|&i| list.ops[i].last)
            .map(cycle)
            .collect();
        let mut epilogue = Vec::new();
        if stores_first {
            epilogue = place_stores(shape, &ends, madd, &mut moves)?;
        }
        // Loads as late as possible.
        let mut wanted: Vec<(i64, i64, Vec<Move>)> = Vec::new();
        for (sample, &(from, to)) in list.samples.iter().enumerate() {
            let lanes = (0..lanes).map(|lane| Move::Sample(sample, lane)).collect();
            wanted.push((cycle(from) - load, cycle(to), lanes));
        }
        for (tap, &(from, to)) in list.taps.iter().enumerate() {
            wanted.push((cycle(from) - load, cycle(to), vec![Move::Tap(tap)]));
        }
        wanted.sort_by_key(|w| std::cmp::Reverse(w.0));
        let mut prologue = Vec::new();
        let mut lives = Vec::new();
        for (deadline, until, parts) in wanted {
            let mut at = deadline;
            let what = parts[0];
            for part in parts {
                at = (deadline - period + 1..=at)
                    .rev()
                    .find(|t| moves[t.rem_euclid(period) as usize].is_none())?;
                moves[at.rem_euclid(period) as usize] = Some((part, at.div_euclid(period) as i32));
                if at < 0 {
                    prologue.push((at, part));
                }
            }
            lives.push((at, until, what));
        }
        if !stores_first {
            epilogue = place_stores(shape, &ends, madd, &mut moves)?;
        }
        prologue.sort_by_key(|p| p.0);
        epilogue.sort_by_key(|e| e.0);
        let registers = PAIRS / lanes - 2 * width;
        let (samples, taps) = allocate(lives, period, registers, &list)?;
        Some(Self {
            shape,
            words,
            ops,
            moves,
            offsets: list.offsets,
            samples,
            taps,
            prologue: prologue.into_iter().map(|p| p.1).collect(),
            epilogue: epilogue.into_iter().map(|e| e.1).collect(),
        })
    }

    /// Loads before the first tile: what the pipeline takes to fill.
    pub(super) fn fill(&self) -> usize {
        self.prologue.len() + self.epilogue.len()
    }
}

/// Places the stores of the sums that end in cycles `ends`: from when a sum is
/// there until its register takes the next one. Returns those that fall behind the tile.
fn place_stores(
    shape: Shape,
    ends: &[i64],
    latency: i64,
    moves: &mut [Option<(Move, i32)>],
) -> Option<Vec<(i64, Move)>> {
    let (width, period) = (shape.width(), moves.len() as i64);
    let mut behind = Vec::new();
    for (place, &end) in ends.iter().enumerate() {
        let next = match ends.get(place + width) {
            Some(&next) => next,
            None => ends[(place + width) % ends.len()] + period,
        };
        for lane in 0..shape.lanes() {
            let store = Move::Store {
                register: place % width,
                place,
                lane,
            };
            let free = |t: &i64| moves[t.rem_euclid(period) as usize].is_none();
            let at = (end + latency..=next).find(free)?;
            moves[at.rem_euclid(period) as usize] = Some((store, (at / period) as i32));
            if at >= period {
                behind.push((at, store));
            }
        }
    }
    Some(behind)
}

/// Words that a tile has at least: its multiply-adds, or its loads and stores.
fn least(shape: Shape) -> usize {
    let list = operations(shape);
    let outputs = shape.width() * shape.interpolate;
    let pointers = 2 * shape.lanes();
    let moves = shape.lanes() * (list.samples.len() + outputs) + list.taps.len() + pointers;
    list.ops.len().max(moves)
}

/// Operations in order; first and last use of every sample and tap by operation.
struct Operations {
    ops: Vec<Op>,
    offsets: Vec<usize>,
    samples: Vec<(usize, usize)>,
    taps: Vec<(usize, usize)>,
}

fn operations(shape: Shape) -> Operations {
    let mut all = Operations {
        ops: Vec::new(),
        offsets: Vec::new(),
        samples: Vec::new(),
        taps: Vec::new(),
    };
    for phase in 0..shape.interpolate {
        let taps = shape.phase(phase);
        let mut known: BTreeMap<usize, usize> = BTreeMap::new();
        for (step, &(_, at)) in taps.iter().enumerate() {
            all.taps
                .push((all.ops.len(), all.ops.len() + shape.width() - 1));
            for output in 0..shape.width() {
                let at = at + output * shape.decimate;
                let now = all.ops.len();
                let sample = *known.entry(at).or_insert_with(|| {
                    all.offsets.push(8 * at);
                    all.samples.push((now, now));
                    all.samples.len() - 1
                });
                all.samples[sample].1 = now;
                all.ops.push(Op {
                    accumulator: output,
                    sample,
                    tap: all.taps.len() - 1,
                    first: step == 0,
                    last: step + 1 == taps.len(),
                });
            }
        }
    }
    all
}

/// Registers behind the sums for values that live from a load to a last use,
/// again in every period. None where they do not suffice.
fn allocate(
    mut lives: Vec<(i64, i64, Move)>,
    period: i64,
    registers: usize,
    list: &Operations,
) -> Option<(Vec<usize>, Vec<usize>)> {
    let base = 2 * list.ops.iter().map(|op| op.accumulator + 1).max()?;
    lives.sort_by_key(|l| l.0);
    let mut taken: Vec<Vec<(i64, i64)>> = vec![Vec::new(); registers];
    let (mut samples, mut taps) = (vec![0; list.samples.len()], vec![0; list.taps.len()]);
    for (from, to, what) in lives {
        if to - from >= period {
            return None;
        }
        // A register is free for a load in the word of its last use.
        let apart = |&(a, b): &(i64, i64)| {
            let gap = (from - a).rem_euclid(period);
            gap >= b - a && period - gap >= to - from
        };
        let register = taken.iter().position(|t| t.iter().all(apart))?;
        taken[register].push((from, to));
        match what {
            Move::Tap(tap) => taps[tap] = base + register,
            Move::Sample(sample, _) => samples[sample] = base + register,
            _ => {}
        }
    }
    Some((samples, taps))
}
