//! The gather format: the program itself is the packed matrix.
//!
//! No section can load from an address of its own. But an address can be a constant of a word that loads for
//! one multiplication alone, and then every place of the multiplication selects what it needs of what was
//! loaded, under a mask of sections and lanes. So the pattern of the matrix becomes words, one or two for
//! each entry where rows share no columns and far fewer where rows are alike; only the entries themselves are
//! values. Words are loaded page by page into program memory while others run (that the DMA may do so is the
//! assumption D11 of `docs/machine.md`).
//!
//! | what | bytes |
//! |---|---|
//! | values | 4 for each place, 8 in double and double-single precision: as many as the longest row of each group of rows has, in every section |
//! | words | 8 for each distinct address of a multiplication, and for the load of values |
//! | vector | once to every section, segment by segment where local memory does not hold it |

mod block;
mod cost_sample;
mod describe;
mod group_pairs;
mod lane_masks;
mod layout;
mod packing;
mod page_growth;
mod page_values;
mod pages;
mod pass;
mod registers;
mod resident_words;
mod slot_assignment;
mod word_packing;

pub(super) use describe::ASSUMED;
pub use slot_assignment::{ColumnLanes, ColumnValues};

use super::{PackingWork, SparseError};
use crate::assembly::{Lack, Unfit};
use crate::job::Job;
use cost_sample::BlockSample;
use cp2_asm::{Diagnostics, Program};
use cp2_emu::cycles::KernelInterval;
use cp2_host::{Buffer, PlacedProgram};
use cp2_machine::{Class, ClassMap, Machine};
use cp2_problems::npb::Precision;
use cp2_problems::sparse::SparseMatrix;
use layout::{BlockGrid, LayoutOption};
use pages::{GatherLayout, GatherPage, MatrixTile, PAGE_BUFFERS, mask_table};
use registers::{BlockSums, GatherRegisters};
use slot_assignment::{LaneMask, MOST_SECTIONS};
use std::sync::Arc;

/// Name of the kernel in messages and on the timeline.
const NAME: &str = "gather";

/// Least words of a page: so many are needed before and behind the words of its blocks.
const MIN_PAGE_WORDS: usize = 512;

/// A matrix packed as code.
#[derive(Debug)]
pub struct Gather {
    grid: BlockGrid,
    numbers: ColumnValues,
    lanes: ColumnLanes,
    layout: GatherLayout,
    tiles: Vec<MatrixTile>,
    resident: Arc<Program>,
    sets: Vec<LaneMask>,
    pages: Vec<GatherPage>,
    steps: Arc<Vec<KernelInterval>>,
    /// Number of places of values, with or without an entry.
    places: usize,
    /// Operations that a section issues.
    operations: ClassMap<u64>,
}

/// A packed matrix with its addresses in the system memory of a job.
#[derive(Clone, Debug)]
pub struct PlacedGather {
    gather: Arc<Gather>,
    program: PlacedProgram,
    masks: Buffer<u32>,
    words: Buffer<u64>,
    values: Buffer<u32>,
    zeros: Buffer<f32>,
}

impl Gather {
    /// Packs a matrix for a machine and products with one vector, and counts the operations of packing.
    ///
    /// # Errors
    /// The machine has too little of something.
    pub fn new(
        matrix: &SparseMatrix,
        machine: &Machine,
        work: &PackingWork,
    ) -> Result<Self, SparseError> {
        let numbers = match (matrix.is_complex(), matrix.precision()) {
            (true, _) => ColumnValues::Complex,
            (false, Precision::Single) => ColumnValues::Real,
            (false, Precision::DoubleSingle) => ColumnValues::DoubleSingle,
            (false, Precision::Double) => ColumnValues::Double,
        };
        Self::pack_matrix(matrix, numbers, machine, work)
    }

    /// Packs a matrix for products with two interleaved vectors, an array of columns x 2, and counts the
    /// operations of packing.
    ///
    /// # Errors
    /// A complex matrix or one in another precision than single; the machine has too little of something.
    pub fn pack_for_two(
        matrix: &SparseMatrix,
        machine: &Machine,
        work: &PackingWork,
    ) -> Result<Self, SparseError> {
        match (matrix.is_complex(), matrix.precision()) {
            (true, _) => Err(SparseError::ComplexVectors),
            (false, Precision::Single) => {
                Self::pack_matrix(matrix, ColumnValues::Two, machine, work)
            }
            (false, precision) => Err(SparseError::SinglePrecision { precision }),
        }
    }

    fn pack_matrix(
        matrix: &SparseMatrix,
        numbers: ColumnValues,
        machine: &Machine,
        work: &PackingWork,
    ) -> Result<Self, SparseError> {
        let lanes = numbers.lanes();
        let sections = machine.cp2.sections;
        if sections > MOST_SECTIONS {
            return Err(SparseError::Sections {
                machine: machine.name.clone(),
                sections,
                most: MOST_SECTIONS,
            });
        }
        let number = if numbers == ColumnValues::Real { 4 } else { 8 };
        let dealt = machine.dma.dealt();
        if dealt < number as u64 {
            return Err(SparseError::Dealt {
                machine: machine.name.clone(),
                dealt,
            });
        }
        // Two adjacent rows of a section make a quad of sums of real numbers; the rows of a quad of the
        // result are in groups.
        let quads = (16usize / number).div_ceil(2);
        let needed = lanes
            .iter()
            .map(|&lanes| lane_masks::Masks::needed(sections, lanes).len());
        let needed = needed.max().unwrap_or(0);
        let sums = BlockSums {
            quads,
            has_lower_parts: numbers == ColumnValues::DoubleSingle,
        };
        let room =
            GatherRegisters::room(machine.cp2.registers, sums).filter(|&room| room >= needed);
        let Some(room) = room else {
            return Err(short(
                machine,
                Lack::Registers(GatherRegisters::least(needed, sums), machine.cp2.registers),
            )
            .into());
        };
        let room = room.min(needed + MAX_EXTRA_MASKS);
        let divisions = layout::divisions(matrix, lanes, room, (machine, work))?;
        let priced = divisions.into_iter().map(|division| {
            let sample = BlockSample::new(matrix, numbers, &division, machine, work);
            (sample, division)
        });
        let best = priced.min_by(|(a, _), (b, _)| a.cycles.total_cmp(&b.cycles));
        let Some((sample, division)) = best else {
            let dmem = machine.cp2.dmem.0;
            return Err(SparseError::NoRoom { columns: 0, dmem });
        };
        let LayoutOption {
            lanes,
            mut layout,
            tiles,
        } = division;
        let grid = BlockGrid::new(matrix.rows(), lanes, machine);
        let chosen = sample.masks(lanes, [sections, room], work);
        let sets = chosen.sets().to_vec();
        let registers = GatherRegisters::new(machine.cp2.registers, sums, sets.len());
        let resident = resident_words::resident(&layout, &registers, (sets.len(), lanes), machine)?;
        let begin = resident.words.len().saturating_sub(1);
        let granule = (machine.dma.granule.0 as usize / 8).max(1);
        let limit = (machine.cp2.program.0 as usize / 8).min(usize::from(u16::MAX));
        let most = limit.saturating_sub(begin) / PAGE_BUFFERS / granule * granule;
        if most < MIN_PAGE_WORDS {
            return Err(SparseError::NoProgramRoom {
                words: most,
                least: MIN_PAGE_WORDS,
            });
        }
        layout.alone = layout::exclusive_value_bytes(matrix, &layout, machine, work);
        layout.code = std::array::from_fn(|i| u16::try_from(begin + i * most).unwrap_or(u16::MAX));
        layout.most_words = most;
        let made = packing::pages(
            matrix,
            (numbers, lanes, sample.balance()),
            (grid, &layout, &tiles),
            (&registers, chosen, &resident),
            (machine, work),
        )?;
        Ok(Self {
            grid,
            numbers,
            lanes,
            layout,
            resident: Arc::new(resident),
            sets,
            places: made.pages.iter().map(GatherPage::values).sum(),
            pages: made.pages,
            steps: Arc::new(made.steps),
            operations: made.operations,
            tiles,
        })
    }

    /// Returns the bytes of the packed matrix.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let page = |page: &GatherPage| 8 * page.words.len() + 4 * page.values();
        self.pages.iter().map(page).sum::<usize>() as u64
    }

    /// Returns the number of words of generated code.
    #[must_use]
    pub fn words(&self) -> usize {
        self.pages.iter().map(|page| page.words.len()).sum()
    }

    /// Returns the number of values (4 bytes each) of the packed matrix, including zeros that fill places.
    #[must_use]
    pub fn places(&self) -> usize {
        self.places
    }

    /// Returns the rule by which columns get to the lanes of a section.
    #[must_use]
    pub fn lanes(&self) -> ColumnLanes {
        self.lanes
    }

    /// Returns how often a segment of the vector is loaded: 1 if local memory holds all of it.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.tiles.iter().filter(|tile| !tile.loaded).count()
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

    /// Returns the operations that all sections issue for a product: arithmetic by class, and accesses of
    /// local memory without arithmetic in the same word.
    #[must_use]
    pub fn operations(&self) -> Vec<(Class, u64)> {
        let all = Class::ALL
            .into_iter()
            .map(|class| (class, self.operations[class] * self.grid.sections as u64));
        all.filter(|(_, count)| *count > 0).collect()
    }

    /// Puts the packed matrix into the system memory of a job, before time begins.
    ///
    /// # Errors
    /// It does not fit.
    pub fn place(self: &Arc<Self>, job: &mut Job) -> Result<PlacedGather, SparseError> {
        let masks = mask_table(&self.sets, self.grid.sections, self.mask_bytes());
        let words: Vec<u64> = self
            .pages
            .iter()
            .flat_map(|page| &page.words)
            .copied()
            .collect();
        let values = self
            .pages
            .iter()
            .flat_map(|page| page.alone.iter().flatten().chain(&page.values));
        let values: Vec<u32> = values.copied().collect();
        // The other sections must find finite numbers where one section alone has values: their own earlier
        // values, or these zeros.
        let zeros = vec![0.0f32; self.layout.alone / 4];
        Ok(PlacedGather {
            gather: self.clone(),
            program: job.program(NAME, &self.resident)?,
            masks: job.table(&masks)?,
            words: job.table(&words)?,
            values: job.table(&values)?,
            zeros: job.table(&zeros)?,
        })
    }

    /// Returns the bytes of a section's masks.
    fn mask_bytes(&self) -> usize {
        self.layout.values[0] as usize
    }
}

/// Most masks in addition to those that every matrix needs.
const MAX_EXTRA_MASKS: usize = 12;

fn short(machine: &Machine, lack: Lack) -> Unfit {
    Unfit {
        kernel: NAME.to_owned(),
        machine: machine.name.clone(),
        lacks: vec![lack],
        diagnostics: Diagnostics::default(),
    }
}
