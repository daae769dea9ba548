//! Errors of convolution planning and running.

use super::OutputRate;
use crate::assembly::Unfit;
use crate::job::JobError;

/// Why a convolution cannot be planned or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvError {
    /// The problem itself is invalid.
    #[error(transparent)]
    Problem(#[from] cp2_problems::ProblemError),
    /// A range of outputs that a channel does not have.
    #[error(
        "outputs {start} to {end} of a channel are not possible; there are {outputs}, and at least one is expected"
    )]
    Outputs {
        /// First output wanted.
        start: usize,
        /// Index behind the last output wanted.
        end: usize,
        /// Outputs of a channel.
        outputs: usize,
    },
    /// No kernel takes so many taps.
    #[error("{taps} taps are too many; expected at most {most}")]
    TooManyTaps {
        /// Number of taps.
        taps: usize,
        /// Most taps possible.
        most: usize,
    },
    /// No kernel fits the machine, with the reason why the last one considered does not.
    #[error("no kernel for {taps} taps fits {machine}: {why}")]
    NoKernel {
        /// Number of taps.
        taps: usize,
        /// The machine.
        machine: String,
        /// Reason why a kernel does not fit.
        why: String,
    },
    /// Program memory or local memory do not suffice for a direct filter.
    #[error(
        "no direct filter of {taps} taps with {rate} fits the machine, whose memories have room for {most} at that rate; use fewer, filter in two steps, or by overlap-save and take what is needed of all outputs"
    )]
    NoSchedule {
        /// Number of taps.
        taps: usize,
        /// Most taps possible.
        most: usize,
        /// Rate asked for.
        rate: OutputRate,
    },
    /// No filter that fits keeps NaNs and infinities in their places.
    #[error(
        "no filter of {taps} taps with {rate} that keeps NaNs and infinities in their places fits the machine; filter in two steps, or take any filter and finite samples"
    )]
    NotExact {
        /// Number of taps.
        taps: usize,
        /// Rate asked for.
        rate: OutputRate,
    },
    /// Overlap-save does not interpolate: it has no kernel for samples with zeros between them.
    #[error(
        "overlap-save has no filter with {rate}; expected a direct one, which multiplies none of the zeros between samples"
    )]
    NoTransforms {
        /// The rate asked for.
        rate: OutputRate,
    },
    /// The samples are no whole number of channels.
    #[error(
        "the signal holds {found} numbers, which is no multiple of the {samples} samples of a channel this filter is planned for"
    )]
    Ragged {
        /// Samples of a channel.
        samples: usize,
        /// Numbers found.
        found: usize,
    },
    /// A piece of a stream has another length.
    #[error("a piece of {found} numbers; expected {channels} x {samples}, samples of each channel")]
    Piece {
        /// Channels of the stream.
        channels: usize,
        /// Samples of a channel in a piece.
        samples: usize,
        /// Numbers found.
        found: usize,
    },
    /// An array given to a filter is too short.
    #[error("an array of {found} complex numbers is too short for the filter: it needs {needed}")]
    ShortArray {
        /// Numbers needed.
        needed: usize,
        /// Numbers found.
        found: usize,
    },
    /// Input and output do not fit the machine's system memory.
    #[error(
        "{channels} x {samples} samples and their results take {needed} bytes; the system memory of {machine} has room for {room}: expected {}",
        fewer(*most)
    )]
    OutOfMemory {
        /// Channels.
        channels: usize,
        /// Samples of a channel.
        samples: usize,
        /// Bytes needed.
        needed: u64,
        /// Bytes available.
        room: u64,
        /// Samples of each channel that fit.
        most: usize,
        /// The machine.
        machine: String,
    },
    /// The program of a kernel does not fit the machine.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// The run cannot be paged, or the device refused a command.
    #[error(transparent)]
    Job(#[from] JobError),
}

/// Says what would fit, if `most` samples of each channel do.
fn fewer(most: usize) -> String {
    match most {
        0 => "fewer channels".to_owned(),
        most => format!("at most {most} samples of each"),
    }
}
