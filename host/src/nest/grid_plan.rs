//! A sweep cut into pages, as a value.

use super::argument_words::ArgumentLayout;
use super::dmem_layout::PageRoom;
use super::field::AXES;
use super::grid_pass::GridPass;
use super::march::{LineRing, order};
use super::page_cuts::Cuts;
use super::transfers::PageCompiler;
use super::{NestError, page_choice};
use crate::paging::aligned;
use crate::schedule::{DmemMap, PlanError};
use cp2_dma::{Descriptor, Direction};
use cp2_machine::Machine;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A transfer of a kind of pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BlockTransfer {
    /// Index of the input or of the output.
    pub stream: usize,
    /// Transfer of the kind's first page, in the first buffer.
    pub descriptor: Descriptor,
    /// Bytes in system memory to the transfer of the next page along each axis.
    pub steps: [i64; AXES],
    /// First line of the window that is transferred, if pages march; the local address is that of slot 0 and
    /// moves with the line's slot.
    pub line: Option<u64>,
}

/// Pages that differ only in their addresses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kind {
    /// Ranges of the pages' digits.
    pub when: [Range<u64>; AXES],
    /// Blocks of each section in a page.
    pub blocks: u32,
    /// Loads of the first page.
    pub loads: Vec<BlockTransfer>,
    /// Stores of the first page.
    pub stores: Vec<BlockTransfer>,
    /// Argument words of the first page, all sections' one behind the other, without those that depend on the
    /// buffer.
    pub words: Vec<u32>,
    /// Differences of the words to those of the next page along each axis.
    pub steps: [Vec<u32>; AXES],
}

impl Kind {
    /// Returns the number of pages.
    #[must_use]
    pub fn pages(&self) -> u64 {
        self.when
            .iter()
            .map(|range| range.end - range.start)
            .product()
    }
}

/// A sweep cut into pages: a plain value, independent of any device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GridPlan {
    pub(super) sweep: GridPass,
    pub(super) cuts: Cuts,
    /// Number of pages along each axis: the radices of a page's number.
    pub(super) digits: [u64; AXES],
    pub(super) kinds: Vec<Kind>,
    pub(super) degree: usize,
    pub(super) map: DmemMap,
    /// Addresses of the buffers of each input, then of each output.
    pub(super) places: Vec<Vec<u32>>,
    /// Circular buffer of each stream that has one because pages march; all its addresses in `places` are
    /// equal.
    pub(super) rings: Vec<Option<LineRing>>,
    /// Bytes of each stream's buffer.
    pub(super) bytes: Vec<u64>,
    /// Bytes from a buffer to the first element of its block, or from a ring's line to its first element.
    pub(super) interior: Vec<u32>,
    pub(super) tables: Vec<u32>,
    pub(super) scratch: u32,
    /// Addresses of the argument blocks.
    pub(super) slots: Vec<u32>,
    pub(super) layout: ArgumentLayout,
    /// Address in DMEM of the gathered results of all sections, for a reduction.
    pub(super) gathered: u32,
    /// Stores of the whole result of a reduction.
    pub(super) result: Vec<Descriptor>,
    /// Granule of the DMA in bytes.
    pub(super) granule: u64,
    /// Alignment of buffers in bytes.
    pub(super) quad: u64,
    /// Most levels of a transfer.
    pub(super) levels: usize,
    pub(super) expected: f64,
    /// Bytes of DMEM that are missing for two pages of the least size, if pages come one at a time for that
    /// reason.
    pub(super) short: Option<u64>,
}

/// Converts a number of bytes inside DMEM, whose addresses are u32.
pub(super) fn narrow(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Size of a nest's pages.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageSize {
    /// Axis that is dealt to the sections.
    pub(super) deal: usize,
    /// Blocks of each section in a page.
    pub(super) blocks: u64,
    /// Blocks of each section in the first page and in the last.
    pub(super) first: u64,
    /// Number of buffers.
    pub(super) degree: usize,
}

impl GridPlan {
    /// Cuts `sweep` into pages for `machine`.
    ///
    /// # Errors
    /// The sweep breaks a rule, the first of which is reported, or does not fit.
    pub fn new(sweep: GridPass, machine: &Machine) -> Result<Self, NestError> {
        sweep.check(aligned(machine), machine.cp2.dmem.0)?;
        let nest = page_choice::choose(&sweep, machine)?;
        nest.validate(machine)?;
        Ok(nest)
    }

    /// Returns the nest of pages of the given size, or nothing if they do not fit.
    pub(super) fn cut_pages(
        sweep: &GridPass,
        machine: &Machine,
        size: PageSize,
    ) -> Result<Option<Self>, NestError> {
        let quad = aligned(machine);
        let sections = machine.cp2.sections.max(1) as u64;
        let cuts = Cuts::new(sweep.grid(), size.deal, sections, size.blocks, size.first)
            .shared(sweep.shares);
        let digits = cuts.digits();
        let streams: Vec<_> = sweep.inputs.iter().chain(&sweep.outputs).collect();
        // Rows that a block hands over must be stored before the next block loads them.
        let between = digits.iter().product::<u64>() / digits[size.deal].max(1);
        if sweep.shares && between < size.degree as u64 {
            return Ok(None);
        }
        let words = 3 + sweep.inputs.len().max(1) + sweep.outputs.len().max(1) - 1
            + sweep.tables.len()
            + sweep.words.len();
        let rings = sweep.inputs.iter();
        let rings = rings.filter_map(|field| LineRing::new(sweep, field, digits, size.degree));
        let lines = rings.map(|ring| ring.window).sum();
        let counts = [sweep.inputs.len(), sweep.outputs.len()];
        let layout = ArgumentLayout::new(counts, lines, words, quad);
        let maker = PageCompiler {
            sweep,
            cuts: &cuts,
            places: Vec::new(),
            layout,
            degree: size.degree,
            granule: machine.dma.granule.0.max(1),
            quad,
            levels: machine.dma.levels,
        };
        let Some(room) = PageRoom::new(&maker, machine, size) else {
            return Ok(None);
        };
        let first: Vec<u32> = room
            .places
            .iter()
            .map(|buffers| buffers.first().copied().unwrap_or(0))
            .collect();
        let interior = streams.iter().map(|field| match field.within {
            // The address is that of the block already.
            Some(_) => 0,
            None => narrow(maker.interior(field)),
        });
        let interior = interior.collect();
        let bytes = streams.iter().map(|field| maker.bytes(field)).collect();
        let rings = streams.iter().map(|field| maker.ring(field)).collect();
        let maker = PageCompiler {
            places: first,
            ..maker
        };
        let (kinds, result) = (maker.kinds()?, maker.result()?);
        let mut nest = Self {
            sweep: sweep.clone(),
            digits,
            kinds,
            degree: size.degree,
            map: room.map,
            places: room.places,
            rings,
            bytes,
            interior,
            tables: room.tables,
            scratch: room.scratch,
            slots: room.slots,
            layout,
            gathered: room.gathered,
            result,
            granule: machine.dma.granule.0.max(1),
            quad,
            levels: machine.dma.levels,
            expected: 0.0,
            short: None,
            cuts,
        };
        nest.expected = page_choice::expected(&nest, machine);
        Ok(Some(nest))
    }

    fn validate(&self, machine: &Machine) -> Result<(), NestError> {
        let valid = |page: u64, stream: &str, descriptor: &Descriptor| {
            cp2_dma::validate(descriptor, machine).map_err(|error| PlanError::Transfer {
                page,
                stream: stream.to_owned(),
                error: Box::new(error),
            })
        };
        let pages = self.len();
        if pages > u64::from(u32::MAX) {
            return Err(PlanError::TooLarge {
                what: "number of pages".into(),
                value: pages,
                limit: u32::MAX.into(),
            }
            .into());
        }
        for kind in &self.kinds {
            for end in [false, true] {
                let digits = [0, 1, 2].map(|axis| {
                    let range = &kind.when[axis];
                    if end { range.end - 1 } else { range.start }
                });
                let page = self.number(digits);
                for direction in [Direction::Load, Direction::Store] {
                    for (stream, descriptor) in self.transfers(direction, page) {
                        valid(page, self.stream(direction, stream), &descriptor)?;
                    }
                }
            }
        }
        for descriptor in &self.result {
            valid(pages, self.stream(Direction::Store, 0), descriptor)?;
        }
        Ok(())
    }

    /// Returns the sweep.
    #[must_use]
    pub fn sweep(&self) -> &GridPass {
        &self.sweep
    }

    /// Returns the number of pages.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a nest has at least one page")]
    pub fn len(&self) -> u64 {
        self.digits.iter().product()
    }

    /// Returns the page behind whose stores page `k` is loaded: the one whose buffers it takes, or, if
    /// marches are apart, the last one of the march before.
    #[must_use]
    pub fn find_preceding_page(&self, k: u64) -> Option<u64> {
        let own = k.checked_sub(self.degree as u64);
        let march = self.sweep.march.filter(|_| self.sweep.marches_apart);
        let pages = march.map(|march| self.digits[march.axis()].max(1));
        let before = pages.and_then(|pages| (k - k % pages).checked_sub(1));
        own.max(before)
    }

    /// Returns the number of pages in DMEM at a time.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Returns the bytes of DMEM that are missing for two pages of the least size, if pages come one at a
    /// time for that reason.
    #[must_use]
    pub fn bytes_short(&self) -> Option<u64> {
        self.short
    }

    /// Returns the number of blocks.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.sweep.grid().iter().product()
    }

    /// Returns the number of pages along each axis, slowest first.
    #[must_use]
    pub fn digits(&self) -> [u64; AXES] {
        self.digits
    }

    /// Returns the kinds of pages.
    #[must_use]
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Returns the map of DMEM.
    #[must_use]
    pub fn map(&self) -> &DmemMap {
        &self.map
    }

    /// Returns the expected cycles, with the kernel's ([`GridPass::cycles`]) or with a kernel as fast as the
    /// DMA.
    #[must_use]
    pub fn expected(&self) -> f64 {
        self.expected
    }

    /// Returns the name of a stream.
    #[must_use]
    pub fn stream(&self, direction: Direction, index: usize) -> &str {
        let streams = match direction {
            Direction::Load => &self.sweep.inputs,
            Direction::Store => &self.sweep.outputs,
        };
        streams.get(index).map_or("", |field| &field.name)
    }

    /// Returns the number of the page with the given digits.
    pub(crate) fn number(&self, digits: [u64; AXES]) -> u64 {
        let order = order(self.sweep.march).into_iter();
        order.fold(0, |number, axis| number * self.digits[axis] + digits[axis])
    }

    /// Returns the digits of page `k`.
    pub(super) fn place(&self, k: u64) -> [u64; AXES] {
        let (mut rest, mut digits) = (k, [0; AXES]);
        let [slowest, middle, fastest] = order(self.sweep.march);
        for axis in [fastest, middle] {
            digits[axis] = rest % self.digits[axis].max(1);
            rest /= self.digits[axis].max(1);
        }
        digits[slowest] = rest;
        digits
    }

    /// Returns the kind of page `k`, and the steps along each axis from the kind's first page.
    pub(super) fn kind(&self, k: u64) -> Option<(&Kind, [u64; AXES])> {
        let digits = self.place(k);
        let has = |kind: &&Kind| (0..AXES).all(|axis| kind.when[axis].contains(&digits[axis]));
        let kind = self.kinds.iter().find(has)?;
        Some((
            kind,
            [0, 1, 2].map(|axis| digits[axis] - kind.when[axis].start),
        ))
    }

    pub(super) fn ring(&self, stream: usize) -> Option<&LineRing> {
        self.rings.get(stream)?.as_ref()
    }

    /// Returns the stream in whose buffer a stream lies, itself or an input, and the planes from that
    /// stream's block to its own.
    pub(super) fn resolve_buffer(&self, stream: usize) -> (usize, i64) {
        let inputs = &self.sweep.inputs;
        let outputs = stream.checked_sub(inputs.len());
        let field = match outputs {
            None => inputs.get(stream),
            Some(output) => self.sweep.outputs.get(output),
        };
        let within = field.and_then(|field| field.within);
        within.map_or((stream, 0), |within| (within.input, within.plane))
    }

    pub(super) fn buffer(&self, k: u64) -> usize {
        (k % self.degree as u64) as usize
    }

    /// Returns the transfers of page `k`, with the index of the stream of each.
    #[must_use]
    pub fn transfers(&self, direction: Direction, k: u64) -> Vec<(usize, Descriptor)> {
        let Some((kind, steps)) = self.kind(k) else {
            return Vec::new();
        };
        let (moves, first) = match direction {
            Direction::Load => (&kind.loads, 0),
            Direction::Store => (&kind.stores, self.sweep.inputs.len()),
        };
        let buffer = self.buffer(k);
        let wrapped = match direction {
            Direction::Load => self.wrapped_transfers(k),
            Direction::Store => Vec::new(),
        };
        let whole = moves
            .iter()
            .filter(|one| wrapped.iter().all(|(stream, _)| *stream != one.stream));
        let all = whole.map(|one| {
            let by: i64 = (0..AXES)
                .map(|axis| one.steps[axis] * steps[axis] as i64)
                .sum();
            let places = &self.places[first + one.stream];
            let mut d = one.descriptor.clone();
            d.system = d.system.wrapping_add_signed(by);
            d.local = d.local - places[0] + places[buffer];
            let (lying, _) = self.resolve_buffer(first + one.stream);
            if let (Some(line), Some(ring)) = (one.line, self.ring(lying)) {
                d.local += narrow(ring.slot(k, line) * ring.pitch);
            }
            (one.stream, d)
        });
        let mut all: Vec<_> = all.collect();
        all.extend(wrapped);
        all
    }

    /// Returns the transfers of page `k` into rings where they wrap around and are made in two parts, with
    /// the index of the stream of each.
    fn wrapped_transfers(&self, k: u64) -> Vec<(usize, Descriptor)> {
        let (mut all, mut maker) = (Vec::new(), None);
        for (index, ring) in self.rings.iter().enumerate() {
            let ring = self.sweep.march.zip(ring.as_ref());
            let parts = ring.and_then(|(march, ring)| Some((march, ring, ring.wrapped_lines(k)?)));
            let Some((march, ring, parts)) = parts else {
                continue;
            };
            let maker = maker.get_or_insert_with(|| self.maker());
            for lines in parts {
                // A part of a planned transfer breaks no rule that the whole keeps.
                let made = maker.line_transfers(index, (march, &lines), self.place(k));
                all.extend(made.unwrap_or_default().into_iter().map(|mut d| {
                    d.local += narrow(ring.slot(k, lines.start) * ring.pitch);
                    (index, d)
                }));
            }
        }
        all
    }

    /// Returns the compiler of the nest's pages.
    pub(super) fn maker(&self) -> PageCompiler<'_> {
        let first = |buffers: &Vec<u32>| buffers.first().copied().unwrap_or(0);
        PageCompiler {
            sweep: &self.sweep,
            cuts: &self.cuts,
            places: self.places.iter().map(first).collect(),
            layout: self.layout,
            granule: self.granule,
            quad: self.quad,
            levels: self.levels,
            degree: self.degree,
        }
    }
}
