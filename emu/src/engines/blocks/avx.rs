//! Runs the portable tier's words with AVX2, two lanes in one host instruction.
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

/// Body of a word's function. It is generic over the host, so that it is compiled for each.
pub(super) trait WordBody {
    /// True if the word's arithmetic runs after the body.
    const THEN_COMPUTES: bool;

    /// Runs a word, except for arithmetic that comes after it. Returns false, and changes nothing,
    /// where it would fault, or where a branch goes the other way than the block.
    fn run<H: LaneHost>(host: H, step: &WordCall, guest: &mut Guest<'_>) -> bool;
}

/// Capabilities of a host.
pub(super) trait LaneHost: Copy {
    /// Returns the two-lane operations if the host has AVX2. The answer is known when a word's
    /// function is compiled.
    fn avx(self) -> Option<Lanes>;
}

/// Any host; uses no AVX2.
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

/// Function that runs words from the first of some steps on, of which there is at least one. It
/// calls the next step's function at its end, which compilers make a jump. It returns the number of
/// steps left, including the one that did not run. The guest's state is passed as separate
/// arguments, so that it stays in host registers from word to word.
type WordCallFn = fn(WordCalls<'_>, &mut RegisterBanks, &mut [DmemLine]) -> usize;

/// Steps that are left: pointers to the first and behind the last.
type WordCalls<'a> = std::slice::Iter<'a, WordCall>;

/// Function that runs a word and those after it, all on the same kind of host.
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
    /// Returns the function of `B` for a host.
    pub(super) fn select_host<B: WordBody>(host: Option<Avx>) -> Self {
        match host {
            #[cfg(target_arch = "x86_64")]
            Some(_) => Self {
                wide: x86::wide::<B>,
            },
            #[cfg(not(target_arch = "x86_64"))]
            Some(avx) => match avx {},
            None => Self {
                any: run_with_body::<B>,
            },
        }
    }
}

/// Runs `steps`, which are all for `host`, up to the first that fails. `run` is one of the two
/// functions of the first step. Returns how many steps are left.
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
        // SAFETY: `run` was made for hosts with AVX2, and the `Avx` proves that this is one.
        Some(_) => unsafe { x86::start(run.wide, steps, guest) },
        #[cfg(not(target_arch = "x86_64"))]
        Some(avx) => match avx {},
        None => {
            // SAFETY: without an `Avx` the function was made for any host.
            let run = unsafe { run.any };
            run(steps.iter(), guest.registers, guest.dmem)
        }
    }
}

/// Runs the first of `steps`. Returns the next function and its steps, or `Err` with the number of
/// steps left where nothing follows.
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

/// Runs words from the first of `steps` on by body `B`, on any host.
#[allow(unsafe_code, reason = "see the module's safety argument")]
fn run_with_body<B: WordBody>(
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

    /// Counterpart of [`super::WordCallFn`] for hosts with AVX2. It takes the vectors of a
    /// [`Lanes`] as arguments and passes them on. So they stay in registers, and compilers need not
    /// clear their upper halves between words.
    pub(super) type WideWordCallFn = unsafe extern "sysv64" fn(
        WordCalls<'_>,
        &mut RegisterBanks,
        &mut [DmemLine],
        x::__m256,
        x::__m256,
    ) -> usize;

    /// Two-lane operations of a host with AVX2.
    #[derive(Clone, Copy, Debug)]
    pub(in crate::engines::blocks) struct Lanes {
        host: Avx,
        /// Masks of the sign bits: those of the first lane, and those of the second.
        signs: [x::__m256; 2],
    }

    /// Runs words from the first of `steps` on by body `B`, on hosts with AVX2.
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
        // SAFETY: the caller guarantees AVX2, and steps for such hosts, at least one.
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
        // SAFETY: the caller guarantees AVX2, and functions for such hosts.
        unsafe { run(steps.iter(), guest.registers, guest.dmem, first, second) }
    }

    /// Two lanes of four sections.
    type Two = [f32x4; 2];

    // The conversion goes through bytes. A call that passes short vectors inside a function without
    // AVX2 could not be inlined into a function with AVX2.
    #[inline(always)]
    fn join(lanes: Two) -> x::__m256 {
        cast(lanes)
    }

    #[inline(always)]
    fn split(both: x::__m256) -> Two {
        cast(both)
    }

    impl Avx {
        /// Returns the proof that the host has AVX2, if it has.
        pub(in crate::engines::blocks) fn find() -> Option<Self> {
            std::arch::is_x86_feature_detected!("avx2").then_some(Self(()))
        }
    }

    impl Lanes {
        /// Returns the proof that the host has AVX2.
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

        /// Changes the sign of the first lane, or of the second.
        #[inline(always)]
        pub(in crate::engines::blocks) fn negate(self, a: Two, second: bool) -> Two {
            // SAFETY: `self` is the proof.
            split(unsafe { x::_mm256_xor_ps(join(a), self.signs[usize::from(second)]) })
        }

        /// Replaces every NaN by `nan`.
        #[inline(always)]
        pub(in crate::engines::blocks) fn canonical(self, a: Two, nan: f32x4) -> Two {
            // SAFETY: `self` is the proof.
            split(unsafe {
                let found = x::_mm256_cmp_ps::<{ x::_CMP_UNORD_Q }>(join(a), join(a));
                x::_mm256_blendv_ps(join(a), join([nan, nan]), found)
            })
        }

        /// Stores two lanes with one instruction, so that a later load of both need not wait for
        /// two stores.
        #[inline(always)]
        pub(in crate::engines::blocks) fn store(self, to: &mut [Lane; 2], a: Two) {
            // SAFETY: `self` is the proof, and `to` is as long as what is stored.
            unsafe { x::_mm256_storeu_ps(to.as_mut_ptr().cast(), join(a)) }
        }

        /// Loads two lanes with one instruction.
        #[inline(always)]
        pub(in crate::engines::blocks) fn load(self, from: &[Lane; 2]) -> Two {
            // SAFETY: `self` is the proof, and `from` is as long as what is loaded.
            split(unsafe { x::_mm256_loadu_ps(from.as_ptr().cast()) })
        }

        /// True if any of four lanes is a NaN.
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

    /// Proof that the host has AVX2; on this architecture there is none.
    #[derive(Clone, Copy, Debug)]
    pub(in crate::engines::blocks) enum Avx {}

    /// Two-lane operations, which this architecture lacks.
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
