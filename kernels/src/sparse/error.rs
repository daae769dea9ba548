//! Why a sparse matrix is not multiplied.

use crate::assembly::Unfit;
use crate::job::{JobError, Unpriced};
use cp2_emu::cycles::Uncounted;
use cp2_problems::DataError;

/// Why a problem with a sparse matrix cannot be computed on a machine.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SparseError {
    /// More sections than a packed format has places for.
    #[error("{machine} has {sections} sections; packed matrices are made for at most {most}")]
    Sections {
        /// The machine.
        machine: String,
        /// Its sections.
        sections: usize,
        /// The most there can be.
        most: usize,
    },
    /// Local memory holds no useful part of a vector.
    #[error(
        "local memory of {dmem} bytes holds {columns} columns of the vector beside a page of the matrix; expected a machine with more"
    )]
    NoRoom {
        /// Columns it holds.
        columns: usize,
        /// Bytes of local memory.
        dmem: u64,
    },
    /// Program memory holds no useful page of generated words.
    #[error(
        "program memory holds pages of {words} words beside the kernel; expected at least {least}: take a format without generated code, or a machine with more program memory"
    )]
    NoProgramRoom {
        /// Words a page could have.
        words: usize,
        /// Words it should have at least.
        least: usize,
    },
    /// A format of real numbers, and a matrix of complex ones.
    #[error("diagonal cells hold real numbers, and the matrix is complex: take another format")]
    Complex,
    /// Vectors side by side, and a matrix of complex numbers.
    #[error(
        "vectors side by side hold real numbers, and the matrix is complex: multiply one at a time"
    )]
    ComplexVectors,
    /// The DMA moves more at a time than a packed format is made for.
    #[error(
        "the DMA of {machine} moves {granule} bytes at a time; diagonal cells are made for at most {most}: take another format"
    )]
    Granule {
        /// The machine.
        machine: String,
        /// Bytes of a granule.
        granule: u64,
        /// The most there can be.
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
    /// Nearly all places would be empty.
    #[error(
        "{entries} entries would take {places} places of diagonal cells: they are on too many diagonals, take another format"
    )]
    Padding {
        /// Places that there would be.
        places: usize,
        /// Entries of the matrix.
        entries: usize,
    },
    /// Local memory does not hold what the rows of a part of the matrix need.
    #[error(
        "pages and the columns of neighbouring rows take {bytes} bytes of local memory at least, which has {dmem}: the matrix is far from diagonal, take another format"
    )]
    Segment {
        /// What they take.
        bytes: u64,
        /// Bytes of local memory.
        dmem: u64,
    },
    /// More vectors than system memory holds.
    #[error(
        "{found} vectors and their products; expected at most {most}, which system memory of {memory} bytes holds: multiply some of them at a time"
    )]
    Vectors {
        /// How many.
        found: usize,
        /// The most that could be there.
        most: u64,
        /// Bytes of system memory.
        memory: u64,
    },
    /// What a product takes is decided by what it computes.
    #[error(
        "what a product of this format takes is not known before it is computed, so that formats cannot be compared: this is a fault of cp2"
    )]
    Unpriced,
    /// There is no format for it.
    #[error("no format packs this matrix")]
    NoFormat,
    /// The kernel's cycles cannot be counted.
    #[error(transparent)]
    Uncounted(#[from] Uncounted),
    /// The machine has too little of something for the kernel.
    #[error(transparent)]
    Unfit(#[from] Unfit),
    /// An input is not the problem's.
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
