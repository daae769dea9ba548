//! The defining implementation of the primitives: a lane is its 32 bits.

use super::Alu;
use crate::semantics::double::{self, DoubleOperation};
use crate::semantics::elementary::{self, Function};

/// The only NaN an arithmetic operation returns.
pub const NAN: u32 = 0x7fc0_0000;

/// Lanes as bit patterns. Needs a host with IEEE binary32 and binary64
/// arithmetic in the default environment, which Rust requires everywhere but
/// on 32-bit x86 without SSE2.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlainAlu;

#[cfg(all(target_arch = "x86", not(target_feature = "sse2")))]
compile_error!("x87 arithmetic rounds twice: build for a target with SSE2");

fn float(bits: u32) -> f32 {
    f32::from_bits(bits)
}

/// Returns the bits of a result, with every NaN replaced by [`NAN`].
pub(crate) fn canonical(value: f32) -> u32 {
    if value.is_nan() { NAN } else { value.to_bits() }
}

fn mask(condition: bool) -> u32 {
    if condition { u32::MAX } else { 0 }
}

impl Alu for PlainAlu {
    type L = u32;

    fn constant(&mut self, bits: u32) -> u32 {
        bits
    }

    fn fadd(&mut self, a: u32, b: u32) -> u32 {
        canonical(float(a) + float(b))
    }

    fn fsub(&mut self, a: u32, b: u32) -> u32 {
        canonical(float(a) - float(b))
    }

    fn fmul(&mut self, a: u32, b: u32) -> u32 {
        canonical(float(a) * float(b))
    }

    fn fmin(&mut self, a: u32, b: u32) -> u32 {
        let (x, y) = (float(a), float(b));
        if x.is_nan() || y.is_nan() {
            NAN
        } else if x == y {
            a | b // zeros of unlike sign give the negative one
        } else if x < y {
            a
        } else {
            b
        }
    }

    fn fmax(&mut self, a: u32, b: u32) -> u32 {
        let (x, y) = (float(a), float(b));
        if x.is_nan() || y.is_nan() {
            NAN
        } else if x == y {
            a & b // zeros of unlike sign give the positive one
        } else if x > y {
            a
        } else {
            b
        }
    }

    fn feq(&mut self, a: u32, b: u32) -> u32 {
        mask(float(a) == float(b))
    }

    fn flt(&mut self, a: u32, b: u32) -> u32 {
        mask(float(a) < float(b))
    }

    fn fle(&mut self, a: u32, b: u32) -> u32 {
        mask(float(a) <= float(b))
    }

    fn ftoi(&mut self, a: u32) -> u32 {
        float(a) as i32 as u32 // `as` truncates, saturates, and takes NaN to 0
    }

    fn ftoin(&mut self, a: u32) -> u32 {
        float(a).round_ties_even() as i32 as u32
    }

    fn itof(&mut self, a: u32) -> u32 {
        (a as i32 as f32).to_bits()
    }

    fn iadd(&mut self, a: u32, b: u32) -> u32 {
        a.wrapping_add(b)
    }

    fn isub(&mut self, a: u32, b: u32) -> u32 {
        a.wrapping_sub(b)
    }

    fn imul(&mut self, a: u32, b: u32) -> u32 {
        a.wrapping_mul(b)
    }

    fn imin(&mut self, a: u32, b: u32) -> u32 {
        (a as i32).min(b as i32) as u32
    }

    fn imax(&mut self, a: u32, b: u32) -> u32 {
        (a as i32).max(b as i32) as u32
    }

    fn ieq(&mut self, a: u32, b: u32) -> u32 {
        mask(a == b)
    }

    fn ilt(&mut self, a: u32, b: u32) -> u32 {
        mask((a as i32) < b as i32)
    }

    fn and(&mut self, a: u32, b: u32) -> u32 {
        a & b
    }

    fn or(&mut self, a: u32, b: u32) -> u32 {
        a | b
    }

    fn xor(&mut self, a: u32, b: u32) -> u32 {
        a ^ b
    }

    fn shl(&mut self, a: u32, b: u32) -> u32 {
        a.checked_shl(b).unwrap_or(0)
    }

    fn shr(&mut self, a: u32, b: u32) -> u32 {
        a.checked_shr(b).unwrap_or(0)
    }

    fn sar(&mut self, a: u32, b: u32) -> u32 {
        (a as i32 >> b.min(31)) as u32
    }

    fn elementary(&mut self, function: Function, a: u32) -> u32 {
        elementary::evaluate(function, a)
    }

    fn product_error(&mut self, a: u32, b: u32) -> u32 {
        double::product_error(a, b)
    }

    fn double(&mut self, operation: DoubleOperation, a: [u32; 2], b: [u32; 2]) -> [u32; 2] {
        double::split(double::evaluate(
            operation,
            double::join(a),
            double::join(b),
        ))
    }

    fn double_to_single(&mut self, a: [u32; 2]) -> u32 {
        double::to_single(double::join(a))
    }

    fn single_to_double(&mut self, a: u32) -> [u32; 2] {
        double::split(double::from_single(a))
    }
}
