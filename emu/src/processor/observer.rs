//! Observers of a run, such as the checkers.
//!
//! The semantics know nothing of observers. The engine calls them, and with [`Unobserved`] the
//! calls are compiled away.

use crate::semantics::action::Action;
use cp2_asm::isa::{RegSet, Scalar};

/// An access of a core to DMEM, as observers see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CoreAccess {
    /// Word that made it.
    pub pc: u32,
    /// Cycle of issue.
    pub cycle: u64,
    /// Section.
    pub section: usize,
    /// DMEM byte address.
    pub address: u32,
    /// Length in bytes.
    pub bytes: u32,
    /// True for a store, false for a load.
    pub write: bool,
}

/// Receives what a core does, word by word, before it takes effect.
pub trait Observer {
    /// Called before a word executes in `cycle`.
    fn word(&mut self, pc: u32, cycle: u64, reads: RegSet, writes: RegSet) {
        let _ = (pc, cycle, reads, writes);
    }
    /// Called before the word's memory-and-control slot acts: the core still holds the addresses and
    /// scalars that the word found.
    fn act(&mut self, action: Action) {
        let _ = action;
    }
    /// Called before a shared scalar is loaded with a word of section 0's DMEM.
    fn scalar(&mut self, register: Scalar, address: u32, value: u32) {
        let _ = (register, address, value);
    }
    /// Called before a section's DMEM is accessed.
    fn dmem(&mut self, access: CoreAccess) {
        let _ = access;
    }
}

/// Observer that does nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}
