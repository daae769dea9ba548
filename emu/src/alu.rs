//! The primitives on one lane that all semantics are written in.
//!
//! [`Alu`] is what an engine supplies; [`crate::semantics`] is written once on
//! top of it. [`PlainAlu`] computes on 32-bit patterns and is the definition of
//! every primitive; [`Tracked`] adds whether a value was ever initialised.
//! An engine that holds several sections in one lane value, or that emits code
//! instead of computing, implements the same trait: the semantics never branch
//! on a lane value.

mod plain;
mod tracked;

pub(crate) use plain::canonical;
pub use plain::{NAN, PlainAlu};
pub use tracked::{Tracked, TrackedBits};

use crate::semantics::double::DoubleOperation;
use crate::semantics::elementary::Function;

/// Sign bit of a binary32.
pub const SIGN: u32 = 0x8000_0000;

/// Operations on one 32-bit lane. `docs/numerics.md` defines each of them.
///
/// Float operations are IEEE binary32, round to nearest even, subnormals kept,
/// not fused; a NaN result is always [`NAN`]. Masks are all ones or all zeros.
pub trait Alu {
    /// A lane value: bits, a vector of bits, a virtual register.
    type L: Copy;

    /// Returns a lane value that holds a constant.
    fn constant(&mut self, bits: u32) -> Self::L;

    /// Float `a + b`.
    fn fadd(&mut self, a: Self::L, b: Self::L) -> Self::L;
    /// Float `a - b`.
    fn fsub(&mut self, a: Self::L, b: Self::L) -> Self::L;
    /// Float `a * b`.
    fn fmul(&mut self, a: Self::L, b: Self::L) -> Self::L;
    /// Smaller float, `-0 < +0`; NaN if either is.
    fn fmin(&mut self, a: Self::L, b: Self::L) -> Self::L;
    /// Larger float, `-0 < +0`; NaN if either is.
    fn fmax(&mut self, a: Self::L, b: Self::L) -> Self::L;
    /// Mask of `a == b` as floats: zeros of either sign are equal, NaN is equal to nothing.
    fn feq(&mut self, a: Self::L, b: Self::L) -> Self::L;
    /// Mask of `a < b` as floats.
    fn flt(&mut self, a: Self::L, b: Self::L) -> Self::L;
    /// Mask of `a <= b` as floats.
    fn fle(&mut self, a: Self::L, b: Self::L) -> Self::L;

    /// Float to signed integer toward zero, saturating; NaN gives 0.
    fn ftoi(&mut self, a: Self::L) -> Self::L;
    /// Float to nearest signed integer, ties to even, saturating; NaN gives 0.
    fn ftoin(&mut self, a: Self::L) -> Self::L;
    /// Signed integer to nearest float, ties to even.
    fn itof(&mut self, a: Self::L) -> Self::L;

    /// Integer `a + b`, wrapping.
    fn iadd(&mut self, a: Self::L, b: Self::L) -> Self::L;
    /// Integer `a - b`, wrapping.
    fn isub(&mut self, a: Self::L, b: Self::L) -> Self::L;
    /// Low 32 bits of the integer product.
    fn imul(&mut self, a: Self::L, b: Self::L) -> Self::L;
    /// Smaller signed integer.
    fn imin(&mut self, a: Self::L, b: Self::L) -> Self::L;
    /// Larger signed integer.
    fn imax(&mut self, a: Self::L, b: Self::L) -> Self::L;
    /// Mask of `a == b` as integers.
    fn ieq(&mut self, a: Self::L, b: Self::L) -> Self::L;
    /// Mask of `a < b` as signed integers.
    fn ilt(&mut self, a: Self::L, b: Self::L) -> Self::L;

    /// Bitwise and.
    fn and(&mut self, a: Self::L, b: Self::L) -> Self::L;
    /// Bitwise or.
    fn or(&mut self, a: Self::L, b: Self::L) -> Self::L;
    /// Bitwise exclusive or.
    fn xor(&mut self, a: Self::L, b: Self::L) -> Self::L;
    /// `a` shifted left by the unsigned count `b`; counts of 32 and more give 0.
    fn shl(&mut self, a: Self::L, b: Self::L) -> Self::L;
    /// `a` shifted right by the unsigned count `b`, zeros in; counts of 32 and more give 0.
    fn shr(&mut self, a: Self::L, b: Self::L) -> Self::L;
    /// `a` shifted right by the unsigned count `b`, sign in; counts of 32 and more act as 31.
    fn sar(&mut self, a: Self::L, b: Self::L) -> Self::L;

    /// Evaluates an elementary function.
    fn elementary(&mut self, function: Function, a: Self::L) -> Self::L;

    /// Rounding error of the float product, `a b - fl(a b)`, rounded once.
    fn product_error(&mut self, a: Self::L, b: Self::L) -> Self::L;
    /// Computes on binary64 numbers, of which the first lane is the lower half.
    fn double(
        &mut self,
        operation: DoubleOperation,
        a: [Self::L; 2],
        b: [Self::L; 2],
    ) -> [Self::L; 2];
    /// Rounds a binary64 number to a float.
    fn double_to_single(&mut self, a: [Self::L; 2]) -> Self::L;
    /// Returns a float as a binary64 number.
    fn single_to_double(&mut self, a: Self::L) -> [Self::L; 2];

    /// Float sums of two lanes. This and the next four are what an implementation
    /// may have single operations for; each is defined lane by lane.
    fn add_two(&mut self, a: [Self::L; 2], b: [Self::L; 2]) -> [Self::L; 2] {
        [self.fadd(a[0], b[0]), self.fadd(a[1], b[1])]
    }

    /// Float differences of two lanes.
    fn sub_two(&mut self, a: [Self::L; 2], b: [Self::L; 2]) -> [Self::L; 2] {
        [self.fsub(a[0], b[0]), self.fsub(a[1], b[1])]
    }

    /// Float products of two lanes.
    fn mul_two(&mut self, a: [Self::L; 2], b: [Self::L; 2]) -> [Self::L; 2] {
        [self.fmul(a[0], b[0]), self.fmul(a[1], b[1])]
    }

    /// Float sum of the first lanes, difference of the second.
    fn add_sub(&mut self, a: [Self::L; 2], b: [Self::L; 2]) -> [Self::L; 2] {
        [self.fadd(a[0], b[0]), self.fsub(a[1], b[1])]
    }

    /// Float difference of the first lanes, sum of the second.
    fn sub_add(&mut self, a: [Self::L; 2], b: [Self::L; 2]) -> [Self::L; 2] {
        [self.fsub(a[0], b[0]), self.fadd(a[1], b[1])]
    }

    /// Returns the lanes of a result as they will be written: the last chance of an
    /// implementation that does not make every NaN canonical at once.
    fn finish<const N: usize>(&mut self, lanes: [Self::L; N]) -> [Self::L; N] {
        lanes
    }

    /// Bitwise complement.
    fn not(&mut self, a: Self::L) -> Self::L {
        let ones = self.constant(u32::MAX);
        self.xor(a, ones)
    }

    /// `a` and not `b`.
    fn andn(&mut self, a: Self::L, b: Self::L) -> Self::L {
        let complement = self.not(b);
        self.and(a, complement)
    }

    /// Bitwise select: `a` where `mask` has ones, else `b`.
    fn select(&mut self, mask: Self::L, a: Self::L, b: Self::L) -> Self::L {
        let ones = self.and(a, mask);
        let zeros = self.andn(b, mask);
        self.or(ones, zeros)
    }

    /// Flips the sign bit, of a NaN too: a bit operation that canonicalises nothing.
    fn fneg(&mut self, a: Self::L) -> Self::L {
        let sign = self.constant(SIGN);
        self.xor(a, sign)
    }

    /// Clears the sign bit, of a NaN too: a bit operation that canonicalises nothing.
    fn fabs(&mut self, a: Self::L) -> Self::L {
        let rest = self.constant(!SIGN);
        self.and(a, rest)
    }
}
