//! Errors of emitting and replaying a run.

use crate::device::HostError;
use crate::files::WriteError;
use cp2_asm::ObjectError;
use cp2_machine::MachineError;
use std::path::PathBuf;

/// Reason why a run could not be emitted or replayed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EmitError {
    /// The device did not record.
    #[error("the run was not recorded; set `Options::record`")]
    NotRecorded,
    /// The directory could not be written.
    #[error(transparent)]
    Write(#[from] WriteError),
    /// A file could not be read.
    #[error("cannot read {}: {source}; expected a directory that `--emit` wrote", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Reason.
        source: std::io::Error,
    },
    /// The manifest is not what `emit` writes.
    #[error("{}: {reason}; expected what `--emit` writes", path.display())]
    Manifest {
        /// The file.
        path: PathBuf,
        /// Reason why the manifest cannot be read.
        reason: String,
    },
    /// An array was named that was never allocated as a whole.
    #[error("the array `{name}` does not lie in memory that was allocated in one piece")]
    Unplaced {
        /// The array.
        name: String,
    },
    /// A program could not be read.
    #[error("{}: {source}", path.display())]
    Object {
        /// The file.
        path: PathBuf,
        /// Reason.
        source: ObjectError,
    },
    /// The machine could not be read.
    #[error(transparent)]
    Machine(#[from] MachineError),
    /// The commands deal blocks to more sections than there are.
    #[error(
        "the commands were recorded for {recorded} sections; machine {name} has {sections}: plan the job anew for it"
    )]
    Sections {
        /// Sections of the recorded machine.
        recorded: usize,
        /// The other machine.
        name: String,
        /// Sections of the other machine.
        sections: usize,
    },
    /// The device refused something.
    #[error(transparent)]
    Host(#[from] HostError),
}
