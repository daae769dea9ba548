//! Which rows were executed, in which addressing mode, how often.

use cp2_asm::isa::{Mode, Op, Word};
use std::collections::BTreeMap;
use std::fmt;

/// A row of the instruction table, with its addressing mode where it has one.
/// The row determines the form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// The row.
    pub op: Op,
    /// Its addressing mode.
    pub mode: Option<&'static str>,
}

const MODES: [&str; 5] = ["offset", "post-increment", "step", "modulo", "reverse"];

impl Row {
    /// Every row in every addressing mode.
    pub fn all() -> impl Iterator<Item = Self> {
        Op::ALL.iter().flat_map(|&op| {
            let addressed = cp2_asm::isa::Inst::new(op).has_address();
            let modes = if addressed {
                MODES.map(Some).to_vec()
            } else {
                vec![None]
            };
            modes.into_iter().map(move |mode| Self { op, mode })
        })
    }

    fn of(inst: &cp2_asm::isa::Inst) -> Self {
        let mode = match inst.addr.mode {
            Mode::Offset(_) => MODES[0],
            Mode::Post(_) => MODES[1],
            Mode::Step(_) => MODES[2],
            Mode::Modulo(_) => MODES[3],
            Mode::Reverse(_) => MODES[4],
        };
        Self {
            op: inst.op,
            mode: inst.has_address().then_some(mode),
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let row = self.op.row();
        write!(f, "{:?} ({}, {:?})", self.op, row.mnemonic, row.form)?;
        self.mode.map_or(Ok(()), |mode| write!(f, " {mode}"))
    }
}

/// Times each row was executed.
#[derive(Clone, Debug, Default)]
pub struct Coverage(BTreeMap<Row, u64>);

impl Coverage {
    /// Books `times` issues of a word.
    pub fn add(&mut self, word: &Word, times: u64) {
        for inst in [&word.arith, &word.mem] {
            *self.0.entry(Row::of(inst)).or_default() += times;
        }
    }

    /// The rows executed less than `times` times, and how often they were.
    #[must_use]
    pub fn below(&self, times: u64) -> Vec<(Row, u64)> {
        Row::all()
            .map(|row| (row, self.0.get(&row).copied().unwrap_or(0)))
            .filter(|(_, n)| *n < times)
            .collect()
    }

    /// Adds another count to this one.
    pub fn merge(&mut self, other: &Self) {
        for (row, times) in &other.0 {
            *self.0.entry(*row).or_default() += times;
        }
    }
}
