//! Vector instructions for each arithmetic row of the instruction table.
//!
//! This is a second definition of the operations beside [`crate::semantics::arith`]. The JIT's
//! tests compare the two, row by row, on random operands. Rows that are missing here are left to
//! the portable tier.

use super::ir::{Compare, Convert, FrameConstant, Id, IrInstruction, LaneOperation};
use super::vectors::{PairOperand, SegmentVectors};
use cp2_asm::isa::{Inst as Guest, Op};

/// Kind of vector code that a row becomes, which decides how its operands are packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OperandPacking {
    Float(LaneOperation),
    Bits(LaneOperation),
    Shift(LaneOperation),
    With(LaneOperation, FrameConstant),
    Min,
    Max,
    Compare(Compare),
    Convert(Convert),
    /// `(a * b) second c`, or `c second (a * b)` if reversed; `negate` changes the product's sign.
    Multiply {
        negate: bool,
        second: LaneOperation,
        reversed: bool,
    },
    Select,
    Reciprocal,
    /// Two selected lanes of one pair.
    Lanes([u8; 2]),
    /// A lane of `a` and a lane of `b`.
    Mix(u8, u8),
    Complex(ComplexProduct),
    /// Complex product, and then its sum with `c` or its difference from `c`.
    ComplexThen(ComplexProduct, LaneOperation),
    AddSub,
    Butterfly(ComplexProduct, ButterflyFactor),
    Immediate,
    Permute,
    Extract,
}

/// Complex products; a name with `y` conjugates the first factor, with `c` the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ComplexProduct {
    Plain,
    C,
    Y,
    YC,
}

/// Factor that a butterfly multiplies its product by: none, i, or -i.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ButterflyFactor {
    None,
    Plus,
    Minus,
}

/// Returns the row of an operation, or `None` if it is not emitted. Moves and the transposition of
/// quads only rename halves: see [`super::segment_steps`].
pub(super) fn row(op: Op) -> Option<OperandPacking> {
    let multiply = |negate, second, reversed| OperandPacking::Multiply {
        negate,
        second,
        reversed,
    };
    Some(match op {
        Op::AbsP | Op::AbsQ => OperandPacking::With(LaneOperation::And, FrameConstant::Magnitude),
        Op::NegP | Op::NegQ => OperandPacking::With(LaneOperation::Xor, FrameConstant::Sign),
        Op::NotP | Op::NotQ => OperandPacking::With(LaneOperation::Xor, FrameConstant::Ones),
        Op::ConjP | Op::ConjQ => OperandPacking::With(LaneOperation::Xor, FrameConstant::OddSign),
        Op::FtoiP | Op::FtoiQ => OperandPacking::Convert(Convert::Truncate),
        Op::FtoinP | Op::FtoinQ => OperandPacking::Convert(Convert::Nearest),
        Op::ItofP | Op::ItofQ => OperandPacking::Convert(Convert::Float),
        Op::Rcp => OperandPacking::Reciprocal,
        Op::SwapP | Op::SwapQ => OperandPacking::Lanes([1, 0]),
        Op::Dup0P => OperandPacking::Lanes([0, 0]),
        Op::Dup1P => OperandPacking::Lanes([1, 1]),
        Op::AddP | Op::AddQ => OperandPacking::Float(LaneOperation::Add),
        Op::SubP | Op::SubQ => OperandPacking::Float(LaneOperation::Sub),
        Op::MulP | Op::MulQ => OperandPacking::Float(LaneOperation::Mul),
        Op::MinP | Op::MinQ => OperandPacking::Min,
        Op::MaxP | Op::MaxQ => OperandPacking::Max,
        Op::CmpeqP | Op::CmpeqQ => OperandPacking::Compare(Compare::Eq),
        Op::CmpltP | Op::CmpltQ => OperandPacking::Compare(Compare::Lt),
        Op::CmpleP | Op::CmpleQ => OperandPacking::Compare(Compare::Le),
        Op::IcmpeqP | Op::IcmpeqQ => OperandPacking::Compare(Compare::IEq),
        Op::IcmpltP | Op::IcmpltQ => OperandPacking::Compare(Compare::ILt),
        Op::IaddP | Op::IaddQ => OperandPacking::Bits(LaneOperation::IAdd),
        Op::IsubP | Op::IsubQ => OperandPacking::Bits(LaneOperation::ISub),
        Op::ImulP | Op::ImulQ => OperandPacking::Bits(LaneOperation::IMul),
        Op::AndP | Op::AndQ => OperandPacking::Bits(LaneOperation::And),
        Op::OrP | Op::OrQ => OperandPacking::Bits(LaneOperation::Or),
        Op::XorP | Op::XorQ => OperandPacking::Bits(LaneOperation::Xor),
        Op::AndnP | Op::AndnQ => OperandPacking::Bits(LaneOperation::AndNot),
        Op::ShlP | Op::ShlQ => OperandPacking::Bits(LaneOperation::Shl),
        Op::ShrP | Op::ShrQ => OperandPacking::Bits(LaneOperation::Shr),
        Op::SarP | Op::SarQ => OperandPacking::Bits(LaneOperation::Sar),
        Op::IminP | Op::IminQ => OperandPacking::Bits(LaneOperation::IMin),
        Op::ImaxP | Op::ImaxQ => OperandPacking::Bits(LaneOperation::IMax),
        Op::ShliP | Op::ShliQ => OperandPacking::Shift(LaneOperation::Shl),
        Op::ShriP | Op::ShriQ => OperandPacking::Shift(LaneOperation::Shr),
        Op::SariP | Op::SariQ => OperandPacking::Shift(LaneOperation::Sar),
        Op::TrnloP => OperandPacking::Mix(0, 0),
        Op::TrnhiP => OperandPacking::Mix(1, 1),
        Op::ExtP => OperandPacking::Mix(1, 0),
        Op::PermQ => OperandPacking::Permute,
        Op::ExtQ => OperandPacking::Extract,
        Op::CmulP => OperandPacking::Complex(ComplexProduct::Plain),
        Op::CmulcP => OperandPacking::Complex(ComplexProduct::C),
        Op::MaddP | Op::MaddQ => multiply(false, LaneOperation::Add, false),
        Op::MsubP | Op::MsubQ => multiply(false, LaneOperation::Sub, false),
        Op::NmaddP | Op::NmaddQ => multiply(true, LaneOperation::Sub, false),
        Op::NmsubP | Op::NmsubQ => multiply(false, LaneOperation::Sub, true),
        Op::SelP | Op::SelQ => OperandPacking::Select,
        Op::CmaddP => OperandPacking::ComplexThen(ComplexProduct::Plain, LaneOperation::Add),
        Op::CmaddcP => OperandPacking::ComplexThen(ComplexProduct::C, LaneOperation::Add),
        Op::CmsubP => OperandPacking::ComplexThen(ComplexProduct::Plain, LaneOperation::Sub),
        Op::CmsubcP => OperandPacking::ComplexThen(ComplexProduct::C, LaneOperation::Sub),
        Op::Addsub => OperandPacking::AddSub,
        Op::Lif | Op::Lii => OperandPacking::Immediate,
        Op::Bfly => OperandPacking::Butterfly(ComplexProduct::Plain, ButterflyFactor::None),
        Op::BflyI => OperandPacking::Butterfly(ComplexProduct::Plain, ButterflyFactor::Plus),
        Op::BflyN => OperandPacking::Butterfly(ComplexProduct::Plain, ButterflyFactor::Minus),
        Op::BflyC => OperandPacking::Butterfly(ComplexProduct::C, ButterflyFactor::None),
        Op::BflyCI => OperandPacking::Butterfly(ComplexProduct::C, ButterflyFactor::Plus),
        Op::BflyCN => OperandPacking::Butterfly(ComplexProduct::C, ButterflyFactor::Minus),
        Op::BflyY => OperandPacking::Butterfly(ComplexProduct::Y, ButterflyFactor::None),
        Op::BflyYI => OperandPacking::Butterfly(ComplexProduct::Y, ButterflyFactor::Plus),
        Op::BflyYN => OperandPacking::Butterfly(ComplexProduct::Y, ButterflyFactor::Minus),
        Op::BflyYC => OperandPacking::Butterfly(ComplexProduct::YC, ButterflyFactor::None),
        _ => return None,
    })
}

impl OperandPacking {
    /// True if operands are used bit by bit, so that their NaN must be canonical.
    pub(super) fn observes(self) -> bool {
        match self {
            Self::Bits(_)
            | Self::Shift(_)
            | Self::With(..)
            | Self::Compare(Compare::IEq | Compare::ILt)
            | Self::Convert(Convert::Float)
            | Self::Select
            | Self::Lanes(_)
            | Self::Mix(..)
            | Self::Permute
            | Self::Extract => true,
            Self::Float(_)
            | Self::Min
            | Self::Max
            | Self::Compare(_)
            | Self::Convert(_)
            | Self::Multiply { .. }
            | Self::Reciprocal
            | Self::Complex(_)
            | Self::ComplexThen(..)
            | Self::AddSub
            | Self::Butterfly(..)
            | Self::Immediate => false,
        }
    }

    /// Returns the operand that is used only with its lanes spread, if there is one.
    pub(super) fn factor(self) -> Option<usize> {
        match self {
            Self::Butterfly(..) => Some(2),
            Self::Complex(_) | Self::ComplexThen(..) => Some(1),
            _ => None,
        }
    }

    /// Returns how many operands, from the first on, must share vectors with those of a second
    /// operation to save moving lanes.
    pub(super) fn shared_operand_count(self) -> usize {
        match self {
            Self::Butterfly(..) => 2,
            Self::Complex(_) => 1,
            Self::Lanes(_) | Self::Immediate | Self::Mix(..) => 0,
            _ => 3,
        }
    }

    /// Returns the host instructions saved when a second operation shares the vectors of the first.
    pub(super) fn price(self) -> usize {
        match self {
            Self::Butterfly(..) => 8,
            Self::Complex(_) => 5,
            Self::ComplexThen(..) => 6,
            Self::Reciprocal | Self::Min | Self::Max | Self::Convert(_) => 3,
            Self::AddSub | Self::Multiply { .. } | Self::Compare(_) => 2,
            Self::Mix(..) => 1,
            _ => 1,
        }
    }

    /// Emits the row; returns its result, and a second one if it has two.
    pub(super) fn emit(
        self,
        s: &mut SegmentVectors,
        inst: &Guest,
        operands: &[PairOperand],
    ) -> [Option<Id>; 2] {
        let mut all = [None; 3];
        for (slot, operand) in all.iter_mut().zip(operands) {
            *slot = Some(if self.observes() {
                s.observe(*operand)
            } else {
                *operand
            });
        }
        let [a, b, c] = all;
        let result = match (self, a, b, c) {
            (Self::Immediate, ..) => Some(s.emit(IrInstruction::Splat(inst.imm as u32))),
            (Self::With(op, constant), Some(a), ..) => {
                let a = s.value(a);
                Some(s.emit_with_constant(op, a, constant))
            }
            (Self::Shift(op), Some(a), ..) => {
                let a = s.value(a);
                Some(s.emit(IrInstruction::Shift(op, a, inst.imm as u8)))
            }
            (Self::Convert(to), Some(a), ..) => {
                let a = s.value(a);
                Some(s.emit(IrInstruction::Convert(to, a)))
            }
            (Self::Reciprocal, Some(a), ..) => {
                let a = s.value(a);
                let one = s.emit(IrInstruction::Splat(1f32.to_bits()));
                Some(s.float(LaneOperation::Div, one, a))
            }
            (Self::Lanes(select), Some(a), ..) => Some(s.select(a, select)),
            (Self::Permute, Some(a), ..) => {
                let a = s.value(a);
                Some(s.emit(IrInstruction::Shuffle(a, a, inst.imm as u8)))
            }
            (Self::Mix(i, j), Some(a), Some(b), _) => Some(s.mix(a, i, b, j)),
            (Self::Complex(product), Some(a), Some(b), _) => {
                Some(multiply(s, product, a, b, false))
            }
            (Self::ComplexThen(product, then), Some(a), Some(b), Some(c)) => {
                let t = multiply(s, product, a, b, false);
                let c = s.value(c);
                Some(s.float(then, c, t))
            }
            (Self::Butterfly(product, turn), Some(x), Some(y), Some(w)) => {
                let x = s.value(x);
                let t = multiply(s, product, y, w, turn != ButterflyFactor::None);
                let (d, e) = match turn {
                    ButterflyFactor::None => (
                        s.float(LaneOperation::Add, x, t),
                        s.float(LaneOperation::Sub, x, t),
                    ),
                    ButterflyFactor::Plus => (s.add_sub(x, t), s.sub_add(x, t)),
                    ButterflyFactor::Minus => (s.sub_add(x, t), s.add_sub(x, t)),
                };
                return [Some(d), Some(e)];
            }
            (_, Some(a), Some(b), c) => {
                let (a, b) = (s.value(a), s.value(b));
                return self.lane_by_lane(s, inst, a, b, c);
            }
            _ => None,
        };
        [result, None]
    }

    /// Emits a row of two or three operands that treats all lanes alike.
    fn lane_by_lane(
        self,
        s: &mut SegmentVectors,
        inst: &Guest,
        a: Id,
        b: Id,
        c: Option<PairOperand>,
    ) -> [Option<Id>; 2] {
        let c = c.map(|c| s.value(c));
        let result = match (self, c) {
            (Self::Float(op), _) => s.float(op, a, b),
            // `AndNot` complements its first operand, the guest its second.
            (Self::Bits(LaneOperation::AndNot), _) => s.bits(LaneOperation::AndNot, b, a),
            (Self::Bits(op), _) => s.bits(op, a, b),
            (Self::Min, _) => s.emit(IrInstruction::Min(a, b)),
            (Self::Max, _) => s.emit(IrInstruction::Max(a, b)),
            (Self::Compare(how), _) => s.emit(IrInstruction::Compare(how, a, b)),
            (Self::Extract, _) => s.emit(IrInstruction::Align(a, b, inst.imm as u8)),
            (Self::Select, Some(c)) => s.emit(IrInstruction::Select(c, a, b)),
            (Self::AddSub, _) => {
                let d = s.float(LaneOperation::Add, a, b);
                return [Some(d), Some(s.float(LaneOperation::Sub, a, b))];
            }
            (
                Self::Multiply {
                    negate,
                    second,
                    reversed,
                },
                Some(c),
            ) => {
                let mut product = s.float(LaneOperation::Mul, a, b);
                if negate {
                    product = s.raw_with(LaneOperation::Xor, product, FrameConstant::Sign);
                }
                let (x, y) = if reversed { (c, product) } else { (product, c) };
                s.float(second, x, y)
            }
            _ => return [None; 2],
        };
        [Some(result), None]
    }
}

/// Emits the complex product of `y` and `w`, with real and imaginary part exchanged if `swap`.
///
/// With `m1 = (yr wr, yi wr)` and `m2 = (yi wi, yr wi)` the parts of the plain product are
/// `m1 -+ m2`. The parts of the other products differ in signs and order, as the semantics define.
/// Exchanged, `m1 = (yi wr, yr wr)` and `m2 = (yr wi, yi wi)`.
fn multiply(
    s: &mut SegmentVectors,
    product: ComplexProduct,
    y: PairOperand,
    w: PairOperand,
    swap: bool,
) -> Id {
    let wr = s.select(w, [0, 0]);
    let wi = s.select(w, [1, 1]);
    let straight = s.value(y);
    let crossed = s.select(y, [1, 0]);
    let (f, g) = if swap {
        (crossed, straight)
    } else {
        (straight, crossed)
    };
    let m1 = s.float(LaneOperation::Mul, f, wr);
    let m2 = s.float(LaneOperation::Mul, g, wi);
    match (product, swap) {
        (ComplexProduct::Plain, false) | (ComplexProduct::C, true) => s.add_sub(m1, m2),
        (ComplexProduct::Plain, true) | (ComplexProduct::C, false) => s.sub_add(m1, m2),
        (ComplexProduct::Y, false) => s.sub_add(m2, m1),
        (ComplexProduct::Y, true) => s.add_sub(m2, m1),
        // The product is `(yr wr - yi wi, -yi wr - yr wi)`: the sign of m1's odd lanes is changed
        // first.
        (ComplexProduct::YC, _) => {
            let signed = s.raw_with(LaneOperation::Xor, m1, FrameConstant::OddSign);
            s.float(LaneOperation::Sub, signed, m2)
        }
    }
}
