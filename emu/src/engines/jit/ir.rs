//! Intermediate representation between guest words and host instructions.
//!
//! Every instruction defines at most one value, named by the instruction's
//! index. A vector value is one host register of 512 or 256 bits, as the form
//! says: four lanes of four sections (the layout of a quad in the register
//! file), or two. A *half*, two lanes, is what a pair register holds; a vector of
//! two lanes is its own lower half. Scalars are 32-bit.

use crate::semantics::scalar::Binary;
use std::collections::HashMap;

/// Index of an instruction, which also names the value that it defines.
pub(super) type Id = u32;

/// Two lanes of a vector value: what a pair register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct VectorHalves {
    pub v: Id,
    /// True for the upper half.
    pub hi: bool,
}

/// A DMEM address: a scalar value plus a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct DmemAddress {
    pub base: Id,
    pub offset: i32,
}

/// Lane by lane operations of two vectors that are one host instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum LaneOperation {
    Add,
    Sub,
    Mul,
    Div,
    And,
    /// `!a & b`.
    AndNot,
    Or,
    Xor,
    IAdd,
    ISub,
    IMul,
    IMin,
    IMax,
    Shl,
    Shr,
    Sar,
}

/// Constants in the frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum FrameConstant {
    Sign,
    /// All bits but the sign.
    Magnitude,
    Ones,
    /// The sign bit in the odd lanes.
    OddSign,
}

/// Comparisons that give a mask of all ones or all zeros.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Compare {
    Eq,
    Lt,
    Le,
    IEq,
    ILt,
}

/// Conversions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Convert {
    Truncate,
    Nearest,
    Float,
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum IrInstruction {
    // Vectors.
    /// A vector of the register file as the segment finds it.
    Home(u8),
    /// Vector that a loop has carried from the pass before, by number.
    Begin(u8),
    /// A quad of DMEM.
    LoadQuad(DmemAddress),
    /// A pair of DMEM in each half.
    LoadPair(DmemAddress),
    /// A lane of DMEM in every lane.
    LoadLane(DmemAddress),
    Binary(LaneOperation, Id, Id),
    /// Operation with a constant as its second operand.
    With(LaneOperation, Id, FrameConstant),
    /// `a - b` in even lanes, `a + b` in odd ones.
    AddSub(Id, Id),
    /// `a + b` in even lanes, `a - b` in odd ones.
    SubAdd(Id, Id),
    /// Lanes 0, 1 from `a`, lanes 2, 3 from `b`, two selecting bits each, as in the guest's `perm`.
    Shuffle(Id, Id, u8),
    /// Vector of two lanes: one of `a`, one of `b`, a selecting bit each.
    Pick(Id, Id, u8),
    /// Lanes `n ..` of the concatenation `a:b`.
    Align(Id, Id, u8),
    Shift(LaneOperation, Id, u8),
    /// Bits of the second operand where the first has ones, else of the third.
    Select(Id, Id, Id),
    Min(Id, Id),
    Max(Id, Id),
    Compare(Compare, Id, Id),
    Convert(Convert, Id),
    /// Value with every NaN replaced by the canonical one.
    Canonical(Id),
    /// A constant in all lanes.
    Splat(u32),
    StoreQuad(Id, DmemAddress),
    StorePair(VectorHalves, DmemAddress),
    /// Prefetches a quad of DMEM that will be stored to.
    Prefetch(DmemAddress),
    SetHome(u8, Id),
    // Scalars.
    /// A scalar as the segment finds it.
    Scalar(u8),
    Immediate(u32),
    /// Value plus a constant.
    Offset(Id, i32),
    Compute(Binary, Id, Id),
    ComputeWith(Binary, Id, u32),
    /// `semantics::address::modulo` of pointer, step, base, length.
    Modulo(Id, Id, Id, Id),
    /// [`Self::Modulo`] of a pointer inside the buffer and a step no longer than the buffer:
    /// pointer, step, end, length.
    Walk(Id, Id, Id, Id),
    /// `semantics::address::reverse` of pointer and step for an access size.
    Reverse(Id, Id, u32),
    /// A word of section 0's DMEM.
    LoadWord(DmemAddress),
    SetScalar(u8, Id),
    /// Exits unless the walk of pointer, step, base and length stays inside its buffer, with all
    /// four multiples of `align`, and accesses from `base + low` on stay inside the `size` bytes of
    /// memory: with the length added, `base + low` is at most `last`.
    Enter {
        values: [Id; 4],
        low: i32,
        align: u32,
        size: u32,
        last: u32,
    },
    /// Exits unless `base + low` is a multiple of `align` and at most `last`.
    Check {
        base: Id,
        low: i32,
        align: u32,
        last: u32,
    },
}

/// Kind of host register that a value lives in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RegisterClass {
    Vector,
    Scalar,
}

impl IrInstruction {
    /// Returns the class of the value it defines, if any.
    pub(super) fn class(&self) -> Option<RegisterClass> {
        match self {
            Self::StoreQuad(..)
            | Self::StorePair(..)
            | Self::Prefetch(_)
            | Self::SetHome(..)
            | Self::SetScalar(..)
            | Self::Check { .. }
            | Self::Enter { .. } => None,
            Self::Scalar(_)
            | Self::Immediate(_)
            | Self::Offset(..)
            | Self::Compute(..)
            | Self::ComputeWith(..)
            | Self::Modulo(..)
            | Self::Walk(..)
            | Self::Reverse(..)
            | Self::LoadWord(_) => Some(RegisterClass::Scalar),
            _ => Some(RegisterClass::Vector),
        }
    }

    /// Returns the vector and the lane that the instruction spreads over a whole vector, if it does
    /// that.
    pub(super) fn spread(&self) -> Option<(Id, u8)> {
        match *self {
            Self::Pick(a, b, select @ (0 | 3)) if a == b => Some((a, select & 1)),
            Self::Shuffle(a, b, select @ (0 | 0x55 | 0xaa | 0xff)) if a == b => {
                Some((a, select & 3))
            }
            _ => None,
        }
    }

    /// Returns the values it uses, filled up with `None`.
    pub(super) fn uses(&self) -> [Option<Id>; 4] {
        let (mut all, mut n) = ([None; 4], 0);
        let mut take = |id: Id| {
            all[n] = Some(id);
            n += 1;
        };
        match *self {
            Self::Home(_)
            | Self::Begin(_)
            | Self::Splat(_)
            | Self::Scalar(_)
            | Self::Immediate(_) => {}
            Self::LoadQuad(at)
            | Self::LoadPair(at)
            | Self::LoadLane(at)
            | Self::LoadWord(at)
            | Self::Prefetch(at) => {
                take(at.base);
            }
            Self::Binary(_, a, b)
            | Self::AddSub(a, b)
            | Self::SubAdd(a, b)
            | Self::Shuffle(a, b, _)
            | Self::Pick(a, b, _)
            | Self::Align(a, b, _)
            | Self::Min(a, b)
            | Self::Max(a, b)
            | Self::Compare(_, a, b)
            | Self::Compute(_, a, b)
            | Self::Reverse(a, b, _) => {
                take(a);
                take(b);
            }
            Self::With(_, a, _)
            | Self::Shift(_, a, _)
            | Self::Convert(_, a)
            | Self::Canonical(a)
            | Self::SetHome(_, a)
            | Self::Offset(a, _)
            | Self::ComputeWith(_, a, _)
            | Self::SetScalar(_, a) => take(a),
            Self::Select(a, b, c) => {
                take(a);
                take(b);
                take(c);
            }
            Self::StoreQuad(v, at) => {
                take(v);
                take(at.base);
            }
            Self::StorePair(half, at) => {
                take(half.v);
                take(at.base);
            }
            Self::Modulo(a, b, c, d) | Self::Walk(a, b, c, d) => {
                [a, b, c, d].into_iter().for_each(take)
            }
            Self::Enter { values, .. } => values.into_iter().for_each(take),
            Self::Check { base, .. } => take(base),
        }
        all
    }

    /// True if an equal instruction gives an equal value at any position.
    fn pure(&self) -> bool {
        self.class().is_some()
            && !matches!(
                self,
                Self::LoadQuad(_) | Self::LoadPair(_) | Self::LoadLane(_) | Self::LoadWord(_)
            )
    }
}

/// Instructions by number; their order is in lists kept elsewhere.
#[derive(Clone, Debug, Default)]
pub(super) struct Arena {
    pub insts: Vec<IrInstruction>,
    known: HashMap<IrInstruction, Id>,
}

impl Arena {
    /// Adds an instruction. Returns its number, and whether it is new and must be listed.
    pub(super) fn add(&mut self, inst: IrInstruction) -> (Id, bool) {
        if let Some(&id) = self.known.get(&inst) {
            return (id, false);
        }
        let id = self.insts.len() as Id;
        self.insts.push(inst);
        if inst.pure() {
            self.known.insert(inst, id);
        }
        (id, true)
    }

    pub(super) fn get(&self, id: Id) -> IrInstruction {
        self.insts[id as usize]
    }
}
