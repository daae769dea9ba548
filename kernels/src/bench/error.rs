use crate::fft::FftError;
use crate::job::JobError;
use cp2_asm::Diagnostics;
use cp2_emu::{FaultKind, LaunchError};

/// Why a workload cannot be measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BenchError {
    /// A transform cannot be planned or run.
    #[error(transparent)]
    Fft(#[from] FftError),
    /// A job cannot be carried out.
    #[error(transparent)]
    Job(#[from] JobError),
    /// A program does not assemble for the machine.
    #[error("{0}")]
    Assembly(#[from] Diagnostics),
    /// A kernel was not launched.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// Data does not fit DMEM.
    #[error("{workload} does not fit DMEM: {kind}")]
    Dmem {
        /// The workload.
        workload: String,
        /// What the memory says.
        kind: FaultKind,
    },
    /// A kernel did not reach its end.
    #[error("{workload} did not finish: {reason}")]
    Unfinished {
        /// The workload.
        workload: String,
        /// What happened.
        reason: String,
    },
}
