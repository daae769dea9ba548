//! Faults of guest programs: everything that stops a kernel.

use cp2_asm::isa::DecodeError;
use serde::{Deserialize, Serialize};

/// Reason why a kernel was stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum FaultKind {
    /// Execution ran past the words that were loaded.
    #[error("no program word was ever loaded here; end the kernel with `stop`")]
    NoProgram,
    /// The word in program memory is not an instruction.
    #[error("{error}")]
    InvalidWord {
        /// The decoder's message.
        error: String,
    },
    /// The word needs an extension the machine lacks.
    #[error("the word requires the extension {missing}, which this machine does not have")]
    Extension {
        /// Names of the missing extensions.
        missing: String,
    },
    /// The word names a register the machine lacks.
    #[error(
        "register {register} does not exist: this machine has {registers} registers per section"
    )]
    Register {
        /// The register's name.
        register: String,
        /// Registers of the machine.
        registers: usize,
    },
    /// A DMEM address is not aligned to the access.
    #[error("DMEM address {address:#x} is not a multiple of {bytes}")]
    Unaligned {
        /// The address.
        address: u32,
        /// Alignment of the access.
        bytes: u32,
    },
    /// A DMEM address lies outside the section's memory.
    #[error("DMEM address {address:#x} lies outside the {size} bytes of a section's memory")]
    OutOfRange {
        /// The address.
        address: u32,
        /// DMEM size in bytes.
        size: u64,
    },
    /// More nested hardware loops than the machine has.
    #[error("more than {depth} nested hardware loops")]
    LoopDepth {
        /// Depth of the machine.
        depth: usize,
    },
    /// More nested calls than the machine has.
    #[error("more than {depth} nested calls")]
    CallDepth {
        /// Depth of the machine.
        depth: usize,
    },
    /// `ret` without a call.
    #[error("`ret` without a call; a kernel ends with `stop`")]
    NoCall,
    /// `wait` or `signal` of an event the machine lacks.
    #[error("event {event} does not exist: this machine has {events} events")]
    Event {
        /// The event.
        event: u32,
        /// Events of the machine.
        events: usize,
    },
}

impl From<DecodeError> for FaultKind {
    fn from(error: DecodeError) -> Self {
        Self::InvalidWord {
            error: error.to_string(),
        }
    }
}

/// A guest fault: the kernel cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error("guest fault at pc {pc} in cycle {cycle}{}: {kind}", section.map(|s| format!(", section {s}")).unwrap_or_default())]
pub struct Fault {
    /// Word address of the faulting word.
    pub pc: u32,
    /// Cycle in which the word would have issued.
    pub cycle: u64,
    /// Section concerned; `None` if all are.
    pub section: Option<usize>,
    /// Kind of fault.
    pub kind: FaultKind,
}
