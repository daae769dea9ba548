//! The rows: their problems, sizes, and least traffic.

use cp2_problems::conv::{ConvProblem, ConvolutionMode};
use cp2_problems::fft::{FftProblem, TransformDirection};
use cp2_problems::himeno::{HimenoData, HimenoProblem, HimenoSize};
use cp2_problems::sparse::{GeneratedMatrix, Pattern, SpmvProblem};
use cp2_problems::stencil::{Edge, StencilProblem, StencilShape};
use cp2_problems::{Problem, ProblemError};

/// Bytes of a complex number.
const COMPLEX: u64 = 8;
/// Bytes of a real number.
const REAL: u64 = 4;
/// Bytes of an entry of a matrix: a number and its column.
const ENTRY: u64 = 8;

/// A row of the table of speeds.
#[derive(Debug)]
pub struct SpeedRow {
    /// Its name on the command line and in reports.
    pub name: &'static str,
    /// Its computation in words.
    pub title: &'static str,
    kind: RowKind,
}

/// The problem of a row.
#[derive(Clone, Copy, Debug)]
enum RowKind {
    /// Transforms of so many numbers.
    Lines(usize),
    /// A transform over three axes of at most so many numbers.
    Cube(usize),
    /// A stencil of so many points on a cube of at most so many elements a side.
    Stencil(usize, usize),
    /// A filter of so many taps.
    Filter(usize),
    /// A matrix of 27 diagonals, from a grid of at most so many points a side.
    Grid(usize),
    /// An iteration of the Himeno benchmark of at most this size.
    Himeno(HimenoSize),
}

/// The rows, in the order of the table.
pub const SPEED_ROWS: &[SpeedRow] = &[
    row("fft-1024", "FFT 1024, batched", RowKind::Lines(1024)),
    row("fft-4096", "FFT 4096, batched", RowKind::Lines(4096)),
    row(
        "stencil-27",
        "27-point operator of MG, 512^3",
        RowKind::Stencil(27, 512),
    ),
    row(
        "conv-1024",
        "filter of 129 taps, blocks of 1024",
        RowKind::Filter(129),
    ),
    row(
        "conv-4096",
        "filter of 513 taps, blocks of 4096",
        RowKind::Filter(513),
    ),
    row(
        "spmv-27",
        "SpMV, 27-point grid of 128^3",
        RowKind::Grid(128),
    ),
    row("fft-1009", "FFT 1009, batched", RowKind::Lines(1009)),
    row("fft-10007", "FFT 10007, batched", RowKind::Lines(10007)),
    row("fft-1048576", "FFT 2^20, batched", RowKind::Lines(1 << 20)),
    row("fft-3d", "FFT 512^3", RowKind::Cube(512)),
    row("fft-1000", "FFT 1000, batched", RowKind::Lines(1000)),
    row(
        "stencil-7",
        "7-point stencil, 512^3",
        RowKind::Stencil(7, 512),
    ),
    row(
        "himeno-l",
        "Himeno L with gosa",
        RowKind::Himeno(HimenoSize::L),
    ),
    row(
        "himeno-xl",
        "Himeno XL with gosa",
        RowKind::Himeno(HimenoSize::XL),
    ),
];

const fn row(name: &'static str, title: &'static str, kind: RowKind) -> SpeedRow {
    SpeedRow { name, title, kind }
}

/// The problem of a row at a size.
#[derive(Debug)]
pub(super) struct MadeRow {
    pub(super) problem: Box<dyn Problem>,
    pub(super) size: Vec<usize>,
    /// Fewest bytes that have to be read and written.
    pub(super) bytes: u64,
}

/// Returns the largest power of two of which a cube has at most so many elements, and that is at most `most`.
fn side(elements: u64, most: usize) -> usize {
    let mut side = 4;
    while 2 * side <= most && (2 * side as u64).pow(3) <= elements {
        side *= 2;
    }
    side
}

impl SpeedRow {
    /// Returns the sides of the arrays for so many bytes of an array, the innermost one last.
    #[must_use]
    pub fn size(&self, bytes: u64) -> Vec<usize> {
        match self.kind {
            RowKind::Lines(n) => vec![(bytes / COMPLEX / n as u64).max(1) as usize, n],
            // Arrays of transforms over three axes and of the Himeno benchmark may have twice as many bytes.
            RowKind::Cube(most) => vec![side(2 * bytes / COMPLEX, most); 3],
            RowKind::Stencil(_, most) => vec![side(bytes / REAL, most); 3],
            RowKind::Filter(taps) => {
                let samples = (1 << 20).min(bytes / COMPLEX / 2).max(8 * taps as u64);
                let channels = (bytes / COMPLEX / samples).max(1);
                vec![channels as usize, samples as usize]
            }
            RowKind::Grid(most) => vec![side(bytes / ENTRY / 27, most); 3],
            RowKind::Himeno(most) => {
                let mut fitting = HimenoSize::ALL.into_iter().filter(|size| {
                    let count: usize = size.shape().iter().product();
                    *size <= most && REAL * count as u64 <= 2 * bytes
                });
                let least = HimenoSize::XS;
                fitting.next_back().unwrap_or(least).shape().to_vec()
            }
        }
    }

    /// True if several adapters can divide the row.
    #[must_use]
    pub fn is_divisible(&self) -> bool {
        matches!(self.kind, RowKind::Himeno(_))
    }

    /// Makes the problem with so many bytes of an array.
    pub(super) fn make(&self, bytes: u64) -> Result<MadeRow, ProblemError> {
        let size = self.size(bytes);
        let count: u64 = size.iter().map(|&n| n as u64).product();
        let inner = size.last().copied().unwrap_or(1);
        let outer = size.first().copied().unwrap_or(1);
        let forward = TransformDirection::Forward;
        let (problem, bytes): (Box<dyn Problem>, u64) = match self.kind {
            RowKind::Lines(n) => (
                Box::new(FftProblem::new(n, forward, outer)?),
                2 * COMPLEX * count,
            ),
            RowKind::Cube(_) => (
                Box::new(FftProblem::from_axes(&size, forward, 1)?),
                2 * COMPLEX * count,
            ),
            RowKind::Stencil(points, _) => {
                let points = StencilShape::from_classes(points, None)?;
                let problem = StencilProblem::new(&size, points, Edge::Periodic, 1)?;
                (Box::new(problem), 2 * REAL * count)
            }
            RowKind::Filter(taps) => {
                let taps = FftProblem::new(taps, forward, 1)?.random(1);
                let problem = ConvProblem::new(&taps, outer, inner, ConvolutionMode::Same)?;
                (Box::new(problem), 2 * COMPLEX * count)
            }
            RowKind::Grid(_) => {
                let made = GeneratedMatrix::new(Pattern::Grid27, inner);
                let problem = SpmvProblem::from_generated(&made, 1)?;
                let bytes = problem.csr_bytes();
                (Box::new(problem), bytes)
            }
            RowKind::Himeno(_) => {
                let problem = HimenoProblem::new([outer, outer, inner], 1, HimenoData::Random)?;
                let bytes = HimenoProblem::BYTES * problem.inner_count() as u64;
                (Box::new(problem), bytes)
            }
        };
        Ok(MadeRow {
            problem,
            size,
            bytes,
        })
    }
}
