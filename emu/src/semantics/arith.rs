//! The arithmetic slot: the meaning of each of its operations.

mod complex;
mod doubles;

use crate::alu::Alu;
use crate::semantics::double::DoubleOperation;
use crate::semantics::elementary::Function;
use crate::semantics::user_row;
use complex::{add_turned, ccmul, ccmulc, cmul, cmulc, madd, msub, nmadd, nmsub, sub_turned};
use cp2_asm::isa::{Inst, Op};
use cp2_machine::UserRow;
use doubles::ComplexDouble;

/// One section's registers, or all sections' at once where a lane value holds several.
pub trait Registers<L: Copy> {
    /// Lane 0 or 1 of register `reg`.
    fn read(&self, reg: u8, lane: u8) -> L;
    /// Replaces lane 0 or 1 of register `reg`.
    fn write(&mut self, reg: u8, lane: u8, value: L);

    /// All lanes of a register operand of `inst`, a pair or a quad.
    #[inline(always)]
    fn operand<const N: usize>(&self, inst: &Inst, operand: usize) -> [L; N] {
        let first = inst.r[operand] as usize * N;
        std::array::from_fn(|i| self.read(((first + i) / PAIR) as u8, (i % PAIR) as u8))
    }

    /// Replaces all lanes of a register operand.
    #[inline(always)]
    fn replace<const N: usize>(&mut self, inst: &Inst, operand: usize, value: [L; N]) {
        let first = inst.r[operand] as usize * N;
        for (i, lane) in value.into_iter().enumerate() {
            self.write(((first + i) / PAIR) as u8, (i % PAIR) as u8, lane);
        }
    }
}

/// Lanes of a register.
const PAIR: usize = 2;
/// Lanes of an even/odd couple of registers.
const QUAD: usize = 4;

/// A complex number, or any pair of lanes.
type Pair<L> = [L; PAIR];

/// Executes the arithmetic operation `inst`.
///
/// All operands are read before any result is written, so that operands may be
/// the same register. An operation of the other slot does nothing here.
pub fn execute<A: Alu, R: Registers<A::L>>(alu: &mut A, inst: &Inst, regs: &mut R) {
    perform(alu, inst.op, inst, regs);
}

/// [`execute`] with the operation apart: where it is known to the compiler,
/// nothing is left of the choice.
#[inline(always)]
pub fn perform<A: Alu, R: Registers<A::L>>(alu: &mut A, op: Op, inst: &Inst, regs: &mut R) {
    let mut u = Unit { alu, regs, inst };
    match op {
        Op::Nop => {}

        Op::MovP => u.map::<PAIR>(|_, a| a),
        Op::MovQ => u.map::<QUAD>(|_, a| a),
        Op::AbsP => u.map::<PAIR>(A::fabs),
        Op::AbsQ => u.map::<QUAD>(A::fabs),
        Op::NegP => u.map::<PAIR>(A::fneg),
        Op::NegQ => u.map::<QUAD>(A::fneg),
        Op::NotP => u.map::<PAIR>(A::not),
        Op::NotQ => u.map::<QUAD>(A::not),
        Op::FtoiP => u.map::<PAIR>(A::ftoi),
        Op::FtoiQ => u.map::<QUAD>(A::ftoi),
        Op::FtoinP => u.map::<PAIR>(A::ftoin),
        Op::FtoinQ => u.map::<QUAD>(A::ftoin),
        Op::ItofP => u.map::<PAIR>(A::itof),
        Op::ItofQ => u.map::<QUAD>(A::itof),
        Op::Rcp => u.elementary(Function::Rcp),
        Op::Rsqrt => u.elementary(Function::Rsqrt),
        Op::Exp2 => u.elementary(Function::Exp2),
        Op::Log2 => u.elementary(Function::Log2),
        Op::Sin => u.elementary(Function::Sin),
        Op::Cos => u.elementary(Function::Cos),

        Op::ConjP => u.shuffle::<PAIR>(|alu, [a0, a1]| [a0, alu.fneg(a1)]),
        Op::ConjQ => {
            u.shuffle::<QUAD>(|alu, [a0, a1, a2, a3]| [a0, alu.fneg(a1), a2, alu.fneg(a3)])
        }
        Op::SwapP => u.shuffle::<PAIR>(|_, [a0, a1]| [a1, a0]),
        Op::SwapQ => u.shuffle::<QUAD>(|_, [a0, a1, a2, a3]| [a1, a0, a3, a2]),
        Op::Dup0P => u.shuffle::<PAIR>(|_, [a0, _]| [a0, a0]),
        Op::Dup1P => u.shuffle::<PAIR>(|_, [_, a1]| [a1, a1]),
        Op::PermQ => u.shuffle::<QUAD>(|_, a| {
            std::array::from_fn(|i| a[(inst.imm >> (2 * i)) as usize % QUAD])
        }),

        Op::AddP => u.zip_two::<PAIR>(A::add_two),
        Op::AddQ => u.zip_two::<QUAD>(A::add_two),
        Op::SubP => u.zip_two::<PAIR>(A::sub_two),
        Op::SubQ => u.zip_two::<QUAD>(A::sub_two),
        Op::MulP => u.zip_two::<PAIR>(A::mul_two),
        Op::MulQ => u.zip_two::<QUAD>(A::mul_two),
        Op::MinP => u.zip::<PAIR>(A::fmin),
        Op::MinQ => u.zip::<QUAD>(A::fmin),
        Op::MaxP => u.zip::<PAIR>(A::fmax),
        Op::MaxQ => u.zip::<QUAD>(A::fmax),
        Op::CmpeqP => u.zip::<PAIR>(A::feq),
        Op::CmpeqQ => u.zip::<QUAD>(A::feq),
        Op::CmpltP => u.zip::<PAIR>(A::flt),
        Op::CmpltQ => u.zip::<QUAD>(A::flt),
        Op::CmpleP => u.zip::<PAIR>(A::fle),
        Op::CmpleQ => u.zip::<QUAD>(A::fle),
        Op::IaddP => u.zip::<PAIR>(A::iadd),
        Op::IaddQ => u.zip::<QUAD>(A::iadd),
        Op::IsubP => u.zip::<PAIR>(A::isub),
        Op::IsubQ => u.zip::<QUAD>(A::isub),
        Op::ImulP => u.zip::<PAIR>(A::imul),
        Op::ImulQ => u.zip::<QUAD>(A::imul),
        Op::AndP => u.zip::<PAIR>(A::and),
        Op::AndQ => u.zip::<QUAD>(A::and),
        Op::OrP => u.zip::<PAIR>(A::or),
        Op::OrQ => u.zip::<QUAD>(A::or),
        Op::XorP => u.zip::<PAIR>(A::xor),
        Op::XorQ => u.zip::<QUAD>(A::xor),
        Op::AndnP => u.zip::<PAIR>(A::andn),
        Op::AndnQ => u.zip::<QUAD>(A::andn),
        Op::ShlP => u.zip::<PAIR>(A::shl),
        Op::ShlQ => u.zip::<QUAD>(A::shl),
        Op::ShrP => u.zip::<PAIR>(A::shr),
        Op::ShrQ => u.zip::<QUAD>(A::shr),
        Op::SarP => u.zip::<PAIR>(A::sar),
        Op::SarQ => u.zip::<QUAD>(A::sar),
        Op::IminP => u.zip::<PAIR>(A::imin),
        Op::IminQ => u.zip::<QUAD>(A::imin),
        Op::ImaxP => u.zip::<PAIR>(A::imax),
        Op::ImaxQ => u.zip::<QUAD>(A::imax),
        Op::IcmpeqP => u.zip::<PAIR>(A::ieq),
        Op::IcmpeqQ => u.zip::<QUAD>(A::ieq),
        Op::IcmpltP => u.zip::<PAIR>(A::ilt),
        Op::IcmpltQ => u.zip::<QUAD>(A::ilt),

        Op::TrnloP => u.merge::<PAIR>(|_, [a0, _], [b0, _]| [a0, b0]),
        Op::TrnhiP => u.merge::<PAIR>(|_, [_, a1], [_, b1]| [a1, b1]),
        Op::ExtP => u.merge::<PAIR>(|_, [_, a1], [b0, _]| [a1, b0]),
        Op::TrnloQ => u.merge::<QUAD>(|_, [a0, a1, ..], [b0, b1, ..]| [a0, a1, b0, b1]),
        Op::TrnhiQ => u.merge::<QUAD>(|_, [.., a2, a3], [.., b2, b3]| [a2, a3, b2, b3]),
        Op::ExtQ => u.merge::<QUAD>(|_, a, b| {
            std::array::from_fn(|i| {
                let lane = i + inst.imm as usize % QUAD;
                if lane < QUAD { a[lane] } else { b[lane - QUAD] }
            })
        }),
        Op::CmulP => u.merge::<PAIR>(cmul),
        Op::CmulcP => u.merge::<PAIR>(cmulc),

        Op::MaddP => u.zip3_two::<PAIR>(madd),
        Op::MaddQ => u.zip3_two::<QUAD>(madd),
        Op::MsubP => u.zip3_two::<PAIR>(msub),
        Op::MsubQ => u.zip3_two::<QUAD>(msub),
        Op::NmaddP => u.zip3_two::<PAIR>(nmadd),
        Op::NmaddQ => u.zip3_two::<QUAD>(nmadd),
        Op::NmsubP => u.zip3_two::<PAIR>(nmsub),
        Op::NmsubQ => u.zip3_two::<QUAD>(nmsub),
        Op::SelP => u.zip3::<PAIR>(|alu, a, b, c| alu.select(c, a, b)),
        Op::SelQ => u.zip3::<QUAD>(|alu, a, b, c| alu.select(c, a, b)),
        Op::CmaddP => u.complex(|alu, a, b, c| {
            let product = cmul(alu, a, b);
            alu.add_two(product, c)
        }),
        Op::CmaddcP => u.complex(|alu, a, b, c| {
            let product = cmulc(alu, a, b);
            alu.add_two(product, c)
        }),
        Op::CmsubP => u.complex(|alu, a, b, c| {
            let product = cmul(alu, a, b);
            alu.sub_two(c, product)
        }),
        Op::CmsubcP => u.complex(|alu, a, b, c| {
            let product = cmulc(alu, a, b);
            alu.sub_two(c, product)
        }),

        Op::Addsub => {
            let (a, b) = (u.read(2), u.read(3));
            let (d, e) = (u.alu.add_two(a, b), u.alu.sub_two(a, b));
            u.write_two(d, e);
        }

        Op::ShliP => u.shift::<PAIR>(A::shl),
        Op::ShliQ => u.shift::<QUAD>(A::shl),
        Op::ShriP => u.shift::<PAIR>(A::shr),
        Op::ShriQ => u.shift::<QUAD>(A::shr),
        Op::SariP => u.shift::<PAIR>(A::sar),
        Op::SariQ => u.shift::<QUAD>(A::sar),

        Op::Lif | Op::Lii => {
            let value = u.alu.constant(inst.imm as u32);
            u.write::<PAIR>(0, [value; PAIR]);
        }

        Op::Bfly => u.butterfly(cmul, Turn::None),
        Op::BflyI => u.butterfly(cmul, Turn::Plus),
        Op::BflyN => u.butterfly(cmul, Turn::Minus),
        Op::BflyC => u.butterfly(cmulc, Turn::None),
        Op::BflyCI => u.butterfly(cmulc, Turn::Plus),
        Op::BflyCN => u.butterfly(cmulc, Turn::Minus),
        Op::BflyY => u.butterfly(ccmul, Turn::None),
        Op::BflyYI => u.butterfly(ccmul, Turn::Plus),
        Op::BflyYN => u.butterfly(ccmul, Turn::Minus),
        Op::BflyYC => u.butterfly(ccmulc, Turn::None),

        Op::DnegP => u.doubles::<PAIR>(doubles::negate),
        Op::DnegQ => u.doubles::<QUAD>(doubles::negate),
        Op::DabsP => u.doubles::<PAIR>(doubles::absolute),
        Op::DabsQ => u.doubles::<QUAD>(doubles::absolute),
        Op::DtofP => u.shuffle::<PAIR>(|alu, a| [alu.double_to_single(a); PAIR]),
        Op::FtodP => u.shuffle::<PAIR>(|alu, [a, _]| alu.single_to_double(a)),
        Op::DtofQ => {
            let [a0, a1, b0, b1] = u.read(1);
            let d = [[a0, a1], [b0, b1]].map(|double| u.alu.double_to_single(double));
            u.write(0, d);
        }
        Op::FtodQ => {
            let a: Pair<A::L> = u.read(1);
            let [low, high] = a.map(|lane| u.alu.single_to_double(lane));
            u.write(0, [low[0], low[1], high[0], high[1]]);
        }
        Op::DaddP => u.zip_doubles::<PAIR>(DoubleOperation::Add),
        Op::DaddQ => u.zip_doubles::<QUAD>(DoubleOperation::Add),
        Op::DsubP => u.zip_doubles::<PAIR>(DoubleOperation::Sub),
        Op::DsubQ => u.zip_doubles::<QUAD>(DoubleOperation::Sub),
        Op::DmulP => u.zip_doubles::<PAIR>(DoubleOperation::Mul),
        Op::DmulQ => u.zip_doubles::<QUAD>(DoubleOperation::Mul),
        Op::DminP => u.zip_doubles::<PAIR>(DoubleOperation::Min),
        Op::DminQ => u.zip_doubles::<QUAD>(DoubleOperation::Min),
        Op::DmaxP => u.zip_doubles::<PAIR>(DoubleOperation::Max),
        Op::DmaxQ => u.zip_doubles::<QUAD>(DoubleOperation::Max),
        Op::DcmpeqP => u.zip_doubles::<PAIR>(DoubleOperation::Equal),
        Op::DcmpeqQ => u.zip_doubles::<QUAD>(DoubleOperation::Equal),
        Op::DcmpltP => u.zip_doubles::<PAIR>(DoubleOperation::Less),
        Op::DcmpltQ => u.zip_doubles::<QUAD>(DoubleOperation::Less),
        Op::DcmpleP => u.zip_doubles::<PAIR>(DoubleOperation::LessOrEqual),
        Op::DcmpleQ => u.zip_doubles::<QUAD>(DoubleOperation::LessOrEqual),
        Op::DmaddP => u.zip3_two::<PAIR>(doubles::madd),
        Op::DmaddQ => u.zip3_two::<QUAD>(doubles::madd),
        Op::DmsubP => u.zip3_two::<PAIR>(doubles::msub),
        Op::DmsubQ => u.zip3_two::<QUAD>(doubles::msub),
        Op::DnmaddP => u.zip3_two::<PAIR>(doubles::nmadd),
        Op::DnmaddQ => u.zip3_two::<QUAD>(doubles::nmadd),
        Op::DnmsubP => u.zip3_two::<PAIR>(doubles::nmsub),
        Op::DnmsubQ => u.zip3_two::<QUAD>(doubles::nmsub),
        Op::Dcmul => u.merge::<QUAD>(|alu, a, b| {
            doubles::flat(doubles::cmul(alu, doubles::complex(a), doubles::complex(b)))
        }),
        Op::Dcmulc => u.merge::<QUAD>(|alu, a, b| {
            doubles::flat(doubles::cmulc(
                alu,
                doubles::complex(a),
                doubles::complex(b),
            ))
        }),
        Op::Dcmadd => u.complex_doubles(DoubleOperation::Add, |product, c| [product, c]),
        Op::Dcmsub => u.complex_doubles(DoubleOperation::Sub, |product, c| [c, product]),
        Op::Dbfly => u.double_butterfly(doubles::cmul, Turn::None),
        Op::DbflyI => u.double_butterfly(doubles::cmul, Turn::Plus),
        Op::DbflyN => u.double_butterfly(doubles::cmul, Turn::Minus),
        Op::DbflyC => u.double_butterfly(doubles::cmulc, Turn::None),
        Op::DbflyCI => u.double_butterfly(doubles::cmulc, Turn::Plus),
        Op::DbflyCN => u.double_butterfly(doubles::cmulc, Turn::Minus),

        Op::AddeP => u.zip::<PAIR>(sum_error),
        Op::AddeQ => u.zip::<QUAD>(sum_error),
        Op::MuleP => u.zip::<PAIR>(A::product_error),
        Op::MuleQ => u.zip::<QUAD>(A::product_error),
        Op::User(row) => u.user_row(row),

        // The other slot: see `action`.
        Op::MemNop | Op::Stop | Op::Ret | Op::Wait | Op::Signal => {}
        Op::MovX
        | Op::AddX
        | Op::SubX
        | Op::MulX
        | Op::AndX
        | Op::OrX
        | Op::ShlX
        | Op::ShrX
        | Op::SarX => {}
        Op::Movi | Op::Movhi | Op::Addi => {}
        Op::LoopI | Op::LoopX | Op::Jmp | Op::Call | Op::Bz | Op::Bnz | Op::Bneg | Op::Bpos => {}
        Op::LdP | Op::LdQ | Op::LdDup | Op::StP | Op::StQ | Op::LdX | Op::LdX2 => {}
        Op::LdOwnP | Op::LdOwnQ | Op::LdOwnDup | Op::LdOwnW => {}
        Op::RotP
        | Op::RotQ
        | Op::XchgP
        | Op::XchgQ
        | Op::Msk
        | Op::MskAll
        | Op::AnyX
        | Op::AllX
        | Op::LdNextP
        | Op::LdNextQ
        | Op::LdPrevP
        | Op::LdPrevQ => {}
        Op::LdW | Op::StW | Op::LdPU | Op::LdQU | Op::StPU | Op::StQU => {}
    }
}

/// Rounding error of the sum `a + b`, by Knuth's six operations, each rounded.
#[inline(always)]
fn sum_error<A: Alu>(alu: &mut A, a: A::L, b: A::L) -> A::L {
    let sum = alu.fadd(a, b);
    let of_b = alu.fsub(sum, a);
    let of_a = alu.fsub(sum, of_b);
    let (error_a, error_b) = (alu.fsub(a, of_a), alu.fsub(b, of_b));
    alu.fadd(error_a, error_b)
}

/// Factor that a butterfly multiplies its product by before the sum and the difference.
#[derive(Clone, Copy)]
enum Turn {
    /// 1.
    None,
    /// i.
    Plus,
    /// -i.
    Minus,
}

/// The `i`th two of the lanes.
#[inline(always)]
fn two<L: Copy, const N: usize>(lanes: &[L; N], i: usize) -> Pair<L> {
    [lanes[2 * i % N], lanes[(2 * i + 1) % N]]
}

/// A pair or a quad from its lanes, two by two.
#[inline(always)]
fn by_two<L: Copy, const N: usize>(mut f: impl FnMut(usize) -> Pair<L>) -> [L; N] {
    let low = f(0);
    let high = if N > PAIR { f(1) } else { low };
    std::array::from_fn(|i| if i < PAIR { low[i] } else { high[i % PAIR] })
}

/// The operation being executed and what it works on. Everything is inlined
/// into [`perform`], so that an engine with a function per operation gets
/// straight-line code for each.
struct Unit<'a, A, R> {
    alu: &'a mut A,
    regs: &'a mut R,
    inst: &'a Inst,
}

impl<A: Alu, R: Registers<A::L>> Unit<'_, A, R> {
    /// All lanes of register operand `operand`, a pair or a quad.
    #[inline(always)]
    fn read<const N: usize>(&self, operand: usize) -> [A::L; N] {
        self.regs.operand(self.inst, operand)
    }

    #[inline(always)]
    fn write<const N: usize>(&mut self, operand: usize, value: [A::L; N]) {
        let value = self.alu.finish(value);
        self.regs.replace(self.inst, operand, value);
    }

    /// Two pair results at once.
    #[inline(always)]
    fn write_two(&mut self, [d0, d1]: Pair<A::L>, [e0, e1]: Pair<A::L>) {
        let [d0, d1, e0, e1] = self.alu.finish([d0, d1, e0, e1]);
        self.regs.replace(self.inst, 0, [d0, d1]);
        self.regs.replace(self.inst, 1, [e0, e1]);
    }

    /// The row of a machine file. It is evaluated value by value, and not inlined into other operations.
    fn user_row(&mut self, row: UserRow) {
        let row = row.definition();
        let quads = row.form.lanes() == QUAD;
        let (regs, inst) = (&*self.regs, self.inst);
        let results = user_row::compute(self.alu, &row.flow, |operand, lane| match quads {
            true => regs.operand::<QUAD>(inst, operand)[lane % QUAD],
            false => regs.operand::<PAIR>(inst, operand)[lane % PAIR],
        });
        for (operand, lanes) in results.into_iter().enumerate() {
            match quads {
                true => self.write::<QUAD>(operand, lanes),
                false => self.write::<PAIR>(operand, [lanes[0], lanes[1]]),
            }
        }
    }

    #[inline(always)]
    fn shuffle<const N: usize>(&mut self, f: impl Fn(&mut A, [A::L; N]) -> [A::L; N]) {
        let a = self.read(1);
        let d = f(self.alu, a);
        self.write(0, d);
    }

    #[inline(always)]
    fn merge<const N: usize>(&mut self, f: impl Fn(&mut A, [A::L; N], [A::L; N]) -> [A::L; N]) {
        let (a, b) = (self.read(1), self.read(2));
        let d = f(self.alu, a, b);
        self.write(0, d);
    }

    #[inline(always)]
    fn complex(&mut self, f: impl Fn(&mut A, Pair<A::L>, Pair<A::L>, Pair<A::L>) -> Pair<A::L>) {
        let (a, b, c) = (self.read(1), self.read(2), self.read(3));
        let d = f(self.alu, a, b, c);
        self.write(0, d);
    }

    #[inline(always)]
    fn map<const N: usize>(&mut self, f: impl Fn(&mut A, A::L) -> A::L) {
        self.shuffle::<N>(|alu, a| a.map(|lane| f(alu, lane)));
    }

    #[inline(always)]
    fn zip<const N: usize>(&mut self, f: impl Fn(&mut A, A::L, A::L) -> A::L) {
        self.merge::<N>(|alu, a, b| std::array::from_fn(|i| f(alu, a[i], b[i])));
    }

    #[inline(always)]
    fn zip3<const N: usize>(&mut self, f: impl Fn(&mut A, A::L, A::L, A::L) -> A::L) {
        let (a, b, c) = (self.read::<N>(1), self.read::<N>(2), self.read::<N>(3));
        let d = std::array::from_fn(|i| f(self.alu, a[i], b[i], c[i]));
        self.write::<N>(0, d);
    }

    /// [`Unit::zip`] for a function of two lanes at once.
    #[inline(always)]
    fn zip_two<const N: usize>(
        &mut self,
        f: impl Fn(&mut A, Pair<A::L>, Pair<A::L>) -> Pair<A::L>,
    ) {
        self.merge::<N>(|alu, a, b| by_two(|i| f(alu, two(&a, i), two(&b, i))));
    }

    /// [`Unit::zip3`] for a function of two lanes at once.
    #[inline(always)]
    fn zip3_two<const N: usize>(
        &mut self,
        f: impl Fn(&mut A, Pair<A::L>, Pair<A::L>, Pair<A::L>) -> Pair<A::L>,
    ) {
        let (a, b, c) = (self.read::<N>(1), self.read::<N>(2), self.read::<N>(3));
        let d = by_two(|i| f(self.alu, two(&a, i), two(&b, i), two(&c, i)));
        self.write::<N>(0, d);
    }

    #[inline(always)]
    fn elementary(&mut self, function: Function) {
        self.map::<PAIR>(|alu, a| alu.elementary(function, a));
    }

    #[inline(always)]
    fn shift<const N: usize>(&mut self, f: impl Fn(&mut A, A::L, A::L) -> A::L) {
        let count = self.alu.constant(self.inst.imm as u32);
        self.map::<N>(|alu, a| f(alu, a, count));
    }

    /// `t = product(y, w)` first, then `x + turn * t` and `x - turn * t`.
    #[inline(always)]
    fn butterfly(
        &mut self,
        product: impl Fn(&mut A, Pair<A::L>, Pair<A::L>) -> Pair<A::L>,
        turn: Turn,
    ) {
        let (x, y, w) = (self.read(2), self.read(3), self.read(4));
        let t = product(self.alu, y, w);
        let (d, e) = match turn {
            Turn::None => (self.alu.add_two(x, t), self.alu.sub_two(x, t)),
            Turn::Plus => (add_turned(self.alu, x, t), sub_turned(self.alu, x, t)),
            Turn::Minus => (sub_turned(self.alu, x, t), add_turned(self.alu, x, t)),
        };
        self.write_two(d, e);
    }

    /// Changes each binary64 number of the operand.
    #[inline(always)]
    fn doubles<const N: usize>(&mut self, f: impl Fn(&mut A, Pair<A::L>) -> Pair<A::L>) {
        self.shuffle::<N>(|alu, a| by_two(|i| f(alu, two(&a, i))));
    }

    #[inline(always)]
    fn zip_doubles<const N: usize>(&mut self, operation: DoubleOperation) {
        self.merge::<N>(|alu, a, b| by_two(|i| alu.double(operation, two(&a, i), two(&b, i))));
    }

    /// An operation on the product `a b` of complex binary64 numbers and on `c`, in the order that `order` gives.
    #[inline(always)]
    fn complex_doubles(
        &mut self,
        operation: DoubleOperation,
        order: impl Fn(ComplexDouble<A::L>, ComplexDouble<A::L>) -> [ComplexDouble<A::L>; 2],
    ) {
        let [a, b, c] = [1, 2, 3].map(|i| doubles::complex(self.read(i)));
        let [x, y] = order(doubles::cmul(self.alu, a, b), c);
        let d = doubles::by_parts(self.alu, [operation; 2], x, y);
        self.write(0, doubles::flat(d));
    }

    /// [`Unit::butterfly`] on binary64 numbers.
    #[inline(always)]
    fn double_butterfly(
        &mut self,
        product: impl Fn(&mut A, ComplexDouble<A::L>, ComplexDouble<A::L>) -> ComplexDouble<A::L>,
        turn: Turn,
    ) {
        use DoubleOperation::{Add, Sub};
        let [x, y, w] = [2, 3, 4].map(|i| doubles::complex(self.read(i)));
        let t = product(self.alu, y, w);
        let (t, [of_d, of_e]) = match turn {
            Turn::None => (t, [[Add, Add], [Sub, Sub]]),
            Turn::Plus => ([t[1], t[0]], [[Sub, Add], [Add, Sub]]),
            Turn::Minus => ([t[1], t[0]], [[Add, Sub], [Sub, Add]]),
        };
        let d = doubles::by_parts(self.alu, of_d, x, t);
        let e = doubles::by_parts(self.alu, of_e, x, t);
        self.write(0, doubles::flat(d));
        self.write(1, doubles::flat(e));
    }
}
