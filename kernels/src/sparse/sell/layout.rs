//! Local memory, and the division of rows and of the vector so that they fit.

use super::SellLoads;
use super::rows::{
    QUAD, RowSlice, SLICE_SUMS, SellShape, SellTile, SumPlaces, row_sums, sums_cost,
};
use crate::job::load;
use crate::sparse::SparseError;
use crate::sparse::work::PackingWork;
use cp2_machine::Machine;
use cp2_problems::sparse::SparseMatrix;

/// Number of pages in local memory at a time.
pub(super) const BUFFERS: usize = 4;

/// Words of a page's header.
pub(super) const HEADER_WORDS: usize = 8;

/// Steps of a page of values, in the order in which they are tried.
const TRIED_STEPS: [usize; 7] = [128, 96, 64, 48, 32, 24, 16];
/// Steps of a page above which more pieces or windows gain nothing.
const ENOUGH_STEPS: usize = 32;

/// Steps of a page of values for each slice of a page of sums.
const STEPS_PER_SUM_SLICE: usize = 2;

/// Bytes of a quad.
const QUAD_BYTES: usize = 4 * QUAD;

/// Values of the half-word of an index.
const INDICES: u64 = 1 << 16;

/// Most pieces of the vector and most windows of rows.
const MOST_PIECES: usize = 64;
const MOST_WINDOWS: usize = 256;
/// Number of divisions into more pieces that are priced after the first that fits.
const PRICED_DIVISIONS: usize = 3;

/// Cycles of the DMA for a page in addition to its bytes, and of the kernel. They rank layouts.
const PAGE_CYCLES: [f64; 2] = [24.0, 50.0];

/// Addresses in local memory, and the size of pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SellLayout {
    pub(super) index: [u32; BUFFERS],
    pub(super) streams: [u32; BUFFERS],
    pub(super) results: [u32; BUFFERS],
    pub(super) segment: u32,
    pub(super) shifted: u32,
    pub(super) sums: u32,
    /// Most steps of a page of values, and of sums.
    pub(super) steps: [usize; 2],
    /// Most slices of a page of sums.
    pub(super) sum_slices: usize,
}

/// Rows of all sections that are added up and stored together.
#[derive(Clone, Debug)]
pub(super) struct SellWindow {
    pub(super) tiles: Vec<SellTile>,
    pub(super) sums: Vec<RowSlice<SumPlaces>>,
}

/// A division of rows and columns that fits local memory.
#[derive(Clone, Debug)]
pub(super) struct SellDivision {
    pub(super) layout: SellLayout,
    pub(super) windows: Vec<SellWindow>,
}

/// Returns the columns of each piece.
fn pieces(shape: SellShape, count: usize) -> Vec<std::ops::Range<usize>> {
    let each = shape.round_to_granules(shape.cols.div_ceil(count)).max(1);
    let starts = (0..shape.cols.max(1)).step_by(each);
    starts
        .map(|start| start..(start + each).min(shape.cols))
        .collect()
}

/// Packs all windows with a number of pieces.
fn windows(
    matrix: &SparseMatrix,
    shape: SellShape,
    [pieces, windows]: [usize; 2],
    (machine, work): (&Machine, &PackingWork),
) -> Vec<SellWindow> {
    let pieces = self::pieces(shape, pieces);
    let each = shape
        .each()
        .div_ceil(windows)
        .next_multiple_of(shape.unit());
    let starts = (0..shape.each()).step_by(each);
    let window = |(number, start): (usize, usize)| {
        let own = start..(start + each).min(shape.each());
        let mut before = 0;
        // The piece that one window ends with is the first of the next.
        let order: Vec<_> = match number % 2 {
            0 => pieces.iter().collect(),
            _ => pieces.iter().rev().collect(),
        };
        let tile = |columns: &std::ops::Range<usize>| {
            let place = (own.clone(), columns.clone());
            let mut tile = SellTile::new(matrix, shape, place, (machine, work));
            tile.before = before;
            before += tile.slices.len();
            tile
        };
        let tiles: Vec<SellTile> = order.into_iter().map(tile).collect();
        SellWindow {
            sums: row_sums(&tiles, shape, work),
            tiles,
        }
    };
    starts.enumerate().map(window).collect()
}

/// Allocates local memory for windows with pages of `steps` steps, and returns the layout and its bytes.
fn place(windows: &[SellWindow], steps: usize, shape: SellShape) -> Option<(SellLayout, u64)> {
    let align = |bytes: usize| bytes.next_multiple_of(shape.granule.max(64));
    let tiles = || windows.iter().flat_map(|window| &window.tiles);
    let columns = tiles().map(|tile| tile.columns.len()).max().unwrap_or(0);
    let segment = align(4 * shape.round_to_granules(columns).max(QUAD));
    let slices = windows.iter().map(|window| {
        let tiles = window.tiles.iter();
        tiles.map(|tile| tile.slices.len()).sum::<usize>()
    });
    let sums = align(4 * SLICE_SUMS * slices.max().unwrap_or(0));
    let rows = windows.iter().map(|window| window.sums.len()).max();
    let unit = shape.unit() / SLICE_SUMS;
    let rows = rows
        .unwrap_or(unit)
        .min((steps / STEPS_PER_SUM_SLICE).max(unit));
    let sum_slices = rows / unit * unit;
    let stream = align(QUAD_BYTES * (3 * steps + 1));
    let sum_steps = stream / QUAD_BYTES - 1;
    // A page has whole units of rows.
    let longest = windows.iter().flat_map(|window| window.sums.chunks(unit));
    let longest = longest.map(|unit| unit.iter().map(|slice| slice.steps).sum::<usize>());
    if longest.max().unwrap_or(0) > sum_steps {
        return None;
    }
    let mut next = align(QUAD_BYTES) as u64;
    let mut take = |bytes: usize| {
        let at = next;
        next += bytes as u64;
        u32::try_from(at).unwrap_or(u32::MAX)
    };
    // The vector and the sums come first: half-words reach them in any local memory. Pair 0 is zero.
    let own = take(segment);
    let shifted = match shape.loads {
        SellLoads::Pairs => take(segment + align(QUAD_BYTES)),
        SellLoads::Words => own,
    };
    let sums = take(sums);
    let index = align(4 * HEADER_WORDS + 8 * steps.max(sum_slices));
    let layout = SellLayout {
        segment: own,
        shifted,
        sums,
        index: [(); BUFFERS].map(|()| take(index)),
        streams: [(); BUFFERS].map(|()| take(stream)),
        results: [(); BUFFERS].map(|()| take(align(4 * SLICE_SUMS * sum_slices))),
        steps: [steps, sum_steps],
        sum_slices,
    };
    let reached = u64::from(layout.index[0]) <= INDICES * u64::from(shape.loads.bytes());
    reached.then_some((layout, next))
}

/// Returns the approximate cycles of all windows.
fn price(windows: &[SellWindow], layout: &SellLayout, shape: SellShape, machine: &Machine) -> f64 {
    let mut cycles = 0.0;
    let mut loaded = None;
    for window in windows {
        for tile in &window.tiles {
            if loaded.as_ref() != Some(&tile.columns) {
                let columns = tile.columns.len();
                cycles += load(4 * columns as u64, machine);
                if shape.loads == SellLoads::Pairs {
                    cycles += columns as f64 / 2.0;
                }
                loaded = Some(tile.columns.clone());
            }
            let cost = tile.cost(shape.sections);
            let pages = cost.words.div_ceil(11 * layout.steps[0]) as f64;
            let [dma, kernel] = PAGE_CYCLES.map(|cycles| cycles * pages);
            let channel = load(cost.bytes as u64, machine) + dma;
            cycles += channel.max(cost.words as f64 + kernel);
        }
        cycles += sums_cost(&window.sums, shape.sections).cycles(machine);
    }
    cycles
}

/// Returns the division that fits local memory and takes the least time by estimate.
pub(super) fn divide(
    matrix: &SparseMatrix,
    shape: SellShape,
    machine: &Machine,
    work: &PackingWork,
) -> Result<SellDivision, SparseError> {
    let dmem = machine.cp2.dmem.0;
    let each = 4 * shape.loads.copies() as u64;
    let least = (each * shape.cols as u64).div_ceil(dmem.max(1)).max(1);
    let first = usize::try_from(least).unwrap_or(MOST_PIECES + 1);
    let mut best: Option<(f64, SellDivision)> = None;
    let mut tried = 0;
    for pieces in first..=MOST_PIECES {
        let mut count = 1;
        while count <= MOST_WINDOWS {
            let windows = windows(matrix, shape, [pieces, count], (machine, work));
            let fits = TRIED_STEPS.into_iter().find_map(|steps| {
                let (layout, end) = place(&windows, steps, shape)?;
                (end <= dmem).then_some(layout)
            });
            if let Some(layout) = fits {
                let price = price(&windows, &layout, shape, machine);
                let enough = layout.steps[0] >= ENOUGH_STEPS;
                if best.as_ref().is_none_or(|(least, _)| price < *least) {
                    best = Some((price, SellDivision { layout, windows }));
                }
                if enough {
                    break;
                }
            }
            if count * shape.unit() >= shape.each() {
                break;
            }
            count += count.div_ceil(2);
        }
        let one = |(_, division): &(f64, SellDivision)| {
            division.windows.len() == 1 && division.layout.steps[0] >= ENOUGH_STEPS
        };
        tried += usize::from(best.is_some());
        if tried >= PRICED_DIVISIONS || best.as_ref().is_some_and(one) {
            break;
        }
        if pieces * shape.granule / 4 >= shape.cols {
            break;
        }
    }
    let best = best.map(|(_, division)| division);
    best.ok_or(SparseError::NoRoom { columns: 0, dmem })
}
