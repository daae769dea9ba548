//! Counts of executed instruction rows by addressing mode.

use cp2_asm::isa::{AddressOperand, Inst, Kind, Mode, Op, Word};
use std::fmt;

/// A row of the instruction table, with its addressing mode where it has one.
/// The row determines the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CoverageRow {
    /// Row of the table.
    pub op: Op,
    /// Addressing mode, as an index of [`MODES`].
    mode: Option<usize>,
}

const MODES: [&str; 6] = [
    "offset",
    "post-increment",
    "step",
    "modulo",
    "reverse",
    "own address",
];

/// Index of own addresses in [`MODES`], which have rows of their own.
const OWN: usize = 5;

/// Counts of a row: one without a mode, and one for each mode.
const COLUMNS: usize = 1 + MODES.len();

impl CoverageRow {
    /// Returns every row in every addressing mode.
    pub fn all() -> impl Iterator<Item = Self> {
        Op::ALL.iter().flat_map(|&op| {
            let addressed = Inst::new(op).has_address();
            let modes = if is_own(op) {
                OWN..MODES.len()
            } else if addressed {
                0..OWN
            } else {
                0..1
            };
            modes.map(move |i| Self {
                op,
                mode: addressed.then_some(i),
            })
        })
    }

    /// Returns the index of the row in a table of counts.
    fn place(self) -> usize {
        self.op.place() * COLUMNS + self.mode.map_or(0, |mode| 1 + mode)
    }

    fn from_inst(inst: &Inst) -> Self {
        let mode = match inst.place {
            AddressOperand::Own(_) => OWN,
            AddressOperand::Shared(address) => match address.mode {
                Mode::Offset(_) => 0,
                Mode::Post(_) => 1,
                Mode::Step(_) => 2,
                Mode::Modulo(_) => 3,
                Mode::Reverse(_) => 4,
            },
        };
        Self {
            op: inst.op,
            mode: inst.has_address().then_some(mode),
        }
    }
}

/// True if the sections form the row's addresses themselves.
fn is_own(op: Op) -> bool {
    let mut operands = op.row().form.operands().iter();
    operands.any(|operand| matches!(operand.kind, Kind::OwnMem { .. }))
}

impl fmt::Display for CoverageRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = self.op.row();
        write!(f, "{:?} ({}, {:?})", self.op, row.mnemonic, row.form)?;
        self.mode
            .map_or(Ok(()), |mode| write!(f, " {}", MODES[mode]))
    }
}

/// Times each row was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// Counts by [`CoverageRow::place`]. An operation may be removed before it is added, so that
    /// counts can be negative in between; at the end none is.
    times: Vec<i64>,
    words: i64,
}

impl Default for Coverage {
    fn default() -> Self {
        Self {
            times: vec![0; (Op::ALL.len() + 1) * COLUMNS],
            words: 0,
        }
    }
}

impl Coverage {
    /// Books `times` issues of a word.
    pub fn add(&mut self, word: &Word, times: u64) {
        self.book(word, times as i64);
    }

    /// Takes back `times` issues of a word that are booked before or after.
    pub fn remove(&mut self, word: &Word, times: u64) {
        self.book(word, -(times as i64));
    }

    fn book(&mut self, word: &Word, times: i64) {
        self.words += times;
        for inst in [&word.arith, &word.mem] {
            self.times[CoverageRow::from_inst(inst).place()] += times;
        }
    }

    /// Returns the number of words.
    #[must_use]
    pub fn words(&self) -> u64 {
        self.words.try_into().unwrap_or(0)
    }

    /// Returns how often a row was executed.
    #[must_use]
    pub fn count_executed(&self, row: CoverageRow) -> u64 {
        self.times[row.place()].try_into().unwrap_or(0)
    }

    /// Adds the counts of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.words += other.words;
        for (all, more) in self.times.iter_mut().zip(&other.times) {
            *all += more;
        }
    }
}
