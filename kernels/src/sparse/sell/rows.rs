//! Rows of sections, their parts, and slices of sums.

use super::SellLoads;
use crate::sparse::work::PackingWork;
use cp2_machine::Machine;
use cp2_problems::sparse::SparseMatrix;
use std::ops::Range;

/// Numbers of a quad.
pub(super) const QUAD: usize = 4;

/// Sums of a section in a slice: the lanes of two quads.
pub(super) const SLICE_SUMS: usize = 2 * QUAD;

/// Most parts that a row is cut into in a piece of the vector.
const MAX_PARTS: usize = 32;

/// Rows are not cut, or at these multiples of the average entries of a row.
const CUT_MULTIPLES: [f64; 6] = [8.0, 6.0, 4.0, 3.0, 2.0, 1.25];

/// Words of the kernel for a step, and in addition for the first step of a slice; the same for sums.
const STEP_WORDS: [usize; 2] = [11, 6];
const SUM_STEP_WORDS: [usize; 2] = [9, 6];

/// Bytes of a section for a step and for a step of sums; of section 0 for a slice.
const STEP_BYTES: [usize; 2] = [48, 16];
const SLICE_BYTES: usize = 8;

/// Operations for a part of a row: two ends of its entries, length, place, and these stored.
const PART_OPERATIONS: u64 = 8;
/// Operations to compare the length of a part with the longest of its slice.
const LENGTH_OPERATIONS: u64 = 3;

/// Size of a product and of the machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct SellShape {
    pub(super) loads: SellLoads,
    pub(super) sections: usize,
    /// Adjacent rows of a section: those of a unit of a dealt transfer.
    pub(super) dealt: usize,
    /// Bytes of a granule of the DMA, at least those of a quad.
    pub(super) granule: usize,
    pub(super) rows: usize,
    pub(super) cols: usize,
}

impl SellShape {
    pub(super) fn new(matrix: &SparseMatrix, loads: SellLoads, machine: &Machine) -> Self {
        Self {
            loads,
            sections: machine.cp2.sections.max(1),
            dealt: (machine.dma.dealt() as usize / 4).max(1),
            granule: (machine.dma.granule.0 as usize).max(4 * QUAD),
            rows: matrix.rows(),
            cols: matrix.cols(),
        }
    }

    /// Returns the rows of a section that are stored together at least: whole slices and whole dealt units.
    pub(super) fn unit(&self) -> usize {
        // Both are powers of two.
        self.dealt.max(SLICE_SUMS)
    }

    /// Returns the rows of a section, in whole units.
    pub(super) fn each(&self) -> usize {
        let dealt = self.rows.div_ceil(self.dealt * self.sections) * self.dealt;
        dealt.next_multiple_of(self.unit()).max(self.unit())
    }

    /// Returns the row of the matrix that is a section's `own`-th; it may lie behind the end.
    pub(super) fn row(&self, section: usize, own: usize) -> usize {
        (own / self.dealt * self.sections + section) * self.dealt + own % self.dealt
    }

    /// Returns the lists of parts of each section, still empty: one for lanes of each parity, or one for all.
    fn lists<T: Clone>(&self) -> Vec<Vec<Vec<T>>> {
        vec![vec![Vec::new(); self.loads.lists()]; self.sections]
    }

    /// Rounds a count of numbers up to whole granules.
    pub(super) fn round_to_granules(&self, numbers: usize) -> usize {
        numbers.next_multiple_of(self.granule / 4)
    }
}

/// Entries of a row that are added up in one lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RowPart {
    /// Number of the row in its section.
    pub(super) own: usize,
    /// Entries of the matrix.
    pub(super) entries: Range<usize>,
}

/// Sums of all sections that take the same number of steps.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct RowSlice<T> {
    pub(super) steps: usize,
    /// Content of each lane: [`SLICE_SUMS`] of section 0, then of section 1 and so on.
    pub(super) lanes: Vec<Option<T>>,
}

/// Rows of a window with the columns of a piece of the vector.
#[derive(Clone, Debug)]
pub(super) struct SellTile {
    /// Rows of each section.
    pub(super) own: Range<usize>,
    /// Columns of the matrix.
    pub(super) columns: Range<usize>,
    pub(super) slices: Vec<RowSlice<RowPart>>,
    /// Number of slices of this window before these.
    pub(super) before: usize,
}

/// Sums of a row: their places among all sums of its section and window.
pub(super) type SumPlaces = Vec<u32>;

/// Estimated use of the kernel and of the channel.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SellCost {
    pub(super) words: usize,
    pub(super) bytes: usize,
}

impl SellCost {
    fn slices(steps: impl Iterator<Item = usize>, sums: bool, sections: usize) -> Self {
        let words = if sums { SUM_STEP_WORDS } else { STEP_WORDS };
        let bytes = STEP_BYTES[usize::from(sums)] * sections;
        steps.fold(Self::default(), |cost, steps| Self {
            words: cost.words + words[0] * steps + words[1],
            bytes: cost.bytes + bytes * steps + SLICE_BYTES,
        })
    }

    /// Returns the cycles if words and transfers overlap.
    pub(super) fn cycles(self, machine: &Machine) -> f64 {
        crate::job::load(self.bytes as u64, machine).max(self.words as f64)
    }
}

/// Entries of each row of a section in the columns of a piece, in order of rows.
type OwnEntries = Vec<Vec<Range<usize>>>;

/// Returns the entries of all rows of a window in some columns, by section.
fn entries(
    matrix: &SparseMatrix,
    shape: SellShape,
    (own, columns): (&Range<usize>, &Range<usize>),
    work: &PackingWork,
) -> OwnEntries {
    let of = |row: usize| {
        let all = matrix.range(row);
        let stored = matrix.columns_of(row);
        work.searched_often(2, stored.len());
        let begin = stored.partition_point(|&column| (column as usize) < columns.start);
        let end = stored.partition_point(|&column| (column as usize) < columns.end);
        all.start + begin..all.start + end
    };
    let section = |section: usize| {
        let rows = own.clone().map(|own| shape.row(section, own));
        rows.map(|row| if row < shape.rows { of(row) } else { 0..0 })
            .collect()
    };
    (0..shape.sections).map(section).collect()
}

/// Returns the lengths of the parts of a row of `len` entries, with at most `limit` where rows are cut.
fn part_lengths(len: usize, limit: usize) -> impl Iterator<Item = usize> {
    let parts = len.div_ceil(limit.max(1)).min(MAX_PARTS);
    (0..parts).map(move |part| len * (part + 1) / parts - len * part / parts)
}

/// Returns the steps of each slice of all sections, whose lists are sorted by length: a list for lanes of each
/// parity, or for all lanes.
fn steps<T>(sorted: &[Vec<Vec<T>>], len: impl Fn(&T) -> usize) -> Vec<usize> {
    let each = SLICE_SUMS / sorted.first().map_or(1, Vec::len).max(1);
    let lists = || sorted.iter().flatten();
    let slices = lists().map(|list| list.len().div_ceil(each)).max();
    let most = |slice: usize| {
        let first = lists().filter_map(|list| list.get(slice * each));
        first.map(&len).max().unwrap_or(1).max(1)
    };
    (0..slices.unwrap_or(0)).map(most).collect()
}

/// Returns the estimated cycles of a window in some columns if rows are cut at `limit` entries.
fn cost(
    entries: &OwnEntries,
    limit: usize,
    shape: SellShape,
    (machine, work): (&Machine, &PackingWork),
) -> f64 {
    let mut sums = vec![0; entries.first().map_or(0, Vec::len).div_ceil(SLICE_SUMS)];
    let mut sorted = shape.lists();
    for (rows, sorted) in entries.iter().zip(&mut sorted) {
        for (own, entries) in rows.iter().enumerate() {
            let lists = sorted.len();
            let list = &mut sorted[own % lists];
            let before = list.len();
            list.extend(part_lengths(entries.len(), limit));
            if let Some(sum) = sums.get_mut(own / SLICE_SUMS) {
                *sum = (list.len() - before).max(*sum);
            }
        }
        for list in sorted {
            work.add(list.len(), PART_OPERATIONS + LENGTH_OPERATIONS);
            work.count_sort(list.len(), 1);
            list.sort_unstable_by(|a, b| b.cmp(a));
        }
    }
    let steps = steps(&sorted, |&len| len);
    let sums = sums.into_iter().map(|parts| parts.max(1));
    SellCost::slices(steps.into_iter(), false, shape.sections).cycles(machine)
        + SellCost::slices(sums, true, shape.sections).cycles(machine)
}

impl SellTile {
    /// Sorts the rows of a window in the columns of a piece, and cuts long ones where that takes less time.
    pub(super) fn new(
        matrix: &SparseMatrix,
        shape: SellShape,
        (own, columns): (Range<usize>, Range<usize>),
        (machine, work): (&Machine, &PackingWork),
    ) -> Self {
        let entries = entries(matrix, shape, (&own, &columns), work);
        let lengths = || entries.iter().flatten().map(Range::len);
        let longest = lengths().max().unwrap_or(0).max(1);
        let filled = lengths().filter(|&len| len > 0).count().max(1);
        let average = lengths().sum::<usize>() as f64 / filled as f64;
        let limits = CUT_MULTIPLES.map(|times| (average * times).ceil().max(1.0) as usize);
        let limits = limits.into_iter().filter(|&limit| limit < longest);
        let priced = std::iter::once(longest).chain(limits).map(|limit| {
            let cost = cost(&entries, limit, shape, (machine, work));
            (cost, limit)
        });
        let best = priced.min_by(|(a, _), (b, _)| a.total_cmp(b));
        let limit = best.map_or(longest, |(_, limit)| limit);
        let mut sorted = shape.lists();
        for (rows, sorted) in entries.iter().zip(&mut sorted) {
            for (number, entries) in rows.iter().enumerate() {
                let mut start = entries.start;
                let lists = sorted.len();
                for len in part_lengths(entries.len(), limit) {
                    sorted[number % lists].push(RowPart {
                        own: own.start + number,
                        entries: start..start + len,
                    });
                    start += len;
                }
            }
            for list in sorted {
                work.add(list.len(), PART_OPERATIONS + LENGTH_OPERATIONS);
                work.count_sort(list.len(), 2);
                list.sort_by_key(|part| std::cmp::Reverse(part.entries.len()));
            }
        }
        let steps = steps(&sorted, |part| part.entries.len());
        let slice = |(number, steps): (usize, usize)| {
            let lanes = sorted.iter().flat_map(|lists| {
                let count = lists.len();
                let lane = move |lane: usize| {
                    let list = &lists[lane % count];
                    list.get(number * (SLICE_SUMS / count) + lane / count)
                        .cloned()
                };
                (0..SLICE_SUMS).map(lane)
            });
            RowSlice {
                steps,
                lanes: lanes.collect(),
            }
        };
        Self {
            own,
            columns,
            slices: steps.into_iter().enumerate().map(slice).collect(),
            before: 0,
        }
    }

    /// Returns the estimated cost.
    pub(super) fn cost(&self, sections: usize) -> SellCost {
        let steps = self.slices.iter().map(|slice| slice.steps);
        SellCost::slices(steps, false, sections)
    }
}

/// Returns the slices that add up the sums of each row of a window and put them in order.
pub(super) fn row_sums(
    tiles: &[SellTile],
    shape: SellShape,
    work: &PackingWork,
) -> Vec<RowSlice<SumPlaces>> {
    let own = tiles.first().map_or(0..0, |tile| tile.own.clone());
    let mut slices = vec![
        RowSlice {
            steps: 1,
            lanes: vec![Some(SumPlaces::new()); SLICE_SUMS * shape.sections],
        };
        own.len().div_ceil(SLICE_SUMS)
    ];
    for tile in tiles {
        for (number, slice) in tile.slices.iter().enumerate() {
            work.add(slice.lanes.len(), PART_OPERATIONS);
            for (lane, part) in slice.lanes.iter().enumerate() {
                let Some(part) = part else { continue };
                let (section, lane) = (lane / SLICE_SUMS, lane % SLICE_SUMS);
                let row = part.own - own.start;
                let place = (tile.before + number) * SLICE_SUMS + lane;
                let Some(of) = slices.get_mut(row / SLICE_SUMS) else {
                    continue;
                };
                if let Some(Some(places)) =
                    of.lanes.get_mut(section * SLICE_SUMS + row % SLICE_SUMS)
                {
                    places.push(place as u32);
                    of.steps = of.steps.max(places.len());
                }
            }
        }
    }
    slices
}

/// Returns the estimated cost of slices of sums.
pub(super) fn sums_cost(slices: &[RowSlice<SumPlaces>], sections: usize) -> SellCost {
    SellCost::slices(slices.iter().map(|slice| slice.steps), true, sections)
}
