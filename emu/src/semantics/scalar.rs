//! Operations on the shared scalars, generic over the lane like the sections'.

use crate::alu::Alu;
use crate::semantics::action::{ScalarOp, Source};
use cp2_asm::isa::{SCALARS, Scalar};

/// The shared scalar registers.
pub trait Scalars<L> {
    /// The register's value.
    fn read(&self, register: Scalar) -> L;
    /// Replaces it.
    fn write(&mut self, register: Scalar, value: L);
}

impl<L: Copy> Scalars<L> for [L; SCALARS] {
    fn read(&self, register: Scalar) -> L {
        self[register.0 as usize % SCALARS]
    }

    fn write(&mut self, register: Scalar, value: L) {
        self[register.0 as usize % SCALARS] = value;
    }
}

/// Executes `op`: reads its sources, then writes its one destination.
#[inline(always)]
pub fn execute<A: Alu, S: Scalars<A::L>>(alu: &mut A, op: ScalarOp, scalars: &mut S) {
    let value = |alu: &mut A, source| match source {
        Source::Register(register) => scalars.read(register),
        Source::Constant(bits) => alu.constant(bits),
    };
    let (destination, result) = match op {
        ScalarOp::Move { x, y } => (x, value(alu, y)),
        ScalarOp::High { x, value: high } => {
            let old = scalars.read(x);
            let (low_mask, high) = (alu.constant(0xffff), alu.constant(high << 16));
            let low = alu.and(old, low_mask);
            (x, alu.or(low, high))
        }
        ScalarOp::Binary { function, x, y, z } => {
            let (y, z) = (value(alu, y), value(alu, z));
            let result = match function {
                Binary::Add => alu.iadd(y, z),
                Binary::Sub => alu.isub(y, z),
                Binary::Mul => alu.imul(y, z),
                Binary::And => alu.and(y, z),
                Binary::Or => alu.or(y, z),
                Binary::Shl => alu.shl(y, z),
                Binary::Shr => alu.shr(y, z),
                Binary::Sar => alu.sar(y, z),
            };
            (x, result)
        }
    };
    scalars.write(destination, result);
}

/// A function of two scalars.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    /// Wrapping sum.
    Add,
    /// Wrapping difference.
    Sub,
    /// Low half of the product.
    Mul,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Left shift.
    Shl,
    /// Right shift, zeros in.
    Shr,
    /// Right shift, sign in.
    Sar,
}
