//! The diagonal format: cells of 4 rows by 4 columns, one address.
//!
//! A multiplication has sixteen places: four rows of each section, times as many adjacent columns of each.
//!
//! A section has a part of the rows, and the part of the vector that goes with them. Four adjacent rows are
//! the lanes of a quad. Where a row has an entry in some column, the next row often has one in the next
//! column, in all sections alike. Such entries are a *cell*: a quad of values, and one address of four
//! numbers of the vector, which is the same in all sections. Four groups of rows are summed up at a time, so
//! that neither the latency of a multiplication nor that of an address is waited for.
//!
//! | what | bytes |
//! |---|---|
//! | values | 16 for each cell in every section, entries or not |
//! | addresses | 4 for each cell, 8 for four groups of rows; or 8 for each diagonal that a page shares |
//! | vector | what the cells of a section need, once to each |
//!
//! Columns that no cell needs are not in a section's segment of the vector, so that a few columns far away
//! take little memory. A vector longer than local memory is multiplied by chunks of the rows, whose segments
//! overlap as far as the diagonals reach.
//!
//! Where a place has no entry, the vector may be infinite or NaN, which must not reach the result. Such
//! places have the value +0, entries that are +0 become -0, and the kernel masks the vector by the bits of
//! the value where this is +0.

mod cells;
mod describe;
mod layout;
mod pages;
mod pass;
#[cfg(test)]
mod tests;

use super::listed_pages::{PlacedResident, assemble_resident, count_steps};
use super::{PackingWork, SparseError};
use crate::job::Job;
use cells::DiagonalShape;
use cp2_asm::Program;
use cp2_emu::cycles::KernelInterval;
use cp2_host::Buffer;
use cp2_machine::Machine;
use cp2_problems::npb::Precision;
use cp2_problems::sparse::SparseMatrix;
use layout::{ChunkPart, DiagonalLayout, GROUPS};
use pages::{DiagonalPage, Kind};
use std::sync::Arc;

/// Name of the kernel in messages and on the timeline.
const NAME: &str = "diagonals";

/// Most sections, and most bytes of a granule of the DMA, that the format supports.
const MOST_SECTIONS: usize = 8;
const MOST_GRANULE_BYTES: u64 = 64;

/// A matrix packed by diagonal cells.
#[derive(Debug)]
pub struct Diagonals {
    grid: DiagonalShape,
    layout: DiagonalLayout,
    parts: Vec<ChunkPart>,
    pages: Vec<DiagonalPage>,
    resident: Arc<Program>,
    steps: Arc<Vec<KernelInterval>>,
}

/// A packed matrix with its addresses in the system memory of a job.
#[derive(Clone, Debug)]
pub struct PlacedDiagonals {
    diagonals: Arc<Diagonals>,
    resident: PlacedResident,
    index: Buffer<u32>,
    values: Buffer<f32>,
    zeros: Buffer<f32>,
}

impl Diagonals {
    /// Packs a matrix for a machine, and counts the operations of packing.
    ///
    /// # Errors
    /// The matrix is complex or far from any diagonal, or the machine has too little of something.
    pub fn new(
        matrix: &SparseMatrix,
        machine: &Machine,
        work: &PackingWork,
    ) -> Result<Self, SparseError> {
        let sections = machine.cp2.sections;
        if sections > MOST_SECTIONS {
            return Err(SparseError::Sections {
                machine: machine.name.clone(),
                sections,
                most: MOST_SECTIONS,
            });
        }
        let granule = machine.dma.granule.0;
        if granule > MOST_GRANULE_BYTES {
            return Err(SparseError::Granule {
                machine: machine.name.clone(),
                granule,
                most: MOST_GRANULE_BYTES,
            });
        }
        if matrix.is_complex() {
            return Err(SparseError::Complex);
        }
        let precision = matrix.precision();
        if precision != Precision::Single {
            return Err(SparseError::SinglePrecision { precision });
        }
        let grid = DiagonalShape::new(matrix, machine);
        let (layout, parts) = layout::divide(matrix, grid, machine, work)?;
        let pages = pages::pages(matrix, grid, (&layout, &parts), work);
        // The kernel has only the parts that the pages need: its load takes time.
        let some = |kind: Kind| i64::from(pages.iter().any(|page| page.kind == kind));
        let symbols = [
            ("SHIFTED", layout.shifted.into()),
            ("APART", some(Kind::Apart)),
            ("ALIKE", some(Kind::Alike)),
        ];
        let text = include_str!("diagonal/resident.s");
        let resident = assemble_resident(NAME, text, &symbols, machine)?;
        let cells = cells::QUAD * GROUPS * sections.max(1);
        let followed = pages
            .iter()
            .map(|page| (&page.index[..], page.values.len() / cells));
        let steps = count_steps(&resident, &layout.index, followed, (machine, work))?;
        Ok(Self {
            grid,
            layout,
            parts,
            pages,
            resident: Arc::new(resident),
            steps: Arc::new(steps),
        })
    }

    /// Returns the bytes of the packed matrix.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let page = |page: &DiagonalPage| 4 * (page.index.len() + page.values.len());
        self.pages.iter().map(page).sum::<usize>() as u64
    }

    /// Returns the number of values (4 bytes each) of the packed matrix, including those of places without an
    /// entry.
    #[must_use]
    pub fn places(&self) -> usize {
        self.pages.iter().map(|page| page.values.len()).sum()
    }

    /// Returns the steps of the kernel for a product.
    pub(super) fn steps(&self) -> usize {
        self.steps.len()
    }

    /// Returns the number of pages.
    #[must_use]
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// Returns how often a segment of the vector is loaded.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.parts.len()
    }

    /// Returns the integer operations of all sections for a product: two mask each cell. (The product of a
    /// cell is a multiplication or a multiply-add, depending on its place in a page.)
    #[must_use]
    pub fn operations(&self) -> u64 {
        2 * (self.places() / cells::QUAD) as u64
    }

    /// Puts the packed matrix into the system memory of a job, before time begins.
    ///
    /// # Errors
    /// It does not fit.
    pub fn place(self: &Arc<Self>, job: &mut Job) -> Result<PlacedDiagonals, SparseError> {
        let index: Vec<u32> = self
            .pages
            .iter()
            .flat_map(|page| &page.index)
            .copied()
            .collect();
        let values: Vec<f32> = self
            .pages
            .iter()
            .flat_map(|page| &page.values)
            .copied()
            .collect();
        let zeros = vec![0.0; self.zeros().max(self.grid.granule)];
        Ok(PlacedDiagonals {
            diagonals: self.clone(),
            resident: PlacedResident::new(job, NAME, (&self.resident, &self.steps))?,
            index: job.table(&index)?,
            values: job.table(&values)?,
            zeros: job.table(&zeros)?,
        })
    }
}
