//! The sell formats: slices of sorted rows, an address for each section.
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
//! | vector | once to every section, piece by piece where local memory does not hold it twice, or once for words |
//!
//! A load of a pair brings a number that is wanted in one of its lanes, and lanes stay where they are. So the vector
//! lies in local memory twice, once shifted by a number, and rows with an even number in their section are in even
//! lanes. On a machine that has `word-addressing` too, a load of a word brings the number into both lanes: the
//! vector lies in local memory once and as it comes, and any row may be in any lane.
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

use super::listed_pages::{PlacedResident, assemble_resident, count_steps};
use super::{PackingWork, SparseError};
use crate::job::Job;
use cp2_asm::Program;
use cp2_emu::cycles::KernelInterval;
use cp2_host::Buffer;
use cp2_machine::{Class, Extensions, Machine};
use cp2_problems::npb::Precision;
use cp2_problems::sparse::SparseMatrix;
use layout::SellDivision;
use pages::SellPage;
use rows::{SLICE_SUMS, SellShape, SellTile};
use std::sync::Arc;

/// Name of the kernel in messages and on the timeline.
const NAME: &str = "sell";

/// Loads of the vector at addresses of each section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SellLoads {
    /// Pairs: the vector lies in local memory twice.
    Pairs,
    /// Words.
    Words,
}

impl SellLoads {
    /// Returns whether a machine has the loads.
    #[must_use]
    pub fn are_possible(self, machine: &Machine) -> bool {
        machine.cp2.extensions.contains(self.needed())
    }

    /// Returns the extensions that the loads need.
    fn needed(self) -> Extensions {
        match self {
            Self::Pairs => Extensions::SECTION_ADDRESSING,
            Self::Words => Extensions::SECTION_ADDRESSING | Extensions::WORD_ADDRESSING,
        }
    }

    /// Returns the bytes of a load, which an index counts.
    fn bytes(self) -> u32 {
        match self {
            Self::Pairs => 8,
            Self::Words => 4,
        }
    }

    /// Returns the copies of the vector in local memory.
    fn copies(self) -> usize {
        match self {
            Self::Pairs => 2,
            Self::Words => 1,
        }
    }

    /// Returns the number of sorted lists of a section: one for lanes of each parity, or one for all.
    fn lists(self) -> usize {
        self.copies()
    }

    /// Returns the half-word of an address.
    fn index(self, address: u32) -> u16 {
        u16::try_from(address / self.bytes()).unwrap_or(0)
    }
}

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
    resident: PlacedResident,
    index: Buffer<u32>,
    streams: Buffer<u32>,
}

impl Sell {
    /// Packs a matrix for a machine, and counts the operations of packing.
    ///
    /// # Errors
    /// The machine lacks the loads or has too little of something, or the matrix is complex.
    pub fn new(
        matrix: &SparseMatrix,
        loads: SellLoads,
        (machine, work): (&Machine, &PackingWork),
    ) -> Result<Self, SparseError> {
        if !loads.are_possible(machine) {
            let lacks = loads.needed().difference(machine.cp2.extensions).names();
            return Err(SparseError::OwnAddresses {
                machine: machine.name.clone(),
                lacks: lacks.collect::<Vec<_>>().join("+"),
            });
        }
        if matrix.is_complex() {
            return Err(SparseError::Complex);
        }
        let precision = matrix.precision();
        if precision != Precision::Single {
            return Err(SparseError::SinglePrecision { precision });
        }
        let shape = SellShape::new(matrix, loads, machine);
        let division = layout::divide(matrix, shape, machine, work)?;
        let pages = pages::pages(matrix, shape, &division, work);
        let symbols = [
            ("SEGMENT", division.layout.segment.into()),
            ("WORDS", (loads == SellLoads::Words).into()),
        ];
        let text = include_str!("sell/resident.s");
        let resident = assemble_resident(NAME, text, &symbols, machine)?;
        let followed = pages.iter().map(|page| (&page.index[..], page.steps));
        let steps = count_steps(&resident, &division.layout.index, followed, (machine, work))?;
        Ok(Self {
            shape,
            division,
            pages,
            resident: Arc::new(resident),
            steps: Arc::new(steps),
        })
    }

    /// Returns the loads that the vector is gathered by.
    #[must_use]
    pub fn loads(&self) -> SellLoads {
        self.shape.loads
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

    /// Returns the operations that all sections issue for a product: for each step eight loads of the vector, two
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
            resident: PlacedResident::new(job, NAME, (&self.resident, &self.steps))?,
            index: job.table(&collect(|page| &page.index))?,
            streams: job.table(&collect(|page| &page.stream))?,
        })
    }
}
