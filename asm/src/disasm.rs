//! The disassembler: programs back to text that assembles to the same bits.
//!
//! A word is written `arith || mem`, see [`Word`]'s `Display`. A [`Listing`]
//! is a whole program: required extensions, constants, entry, words with
//! labels, DMEM contents. Targets and loop ends without a symbol get a label
//! made of their word address, `L_0012`.

mod labels;
mod listing;
#[cfg(test)]
mod reassembly;
#[cfg(test)]
mod tests;
mod text;

pub use listing::Listing;
pub use text::word_at;

use crate::Program;
use crate::isa::{DecodeError, Word};

/// Disassembles a program. [`Listing`] has options for addresses and source lines.
///
/// # Errors
/// The address of the first invalid word, and why it is invalid.
pub fn disassemble(program: &Program) -> Result<Listing<'_>, (usize, DecodeError)> {
    let words: Vec<Word> = program.decode()?;
    Ok(Listing::new(program, words))
}
