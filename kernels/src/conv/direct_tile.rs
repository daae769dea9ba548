//! The inner loop of a direct filter: a tile of outputs, all taps.
//!
//! An iteration is a *tile*, a few adjacent outputs, each a chain of multiply-adds `y[n] += h[m] x[n - m]`;
//! every tap and every sample of it is loaded once. A tile with a part of the taps continues the sums of the
//! parts before. The tile is a linear block: one multiply-add a word where the memory slot suffices for loads
//! and stores.

use super::direct::SAMPLE_TILES;
use super::polyphase_loop::{begin_block, schedule_in_some_order};
use super::program::PageText;
use crate::pipeline::{
    BlockBody, BlockWriter, BodyOperand, BodyPointer, BodyValue, Operations, PointerDeclaration,
    PricedBlock,
};
use cp2_machine::Machine;
use num_complex::Complex32;
use std::collections::BTreeMap;

/// Taps of a phase up to which loads and stores of a tile outnumber its multiply-adds.
const MEMORY_BOUND_TAPS: usize = 7;

/// Size of a tile: the taps it applies, and the rate of its outputs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct TileShape {
    /// Number of taps.
    pub(super) taps: usize,
    /// True for real taps: an issue multiplies two complex samples by one tap.
    pub(super) real: bool,
    /// Samples for an output.
    pub(super) decimate: usize,
    /// Outputs for a sample.
    pub(super) interpolate: usize,
    /// Number of phases that are computed together from the same samples.
    pub(super) together: usize,
}

impl TileShape {
    /// Returns the shape of a filter with `taps`, one phase at a time.
    pub(super) fn new(taps: &[Complex32], decimate: usize, interpolate: usize) -> Self {
        Self {
            taps: taps.len(),
            real: taps.iter().all(|h| h.im == 0.0),
            decimate,
            interpolate,
            together: 1,
        }
    }

    /// Returns the number of samples before an output's own that it needs, made even.
    pub(super) fn lead(&self) -> usize {
        ((self.taps - 1) / self.interpolate).next_multiple_of(2)
    }

    /// Returns the number of outputs (of each phase) computed together: as many as a multiply-add takes
    /// cycles, so that none waits for the one before.
    pub(super) fn width(&self) -> usize {
        if self.real { 6 } else { 8 }
    }

    /// Returns the outputs of a phase that one accumulator holds: two complex numbers where taps are real.
    pub(super) fn lanes(&self) -> usize {
        if self.real { 2 } else { 1 }
    }

    /// Returns the number of samples and outputs of a tile.
    pub(super) fn numbers(&self) -> usize {
        self.width() * self.lanes() * (self.decimate + self.interpolate)
    }

    /// Returns the number of samples that a tile of so many taps loads.
    pub(super) fn moves(&self, taps: usize) -> usize {
        let (taps, width) = (taps.div_ceil(self.interpolate).max(1), self.width());
        // Samples of adjacent outputs overlap.
        let apart = (width - 1).saturating_mul(self.decimate.min(taps));
        let samples = self.interpolate.saturating_mul(taps.saturating_add(apart));
        samples.saturating_mul(self.lanes())
    }

    /// Returns the taps of each group of phases that are computed together, in the order in which they are
    /// applied: sample of output 0 that the tap applies to, phase, tap. They are sorted by the sample's
    /// residue modulo `decimate`, so that an output's sample is the next tap's sample of its neighbour.
    fn groups(&self) -> Vec<Vec<(usize, usize, usize)>> {
        let taps = self.taps.max(self.interpolate);
        let of = |phase: usize| {
            let taps = (phase..taps).step_by(self.interpolate);
            taps.map(move |m| (self.lead() - m / self.interpolate, phase, m))
        };
        let phases: Vec<usize> = (0..self.interpolate).collect();
        let groups = phases.chunks(self.together.max(1)).map(|group| {
            let mut taps: Vec<_> = group.iter().flat_map(|&phase| of(phase)).collect();
            taps.sort_by_key(|&(at, phase, _)| (at % self.decimate, at, phase));
            taps
        });
        groups.collect()
    }

    /// Returns the order in which a tile applies the taps.
    pub(super) fn order(&self) -> Vec<usize> {
        self.groups()
            .into_iter()
            .flatten()
            .map(|tap| tap.2)
            .collect()
    }

    /// Returns shapes that may be worth scheduling, the better first: two phases together where a phase has
    /// few taps, then one.
    pub(super) fn alternatives(self) -> impl Iterator<Item = Self> {
        let few = self.interpolate > 1 && self.taps.div_ceil(self.interpolate) <= MEMORY_BOUND_TAPS;
        let all = [2, 1]
            .into_iter()
            .filter(move |&together| few || together == 1);
        all.map(move |together| Self { together, ..self })
    }
}

/// A pointer of a tile: the register or label that it is set up from, and the distance between both in units of
/// `8 width tiles` bytes.
#[derive(Clone, Copy, Debug)]
struct TilePointer {
    name: &'static str,
    from: &'static str,
    halves: usize,
    /// Bytes from a tile to the next.
    step: i64,
}

/// The body of a tile and its pointers.
#[derive(Clone, Debug)]
struct TileBody {
    shape: TileShape,
    body: BlockBody,
    pointers: Vec<TilePointer>,
    taps: BodyPointer,
    /// Two pointers for the samples of each half: the accesses of an iteration through one pointer must lie
    /// within an interval, and all samples of a tile span more.
    samples: Vec<[BodyPointer; 2]>,
    outputs: Vec<BodyPointer>,
    /// Pointers to the sums that a tile continues, if it does.
    sums: Vec<BodyPointer>,
}

impl TileBody {
    fn new(shape: TileShape, adds: bool) -> Self {
        let mut body = BlockBody::default();
        let mut pointers = Vec::new();
        let forward = |numbers: usize| (8 * shape.width() * numbers) as i64;
        let mut pointer = |name, (from, halves), step| {
            pointers.push(TilePointer {
                name,
                from,
                halves,
                step,
            });
            body.pointer()
        };
        let taps = pointer("tap", (if adds { "a11" } else { "taps" }, 0), 0);
        let names = [
            (["early", "late"], "out", "sum"),
            (["early2", "late2"], "out2", "sum2"),
        ];
        let (mut samples, mut outputs, mut sums) = (Vec::new(), Vec::new(), Vec::new());
        for (half, (from, to, sum)) in names.into_iter().take(shape.lanes()).enumerate() {
            let place = ("a8", half * shape.decimate);
            samples.push(from.map(|name| pointer(name, place, forward(shape.decimate))));
            let place = ("a9", half * shape.interpolate);
            outputs.push(pointer(to, place, forward(shape.interpolate)));
            if adds {
                sums.push(pointer(sum, place, forward(shape.interpolate)));
            }
        }
        let mut tile = Self {
            shape,
            body,
            pointers,
            taps,
            samples,
            outputs,
            sums,
        };
        let count = shape.width() * shape.order().len();
        let (mut tap, mut done) = (0, 0);
        for group in shape.groups() {
            let mut known: BTreeMap<usize, BodyValue> = BTreeMap::new();
            let mut sums: BTreeMap<(usize, usize), Option<BodyValue>> = BTreeMap::new();
            for (at, phase, _) in group {
                let h = tile.tap(tap);
                for output in 0..shape.width() {
                    let at = at + output * shape.decimate;
                    let late = usize::from(2 * done >= count);
                    let place = output * shape.interpolate + phase;
                    let sum = sums.entry((phase, output));
                    let sum = sum.or_insert_with(|| adds.then(|| tile.previous_sum(place)));
                    let x = *known.entry(at).or_insert_with(|| tile.sample(at, late));
                    // y[n] += h[m] x[n - m]
                    *sum = Some(tile.multiply_add(x, h, *sum));
                    done += 1;
                }
                tap += 1;
            }
            for ((phase, output), sum) in sums {
                if let Some(sum) = sum {
                    tile.store(sum, output * shape.interpolate + phase);
                }
            }
        }
        tile
    }

    /// Returns a new value: a pair, or with real taps a quad of one number of each half.
    fn value(&mut self) -> BodyValue {
        if self.shape.real {
            self.body.quad()
        } else {
            self.body.pair()
        }
    }

    fn tap(&mut self, index: usize) -> BodyValue {
        let (h, at) = (self.value(), 8 * index as i64);
        if self.shape.real {
            self.body.load_twice(BodyOperand::Whole(h), self.taps, at);
        } else {
            self.body.load(BodyOperand::Whole(h), self.taps, at);
        }
        h
    }

    fn sample(&mut self, at: usize, late: usize) -> BodyValue {
        let x = self.value();
        let parts = parts(self.shape, x);
        for (part, pointers) in parts.into_iter().zip(&self.samples) {
            self.body.load(part, pointers[late], 8 * at as i64);
        }
        x
    }

    /// Loads the sum so far of an output.
    fn previous_sum(&mut self, place: usize) -> BodyValue {
        let sum = self.value();
        let parts = parts(self.shape, sum);
        for (part, &from) in parts.into_iter().zip(&self.sums) {
            self.body.load(part, from, 8 * place as i64);
        }
        sum
    }

    /// Computes x h, or x h + sum.
    fn multiply_add(&mut self, x: BodyValue, h: BodyValue, sum: Option<BodyValue>) -> BodyValue {
        let to = self.value();
        let [to_reg, x, h] = [to, x, h].map(BodyOperand::Whole);
        let real = self.shape.real;
        match sum {
            None => self
                .body
                .op(if real { "mul" } else { "cmul" }, &[to_reg], &[x, h]),
            Some(sum) => self.body.op(
                if real { "madd" } else { "cmadd" },
                &[to_reg],
                &[x, h, BodyOperand::Whole(sum)],
            ),
        }
        to
    }

    fn store(&mut self, sum: BodyValue, place: usize) {
        let parts = parts(self.shape, sum);
        for (part, &to) in parts.into_iter().zip(&self.outputs) {
            self.body.store(part, to, 8 * place as i64);
        }
    }

    /// Writes the block of `tiles` tiles, with a hint on the order of its operations.
    fn block(&self, hint: &str, tiles: usize) -> BlockWriter {
        let half = 8 * self.shape.width() * tiles;
        let pointers = self.pointers.iter().map(|own| PointerDeclaration {
            name: own.name.to_owned(),
            walk: format!("{} + {} by {}", own.from, own.halves * half, own.step),
            offset: 0,
        });
        let mut block = begin_block(hint, PAIR_REGISTERS);
        self.body.write(&pointers.collect::<Vec<_>>(), &mut block);
        block
    }
}

/// Returns the registers of a value for each half of a block: the two pairs of a quad with real taps, else
/// the whole pair.
fn parts(shape: TileShape, value: BodyValue) -> Vec<BodyOperand> {
    if shape.real {
        vec![BodyOperand::Lo(value), BodyOperand::Hi(value)]
    } else {
        vec![BodyOperand::Whole(value)]
    }
}

/// A tile on a machine.
#[derive(Clone, Debug)]
pub(super) struct TileSchedule {
    tile: TileBody,
    /// Hint on the order of its operations.
    hint: &'static str,
    price: PricedBlock,
    /// Operations of a tile, for the model.
    pub(super) operations: Operations,
}

/// Number of pair registers.
const PAIR_REGISTERS: u8 = 64;
impl TileSchedule {
    /// Schedules a tile; returns none if registers do not suffice. Tiles that continue sums find their taps
    /// through a11, others through a label.
    pub(super) fn new(shape: TileShape, adds: bool, machine: &Machine) -> Option<Self> {
        let tile = TileBody::new(shape, adds);
        let write = |hint: &str| tile.block(hint, SAMPLE_TILES);
        let (hint, price) = schedule_in_some_order(write, SAMPLE_TILES as u64, machine)?;
        Some(Self {
            operations: price.operations(1),
            hint,
            tile,
            price,
        })
    }

    /// Returns the words of any number of tiles.
    pub(super) fn words(&self) -> u64 {
        self.price.words()
    }

    /// Adds the loop over `tiles` tiles to a page, and returns its cycles. It finds the addresses of input and
    /// output in a8 and a9; `name` is unique.
    pub(super) fn write(&self, name: &str, tiles: usize, page: &mut PageText) -> u64 {
        let text = self.tile.block(self.hint, tiles).text(name, tiles as u64);
        page.add_block(&text, self.price.words());
        self.price.cycles(tiles as u64)
    }
}
