//! Pages: counts of steps, indices and values, and the results that they leave.

use super::SellLoads;
use super::layout::{BUFFERS, HEADER_WORDS, SellDivision, SellLayout};
use super::rows::{RowPart, RowSlice, SLICE_SUMS, SellShape, SumPlaces};
use crate::sparse::work::PackingWork;
use cp2_problems::sparse::SparseMatrix;
use std::ops::Range;

/// Number of quads that a turn of the kernel shifts.
const SHIFTED_QUADS: usize = 8;

/// Shares of a segment in its parts, of their sum. While one is shifted, the next is loaded, which takes half
/// as long.
const PART_SHARES: [usize; 3] = [1, 2, 4];
/// Least numbers of a segment that is divided into parts.
const LEAST_DIVIDED: usize = 1024;

/// Approximate number of steps of the first page and of the last: with little data there is little to wait
/// for.
const END_PAGE_STEPS: usize = 12;

/// Words of a quad.
const QUAD_WORDS: usize = 4;

/// Operations for a lane of a step: its part, the entry's column and value, the parity of the column, the
/// address, and two words stored.
const LANE_OPERATIONS: u64 = 10;
/// Operations for a slice that is put into a page: its steps are added up and compared with three limits.
const SLICE_OPERATIONS: u64 = 8;

/// A page. Nothing in it depends on the addresses of arrays in system memory.
#[derive(Clone, Debug, Default)]
pub(super) struct SellPage {
    /// Header and counts.
    pub(super) index: Vec<u32>,
    /// Indices and values, section after section.
    pub(super) stream: Vec<u32>,
    /// Part of the vector that the page brings.
    pub(super) segment: Option<SegmentPart>,
    /// Rows of each section whose results are stored when the page is done.
    pub(super) results: Range<usize>,
    /// Steps of its slices.
    pub(super) steps: usize,
    /// True if its numbers are sums.
    pub(super) sums: bool,
}

/// A part of a segment of the vector.
#[derive(Clone, Debug)]
pub(super) struct SegmentPart {
    /// First column, and the numbers from there on in whole granules.
    pub(super) column: usize,
    pub(super) numbers: usize,
    /// Address in local memory.
    pub(super) address: u32,
    /// True if the part is the first of its segment.
    pub(super) first: bool,
}

/// Steps of a slice in a page.
#[derive(Clone, Debug, PartialEq, Eq)]
struct SliceSteps {
    slice: usize,
    steps: Range<usize>,
}

/// Divides slices among pages of at most `most` steps, which grow from small ones if `grows`. A slice may go
/// on in the next page.
fn cut_slices<T>(slices: &[RowSlice<T>], most: usize, target: &mut usize) -> Vec<Vec<SliceSteps>> {
    let mut left: usize = slices.iter().map(|slice| slice.steps).sum();
    let limit = |target: usize, left: usize| {
        target
            .min((left / 3).max(END_PAGE_STEPS))
            .clamp(1, most.max(1))
    };
    let mut all = Vec::new();
    let mut page: Vec<SliceSteps> = Vec::new();
    let mut free = limit(*target, left);
    for (slice, own) in slices.iter().enumerate() {
        let mut done = 0;
        while done < own.steps {
            let steps = (own.steps - done).min(free);
            page.push(SliceSteps {
                slice,
                steps: done..done + steps,
            });
            done += steps;
            free -= steps;
            left -= steps;
            if free == 0 {
                all.push(std::mem::take(&mut page));
                *target = (2 * *target).min(most);
                free = limit(*target, left);
            }
        }
    }
    if !page.is_empty() {
        all.push(page);
    }
    all
}

/// Divides slices of sums among pages: whole units of rows, of `unit` slices.
fn cut_sums(
    slices: &[RowSlice<SumPlaces>],
    unit: usize,
    layout: &SellLayout,
) -> Vec<Vec<SliceSteps>> {
    let mut all = Vec::new();
    let mut page: Vec<SliceSteps> = Vec::new();
    let mut steps = 0;
    for (number, own) in slices.chunks(unit).enumerate() {
        let more: usize = own.iter().map(|slice| slice.steps).sum();
        let full = steps + more > layout.steps[1] || page.len() + own.len() > layout.sum_slices;
        if full && !page.is_empty() {
            all.push(std::mem::take(&mut page));
            steps = 0;
        }
        steps += more;
        page.extend(own.iter().enumerate().map(|(i, own)| SliceSteps {
            slice: number * unit + i,
            steps: 0..own.steps,
        }));
    }
    if !page.is_empty() {
        all.push(page);
    }
    all
}

/// An operand of a lane: the half-word of its address, and its value.
type LaneOperand = (u16, u32);

/// Packs the slices of a page: operands come from `operand`, by slice, lane of all sections, and step.
fn stream<T>(
    slices: &[RowSlice<T>],
    page: &[SliceSteps],
    shape: SellShape,
    values: bool,
    operand: impl Fn(&T, usize, usize) -> Option<LaneOperand>,
) -> Vec<u32> {
    let steps: Vec<(usize, usize)> = page
        .iter()
        .flat_map(|own| own.steps.clone().map(|step| (own.slice, step)))
        .collect();
    let mut all = Vec::new();
    for section in 0..shape.sections {
        let operands = |step: Option<&(usize, usize)>| {
            let lane = |lane: usize| {
                let (slice, step) = step?;
                let content = slices.get(*slice)?.lanes.get(section * SLICE_SUMS + lane)?;
                operand(content.as_ref()?, lane, *step)
            };
            std::array::from_fn::<LaneOperand, SLICE_SUMS, _>(|own| lane(own).unwrap_or((0, 0)))
        };
        let begin = all.len();
        // Indices are one step further ahead than values.
        let index = |all: &mut Vec<u32>, operands: &[LaneOperand; SLICE_SUMS]| {
            let pairs = operands.chunks_exact(2);
            all.extend(pairs.map(|pair| u32::from(pair[0].0) | u32::from(pair[1].0) << 16));
        };
        let mut next = operands(steps.first());
        index(&mut all, &next);
        for step in 0..steps.len() {
            let own = next;
            next = operands(steps.get(step + 1));
            index(&mut all, &next);
            if values {
                all.extend(own.iter().map(|(_, value)| *value));
            }
        }
        let whole = (all.len() - begin).next_multiple_of(shape.granule / 4);
        all.resize(begin + whole, 0);
    }
    all
}

/// Returns the pages of a matrix.
pub(super) fn pages(
    matrix: &SparseMatrix,
    shape: SellShape,
    division: &SellDivision,
    work: &PackingWork,
) -> Vec<SellPage> {
    let SellDivision { layout, windows } = division;
    let mut pages: Vec<SellPage> = Vec::new();
    let mut loaded = None;
    let mut target = END_PAGE_STEPS;
    for window in windows {
        for tile in &window.tiles {
            if loaded.as_ref() != Some(&tile.columns) {
                pages.extend(segment_pages(&tile.columns, layout, shape));
                loaded = Some(tile.columns.clone());
            }
            let operand = |part: &RowPart, lane: usize, step: usize| {
                let entry = part.entries.start + step;
                (entry < part.entries.end).then(|| {
                    let column = matrix.columns().get(entry).copied().unwrap_or(0) as usize;
                    let at = column.saturating_sub(tile.columns.start);
                    let address = match shape.loads {
                        SellLoads::Words => layout.segment + 4 * at as u32,
                        SellLoads::Pairs if (at ^ lane) & 1 == 0 => {
                            layout.segment + 4 * (at - (lane & 1)) as u32
                        }
                        SellLoads::Pairs => layout.shifted + 4 * (at + 1 - (lane & 1)) as u32,
                    };
                    (shape.loads.index(address), matrix.real(entry).to_bits())
                })
            };
            for cut in cut_slices(&tile.slices, layout.steps[0], &mut target) {
                let packed = stream(&tile.slices, &cut, shape, true, operand);
                let results = result_address(layout.sums, &cut, tile.before);
                let mut page = SellPage::of_slices(&tile.slices, &cut, (results, false));
                page.stream = packed;
                page.count(shape, work);
                pages.push(page);
            }
        }
        let own = window.tiles.first().map_or(0, |tile| tile.own.start);
        let unit = shape.unit() / SLICE_SUMS;
        for cut in cut_sums(&window.sums, unit, layout) {
            let operand = |places: &SumPlaces, lane: usize, step: usize| {
                let place = places.get(step)?;
                let beside = match shape.loads {
                    SellLoads::Words => 0,
                    SellLoads::Pairs => (lane & 1) as u32,
                };
                Some((shape.loads.index(layout.sums + 4 * (place - beside)), 0))
            };
            let mut page = SellPage::of_slices(&window.sums, &cut, (0, true));
            page.stream = stream(&window.sums, &cut, shape, false, operand);
            let slices =
                cut.first().map_or(0, |own| own.slice)..cut.last().map_or(0, |own| own.slice + 1);
            page.results = own + SLICE_SUMS * slices.start..own + SLICE_SUMS * slices.end;
            page.count(shape, work);
            pages.push(page);
        }
    }
    let count = pages.len();
    for (number, page) in pages.iter_mut().enumerate() {
        page.place(layout, (number, count), shape);
    }
    pages
}

/// Returns the address of the sums of a page's first slice.
fn result_address(sums: u32, cut: &[SliceSteps], before: usize) -> u32 {
    let first = cut.first().map_or(0, |own| own.slice);
    sums + (4 * SLICE_SUMS * (before + first)) as u32
}

/// Returns the pages that bring a segment of the vector.
fn segment_pages(columns: &Range<usize>, layout: &SellLayout, shape: SellShape) -> Vec<SellPage> {
    let all = shape.round_to_granules(columns.len()).max(QUAD_WORDS);
    let copied = shape.loads == SellLoads::Pairs;
    let shares = match all {
        LEAST_DIVIDED.. if copied => &PART_SHARES[..],
        _ => &PART_SHARES[..1],
    };
    let sum: usize = shares.iter().sum();
    let mut pages = Vec::with_capacity(shares.len());
    let (mut share, mut begin) = (0, 0);
    for own in shares {
        share += own;
        let end = shape.round_to_granules(all * share / sum);
        if end == begin {
            continue;
        }
        let quads = (end - begin) / QUAD_WORDS;
        let address = layout.segment + 4 * begin as u32;
        let [turns, rest] = [quads / SHIFTED_QUADS, quads % SHIFTED_QUADS];
        pages.push(SellPage {
            index: vec![
                u32::MAX,
                0,
                0,
                0,
                if copied { address } else { 0 },
                layout.shifted + 4 * begin as u32,
                turns as u32,
                rest as u32,
            ],
            segment: Some(SegmentPart {
                column: columns.start + begin,
                numbers: end - begin,
                address,
                first: begin == 0,
            }),
            ..SellPage::default()
        });
        begin = end;
    }
    pages
}

impl SellPage {
    /// Makes the header and the counts of a page of slices.
    fn of_slices<T>(
        slices: &[RowSlice<T>],
        cut: &[SliceSteps],
        (results, sums): (u32, bool),
    ) -> Self {
        let unfinished = cut.last().is_some_and(|own| {
            let slice = slices.get(own.slice);
            slice.is_some_and(|slice| own.steps.end < slice.steps)
        });
        let single = sums && cut.iter().all(|own| own.steps.len() == 1);
        let mut index = vec![
            (cut.len() as u32).wrapping_sub(1),
            0,
            0,
            0,
            0,
            results,
            u32::from(unfinished),
            u32::from(sums) + u32::from(single),
        ];
        if !single {
            index.extend(cut.iter().flat_map(|own| [own.steps.len() as u32 - 1, 0]));
        }
        Self {
            index,
            steps: cut.iter().map(|own| own.steps.len()).sum(),
            sums,
            ..Self::default()
        }
    }

    /// Counts the operations of packing the page.
    fn count(&self, shape: SellShape, work: &PackingWork) {
        work.add(self.steps * SLICE_SUMS * shape.sections, LANE_OPERATIONS);
        work.add(self.index.len() / 2, SLICE_OPERATIONS);
    }

    /// Enters the addresses of the page's buffers.
    fn place(&mut self, layout: &SellLayout, (number, count): (usize, usize), shape: SellShape) {
        let buffer = number % BUFFERS;
        let next = match number + 1 < count {
            true => layout.index[(number + 1) % BUFFERS],
            false => 0,
        };
        let counts = layout.index[buffer] + 4 * HEADER_WORDS as u32;
        let places = [(1, next), (2, layout.streams[buffer]), (3, counts)];
        let results = self.sums.then_some((5, layout.results[buffer]));
        for (word, address) in places.into_iter().chain(results) {
            if let Some(word) = self.index.get_mut(word) {
                *word = address;
            }
        }
        let whole = shape.round_to_granules(self.index.len());
        self.index.resize(whole, 0);
    }
}
