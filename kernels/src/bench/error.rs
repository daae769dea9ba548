//! Errors of the emulator's benchmarks.

use crate::fft::FftError;
use crate::job::JobError;
use cp2_asm::Diagnostics;
use cp2_emu::{FaultKind, LaunchError};
use cp2_problems::Verdict;
use cp2_problems::fft::{FftProblem, TransformDirection};
use num_complex::Complex32;

/// The reason why a workload cannot be measured.
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
        /// Name of the workload.
        workload: String,
        /// Fault that the memory reports.
        kind: FaultKind,
    },
    /// The parameters of a transform are no problem.
    #[error(transparent)]
    Problem(#[from] cp2_problems::ProblemError),
    /// A result is wrong.
    #[error("{workload}: the result is wrong: its error is {} times what is allowed", verdict.worst)]
    Wrong {
        /// Name of the workload.
        workload: String,
        /// Judgement of the result, with its errors.
        verdict: Verdict,
    },
    /// A kernel did not reach its end.
    #[error("{workload} did not finish: {reason}")]
    Unfinished {
        /// Name of the workload.
        workload: String,
        /// Reason for which the kernel ended.
        reason: String,
    },
}

impl BenchError {
    /// Returns an error if transforms of a length and direction have a wrong result.
    pub(crate) fn judge(
        workload: &str,
        (n, direction): (usize, TransformDirection),
        input: &[Complex32],
        output: &[Complex32],
    ) -> Result<(), Self> {
        let problem = FftProblem::new(n, direction, input.len() / n.max(1))?;
        let verdict = problem.verdict(input, output);
        if verdict.is_within_tolerance() {
            return Ok(());
        }
        Err(Self::Wrong {
            workload: workload.to_owned(),
            verdict,
        })
    }
}
