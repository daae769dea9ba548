//! The sell format: slices of sorted rows, an address for each section.
//!
//! The machine has the extension `section-addressing`: a load takes its address in every section from a
//! half-word of that section's own register. So the vector is gathered by indices, and the only code is a
//! loop of a few words.
//!
//! A section has its own rows. They are sorted by length, and eight of them, a lane of two quads each, are a
//! *slice* (SELL: sliced ELLPACK). A slice has as many steps as its longest row has entries, in all sections
//! alike. Rows that are much longer than others are cut into parts, which are rows of their own. A second
//! stage of the same loop, without values, adds up the parts of each row and puts the sums in the order of
//! rows: it gathers from the sums.
//!
//! | what | bytes |
//! |---|---|
//! | values and indices | 6 for each place: as many as the longest row of each slice has, in every section |
//! | counts | 8 for each slice |
//! | sums | 2 for each row and part |
//! | vector | once to every section, piece by piece where local memory does not hold it twice |
//!
//! A load brings a pair of which one lane is wanted, and lanes stay where they are. So the vector lies in
//! local memory twice, once shifted by a number, and rows with an even number in their section are in even
//! lanes.
//!
//! Places without an entry multiply the value 0 by pair 0 of local memory, which is zero: numbers of the
//! vector that are infinite or NaN do not reach them.

mod describe;
mod layout;
mod pages;
mod pass;
mod rows;
#[cfg(test)]
mod tests;

use super::{PackingWork, SparseError};
use crate::assembly::{Unfit, assembly};
use crate::job::Job;
use cp2_asm::{Options, Program, Source, Value};
use cp2_emu::cycles::KernelInterval;
use cp2_host::{Buffer, PlacedProgram};
use cp2_machine::{Class, Extensions, Machine};
use cp2_problems::sparse::SparseMatrix;
use layout::{SellDivision, SellLayout};
use pages::SellPage;
use rows::{SLICE_SUMS, SellShape, SellTile};
use std::sync::Arc;

/// Name of the kernel in messages and on the timeline.
const NAME: &str = "sell";

/// A matrix packed by slices of sorted rows.
#[derive(Debug)]
pub struct Sell {
    shape: SellShape,
    division: SellDivision,
    pages: Vec<SellPage>,
    resident: Arc<Program>,
    steps: Arc<Vec<KernelInterval>>,
}

/// A packed matrix with its addresses in the system memory of a job.
#[derive(Clone, Debug)]
pub struct PlacedSell {
    sell: Arc<Sell>,
    program: PlacedProgram,
    index: Buffer<u32>,
    streams: Buffer<u32>,
}

impl Sell {
    /// Returns whether a machine has the instructions of the format.
    #[must_use]
    pub fn is_possible(machine: &Machine) -> bool {
        machine
            .cp2
            .extensions
            .contains(Extensions::SECTION_ADDRESSING)
    }

    /// Packs a matrix for a machine, and counts the operations of packing.
    ///
    /// # Errors
    /// The machine has no addresses of sections or too little of something, or the matrix is complex.
    pub fn new(
        matrix: &SparseMatrix,
        machine: &Machine,
        work: &PackingWork,
    ) -> Result<Self, SparseError> {
        if !Self::is_possible(machine) {
            return Err(SparseError::SectionAddresses {
                machine: machine.name.clone(),
            });
        }
        if matrix.is_complex() {
            return Err(SparseError::Complex);
        }
        let shape = SellShape::new(matrix, machine);
        let division = layout::divide(matrix, shape, machine, work)?;
        let pages = pages::pages(matrix, shape, &division, work);
        let resident = resident(&division.layout, machine)?;
        let steps = pages::steps(&resident, (&division.layout, &pages), (machine, work))?;
        Ok(Self {
            shape,
            division,
            pages,
            resident: Arc::new(resident),
            steps: Arc::new(steps),
        })
    }

    fn tiles(&self) -> impl Iterator<Item = &SellTile> {
        let windows = self.division.windows.iter();
        windows.flat_map(|window| &window.tiles)
    }

    /// Returns the bytes of the packed matrix.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let page = |page: &SellPage| 4 * (page.index.len() + page.stream.len());
        self.pages.iter().map(page).sum::<usize>() as u64
    }

    /// Returns the steps of all slices of values, and of sums.
    fn slice_steps(&self) -> [usize; 2] {
        [false, true].map(|sums| {
            let pages = self.pages.iter().filter(|page| page.sums == sums);
            pages.map(|page| page.steps).sum()
        })
    }

    /// Returns the number of values (4 bytes each) of the packed matrix, including those of places without an
    /// entry.
    #[must_use]
    pub fn places(&self) -> usize {
        self.slice_steps()[0] * SLICE_SUMS * self.shape.sections
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

    /// Returns how often a segment of the vector is loaded: 1 if local memory holds all of it.
    #[must_use]
    pub fn segments(&self) -> usize {
        let parts = self.pages.iter().filter_map(|page| page.segment.as_ref());
        parts.filter(|part| part.first).count()
    }

    /// Returns the operations that all sections issue for a product: for each step eight loads of pairs, two
    /// selections, and two multiply-adds or sums.
    #[must_use]
    pub fn operations(&self) -> Vec<(Class, u64)> {
        let [values, sums] = self
            .slice_steps()
            .map(|steps| (2 * steps * self.shape.sections) as u64);
        let all = [
            (Class::Integer, values + sums),
            (Class::Add, sums),
            (Class::Madd, values),
            (Class::Gather, 4 * (values + sums)),
        ];
        all.into_iter().filter(|(_, count)| *count > 0).collect()
    }

    /// Puts the packed matrix into the system memory of a job, before time begins.
    ///
    /// # Errors
    /// It does not fit.
    pub fn place(self: &Arc<Self>, job: &mut Job) -> Result<PlacedSell, SparseError> {
        let collect = |words: fn(&SellPage) -> &[u32]| -> Vec<u32> {
            self.pages.iter().flat_map(words).copied().collect()
        };
        Ok(PlacedSell {
            sell: self.clone(),
            program: job.program(NAME, &self.resident)?,
            index: job.table(&collect(|page| &page.index))?,
            streams: job.table(&collect(|page| &page.stream))?,
        })
    }
}

/// Assembles the kernel.
fn resident(layout: &SellLayout, machine: &Machine) -> Result<Program, Unfit> {
    let options = Options {
        defines: [("SEGMENT".to_owned(), Value::Int(layout.segment.into()))].into(),
        machine: Some(machine),
        ..Options::default()
    };
    let source = Source::new("sell.s", include_str!("sell/resident.s"));
    Ok(assembly(NAME, (&source, ""), &options)?.program)
}
