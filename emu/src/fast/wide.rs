//! One lane of four sections as one value, for the portable tier.

use crate::alu::{Alu, NAN, Plain};
use crate::layout::{File, Lane, PAIR};
use crate::semantics::arith::Registers;
use crate::semantics::elementary::Function;
use bytemuck::cast;
use wide::{CmpEq, CmpLe, CmpLt, f32x4, i32x4, u32x4};

/// A lane of four sections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Four {
    bits: u32x4,
    /// Whether a NaN may still have other bits than [`NAN`]. Known when the
    /// operation is compiled: the result of float arithmetic, and nothing else.
    raw: bool,
}

impl Four {
    fn new(bits: impl bytemuck::Pod) -> Self {
        Self {
            bits: cast_lane(bits),
            raw: false,
        }
    }

    fn raw(value: f32x4) -> Self {
        Self {
            bits: cast(value),
            raw: true,
        }
    }

    fn float(self) -> f32x4 {
        cast(self.bits)
    }

    /// The bits, every NaN made the canonical one.
    fn bits(self) -> u32x4 {
        if self.raw {
            choose(cast(self.float().is_nan()), u32x4::new([NAN; 4]), self.bits)
        } else {
            self.bits
        }
    }

    fn signed(self) -> i32x4 {
        cast(self.bits())
    }

    /// Lane by lane, as [`Plain`] does it.
    fn map(self, f: impl Fn(u32) -> u32) -> Self {
        Self::new(self.bits().to_array().map(f))
    }

    fn zip(self, other: Self, f: impl Fn(u32, u32) -> u32) -> Self {
        let (a, b) = (self.bits().to_array(), other.bits().to_array());
        Self::new(std::array::from_fn::<u32, 4, _>(|i| f(a[i], b[i])))
    }
}

fn cast_lane(bits: impl bytemuck::Pod) -> u32x4 {
    cast(bits)
}

/// `a` where `mask` has ones, else `b`.
fn choose(mask: u32x4, a: u32x4, b: u32x4) -> u32x4 {
    b ^ ((a ^ b) & mask)
}

/// Lanes of four sections at once.
///
/// Float arithmetic leaves NaNs as the host makes them: whatever consumes such
/// a result either only asks whether it is a NaN (arithmetic, comparisons,
/// conversions) or goes through [`Four::bits`] first, and what is written goes
/// through [`Alu::finish`].
pub(crate) struct Wide;

impl Alu for Wide {
    type L = Four;

    fn constant(&mut self, bits: u32) -> Four {
        Four::new([bits; 4])
    }

    /// One test for all lanes: NaNs are rare.
    fn finish<const N: usize>(&mut self, lanes: [Four; N]) -> [Four; N] {
        let raw = lanes.iter().filter(|lane| lane.raw);
        let Some(sum) = raw.map(|lane| lane.float()).reduce(|a, b| a + b) else {
            return lanes;
        };
        // Any NaN makes the sum one; infinities may, which costs time only.
        if sum.is_nan().any() {
            lanes.map(|lane| Four::new(lane.bits()))
        } else {
            lanes
        }
    }

    fn fadd(&mut self, a: Four, b: Four) -> Four {
        Four::raw(a.float() + b.float())
    }

    fn fsub(&mut self, a: Four, b: Four) -> Four {
        Four::raw(a.float() - b.float())
    }

    fn fmul(&mut self, a: Four, b: Four) -> Four {
        Four::raw(a.float() * b.float())
    }

    fn fmin(&mut self, a: Four, b: Four) -> Four {
        a.zip(b, |a, b| Plain.fmin(a, b))
    }

    fn fmax(&mut self, a: Four, b: Four) -> Four {
        a.zip(b, |a, b| Plain.fmax(a, b))
    }

    fn feq(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.float().cmp_eq(b.float()))
    }

    fn flt(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.float().cmp_lt(b.float()))
    }

    fn fle(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.float().cmp_le(b.float()))
    }

    fn ftoi(&mut self, a: Four) -> Four {
        a.map(|a| Plain.ftoi(a))
    }

    fn ftoin(&mut self, a: Four) -> Four {
        a.map(|a| Plain.ftoin(a))
    }

    fn itof(&mut self, a: Four) -> Four {
        Four::new(f32x4::from_i32x4(a.signed()))
    }

    fn iadd(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.bits() + b.bits())
    }

    fn isub(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.bits() - b.bits())
    }

    fn imul(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.bits() * b.bits())
    }

    fn imin(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.signed().min(b.signed()))
    }

    fn imax(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.signed().max(b.signed()))
    }

    fn ieq(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.bits().cmp_eq(b.bits()))
    }

    fn ilt(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.signed().cmp_lt(b.signed()))
    }

    fn and(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.bits() & b.bits())
    }

    fn or(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.bits() | b.bits())
    }

    fn xor(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.bits() ^ b.bits())
    }

    fn shl(&mut self, a: Four, b: Four) -> Four {
        a.zip(b, |a, b| Plain.shl(a, b))
    }

    fn shr(&mut self, a: Four, b: Four) -> Four {
        a.zip(b, |a, b| Plain.shr(a, b))
    }

    fn sar(&mut self, a: Four, b: Four) -> Four {
        a.zip(b, |a, b| Plain.sar(a, b))
    }

    fn elementary(&mut self, function: Function, a: Four) -> Four {
        a.map(|a| Plain.elementary(function, a))
    }
}

impl Registers<Four> for File {
    fn read(&self, reg: u8, lane: u8) -> Four {
        Four::new(self.0[row(reg, lane)])
    }

    fn write(&mut self, reg: u8, lane: u8, value: Four) {
        let lanes: Lane = value.bits.to_array();
        self.0[row(reg, lane)] = lanes;
    }
}

/// A lane of a register in the file; the mask only tells the compiler that it exists.
fn row(reg: u8, lane: u8) -> usize {
    (usize::from(reg) * PAIR + usize::from(lane)) % crate::layout::FILE_LANES
}
