//! Encoding and decoding of the 64-bit word, derived from the table.

use super::form::{Address, AddressOperand, Kind, Mode, OwnAddress, Slot};
use super::reg::RegSet;
use super::table::Op;
use super::{Inst, Isa, Reg};
use cp2_machine::Extensions;
use std::sync::LazyLock;

/// One instruction word: the two operations that are issued in one cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Word {
    /// Arithmetic slot.
    pub arith: Inst,
    /// Memory and control slot.
    pub mem: Inst,
}

/// Reasons why a 64-bit value is no instruction word.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// No row has these opcode bits.
    #[error("{slot:?} slot {bits:#x}: no instruction has opcode {major}.{minor}")]
    Opcode {
        /// Slot with the unknown opcode.
        slot: Slot,
        /// Bits of the slot.
        bits: u64,
        /// Major opcode.
        major: u8,
        /// Minor opcode bits as they stand in the word.
        minor: u8,
    },
    /// A bit that the row does not use is set.
    #[error("{slot:?} slot {bits:#x}: reserved bits {reserved:#x} of `{}` must be zero", op.row().mnemonic)]
    Reserved {
        /// Slot with the reserved bits.
        slot: Slot,
        /// Bits of the slot.
        bits: u64,
        /// Reserved bits that are set.
        reserved: u64,
        /// The row that was recognised.
        op: Op,
    },
    /// An operand field holds a value the operand may not take.
    #[error("{slot:?} slot {bits:#x}: operand `{operand}` of `{}` has the invalid value {value}", op.row().mnemonic)]
    Operand {
        /// Slot of the operand.
        slot: Slot,
        /// Bits of the slot.
        bits: u64,
        /// The row that was recognised.
        op: Op,
        /// Name of the operand in the form.
        operand: &'static str,
        /// The field's value.
        value: u64,
    },
    /// One register is written twice by the word.
    #[error("register {reg} is written twice in one word")]
    WrittenTwice {
        /// The register.
        reg: Reg,
    },
}

/// Table rows by slot, major and minor opcode.
static INDEX: LazyLock<Vec<Option<Op>>> = LazyLock::new(|| {
    let mut index = vec![None; 2 * 32 * 64];
    for &op in Op::ALL {
        let row = op.row();
        let minors = if row.form.minor().is_some() {
            row.minor..=row.minor
        } else {
            0..=63
        };
        for minor in minors {
            index[slot_index(row.slot(), row.major, minor)] = Some(op);
        }
    }
    index
});

const fn slot_index(slot: Slot, major: u8, minor: u8) -> usize {
    ((slot as usize) << 11) | ((major as usize) << 6) | minor as usize
}

/// Returns the major and minor opcode bits among a slot's bits.
const fn opcode(slot: Slot, bits: u64) -> (u8, u8) {
    ((bits >> (slot.bits() - 5)) as u8, (bits & 63) as u8)
}

impl Op {
    /// Returns the operation that the opcode among a slot's bits names, whatever its operands are.
    #[must_use]
    pub fn of(slot: Slot, bits: u64) -> Option<Self> {
        let (major, minor) = opcode(slot, bits);
        INDEX.get(slot_index(slot, major, minor)).copied().flatten()
    }
}

const fn sign_extend(value: u64, bits: u32) -> i32 {
    ((value as i64) << (64 - bits) >> (64 - bits)) as i32
}

impl Inst {
    /// Returns the slot's bits. Every [`Inst`] that [`Inst::decode`] returns or the assembler builds can be
    /// encoded; operand values out of range are cut to their field.
    #[must_use]
    pub fn encode(&self) -> u64 {
        let row = self.row();
        let mut bits = u64::from(row.major) << (row.slot().bits() - 5);
        if let Some(minor) = row.form.minor() {
            bits |= minor.put(u64::from(row.minor));
        }
        let mut next = 0;
        for operand in row.form.operands() {
            bits |= match operand.kind {
                Kind::Pair | Kind::Quad | Kind::Scalar | Kind::ScalarCouple => {
                    next += 1;
                    operand.field.put(u64::from(self.r[next - 1]))
                }
                Kind::Imm { .. } => operand.field.put(self.imm as u64),
                Kind::Float24 => operand.field.put(u64::from(self.imm as u32 >> 8)),
                Kind::Target | Kind::LoopEnd => operand.field.put(u64::from(self.target)),
                Kind::Mem { align, .. } | Kind::OwnMem { bytes: align } => match self.place {
                    AddressOperand::Shared(address) => address.encode(align),
                    AddressOperand::Own(address) => address.encode(),
                },
            };
        }
        bits
    }

    /// Decodes one slot by the table alone.
    ///
    /// # Errors
    /// The bits that no row encodes.
    pub fn decode(slot: Slot, bits: u64) -> Result<Self, DecodeError> {
        Isa::BASE.decode_slot(slot, bits)
    }

    /// Decodes one slot whose opcode names `op`.
    pub(super) fn decode_op(op: Option<Op>, slot: Slot, bits: u64) -> Result<Self, DecodeError> {
        let (major, minor) = opcode(slot, bits);
        let op = op.ok_or(DecodeError::Opcode {
            slot,
            bits,
            major,
            minor,
        })?;
        let form = op.row().form;
        let mut inst = Self::new(op);
        let mut next = 0;
        let mut used = !0 << (slot.bits() - 5) | form.minor().map_or(0, |m| m.mask());
        for operand in form.operands() {
            let value = operand.field.get(bits);
            let bad = DecodeError::Operand {
                slot,
                bits,
                op,
                operand: operand.name,
                value,
            };
            used |= operand.field.mask();
            match operand.kind {
                kind @ (Kind::Pair | Kind::Quad | Kind::Scalar | Kind::ScalarCouple) => {
                    let odd = kind == Kind::ScalarCouple && value % 2 == 1;
                    if value >= u64::from(kind.registers()) || odd {
                        return Err(bad);
                    }
                    inst.r[next] = value as u8;
                    next += 1;
                }
                Kind::Imm { signed, min } => {
                    let imm = if signed {
                        sign_extend(value, operand.field.bits)
                    } else {
                        value as i32
                    };
                    if imm < min {
                        return Err(bad);
                    }
                    inst.imm = imm;
                }
                Kind::Float24 => inst.imm = (value << 8) as u32 as i32,
                Kind::Target => inst.target = value as u16,
                Kind::LoopEnd => {
                    if value == 0 {
                        return Err(bad);
                    }
                    inst.target = value as u16;
                }
                Kind::Mem { align, .. } => {
                    inst.place = AddressOperand::Shared(Address::decode(bits, align).ok_or(bad)?);
                    used |= Address::MODE.mask() | Address::IMM.mask();
                }
                Kind::OwnMem { .. } => {
                    inst.place = AddressOperand::Own(OwnAddress::decode(bits));
                    used |= OwnAddress::mask();
                }
            }
        }
        let reserved = bits & !used;
        if reserved == 0 {
            Ok(inst)
        } else {
            Err(DecodeError::Reserved {
                slot,
                bits,
                reserved,
                op,
            })
        }
    }
}

impl Address {
    fn encode(self, align: u32) -> u64 {
        let scaled = |v: i32| Self::IMM.put((v / align as i32) as u64);
        let step = |s: u8, kind: u64| {
            Self::MODE.put(2) | Self::STEP.put(u64::from(s)) | Self::STEP_KIND.put(kind)
        };
        Self::BASE.put(u64::from(self.base))
            | match self.mode {
                Mode::Offset(v) => Self::MODE.put(0) | scaled(v),
                Mode::Post(v) => Self::MODE.put(1) | scaled(v),
                Mode::Step(s) => step(s, 0),
                Mode::Modulo(s) => step(s, 1),
                Mode::Reverse(s) => step(s, 2),
            }
    }

    fn decode(bits: u64, align: u32) -> Option<Self> {
        let base = Self::BASE.get(bits) as u8;
        let imm = sign_extend(Self::IMM.get(bits), Self::IMM.bits) * align as i32;
        let step = Self::STEP.get(bits) as u8;
        let mode = match (
            Self::MODE.get(bits),
            Self::STEP_KIND.get(bits),
            Self::STEP_ZERO.get(bits),
        ) {
            (0, ..) => Mode::Offset(imm),
            (1, ..) => Mode::Post(imm),
            (2, 0, 0) => Mode::Step(step),
            (2, 1, 0) if base < Self::MODULO_REGISTERS => Mode::Modulo(step),
            (2, 2, 0) => Mode::Reverse(step),
            _ => return None,
        };
        Some(Self { base, mode })
    }

    /// Returns the offsets and increments, in bytes, that fit in the field for accesses of an alignment.
    #[must_use]
    pub fn immediate_range(align: u32) -> std::ops::RangeInclusive<i32> {
        let half = 1 << (Self::IMM.bits - 1);
        -half * align as i32..=(half - 1) * align as i32
    }
}

impl OwnAddress {
    fn encode(self) -> u64 {
        Address::BASE.put(u64::from(self.base))
            | Self::REGISTER.put(u64::from(self.register))
            | Self::HALF.put(u64::from(self.half))
    }

    fn decode(bits: u64) -> Self {
        Self {
            base: Address::BASE.get(bits) as u8,
            register: Self::REGISTER.get(bits) as u8,
            half: Self::HALF.get(bits) as u8,
        }
    }
}

impl Word {
    /// Two no-operations: the all-zero word.
    pub const NOP: Self = Self {
        arith: Inst::new(Op::Nop),
        mem: Inst::new(Op::MemNop),
    };

    /// Returns the word's bits.
    #[must_use]
    pub fn encode(&self) -> u64 {
        self.arith.encode() << Slot::Arith.shift() | self.mem.encode() << Slot::Mem.shift()
    }

    /// Decodes a word by the table alone; [`Isa::decode`] knows a machine's own rows too.
    ///
    /// # Errors
    /// A description of the first slot or register that is invalid; see [`DecodeError`].
    pub fn decode(bits: u64) -> Result<Self, DecodeError> {
        Isa::BASE.decode(bits)
    }

    /// Returns a register that the word writes twice, if any: no valid word has one.
    #[must_use]
    pub fn written_twice(&self) -> Option<Reg> {
        let mut seen = RegSet::EMPTY;
        for inst in [&self.arith, &self.mem] {
            let mut next = 0;
            for operand in inst.row().form.operands() {
                if operand.kind.is_register() {
                    if operand.role.writes() {
                        let set = operand.kind.regs(inst.r[next]);
                        if let Some(reg) = (seen & set).iter().next() {
                            return Some(reg);
                        }
                        seen |= set;
                    }
                    next += 1;
                }
            }
            if let Some(reg) = (seen & inst.address_write()).iter().next() {
                return Some(reg);
            }
            seen |= inst.address_write();
        }
        None
    }

    /// Returns the extensions that the word requires.
    #[must_use]
    pub fn requires(&self) -> Extensions {
        self.arith.row().requires | self.mem.row().requires
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_rows_share_an_opcode() {
        for (i, a) in Op::ALL.iter().enumerate() {
            for b in &Op::ALL[i + 1..] {
                let (a, b) = (a.row(), b.row());
                let same_minor =
                    a.form.minor().is_none() || b.form.minor().is_none() || a.minor == b.minor;
                assert!(
                    a.slot() != b.slot() || a.major != b.major || !same_minor,
                    "{:?} and {:?} overlap",
                    a.op,
                    b.op
                );
            }
        }
    }

    #[test]
    fn zero_is_two_nops() {
        assert_eq!(Word::decode(0), Ok(Word::NOP));
        assert_eq!(Word::NOP.encode(), 0);
    }
}
