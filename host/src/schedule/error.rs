//! Errors of planning a paging job.

/// Reason why a paging job cannot be planned.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PlanError {
    /// A field that must be at least one is zero.
    #[error("{what} is zero; it must be at least 1")]
    Zero {
        /// Name of the field.
        what: String,
    },
    /// A size or an address breaks the DMA granule.
    #[error(
        "{what} is {value} B, which is no multiple of the DMA granule of {granule} B (D2); the next that is: {nearest} B"
    )]
    Granule {
        /// Name of the field.
        what: String,
        /// Value of the field.
        value: u64,
        /// Granule of the machine.
        granule: u64,
        /// The next multiple.
        nearest: u64,
    },
    /// A number does not fit its field.
    #[error("{what} is too large: {value} exceeds {limit}")]
    TooLarge {
        /// Name of the field.
        what: String,
        /// Value of the field.
        value: u64,
        /// The largest allowed.
        limit: u64,
    },
    /// An array ends behind system memory.
    #[error(
        "the array `{array}` and those before it need {end} B of system memory, and the machine has {memory} B (`host.memory`); use a smaller problem or a machine with more memory"
    )]
    SystemMemory {
        /// Name of the array.
        array: String,
        /// One past the last byte of the array.
        end: i128,
        /// Bytes of the machine.
        memory: u64,
    },
    /// An alignment is not a power of two.
    #[error("{what}: an alignment of {value} is no power of two")]
    Alignment {
        /// Name of the stream.
        what: String,
        /// The alignment asked for.
        value: u64,
    },
    /// A piece of a block reaches outside the block's place in DMEM.
    #[error(
        "stream `{stream}`: piece {piece} covers local bytes {from}..{to}, outside the block's {pitch} B"
    )]
    PieceOutside {
        /// The stream.
        stream: String,
        /// Index of the piece.
        piece: usize,
        /// First local byte.
        from: i64,
        /// One past the last local byte.
        to: i64,
        /// Bytes of a block in DMEM.
        pitch: u64,
    },
    /// An overlap of a stream that cannot have one.
    #[error("stream `{stream}` has an overlap, and {what}; only inputs of adjacent blocks overlap")]
    Overlap {
        /// The stream.
        stream: String,
        /// Reason.
        what: &'static str,
    },
    /// In-place outputs must pair up with inputs of the same place in DMEM.
    #[error(
        "in place: output {output} has {output_pitch} B per block, input {output} {input_pitch}; they share their pages, so these must be equal"
    )]
    InPlace {
        /// Index of the output.
        output: usize,
        /// Bytes per block of the output in DMEM.
        output_pitch: u64,
        /// Bytes per block of the input of the same index; 0 where there is none.
        input_pitch: u64,
    },
    /// An output overlaps an input in system memory without being the same blocks.
    #[error(
        "output `{output}` overlaps input `{input}` in system memory but its blocks lie differently: a page stored early would change one loaded later; use a separate array"
    )]
    Alias {
        /// The output.
        output: String,
        /// The input.
        input: String,
    },
    /// Two reserved ranges of DMEM overlap, or one leaves DMEM.
    #[error(
        "`{name}` at DMEM {address:#x}, {bytes} B, overlaps another reserved range or leaves the {dmem} B of DMEM"
    )]
    Reserved {
        /// Name of the range.
        name: String,
        /// Address of the range.
        address: u64,
        /// Size of the range in bytes.
        bytes: u64,
        /// Size of DMEM.
        dmem: u64,
    },
    /// The job does not fit in DMEM.
    #[error(
        "the job does not fit in {dmem} B of DMEM: {buffering} buffering with {blocks} block(s) per section needs {needed} B beside {reserved} B of program data (or no gap is large enough); use fewer blocks per page, less buffering or smaller blocks"
    )]
    DoesNotFit {
        /// Bytes of DMEM.
        dmem: u64,
        /// Bytes of pages, scratch and argument blocks.
        needed: u64,
        /// Bytes reserved by the program.
        reserved: u64,
        /// Blocks per section of the smallest page tried.
        blocks: u32,
        /// The buffering tried.
        buffering: &'static str,
    },
    /// A transfer of the plan breaks a rule of the DMA controller.
    #[error("page {page}, stream `{stream}`: {error}")]
    Transfer {
        /// The page.
        page: u64,
        /// The stream.
        stream: String,
        /// The rule broken.
        error: Box<cp2_dma::DescriptorError>,
    },
}
