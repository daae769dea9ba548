//! Instruction sets of machines: the table, and the rows that a machine file adds.

use super::code::DecodeError;
use super::form::{Form, Slot};
use super::table::{Op, Row};
use super::{Inst, Word};
use cp2_machine::{Extensions, Machine, ROW_MAJOR, RowForm, UserRow};
use std::sync::OnceLock;

/// Table rows of the rows of machine files, by [`UserRow::place`].
static TABLE: [OnceLock<Row>; UserRow::MOST] = [const { OnceLock::new() }; UserRow::MOST];

/// Returns the table row of a row of a machine file.
pub(super) fn table_row(row: UserRow) -> &'static Row {
    TABLE[row.place() % UserRow::MOST].get_or_init(|| {
        let definition = row.definition();
        let count = |units: u32| u8::try_from(units).unwrap_or(u8::MAX);
        Row {
            op: Op::User(row),
            mnemonic: &definition.mnemonic,
            form: form(definition.form),
            major: ROW_MAJOR,
            minor: definition.opcode,
            class: definition.class,
            requires: Extensions::empty(),
            muls: count(definition.flow.muls()),
            adds: count(definition.flow.adds()),
            doc: &definition.doc,
        }
    })
}

/// Returns the form of the table that a row of a machine file has.
const fn form(form: RowForm) -> Form {
    match form {
        RowForm::P2 => Form::P2,
        RowForm::Q2 => Form::Q2,
        RowForm::P3 => Form::P3,
        RowForm::Q3 => Form::Q3,
        RowForm::P4 => Form::P4,
        RowForm::Q4 => Form::Q4,
        RowForm::P22 => Form::P22,
    }
}

/// The instructions of a machine, or of a program: those of the table, and rows of a machine file. What decodes
/// words, or looks for mnemonics, takes it; an operation that was found knows its row by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isa<'a> {
    rows: &'a [UserRow],
}

impl<'a> Isa<'a> {
    /// The instructions of the table alone.
    pub const BASE: Isa<'static> = Isa { rows: &[] };

    /// Returns the instructions of a machine.
    #[must_use]
    pub fn of(machine: &'a Machine) -> Self {
        Self::with_rows(&machine.cp2.rows)
    }

    /// Returns the instructions of the table and these rows, which have different opcodes.
    #[must_use]
    pub const fn with_rows(rows: &'a [UserRow]) -> Self {
        Self { rows }
    }

    /// Returns the rows of machine files.
    #[must_use]
    pub const fn rows(self) -> &'a [UserRow] {
        self.rows
    }

    /// Returns the operation that the opcode among a slot's bits names, whatever its operands are.
    #[must_use]
    pub fn op(self, slot: Slot, bits: u64) -> Option<Op> {
        let is_row = slot == Slot::Arith && bits >> (slot.bits() - 5) == u64::from(ROW_MAJOR);
        if !is_row {
            return Op::of(slot, bits);
        }
        let found = self
            .rows
            .iter()
            .find(|row| u64::from(row.definition().opcode) == bits & 63);
        found.map(|row| Op::User(*row))
    }

    /// Decodes one slot.
    ///
    /// # Errors
    /// The bits that no row encodes.
    pub fn decode_slot(self, slot: Slot, bits: u64) -> Result<Inst, DecodeError> {
        Inst::decode_op(self.op(slot, bits), slot, bits)
    }

    /// Decodes a word.
    ///
    /// # Errors
    /// A description of the first slot or register that is invalid; see [`DecodeError`].
    pub fn decode(self, bits: u64) -> Result<Word, DecodeError> {
        let slot = |s: Slot| self.decode_slot(s, s.bits_of(bits));
        let word = Word {
            arith: slot(Slot::Arith)?,
            mem: slot(Slot::Mem)?,
        };
        match word.written_twice() {
            None => Ok(word),
            Some(reg) => Err(DecodeError::WrittenTwice { reg }),
        }
    }

    /// Iterates over the operations that are rows of machine files.
    pub fn operations(self) -> impl Iterator<Item = Op> + use<'a> {
        self.rows.iter().map(|row| Op::User(*row))
    }

    /// Iterates over the operations of a mnemonic that are rows of machine files.
    pub(crate) fn named(self, mnemonic: &str) -> impl Iterator<Item = Op> {
        let named = move |op: &Op| op.row().mnemonic == mnemonic;
        self.operations().filter(named)
    }
}

impl Word {
    /// Returns the row of a machine file that the word uses, if it does.
    #[must_use]
    pub fn user_row(&self) -> Option<UserRow> {
        match self.arith.op {
            Op::User(row) => Some(row),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::Kind;

    /// Machine files know of forms what the table says of them.
    #[test]
    fn forms_of_rows_are_forms_of_the_table() {
        for one in RowForm::ALL {
            let of = form(one);
            assert_eq!(format!("{of:?}"), one.name());
            assert!(of.minor().is_some());
            let operands = of.operands();
            assert!(operands.iter().map(|o| &o.name).eq(one.operands()));
            for (at, operand) in operands.iter().enumerate() {
                let kind = if one.lanes() == 4 {
                    Kind::Quad
                } else {
                    Kind::Pair
                };
                assert_eq!(operand.kind, kind);
                assert_eq!(operand.role.writes(), at < one.results());
            }
        }
    }

    #[test]
    fn the_opcodes_of_rows_are_free_in_the_table() {
        for &op in Op::ALL {
            let row = op.row();
            assert!(
                row.slot() != Slot::Arith || row.major != ROW_MAJOR,
                "{op:?}"
            );
        }
    }
}
