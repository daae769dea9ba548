//! A matrix packed for a machine in the format that is the fastest there, and the passes that multiply by it.

use super::diagonal::{Diagonals, PlacedDiagonals};
use super::gather::{self, Gather, PlacedGather};
use super::{MatrixRegion, PackedFormat, PackingWork, SparseError};
use crate::job::Job;
use cp2_host::DeviceOptions;
use cp2_machine::{Class, Cycles, Machine};
use cp2_problems::sparse::SparseMatrix;
use std::sync::Arc;

#[derive(Debug)]
enum Packed {
    Gather(Arc<Gather>),
    Diagonal(Arc<Diagonals>),
}

/// What a format costs for a matrix.
#[derive(Debug)]
pub struct FormatCost {
    /// The format.
    pub format: PackedFormat,
    /// Vectors that are multiplied at a time.
    pub vectors: usize,
    /// Cycles of a product with so many vectors, or why there is none.
    pub cycles: Result<Cycles, SparseError>,
    /// Bytes of the packed matrix, and numbers in it: entries and what fills places without one.
    pub bytes: u64,
    /// See `bytes`.
    pub places: usize,
}

/// What is forecast of a product: each page has about five transfers. Each of these, and each step of the kernel, is
/// two events of a queue, by some fifty operations each.
const TRANSFERS: usize = 5;
const FORECAST: u64 = 2 * 50;
/// A number of the packed matrix that is put into system memory: loaded and stored twice.
const COPIED: u64 = 4;

/// A packed matrix.
#[derive(Debug)]
pub struct PackedMatrix {
    packed: Packed,
    /// What a product takes.
    expected: Cycles,
    candidates: Vec<FormatCost>,
    rows: usize,
    cols: usize,
    is_complex: bool,
    /// Vectors that are multiplied at a time.
    vectors: usize,
}

/// A packed matrix in the system memory of a job: its format is its own, so that no other can multiply by it.
#[derive(Clone, Debug)]
pub struct PlacedProduct(PlacedFormat);

#[derive(Clone, Debug)]
enum PlacedFormat {
    Gather(PlacedGather),
    Diagonal(PlacedDiagonals),
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
            _ => Err(SparseError::NoFormat),
        }
    }

    fn place(&self, job: &mut Job) -> Result<PlacedProduct, SparseError> {
        let place = match self {
            Self::Gather(gather) => gather.place(job).map(PlacedFormat::Gather),
            Self::Diagonal(cells) => cells.place(job).map(PlacedFormat::Diagonal),
        };
        place.map(PlacedProduct)
    }

    fn format(&self) -> PackedFormat {
        match self {
            Self::Gather(_) => PackedFormat::Gather,
            Self::Diagonal(_) => PackedFormat::Diagonal,
        }
    }

    fn bytes(&self) -> u64 {
        match self {
            Self::Gather(gather) => gather.bytes(),
            Self::Diagonal(cells) => cells.bytes(),
        }
    }

    fn places(&self) -> usize {
        match self {
            Self::Gather(gather) => gather.places(),
            Self::Diagonal(cells) => cells.places(),
        }
    }

    fn recipe(&self) -> String {
        match self {
            Self::Gather(gather) => gather.recipe(),
            Self::Diagonal(cells) => cells.recipe(),
        }
    }

    fn regions(&self) -> (Vec<String>, Vec<MatrixRegion>) {
        match self {
            Self::Gather(gather) => gather.regions(),
            Self::Diagonal(cells) => cells.regions(),
        }
    }

    /// Of all sections together.
    fn operations(&self) -> Vec<(Class, u64)> {
        match self {
            Self::Gather(gather) => gather.operations(),
            Self::Diagonal(cells) => vec![(Class::Integer, cells.operations())],
        }
    }

    /// Counts what it takes to forecast a product.
    fn forecast(&self, work: &PackingWork) {
        let (pages, steps) = match self {
            Self::Gather(gather) => (gather.pages(), gather.steps()),
            Self::Diagonal(cells) => (cells.pages(), cells.steps()),
        };
        work.add(TRANSFERS * pages + steps, FORECAST);
    }

    /// What a product with so many vectors takes, by its own commands.
    fn price(
        &self,
        vectors: usize,
        matrix: &SparseMatrix,
        machine: &Arc<Machine>,
        work: &PackingWork,
    ) -> Result<Cycles, SparseError> {
        work.add((self.bytes() / 4) as usize, COPIED);
        self.forecast(work);
        let mut job = Job::new(machine.clone(), DeviceOptions::default());
        let number = vectors as u64 * if matrix.is_complex() { 8 } else { 4 };
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
    /// Packs a matrix in a format, or in the one whose product takes the fewest cycles, and counts what all formats
    /// that are tried take.
    ///
    /// # Errors
    /// The machine has too little of something for it, or for all of them.
    pub fn new(
        matrix: &SparseMatrix,
        (machine, work): (&Arc<Machine>, &PackingWork),
        format: Option<PackedFormat>,
    ) -> Result<Self, SparseError> {
        Self::of(1, matrix, (machine, work), format)
    }

    /// Packs a matrix of real numbers for products with two vectors at a time, whose numbers lie by turns (an array of columns x 2, and one of
    /// rows x 2), in the format that can.
    ///
    /// # Errors
    /// See [`PackedMatrix::new`]; the matrix is complex.
    pub fn pack_for_two(
        matrix: &SparseMatrix,
        machine: &Arc<Machine>,
        work: &PackingWork,
    ) -> Result<Self, SparseError> {
        Self::of(2, matrix, (machine, work), Some(PackedFormat::Gather))
    }

    fn of(
        vectors: usize,
        matrix: &SparseMatrix,
        (machine, work): (&Arc<Machine>, &PackingWork),
        format: Option<PackedFormat>,
    ) -> Result<Self, SparseError> {
        let formats = PackedFormat::ALL.into_iter();
        let formats = formats.filter(|&own| format.is_none_or(|format| format == own));
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
                vectors,
            }),
            None => {
                let error = candidates.into_iter().find_map(|found| found.cycles.err());
                Err(error.unwrap_or(SparseError::NoFormat))
            }
        }
    }

    /// The format.
    #[must_use]
    pub fn format(&self) -> PackedFormat {
        self.packed.format()
    }

    /// What a product takes, to the cycle: of one format the fewest of [`PackedMatrix::candidates`].
    #[must_use]
    pub fn expected(&self) -> Cycles {
        self.expected
    }

    /// What was chosen from.
    #[must_use]
    pub fn candidates(&self) -> &[FormatCost] {
        &self.candidates
    }

    /// Rows of the matrix.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Its columns.
    #[must_use]
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Whether it is complex, and with it the vectors.
    #[must_use]
    pub fn is_complex(&self) -> bool {
        self.is_complex
    }

    /// Vectors that are multiplied at a time: their numbers lie by turns.
    #[must_use]
    pub fn vectors(&self) -> usize {
        self.vectors
    }

    /// Bytes of the packed matrix in system memory.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.packed.bytes()
    }

    /// Numbers in it: entries, and what fills places without one.
    #[must_use]
    pub fn places(&self) -> usize {
        self.packed.places()
    }

    /// Numbers in it for each entry: 1 where no place is empty.
    #[must_use]
    pub fn padding(&self, entries: usize) -> f64 {
        let each = if self.is_complex { 2 } else { self.vectors };
        self.places() as f64 / (each * entries).max(1) as f64
    }

    /// How it is packed, in words, and what that takes for granted.
    #[must_use]
    pub fn recipe(&self) -> String {
        recipe(&[self], None)
    }

    /// The least that a product has to issue: class, and operations of all sections together.
    #[must_use]
    pub fn operations(&self) -> Vec<(Class, u64)> {
        self.packed.operations()
    }

    /// The parts of the matrix that are multiplied at a time: kinds in words, and the parts.
    #[must_use]
    pub fn regions(&self) -> (Vec<String>, Vec<MatrixRegion>) {
        self.packed.regions()
    }

    /// Counts what it takes to forecast a product once more, among others.
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

/// How products are packed, in words, the sections that are left idle, and what any of them takes for granted.
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
    /// Adds a product to a job: of the vector, or of the [vectors](PackedMatrix::vectors), at address `x` of system memory, to those at `y`; both as the user has
    /// them, and in whole granules.
    pub fn pass(&self, job: &mut Job, x: u64, y: u64) {
        match &self.0 {
            PlacedFormat::Gather(placed) => placed.pass(job, x, y),
            PlacedFormat::Diagonal(placed) => placed.pass(job, x, y),
        }
    }
}
