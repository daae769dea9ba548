//! What a run lets others see. Semantics knows nothing of observers; the
//! engine calls them, and with [`Unobserved`] the calls vanish.

use crate::semantics::action::Action;
use cp2_asm::isa::{RegSet, Scalar};

/// An access of a core, as observers see it.
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
    /// Bytes.
    pub bytes: u32,
    /// Store rather than load.
    pub write: bool,
}

/// Receives what a core does, word by word, before it takes effect.
pub trait Observer {
    /// A word is about to execute in `cycle`.
    fn word(&mut self, pc: u32, cycle: u64, reads: RegSet, writes: RegSet) {
        let _ = (pc, cycle, reads, writes);
    }
    /// The word's memory-and-control slot is about to act: addresses and scalars are what the word found.
    fn act(&mut self, action: Action) {
        let _ = action;
    }
    /// A shared scalar is about to be loaded with a word of section 0's DMEM.
    fn scalar(&mut self, register: Scalar, address: u32, value: u32) {
        let _ = (register, address, value);
    }
    /// A section's DMEM is about to be accessed.
    fn dmem(&mut self, access: CoreAccess) {
        let _ = access;
    }
}

/// Nobody looks.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unobserved;

impl Observer for Unobserved {}
