//! Description of a sweep: arrays through a page kernel, block by block.

use super::argument_words::Reads;
use super::field::{AXES, FirstLoad, GridField, NAMES, UnbufferedBlock, X};
use super::{March, NestError};
use crate::schedule::{BlocksPerSection, Buffering, PlanError, Reserved};
use serde::{Deserialize, Serialize};

/// A sweep of arrays through a page kernel, block by block.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct GridPass {
    /// Arrays that pages load.
    pub inputs: Vec<GridField>,
    /// Arrays that pages store. With [`GridPass::partials`] the one output is a single block: the result of
    /// the reduction of all pages.
    pub outputs: Vec<GridField>,
    /// Tables that stay in DMEM throughout, equal in every section.
    pub tables: Vec<ConstantTable>,
    /// Axis along which pages march: adjacent pages load only the new lines of their windows, and the kernel
    /// reads the addresses of lines. None for a kernel that uses pitches, or that writes into sliding
    /// windows.
    pub march: Option<March>,
    /// Blocks along each axis, if they differ from those of the first stream: for sweeps whose streams begin
    /// before or end behind their arrays ([`GridField::offset`]).
    pub grid: Option<[u64; AXES]>,
    /// True if each section has a share of the rows of blocks, consecutive shares for consecutive sections,
    /// and takes one block a page: a block follows the one before it in the same section. Otherwise the
    /// blocks of a page are adjacent.
    #[serde(default)]
    pub shares: bool,
    /// True if a march begins only when all of the march before is stored: buffers then hold the lines of one
    /// march only, and the kernel waits in between.
    #[serde(default)]
    pub marches_apart: bool,
    /// DMEM bytes of working space.
    pub scratch: u64,
    /// DMEM bytes of working space for every block per section of a page.
    pub scratch_per_block: u64,
    /// DMEM already taken: the program's own data.
    pub reserved: Vec<Reserved>,
    /// Kernel-specific words at the end of the arguments.
    pub words: Vec<u32>,
    /// Argument words that the kernel reads; others need not be loaded again when they change.
    pub reads: Reads,
    /// Blocks of each section in a page.
    pub size: BlocksPerSection,
    /// Number of pages in DMEM at a time.
    pub buffering: Buffering,
    /// Address and bytes of a table of zeros in system memory, for edges; at least a granule if an edge is
    /// zero.
    pub zeros: (u64, u64),
    /// Cycles of the kernel, if known: pages are chosen by them. Otherwise the kernel is taken to be as fast
    /// as the DMA.
    pub cycles: Option<PageCycles>,
    /// Address in system memory where the results of all sections are gathered in a reduction,
    /// [`GridField::result_bytes`] for each section.
    pub partials: Option<u64>,
}

/// Cycles of a page kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PageCycles {
    /// Cycles for each block of a section.
    pub block: u64,
    /// Cycles for a page, besides those of its blocks.
    pub page: u64,
}

/// Data that every page finds at the same DMEM address.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ConstantTable {
    /// Name in listings and on the timeline.
    pub name: String,
    /// Address in system memory.
    pub system: u64,
    /// Size in bytes.
    pub bytes: u64,
}

impl GridPass {
    /// Creates a sweep in which the scheduler chooses everything.
    #[must_use]
    pub fn new(inputs: Vec<GridField>, outputs: Vec<GridField>) -> Self {
        Self {
            inputs,
            outputs,
            tables: Vec::new(),
            march: None,
            grid: None,
            shares: false,
            marches_apart: false,
            scratch: 0,
            scratch_per_block: 0,
            reserved: Vec::new(),
            words: Vec::new(),
            reads: Reads::all(),
            size: BlocksPerSection::ANY,
            buffering: Buffering::Auto,
            zeros: (0, 0),
            cycles: None,
            partials: None,
        }
    }

    /// Lets the kernel leave output `i` where the block of input `i` was.
    #[must_use]
    pub fn compute_in_place(mut self) -> Self {
        for (input, output) in self.outputs.iter_mut().enumerate() {
            output.within = Some(UnbufferedBlock {
                input,
                plane: 0,
                row: 0,
            });
        }
        self
    }

    /// Returns the outputs that every page stores.
    pub(super) fn stored(&self) -> &[GridField] {
        match self.partials {
            Some(_) => &[],
            None => &self.outputs,
        }
    }

    /// Returns the stream that defines how pages are filled: the first input, or else the first output.
    pub(super) fn leading(&self) -> Option<&GridField> {
        self.inputs.first().or(self.outputs.first())
    }

    /// Returns the number of blocks along each axis.
    pub(super) fn grid(&self) -> [u64; AXES] {
        let of = |field: &GridField| [0, 1, 2].map(|axis| field.blocks(axis));
        self.grid
            .unwrap_or_else(|| self.leading().map_or([0; AXES], of))
    }

    /// Checks the rules that do not depend on the page size.
    pub(super) fn check(&self, quad: u64, dmem: u64) -> Result<(), NestError> {
        let Some(first) = self.leading() else {
            return Err(NestError::NoStreams);
        };
        for field in self.inputs.iter().chain(&self.outputs) {
            let name = &field.name;
            for (axis, called) in NAMES.into_iter().enumerate() {
                let zero = |what: &str| PlanError::Zero {
                    what: format!("`{name}`: {what} {called}"),
                };
                if field.shape[axis] == 0 {
                    return Err(zero("number of").into());
                }
                if self.grid.is_some_and(|grid| grid[axis] == 0) {
                    return Err(zero("the grid's number of").into());
                }
                if field.block[axis] == 0 {
                    return Err(zero("a block's number of").into());
                }
                for (what, value) in [
                    ("number of", field.shape[axis]),
                    ("halo's", field.halo[axis]),
                    ("block's", field.block[axis]),
                    ("offset's", field.offset[axis].unsigned_abs()),
                    ("grid's", self.grid.map_or(0, |grid| grid[axis])),
                    ("room's", if axis == 1 { field.room } else { 0 }),
                ] {
                    if value > EXTENT_LIMIT {
                        let what = format!("`{name}`: {what} {called}");
                        return Err(PlanError::TooLarge {
                            what,
                            value,
                            limit: EXTENT_LIMIT,
                        }
                        .into());
                    }
                }
            }
            let window = field.window();
            if window > dmem {
                let reserved = self.reserved.iter().map(|r| r.bytes).sum();
                return Err(NestError::DoesNotFit {
                    needed: window,
                    dmem,
                    reserved,
                });
            }
            let bytes = field.block[X] * field.element;
            if field.blocks(X) > 1 && !bytes.is_multiple_of(quad) {
                let mut nearest = field.block[X];
                while !(nearest * field.element).is_multiple_of(quad) {
                    nearest += 1;
                }
                return Err(NestError::Width {
                    stream: name.clone(),
                    columns: field.block[X],
                    element: field.element,
                    bytes,
                    quad,
                    nearest,
                });
            }
        }
        for field in &self.outputs {
            // An output may have rows besides its blocks: room that is not stored.
            if [field.halo[0], field.halo[X]] != [0; 2] {
                return Err(NestError::OutputHalo {
                    stream: field.name.clone(),
                });
            }
        }
        if self.partials.is_some() {
            let [field] = &self.outputs[..] else {
                return Err(NestError::Reduction {
                    found: self.outputs.len(),
                });
            };
            // There is one block, and the whole array must fit in it.
            if (0..AXES).any(|axis| field.shape[axis] > field.block[axis]) {
                return Err(NestError::ReductionBlock {
                    stream: field.name.clone(),
                    shape: extents(field.shape),
                    block: extents(field.block),
                });
            }
        }
        let own = self.grid.is_some();
        for field in self.inputs.iter().chain(self.stored()).filter(|_| !own) {
            for (axis, called) in NAMES.into_iter().enumerate() {
                let (found, expected) = (field.blocks(axis), first.blocks(axis));
                if found != expected {
                    return Err(NestError::Grid {
                        stream: field.name.clone(),
                        axis: called,
                        found,
                        first: first.name.clone(),
                        expected,
                    });
                }
            }
        }
        if let Some(march) = self.march {
            let slides = |input: &GridField| input.halo[march.axis()] > 0;
            let host = |field: &GridField| {
                let input = self.inputs.get(field.within?.input)?;
                slides(input).then_some(input)
            };
            // Results that a kernel leaves in a plane may be stored from there: the plane is loaded anew
            // after the store.
            let made = |field: &GridField, input: &GridField| {
                input.room > 0 && march == March::Planes && field.block[0] == 1
            };
            let loaded = self.inputs.iter().any(|field| host(field).is_some());
            let mut stored = self.stored().iter();
            let stored = stored.any(|field| host(field).is_some_and(|input| !made(field, input)));
            if loaded || stored {
                return Err(NestError::MarchInPlace { march });
            }
            // If pages are more than the array's blocks, a kernel may keep planes itself.
            if !own && !self.inputs.iter().any(slides) {
                return Err(NestError::MarchHalo { march });
            }
        }
        for (index, field) in self.streams().enumerate() {
            let Some(within) = field.within else { continue };
            let earlier = self.inputs.iter().take(index);
            let whole = |input: &GridField| input.within.is_none();
            let input = earlier.clone().nth(within.input).filter(|one| whole(one));
            let keeps = |input: &GridField| self.march == Some(March::Planes) && input.halo[0] > 0;
            let planes = |input: &GridField| within.plane == 0 || keeps(input);
            if !input.is_some_and(|input| planes(input) && field.has_room_in(within, input)) {
                let stream = field.name.clone();
                return Err(NestError::InPlace { stream });
            }
        }
        let single = self.size == BlocksPerSection::Fixed(1);
        let handed = self.streams().any(|field| {
            field.opening != FirstLoad::Same || field.within.is_some_and(|within| within.row != 0)
        });
        if (self.shares && !single) || (handed && !self.shares) {
            return Err(NestError::Shares);
        }
        Ok(())
    }

    /// Returns all inputs, then all outputs that every page stores.
    fn streams(&self) -> impl Iterator<Item = &GridField> {
        self.inputs.iter().chain(self.stored())
    }
}

impl GridField {
    /// Returns the bytes of the window of one block, with the room behind its rows.
    pub(super) fn window(&self) -> u64 {
        (0..AXES).fold(self.element, |bytes, axis| {
            let room = if axis == 1 { self.room } else { 0 };
            bytes.saturating_mul(self.block[axis] + 2 * self.halo[axis] + room)
        })
    }

    /// Returns true if the block, which has no halo, has room in the window of an input.
    fn has_room_in(&self, within: UnbufferedBlock, input: &Self) -> bool {
        let [planes, rows, columns] = self.block;
        let [sheets, halo, _] = input.halo.map(|n| n as i64);
        let last = within.row.saturating_add(rows as i64);
        (self.element, planes, columns) == (input.element, input.block[0], input.block[X])
            && self.halo == [0; AXES]
            && (-sheets..=sheets).contains(&within.plane)
            && within.row >= -halo
            && last <= input.block[1] as i64 + halo + input.room as i64
    }
}

/// Formats extents as options have them.
fn extents(of: [u64; AXES]) -> String {
    of.map(|n| n.to_string()).join("x")
}

/// Upper bound of extents, beyond any array of a machine: larger ones are refused before arithmetic on them
/// could overflow.
const EXTENT_LIMIT: u64 = 1 << 40;
