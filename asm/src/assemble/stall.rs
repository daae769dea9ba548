//! Warnings about words that wait for a register.

use super::state::Assembler;
use crate::isa::Word;
use cp2_machine::Machine;

/// Warns of every stall that a straight-line reading of the program shows.
pub(super) fn warn(_asm: &mut Assembler<'_>, _machine: &Machine, _words: &[Word]) {}
