//! One software-pipelined loop through phases of taps.
//!
//! An iteration is a turn as described in `polyphase`.

use super::polyphase::PolyphaseTurns;
use crate::pipeline::Operations;
use cp2_asm::schedule::{
    DataOperand, DataPointer, DataValue, Dataflow, LoopText, ModuloSchedule, PointerSetup,
    PointerStep,
};
use cp2_machine::Machine;
use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Number of pair registers.
const PAIR_REGISTERS: u8 = 64;
/// Farthest distance of an access from its pointer, in bytes.
const ACCESS_REACH_BYTES: i64 = 16_376;
/// Range of constants that an addition takes.
const ADDITION_CONSTANTS: std::ops::RangeInclusive<i64> = -2048..=2047;
/// Address registers of pointers to samples and outputs. Where sums are carried on, the last one serves the
/// ring of buffers.
const POINTER_REGISTERS: [u8; 7] = [0, 5, 3, 6, 1, 4, 7];

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

    fn value(self, body: &mut Dataflow) -> DataValue {
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

    fn sum_register(&self, output: usize) -> DataOperand {
        let register = self.register(output);
        if self.real {
            DataOperand::Quad(register / 2)
        } else {
            DataOperand::Pair(register)
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

/// Base address of a pointer.
#[derive(Clone, Copy, Debug)]
enum PolyphasePointerBase {
    Samples,
    Outputs,
    Taps,
}

/// Schedule of the turns of a loop.
#[derive(Clone, Debug)]
pub(super) struct PolyphaseLoop {
    schedule: ModuloSchedule,
    turns: usize,
    pointers: Vec<(DataPointer, PolyphasePointerBase, i64)>,
    /// Operations of all turns, for the model.
    pub(super) operations: Operations,
}

/// Pointers through which an iteration makes all accesses of one kind; each serves the accesses within its
/// reach.
struct ReachablePointers {
    base: PolyphasePointerBase,
    at: i64,
    step: PointerStep,
    made: BTreeMap<(bool, i64), DataPointer>,
}

struct PolyphaseLoopBuilder {
    body: Dataflow,
    pointers: Vec<(DataPointer, PolyphasePointerBase, i64)>,
}

impl PolyphaseLoopBuilder {
    fn pointer(
        &mut self,
        all: &mut ReachablePointers,
        late: bool,
        offset: i64,
    ) -> Option<DataPointer> {
        let key = (late, offset.div_euclid(ACCESS_REACH_BYTES));
        if let Some(pointer) = all.made.get(&key) {
            return Some(*pointer);
        }
        let taken = self.pointers.len() - 1;
        let pointer = self.body.pointer(*POINTER_REGISTERS.get(taken)?, all.step);
        self.pointers.push((pointer, all.base, all.at));
        all.made.insert(key, pointer);
        Some(pointer)
    }
}

impl PolyphaseLoop {
    /// Schedules the turns of a polyphase loop; none if registers do not suffice.
    pub(super) fn new(
        turns: &PolyphaseTurns,
        width: usize,
        sums: Option<&TileSums>,
        machine: &Machine,
    ) -> Option<Self> {
        let mut body = Dataflow::in_order();
        let size = turns.unit.bytes();
        let [at_sample, at_output, at_tap] = turns.at;
        let all: usize = turns.counts.iter().sum();
        let taps = body.pointer(2, PointerStep::Bytes(size * all as i64));
        let mut maker = PolyphaseLoopBuilder {
            body,
            pointers: vec![(taps, PolyphasePointerBase::Taps, at_tap)],
        };
        let (units, step) = match sums {
            Some(_) => (1, PointerStep::Bytes(-size)),
            None => (
                turns.counts.iter().filter(|&&c| c > 0).count(),
                PointerStep::Bytes(0),
            ),
        };
        let mut samples = ReachablePointers {
            base: PolyphasePointerBase::Samples,
            at: at_sample,
            step,
            made: BTreeMap::new(),
        };
        let mut outputs = ReachablePointers {
            base: PolyphasePointerBase::Outputs,
            at: at_output,
            step: PointerStep::Bytes(size * units as i64),
            made: BTreeMap::new(),
        };
        let [mul, madd] = turns.unit.names();
        let mut known: BTreeMap<i64, DataValue> = BTreeMap::new();
        let mut chains: BTreeMap<(usize, usize), DataOperand> = BTreeMap::new();
        let mut tap = 0;
        for i in 0..turns.counts[0] {
            for (unit, _) in turns.counts.iter().enumerate().filter(|(_, c)| i < **c) {
                let h = turns.unit.value(&mut maker.body);
                maker.body.load(DataOperand::Whole(h), taps, size * tap);
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
                            let pointer = maker.pointer(&mut samples, late, at)?;
                            if sums.is_none() && turns.unit == OperandForm::Real {
                                maker.body.load_twice(DataOperand::Whole(x), pointer, at);
                            } else {
                                maker.body.load(DataOperand::Whole(x), pointer, at);
                            }
                            known.insert(at, x);
                            x
                        }
                    };
                    let last = sums.filter(|_| i + 1 == turns.counts[unit]);
                    let to = match last {
                        Some(sums) => sums.sum_register(output),
                        None => DataOperand::Whole(turns.unit.value(&mut maker.body)),
                    };
                    let before = chains.get(&(unit, output)).copied();
                    let before = before.or_else(|| sums.map(|sums| sums.sum_register(output)));
                    let (x, h) = (DataOperand::Whole(x), DataOperand::Whole(h));
                    // sum = x h + sum
                    match before {
                        Some(sum) => maker.body.op(madd, &[to], &[x, h, sum]),
                        None => maker.body.op(mul, &[to], &[x, h]),
                    }
                    chains.insert((unit, output), to);
                }
            }
        }
        if sums.is_none() {
            for ((unit, output), sum) in chains {
                let at = output as i64 * turns.apart[1] + unit as i64 * size;
                let pointer = maker.pointer(&mut outputs, false, at)?;
                maker.body.store(sum, pointer, at);
            }
        }
        let PolyphaseLoopBuilder { body, pointers } = maker;
        let free = sums.map_or(PAIR_REGISTERS, |sums| sums.register(0));
        let mut operations = Operations::default();
        operations.add(&body, turns.turns as u64, machine);
        Some(Self {
            operations,
            schedule: body.schedule(machine, free).ok()?,
            turns: turns.turns,
            pointers,
        })
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
        let mut body = Dataflow::in_order();
        let taps = body.pointer(2, PointerStep::Bytes(size * count as i64));
        let [at_sample, at_tap] = turns.at;
        let mut maker = PolyphaseLoopBuilder {
            body,
            pointers: vec![(taps, PolyphasePointerBase::Taps, at_tap)],
        };
        let mut samples = ReachablePointers {
            base: PolyphasePointerBase::Samples,
            at: at_sample,
            step: PointerStep::Bytes(-size),
            made: BTreeMap::new(),
        };
        let [_, madd] = turns.unit.names();
        let mut known: BTreeMap<usize, DataValue> = BTreeMap::new();
        let mut loaded: BTreeMap<usize, DataValue> = BTreeMap::new();
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
                        let pointer = maker.pointer(&mut samples, false, at)?;
                        maker.body.load(DataOperand::Whole(x), pointer, at);
                        known.insert(row, x);
                        x
                    }
                };
                let h = *loaded.entry(tap).or_insert_with(|| {
                    let h = turns.unit.value(&mut maker.body);
                    maker
                        .body
                        .load(DataOperand::Whole(h), taps, size * tap as i64);
                    h
                });
                // sum[row + tap] += x[row] h[tap]
                let sum = sums.sum_register(row + turns.taps.start + tap);
                let operands = [DataOperand::Whole(x), DataOperand::Whole(h), sum];
                maker.body.op(madd, &[sum], &operands);
            }
        }
        let PolyphaseLoopBuilder { body, pointers } = maker;
        // The last register is that of the buffers.
        if pointers.len() > POINTER_REGISTERS.len() {
            return None;
        }
        let mut operations = Operations::default();
        operations.add(&body, turns.turns as u64, machine);
        Some(Self {
            operations,
            schedule: body.schedule(machine, sums.register(0)).ok()?,
            turns: turns.turns,
            pointers,
        })
    }

    /// Returns the words of all turns; samples and outputs of the tile begin at a8 and a9.
    pub(super) fn words(&self) -> LoopText {
        let s = &self.schedule;
        let set_up =
            |(number, &(pointer, base, at)): (usize, &(DataPointer, PolyphasePointerBase, i64))| {
                let (register, at) = (s.pointer_register(pointer), at + s.bias(pointer));
                let from = |base: u8| {
                    if ADDITION_CONSTANTS.contains(&at) {
                        return vec![format!("addi a{register}, a{base}, {at}")];
                    }
                    vec![
                        format!("movi s{number}, {at}"),
                        format!("add a{register}, a{base}, s{number}"),
                    ]
                };
                PointerSetup {
                    words: match base {
                        PolyphasePointerBase::Samples => from(8),
                        PolyphasePointerBase::Outputs => from(9),
                        PolyphasePointerBase::Taps => {
                            vec![format!("movi a{register}, taps + {at}")]
                        }
                    },
                    registers: vec![register],
                }
            };
        let setups = self.pointers.iter().enumerate().map(set_up).collect();
        s.emit(self.turns as u64).set_up(setups)
    }
}
