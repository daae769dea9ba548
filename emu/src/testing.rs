//! Random valid programs, run by two processors in lockstep.
//!
//! The programs come from the instruction table (feature `testing`). A [`LockstepCase`] is a
//! machine, a program, data, and the actions of the control CPU and the DMA meanwhile. [`cases`] is
//! a proptest strategy for it. The tests of this crate and the fuzz target `emu/fuzz` share it, and
//! a failing case shrinks to a small program that prints as assembly text. [`lockstep`] runs a case
//! on two processors and compares their whole states.

mod case;
mod control_descriptor;
mod coverage;
mod difference;
mod executed_words;
mod items;
mod layout;
mod lending;
mod lockstep;
mod machines;
mod tame;
#[cfg(test)]
mod tests;

pub use case::{ControlAction, Fill, LockstepCase, ProgramShape, cases};
pub use coverage::{Coverage, CoverageRow};
pub use executed_words::ExecutedWords;
pub use lending::lockstep_lent;
pub use lockstep::{Mismatch, Summary, lockstep};
