//! A matrix packed in its fastest format, and its passes.

use super::diagonal::{Diagonals, PlacedDiagonals};
use super::gather::{self, Gather, PlacedGather};
use super::sell::{PlacedSell, Sell, SellLoads};
use super::{MatrixRegion, PackedFormat, PackingWork, SparseError};
use crate::job::Job;
use crate::npb::needed_extensions;
use cp2_host::DeviceOptions;
use cp2_machine::{Class, Cycles, Machine};
use cp2_problems::npb::Precision;
use cp2_problems::sparse::SparseMatrix;
use std::sync::Arc;

#[derive(Debug)]
enum Packed {
    Gather(Arc<Gather>),
    Diagonal(Arc<Diagonals>),
    Sell(Arc<Sell>),
}

/// Cost of a format for a matrix.
#[derive(Debug)]
pub struct FormatCost {
    /// Format.
    pub format: PackedFormat,
    /// Number of vectors that are multiplied at a time.
    pub vectors: usize,
    /// Cycles of a product with so many vectors, or the reason why there is none.
    pub cycles: Result<Cycles, SparseError>,
    /// Bytes of the packed matrix.
    pub bytes: u64,
    /// Numbers in the packed matrix: entries, and zeros that fill places without one.
    pub places: usize,
}

/// Approximate number of transfers of a page, and operations of a forecast for each transfer or step of the
/// kernel: two events of a queue, of some fifty operations each.
const TRANSFERS_PER_PAGE: usize = 5;
const FORECAST_OPERATIONS: u64 = 2 * 50;
/// Operations for a number of the packed matrix that is put into system memory: it is loaded and stored
/// twice.
const COPY_OPERATIONS: u64 = 4;

/// A matrix packed for a machine.
#[derive(Debug)]
pub struct PackedMatrix {
    packed: Packed,
    /// Cycles of a product.
    expected: Cycles,
    candidates: Vec<FormatCost>,
    rows: usize,
    cols: usize,
    is_complex: bool,
    precision: Precision,
    /// Number of vectors that are multiplied at a time.
    vectors: usize,
}

/// A packed matrix in the system memory of a job, in one format.
#[derive(Clone, Debug)]
pub struct PlacedProduct(PlacedFormat);

#[derive(Clone, Debug)]
enum PlacedFormat {
    Gather(PlacedGather),
    Diagonal(PlacedDiagonals),
    Sell(PlacedSell),
}

impl Packed {
    fn new(
        format: PackedFormat,
        vectors: usize,
        matrix: &SparseMatrix,
        (machine, work): (&Machine, &PackingWork),
    ) -> Result<Self, SparseError> {
        match (format, vectors) {
            (PackedFormat::Gather, 1) => {
                Gather::new(matrix, machine, work).map(|own| Self::Gather(own.into()))
            }
            (PackedFormat::Gather, 2) => {
                Gather::pack_for_two(matrix, machine, work).map(|own| Self::Gather(own.into()))
            }
            (PackedFormat::Diagonal, 1) => {
                Diagonals::new(matrix, machine, work).map(|own| Self::Diagonal(own.into()))
            }
            (PackedFormat::Sell, 1) => Self::sell(matrix, SellLoads::Pairs, (machine, work)),
            (PackedFormat::SellWords, 1) => Self::sell(matrix, SellLoads::Words, (machine, work)),
            _ => Err(SparseError::NoFormat),
        }
    }

    fn sell(
        matrix: &SparseMatrix,
        loads: SellLoads,
        (machine, work): (&Machine, &PackingWork),
    ) -> Result<Self, SparseError> {
        Sell::new(matrix, loads, (machine, work)).map(|own| Self::Sell(own.into()))
    }

    fn place(&self, job: &mut Job) -> Result<PlacedProduct, SparseError> {
        let place = match self {
            Self::Gather(gather) => gather.place(job).map(PlacedFormat::Gather),
            Self::Diagonal(cells) => cells.place(job).map(PlacedFormat::Diagonal),
            Self::Sell(slices) => slices.place(job).map(PlacedFormat::Sell),
        };
        place.map(PlacedProduct)
    }

    fn format(&self) -> PackedFormat {
        match self {
            Self::Gather(_) => PackedFormat::Gather,
            Self::Diagonal(_) => PackedFormat::Diagonal,
            Self::Sell(slices) => match slices.loads() {
                SellLoads::Pairs => PackedFormat::Sell,
                SellLoads::Words => PackedFormat::SellWords,
            },
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Gather(gather) => gather.bytes(),
            Self::Diagonal(cells) => cells.bytes(),
            Self::Sell(slices) => slices.bytes(),
        }
    }

    fn places(&self) -> usize {
        match self {
            Self::Gather(gather) => gather.places(),
            Self::Diagonal(cells) => cells.places(),
            Self::Sell(slices) => slices.places(),
        }
    }

    fn recipe(&self) -> String {
        match self {
            Self::Gather(gather) => gather.recipe(),
            Self::Diagonal(cells) => cells.recipe(),
            Self::Sell(slices) => slices.recipe(),
        }
    }

    fn regions(&self) -> (Vec<String>, Vec<MatrixRegion>) {
        match self {
            Self::Gather(gather) => gather.regions(),
            Self::Diagonal(cells) => cells.regions(),
            Self::Sell(slices) => slices.regions(),
        }
    }

    /// Returns the least operations of a product, of all sections together.
    fn operations(&self) -> Vec<(Class, u64)> {
        match self {
            Self::Gather(gather) => gather.operations(),
            Self::Diagonal(cells) => vec![(Class::Integer, cells.operations())],
            Self::Sell(slices) => slices.operations(),
        }
    }

    /// Counts the operations that a forecast of a product takes.
    fn forecast(&self, work: &PackingWork) {
        let (pages, steps) = match self {
            Self::Gather(gather) => (gather.pages(), gather.steps()),
            Self::Diagonal(cells) => (cells.pages(), cells.steps()),
            Self::Sell(slices) => (slices.pages(), slices.steps()),
        };
        work.add(TRANSFERS_PER_PAGE * pages + steps, FORECAST_OPERATIONS);
    }

    /// Returns the cycles of a product with so many vectors, by its own commands, and counts the operations
    /// of the forecast.
    fn price(
        &self,
        vectors: usize,
        matrix: &SparseMatrix,
        machine: &Arc<Machine>,
        work: &PackingWork,
    ) -> Result<Cycles, SparseError> {
        work.add((self.bytes() / 4) as usize, COPY_OPERATIONS);
        self.forecast(work);
        let mut job = Job::new(machine.clone(), DeviceOptions::default());
        let number = vectors as u64 * matrix.number_bytes();
        let x = job
            .temporary::<u8>(number * matrix.cols() as u64)?
            .address();
        let y = job
            .temporary::<u8>(number * matrix.rows() as u64)?
            .address();
        let placed = self.place(&mut job)?;
        placed.pass(&mut job, x, y);
        Ok(job.price()?)
    }
}

impl PackedMatrix {
    /// Packs a matrix in a given format, or in the one whose product takes the fewest cycles, and counts the
    /// operations of all formats tried.
    ///
    /// # Errors
    /// The machine has too little of something for it, or for all of them.
    pub fn new(
        matrix: &SparseMatrix,
        (machine, work): (&Arc<Machine>, &PackingWork),
        format: Option<PackedFormat>,
    ) -> Result<Self, SparseError> {
        Self::pack_matrix(1, matrix, (machine, work), format)
    }

    /// Packs a matrix of real numbers for products with two interleaved vectors (an array of columns x 2, and
    /// one of rows x 2), in the format that supports them.
    ///
    /// # Errors
    /// See [`PackedMatrix::new`]; the matrix is complex.
    pub fn pack_for_two(
        matrix: &SparseMatrix,
        machine: &Arc<Machine>,
        work: &PackingWork,
    ) -> Result<Self, SparseError> {
        Self::pack_matrix(2, matrix, (machine, work), Some(PackedFormat::Gather))
    }

    fn pack_matrix(
        vectors: usize,
        matrix: &SparseMatrix,
        (machine, work): (&Arc<Machine>, &PackingWork),
        format: Option<PackedFormat>,
    ) -> Result<Self, SparseError> {
        let precision = matrix.precision();
        if !machine
            .cp2
            .extensions
            .contains(needed_extensions(precision))
        {
            return Err(SparseError::LacksPrecision {
                precision,
                machine: machine.name.clone(),
            });
        }
        let formats = match format {
            Some(format) => vec![format],
            None => PackedFormat::possible(machine).collect(),
        };
        let mut best: Option<(Cycles, Packed)> = None;
        let mut candidates = Vec::new();
        for format in formats {
            let packed = Packed::new(format, vectors, matrix, (machine, work))
                .and_then(|packed| Ok((packed.price(vectors, matrix, machine, work)?, packed)));
            let (cycles, bytes, places) = match packed {
                Ok((cycles, packed)) => {
                    let size = (packed.bytes(), packed.places());
                    if best.as_ref().is_none_or(|(least, _)| cycles < *least) {
                        best = Some((cycles, packed));
                    }
                    (Ok(cycles), size.0, size.1)
                }
                Err(error) => (Err(error), 0, 0),
            };
            candidates.push(FormatCost {
                format,
                vectors,
                cycles,
                bytes,
                places,
            });
        }
        match best {
            Some((expected, packed)) => Ok(Self {
                packed,
                expected,
                candidates,
                rows: matrix.rows(),
                cols: matrix.cols(),
                is_complex: matrix.is_complex(),
                precision: matrix.precision(),
                vectors,
            }),
            None => {
                let error = candidates.into_iter().find_map(|found| found.cycles.err());
                Err(error.unwrap_or(SparseError::NoFormat))
            }
        }
    }

    /// Returns the format.
    #[must_use]
    pub fn format(&self) -> PackedFormat {
        self.packed.format()
    }

    /// Returns the exact cycles of a product: the fewest of [`PackedMatrix::candidates`].
    #[must_use]
    pub fn expected(&self) -> Cycles {
        self.expected
    }

    /// Returns the formats that were considered.
    #[must_use]
    pub fn candidates(&self) -> &[FormatCost] {
        &self.candidates
    }

    /// Returns the rows of the matrix.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Returns the columns of the matrix.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Returns whether the matrix and the vectors are complex.
    #[must_use]
    pub fn is_complex(&self) -> bool {
        self.is_complex
    }

    /// Returns the number of interleaved vectors that are multiplied at a time.
    #[must_use]
    pub fn vectors(&self) -> usize {
        self.vectors
    }

    /// Returns the bytes of the packed matrix in system memory.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.packed.bytes()
    }

    /// Returns the numbers in the packed matrix: entries, and zeros that fill places without one.
    #[must_use]
    pub fn places(&self) -> usize {
        self.packed.places()
    }

    /// Returns the numbers of the packed matrix for each entry: 1 if no place is empty.
    #[must_use]
    pub fn padding(&self, entries: usize) -> f64 {
        let each = match (self.is_complex, self.precision) {
            (true, _) | (_, Precision::Double | Precision::DoubleSingle) => 2,
            _ => self.vectors,
        };
        self.places() as f64 / (each * entries).max(1) as f64
    }

    /// Says how the matrix is packed, and what the format assumes.
    #[must_use]
    pub fn recipe(&self) -> String {
        recipe(&[self], None)
    }

    /// Returns the least operations of a product: class, and operations of all sections together.
    #[must_use]
    pub fn operations(&self) -> Vec<(Class, u64)> {
        self.packed.operations()
    }

    /// Returns the parts of the matrix that are multiplied at a time: names of the kinds, and the parts.
    #[must_use]
    pub fn regions(&self) -> (Vec<String>, Vec<MatrixRegion>) {
        self.packed.regions()
    }

    /// Counts the operations of one more forecast of a product.
    pub(super) fn forecast(&self, work: &PackingWork) {
        self.packed.forecast(work);
    }

    /// Puts the packed matrix into the system memory of a job, before time begins.
    ///
    /// # Errors
    /// It does not fit.
    pub fn place(&self, job: &mut Job) -> Result<PlacedProduct, SparseError> {
        self.packed.place(job)
    }
}

/// Says how products are packed, which sections are left idle, and what the formats assume.
pub(super) fn recipe(products: &[&PackedMatrix], idle: Option<String>) -> String {
    let ways: Vec<String> = products.iter().map(|own| own.packed.recipe()).collect();
    let ways = ways.join("; and ");
    let ways = match idle {
        Some(idle) => format!("{ways}; {idle}"),
        None => ways,
    };
    match products
        .iter()
        .any(|own| own.format() == PackedFormat::Gather)
    {
        true => format!("{ways}; {}", gather::ASSUMED),
        false => ways,
    }
}

impl PlacedProduct {
    /// Adds a product to a job: y = A x, for the vector or the [vectors](PackedMatrix::vectors) at the
    /// addresses `x` and `y` of system memory; both lie as in the user's arrays, and in whole granules.
    pub fn pass(&self, job: &mut Job, x: u64, y: u64) {
        match &self.0 {
            PlacedFormat::Gather(placed) => placed.pass(job, x, y),
            PlacedFormat::Diagonal(placed) => placed.pass(job, x, y),
            PlacedFormat::Sell(placed) => placed.pass(job, x, y),
        }
    }
}
