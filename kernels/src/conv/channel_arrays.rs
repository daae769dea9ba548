//! Positions of a filter's channels in arrays that exist already.

/// Positions of a filter's channels in system memory, counted in complex numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelArrays {
    /// Length of the input.
    pub input: usize,
    /// Index of the first sample of channel 0; even, except for direct filters at high rates.
    pub input_start: usize,
    /// Distance from a channel to the next in the input.
    pub input_stride: usize,
    /// Length of the output.
    pub output: usize,
    /// Index of the first output of channel 0.
    pub output_start: usize,
    /// Distance from a channel to the next in the output.
    pub output_stride: usize,
    /// Distance from an output to the next: more than 1 where the outputs of a decimating filter are some of
    /// all outputs, from which the user has to select them.
    pub output_step: usize,
}
