//! One software-pipelined loop through phases of taps.
//!
//! An iteration is a turn as described in `polyphase`, written as a linear block.

use super::polyphase::PolyphaseTurns;
use super::program::PageText;
use crate::pipeline::{
    BlockBody, BlockWriter, BodyOperand, BodyPointer, BodyValue, CarriedValue, Operations,
    PointerDeclaration, PricedBlock,
};
use cp2_machine::Machine;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Number of pair registers.
const PAIR_REGISTERS: u8 = 64;
/// Farthest distance of an access from its pointer, in bytes.
const ACCESS_REACH_BYTES: i64 = 16_376;
/// Most operations of a slot for which any order is searched.
const MOST_SEARCHED_ISSUES: usize = 128;

/// Number of taps of each of one or two phases.
pub(super) type PhaseTapCounts = [usize; 2];

/// Operands of a multiplication.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperandForm {
    /// A complex sample and a complex tap.
    Complex,
    /// Two complex numbers and two real taps.
    Real,
    /// A complex number and a real tap.
    Single,
}

impl OperandForm {
    pub(super) fn bytes(self) -> i64 {
        if self == Self::Real { 16 } else { 8 }
    }

    /// Returns the instructions for a product, and for a product added to a sum.
    fn names(self) -> [&'static str; 2] {
        match self {
            Self::Complex => ["cmul", "cmadd"],
            Self::Real | Self::Single => ["mul", "madd"],
        }
    }

    fn value(self, body: &mut BlockBody) -> BodyValue {
        if self == Self::Real {
            body.quad()
        } else {
            body.pair()
        }
    }
}

/// Sums of a tile in registers, and the outputs they are stored to.
#[derive(Clone, Debug)]
pub(super) struct TileSums {
    pub(super) real: bool,
    pub(super) width: usize,
    /// First output of the tile, and distance from an output to the next.
    pub(super) first: usize,
    pub(super) stride: usize,
}

impl TileSums {
    /// Returns the pair registers of a sum.
    fn pairs(&self) -> u8 {
        if self.real { 2 } else { 1 }
    }

    /// Returns the first pair register of a sum.
    pub(super) fn register(&self, output: usize) -> u8 {
        PAIR_REGISTERS - self.pairs() * (self.width - output) as u8
    }

    /// Returns the name of the register of a sum.
    fn name_register(&self, output: usize) -> String {
        let register = self.register(output);
        if self.real {
            format!("q{}", register / 2)
        } else {
            format!("r{register}")
        }
    }

    /// Returns the words that set the sums to zero.
    pub(super) fn zeros(&self) -> String {
        let quads = self.register(0) / 2..PAIR_REGISTERS / 2;
        quads.map(|q| format!("    ldq q{q}, [a11]\n")).collect()
    }

    pub(super) fn cycles_of_zeros(&self) -> u64 {
        u64::from(PAIR_REGISTERS - self.register(0)) / 2
    }

    /// Returns the words that add the halves of the sums (with real taps) and store them.
    pub(super) fn stores(&self) -> String {
        let mut text = String::new();
        if self.real {
            for output in 0..self.width {
                let r = self.register(output);
                let _ = write!(text, "    add r{r}, r{r}, r{}", r + 1);
                text += if output == 0 {
                    " || add a8, a8, s14\n"
                } else {
                    "\n"
                };
            }
        } else {
            text += "    add a8, a8, s14\n";
        }
        for output in 0..self.width {
            let at = 8 * (self.first + output * self.stride);
            let r = self.register(output);
            let _ = writeln!(text, "    stp r{r}, [a9 + {at}]");
        }
        text + "    add a9, a9, s15\n"
    }

    pub(super) fn cycles_of_stores(&self) -> u64 {
        let adds = if self.real { self.width as u64 } else { 1 };
        adds + self.width as u64 + 1
    }
}

/// Turns of rows that are alike.
#[derive(Clone, Debug)]
pub(super) struct TransposedFormTurns {
    pub(super) unit: OperandForm,
    /// Taps of a turn, by the number of rows between a sample and the output: sum `row + tap` receives the
    /// product.
    pub(super) taps: std::ops::Range<usize>,
    pub(super) turns: usize,
    /// Byte offsets of the first sample of the first row and of the first tap.
    pub(super) at: [i64; 2],
}

/// Place that a pointer begins at.
#[derive(Clone, Copy, Debug)]
enum PolyphasePointerBase {
    Samples,
    Outputs,
    Taps,
}

impl PolyphasePointerBase {
    /// Returns the name of its pointers, and the register or label that they begin at.
    fn names(self) -> [&'static str; 2] {
        match self {
            Self::Samples => ["sample", "a8"],
            Self::Outputs => ["output", "a9"],
            Self::Taps => ["tap", "taps"],
        }
    }
}

/// The turns of a loop as a linear block.
#[derive(Clone, Debug)]
pub(super) struct PolyphaseLoop {
    block: BlockWriter,
    turns: u64,
    price: PricedBlock,
    /// Operations of all turns, for the model.
    pub(super) operations: Operations,
}

/// Pointers through which an iteration makes all accesses of one kind; each serves the accesses within its
/// reach.
struct ReachablePointers {
    base: PolyphasePointerBase,
    at: i64,
    step: i64,
    made: BTreeMap<(bool, i64), BodyPointer>,
}

impl ReachablePointers {
    fn new(base: PolyphasePointerBase, at: i64, step: i64) -> Self {
        Self {
            base,
            at,
            step,
            made: BTreeMap::new(),
        }
    }
}

/// Builds the block of the turns of a loop.
#[derive(Default)]
struct PolyphaseLoopBuilder {
    body: BlockBody,
    pointers: Vec<PointerDeclaration>,
}

impl PolyphaseLoopBuilder {
    /// Adds a pointer that begins so many bytes from its place.
    fn add(&mut self, base: PolyphasePointerBase, at: i64, step: i64) -> BodyPointer {
        let [name, place] = base.names();
        let number = self.pointers.len();
        let sign = if at < 0 { '-' } else { '+' };
        self.pointers.push(PointerDeclaration {
            name: format!("{name}{number}"),
            walk: format!("{place} {sign} {} by {step}", at.unsigned_abs()),
            offset: 0,
        });
        self.body.pointer()
    }

    /// Returns the pointer for an access at an offset. Accesses that come `late` have pointers of their own, since all
    /// accesses through one lie within an interval.
    fn pointer(&mut self, all: &mut ReachablePointers, late: bool, offset: i64) -> BodyPointer {
        let key = (late, offset.div_euclid(ACCESS_REACH_BYTES));
        if let Some(pointer) = all.made.get(&key) {
            return *pointer;
        }
        let pointer = self.add(all.base, all.at, all.step);
        all.made.insert(key, pointer);
        pointer
    }

    /// Schedules the block; none if there are too few registers. It may use the pair registers below `free`.
    fn finish(self, turns: usize, free: u8, machine: &Machine) -> Option<PolyphaseLoop> {
        let turns = turns as u64;
        let write = |hint: &str| {
            let mut block = begin_block(hint, free);
            self.body.write(&self.pointers, &mut block);
            block
        };
        let (hint, price) = schedule_in_some_order(write, turns, machine)?;
        Some(PolyphaseLoop {
            operations: price.operations(turns),
            block: write(hint),
            turns,
            price,
        })
    }
}

/// Schedules a block whose arithmetic is issued as it is written, or in another order where units or long latencies
/// make that slow; `write` writes it with a hint. Returns the hint, and none if there are too few registers.
pub(super) fn schedule_in_some_order(
    write: impl Fn(&str) -> BlockWriter,
    iterations: u64,
    machine: &Machine,
) -> Option<(&'static str, PricedBlock)> {
    let of = |hint: &'static str| {
        let block = (&write(hint), iterations);
        let price = PricedBlock::new("direct filter", block, FRAME, machine).ok()?;
        Some((hint, price))
    };
    let written = of(".order");
    if written
        .as_ref()
        .is_some_and(|(_, price)| price.is_near_bound())
    {
        return written;
    }
    // A search without an order takes seconds for more operations.
    let few = write("").count_issues() <= MOST_SEARCHED_ISSUES;
    let free = few.then(|| of("")).flatten();
    let all = [written, of(".spread"), free].into_iter().flatten();
    all.min_by_key(|(_, price)| price.cycles(iterations))
}

/// Begins a block with a hint on the order of its operations, which may use the pair registers below `free`.
pub(super) fn begin_block(hint: &str, free: u8) -> BlockWriter {
    let mut block = BlockWriter::default();
    block.declare(hint);
    block.declare(".apart");
    block.declare(&format!(".rept {}, n", free / 2));
    block.declare(".free q{n}");
    block.declare(".endr");
    block
}

/// Text above a loop that is scheduled by itself: labels and registers of `direct.s` and `transposed_form.s`.
pub(super) const FRAME: &str = "\
.dmem 0
taps:
    .space 16
.program
    mov a7, a15
    mov a8, a7
    mov a9, a8
    mov a10, a9
    mov a11, a10
    mov a12, a11
";

impl PolyphaseLoop {
    /// Schedules the turns of a polyphase loop; none if registers do not suffice.
    pub(super) fn new(
        turns: &PolyphaseTurns,
        width: usize,
        sums: Option<&TileSums>,
        machine: &Machine,
    ) -> Option<Self> {
        let size = turns.unit.bytes();
        let [at_sample, at_output, at_tap] = turns.at;
        let all: usize = turns.counts.iter().sum();
        let mut maker = PolyphaseLoopBuilder::default();
        let taps = maker.add(PolyphasePointerBase::Taps, at_tap, size * all as i64);
        let (units, step) = match sums {
            Some(_) => (1, -size),
            None => (turns.counts.iter().filter(|&&c| c > 0).count(), 0),
        };
        let mut samples = ReachablePointers::new(PolyphasePointerBase::Samples, at_sample, step);
        let step = size * units as i64;
        let mut outputs = ReachablePointers::new(PolyphasePointerBase::Outputs, at_output, step);
        let carried: Vec<CarriedValue> = match sums {
            Some(sums) => (0..width)
                .map(|output| maker.body.carry(sums.name_register(output)))
                .collect(),
            None => Vec::new(),
        };
        let [mul, madd] = turns.unit.names();
        let mut known: BTreeMap<i64, BodyValue> = BTreeMap::new();
        let mut chains: BTreeMap<(usize, usize), BodyValue> = BTreeMap::new();
        let mut tap = 0;
        for i in 0..turns.counts[0] {
            for (unit, _) in turns.counts.iter().enumerate().filter(|(_, c)| i < **c) {
                let h = turns.unit.value(&mut maker.body);
                maker.body.load(BodyOperand::Whole(h), taps, size * tap);
                tap += 1;
                for output in 0..width {
                    // Decimating, a tap of the phase is as far from the next as outputs are.
                    let back = if sums.is_some() { turns.apart[0] } else { 8 };
                    let at = output as i64 * turns.apart[0] - i as i64 * back;
                    let x = match known.get(&at) {
                        Some(x) => *x,
                        None => {
                            let x = turns.unit.value(&mut maker.body);
                            let late = sums.is_some() && i > 0;
                            let pointer = maker.pointer(&mut samples, late, at);
                            if sums.is_none() && turns.unit == OperandForm::Real {
                                maker.body.load_twice(BodyOperand::Whole(x), pointer, at);
                            } else {
                                maker.body.load(BodyOperand::Whole(x), pointer, at);
                            }
                            known.insert(at, x);
                            x
                        }
                    };
                    let to = turns.unit.value(&mut maker.body);
                    let before = chains.get(&(unit, output)).copied();
                    let before = before.map(BodyOperand::Whole);
                    let before =
                        before.or_else(|| carried.get(output).copied().map(BodyOperand::Before));
                    let [x, h] = [x, h].map(BodyOperand::Whole);
                    // sum = x h + sum
                    match before {
                        Some(sum) => maker.body.op(madd, &[BodyOperand::Whole(to)], &[x, h, sum]),
                        None => maker.body.op(mul, &[BodyOperand::Whole(to)], &[x, h]),
                    }
                    chains.insert((unit, output), to);
                }
            }
        }
        for ((unit, output), sum) in chains {
            match carried.get(output) {
                Some(&carried) => maker.body.leave(carried, sum),
                None => {
                    let at = output as i64 * turns.apart[1] + unit as i64 * size;
                    let pointer = maker.pointer(&mut outputs, false, at);
                    maker.body.store(BodyOperand::Whole(sum), pointer, at);
                }
            }
        }
        let free = sums.map_or(PAIR_REGISTERS, |sums| sums.register(0));
        maker.finish(turns.turns, free, machine)
    }

    /// Schedules turns of the transposed form: in each, a number of every row meets several taps and is added
    /// to the sums of as many outputs, all of which stay in registers. None if registers do not suffice.
    pub(super) fn rows(
        turns: &TransposedFormTurns,
        (rows, apart): (usize, i64),
        sums: &TileSums,
        machine: &Machine,
    ) -> Option<Self> {
        // The longer side is tried first as the inner one: as many multiply-adds then lie between two for the
        // same sum. The shorter one as inner side needs fewer registers, as its values are held for a whole
        // turn.
        let long = rows >= turns.taps.len();
        let mut orders = [long, !long].into_iter();
        orders.find_map(|inner| Self::rows_in_turn(turns, (rows, apart, inner), sums, machine))
    }

    /// Schedules the turns with the rows one after the other for each tap (`rows_inner`), or the taps for
    /// each row.
    fn rows_in_turn(
        turns: &TransposedFormTurns,
        (rows, apart, rows_inner): (usize, i64, bool),
        sums: &TileSums,
        machine: &Machine,
    ) -> Option<Self> {
        let size = turns.unit.bytes();
        let count = turns.taps.len();
        // Values of the inner side stay in registers for a whole turn, with the sums and one value of the
        // outer side.
        let held = if rows_inner { rows } else { count };
        if usize::from(sums.pairs()) * (sums.width + held + 1) > usize::from(PAIR_REGISTERS) {
            return None;
        }
        let [at_sample, at_tap] = turns.at;
        let mut maker = PolyphaseLoopBuilder::default();
        let taps = maker.add(PolyphasePointerBase::Taps, at_tap, size * count as i64);
        let mut samples = ReachablePointers::new(PolyphasePointerBase::Samples, at_sample, -size);
        let [_, madd] = turns.unit.names();
        let mut known: BTreeMap<usize, BodyValue> = BTreeMap::new();
        let mut loaded: BTreeMap<usize, BodyValue> = BTreeMap::new();
        let mut chains: BTreeMap<usize, (CarriedValue, BodyValue)> = BTreeMap::new();
        let sides = if rows_inner {
            [count, rows]
        } else {
            [rows, count]
        };
        for outer in 0..sides[0] {
            for inner in 0..sides[1] {
                let inner = (inner + sides[1] - outer % sides[1]) % sides[1];
                let (row, tap) = if rows_inner {
                    (inner, outer)
                } else {
                    (outer, inner)
                };
                let x = match known.get(&row) {
                    Some(x) => *x,
                    None => {
                        let x = turns.unit.value(&mut maker.body);
                        let at = row as i64 * apart;
                        let pointer = maker.pointer(&mut samples, false, at);
                        maker.body.load(BodyOperand::Whole(x), pointer, at);
                        known.insert(row, x);
                        x
                    }
                };
                let h = *loaded.entry(tap).or_insert_with(|| {
                    let h = turns.unit.value(&mut maker.body);
                    maker
                        .body
                        .load(BodyOperand::Whole(h), taps, size * tap as i64);
                    h
                });
                // sum[row + tap] += x[row] h[tap]
                let output = row + turns.taps.start + tap;
                let to = turns.unit.value(&mut maker.body);
                let [x, h] = [x, h].map(BodyOperand::Whole);
                let (carried, before) = match chains.get(&output) {
                    Some(&(carried, before)) => (carried, BodyOperand::Whole(before)),
                    None => {
                        let carried = maker.body.carry(sums.name_register(output));
                        (carried, BodyOperand::Before(carried))
                    }
                };
                maker
                    .body
                    .op(madd, &[BodyOperand::Whole(to)], &[x, h, before]);
                chains.insert(output, (carried, to));
            }
        }
        for (carried, sum) in chains.into_values() {
            maker.body.leave(carried, sum);
        }
        maker.finish(turns.turns, sums.register(0), machine)
    }

    /// Adds the loop over all turns to a page, and returns its cycles. Samples and outputs of the tile begin at a8 and
    /// a9; `name` is unique.
    pub(super) fn write(&self, name: &str, page: &mut PageText) -> u64 {
        page.add_block(&self.block.text(name, self.turns), self.price.words());
        self.price.cycles(self.turns)
    }
}
