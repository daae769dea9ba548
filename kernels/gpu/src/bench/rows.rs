//! The rows: their problems, sizes, and goals.

use super::subject::{
    OutputCheck, SpeedSubject, filter_operations, stencil_operations, transform_operations,
};
use cp2_problems::conv::{ConvProblem, ConvolutionMode};
use cp2_problems::fft::{FftProblem, TransformDirection};
use cp2_problems::himeno::{HimenoData, HimenoProblem, HimenoSize};
use cp2_problems::npb::NpbClass;
use cp2_problems::npb::mg::MgClass;
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
    /// Time of another library that it should reach, or part of the copy's speed, in words; empty without a goal.
    pub goal: &'static str,
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
    /// All cycles of the largest class of the benchmark MG.
    Multigrid,
}

/// The rows, in the order of the table.
pub const SPEED_ROWS: &[SpeedRow] = &[
    row(
        "fft-1024",
        "FFT 1024, batched",
        RowKind::Lines(1024),
        "1.10 x cuFFT",
    ),
    row(
        "fft-4096",
        "FFT 4096, batched",
        RowKind::Lines(4096),
        "1.10 x cuFFT",
    ),
    row(
        "stencil-27",
        "27-point operator of MG, 512^3",
        RowKind::Stencil(27, 512),
        "0.83 of a copy",
    ),
    row(
        "conv-1024",
        "filter of 129 taps, blocks of 1024",
        RowKind::Filter(129),
        "0.65 of a copy",
    ),
    row(
        "conv-4096",
        "filter of 513 taps, blocks of 4096",
        RowKind::Filter(513),
        "0.40 of a copy",
    ),
    row(
        "spmv-27",
        "SpMV, 27-point grid of 128^3",
        RowKind::Grid(128),
        "0.95 x cuSPARSE",
    ),
    row(
        "fft-1009",
        "FFT 1009, batched",
        RowKind::Lines(1009),
        "1.00 x cuFFT",
    ),
    row(
        "fft-10007",
        "FFT 10007, batched",
        RowKind::Lines(10007),
        "1.00 x cuFFT",
    ),
    row(
        "fft-1048576",
        "FFT 2^20, batched",
        RowKind::Lines(1 << 20),
        "1.25 x cuFFT",
    ),
    row("fft-3d", "FFT 512^3", RowKind::Cube(512), "1.20 x cuFFT"),
    row(
        "fft-1000",
        "FFT 1000, batched",
        RowKind::Lines(1000),
        "1.10 x cuFFT",
    ),
    row(
        "stencil-7",
        "7-point stencil, 512^3",
        RowKind::Stencil(7, 512),
        "",
    ),
    row(
        "himeno-l",
        "Himeno L with gosa",
        RowKind::Himeno(HimenoSize::L),
        "0.95 of a copy",
    ),
    row(
        "himeno-xl",
        "Himeno XL with gosa",
        RowKind::Himeno(HimenoSize::XL),
        "0.95 of a copy",
    ),
    row("mg-c", "NPB MG, class C", RowKind::Multigrid, ""),
];

const fn row(
    name: &'static str,
    title: &'static str,
    kind: RowKind,
    goal: &'static str,
) -> SpeedRow {
    SpeedRow {
        name,
        title,
        goal,
        kind,
    }
}

/// Returns the largest power of two of which a cube has at most so many elements, and that is at most `most`.
fn side(elements: u64, most: usize) -> usize {
    let mut side = 4;
    while 2 * side <= most && (2 * side as u64).pow(3) <= elements {
        side *= 2;
    }
    side
}

/// Returns the largest class of the benchmark MG whose arrays have at most so many bytes, or the smallest one.
fn multigrid_class(bytes: u64) -> MgClass {
    let classes = NpbClass::ALL.into_iter().map(MgClass::from_class);
    let mut fitting = classes.filter(|class| REAL * (class.n as u64).pow(3) <= bytes);
    let least = MgClass::from_class(NpbClass::S);
    fitting.next_back().unwrap_or(least)
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
            RowKind::Multigrid => vec![multigrid_class(bytes).n; 3],
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

    /// Makes the computation with so many bytes of an array.
    ///
    /// # Errors
    /// There is no problem of this size.
    pub fn make(&self, bytes: u64) -> Result<SpeedSubject, ProblemError> {
        let size = self.size(bytes);
        let count: u64 = size.iter().map(|&n| n as u64).product();
        let inner = size.last().copied().unwrap_or(1);
        let outer = size.first().copied().unwrap_or(1);
        let forward = TransformDirection::Forward;
        let numbers = count as f64;
        let (problem, bytes, operations): (Box<dyn Problem>, u64, f64) = match self.kind {
            RowKind::Lines(n) => (
                Box::new(FftProblem::new(n, forward, outer)?),
                2 * COMPLEX * count,
                transform_operations(n as f64) * outer as f64,
            ),
            RowKind::Cube(_) => (
                Box::new(FftProblem::from_axes(&size, forward, 1)?),
                2 * COMPLEX * count,
                transform_operations(numbers),
            ),
            RowKind::Stencil(points, _) => {
                let shape = StencilShape::from_classes(points, None)?;
                let problem = StencilProblem::new(&size, shape, Edge::Periodic, 1)?;
                let operations = stencil_operations(points) * numbers;
                (Box::new(problem), 2 * REAL * count, operations)
            }
            RowKind::Filter(taps) => {
                let drawn = FftProblem::new(taps, forward, 1)?.random(1);
                let problem = ConvProblem::new(&drawn, outer, inner, ConvolutionMode::Same)?;
                let operations = filter_operations(taps) * numbers;
                (Box::new(problem), 2 * COMPLEX * count, operations)
            }
            RowKind::Grid(_) => {
                let made = GeneratedMatrix::new(Pattern::Grid27, inner);
                let problem = SpmvProblem::from_generated(&made, 1)?;
                return Ok(SpeedSubject::from_product(problem, size));
            }
            RowKind::Himeno(_) => {
                let problem = HimenoProblem::new([outer, outer, inner], 1, HimenoData::Random)?;
                let points = problem.inner_count() as u64;
                let operations = (HimenoProblem::OPERATIONS * points) as f64;
                (Box::new(problem), HimenoProblem::BYTES * points, operations)
            }
            RowKind::Multigrid => return Ok(SpeedSubject::from_multigrid(&multigrid_class(bytes))),
        };
        Ok(SpeedSubject {
            problem,
            size,
            bytes,
            operations,
            check: OutputCheck::Reference,
        })
    }
}
