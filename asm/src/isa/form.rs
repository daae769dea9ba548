//! Operand forms: fields of a row, their bits, registers read and written.

use super::reg::{Reg, RegSet, Scalar};

/// Half of the instruction word that holds an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slot {
    /// Arithmetic of the sections.
    Arith,
    /// Memory, shared scalars and control.
    Mem,
}

impl Slot {
    /// Returns the width in bits.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Arith => 35,
            Self::Mem => 29,
        }
    }

    /// Returns the position of the slot's lowest bit in the word.
    #[must_use]
    pub const fn shift(self) -> u32 {
        match self {
            Self::Arith => Self::Mem.bits(),
            Self::Mem => 0,
        }
    }

    /// Extracts the slot's bits from a word.
    #[must_use]
    pub const fn bits_of(self, word: u64) -> u64 {
        word >> self.shift() & ((1 << self.bits()) - 1)
    }
}

/// A bit field inside a slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Position of the lowest bit.
    pub lsb: u32,
    /// Width in bits.
    pub bits: u32,
}

impl Field {
    const fn at(lsb: u32, bits: u32) -> Self {
        Self { lsb, bits }
    }

    /// Returns the field's mask, in place.
    #[must_use]
    pub const fn mask(self) -> u64 {
        ((1 << self.bits) - 1) << self.lsb
    }

    /// Extracts the field, unsigned.
    #[must_use]
    pub const fn get(self, slot: u64) -> u64 {
        (slot & self.mask()) >> self.lsb
    }

    /// Puts the low bits of `value` in place.
    #[must_use]
    pub const fn put(self, value: u64) -> u64 {
        (value << self.lsb) & self.mask()
    }
}

/// Kind of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Section register, a pair of lanes: `r0..r63`.
    Pair,
    /// Even/odd couple of section registers: `q0..q31`.
    Quad,
    /// Shared scalar register.
    Scalar,
    /// Couple of consecutive shared scalars, named by the first, even one.
    ScalarCouple,
    /// Immediate integer; the field holds it as is.
    Imm {
        /// Two's complement.
        signed: bool,
        /// Smallest value the assembler takes (the field could hold less).
        min: i32,
    },
    /// Immediate binary32 whose low eight bits are zero; the field holds the upper 24.
    Float24,
    /// Absolute word address in program memory.
    Target,
    /// Last word of a hardware loop; the field holds the body's length in words.
    LoopEnd,
    /// DMEM address `[a0 + 8]`, `[a0]+8`, `[a0]+s1`, `[a0]+s1%`, `[a0]+s1!`:
    /// a composite of the fields `a`, `mode` and `imm`. Offsets are bytes,
    /// multiples of `align`, held divided by it.
    Mem {
        /// Bytes accessed in each section.
        bytes: u32,
        /// Alignment in bytes, the unit of immediates: the bytes accessed, or a word.
        align: u32,
    },
    /// DMEM address `[a0 + r5.h1]`, which each section forms itself: see [`OwnAddress`].
    OwnMem {
        /// Bytes accessed in each section; the alignment, and the unit of the half-word.
        bytes: u32,
    },
}

impl Kind {
    /// True if the operand occupies an entry of [`super::Inst::r`].
    #[must_use]
    pub const fn is_register(self) -> bool {
        matches!(
            self,
            Self::Pair | Self::Quad | Self::Scalar | Self::ScalarCouple
        )
    }

    /// Returns the number of values that a register operand may take.
    #[must_use]
    pub const fn registers(self) -> u8 {
        match self {
            Self::Pair | Self::Scalar | Self::ScalarCouple => 64,
            Self::Quad => 32,
            _ => 0,
        }
    }

    /// Returns the flat registers that operand value `r` covers.
    #[must_use]
    pub const fn regs(self, r: u8) -> RegSet {
        match self {
            Self::Pair => RegSet::one(Reg::pair(r)),
            Self::Quad => RegSet(0b11 << (2 * r)),
            Self::Scalar => RegSet::one(Scalar(r).reg()),
            Self::ScalarCouple => RegSet(0b11 << (64 + (r & !1))),
            _ => RegSet::EMPTY,
        }
    }
}

/// Use of an operand by its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Read.
    In,
    /// Written.
    Out,
    /// Read, then written.
    InOut,
}

impl Role {
    /// True if the operation uses the old value.
    #[must_use]
    pub const fn reads(self) -> bool {
        matches!(self, Self::In | Self::InOut)
    }

    /// True if the operation produces a new value.
    #[must_use]
    pub const fn writes(self) -> bool {
        matches!(self, Self::Out | Self::InOut)
    }
}

/// One operand of a form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operand {
    /// Name in the manual and in error messages.
    pub name: &'static str,
    /// Kind of the operand.
    pub kind: Kind,
    /// Use of the operand: read, written, or both.
    pub role: Role,
    /// Bits of the operand in the slot (for [`Kind::Mem`] and [`Kind::OwnMem`], those of the base register).
    pub field: Field,
}

/// Formation and update of a DMEM address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// `[a + offset]`: no update.
    Offset(i32),
    /// `[a]+imm`: use `a`, then add the immediate.
    Post(i32),
    /// `[a]+s`: use `a`, then add step register `s`.
    Step(u8),
    /// `[a]+s%`: use `a`, then add `s` modulo: stays in `b .. b + l` (a0..a7 only).
    Modulo(u8),
    /// `[a]+s!`: use `a`, then add `s` with the carry running from high to low bits (bit-reversed
    /// addressing).
    Reverse(u8),
}

impl Mode {
    /// True if the address register is written.
    #[must_use]
    pub const fn updates(self) -> bool {
        !matches!(self, Self::Offset(_))
    }
}

/// A DMEM address operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// Index of the address register, 0..16.
    pub base: u8,
    /// Offset or update.
    pub mode: Mode,
}

impl Address {
    /// `[a0 + 0]`.
    pub const ZERO: Self = Self {
        base: 0,
        mode: Mode::Offset(0),
    };

    /// Base register field.
    pub(crate) const BASE: Field = Field::at(14, 4);
    /// Mode field: 0 offset, 1 post-increment, 2 step register, 3 reserved.
    pub(crate) const MODE: Field = Field::at(12, 2);
    /// Offset or immediate increment, signed, scaled.
    pub(crate) const IMM: Field = Field::at(0, 12);
    /// Step register, under mode 2.
    pub(crate) const STEP: Field = Field::at(8, 4);
    /// Kind of step under mode 2: 0 linear, 1 modulo, 2 bit-reversed, 3 reserved.
    pub(crate) const STEP_KIND: Field = Field::at(6, 2);
    /// Bits that must be zero under mode 2.
    pub(crate) const STEP_ZERO: Field = Field::at(0, 6);
    /// Number of address registers, from `a0` on, that have a modulo base and length.
    pub const MODULO_REGISTERS: u8 = 8;

    /// Returns the scalars that are read to form and update the address.
    #[must_use]
    pub fn reads(self) -> RegSet {
        let base = RegSet::one(Scalar::address(self.base).reg());
        match self.mode {
            Mode::Offset(_) | Mode::Post(_) => base,
            Mode::Step(s) | Mode::Reverse(s) => base | RegSet::one(Scalar::step(s).reg()),
            Mode::Modulo(s) => {
                let i = self.base % Self::MODULO_REGISTERS;
                base | RegSet::one(Scalar::step(s).reg())
                    | RegSet::one(Scalar::base(i).reg())
                    | RegSet::one(Scalar::length(i).reg())
            }
        }
    }
}

/// A DMEM address that each section forms itself: the address register and, in units of the access, a
/// half-word of the section's own register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OwnAddress {
    /// Index of the address register, 0..16.
    pub base: u8,
    /// Pair register that holds the half-word, 0..64.
    pub register: u8,
    /// Half-word of the pair, 0..4: 0 is the lower half of lane 0, 3 the upper half of lane 1.
    pub half: u8,
}

impl OwnAddress {
    /// `[a0 + r0.h0]`.
    pub const ZERO: Self = Self {
        base: 0,
        register: 0,
        half: 0,
    };

    /// Field of the pair register.
    pub(crate) const REGISTER: Field = Field::at(8, 6);
    /// Field of the half-word.
    pub(crate) const HALF: Field = Field::at(6, 2);

    /// Returns the bits that the composite operand takes in the slot.
    pub(crate) const fn mask() -> u64 {
        Address::BASE.mask() | Self::REGISTER.mask() | Self::HALF.mask()
    }
}

/// The place of a DMEM access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressOperand {
    /// One address serves all sections.
    Shared(Address),
    /// Each section forms its own address.
    Own(OwnAddress),
}

impl AddressOperand {
    /// Returns the index of the address register.
    #[must_use]
    pub const fn base(self) -> u8 {
        match self {
            Self::Shared(Address { base, .. }) | Self::Own(OwnAddress { base, .. }) => base,
        }
    }

    /// True if the address register is written.
    #[must_use]
    pub const fn updates(self) -> bool {
        match self {
            Self::Shared(address) => address.mode.updates(),
            Self::Own(_) => false,
        }
    }

    /// Returns the registers that are read to form and update the address.
    #[must_use]
    pub fn reads(self) -> RegSet {
        match self {
            Self::Shared(address) => address.reads(),
            Self::Own(own) => {
                RegSet::one(Scalar::address(own.base).reg()) | RegSet::one(Reg::pair(own.register))
            }
        }
    }
}

const A0: Field = Field::at(24, 6);
const A1: Field = Field::at(18, 6);
const A2: Field = Field::at(12, 6);
const A3: Field = Field::at(6, 6);
const A4: Field = Field::at(0, 6);
const M0: Field = Field::at(18, 6);
const M1: Field = Field::at(12, 6);
const M2: Field = Field::at(6, 6);

const fn op(name: &'static str, kind: Kind, role: Role, field: Field) -> Operand {
    Operand {
        name,
        kind,
        role,
        field,
    }
}

const fn uimm(min: i32) -> Kind {
    Kind::Imm { signed: false, min }
}

const SIMM: Kind = Kind::Imm {
    signed: true,
    min: i32::MIN,
};

macro_rules! forms {
    ($($(#[$doc:meta])* $name:ident($slot:ident, $minor:expr) = [$($operand:expr),* $(,)?];)*) => {
        /// The operand form of a row.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Form { $($(#[$doc])* $name),* }

        impl Form {
            /// All forms.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// Returns the slot that the form belongs to.
            #[must_use]
            pub const fn slot(self) -> Slot {
                match self { $(Self::$name => Slot::$slot),* }
            }

            /// Returns the field of the minor opcode, if the form has one.
            #[must_use]
            pub const fn minor(self) -> Option<Field> {
                match self { $(Self::$name => $minor),* }
            }

            /// Returns the operands in assembler order.
            #[must_use]
            pub fn operands(self) -> &'static [Operand] {
                match self { $(Self::$name => const { &[$($operand),*] }),* }
            }
        }
    };
}

const AMIN: Option<Field> = Some(A4);
const MMIN: Option<Field> = Some(Field::at(0, 6));

use Kind::{Float24, LoopEnd, Mem, OwnMem, Pair, Quad, Scalar as Sc, ScalarCouple, Target};
use Role::{In, InOut, Out};

forms! {
    /// No operands, arithmetic slot.
    ArithNone(Arith, AMIN) = [];
    /// `d, a` on pairs.
    P2(Arith, AMIN) = [op("d", Pair, Out, A0), op("a", Pair, In, A1)];
    /// `d, a` on quads.
    Q2(Arith, AMIN) = [op("d", Quad, Out, A0), op("a", Quad, In, A1)];
    /// `d, a, b` on pairs.
    P3(Arith, AMIN) = [op("d", Pair, Out, A0), op("a", Pair, In, A1), op("b", Pair, In, A2)];
    /// `d, a, b` on quads.
    Q3(Arith, AMIN) = [op("d", Quad, Out, A0), op("a", Quad, In, A1), op("b", Quad, In, A2)];
    /// `d, a`: a pair from a quad.
    PairOfQuad(Arith, AMIN) = [op("d", Pair, Out, A0), op("a", Quad, In, A1)];
    /// `d, a`: a quad from a pair.
    QuadOfPair(Arith, AMIN) = [op("d", Quad, Out, A0), op("a", Pair, In, A1)];
    /// `d, a, b, c` on pairs.
    P4(Arith, AMIN) = [op("d", Pair, Out, A0), op("a", Pair, In, A1), op("b", Pair, In, A2), op("c", Pair, In, A3)];
    /// `d, a, b, c` on quads.
    Q4(Arith, AMIN) = [op("d", Quad, Out, A0), op("a", Quad, In, A1), op("b", Quad, In, A2), op("c", Quad, In, A3)];
    /// `d, e, a, b`: two results.
    P22(Arith, AMIN) = [op("d", Pair, Out, A0), op("e", Pair, Out, A1), op("a", Pair, In, A2), op("b", Pair, In, A3)];
    /// `d, a, n` with a shift count, pairs.
    PShift(Arith, AMIN) = [op("d", Pair, Out, A0), op("a", Pair, In, A1), op("n", uimm(0), In, Field::at(12, 5))];
    /// `d, a, n` with a shift count, quads.
    QShift(Arith, AMIN) = [op("d", Quad, Out, A0), op("a", Quad, In, A1), op("n", uimm(0), In, Field::at(12, 5))];
    /// `d, a, lanes`: two bits per result lane, lane 0 lowest.
    QPerm(Arith, AMIN) = [op("d", Quad, Out, A0), op("a", Quad, In, A1), op("lanes", uimm(0), In, Field::at(6, 8))];
    /// `d, a, b, n`: lanes n.. of the concatenation a:b.
    QExt(Arith, AMIN) = [op("d", Quad, Out, A0), op("a", Quad, In, A1), op("b", Quad, In, A2), op("n", uimm(1), In, Field::at(6, 2))];
    /// `d, value`: float immediate.
    PFloat(Arith, None) = [op("d", Pair, Out, A0), op("value", Float24, In, Field::at(0, 24))];
    /// `d, value`: integer immediate.
    PInt(Arith, None) = [op("d", Pair, Out, A0), op("value", SIMM, In, Field::at(0, 24))];
    /// `d, e, x, y, w`: butterfly.
    Butterfly(Arith, None) = [op("d", Pair, Out, A0), op("e", Pair, Out, A1), op("x", Pair, In, A2), op("y", Pair, In, A3), op("w", Pair, In, A4)];

    /// `d, e, x, y, w`: butterfly on quads.
    QuadButterfly(Arith, None) = [op("d", Quad, Out, A0), op("e", Quad, Out, A1), op("x", Quad, In, A2), op("y", Quad, In, A3), op("w", Quad, In, A4)];

    /// No operands, memory slot.
    MemNone(Mem, MMIN) = [];
    /// `a`: a mask from the signs of a quad.
    MaskQuad(Mem, MMIN) = [op("a", Quad, In, M0)];
    /// `x, a`: a vote on the signs of a quad.
    VoteQuad(Mem, MMIN) = [op("x", Sc, Out, M0), op("a", Quad, In, M1)];
    /// Load of a pair.
    LoadPair(Mem, None) = [op("d", Pair, Out, M0), op("addr", Mem { bytes: 8, align: 8 }, In, Address::BASE)];
    /// Load of a quad, or of a pair into both halves of one.
    LoadQuad(Mem, None) = [op("d", Quad, Out, M0), op("addr", Mem { bytes: 16, align: 16 }, In, Address::BASE)];
    /// Duplicating load: a pair into both halves of a quad.
    LoadDup(Mem, None) = [op("d", Quad, Out, M0), op("addr", Mem { bytes: 8, align: 8 }, In, Address::BASE)];
    /// Load of a pair at own addresses.
    GatherPair(Mem, MMIN) = [op("d", Pair, Out, M0), op("addr", OwnMem { bytes: 8 }, In, Address::BASE)];
    /// Load of a quad at own addresses.
    GatherQuad(Mem, MMIN) = [op("d", Quad, Out, M0), op("addr", OwnMem { bytes: 16 }, In, Address::BASE)];
    /// Duplicating load at own addresses: a pair into both halves of a quad.
    GatherDup(Mem, MMIN) = [op("d", Quad, Out, M0), op("addr", OwnMem { bytes: 8 }, In, Address::BASE)];
    /// `d, a, n` on pairs: across sections.
    RotatePair(Mem, MMIN) = [op("d", Pair, Out, M0), op("a", Pair, In, M1), op("n", uimm(1), In, M2)];
    /// `d, a, n` on quads: across sections.
    RotateQuad(Mem, MMIN) = [op("d", Quad, Out, M0), op("a", Quad, In, M1), op("n", uimm(1), In, M2)];
    /// `a, b, n` on pairs, both changed: across sections.
    ExchangePair(Mem, MMIN) = [op("a", Pair, InOut, M0), op("b", Pair, InOut, M1), op("n", uimm(1), In, M2)];
    /// `a, b, n` on quads, both changed: across sections.
    ExchangeQuad(Mem, MMIN) = [op("a", Quad, InOut, M0), op("b", Quad, InOut, M1), op("n", uimm(1), In, M2)];
    /// Load of a word at own addresses.
    GatherWord(Mem, MMIN) = [op("d", Pair, Out, M0), op("addr", OwnMem { bytes: 4 }, In, Address::BASE)];
    /// Load of a word into both lanes of a pair.
    LoadWord(Mem, None) = [op("d", Pair, Out, M0), op("addr", Mem { bytes: 4, align: 4 }, In, Address::BASE)];
    /// Store of the word in lane 0.
    StoreWord(Mem, None) = [op("a", Pair, In, M0), op("addr", Mem { bytes: 4, align: 4 }, In, Address::BASE)];
    /// Load of a pair from any word address.
    LoadPairUnaligned(Mem, None) = [op("d", Pair, Out, M0), op("addr", Mem { bytes: 8, align: 4 }, In, Address::BASE)];
    /// Load of a quad from any word address.
    LoadQuadUnaligned(Mem, None) = [op("d", Quad, Out, M0), op("addr", Mem { bytes: 16, align: 4 }, In, Address::BASE)];
    /// Store of a pair to any word address.
    StorePairUnaligned(Mem, None) = [op("a", Pair, In, M0), op("addr", Mem { bytes: 8, align: 4 }, In, Address::BASE)];
    /// Store of a quad to any word address.
    StoreQuadUnaligned(Mem, None) = [op("a", Quad, In, M0), op("addr", Mem { bytes: 16, align: 4 }, In, Address::BASE)];
    /// Store of a pair.
    StorePair(Mem, None) = [op("a", Pair, In, M0), op("addr", Mem { bytes: 8, align: 8 }, In, Address::BASE)];
    /// Store of a quad.
    StoreQuad(Mem, None) = [op("a", Quad, In, M0), op("addr", Mem { bytes: 16, align: 16 }, In, Address::BASE)];
    /// Scalar load from section 0.
    LoadScalar(Mem, None) = [op("x", Sc, Out, M0), op("addr", Mem { bytes: 8, align: 8 }, In, Address::BASE)];
    /// Load of two scalars from section 0.
    LoadScalar2(Mem, None) = [op("x", ScalarCouple, Out, M0), op("addr", Mem { bytes: 8, align: 8 }, In, Address::BASE)];
    /// `x, value`: scalar immediate.
    ScalarImm(Mem, None) = [op("x", Sc, Out, M0), op("value", SIMM, In, Field::at(0, 18))];
    /// `x, value`: upper half.
    ScalarHigh(Mem, None) = [op("x", Sc, InOut, M0), op("value", uimm(0), In, Field::at(0, 16))];
    /// `x, y, value`.
    ScalarAddImm(Mem, None) = [op("x", Sc, Out, M0), op("y", Sc, In, M1), op("value", SIMM, In, Field::at(0, 12))];
    /// `x, y`.
    Scalar2(Mem, MMIN) = [op("x", Sc, Out, M0), op("y", Sc, In, M1)];
    /// `x, y, z`.
    Scalar3(Mem, MMIN) = [op("x", Sc, Out, M0), op("y", Sc, In, M1), op("z", Sc, In, M2)];
    /// `x, y, n`: shift count.
    ScalarShift(Mem, MMIN) = [op("x", Sc, Out, M0), op("y", Sc, In, M1), op("n", uimm(0), In, Field::at(6, 5))];
    /// `count, end`: hardware loop with a constant count.
    LoopImm(Mem, None) = [op("count", uimm(1), In, Field::at(12, 12)), op("end", LoopEnd, In, Field::at(0, 12))];
    /// `x, end`: hardware loop with a register count.
    LoopReg(Mem, None) = [op("x", Sc, In, M0), op("end", LoopEnd, In, Field::at(0, 12))];
    /// `target`.
    Jump(Mem, None) = [op("target", Target, In, Field::at(0, 16))];
    /// `x, target`.
    Branch(Mem, None) = [op("x", Sc, In, M0), op("target", Target, In, Field::at(0, 16))];
    /// `event`.
    Event(Mem, MMIN) = [op("event", uimm(0), In, Field::at(18, 5))];
}
