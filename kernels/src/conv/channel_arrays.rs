//! Where the channels of a filter lie in arrays that are already there.

/// The arrays of a filter in system memory, in complex numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelArrays {
    /// Length of the input.
    pub input: usize,
    /// First sample of channel 0; at an even place but for direct filters at high rates.
    pub input_start: usize,
    /// From a channel to the next.
    pub input_stride: usize,
    /// Length of the output.
    pub output: usize,
    /// First output of channel 0.
    pub output_start: usize,
    /// From a channel to the next.
    pub output_stride: usize,
    /// From an output to the next: more than 1 where those of a decimating filter are some of all outputs, which the user has to
    /// take out of them.
    pub output_step: usize,
}
