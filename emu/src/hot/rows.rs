//! What each arithmetic row becomes.
//!
//! The second form of the operations beside [`crate::semantics::arith`]; the
//! tests of this module compare the two, row by row, on random operands.
//! Rows that are missing here are left to the portable tier.

use super::ir::{Compare, Constant, Convert, Id, Inst, Lanes};
use super::vectors::{Operand, Vectors};
use cp2_asm::isa::{Inst as Guest, Op};

/// How a row's operands become vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Row {
    Float(Lanes),
    Bits(Lanes),
    Shift(Lanes),
    With(Lanes, Constant),
    Min,
    Max,
    Compare(Compare),
    Convert(Convert),
    /// `(a * b) second c`, or `c second (a * b)`.
    Multiply {
        negate: bool,
        second: Lanes,
        reversed: bool,
    },
    Select,
    Reciprocal,
    /// Lanes of one pair.
    Lanes([u8; 2]),
    /// Lane of `a`, lane of `b`.
    Mix(u8, u8),
    Complex(Product),
    /// A complex product, then the sum with (or the difference from) `c`.
    ComplexThen(Product, Lanes),
    AddSub,
    Butterfly(Product, Turn),
    Immediate,
    Permute,
    Extract,
}

/// Complex products; a name with `y` conjugates the first factor, with `c` the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Product {
    Plain,
    C,
    Y,
    YC,
}

/// What a butterfly multiplies its product by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    None,
    Plus,
    Minus,
}

/// The row of an operation, or `None` where it is not emitted. Moves and the
/// transposition of quads only rename halves: see `build`.
pub(super) fn row(op: Op) -> Option<Row> {
    let multiply = |negate, second, reversed| Row::Multiply {
        negate,
        second,
        reversed,
    };
    Some(match op {
        Op::AbsP | Op::AbsQ => Row::With(Lanes::And, Constant::Magnitude),
        Op::NegP | Op::NegQ => Row::With(Lanes::Xor, Constant::Sign),
        Op::NotP | Op::NotQ => Row::With(Lanes::Xor, Constant::Ones),
        Op::ConjP | Op::ConjQ => Row::With(Lanes::Xor, Constant::OddSign),
        Op::FtoiP | Op::FtoiQ => Row::Convert(Convert::Truncate),
        Op::FtoinP | Op::FtoinQ => Row::Convert(Convert::Nearest),
        Op::ItofP | Op::ItofQ => Row::Convert(Convert::Float),
        Op::Rcp => Row::Reciprocal,
        Op::SwapP | Op::SwapQ => Row::Lanes([1, 0]),
        Op::Dup0P => Row::Lanes([0, 0]),
        Op::Dup1P => Row::Lanes([1, 1]),
        Op::AddP | Op::AddQ => Row::Float(Lanes::Add),
        Op::SubP | Op::SubQ => Row::Float(Lanes::Sub),
        Op::MulP | Op::MulQ => Row::Float(Lanes::Mul),
        Op::MinP | Op::MinQ => Row::Min,
        Op::MaxP | Op::MaxQ => Row::Max,
        Op::CmpeqP | Op::CmpeqQ => Row::Compare(Compare::Eq),
        Op::CmpltP | Op::CmpltQ => Row::Compare(Compare::Lt),
        Op::CmpleP | Op::CmpleQ => Row::Compare(Compare::Le),
        Op::IcmpeqP | Op::IcmpeqQ => Row::Compare(Compare::IEq),
        Op::IcmpltP | Op::IcmpltQ => Row::Compare(Compare::ILt),
        Op::IaddP | Op::IaddQ => Row::Bits(Lanes::IAdd),
        Op::IsubP | Op::IsubQ => Row::Bits(Lanes::ISub),
        Op::ImulP | Op::ImulQ => Row::Bits(Lanes::IMul),
        Op::AndP | Op::AndQ => Row::Bits(Lanes::And),
        Op::OrP | Op::OrQ => Row::Bits(Lanes::Or),
        Op::XorP | Op::XorQ => Row::Bits(Lanes::Xor),
        Op::AndnP | Op::AndnQ => Row::Bits(Lanes::AndNot),
        Op::ShlP | Op::ShlQ => Row::Bits(Lanes::Shl),
        Op::ShrP | Op::ShrQ => Row::Bits(Lanes::Shr),
        Op::SarP | Op::SarQ => Row::Bits(Lanes::Sar),
        Op::IminP | Op::IminQ => Row::Bits(Lanes::IMin),
        Op::ImaxP | Op::ImaxQ => Row::Bits(Lanes::IMax),
        Op::ShliP | Op::ShliQ => Row::Shift(Lanes::Shl),
        Op::ShriP | Op::ShriQ => Row::Shift(Lanes::Shr),
        Op::SariP | Op::SariQ => Row::Shift(Lanes::Sar),
        Op::TrnloP => Row::Mix(0, 0),
        Op::TrnhiP => Row::Mix(1, 1),
        Op::ExtP => Row::Mix(1, 0),
        Op::PermQ => Row::Permute,
        Op::ExtQ => Row::Extract,
        Op::CmulP => Row::Complex(Product::Plain),
        Op::CmulcP => Row::Complex(Product::C),
        Op::MaddP | Op::MaddQ => multiply(false, Lanes::Add, false),
        Op::MsubP | Op::MsubQ => multiply(false, Lanes::Sub, false),
        Op::NmaddP | Op::NmaddQ => multiply(true, Lanes::Sub, false),
        Op::NmsubP | Op::NmsubQ => multiply(false, Lanes::Sub, true),
        Op::SelP | Op::SelQ => Row::Select,
        Op::CmaddP => Row::ComplexThen(Product::Plain, Lanes::Add),
        Op::CmaddcP => Row::ComplexThen(Product::C, Lanes::Add),
        Op::CmsubP => Row::ComplexThen(Product::Plain, Lanes::Sub),
        Op::CmsubcP => Row::ComplexThen(Product::C, Lanes::Sub),
        Op::Addsub => Row::AddSub,
        Op::Lif | Op::Lii => Row::Immediate,
        Op::Bfly => Row::Butterfly(Product::Plain, Turn::None),
        Op::BflyI => Row::Butterfly(Product::Plain, Turn::Plus),
        Op::BflyN => Row::Butterfly(Product::Plain, Turn::Minus),
        Op::BflyC => Row::Butterfly(Product::C, Turn::None),
        Op::BflyCI => Row::Butterfly(Product::C, Turn::Plus),
        Op::BflyCN => Row::Butterfly(Product::C, Turn::Minus),
        Op::BflyY => Row::Butterfly(Product::Y, Turn::None),
        Op::BflyYI => Row::Butterfly(Product::Y, Turn::Plus),
        Op::BflyYN => Row::Butterfly(Product::Y, Turn::Minus),
        Op::BflyYC => Row::Butterfly(Product::YC, Turn::None),
        _ => return None,
    })
}

impl Row {
    /// Whether operands are seen bit by bit, so that their NaN must be canonical.
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

    /// The operand that only spreads its lanes, if there is one.
    pub(super) fn factor(self) -> Option<usize> {
        match self {
            Self::Butterfly(..) => Some(2),
            Self::Complex(_) | Self::ComplexThen(..) => Some(1),
            _ => None,
        }
    }

    /// How many operands, the first ones, must lie beside those of a second operation to
    /// save moving lanes.
    pub(super) fn in_place(self) -> usize {
        match self {
            Self::Butterfly(..) => 2,
            Self::Complex(_) => 1,
            Self::Lanes(_) | Self::Immediate | Self::Mix(..) => 0,
            _ => 3,
        }
    }

    /// Host instructions that a second operation beside the first one saves.
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

    /// Emits the row; its result, and the second one where there is one.
    pub(super) fn emit(
        self,
        s: &mut Vectors,
        inst: &Guest,
        operands: &[Operand],
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
            (Self::Immediate, ..) => Some(s.emit(Inst::Splat(inst.imm as u32))),
            (Self::With(op, constant), Some(a), ..) => {
                let a = s.value(a);
                Some(s.with(op, a, constant))
            }
            (Self::Shift(op), Some(a), ..) => {
                let a = s.value(a);
                Some(s.emit(Inst::Shift(op, a, inst.imm as u8)))
            }
            (Self::Convert(to), Some(a), ..) => {
                let a = s.value(a);
                Some(s.emit(Inst::Convert(to, a)))
            }
            (Self::Reciprocal, Some(a), ..) => {
                let a = s.value(a);
                let one = s.emit(Inst::Splat(1f32.to_bits()));
                Some(s.float(Lanes::Div, one, a))
            }
            (Self::Lanes(select), Some(a), ..) => Some(s.select(a, select)),
            (Self::Permute, Some(a), ..) => {
                let a = s.value(a);
                Some(s.emit(Inst::Shuffle(a, a, inst.imm as u8)))
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
                let t = multiply(s, product, y, w, turn != Turn::None);
                let (d, e) = match turn {
                    Turn::None => (s.float(Lanes::Add, x, t), s.float(Lanes::Sub, x, t)),
                    Turn::Plus => (s.add_sub(x, t), s.sub_add(x, t)),
                    Turn::Minus => (s.sub_add(x, t), s.add_sub(x, t)),
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

    /// The rows of two or three operands that treat each lane alike.
    fn lane_by_lane(
        self,
        s: &mut Vectors,
        inst: &Guest,
        a: Id,
        b: Id,
        c: Option<Operand>,
    ) -> [Option<Id>; 2] {
        let c = c.map(|c| s.value(c));
        let result = match (self, c) {
            (Self::Float(op), _) => s.float(op, a, b),
            // `AndNot` complements its first operand, the guest its second.
            (Self::Bits(Lanes::AndNot), _) => s.bits(Lanes::AndNot, b, a),
            (Self::Bits(op), _) => s.bits(op, a, b),
            (Self::Min, _) => s.emit(Inst::Min(a, b)),
            (Self::Max, _) => s.emit(Inst::Max(a, b)),
            (Self::Compare(how), _) => s.emit(Inst::Compare(how, a, b)),
            (Self::Extract, _) => s.emit(Inst::Align(a, b, inst.imm as u8)),
            (Self::Select, Some(c)) => s.emit(Inst::Select(c, a, b)),
            (Self::AddSub, _) => {
                let d = s.float(Lanes::Add, a, b);
                return [Some(d), Some(s.float(Lanes::Sub, a, b))];
            }
            (
                Self::Multiply {
                    negate,
                    second,
                    reversed,
                },
                Some(c),
            ) => {
                let mut product = s.float(Lanes::Mul, a, b);
                if negate {
                    product = s.raw_with(Lanes::Xor, product, Constant::Sign);
                }
                let (x, y) = if reversed { (c, product) } else { (product, c) };
                s.float(second, x, y)
            }
            _ => return [None; 2],
        };
        [Some(result), None]
    }
}

/// The complex product of `y` and `w`; with real and imaginary part exchanged when `swap`.
///
/// With `m1 = (yr wr, yi wr)` and `m2 = (yi wi, yr wi)` the parts of the plain
/// product are `m1 -+ m2`, the parts of the others differ in signs and order as
/// the semantics says; exchanged, `m1 = (yi wr, yr wr)` and `m2 = (yr wi, yi wi)`.
fn multiply(s: &mut Vectors, product: Product, y: Operand, w: Operand, swap: bool) -> Id {
    let wr = s.select(w, [0, 0]);
    let wi = s.select(w, [1, 1]);
    let straight = s.value(y);
    let crossed = s.select(y, [1, 0]);
    let (f, g) = if swap {
        (crossed, straight)
    } else {
        (straight, crossed)
    };
    let m1 = s.float(Lanes::Mul, f, wr);
    let m2 = s.float(Lanes::Mul, g, wi);
    match (product, swap) {
        (Product::Plain, false) | (Product::C, true) => s.add_sub(m1, m2),
        (Product::Plain, true) | (Product::C, false) => s.sub_add(m1, m2),
        (Product::Y, false) => s.sub_add(m2, m1),
        (Product::Y, true) => s.add_sub(m2, m1),
        // (rr - ii, -ri - ir): the sign goes to m1's odd lanes first.
        (Product::YC, _) => {
            let signed = s.raw_with(Lanes::Xor, m1, Constant::OddSign);
            s.float(Lanes::Sub, signed, m2)
        }
    }
}
