//! The hot tier: blocks of guest words as host code (x86-64 with AVX-512).
//!
//! ```text
//! words -> steps   registers become values, addresses a root and an offset
//!       -> build   values become vector instructions, operations on pairs two at a time
//!       -> lower   instructions become code, values are given host registers
//! ```
//!
//! All address checks of a segment stand before its first word. Where one fails
//! nothing of the segment has happened, and the caller runs its words one by one
//! until the word that faults.

mod asm;
mod build;
mod executable;
mod frame;
mod ir;
mod lower;
mod registers;
mod rows;
mod select;
mod steps;
mod vectors;
mod walks;

pub(crate) use frame::Frame;

use crate::core::Guest;
use crate::decoded::Decoded;
use crate::layout::LINE_BYTES;
use cp2_asm::isa::SCALARS;
use executable::Executable;

/// Segments a block may have: more are not worth the code.
const SEGMENTS: usize = 16;

/// The code of a block.
#[derive(Debug)]
pub(crate) struct Code {
    executable: Executable,
    /// Entry and words of each segment.
    segments: Vec<(usize, u64)>,
    words: u64,
    looping: bool,
    /// Whether it was compiled for ordinary circular buffers: where it does
    /// nothing, code that assumes nothing may still run.
    assumes: bool,
    dmem_bytes: usize,
}

/// Whether this host can run what [`compile`] makes.
pub(crate) fn available() -> bool {
    cfg!(target_endian = "little")
        && std::arch::is_x86_feature_detected!("avx512f")
        && std::arch::is_x86_feature_detected!("avx512vl")
        && std::arch::is_x86_feature_detected!("avx512dq")
        && std::arch::is_x86_feature_detected!("bmi2")
}

/// Passes after which a block is worth compiling: a word costs about as much as
/// so many of its executions by the portable tier. Tests want both tiers soon.
const WORTH: u64 = if cfg!(test) { 2 } else { 256 };

/// What this tier knows of a block.
#[derive(Debug, Default)]
pub(crate) enum Tier {
    /// It has not run.
    #[default]
    Cold,
    /// It has run so many passes elsewhere.
    Warm(u64),
    Hot(Box<Code>),
    /// It is not for this tier.
    Refused,
}

impl Tier {
    /// Runs the block of `words` as [`Code::run`] does; `None` where that is not
    /// for this tier, or not yet.
    pub(crate) fn run(
        &mut self,
        words: &[Decoded],
        looping: bool,
        guest: &mut Guest<'_>,
        frame: &mut Frame,
        passes: u64,
    ) -> Option<u64> {
        let bytes = u32::try_from(guest.dmem.len() * LINE_BYTES).ok()?;
        let before = match self {
            Self::Hot(code) => {
                let done = code.run(guest, frame, passes);
                if done > 0 || !code.assumes {
                    return Some(done);
                }
                // A fault, or a buffer that is out of the ordinary.
                let general = compile(words, looping, bytes, None)?;
                let done = general.run(guest, frame, passes);
                **code = general;
                return Some(done);
            }
            Self::Refused => return None,
            Self::Cold => 0,
            Self::Warm(before) => *before,
        };
        let all = before.saturating_add(passes);
        if all < WORTH {
            *self = Self::Warm(all);
            return None;
        }
        let Some(code) = compile(words, looping, bytes, Some(guest.scalars)) else {
            *self = Self::Refused;
            return None;
        };
        *self = Self::Hot(Box::new(code));
        self.run(words, looping, guest, frame, passes)
    }
}

/// Compiles a block; `looping` where it is the whole body of a loop. `None`
/// where a word is not for this tier, or the host lacks something.
///
/// With the scalars that it is about to run with, the code of a loop may do
/// nothing at all where circular buffers are less ordinary: [`Code::assumes`].
pub(crate) fn compile(
    words: &[Decoded],
    looping: bool,
    dmem_bytes: u32,
    assume: Option<&[u32; SCALARS]>,
) -> Option<Code> {
    if !available() {
        return None;
    }
    let mut asm = asm::Asm::new();
    let mut assumes = false;
    let (mut segments, mut rest) = (Vec::new(), words);
    while !rest.is_empty() {
        if segments.len() == SEGMENTS {
            return None;
        }
        let at_once = looping && rest.len() == words.len();
        let steps = steps::steps(rest, dmem_bytes, assume.filter(|_| at_once))?;
        let taken = steps.steps.len();
        let whole = looping && taken == words.len();
        assumes |= !steps.enter.is_empty();
        let segment = build::build(steps, whole);
        let entry = lower::lower(&mut asm, &segment).ok()?;
        segments.push((entry, taken as u64));
        rest = rest.get(taken..)?;
    }
    Some(Code {
        executable: Executable::new(&asm.finish().ok()?)?,
        segments,
        words: words.len() as u64,
        looping,
        assumes,
        dmem_bytes: dmem_bytes as usize,
    })
}

impl Code {
    /// Runs the block `passes` times; returns how many words were completed:
    /// fewer than all where one of the next segment's words will fault.
    pub(crate) fn run(&self, guest: &mut Guest<'_>, frame: &mut Frame, passes: u64) -> u64 {
        let mut call = |entry, passes| {
            self.executable
                .run(entry, self.dmem_bytes, guest, frame, passes)
        };
        if let ([(entry, words)], true) = (self.segments.as_slice(), self.looping) {
            return words * call(*entry, passes);
        }
        let mut done = 0;
        for _ in 0..passes {
            for &(entry, words) in &self.segments {
                if call(entry, 1) == 0 {
                    return done;
                }
                done += words;
            }
        }
        debug_assert_eq!(done, passes * self.words);
        done
    }
}

#[cfg(test)]
mod tests;
