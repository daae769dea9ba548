//! The inner loop of a direct filter: an iteration is a *tile*, a few outputs
//! side by side, each a chain of multiply-adds; every tap and every sample of
//! it is loaded once. `pipeline` makes the words: one multiply-add each where
//! the memory slot suffices for loads and stores.

use crate::pipeline::{Body, Emitted, Pointer, Reg, Schedule, Setup, Step, Value};
use cp2_machine::Machine;
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

/// A pointer into a block, and which half of the block it walks through.
#[derive(Clone, Copy, Debug)]
struct Half {
    pointer: Pointer,
    half: usize,
}

/// The body of a tile and its pointers.
struct Tile {
    shape: Shape,
    body: Body,
    taps: Pointer,
    /// Two for the samples of each half: an iteration's accesses through a
    /// pointer lie within an interval, those to all samples are further apart.
    samples: Vec<[Half; 2]>,
    outputs: Vec<Half>,
}

impl Tile {
    fn new(shape: Shape) -> Self {
        let mut body = Body::in_order();
        let forward = |numbers: usize| Step::Bytes((8 * shape.width() * numbers) as i64);
        let taps = body.pointer(2, Step::Bytes(0));
        let mut half = |register, half, step| Half {
            pointer: body.pointer(register, step),
            half,
        };
        let registers = [([0, 5], 1), ([3, 6], 4)];
        let (mut samples, mut outputs) = (Vec::new(), Vec::new());
        for (lane, (from, to)) in registers.into_iter().take(shape.lanes()).enumerate() {
            samples.push(from.map(|a| half(a, lane, forward(shape.decimate))));
            outputs.push(half(to, lane, forward(shape.interpolate)));
        }
        let mut tile = Self {
            shape,
            body,
            taps,
            samples,
            outputs,
        };
        let count = shape.width() * shape.order().len();
        let (mut tap, mut done) = (0, 0);
        for phase in 0..shape.interpolate {
            let mut known: BTreeMap<usize, Value> = BTreeMap::new();
            let mut sums: Vec<Option<Value>> = vec![None; shape.width()];
            for (_, at) in shape.phase(phase) {
                let h = tile.tap(tap);
                for (output, sum) in sums.iter_mut().enumerate() {
                    let at = at + output * shape.decimate;
                    let late = usize::from(2 * done >= count);
                    let x = *known.entry(at).or_insert_with(|| tile.sample(at, late));
                    *sum = Some(tile.multiply_add(x, h, *sum));
                    done += 1;
                }
                tap += 1;
            }
            for (output, sum) in sums.into_iter().enumerate() {
                if let Some(sum) = sum {
                    tile.store(sum, output * shape.interpolate + phase);
                }
            }
        }
        tile
    }

    /// A pair, or a quad of two halves.
    fn value(&mut self) -> Value {
        if self.shape.real {
            self.body.quad()
        } else {
            self.body.pair()
        }
    }

    fn tap(&mut self, index: usize) -> Value {
        let (h, at) = (self.value(), 8 * index as i64);
        if self.shape.real {
            self.body.load_twice(Reg::Whole(h), self.taps, at);
        } else {
            self.body.load(Reg::Whole(h), self.taps, at);
        }
        h
    }

    fn sample(&mut self, at: usize, late: usize) -> Value {
        let x = self.value();
        let parts = parts(self.shape, x);
        for (part, pointers) in parts.into_iter().zip(&self.samples) {
            self.body.load(part, pointers[late].pointer, 8 * at as i64);
        }
        x
    }

    fn multiply_add(&mut self, x: Value, h: Value, sum: Option<Value>) -> Value {
        let to = self.value();
        let [to_reg, x, h] = [to, x, h].map(Reg::Whole);
        let real = self.shape.real;
        match sum {
            None => self
                .body
                .op(if real { "mul" } else { "cmul" }, &[to_reg], &[x, h]),
            Some(sum) => self.body.op(
                if real { "madd" } else { "cmadd" },
                &[to_reg],
                &[x, h, Reg::Whole(sum)],
            ),
        }
        to
    }

    fn store(&mut self, sum: Value, place: usize) {
        let parts = parts(self.shape, sum);
        for (part, to) in parts.into_iter().zip(&self.outputs) {
            self.body.store(part, to.pointer, 8 * place as i64);
        }
    }
}

/// What of a value belongs to each half of a block.
fn parts(shape: Shape, value: Value) -> Vec<Reg> {
    if shape.real {
        vec![Reg::Lo(value), Reg::Hi(value)]
    } else {
        vec![Reg::Whole(value)]
    }
}

/// The schedule of a tile on a machine.
#[derive(Clone, Debug)]
pub(super) struct Tiles {
    schedule: Schedule,
    /// Address register, the one it begins at, and bytes of a half from there.
    halves: Vec<(Pointer, u8, usize)>,
    taps: Pointer,
    shape: Shape,
}

/// Pair registers.
const PAIRS: u8 = 64;

impl Tiles {
    /// None where registers do not suffice.
    pub(super) fn new(shape: Shape, machine: &Machine) -> Option<Self> {
        let tile = Tile::new(shape);
        let schedule = tile.body.schedule(machine, PAIRS).ok()?;
        let samples = tile.samples.iter().flatten();
        let samples = samples.map(|h| (h.pointer, 8, h.half * shape.decimate));
        let outputs = tile.outputs.iter();
        let outputs = outputs.map(|h| (h.pointer, 9, h.half * shape.interpolate));
        Some(Self {
            halves: samples.chain(outputs).collect(),
            schedule,
            taps: tile.taps,
            shape,
        })
    }

    /// The words of `tiles` tiles, from the addresses of input and output in
    /// a8 and a9 on.
    pub(super) fn words(&self, tiles: usize) -> Emitted {
        let s = &self.schedule;
        let half = 8 * self.shape.width() * tiles;
        let set_up = |(step, &(pointer, from, halves)): (usize, &(Pointer, u8, usize))| {
            let at = (halves * half) as i64 + s.bias(pointer);
            let register = s.register_of(pointer);
            Setup {
                words: vec![
                    format!("movi s{step}, {at}"),
                    format!("add a{register}, a{from}, s{step}"),
                ],
                registers: vec![register],
            }
        };
        let (taps, bias) = (s.register_of(self.taps), s.bias(self.taps));
        let taps = Setup {
            words: vec![format!("movi a{taps}, taps + {bias}")],
            registers: vec![taps],
        };
        let setups = self.halves.iter().enumerate().map(set_up);
        s.emit(tiles as u64).set_up(setups.chain([taps]).collect())
    }
}
