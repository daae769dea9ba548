//! Two lanes in one host instruction: the portable tier's words for hosts with AVX2.
//!
//! # Safety argument
//!
//! An [`Avx`] exists only where [`Avx::find`] saw the host's AVX2: its field is
//! private to this module, and here it is made in two places, in `find` and in
//! `wide`, which nothing outside can name and which is reached only through a [`WordFunction`] that
//! was made from an [`Avx`]. A [`Lanes`] holds one. Whoever has one may therefore execute such instructions.
//!
//! A [`WordFunction`] is one of two functions, and its step knows which: both were made from the same
//! `Option<Avx>`. All steps of a text are for the host that this is ([`WordCall::new`]), and so is
//! the step that follows another. Nothing
//! here reads or writes memory but through references, and no more than they
//! refer to.

use super::portable::WordCall;
use crate::core::Guest;
use crate::core::layout::{DmemLine, RegisterBanks};

/// How a word is run; generic over the host, so that it is compiled for each.
pub(super) trait WordBody {
    /// Whether the word's arithmetic comes after it.
    const THEN_COMPUTES: bool;

    /// Runs a word, but for what comes after it; false, and nothing changed, where
    /// it would fault, or where a branch goes the way that the block does not.
    fn run<H: LaneHost>(host: H, step: &WordCall, guest: &mut Guest<'_>) -> bool;
}

/// What a host can do.
pub(super) trait LaneHost: Copy {
    /// What it does with two lanes, where it has AVX2. Known when a word's function is compiled.
    fn avx(self) -> Option<Lanes>;
}

/// Any host.
#[derive(Clone, Copy, Debug)]
pub(super) struct Any;

impl LaneHost for Any {
    #[inline(always)]
    fn avx(self) -> Option<Lanes> {
        None
    }
}

impl LaneHost for Lanes {
    #[inline(always)]
    fn avx(self) -> Option<Lanes> {
        Some(self)
    }
}

/// A function that runs words from the first of some steps on, of which there is one, and calls
/// the next one's at its end, which a compiler makes a jump. It returns how many are
/// left, the one that did not run included. What words work on is passed one by one, so that
/// it stays in the host's registers from word to word.
type WordCallFn = fn(WordCalls<'_>, &mut RegisterBanks, &mut [DmemLine]) -> usize;

/// Steps that are left, as the places of the first and of what lies behind the last.
type WordCalls<'a> = std::slice::Iter<'a, WordCall>;

/// What runs a word on some host, and those after it, which are for the same host.
#[derive(Clone, Copy)]
pub(super) union WordFunction {
    any: WordCallFn,
    #[cfg(target_arch = "x86_64")]
    wide: x86::WideWordCallFn,
}

impl std::fmt::Debug for WordFunction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Run")
    }
}

impl WordFunction {
    /// The function of `B` for a host.
    pub(super) fn select_host<B: WordBody>(host: Option<Avx>) -> Self {
        match host {
            #[cfg(target_arch = "x86_64")]
            Some(_) => Self {
                wide: x86::wide::<B>,
            },
            #[cfg(not(target_arch = "x86_64"))]
            Some(avx) => match avx {},
            None => Self { any: any::<B> },
        }
    }
}

/// Runs `steps`, all for `host`, up to the first that does not, the first by `run`, one of its
/// own two; returns how many are left.
#[inline(always)]
#[allow(unsafe_code, reason = "see the module's safety argument")]
pub(super) fn start(
    run: WordFunction,
    host: Option<Avx>,
    steps: &[WordCall],
    guest: &mut Guest<'_>,
) -> usize {
    match host {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: made for such a host, and here is the proof that this is one.
        Some(_) => unsafe { x86::start(run.wide, steps, guest) },
        #[cfg(not(target_arch = "x86_64"))]
        Some(avx) => match avx {},
        None => {
            // SAFETY: made for any host.
            let run = unsafe { run.any };
            run(steps.iter(), guest.registers, guest.dmem)
        }
    }
}

/// Runs the first of `steps`; what runs next, and which steps it is given.
#[inline(always)]
fn perform<'a, B: WordBody, H: LaneHost>(
    host: H,
    steps: WordCalls<'a>,
    guest: &mut Guest<'_>,
) -> Result<(WordFunction, WordCalls<'a>), usize> {
    let Some(step) = steps.as_slice().first() else {
        return Err(0);
    };
    if !B::run(host, step, guest) {
        return Err(steps.len());
    }
    if B::THEN_COMPUTES {
        return Ok((step.computes(), steps));
    }
    let mut rest = steps;
    rest.next();
    match rest.as_slice().first() {
        Some(next) => Ok((next.runs(), rest)),
        None => Err(0),
    }
}

/// The function of `B` for any host.
#[allow(unsafe_code, reason = "see the module's safety argument")]
fn any<B: WordBody>(
    steps: WordCalls<'_>,
    registers: &mut RegisterBanks,
    dmem: &mut [DmemLine],
) -> usize {
    let mut guest = Guest { registers, dmem };
    match perform::<B, Any>(Any, steps, &mut guest) {
        // SAFETY: all steps are for the host that the first one is for.
        Ok((next, steps)) => unsafe { (next.any)(steps, guest.registers, guest.dmem) },
        Err(left) => left,
    }
}

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx, Lanes};

#[cfg(not(target_arch = "x86_64"))]
pub(super) use absent::{Avx, Lanes};

#[cfg(target_arch = "x86_64")]
mod x86 {
    #![allow(unsafe_code, reason = "see the module's safety argument")]
    #![allow(
        improper_ctypes_definitions,
        reason = "nothing but Rust calls these functions"
    )]

    use super::Guest;
    use super::WordBody;
    use super::WordCall;
    use super::WordCalls;
    use super::perform;
    use crate::core::layout::{DmemLine, Lane, RegisterBanks};
    use bytemuck::cast;
    use std::arch::x86_64 as x;
    use std::hint::assert_unchecked;
    use wide::f32x4;

    /// Proof that the host has AVX2.
    #[derive(Clone, Copy, Debug)]
    pub(in crate::engines::blocks) struct Avx(());

    /// The same as [`super::WordCallFn`] for hosts with AVX2. It is handed the vectors of a
    /// [`Lanes`] and hands them on: so they stay in registers, and a compiler sees no
    /// need to clear the upper halves of these from word to word.
    pub(super) type WideWordCallFn = unsafe extern "sysv64" fn(
        WordCalls<'_>,
        &mut RegisterBanks,
        &mut [DmemLine],
        x::__m256,
        x::__m256,
    ) -> usize;

    /// What such a host does with two lanes.
    #[derive(Clone, Copy, Debug)]
    pub(in crate::engines::blocks) struct Lanes {
        host: Avx,
        /// The sign of the first lane, and of the second.
        signs: [x::__m256; 2],
    }

    /// The function of `B` for hosts with AVX2.
    ///
    /// # Safety
    /// The host has AVX2, and all steps are for such hosts; there is at least one.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe extern "sysv64" fn wide<B: WordBody>(
        steps: WordCalls<'_>,
        registers: &mut RegisterBanks,
        dmem: &mut [DmemLine],
        first: x::__m256,
        second: x::__m256,
    ) -> usize {
        let host = Lanes {
            host: Avx(()),
            signs: [first, second],
        };
        let mut guest = Guest { registers, dmem };
        // SAFETY: the caller's.
        unsafe {
            assert_unchecked(!steps.as_slice().is_empty());
            match perform::<B, Lanes>(host, steps, &mut guest) {
                Ok((next, steps)) => (next.wide)(steps, guest.registers, guest.dmem, first, second),
                Err(left) => left,
            }
        }
    }

    /// Runs `steps`, the first by `run`; returns how many are left.
    ///
    /// # Safety
    /// The host has AVX2, and `run` and all steps are for such hosts.
    #[target_feature(enable = "avx2")]
    pub(super) unsafe fn start(
        run: WideWordCallFn,
        steps: &[WordCall],
        guest: &mut Guest<'_>,
    ) -> usize {
        if steps.is_empty() {
            return 0;
        }
        let (minus, plus) = (f32x4::splat(-0.0), f32x4::splat(0.0));
        let (first, second) = (join([minus, plus]), join([plus, minus]));
        // SAFETY: the caller's.
        unsafe { run(steps.iter(), guest.registers, guest.dmem, first, second) }
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
        pub(in crate::engines::blocks) fn find() -> Option<Self> {
            std::arch::is_x86_feature_detected!("avx2").then_some(Self(()))
        }
    }

    impl Lanes {
        /// The proof that the host has AVX2.
        #[inline(always)]
        pub(in crate::engines::blocks) fn host(self) -> Avx {
            self.host
        }

        #[inline(always)]
        pub(in crate::engines::blocks) fn add(self, a: Two, b: Two) -> Two {
            // SAFETY: `self` is the proof.
            split(unsafe { x::_mm256_add_ps(join(a), join(b)) })
        }

        #[inline(always)]
        pub(in crate::engines::blocks) fn sub(self, a: Two, b: Two) -> Two {
            // SAFETY: `self` is the proof.
            split(unsafe { x::_mm256_sub_ps(join(a), join(b)) })
        }

        #[inline(always)]
        pub(in crate::engines::blocks) fn mul(self, a: Two, b: Two) -> Two {
            // SAFETY: `self` is the proof.
            split(unsafe { x::_mm256_mul_ps(join(a), join(b)) })
        }

        /// The lanes with the sign of the first, or the second, changed.
        #[inline(always)]
        pub(in crate::engines::blocks) fn negate(self, a: Two, second: bool) -> Two {
            // SAFETY: `self` is the proof.
            split(unsafe { x::_mm256_xor_ps(join(a), self.signs[usize::from(second)]) })
        }

        /// The lanes, every NaN made `nan`.
        #[inline(always)]
        pub(in crate::engines::blocks) fn canonical(self, a: Two, nan: f32x4) -> Two {
            // SAFETY: `self` is the proof.
            split(unsafe {
                let found = x::_mm256_cmp_ps::<{ x::_CMP_UNORD_Q }>(join(a), join(a));
                x::_mm256_blendv_ps(join(a), join([nan, nan]), found)
            })
        }

        /// Stores two lanes at once: what loads them at once must not wait for two stores.
        #[inline(always)]
        pub(in crate::engines::blocks) fn store(self, to: &mut [Lane; 2], a: Two) {
            // SAFETY: `self` is the proof, and `to` is as long as what is stored.
            unsafe { x::_mm256_storeu_ps(to.as_mut_ptr().cast(), join(a)) }
        }

        /// Loads two lanes at once.
        #[inline(always)]
        pub(in crate::engines::blocks) fn load(self, from: &[Lane; 2]) -> Two {
            // SAFETY: `self` is the proof, and `from` is as long as what is loaded.
            split(unsafe { x::_mm256_loadu_ps(from.as_ptr().cast()) })
        }

        /// Whether any of four lanes is a NaN.
        #[inline(always)]
        pub(in crate::engines::blocks) fn any_nan(self, a: Two, b: Two) -> bool {
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
    use crate::core::layout::Lane;
    use wide::f32x4;

    /// Proof that the host has AVX2: there is none.
    #[derive(Clone, Copy, Debug)]
    pub(in crate::engines::blocks) enum Avx {}

    /// What such a host does with two lanes.
    pub(in crate::engines::blocks) type Lanes = Avx;

    impl Avx {
        pub(in crate::engines::blocks) fn find() -> Option<Self> {
            None
        }

        pub(in crate::engines::blocks) fn host(self) -> Avx {
            self
        }

        pub(in crate::engines::blocks) fn add(self, _: [f32x4; 2], _: [f32x4; 2]) -> [f32x4; 2] {
            match self {}
        }

        pub(in crate::engines::blocks) fn sub(self, _: [f32x4; 2], _: [f32x4; 2]) -> [f32x4; 2] {
            match self {}
        }

        pub(in crate::engines::blocks) fn mul(self, _: [f32x4; 2], _: [f32x4; 2]) -> [f32x4; 2] {
            match self {}
        }

        pub(in crate::engines::blocks) fn negate(self, _: [f32x4; 2], _: bool) -> [f32x4; 2] {
            match self {}
        }

        pub(in crate::engines::blocks) fn any_nan(self, _: [f32x4; 2], _: [f32x4; 2]) -> bool {
            match self {}
        }

        pub(in crate::engines::blocks) fn canonical(self, _: [f32x4; 2], _: f32x4) -> [f32x4; 2] {
            match self {}
        }

        pub(in crate::engines::blocks) fn load(self, _: &[Lane; 2]) -> [f32x4; 2] {
            match self {}
        }

        pub(in crate::engines::blocks) fn store(self, _: &mut [Lane; 2], _: [f32x4; 2]) {
            match self {}
        }
    }
}
