//! Random valid programs from the instruction table, and two processors that
//! run them in lockstep (feature `testing`).
//!
//! A [`Case`] is a machine, a program, data, and what the control CPU and the
//! DMA do meanwhile. [`cases`] is a proptest strategy for it: the tests of this
//! crate and the fuzz target `emu/fuzz` share it, and what fails shrinks to a
//! small program that prints as assembly text. [`lockstep`] runs a case on two
//! processors and compares everything they are.

mod case;
mod coverage;
mod difference;
mod items;
mod layout;
mod lockstep;
mod machines;
mod ran;
mod tame;
#[cfg(test)]
mod tests;

pub use case::{ControlAction, Fill, LockstepCase, ProgramShape, cases};
pub use coverage::{Coverage, CoverageRow};
pub use lockstep::{Mismatch, Summary, lockstep};
pub use ran::ExecutedWords;
