//! Local memory, and the tiles of rows and columns.

use super::block::reachable;
use super::pages::{GatherLayout, MatrixTile, PAGE_BUFFERS, STEP_VALUE_BYTES};
use super::slot_assignment::ColumnLanes;
use crate::sparse::SparseError;
use crate::sparse::work::PackingWork;
use cp2_machine::Machine;
use cp2_problems::sparse::SparseMatrix;

/// Bytes of a section's results in a block: a quad.
const BLOCK_BYTES: usize = 16;

/// Bytes of a buffer of values, in the order in which they are tried.
const TRIED_VALUE_BYTES: [u64; 3] = [4096, 3072, 2048];
/// Most blocks of results in a buffer, where all of the vector is in local memory.
const MAX_RESULT_BLOCKS: u64 = 256;
/// Least columns of a segment, and least blocks of results in a buffer.
const MIN_SEGMENT_COLUMNS: usize = 64;
const MIN_RESULT_BLOCKS: u64 = 16;
/// Most segments, and how many numbers of segments are tried from the fewest on.
const MOST_SEGMENTS: usize = 1 << 20;
const TRIED_SEGMENT_COUNTS: usize = 4;

/// Size of a product in blocks.
#[derive(Clone, Copy, Debug)]
pub(super) struct BlockGrid {
    pub(super) sections: usize,
    /// Bytes of a number.
    pub(super) number: usize,
    /// Bytes that a dealt transfer gives to a section at a time.
    pub(super) dealt: usize,
    /// Blocks of a unit: the fewest whose rows are whole turns of a dealt transfer.
    pub(super) unit: usize,
    pub(super) rows: usize,
    granule: usize,
}

impl BlockGrid {
    pub(super) fn new(rows: usize, lanes: ColumnLanes, machine: &Machine) -> Self {
        let dealt = machine.dma.dealt() as usize;
        Self {
            sections: machine.cp2.sections.max(1),
            number: if lanes == ColumnLanes::Both { 8 } else { 4 },
            dealt,
            unit: dealt.div_ceil(BLOCK_BYTES),
            rows,
            granule: machine.dma.granule.0.max(16) as usize,
        }
    }

    /// Returns the rows of a section in a block.
    pub(super) fn groups(&self) -> usize {
        BLOCK_BYTES / self.number
    }

    /// Returns the rows of all sections in a unit.
    pub(super) fn unit_rows(&self) -> usize {
        self.sections * self.unit * self.groups()
    }

    /// Returns the number of blocks, in whole units.
    pub(super) fn blocks(&self) -> usize {
        self.rows.div_ceil(self.unit_rows()) * self.unit
    }

    /// Returns the row of a section in a group of a block; it may lie behind the end of the matrix.
    pub(super) fn row(&self, block: usize, section: usize, group: usize) -> usize {
        // A dealt transfer gives each section `dealt` bytes in turn. A block may be several such turns, or a
        // part of one.
        let local = block * BLOCK_BYTES + group * self.number;
        let (turn, within) = (local / self.dealt, local % self.dealt);
        ((turn * self.sections + section) * self.dealt + within) / self.number
    }

    /// Returns the bytes of so many numbers in whole granules.
    pub(super) fn bytes(&self, numbers: usize) -> usize {
        (numbers * self.number).next_multiple_of(self.granule)
    }
}

/// A layout of local memory, and the tiles that go with it.
#[derive(Clone, Debug)]
pub(super) struct LayoutOption {
    pub(super) lanes: ColumnLanes,
    pub(super) layout: GatherLayout,
    pub(super) tiles: Vec<MatrixTile>,
}

/// Sizes of a layout: bytes of masks, of a buffer of values and of a segment, and blocks of results in a
/// buffer.
#[derive(Clone, Copy, Debug)]
struct Sizes {
    masks: u64,
    values: u64,
    segment: u64,
    blocks: u64,
    /// Number of buffers of results: two where rows are divided.
    buffers: u64,
}

impl Sizes {
    /// Returns the addresses of all areas, and the end of the memory used.
    fn place(self, lanes: ColumnLanes) -> (GatherLayout, u64) {
        let mut next = self.masks;
        let mut take = |bytes: u64| {
            let at = next;
            next += bytes;
            u32::try_from(at).unwrap_or(u32::MAX)
        };
        let values = [0; PAGE_BUFFERS].map(|_| take(self.values));
        let first = take(16 * self.blocks);
        let results = [
            first,
            if self.buffers > 1 {
                take(16 * self.blocks)
            } else {
                first
            },
        ];
        let segment = take(self.segment);
        let shifted = if lanes == ColumnLanes::Either {
            take(self.segment)
        } else {
            segment
        };
        let layout = GatherLayout {
            values,
            results,
            segment,
            shifted,
            value_bytes: self.values as usize,
            alone: 0,
            blocks: self.blocks as usize,
            code: [0; PAGE_BUFFERS],
            most_words: 0,
        };
        (layout, next)
    }
}

/// Returns the possible divisions of a product whose entries may use these lanes; an error if local memory
/// holds nothing useful.
pub(super) fn divisions(
    matrix: &SparseMatrix,
    lanes: &[ColumnLanes],
    masks: usize,
    (machine, work): (&Machine, &PackingWork),
) -> Result<Vec<LayoutOption>, SparseError> {
    let dmem = reachable(machine);
    let mut all = Vec::new();
    let mut widest = 0;
    for &lanes in lanes {
        let grid = BlockGrid::new(matrix.rows(), lanes, machine);
        let align = |bytes: u64| bytes.next_multiple_of(grid.granule as u64);
        let units = |blocks: u64| (blocks / grid.unit as u64).max(1) * grid.unit as u64;
        let blocks = grid.blocks() as u64;
        let copies = 1 + u64::from(lanes == ColumnLanes::Either);
        let sizes = Sizes {
            masks: align(8 * masks as u64),
            values: 0,
            segment: grid.bytes(matrix.cols()) as u64,
            blocks: units(blocks.min(MAX_RESULT_BLOCKS)),
            buffers: 2,
        };
        // The whole vector at a time, with the largest buffers that fit.
        let whole = TRIED_VALUE_BYTES.iter().find_map(|&values| {
            let values = align(values.min(dmem / 12));
            let (layout, end) = Sizes { values, ..sizes }.place(lanes);
            (end <= dmem).then_some(layout)
        });
        if let Some(layout) = whole {
            let each = layout.blocks.max(1);
            let tiles = (0..grid.blocks()).step_by(each).map(|from| MatrixTile {
                blocks: from..(from + each).min(grid.blocks()),
                columns: 0..matrix.cols(),
                first: true,
                last: true,
                loaded: from > 0,
            });
            let tiles = tiles.collect();
            all.push(LayoutOption {
                lanes,
                layout,
                tiles,
            });
            continue;
        }
        let values = align(TRIED_VALUE_BYTES[1].min(dmem / 12));
        let free = dmem.saturating_sub(sizes.masks + PAGE_BUFFERS as u64 * values);
        for segments in 2..=MOST_SEGMENTS {
            let width = matrix.cols().div_ceil(segments);
            let segment = grid.bytes(width) as u64;
            let left = free.saturating_sub(copies * segment) / 16;
            let (held, buffers) = if left >= blocks {
                (blocks, 1)
            } else {
                (units(left / 2), 2)
            };
            if held < blocks.min(MIN_RESULT_BLOCKS) || left < 2 * grid.unit as u64 {
                continue;
            }
            let width = segment as usize / grid.number;
            widest = widest.max(width);
            if width < MIN_SEGMENT_COLUMNS.min(matrix.cols()) {
                break;
            }
            let sizes = Sizes {
                values,
                segment,
                blocks: held,
                buffers,
                ..sizes
            };
            let (layout, end) = sizes.place(lanes);
            if end > dmem {
                continue;
            }
            let tiles = segmented(matrix, (grid, &layout), width, work);
            all.push(LayoutOption {
                lanes,
                layout,
                tiles,
            });
            let few = all
                .iter()
                .filter(|division| division.lanes == lanes)
                .count();
            if few >= TRIED_SEGMENT_COUNTS {
                break;
            }
        }
    }
    if all.is_empty() {
        return Err(SparseError::NoRoom {
            columns: widest,
            dmem,
        });
    }
    Ok(all)
}

/// Operations for an entry whose segment is marked as used: its column, divided by the width, and a store.
const SEGMENT_MARK_OPERATIONS: u64 = 3;

/// Returns the tiles of a vector in segments: for each range of rows the segments that have an entry.
fn segmented(
    matrix: &SparseMatrix,
    (grid, layout): (BlockGrid, &GatherLayout),
    width: usize,
    work: &PackingWork,
) -> Vec<MatrixTile> {
    let blocks = grid.blocks();
    let segments = matrix.cols().div_ceil(width);
    let mut tiles: Vec<MatrixTile> = Vec::new();
    let mut there = None;
    for from in (0..blocks).step_by(layout.blocks.max(1)) {
        let to = (from + layout.blocks).min(blocks);
        let rows = grid.row(from, 0, 0)..grid.row(to - 1, grid.sections - 1, grid.groups() - 1) + 1;
        let mut used = vec![false; segments];
        for row in rows.start..rows.end.min(matrix.rows()) {
            work.add(matrix.columns_of(row).len(), SEGMENT_MARK_OPERATIONS);
            for &column in matrix.columns_of(row) {
                used[column as usize / width] = true;
            }
        }
        let mut used: Vec<usize> = (0..segments).filter(|&segment| used[segment]).collect();
        if used.is_empty() {
            // Rows without entries have zero results, which have to be made.
            used.push(there.unwrap_or(0));
        }
        // The segment that is loaded from the rows before comes first.
        if let Some(at) = used.iter().position(|&segment| Some(segment) == there) {
            used.swap(0, at);
        }
        let count = used.len();
        for (i, segment) in used.into_iter().enumerate() {
            tiles.push(MatrixTile {
                blocks: from..to,
                columns: segment * width..((segment + 1) * width).min(matrix.cols()),
                first: i == 0,
                last: i + 1 == count,
                loaded: there == Some(segment),
            });
            there = Some(segment);
        }
    }
    tiles
}

/// A row that has so many times the average of entries is long: its section goes on alone when the others are
/// done.
const LONG_ROW_FACTOR: usize = 4;

/// Operations for a row: its begin and end, its length, compared with the longest.
const ROW_OPERATIONS: u64 = 4;
/// Operations for an entry: its two numbers are loaded and compared with infinity.
const FINITE_CHECK_OPERATIONS: u64 = 4;

/// Returns the bytes of a buffer of values that are for values of one section alone: a third in a matrix with
/// long rows, if both parts hold a step; else 0. Values that are not finite must not be where another section
/// multiplies by zero.
pub(super) fn exclusive_value_bytes(
    matrix: &SparseMatrix,
    layout: &GatherLayout,
    machine: &Machine,
    work: &PackingWork,
) -> usize {
    work.add(matrix.rows(), ROW_OPERATIONS);
    work.add(matrix.nnz(), FINITE_CHECK_OPERATIONS);
    let long = matrix.longest_row() * matrix.rows() > LONG_ROW_FACTOR * matrix.nnz();
    let finite = (0..matrix.nnz()).all(|entry| {
        let value = matrix.value(entry);
        value.re.is_finite() && value.im.is_finite()
    });
    let third = (layout.value_bytes / 3).next_multiple_of(machine.dma.granule.0.max(16) as usize);
    let holds = third >= STEP_VALUE_BYTES && third + STEP_VALUE_BYTES <= layout.value_bytes;
    match long && finite && holds {
        true => third,
        false => 0,
    }
}
