use super::OutputRate;
use crate::assembly::Unfit;
use crate::job::JobError;

/// Why a convolution cannot be planned or run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConvError {
    /// There is no such problem.
    #[error(transparent)]
    Problem(#[from] cp2_problems::ProblemError),
    /// Outputs of a channel that there are not.
    #[error(
        "outputs {start} to {end} of a channel are not possible; there are {outputs}, and at least one is expected"
    )]
    Outputs {
        /// The first one wanted.
        start: usize,
        /// The one behind the last.
        end: usize,
        /// Outputs of a channel.
        outputs: usize,
    },
    /// No kernel takes that many taps.
    #[error("{taps} taps are too many; expected at most {most}")]
    TooManyTaps {
        /// How many there are.
        taps: usize,
        /// How many there may be.
        most: usize,
    },
    /// No kernel fits the machine, and why the last one considered does not.
    #[error("no kernel for {taps} taps fits {machine}: {why}")]
    NoKernel {
        /// Taps.
        taps: usize,
        /// The machine.
        machine: String,
        /// What the machine lacks.
        why: String,
    },
    /// Program memory or local memory do not suffice for a direct filter.
    #[error(
        "no direct filter of {taps} taps with {rate} fits the machine, whose memories have room for {most} at that rate; use fewer, filter in two steps, or by overlap-save and take what is needed of all outputs"
    )]
    NoSchedule {
        /// Taps.
        taps: usize,
        /// How many there may be.
        most: usize,
        /// The rate asked for.
        rate: OutputRate,
    },
    /// No filter that fits keeps NaNs and infinities in their places.
    #[error(
        "no filter of {taps} taps with {rate} that keeps NaNs and infinities in their places fits the machine; filter in two steps, or take any filter and finite samples"
    )]
    NotExact {
        /// Taps.
        taps: usize,
        /// The rate asked for.
        rate: OutputRate,
    },
    /// Blocks of samples with zeros between are not transformed.
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
    /// An array that a filter is to work on is too short.
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
        /// Bytes there are.
        room: u64,
        /// Samples of each channel that fit.
        most: usize,
        /// The machine.
        machine: String,
    },
    /// The machine has too little of something for the kernel.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// The run cannot be paged, or the device refused a command.
    #[error(transparent)]
    Job(#[from] JobError),
}

/// What would fit, where so many samples of each channel do.
fn fewer(most: usize) -> String {
    match most {
        0 => "fewer channels".to_owned(),
        most => format!("at most {most} samples of each"),
    }
}
