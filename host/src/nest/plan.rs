//! The pages of a sweep as a value.

use super::args::{FIRST, FLAGS, INDEX, LAST, Layout, MARCHED, NEXT, OPENS, PAGES, SECTION_ORIGIN};
use super::compile::Maker;
use super::cuts::Cuts;
use super::field::AXES;
use super::job::Sweep;
use super::march::{March, Ring, order};
use super::room::Room;
use super::{NestError, choose};
use crate::paging::{PAGE_EVENT, aligned};
use crate::schedule::{DmemMap, PlanError};
use cp2_dma::{Descriptor, Direction};
use cp2_emu::{Area, PageAreas, Protection, Sliding};
use cp2_machine::Machine;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// A transfer of a kind of pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Move {
    /// Index of its input, or of its output.
    pub stream: usize,
    /// That of the kind's first page, in the first buffer.
    pub descriptor: Descriptor,
    /// Bytes in system memory to that of the next page along each axis.
    pub steps: [i64; AXES],
    /// Where pages march, the line of the window that it begins with; it is in the first slot, and moves with the line's.
    pub line: Option<u64>,
}

/// Pages that differ only in where they lie.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kind {
    /// The digits that they have.
    pub when: [Range<u64>; AXES],
    /// Blocks of each section.
    pub blocks: u32,
    /// What they load.
    pub loads: Vec<Move>,
    /// What they store.
    pub stores: Vec<Move>,
    /// The argument words of the first page, those of all sections one behind the other, without what depends on the buffer.
    pub words: Vec<u32>,
    /// What the next page along each axis has more.
    pub steps: [Vec<u32>; AXES],
}

impl Kind {
    /// Number of its pages.
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
pub struct Nest {
    pub(super) sweep: Sweep,
    pub(super) cuts: Cuts,
    /// Pages along each axis: the radices of a page's number.
    pub(super) digits: [u64; AXES],
    pub(super) kinds: Vec<Kind>,
    pub(super) degree: usize,
    pub(super) map: DmemMap,
    /// Addresses of the buffers of each input, then of each output.
    pub(super) places: Vec<Vec<u32>>,
    /// The circular buffer of each, where pages march and it has one: all its places are the same.
    pub(super) rings: Vec<Option<Ring>>,
    /// Bytes of each.
    pub(super) bytes: Vec<u64>,
    /// From a buffer to the first element of its block, or of a ring's line.
    pub(super) interior: Vec<u32>,
    pub(super) tables: Vec<u32>,
    pub(super) scratch: u32,
    /// Addresses of the argument blocks.
    pub(super) slots: Vec<u32>,
    pub(super) layout: Layout,
    /// Of a reduction: where the results of all sections come to.
    pub(super) gathered: u32,
    /// What transfers are made by: the DMA's granule, what buffers are aligned to, the DMA's levels.
    pub(super) granule: u64,
    pub(super) quad: u64,
    pub(super) levels: usize,
    pub(super) expected: f64,
}

/// A number of bytes inside DMEM, whose addresses are u32.
fn narrow(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// What a nest is made with.
#[derive(Clone, Copy, Debug)]
pub(super) struct Size {
    /// The axis that is dealt to the sections.
    pub(super) deal: usize,
    /// Blocks of each section in a page, and in the first one.
    pub(super) blocks: u64,
    pub(super) first: u64,
    /// Buffers.
    pub(super) degree: usize,
}

impl Nest {
    /// Cuts `sweep` into pages for `machine`.
    ///
    /// # Errors
    /// The first rule that the sweep breaks, or that it does not fit.
    pub fn new(sweep: Sweep, machine: &Machine) -> Result<Self, NestError> {
        sweep.check(aligned(machine), machine.cp2.dmem.0)?;
        let nest = choose::choose(&sweep, machine)?;
        nest.validate(machine)?;
        Ok(nest)
    }

    /// The nest of pages of such a size; none where they do not fit.
    pub(super) fn of(
        sweep: &Sweep,
        machine: &Machine,
        size: Size,
    ) -> Result<Option<Self>, NestError> {
        let quad = aligned(machine);
        let sections = machine.cp2.sections.max(1) as u64;
        let cuts = Cuts::new(sweep.grid(), size.deal, sections, size.blocks, size.first)
            .shared(sweep.shares);
        let digits = cuts.digits();
        let streams: Vec<_> = sweep.inputs.iter().chain(&sweep.outputs).collect();
        // What a block hands over is stored before it is loaded.
        let between = digits.iter().product::<u64>() / digits[size.deal].max(1);
        if sweep.shares && between < size.degree as u64 {
            return Ok(None);
        }
        let words = 3 + sweep.inputs.len().max(1) + sweep.outputs.len().max(1) - 1
            + sweep.tables.len()
            + sweep.words.len();
        let rings = sweep.inputs.iter();
        let rings = rings.filter_map(|field| Ring::new(sweep, field, digits, size.degree));
        let lines = rings.map(|ring| ring.window).sum();
        let counts = [sweep.inputs.len(), sweep.outputs.len()];
        let layout = Layout::new(counts, lines, words, quad);
        let maker = Maker {
            sweep,
            cuts: &cuts,
            places: Vec::new(),
            layout,
            degree: size.degree,
            granule: machine.dma.granule.0.max(1),
            quad,
            levels: machine.dma.levels,
        };
        let Some(room) = Room::new(&maker, machine, size) else {
            return Ok(None);
        };
        let first: Vec<u32> = room
            .places
            .iter()
            .map(|buffers| buffers.first().copied().unwrap_or(0))
            .collect();
        let interior = streams.iter().map(|field| match field.within {
            // Its place is that of the block already.
            Some(_) => 0,
            None => narrow(maker.interior(field)),
        });
        let interior = interior.collect();
        let bytes = streams.iter().map(|field| maker.bytes(field)).collect();
        let rings = streams.iter().map(|field| maker.ring(field)).collect();
        let kinds = Maker {
            places: first,
            ..maker
        }
        .kinds()?;
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
            granule: machine.dma.granule.0.max(1),
            quad,
            levels: machine.dma.levels,
            expected: 0.0,
            cuts,
        };
        nest.expected = choose::expected(&nest, machine);
        Ok(Some(nest))
    }

    fn validate(&self, machine: &Machine) -> Result<(), NestError> {
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
                        cp2_dma::validate(&descriptor, machine).map_err(|error| {
                            let stream = self.stream(direction, stream).to_owned();
                            PlanError::Transfer {
                                page,
                                stream,
                                error: Box::new(error),
                            }
                        })?;
                    }
                }
            }
        }
        Ok(())
    }

    /// The sweep.
    #[must_use]
    pub fn sweep(&self) -> &Sweep {
        &self.sweep
    }

    /// Number of pages.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "a nest has at least one page")]
    pub fn len(&self) -> u64 {
        self.digits.iter().product()
    }

    /// The page behind whose stores page `k` is loaded: the one whose buffers it takes, or of marches that are apart the last one of the march before.
    #[must_use]
    pub fn behind(&self, k: u64) -> Option<u64> {
        let own = k.checked_sub(self.degree as u64);
        let march = self.sweep.march.filter(|_| self.sweep.marches_apart);
        let pages = march.map(|march| self.digits[march.axis()].max(1));
        let before = pages.and_then(|pages| (k - k % pages).checked_sub(1));
        own.max(before)
    }

    /// Pages in DMEM at a time.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Number of blocks.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.sweep.grid().iter().product()
    }

    /// Pages along each axis, slowest first.
    #[must_use]
    pub fn digits(&self) -> [u64; AXES] {
        self.digits
    }

    /// The kinds of pages.
    #[must_use]
    pub fn kinds(&self) -> &[Kind] {
        &self.kinds
    }

    /// Where everything lies in DMEM.
    #[must_use]
    pub fn map(&self) -> &DmemMap {
        &self.map
    }

    /// Cycles expected: with its kernel ([`Sweep::cycles`]), or with one as fast as the DMA.
    #[must_use]
    pub fn expected(&self) -> f64 {
        self.expected
    }

    /// The name of a stream.
    #[must_use]
    pub fn stream(&self, direction: Direction, index: usize) -> &str {
        let streams = match direction {
            Direction::Load => &self.sweep.inputs,
            Direction::Store => &self.sweep.outputs,
        };
        streams.get(index).map_or("", |field| &field.name)
    }

    /// The number of the page at such digits.
    pub(crate) fn number(&self, digits: [u64; AXES]) -> u64 {
        let order = order(self.sweep.march).into_iter();
        order.fold(0, |number, axis| number * self.digits[axis] + digits[axis])
    }

    /// The digits of page `k`.
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

    /// The kind of page `k`, and how many steps along each axis it is from the first of them.
    fn kind(&self, k: u64) -> Option<(&Kind, [u64; AXES])> {
        let digits = self.place(k);
        let has = |kind: &&Kind| (0..AXES).all(|axis| kind.when[axis].contains(&digits[axis]));
        let kind = self.kinds.iter().find(has)?;
        Some((
            kind,
            [0, 1, 2].map(|axis| digits[axis] - kind.when[axis].start),
        ))
    }

    fn ring(&self, stream: usize) -> Option<&Ring> {
        self.rings.get(stream)?.as_ref()
    }

    /// The stream whose buffer it is that a stream lies in, its own or that of an input, and planes from that one's block to its own.
    fn lying(&self, stream: usize) -> (usize, i64) {
        let inputs = &self.sweep.inputs;
        let outputs = stream.checked_sub(inputs.len());
        let field = match outputs {
            None => inputs.get(stream),
            Some(output) => self.sweep.outputs.get(output),
        };
        let within = field.and_then(|field| field.within);
        within.map_or((stream, 0), |within| (within.input, within.plane))
    }

    fn buffer(&self, k: u64) -> usize {
        (k % self.degree as u64) as usize
    }

    /// The transfers of page `k`, with the index of the stream of each.
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
            Direction::Load => self.wrapped(k),
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
            let (lying, _) = self.lying(first + one.stream);
            if let (Some(line), Some(ring)) = (one.line, self.ring(lying)) {
                d.local += narrow(ring.slot(k, line) * ring.pitch);
            }
            (one.stream, d)
        });
        let mut all: Vec<_> = all.collect();
        all.extend(wrapped);
        all
    }

    /// The transfers of page `k` into rings that it loads in two parts, with the index of the stream of each.
    fn wrapped(&self, k: u64) -> Vec<(usize, Descriptor)> {
        let (mut all, mut maker) = (Vec::new(), None);
        for (index, ring) in self.rings.iter().enumerate() {
            let ring = self.sweep.march.zip(ring.as_ref());
            let parts = ring.and_then(|(march, ring)| Some((march, ring, ring.wrapped(k)?)));
            let Some((march, ring, parts)) = parts else {
                continue;
            };
            let maker = maker.get_or_insert_with(|| self.maker());
            for lines in parts {
                // A part of what is planned breaks no rule that all of it keeps.
                let made = maker.lines_of(index, (march, &lines), self.place(k));
                all.extend(made.unwrap_or_default().into_iter().map(|mut d| {
                    d.local += narrow(ring.slot(k, lines.start) * ring.pitch);
                    (index, d)
                }));
            }
        }
        all
    }

    /// What its pages are made with.
    pub(super) fn maker(&self) -> Maker<'_> {
        let first = |buffers: &Vec<u32>| buffers.first().copied().unwrap_or(0);
        Maker {
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

    /// The argument block of page `k` for each section, one behind the other; `k` may be one past the last page of a reduction.
    #[must_use]
    pub fn arguments(&self, k: u64) -> Vec<u32> {
        self.arguments_at(k, k)
    }

    /// The same where windows that slide are where those of page `slid` are.
    fn arguments_at(&self, k: u64, slid: u64) -> Vec<u32> {
        let pages = self.len();
        let last = k.min(pages - 1);
        let Some((kind, steps)) = self.kind(last) else {
            return Vec::new();
        };
        let mut words = kind.words.clone();
        for (more, &times) in kind.steps.iter().zip(&steps) {
            for (word, step) in words.iter_mut().zip(more) {
                *word = word.wrapping_add(step.wrapping_mul(times as u32));
            }
        }
        let layout = self.layout;
        let block = layout.bytes() as usize / 4;
        let buffer = self.buffer(k);
        let inputs = self.sweep.inputs.len();
        let at = |index: usize| {
            let first = self
                .places
                .get(index)
                .map_or(0, |p| p[buffer] + self.interior[index]);
            // The first line behind the halo.
            let (lying, plane) = self.lying(index);
            let ring = self.ring(lying);
            let behind = |ring: &Ring| {
                let line = ((ring.window - ring.block) / 2).wrapping_add_signed(plane);
                narrow(ring.slot(slid, line) * ring.pitch)
            };
            first + ring.map_or(0, behind)
        };
        let lines = self.lines(slid);
        let counts = [inputs, self.sweep.outputs.len()];
        let mut own = vec![
            if inputs > 0 { at(0) } else { 0 },
            at(inputs),
            0,
            self.scratch,
        ];
        own.extend((1..inputs).map(at));
        own.extend((inputs + 1..self.places.len()).map(at));
        own.extend(&self.tables);
        own.extend(&self.sweep.words);
        let word = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        for words in words.chunks_mut(block.max(1)) {
            let mut put = |at: i64, value: u32| words[layout.word(at)] = value;
            for (i, &value) in own.iter().enumerate().filter(|(i, _)| *i != 2) {
                put(4 * i as i64, value);
            }
            for (n, &(line, next)) in lines.iter().enumerate() {
                let at = Layout::line(counts, n as u64);
                put(at, line);
                put(at + 4, next);
            }
            put(
                NEXT,
                self.slots[((k + 1) % self.slots.len() as u64) as usize],
            );
            put(PAGES, word(pages));
            put(INDEX, word(k));
            let follows = self.cuts.follows(self.place(last));
            put(OPENS, u32::from(self.cuts.shares && !follows));
            put(MARCHED, word(self.marched(last)));
            let flag = |is: bool, flag: u32| if is { flag } else { 0 };
            put(FLAGS, flag(k == 0, FIRST) | flag(k + 1 == pages, LAST));
            if k >= pages {
                put(0, self.gathered);
                put(8, word(self.cuts.sections));
            }
        }
        words
    }

    /// How many pages of its march are before page `k`, at most as many as a window has lines of.
    fn marched(&self, k: u64) -> u64 {
        let common = self.rings.iter().flatten().map(Ring::common).max();
        let axis = self.sweep.march.map(March::axis);
        let before = axis.map_or(0, |axis| self.place(k)[axis]);
        before.min(common.unwrap_or(0))
    }

    /// The address of each line of page `k`'s windows that slide, input by input, and of the line behind it in its window.
    fn lines(&self, k: u64) -> Vec<(u32, u32)> {
        let mut all = Vec::new();
        for (index, ring) in self.rings.iter().enumerate() {
            let Some(ring) = ring else { continue };
            let at = |line: u64| {
                let place = self.places[index][0] + self.interior[index];
                place + narrow(ring.slot(k, line) * ring.pitch)
            };
            let next = |line: u64| match line + 1 < ring.window {
                true => at(line + 1),
                false => 0,
            };
            all.extend((0..ring.window).map(|line| (at(line), next(line))));
        }
        all
    }

    /// Where the words of argument blocks lie.
    #[must_use]
    pub fn layout(&self) -> Layout {
        self.layout
    }

    /// The argument block of page `k` for one section, of a run of so many pages whose next block is at `next`: what decides how
    /// long the kernel takes. What only says where in its array a page is, is left out.
    #[must_use]
    pub fn counted_arguments(&self, k: u64, pages: u32, next: u32) -> Vec<u32> {
        let mut words = self.arguments_at(k, 0);
        words.truncate(self.layout.bytes() as usize / 4);
        let origin = (0..4).map(|word| (SECTION_ORIGIN + 4 * word, 0));
        let own = [(NEXT, next), (PAGES, pages), (INDEX, 0)];
        for (at, value) in own.into_iter().chain(origin) {
            if let Some(word) = words.get_mut(self.layout.word(at)) {
                *word = value;
            }
        }
        words
    }

    /// Whether the arguments of page `k` must be loaded with it: of the words that the kernel reads some differ from those that its
    /// buffer's block has.
    #[must_use]
    pub fn changes_arguments(&self, k: u64) -> bool {
        if k == 0 {
            return false;
        }
        let Some(before) = k.checked_sub(self.slots.len() as u64) else {
            return true;
        };
        if k >= self.len() {
            return true;
        }
        let (before, now) = (self.arguments(before), self.arguments(k));
        let block = self.layout.bytes() as usize / 4;
        let differs = before
            .iter()
            .zip(&now)
            .enumerate()
            .filter(|(_, (a, b))| a != b);
        let mut differs =
            differs.map(|(i, _)| 4 * (i % block.max(1)) as i64 - i64::from(self.layout.before));
        differs.any(|at| self.sweep.reads.has(at))
    }

    /// DMEM address of the first page's arguments, what the kernel gets.
    #[must_use]
    pub fn first_arguments(&self) -> u32 {
        self.slots.first().copied().unwrap_or(0)
    }

    /// Where argument blocks begin, and how many of them lie there one behind the other: two, or the one that there is.
    pub(crate) fn argument_blocks(&self) -> Option<(u32, u32)> {
        let begin = |slot: &u32| slot.checked_sub(self.layout.before);
        if let [one] = &self.slots[..] {
            return Some((begin(one)?, 1));
        }
        let mut two = self.slots.windows(2);
        let behind = |two: &&[u32]| two[1].checked_sub(two[0]) == Some(self.layout.bytes());
        Some((begin(two.find(behind)?.first()?)?, 2))
    }

    /// What the page kernel may touch: its windows and blocks, tables, scratch, arguments and program data.
    #[must_use]
    pub fn protection(&self) -> Protection {
        let area = |address: u64, bytes: u64| Area {
            address: u32::try_from(address).unwrap_or(u32::MAX),
            bytes: u32::try_from(bytes.next_multiple_of(16)).unwrap_or(u32::MAX),
        };
        let named = |name: &str| {
            self.map
                .regions
                .iter()
                .find(|r| r.name == name)
                .map(|r| area(r.address, r.bytes))
        };
        let reserved = self.sweep.reserved.iter().map(|r| area(r.address, r.bytes));
        let tables = self.sweep.tables.iter().zip(&self.tables);
        let tables = tables.map(|(table, &at)| area(at.into(), table.bytes));
        let resident = ["scratch", "results of all sections", "result"]
            .into_iter()
            .filter_map(named);
        let arguments = self.slots.iter().map(|&slot| {
            area(
                u64::from(slot - self.layout.before),
                self.layout.bytes().into(),
            )
        });
        let buffers = (0..self.degree).map(|buffer| {
            let all = self.places.iter().zip(&self.bytes).enumerate();
            let all = all.zip(&self.rings);
            // What lies in a buffer of others is theirs.
            let all = all.filter(|((index, (places, _)), ring)| {
                let own = self.lying(*index).0 == *index;
                own && ring.is_none() && (places.len() > 1 || self.degree == 1)
            });
            all.map(|((_, (places, &bytes)), _)| area(places[buffer].into(), bytes))
                .collect()
        });
        let rings = self.places.iter().zip(&self.bytes).zip(&self.rings);
        let sliding = rings
            .enumerate()
            .filter_map(|(index, ((places, &bytes), ring))| {
                let (&at, ring) = (places.first()?, ring.as_ref()?);
                let input = self.sweep.inputs.get(index);
                let writes = input.is_some_and(|input| input.room > 0);
                Some(Sliding {
                    area: area(at.into(), bytes),
                    pitch: narrow(ring.pitch),
                    lines: ring.lines,
                    window: ring.window,
                    first: ring.begin(0),
                    step: ring.block,
                    row: (ring.pages, ring.begin(ring.pages) - ring.begin(0)),
                    writes,
                })
            });
        Protection {
            signal: PAGE_EVENT,
            own: reserved.chain(tables).chain(resident).collect(),
            arguments: arguments.collect(),
            pages: vec![PageAreas {
                pages: self.len(),
                areas: buffers.collect(),
            }],
            windows: sliding.collect(),
        }
    }
}
