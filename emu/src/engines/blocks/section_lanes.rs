//! One lane of four sections as one value, for the portable tier.

use super::avx::LaneHost;
use crate::alu::{Alu, NAN, PlainAlu};
use crate::core::layout::Lane;
use crate::semantics::double::DoubleOperation;
use crate::semantics::elementary::Function;
use bytemuck::cast;
use wide::{CmpEq, CmpLe, CmpLt, f32x4, i32x4, u32x4};

/// A lane of four sections.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Four {
    bits: u32x4,
    /// True if a NaN may have other bits than [`NAN`]: in results of float arithmetic. The value is
    /// known when the operation is compiled.
    raw: bool,
}

impl Four {
    #[inline(always)]
    pub(super) fn new(bits: impl bytemuck::Pod) -> Self {
        Self {
            bits: cast_lane(bits),
            raw: false,
        }
    }

    /// Returns the lane as it is stored.
    #[inline(always)]
    pub(super) fn lane(self) -> Lane {
        self.bits.to_array()
    }

    #[inline(always)]
    fn raw(value: f32x4) -> Self {
        Self {
            bits: cast(value),
            raw: true,
        }
    }

    #[inline(always)]
    fn float(self) -> f32x4 {
        cast(self.bits)
    }

    /// Returns the bits with every NaN replaced by [`NAN`].
    #[inline(always)]
    fn bits(self) -> u32x4 {
        if self.raw {
            choose(cast(self.float().is_nan()), u32x4::new([NAN; 4]), self.bits)
        } else {
            self.bits
        }
    }

    #[inline(always)]
    fn signed(self) -> i32x4 {
        cast(self.bits())
    }

    /// Applies `f` to the lane of each section.
    #[inline(always)]
    fn map(self, f: impl Fn(u32) -> u32) -> Self {
        Self::new(self.bits().to_array().map(f))
    }

    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(u32, u32) -> u32) -> Self {
        let (a, b) = (self.bits().to_array(), other.bits().to_array());
        Self::new(std::array::from_fn::<u32, 4, _>(|i| f(a[i], b[i])))
    }
}

#[inline(always)]
fn cast_lane(bits: impl bytemuck::Pod) -> u32x4 {
    cast(bits)
}

/// Returns `a` where `mask` has ones, else `b`.
#[inline(always)]
fn choose(mask: u32x4, a: u32x4, b: u32x4) -> u32x4 {
    b ^ ((a ^ b) & mask)
}

/// Arithmetic on lanes of four sections at once.
///
/// Float arithmetic leaves NaNs as the host makes them. A consumer of such a result either only
/// asks whether it is a NaN (arithmetic, comparisons, conversions) or calls [`Four::bits`] first.
/// Results that are written pass through [`Alu::finish`].
pub(super) struct Wide<H>(pub H);

/// Returns two lanes as floats.
#[inline(always)]
pub(super) fn floats([a, b]: [Four; 2]) -> [f32x4; 2] {
    [a.float(), b.float()]
}

/// Returns the two lanes of each section.
#[inline(always)]
fn by_section(lanes: [Four; 2]) -> impl Fn(usize) -> [u32; 2] {
    let lanes = lanes.map(|lane| lane.bits().to_array());
    move |section| lanes.map(|lane| lane[section])
}

/// Returns two lanes of all sections from those of each section.
#[inline(always)]
fn by_lane(values: impl Fn(usize) -> [u32; 2]) -> [Four; 2] {
    let sections: [[u32; 2]; 4] = std::array::from_fn(values);
    [0, 1].map(|lane| Four::new(sections.map(|section| section[lane])))
}

impl<H: LaneHost> Alu for Wide<H> {
    type L = Four;

    #[inline(always)]
    fn constant(&mut self, bits: u32) -> Four {
        Four::new([bits; 4])
    }

    /// Tests all lanes at once, because NaNs are rare.
    #[inline(always)]
    fn finish<const N: usize>(&mut self, lanes: [Four; N]) -> [Four; N] {
        // The code below handles two pairs of lanes at most.
        const { assert!(N <= 4) };
        if !lanes.iter().any(|lane| lane.raw) {
            return lanes;
        }
        if let (Some(avx), true) = (self.0.avx(), lanes.iter().all(|lane| lane.raw)) {
            let two = |i: usize| floats([lanes[i % N], lanes[(i + 1) % N]]);
            let (mut low, mut high) = (two(0), two(2));
            if avx.any_nan(low, high) {
                let nan = cast([NAN; 4]);
                (low, high) = (avx.canonical(low, nan), avx.canonical(high, nan));
            }
            let finished = [low[0], low[1], high[0], high[1]];
            return std::array::from_fn(|i| Four::new(finished[i % 4]));
        }
        let raw = lanes.iter().filter(|lane| lane.raw);
        let sum = raw.map(|lane| lane.float()).reduce(|a, b| a + b);
        // A NaN in any lane makes the sum a NaN. Infinities may do so too, which costs only time.
        let some = sum.is_some_and(|sum| sum.is_nan().any());
        if some {
            lanes.map(|lane| Four::new(lane.bits()))
        } else {
            lanes
        }
    }

    #[inline(always)]
    fn fadd(&mut self, a: Four, b: Four) -> Four {
        Four::raw(a.float() + b.float())
    }

    #[inline(always)]
    fn fsub(&mut self, a: Four, b: Four) -> Four {
        Four::raw(a.float() - b.float())
    }

    #[inline(always)]
    fn fmul(&mut self, a: Four, b: Four) -> Four {
        Four::raw(a.float() * b.float())
    }

    #[inline(always)]
    fn add_two(&mut self, a: [Four; 2], b: [Four; 2]) -> [Four; 2] {
        match self.0.avx() {
            Some(avx) => avx.add(floats(a), floats(b)).map(Four::raw),
            None => [self.fadd(a[0], b[0]), self.fadd(a[1], b[1])],
        }
    }

    #[inline(always)]
    fn sub_two(&mut self, a: [Four; 2], b: [Four; 2]) -> [Four; 2] {
        match self.0.avx() {
            Some(avx) => avx.sub(floats(a), floats(b)).map(Four::raw),
            None => [self.fsub(a[0], b[0]), self.fsub(a[1], b[1])],
        }
    }

    #[inline(always)]
    fn mul_two(&mut self, a: [Four; 2], b: [Four; 2]) -> [Four; 2] {
        match self.0.avx() {
            Some(avx) => avx.mul(floats(a), floats(b)).map(Four::raw),
            None => [self.fmul(a[0], b[0]), self.fmul(a[1], b[1])],
        }
    }

    /// Computes the difference as the sum of `a` and `-b`, which rounds equally.
    #[inline(always)]
    fn add_sub(&mut self, a: [Four; 2], b: [Four; 2]) -> [Four; 2] {
        match self.0.avx() {
            Some(avx) => avx
                .add(floats(a), avx.negate(floats(b), true))
                .map(Four::raw),
            None => [self.fadd(a[0], b[0]), self.fsub(a[1], b[1])],
        }
    }

    #[inline(always)]
    fn sub_add(&mut self, a: [Four; 2], b: [Four; 2]) -> [Four; 2] {
        match self.0.avx() {
            Some(avx) => avx
                .add(floats(a), avx.negate(floats(b), false))
                .map(Four::raw),
            None => [self.fsub(a[0], b[0]), self.fadd(a[1], b[1])],
        }
    }

    #[inline(always)]
    fn fmin(&mut self, a: Four, b: Four) -> Four {
        a.zip(b, |a, b| PlainAlu.fmin(a, b))
    }

    #[inline(always)]
    fn fmax(&mut self, a: Four, b: Four) -> Four {
        a.zip(b, |a, b| PlainAlu.fmax(a, b))
    }

    #[inline(always)]
    fn feq(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.float().cmp_eq(b.float()))
    }

    #[inline(always)]
    fn flt(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.float().cmp_lt(b.float()))
    }

    #[inline(always)]
    fn fle(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.float().cmp_le(b.float()))
    }

    #[inline(always)]
    fn ftoi(&mut self, a: Four) -> Four {
        a.map(|a| PlainAlu.ftoi(a))
    }

    #[inline(always)]
    fn ftoin(&mut self, a: Four) -> Four {
        a.map(|a| PlainAlu.ftoin(a))
    }

    #[inline(always)]
    fn itof(&mut self, a: Four) -> Four {
        Four::new(f32x4::from_i32x4(a.signed()))
    }

    #[inline(always)]
    fn iadd(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.bits() + b.bits())
    }

    #[inline(always)]
    fn isub(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.bits() - b.bits())
    }

    #[inline(always)]
    fn imul(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.bits() * b.bits())
    }

    #[inline(always)]
    fn imin(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.signed().min(b.signed()))
    }

    #[inline(always)]
    fn imax(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.signed().max(b.signed()))
    }

    #[inline(always)]
    fn ieq(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.bits().cmp_eq(b.bits()))
    }

    #[inline(always)]
    fn ilt(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.signed().cmp_lt(b.signed()))
    }

    #[inline(always)]
    fn and(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.bits() & b.bits())
    }

    #[inline(always)]
    fn or(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.bits() | b.bits())
    }

    #[inline(always)]
    fn xor(&mut self, a: Four, b: Four) -> Four {
        Four::new(a.bits() ^ b.bits())
    }

    #[inline(always)]
    fn shl(&mut self, a: Four, b: Four) -> Four {
        a.zip(b, |a, b| PlainAlu.shl(a, b))
    }

    #[inline(always)]
    fn shr(&mut self, a: Four, b: Four) -> Four {
        a.zip(b, |a, b| PlainAlu.shr(a, b))
    }

    #[inline(always)]
    fn sar(&mut self, a: Four, b: Four) -> Four {
        a.zip(b, |a, b| PlainAlu.sar(a, b))
    }

    #[inline(always)]
    fn elementary(&mut self, function: Function, a: Four) -> Four {
        a.map(|a| PlainAlu.elementary(function, a))
    }

    #[inline(always)]
    fn product_error(&mut self, a: Four, b: Four) -> Four {
        a.zip(b, |a, b| PlainAlu.product_error(a, b))
    }

    #[inline(always)]
    fn double(&mut self, operation: DoubleOperation, a: [Four; 2], b: [Four; 2]) -> [Four; 2] {
        let (a, b) = (by_section(a), by_section(b));
        by_lane(|section| PlainAlu.double(operation, a(section), b(section)))
    }

    #[inline(always)]
    fn double_to_single(&mut self, a: [Four; 2]) -> Four {
        let a = by_section(a);
        by_lane(|section| [PlainAlu.double_to_single(a(section)), 0])[0]
    }

    #[inline(always)]
    fn single_to_double(&mut self, a: Four) -> [Four; 2] {
        let a = a.bits().to_array();
        by_lane(|section| PlainAlu.single_to_double(a[section]))
    }
}
