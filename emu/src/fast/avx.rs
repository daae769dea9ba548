//! Two lanes in one host instruction: the portable tier's words for hosts with AVX2.
//!
//! # Safety argument
//!
//! An [`Avx`] exists only where [`Avx::find`] saw the host's AVX2: its field is
//! private to this module, and here it is made in two places, in `find` and in
//! `wide`, which nothing outside can name and which is reached only through a [`Run`] that
//! was made from an [`Avx`]. Whoever has one may therefore execute such instructions. Nothing
//! here reads or writes memory but through references, and no more than they
//! refer to.

use super::portable::{Step, go_on};
use crate::core::Guest;

/// How a word is run; generic over the host, so that it is compiled for each.
pub(super) trait Body {
    /// Whether the word's arithmetic comes after it.
    const THEN_COMPUTES: bool;

    /// Runs a word, but for what comes after it; false, and nothing changed, where
    /// it would fault, or where a branch goes the way that the block does not.
    fn run<H: Host>(host: H, step: &Step, guest: &mut Guest<'_>) -> bool;
}

/// What a host can do.
pub(super) trait Host: Copy {
    /// Whether it has AVX2. Known when a word's function is compiled.
    fn avx(self) -> Option<Avx>;
}

/// Any host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Any;

impl Host for Any {
    #[inline(always)]
    fn avx(self) -> Option<Avx> {
        None
    }
}

impl Host for Avx {
    #[inline(always)]
    fn avx(self) -> Option<Avx> {
        Some(self)
    }
}

/// A function that runs words from the first of some steps on, each of which calls
/// the next at its end, which a compiler makes a jump. It returns how many are
/// left, the one that did not run included. This host can execute it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run(unsafe fn(&[Step], &mut Guest<'_>) -> usize);

impl Run {
    /// The function of `B` for a host.
    pub(super) fn of<B: Body>(host: Option<Avx>) -> Self {
        match host {
            #[cfg(target_arch = "x86_64")]
            Some(_) => Self(wide::<B>),
            #[cfg(not(target_arch = "x86_64"))]
            Some(avx) => match avx {},
            None => Self(|steps, guest| perform::<B, Any>(Any, steps, guest)),
        }
    }

    /// Runs the word of the first step, and goes on.
    #[inline(always)]
    #[allow(unsafe_code, reason = "see the module's safety argument")]
    pub(super) fn call(self, steps: &[Step], guest: &mut Guest<'_>) -> usize {
        // SAFETY: a function that asks for AVX2 was made from the proof of it.
        unsafe { (self.0)(steps, guest) }
    }
}

#[inline(always)]
fn perform<B: Body, H: Host>(host: H, steps: &[Step], guest: &mut Guest<'_>) -> usize {
    let Some((step, rest)) = steps.split_first() else {
        return 0;
    };
    if !B::run(host, step, guest) {
        return steps.len();
    }
    if B::THEN_COMPUTES {
        step.then(steps, guest)
    } else {
        go_on(rest, guest)
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::Avx;
#[cfg(target_arch = "x86_64")]
use x86::wide;

#[cfg(not(target_arch = "x86_64"))]
pub(super) use absent::Avx;

#[cfg(target_arch = "x86_64")]
mod x86 {
    #![allow(unsafe_code, reason = "see the module's safety argument")]

    use super::{Body, Guest, Step};
    use crate::layout::Lane;
    use bytemuck::cast;
    use std::arch::x86_64 as x;
    use wide::f32x4;

    /// Proof that the host has AVX2.
    #[derive(Clone, Copy, Debug)]
    pub(in crate::fast) struct Avx(());

    /// The function of `B` for hosts with AVX2.
    ///
    /// # Safety
    /// The host has AVX2.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn wide<B: Body>(steps: &[Step], guest: &mut Guest<'_>) -> usize {
        super::perform::<B, Avx>(Avx(()), steps, guest)
    }

    /// Two lanes.
    type Two = [f32x4; 2];

    // By way of bytes: a call that passes short vectors, where it stands in a
    // function without AVX2, would keep that from being inlined into one with it.
    #[inline(always)]
    fn join(lanes: Two) -> x::__m256 {
        cast(lanes)
    }

    #[inline(always)]
    fn split(both: x::__m256) -> Two {
        cast(both)
    }

    impl Avx {
        /// Proof that the host has AVX2, where it has.
        pub(in crate::fast) fn find() -> Option<Self> {
            std::arch::is_x86_feature_detected!("avx2").then_some(Self(()))
        }

        #[inline(always)]
        pub(in crate::fast) fn add(self, a: Two, b: Two) -> Two {
            // SAFETY: `self` is the proof.
            split(unsafe { x::_mm256_add_ps(join(a), join(b)) })
        }

        #[inline(always)]
        pub(in crate::fast) fn sub(self, a: Two, b: Two) -> Two {
            // SAFETY: `self` is the proof.
            split(unsafe { x::_mm256_sub_ps(join(a), join(b)) })
        }

        #[inline(always)]
        pub(in crate::fast) fn mul(self, a: Two, b: Two) -> Two {
            // SAFETY: `self` is the proof.
            split(unsafe { x::_mm256_mul_ps(join(a), join(b)) })
        }

        /// The lanes with the sign of the first, or the second, changed.
        #[inline(always)]
        pub(in crate::fast) fn negate(self, a: Two, second: bool) -> Two {
            let (minus, plus) = (f32x4::splat(-0.0), f32x4::splat(0.0));
            let signs = if second { [plus, minus] } else { [minus, plus] };
            // SAFETY: `self` is the proof.
            split(unsafe { x::_mm256_xor_ps(join(a), join(signs)) })
        }

        /// The lanes, every NaN made `nan`.
        #[inline(always)]
        pub(in crate::fast) fn canonical(self, a: Two, nan: f32x4) -> Two {
            // SAFETY: `self` is the proof.
            split(unsafe {
                let found = x::_mm256_cmp_ps::<{ x::_CMP_UNORD_Q }>(join(a), join(a));
                x::_mm256_blendv_ps(join(a), join([nan, nan]), found)
            })
        }

        /// Stores two lanes at once: what loads them at once must not wait for two stores.
        #[inline(always)]
        pub(in crate::fast) fn store(self, to: &mut [Lane; 2], a: Two) {
            // SAFETY: `self` is the proof, and `to` is as long as what is stored.
            unsafe { x::_mm256_storeu_ps(to.as_mut_ptr().cast(), join(a)) }
        }

        /// Whether any of four lanes is a NaN.
        #[inline(always)]
        pub(in crate::fast) fn any_nan(self, a: Two, b: Two) -> bool {
            // SAFETY: `self` is the proof.
            unsafe {
                let found = x::_mm256_cmp_ps::<{ x::_CMP_UNORD_Q }>(join(a), join(b));
                x::_mm256_movemask_ps(found) != 0
            }
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod absent {
    use crate::layout::Lane;
    use wide::f32x4;

    /// Proof that the host has AVX2: there is none.
    #[derive(Clone, Copy, Debug)]
    pub(in crate::fast) enum Avx {}

    impl Avx {
        pub(in crate::fast) fn find() -> Option<Self> {
            None
        }

        pub(in crate::fast) fn add(self, _: [f32x4; 2], _: [f32x4; 2]) -> [f32x4; 2] {
            match self {}
        }

        pub(in crate::fast) fn sub(self, _: [f32x4; 2], _: [f32x4; 2]) -> [f32x4; 2] {
            match self {}
        }

        pub(in crate::fast) fn mul(self, _: [f32x4; 2], _: [f32x4; 2]) -> [f32x4; 2] {
            match self {}
        }

        pub(in crate::fast) fn negate(self, _: [f32x4; 2], _: bool) -> [f32x4; 2] {
            match self {}
        }

        pub(in crate::fast) fn any_nan(self, _: [f32x4; 2], _: [f32x4; 2]) -> bool {
            match self {}
        }

        pub(in crate::fast) fn canonical(self, _: [f32x4; 2], _: f32x4) -> [f32x4; 2] {
            match self {}
        }

        pub(in crate::fast) fn store(self, _: &mut [Lane; 2], _: [f32x4; 2]) {
            match self {}
        }
    }
}
