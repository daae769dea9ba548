//! The instruction set: one table, and everything that derives from it.
//!
//! A 64-bit word issues one arithmetic and one memory-or-control operation:
//!
//! ```text
//!  63            29 28             0
//! +----------------+----------------+
//! | arithmetic, 35 | memory/ctl, 29 |
//! +----------------+----------------+
//!
//! arithmetic:  major[34:30] f0[29:24] f1[23:18] f2[17:12] f3[11:6] f4[5:0]
//! memory:      major[28:24] f0[23:18]  a[17:14] mode[13:12] imm[11:0]
//! own address: major[28:24] f0[23:18]  a[17:14] r[13:8] h[7:6] minor[5:0]
//! control:     major[28:24] f0[23:18] f1[17:12] f2[11:6] minor[5:0], or wider immediates
//! ```
//!
//! Bits that a row does not use are zero; any other word is a
//! [`DecodeError`]. The all-zero word is two `nop`s.

mod code;
mod form;
mod reg;
mod table;
#[cfg(test)]
mod tests;
mod user;

pub use code::{DecodeError, Word};
pub use form::{Address, AddressOperand, Field, Form, Kind, Mode, Operand, OwnAddress, Role, Slot};
pub(crate) use reg::index;
pub use reg::{Reg, RegSet, SCALARS, Scalar};
pub use table::{Op, Row};
pub use user::Isa;

use cp2_machine::Cp2;

/// One decoded operation: a row of the table and its operand values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Inst {
    /// The row.
    pub op: Op,
    /// Register operands in the order of the form; unused entries are zero.
    /// A quad is held by its quad index (`q3` is 3), a scalar by its flat index.
    pub r: [u8; 5],
    /// The immediate operand: value, count, or event number.
    pub imm: i32,
    /// Word address of a branch target, or number of words of a loop body.
    pub target: u16,
    /// The DMEM address operand.
    pub place: AddressOperand,
}

impl Inst {
    /// Makes the operation with all operands zero.
    #[must_use]
    pub const fn new(op: Op) -> Self {
        Self {
            op,
            r: [0; 5],
            imm: 0,
            target: 0,
            place: match op {
                Op::LdOwnP | Op::LdOwnQ | Op::LdOwnDup | Op::LdOwnW => {
                    AddressOperand::Own(OwnAddress::ZERO)
                }
                _ => AddressOperand::Shared(Address::ZERO),
            },
        }
    }

    /// Returns the table row.
    #[must_use]
    pub fn row(&self) -> &'static Row {
        self.op.row()
    }

    /// Returns the cycles from issue to the first issue that may read what the operation's unit writes.
    #[must_use]
    pub fn latency(&self, cp2: &Cp2) -> u64 {
        let own = match self.op {
            Op::User(row) => row.definition().latency,
            _ => None,
        };
        own.unwrap_or(cp2.latency[self.row().class]).0.max(1)
    }

    /// Returns the registers that are read, including those of the address operand.
    #[must_use]
    pub fn reads(&self) -> RegSet {
        self.regs(Role::reads)
    }

    /// Returns the registers written by the operation's unit, with the row's latency class. The address
    /// update is separate: see [`Inst::address_write`].
    #[must_use]
    pub fn writes(&self) -> RegSet {
        let mut set = RegSet::EMPTY;
        let mut next = 0;
        for operand in self.row().form.operands() {
            if operand.kind.is_register() {
                if operand.role.writes() {
                    set |= operand.kind.regs(self.r[next]);
                }
                next += 1;
            }
        }
        set
    }

    /// Returns the address register that a post-update writes (class `scalar`).
    #[must_use]
    pub fn address_write(&self) -> RegSet {
        if self.has_address() && self.place.updates() {
            RegSet::one(Scalar::address(self.place.base()).reg())
        } else {
            RegSet::EMPTY
        }
    }

    /// True if the operation addresses DMEM.
    #[must_use]
    pub fn has_address(&self) -> bool {
        self.row()
            .form
            .operands()
            .iter()
            .any(|o| matches!(o.kind, Kind::Mem { .. } | Kind::OwnMem { .. }))
    }

    fn regs(&self, pick: impl Fn(Role) -> bool) -> RegSet {
        let mut set = RegSet::EMPTY;
        let mut next = 0;
        for operand in self.row().form.operands() {
            if operand.kind.is_register() {
                if pick(operand.role) {
                    set |= operand.kind.regs(self.r[next]);
                }
                next += 1;
            } else if let Kind::Mem { .. } | Kind::OwnMem { .. } = operand.kind {
                set |= self.place.reads();
            }
        }
        set
    }
}
