//! The hot tier: blocks as host code for AVX-512, or for AVX2 and FMA.
//!
//! ```text
//! words -> steps   registers become values, addresses become a root and an offset
//!       -> build   values become vector instructions, operations on pairs two at a time
//!       -> lower   instructions become code, values are given host registers
//! ```
//!
//! All address checks of a segment stand before its first word. Where one fails, nothing of the
//! segment has been executed, and the caller runs its words one by one until the word that faults.

mod address_checks;
mod arithmetic_rows;
mod asm;
mod build;
mod candidates;
mod carried_registers;
mod code_form;
mod code_frame;
mod cost;
mod executable;
mod function;
mod instruction_sequences;
mod ir;
mod loop_passes;
mod lower;
mod pair_operations;
mod registers;
mod retime;
mod scalar_sums;
mod scalars;
mod segment_steps;
mod select;
mod value_moves;
mod vector_sharing;
mod vectors;
#[cfg(any(test, feature = "testing"))]
mod verify;

pub(crate) use code_frame::CodeFrame;

use crate::core::Guest;
use crate::core::decoded::Decoded;
use crate::core::layout::{LINE_BYTES, Shared};
use crate::core::simd::Simd;
use crate::semantics::action::{Action, ControlOp};
use asm::Asm;
use code_form::CodeForm;
use executable::Executable;
use function::Link;

/// Maximum number of parts of a block; a block with more is not compiled.
const PARTS: usize = 64;

/// Fewest words of a chain that is worth a call.
const SHORTEST: u64 = 3;

/// Part of a block.
#[derive(Clone, Copy, Debug)]
enum BlockPart {
    /// A function: its entry, and the number of its words.
    Code(usize, u64),
    /// Index of a word that another tier runs.
    Word(usize),
}

/// Runs word `i` of a block on another tier; returns false where it would fault.
pub(crate) type FallbackRunner<'a> = &'a mut dyn FnMut(usize, &mut Guest<'_>) -> bool;

/// Host code of a block.
#[derive(Debug)]
pub(crate) struct BlockCode {
    executable: Executable,
    parts: Vec<BlockPart>,
    looping: bool,
    /// True if the code assumes ordinary circular buffers. Where it refuses to run, code without
    /// that assumption may still run.
    assumes: bool,
    dmem_bytes: usize,
    /// Times that the code did nothing.
    misses: u32,
    /// Passes at a time that the code was made for.
    passes: u64,
}

/// Returns the forms to choose from.
fn forms(simd: Simd) -> &'static [CodeForm] {
    match simd {
        Simd::None => &[],
        Simd::Avx2 => &[CodeForm::Avx2],
        Simd::Avx512 => &[CodeForm::Wide, CodeForm::Narrow],
    }
}

/// Passes after which a block is compiled: compiling a word costs about as much as so many
/// executions of it by the portable tier. Tests use a small number, so that both tiers run soon.
const WORTH: u64 = if cfg!(test) { 2 } else { 256 };

/// Maximum number of blocks compiled for one processor. Each has memory mappings of its own, and a
/// system limits the mappings of a process.
const BLOCKS: usize = 2048;

/// Times that code may do nothing before its block is left to the portable tier for good.
const MISSES: u32 = 16;

/// State of a block in this tier.
#[derive(Debug, Default)]
pub(crate) enum Tier {
    /// The block has not run.
    #[default]
    Cold,
    /// The block has run on the portable tier: passes in all, and the most passes in one call.
    Warm {
        all: u64,
        most: u64,
    },
    Hot(Box<BlockCode>),
    /// The block cannot be compiled, or is not worth it.
    Refused,
}

impl Tier {
    /// Runs the block of `words` as [`BlockCode::run`] does. Returns `None`, and does nothing, if
    /// the block has no code, or none yet, or if its first word will fault.
    pub(crate) fn run(
        &mut self,
        words: &[Decoded],
        looping: bool,
        guest: &mut Guest<'_>,
        frame: &mut CodeFrame,
        passes: u64,
        elsewhere: FallbackRunner<'_>,
    ) -> Option<u64> {
        let bytes = u32::try_from(guest.dmem.len() * LINE_BYTES).ok()?;
        let before = match self {
            Self::Hot(code) => {
                let done = code.run(guest, frame, passes, elsewhere);
                if done > 0 {
                    return Some(done);
                }
                if words[0].expect.is_some() {
                    // The first word is a guard that leaves the block.
                    return None;
                }
                // The first word faults, or a circular buffer is out of the ordinary.
                code.misses += 1;
                if code.assumes {
                    **code = compile(words, looping, bytes, None, forms(frame.simd), code.passes)?;
                } else if code.misses > MISSES {
                    *self = Self::Refused;
                }
                return None;
            }
            Self::Refused => return None,
            Self::Cold => (0, 0),
            Self::Warm { all, most } => (*all, *most),
        };
        let all = before.0.saturating_add(passes);
        let most = before.1.max(passes);
        if all < WORTH || frame.compiled >= BLOCKS {
            *self = Self::Warm { all, most };
            return None;
        }
        let code = compile(
            words,
            looping,
            bytes,
            Some(&guest.registers.scalars),
            forms(frame.simd),
            most,
        );
        frame.compiled += usize::from(code.is_some());
        *self = code.map_or(Self::Refused, |code| Self::Hot(Box::new(code)));
        match self {
            Self::Hot(code) => Some(code.run(guest, frame, passes, elsewhere)).filter(|n| *n > 0),
            _ => None,
        }
    }
}

/// Compiles a block, each segment in the cheapest of `forms`, all of which the host must have.
/// `looping` says that the block is the whole body of a loop, and `passes` is the expected number
/// of passes at a time. Returns `None` if too many words are not for this tier.
///
/// `assume` is the scalars that the block is about to run with. The code of a loop may then assume
/// circular buffers like theirs, and do nothing where buffers differ: [`BlockCode::assumes`].
fn compile(
    words: &[Decoded],
    looping: bool,
    dmem_bytes: u32,
    assume: Option<&Shared>,
    forms: &[CodeForm],
    passes: u64,
) -> Option<BlockCode> {
    let mut asm = Asm::new();
    let mut assumes = false;
    let mut parts = Vec::new();
    let (mut chain, mut first, mut at) = (Vec::new(), 0, 0);
    let mut whole = false;
    while let Some(rest) = words.get(at..).filter(|rest| !rest.is_empty()) {
        let alone = looping && at == 0 && words[0].expect.is_none();
        let assume = assume.filter(|_| alone);
        let Some(steps) = segment_steps::steps(rest, dmem_bytes, assume) else {
            parts.extend(call(&mut asm, &chain, first, at)?);
            chain.clear();
            parts.push(BlockPart::Word(at));
            at += 1;
            first = at;
            let elsewhere = parts.iter().filter(|p| matches!(p, BlockPart::Word(_)));
            if parts.len() > PARTS || 4 * elsewhere.count() > 2 + words.len() {
                return None;
            }
            continue;
        };
        let taken = steps.steps.len();
        whole = alone && taken == words.len();
        chain.extend(guard(&words[at]));
        assumes |= !steps.enter.is_empty();
        let candidates = candidates::candidates(&steps, whole, forms);
        let segment = candidates
            .into_iter()
            .min_by_key(|segment| cost::total(segment, passes))?;
        chain.push(Link::Segment(Box::new(segment), taken as u32));
        at += taken;
    }
    match chain.as_slice() {
        [Link::Segment(segment, words)] if whole => {
            let entry = function::repeated(&mut asm, segment).ok()?;
            parts.push(BlockPart::Code(entry, u64::from(*words)));
        }
        _ => parts.extend(call(&mut asm, &chain, first, at)?),
    }
    let code = asm.finish().ok()?;
    #[cfg(any(test, feature = "testing"))]
    verify::assert(&code, &entries(&parts), dmem_bytes);
    // SAFETY: the bytes are exactly those that `function` has emitted.
    #[allow(
        unsafe_code,
        reason = "the emitter keeps the contract; tests prove it of every block"
    )]
    let executable = unsafe { Executable::new(&code) }?;
    Some(BlockCode {
        executable,
        looping: whole,
        parts,
        assumes,
        dmem_bytes: dmem_bytes as usize,
        misses: 0,
        passes,
    })
}

/// Returns the entries of the parts' functions.
#[cfg(any(test, feature = "testing"))]
fn entries(parts: &[BlockPart]) -> Vec<usize> {
    let entry = |part: &BlockPart| match part {
        BlockPart::Code(entry, _) => Some(*entry),
        BlockPart::Word(_) => None,
    };
    parts.iter().filter_map(entry).collect()
}

/// Returns the guard for the branch of a word that a block continues behind.
fn guard(word: &Decoded) -> Option<Link> {
    let (Some(taken), Action::Control(ControlOp::Branch { condition, x, .. })) =
        (word.expect, word.action)
    else {
        return None;
    };
    let (bits, zero) = condition.bits();
    Some(Link::Guard {
        scalar: x.0,
        bits,
        zero: zero == taken,
    })
}

/// Emits the links as one function and returns its call. Short chains are returned as single words,
/// `first` to `end`, for another tier.
fn call(asm: &mut Asm, links: &[Link], first: usize, end: usize) -> Option<Vec<BlockPart>> {
    let words = (end - first) as u64;
    if words < SHORTEST {
        return Some((first..end).map(BlockPart::Word).collect());
    }
    let entry = function::chain(asm, links).ok()?;
    Some(vec![BlockPart::Code(entry, words)])
}

impl BlockCode {
    /// Runs the block `passes` times. Returns the number of words completed: fewer than all where a
    /// word of the next part will fault.
    pub(crate) fn run(
        &self,
        guest: &mut Guest<'_>,
        frame: &mut CodeFrame,
        passes: u64,
        elsewhere: FallbackRunner<'_>,
    ) -> u64 {
        #[allow(unsafe_code, reason = "see the contract")]
        let call = |guest: &mut Guest<'_>, frame: &mut CodeFrame, entry, passes| {
            // SAFETY: `entry` is the entry of a function in this code, compiled for DMEM of this
            // size in a form that the host has.
            unsafe {
                self.executable
                    .run(entry, self.dmem_bytes, guest, frame, passes)
            }
        };
        if let ([BlockPart::Code(entry, words)], true) = (self.parts.as_slice(), self.looping) {
            return words * call(guest, frame, *entry, passes);
        }
        let mut done = 0;
        for _ in 0..passes {
            for part in &self.parts {
                let (words, all) = match *part {
                    BlockPart::Code(entry, words) => (call(guest, frame, entry, 1), words),
                    BlockPart::Word(i) => (u64::from(elsewhere(i, guest)), 1),
                };
                done += words;
                if words < all {
                    return done;
                }
            }
        }
        done
    }
}

#[cfg(test)]
mod tests;
