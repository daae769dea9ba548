//! Errors of sparse products.

use crate::assembly::Unfit;
use crate::job::{JobError, Unpriced};
use cp2_emu::cycles::Uncounted;
use cp2_problems::DataError;
use cp2_problems::npb::Precision;

/// Reason why a problem with a sparse matrix cannot be computed on a machine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SparseError {
    /// The machine has more sections than a packed format supports.
    #[error("{machine} has {sections} sections; packed matrices are made for at most {most}")]
    Sections {
        /// The machine.
        machine: String,
        /// Number of its sections.
        sections: usize,
        /// Most sections supported.
        most: usize,
    },
    /// Local memory holds no useful part of a vector.
    #[error(
        "local memory of {dmem} bytes holds {columns} columns of the vector beside a page of the matrix; expected a machine with more"
    )]
    NoRoom {
        /// Columns that fit.
        columns: usize,
        /// Bytes of local memory.
        dmem: u64,
    },
    /// Program memory holds no useful page of generated words.
    #[error(
        "program memory holds pages of {words} words beside the kernel; expected at least {least}: take a format without generated code, or a machine with more program memory"
    )]
    NoProgramRoom {
        /// Words that a page could have.
        words: usize,
        /// Words that a page should have at least.
        least: usize,
    },
    /// The format is for real numbers and the matrix is complex.
    #[error(
        "diagonal cells and slices hold real numbers, and the matrix is complex: take another format"
    )]
    Complex,
    /// The format holds numbers of single precision, and those of the matrix have more digits.
    #[error(
        "diagonal cells, slices and vectors side by side hold single precision, and the matrix is in {precision} precision: take the format gather and one vector at a time"
    )]
    SinglePrecision {
        /// Format of the matrix's numbers.
        precision: Precision,
    },
    /// The machine does not compute in the precision of the matrix.
    #[error(
        "a matrix in {precision} precision on {machine}: it needs the extension `{precision}`; take a machine with it, as --machine {machine}+{precision}, or single precision"
    )]
    LacksPrecision {
        /// Format of the matrix's numbers.
        precision: Precision,
        /// Name of the machine.
        machine: String,
    },
    /// The machine does not have the instructions of the format.
    #[error(
        "{machine} lacks {lacks}, whose loads the format is made of: take another format, or --machine {machine}+{lacks}"
    )]
    OwnAddresses {
        /// The machine.
        machine: String,
        /// Extensions that it lacks.
        lacks: String,
    },
    /// Interleaved vectors hold real numbers, and the matrix is complex.
    #[error(
        "vectors side by side hold real numbers, and the matrix is complex: multiply one at a time"
    )]
    ComplexVectors,
    /// The granule of the DMA is larger than a packed format supports.
    #[error(
        "the DMA of {machine} moves {granule} bytes at a time; diagonal cells are made for at most {most}: take another format"
    )]
    Granule {
        /// The machine.
        machine: String,
        /// Bytes of a granule.
        granule: u64,
        /// Largest granule supported.
        most: u64,
    },
    /// A dealt transfer would give a section half of a number.
    #[error(
        "the DMA of {machine} deals {dealt} bytes to a section at a time, and results of complex numbers, or of two vectors at a time, have 8; expected dma.deal of 8 B or more"
    )]
    Dealt {
        /// The machine.
        machine: String,
        /// Bytes that a section gets at a time.
        dealt: u64,
    },
    /// Nearly all places of the packed matrix would be empty.
    #[error(
        "{entries} entries would take {places} places of diagonal cells: they are on too many diagonals, take another format"
    )]
    Padding {
        /// Places of the packed matrix.
        places: usize,
        /// Entries of the matrix.
        entries: usize,
    },
    /// Local memory does not hold what the rows of a part of the matrix need.
    #[error(
        "pages and the columns of neighbouring rows take {bytes} bytes of local memory at least, which has {dmem}: the matrix is far from diagonal, take another format"
    )]
    Segment {
        /// Bytes needed.
        bytes: u64,
        /// Bytes of local memory.
        dmem: u64,
    },
    /// System memory does not hold so many vectors.
    #[error(
        "{found} vectors and their products; expected at most {most}, which system memory of {memory} bytes holds: multiply some of them at a time"
    )]
    Vectors {
        /// Number of vectors.
        found: usize,
        /// Most vectors that system memory holds.
        most: u64,
        /// Bytes of system memory.
        memory: u64,
    },
    /// The cycles of a product depend on the numbers that it computes.
    #[error(
        "what a product of this format takes is not known before it is computed, so that formats cannot be compared: this is a fault of cp2"
    )]
    Unpriced,
    /// No format suits the matrix and the machine.
    #[error("no format packs this matrix")]
    NoFormat,
    /// The kernel's cycles cannot be counted.
    #[error(transparent)]
    Uncounted(#[from] Uncounted),
    /// The program of a kernel does not fit the machine.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// An input does not fit the problem.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The job cannot be carried out.
    #[error(transparent)]
    Job(#[from] JobError),
}

impl From<Unpriced> for SparseError {
    fn from(unpriced: Unpriced) -> Self {
        match unpriced {
            Unpriced::Kernel(error) => error.into(),
            Unpriced::Job(error) => error.into(),
            Unpriced::Decided => Self::Unpriced,
        }
    }
}
