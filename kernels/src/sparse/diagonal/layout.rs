//! Local memory, and the division of rows so that they fit.

use super::cells::{DiagonalShape, QUAD, RowChunk, SegmentColumns, cells};
use crate::sparse::SparseError;
use crate::sparse::work::PackingWork;
use cp2_machine::Machine;
use cp2_problems::sparse::SparseMatrix;

/// Number of pages in local memory at a time.
pub(super) const BUFFERS: usize = 4;

/// Number of groups of a unit.
pub(super) const GROUPS: usize = 4;

/// Bytes of a step: a quad for every group of a unit.
pub(super) const STEP_BYTES: usize = 16 * GROUPS;

/// Bytes of a section's values in a page, in the order in which they are tried.
const TRIED_VALUE_BYTES: [usize; 6] = [6144, 4096, 3072, 2048, 1024, 512];

/// Steps of a page above which more chunks than one gain nothing.
const ENOUGH_PAGE_STEPS: usize = 2048 / STEP_BYTES;

/// Words of a page's header, and words behind its addresses.
pub(super) const HEADER_WORDS: usize = 8;
pub(super) const TRAILER_WORDS: usize = 4;

/// Most chunks of a matrix.
const MOST_CHUNKS: usize = 1 << 16;
/// Number of divisions into more chunks that are priced after the best. It bounds the time of packing.
const PRICED_DIVISIONS: usize = 3;

/// Most places for each entry and each row.
const MAX_PLACES_PER_ENTRY: usize = 64;

/// Cycles of the DMA for a page in addition to its bytes. They rank layouts.
const PAGE_DMA_CYCLES: f64 = 24.0;

/// Addresses in local memory, and the size of pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DiagonalLayout {
    pub(super) values: [u32; BUFFERS],
    pub(super) index: [u32; BUFFERS],
    pub(super) results: [u32; BUFFERS],
    pub(super) segments: [u32; 2],
    pub(super) shifted: u32,
    /// Most steps of a page, and most units.
    pub(super) steps: usize,
    pub(super) units: usize,
}

/// Operations to check whether an entry is in the cell of the one before.
const CELL_CHECK_OPERATIONS: u64 = 3;
/// Operations for a group: its number of cells is compared with the most of its unit.
const GROUP_OPERATIONS: u64 = 3;
/// Operations for a unit of parts that are placed: its steps are added up for the memory and for the price.
const UNIT_OPERATIONS: u64 = 4;

/// A chunk, the segment of the vector that it needs, and the number of steps of each unit.
#[derive(Clone, Debug)]
pub(super) struct ChunkPart {
    pub(super) chunk: RowChunk,
    pub(super) segment: SegmentColumns,
    pub(super) units: Vec<usize>,
}

impl ChunkPart {
    fn new(
        chunk: RowChunk,
        matrix: &SparseMatrix,
        grid: DiagonalShape,
        work: &PackingWork,
    ) -> Self {
        let groups = chunk.entries(matrix, work);
        let segment = SegmentColumns::from_groups(&groups, grid, work);
        work.add(groups.iter().map(Vec::len).sum(), CELL_CHECK_OPERATIONS);
        work.add(groups.len(), GROUP_OPERATIONS);
        let counts: Vec<usize> = groups.iter().map(|group| cells(group).count()).collect();
        let most = |unit: &[usize]| unit.iter().copied().fold(1, usize::max);
        Self {
            units: counts.chunks(GROUPS).map(most).collect(),
            chunk,
            segment,
        }
    }
}

/// Allocates local memory for parts with pages of `steps` steps, and returns the layout and its bytes.
fn place(parts: &[ChunkPart], steps: usize) -> (DiagonalLayout, u64) {
    let align = |bytes: usize| bytes.next_multiple_of(64);
    let (all, units) = totals(parts);
    // Pages are full of steps unless they have far more units for their steps than the average.
    let units = (steps * units * 5)
        .div_ceil(all.max(1) * 4)
        .clamp(1, steps.max(1));
    let segment = parts.iter().map(|part| 4 * part.segment.len()).max();
    let segment = align(segment.unwrap_or(0));
    let mut next = 0u64;
    let mut take = |bytes: usize| {
        let at = next;
        next += bytes as u64;
        u32::try_from(at).unwrap_or(u32::MAX)
    };
    // No page is at address 0, which says that no page follows.
    let values = [(); BUFFERS].map(|()| take(steps * STEP_BYTES));
    let index = 4 * (HEADER_WORDS + TRAILER_WORDS) + 4 * GROUPS * steps + 8 * units;
    let index = [(); BUFFERS].map(|()| take(align(index)));
    let results = [(); BUFFERS].map(|()| take(units * STEP_BYTES));
    let first = take(segment);
    let second = if parts.len() > 1 {
        take(segment)
    } else {
        first
    };
    let layout = DiagonalLayout {
        values,
        index,
        results,
        segments: [first, second],
        shifted: take(segment),
        steps,
        units,
    };
    (layout, next)
}

/// Returns the steps and units of all parts.
fn totals(parts: &[ChunkPart]) -> (usize, usize) {
    let all = parts.iter().flat_map(|part| &part.units);
    all.fold((0, 0), |(steps, units), &more| (steps + more, units + 1))
}

/// Returns the approximate cycles of the DMA for all parts in pages of so many steps.
fn price(parts: &[ChunkPart], steps: usize, grid: DiagonalShape, machine: &Machine) -> f64 {
    let (all, units) = totals(parts);
    let columns: usize = parts.iter().map(|part| part.segment.len()).sum();
    let spans: usize = parts.iter().map(|part| part.segment.spans.len()).sum();
    let bytes =
        all * (STEP_BYTES * grid.sections + 4 * GROUPS) + 8 * units + 4 * columns * grid.sections;
    let pages = all.div_ceil(steps.max(1)) + (1 + BUFFERS) * parts.len() + spans * grid.sections;
    crate::job::load(bytes as u64, machine) + PAGE_DMA_CYCLES * pages as f64
}

/// Returns the division of the rows that fits local memory and is loaded the fastest.
pub(super) fn divide(
    matrix: &SparseMatrix,
    grid: DiagonalShape,
    machine: &Machine,
    work: &PackingWork,
) -> Result<(DiagonalLayout, Vec<ChunkPart>), SparseError> {
    let dmem = machine.cp2.dmem.0;
    // With several chunks, local memory holds two segments of the vector and a shifted one, each as long as a
    // chunk's rows.
    let side = 4 * grid.rows.min(grid.cols).div_ceil(grid.sections) as u64;
    let first = if 2 * side <= dmem {
        1
    } else {
        (3 * side / dmem.max(1)).max(2)
    };
    let (mut count, mut tried) = (usize::try_from(first).unwrap_or(MOST_CHUNKS), 0);
    let mut least = u64::MAX;
    let mut best: Option<(f64, DiagonalLayout, Vec<ChunkPart>)> = None;
    while count <= MOST_CHUNKS && tried < PRICED_DIVISIONS {
        let chunks = grid.chunks(count);
        // Local memory holds pages of two chunks at a time, not of three: every chunk but the last needs
        // enough units for all buffers.
        let mut others = chunks.iter().rev().skip(1);
        if others.any(|chunk| chunk.groups().div_ceil(GROUPS) < BUFFERS) {
            break;
        }
        let parts = chunks
            .into_iter()
            .map(|chunk| ChunkPart::new(chunk, matrix, grid, work));
        let parts: Vec<ChunkPart> = parts.collect();
        let places = totals(&parts).0 * GROUPS * QUAD * grid.sections;
        let entries = matrix.nnz().max(matrix.rows());
        // Padding of few rows is allowed.
        let filling = GROUPS * QUAD * grid.sections * parts.len() * grid.granule;
        if places > MAX_PLACES_PER_ENTRY * entries + filling {
            return Err(SparseError::Padding {
                places,
                entries: matrix.nnz(),
            });
        }
        let before = least;
        let fits = TRIED_VALUE_BYTES
            .iter()
            .map(|bytes| bytes / STEP_BYTES)
            .find_map(|steps| {
                work.add(
                    parts.iter().map(|part| part.units.len()).sum(),
                    UNIT_OPERATIONS,
                );
                let (layout, end) = place(&parts, steps);
                least = least.min(end);
                (end <= dmem).then_some((price(&parts, steps, grid, machine), layout))
            });
        let better = |best: &Option<(f64, DiagonalLayout, Vec<ChunkPart>)>, price| {
            best.as_ref().is_none_or(|(known, ..)| price < *known)
        };
        match fits {
            Some((price, layout)) if better(&best, price) => {
                best = Some((price, layout, parts));
                tried = 0;
            }
            // More chunks do not help: the rows need almost the same columns, however few they are.
            _ if best.is_none() && count > 3 && least > before / 20 * 19 => break,
            _ => tried += usize::from(best.is_some()),
        }
        let roomy = |(_, layout, _): &(f64, DiagonalLayout, Vec<ChunkPart>)| {
            layout.steps >= ENOUGH_PAGE_STEPS
        };
        if count == 1 && best.as_ref().is_some_and(roomy) {
            break;
        }
        count += count.div_ceil(4);
    }
    let best = best.map(|(_, layout, parts)| (layout, parts));
    best.ok_or(SparseError::Segment { bytes: least, dmem })
}
