//! A product as code made for the matrix: the program itself is the packed matrix.
//!
//! No section can load from an address of its own. But an address can be a constant of a word that loads for one multiplication
//! alone, and then every place of the multiplication takes what it needs of what was loaded: a selection under a mask of sections and
//! lanes. So the pattern of the matrix becomes words, one or two for each entry where columns have nothing in common and far fewer where
//! rows are alike, and only the entries themselves are values. Words come page by page into
//! program memory while others run (that the DMA may do so is the assumption D11 of `docs/machine.md`).
//!
//! | what | bytes |
//! |---|---|
//! | values | 4 for each place: as many as the longest row of each group of rows has, in every section |
//! | words | 8 for each distinct address of a multiplication, and for the load of values |
//! | vector | once to every section, segment by segment where local memory does not hold it |

mod block;
mod layout;
mod making;
mod masks;
mod pages;
mod quads;
mod registers;
mod sample;
mod slots;
mod values;
mod words;

pub use slots::Lanes;

use super::{Region, SparseError};
use crate::assembly::{Lack, Unfit, assembly};
use crate::job::Job;
use cp2_asm::{Diagnostics, Options, Program, Source, Value};
use cp2_dma::{Descriptor, Target};
use cp2_emu::count::Step;
use cp2_host::paging::{ListedPage, ListedPass};
use cp2_host::{Buffer, Placed};
use cp2_machine::{Class, ClassMap, Machine};
use cp2_problems::sparse::SparseMatrix;
use layout::{Division, Grid};
use pages::{BUFFERS, Layout, Page, Tile, mask_table};
use registers::Registers;
use sample::Sample;
use slots::{MOST_SECTIONS, Places};
use std::ops::Range;
use std::sync::Arc;

/// Its name in messages and on the timeline.
const NAME: &str = "gather";

/// What no published text says, and this format leans on.
const ASSUMED: &str = "assumed (D11): the DMA writes program memory while a kernel runs; the format `diagonal` does without";

/// Words of a page at least, for that many are needed before and behind.
const LEAST_WORDS: usize = 512;

/// A matrix packed as code.
#[derive(Debug)]
pub struct Gather {
    grid: Grid,
    lanes: Lanes,
    layout: Layout,
    tiles: Vec<Tile>,
    resident: Arc<Program>,
    sets: Vec<Places>,
    pages: Vec<Page>,
    steps: Arc<Vec<Step>>,
    /// Places of values, filled or not.
    places: usize,
    /// What a section issues.
    operations: ClassMap<u64>,
}

/// A packed matrix, and where it lies in the system memory of a job.
#[derive(Clone, Debug)]
pub struct PlacedGather {
    gather: Arc<Gather>,
    program: Placed,
    masks: Buffer<u32>,
    words: Buffer<u64>,
    values: Buffer<f32>,
    zeros: Buffer<f32>,
}

impl Gather {
    /// Packs a matrix for a machine.
    ///
    /// # Errors
    /// The machine has too little of something.
    pub fn new(matrix: &SparseMatrix, machine: &Machine) -> Result<Self, SparseError> {
        let lanes: &[Lanes] = match matrix.is_complex() {
            true => &[Lanes::Both],
            false => &[Lanes::Own, Lanes::Either],
        };
        let sections = machine.cp2.sections;
        if sections > MOST_SECTIONS {
            return Err(SparseError::Sections {
                machine: machine.name.clone(),
                sections,
                most: MOST_SECTIONS,
            });
        }
        let number = if matrix.is_complex() { 8 } else { 4 };
        // Two rows, one beside the other in a section, make a quad of sums of real numbers; the rows of a quad of the result are in groups.
        let quads = (16usize / number).div_ceil(2);
        let needed = lanes
            .iter()
            .map(|&lanes| masks::Masks::needed(sections, lanes).len());
        let needed = needed.max().unwrap_or(0);
        let room = Registers::room(machine.cp2.registers, quads).filter(|&room| room >= needed);
        let Some(room) = room else {
            return Err(short(
                machine,
                Lack::Registers(Registers::least(needed, quads), machine.cp2.registers),
            )
            .into());
        };
        let room = room.min(needed + MOST_MASKS);
        let divisions = layout::divisions(matrix, lanes, room, machine)?;
        let priced = divisions.into_iter().map(|division| {
            let sample = Sample::new(matrix, &division, machine);
            (sample, division)
        });
        let best = priced.min_by(|(a, _), (b, _)| a.cycles.total_cmp(&b.cycles));
        let Some((sample, division)) = best else {
            let dmem = machine.cp2.dmem.0;
            return Err(SparseError::NoRoom { columns: 0, dmem });
        };
        let Division {
            lanes,
            mut layout,
            tiles,
        } = division;
        let grid = Grid::new(matrix.rows(), lanes, machine);
        let chosen = sample.masks(lanes, sections, room);
        let sets = chosen.sets().to_vec();
        let registers = Registers::new(machine.cp2.registers, quads, sets.len());
        let resident = resident(&layout, &registers, (sets.len(), lanes), machine)?;
        let begin = resident.words.len().saturating_sub(1);
        let granule = (machine.dma.granule.0 as usize / 8).max(1);
        let limit = (machine.cp2.program.0 as usize / 8).min(usize::from(u16::MAX));
        let most = limit.saturating_sub(begin) / BUFFERS / granule * granule;
        if most < LEAST_WORDS {
            return Err(SparseError::NoProgramRoom {
                words: most,
                least: LEAST_WORDS,
            });
        }
        layout.alone = alone(matrix, &layout, machine);
        layout.code = std::array::from_fn(|i| u16::try_from(begin + i * most).unwrap_or(u16::MAX));
        layout.most_words = most;
        let made = making::pages(
            matrix,
            lanes,
            (grid, &layout, &tiles),
            (&registers, chosen, &resident),
            machine,
        )?;
        Ok(Self {
            grid,
            lanes,
            layout,
            resident: Arc::new(resident),
            sets,
            places: made.pages.iter().map(Page::values).sum(),
            pages: made.pages,
            steps: Arc::new(made.steps),
            operations: made.operations,
            tiles,
        })
    }

    /// Bytes of the packed matrix.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let page = |page: &Page| 8 * page.words.len() + 4 * page.values();
        self.pages.iter().map(page).sum::<usize>() as u64
    }

    /// Words of generated code.
    #[must_use]
    pub fn words(&self) -> usize {
        self.pages.iter().map(|page| page.words.len()).sum()
    }

    /// Values that the packed matrix has, zeros that fill places among them: numbers of 4 bytes.
    #[must_use]
    pub fn places(&self) -> usize {
        self.places
    }

    /// How columns come to the lanes of a section.
    #[must_use]
    pub fn lanes(&self) -> Lanes {
        self.lanes
    }

    /// How often a segment of the vector is loaded: 1 where local memory holds all of it.
    #[must_use]
    pub fn segments(&self) -> usize {
        self.tiles.iter().filter(|tile| !tile.loaded).count()
    }

    /// Pages.
    #[must_use]
    pub fn pages(&self) -> usize {
        self.pages.len()
    }

    /// What is multiplied with one piece of the vector at a time: kinds in words; rows, columns and kind.
    #[must_use]
    pub fn regions(&self) -> (Vec<String>, Vec<Region>) {
        let kinds = [
            "rows and columns that are multiplied with a piece of the vector",
            "the next ones",
        ];
        let rows = |blocks: &Range<usize>| {
            let (first, end) = (
                blocks.start / self.grid.unit,
                blocks.end.div_ceil(self.grid.unit),
            );
            let row = |unit: usize| (unit * self.grid.unit_rows()).min(self.grid.rows);
            row(first)..row(end)
        };
        let mut regions: Vec<Region> = Vec::new();
        let mut piece = 0;
        for tile in &self.tiles {
            piece += usize::from(!tile.loaded);
            regions.push((rows(&tile.blocks), tile.columns.clone(), piece % 2));
        }
        (kinds.map(str::to_owned).to_vec(), regions)
    }

    /// How it is packed, in words, and what it takes for granted.
    #[must_use]
    pub fn recipe(&self) -> String {
        let lanes = match self.lanes {
            Lanes::Own => "numbers in their own lanes",
            Lanes::Either => "numbers in either lane",
            Lanes::Both => "complex numbers",
        };
        format!(
            "generated code, {lanes}, {} pages of {} words, the vector in {}; {ASSUMED}",
            self.pages(),
            self.words(),
            match self.segments() {
                1 => "one piece".to_owned(),
                loads => format!("{loads} pieces"),
            }
        )
    }

    /// What all sections issue for a product: arithmetic by class, and accesses of local memory that no arithmetic goes along with.
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
        let values: Vec<f32> = values.copied().collect();
        // What sections find where others alone have values is finite: their own earlier ones, or zeros.
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

    /// Bytes of a section's masks.
    fn mask_bytes(&self) -> usize {
        self.layout.values[0] as usize
    }
}

impl PlacedGather {
    /// Adds a product to a job: of the vector at `x`, to the vector at `y`.
    pub fn pass(&self, job: &mut Job, x: u64, y: u64) {
        let Gather {
            grid,
            layout,
            pages: packed,
            ..
        } = &*self.gather;
        let (mut word, mut value) = (self.words.address(), self.values.address());
        let mut pages = Vec::with_capacity(packed.len());
        for (number, page) in packed.iter().enumerate() {
            let side = number % BUFFERS;
            let mut listed = ListedPage::default();
            if number == 0 {
                let bytes = self.gather.mask_bytes() as u64;
                let masks = Target::Blocks {
                    stride: bytes as i64,
                };
                let from = self.masks.address();
                listed.loads.push(Descriptor::load(masks, from, 0, bytes));
                for local in (0..BUFFERS).filter_map(|page| layout.apart(page)) {
                    let zeros = (self.zeros.address(), self.zeros.bytes());
                    let load = Descriptor::load(Target::Broadcast, zeros.0, local, zeros.1);
                    listed.loads.push(load);
                }
            }
            if let Some((columns, local)) = &page.segment {
                // The segment before is in use until its last page is done.
                listed.replaces = number > 0;
                let from = x + (columns.start * grid.number) as u64;
                let bytes = grid.bytes(columns.len()) as u64;
                listed
                    .loads
                    .push(Descriptor::load(Target::Broadcast, from, *local, bytes));
            }
            for (section, own) in page.alone.iter().enumerate() {
                let bytes = 4 * own.len() as u64;
                if let (true, Some(local)) = (bytes > 0, layout.apart(number)) {
                    let target = Target::Section(section as u32);
                    listed
                        .loads
                        .push(Descriptor::load(target, value, local, bytes));
                }
                value += bytes;
            }
            let bytes = 4 * page.values.len() as u64;
            if bytes > 0 {
                let each = bytes / grid.sections as u64;
                let blocks = Target::Blocks {
                    stride: each as i64,
                };
                let local = layout.values[side];
                listed
                    .loads
                    .push(Descriptor::load(blocks, value, local, each));
            }
            value += bytes;
            let bytes = 8 * page.words.len() as u64;
            let local = 8 * u32::from(layout.code[side]);
            listed
                .loads
                .push(Descriptor::load(Target::Program, word, local, bytes));
            word += bytes;
            if let Some((units, local)) = &page.results {
                let row = units.start * grid.unit_rows();
                let rows = (units.end * grid.unit_rows()).min(grid.rows) - row;
                let to = y + (row * grid.number) as u64;
                let bytes = grid.bytes(rows) as u64;
                listed
                    .stores
                    .push(Descriptor::store(Target::Deal, to, *local, bytes));
            }
            pages.push(listed);
        }
        let pass = ListedPass {
            pages,
            buffers: BUFFERS,
            address: 0,
            steps: self.gather.steps.clone(),
            protection: None,
        };
        job.listed(&self.program, self.gather.resident.entry.into(), pass);
    }
}

/// A row of so many times the average is long: its section has it for itself when the others are done.
const LONG: usize = 4;

/// Bytes of a buffer of values that are for what one section alone needs: of a matrix with long rows a third. Values that are not finite
/// must not be where another section multiplies by zero.
fn alone(matrix: &SparseMatrix, layout: &Layout, machine: &Machine) -> usize {
    let long = matrix.longest_row() * matrix.rows() > LONG * matrix.nnz();
    let finite = (0..matrix.nnz()).all(|entry| {
        let value = matrix.value(entry);
        value.re.is_finite() && value.im.is_finite()
    });
    match long && finite {
        true => (layout.value_bytes / 3).next_multiple_of(machine.dma.granule.0.max(16) as usize),
        false => 0,
    }
}

/// Masks beside those that every matrix needs, at most.
const MOST_MASKS: usize = 12;

fn short(machine: &Machine, lack: Lack) -> Unfit {
    Unfit {
        kernel: NAME.to_owned(),
        machine: machine.name.clone(),
        lacks: vec![lack],
        diagnostics: Diagnostics::default(),
    }
}

/// The words that stay.
fn resident(
    layout: &Layout,
    registers: &Registers,
    (masks, lanes): (usize, Lanes),
    machine: &Machine,
) -> Result<Program, Unfit> {
    let free = i64::from(registers.free().end);
    let unroll = match lanes {
        Lanes::Either => ((free - 1) / 2).min(8),
        _ => 0,
    };
    let bases = block::bases(machine.cp2.dmem.0).count() as i64;
    let symbols = [
        ("BASES", bases),
        ("MASKS", masks as i64),
        ("FIRST_MASK", registers.first_mask().into()),
        ("ZERO", registers.zero().into()),
        ("SHIFTED", layout.shifted.into()),
        ("UNROLL", unroll),
        ("ALIGN", (machine.dma.granule.0 as i64 / 8).max(1)),
    ];
    let options = Options {
        defines: symbols
            .map(|(name, value)| (name.to_owned(), Value::Int(value)))
            .into(),
        machine: Some(machine),
        ..Options::default()
    };
    let source = Source::new("gather.s", include_str!("resident.s"));
    Ok(assembly(NAME, (&source, ""), &options)?.program)
}
