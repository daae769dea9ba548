//! Cells of entries, and the columns that a section has for them.

use crate::sparse::work::PackingWork;
use cp2_machine::Machine;
use cp2_problems::sparse::SparseMatrix;
use std::ops::Range;

/// Numbers of a quad: rows of a group, and columns of a cell.
pub(super) const QUAD: usize = 4;

/// Most numbers between two spans of columns that are loaded as one span: to load them takes less time than
/// another transfer.
const MAX_SPAN_GAP_COLUMNS: i64 = 32;

/// Operations for an entry: its column, two for the base of its count, section and lane, and three words
/// stored.
const ENTRY_OPERATIONS: u64 = 8;
/// Operations to check whether an entry is in the cell of the one before: two columns are compared.
const CELL_CHECK_OPERATIONS: u64 = 3;
/// Operations for a cell whose diagonal is listed: its column, less that of the group, is stored and later
/// compared with the one before.
const LISTED_CELL_OPERATIONS: u64 = 6;
/// Operations for a cell whose columns a segment needs: the first and the last granule.
const CELL_NEED_OPERATIONS: u64 = 4;
/// Operations for a granule that is needed: it is stored, compared with the one before, and appended to a
/// span.
const NEEDED_GRANULE_OPERATIONS: u64 = 7;

/// Size of a product and of the machine.
#[derive(Clone, Copy, Debug)]
pub(super) struct DiagonalShape {
    pub(super) sections: usize,
    /// Numbers of a granule of the DMA, at least those of a quad.
    pub(super) granule: usize,
    pub(super) rows: usize,
    pub(super) cols: usize,
}

/// Rows that are computed with one segment of the vector in local memory: as many adjacent ones in each
/// section.
#[derive(Clone, Debug)]
pub(super) struct RowChunk {
    /// First row.
    pub(super) row: usize,
    /// Rows of a section; some may lie behind the end of the matrix.
    pub(super) each: usize,
    /// Column from which each section counts its columns.
    pub(super) origins: Vec<i64>,
}

/// An entry, with the cell that it is multiplied in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    /// First column of the cell, from the section's origin on.
    pub(super) column: i64,
    /// Section and lane: section 4 + lane.
    pub(super) place: u32,
    /// Index of the entry in the matrix.
    pub(super) entry: usize,
}

impl DiagonalShape {
    pub(super) fn new(matrix: &SparseMatrix, machine: &Machine) -> Self {
        Self {
            sections: machine.cp2.sections.max(1),
            granule: (machine.dma.granule.0 as usize / 4).max(QUAD),
            rows: matrix.rows(),
            cols: matrix.cols(),
        }
    }

    /// Rounds a count of numbers up to whole granules.
    pub(super) fn round_to_granules(&self, numbers: usize) -> usize {
        numbers.next_multiple_of(self.granule)
    }

    /// Divides all rows into about `count` chunks.
    pub(super) fn chunks(&self, count: usize) -> Vec<RowChunk> {
        let unit = self.sections * self.granule;
        let rows = self.rows.div_ceil(count.max(1)).next_multiple_of(unit);
        let firsts = (0..self.rows).step_by(rows);
        firsts
            .map(|row| self.chunk(row, rows.min(self.rows - row)))
            .collect()
    }

    fn chunk(&self, row: usize, rows: usize) -> RowChunk {
        let each = self.round_to_granules(rows.div_ceil(self.sections));
        let origin = |section: usize| {
            let row = (row + section * each) as u128;
            let column = row * self.cols as u128 / self.rows.max(1) as u128;
            (column as usize / self.granule * self.granule) as i64
        };
        RowChunk {
            row,
            each,
            origins: (0..self.sections).map(origin).collect(),
        }
    }
}

impl RowChunk {
    /// Returns the groups of rows of a section.
    pub(super) fn groups(&self) -> usize {
        self.each / QUAD
    }

    /// Returns the entries of each group, sorted by cells.
    pub(super) fn entries(&self, matrix: &SparseMatrix, work: &PackingWork) -> Vec<Vec<Entry>> {
        let group = |group: usize| {
            let mut entries = Vec::new();
            for (section, origin) in self.origins.iter().enumerate() {
                for lane in 0..QUAD {
                    let row = self.row + section * self.each + group * QUAD + lane;
                    for entry in matrix.range(row) {
                        let column = matrix.columns().get(entry).copied().unwrap_or(0);
                        entries.push(Entry {
                            column: i64::from(column) - origin - lane as i64,
                            place: (section * QUAD + lane) as u32,
                            entry,
                        });
                    }
                }
            }
            work.add(entries.len(), ENTRY_OPERATIONS);
            work.count_sort(entries.len(), 3);
            entries.sort_unstable();
            entries
        };
        (0..self.groups()).map(group).collect()
    }
}

/// Returns the entries of each cell of a group.
pub(super) fn cells(entries: &[Entry]) -> impl Iterator<Item = &[Entry]> {
    entries.chunk_by(|a, b| a.column == b.column)
}

/// Returns the diagonals that groups have cells on: the columns of cells less those of the group. `first` is
/// the number of the first group.
pub(super) fn diagonals(groups: &[Vec<Entry>], first: usize, work: &PackingWork) -> Vec<i64> {
    let mut all = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        let before = all.len();
        work.add(group.len(), CELL_CHECK_OPERATIONS);
        let own = (QUAD * (first + number)) as i64;
        let columns = cells(group).filter_map(|cell| cell.first());
        all.extend(columns.map(|entry| entry.column - own));
        work.add(all.len() - before, LISTED_CELL_OPERATIONS);
        if number % 16 == 15 {
            work.count_sort(all.len(), 1);
            all.sort_unstable();
            all.dedup();
        }
    }
    work.count_sort(all.len(), 1);
    all.sort_unstable();
    all.dedup();
    all
}

/// Adjacent columns, counted from a section's origin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ColumnSpan {
    pub(super) columns: Range<i64>,
    /// Numbers of the segment before the span.
    pub(super) at: usize,
}

/// Columns of a segment of the vector: the same in every section, counted from its origin.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SegmentColumns {
    pub(super) spans: Vec<ColumnSpan>,
}

impl SegmentColumns {
    /// Returns the columns that the cells of groups need.
    pub(super) fn from_groups(
        groups: &[Vec<Entry>],
        grid: DiagonalShape,
        work: &PackingWork,
    ) -> Self {
        let granule = grid.granule as i64;
        let mut needed: Vec<i64> = Vec::new();
        for (number, group) in groups.iter().enumerate() {
            // If the last unit of four groups is incomplete, the kernel reads the vector for the missing
            // groups too.
            let behind = if number + 1 == groups.len() {
                4 * QUAD
            } else {
                QUAD
            };
            work.add(group.len(), CELL_CHECK_OPERATIONS);
            for cell in cells(group) {
                work.add(1, CELL_NEED_OPERATIONS);
                let Some(first) = cell.first() else { continue };
                let last = first.column + behind as i64 - 1;
                needed.extend(first.column.div_euclid(granule)..=last.div_euclid(granule));
            }
        }
        work.add(needed.len(), NEEDED_GRANULE_OPERATIONS);
        work.count_sort(needed.len(), 1);
        needed.sort_unstable();
        needed.dedup();
        if needed.is_empty() {
            // Rows without entries take a segment, too.
            needed.push(0);
        }
        let mut spans: Vec<ColumnSpan> = Vec::new();
        let mut at = 0;
        for block in needed {
            let columns = block * granule..(block + 1) * granule;
            match spans.last_mut() {
                Some(last) if columns.start - last.columns.end <= MAX_SPAN_GAP_COLUMNS => {
                    at += (columns.end - last.columns.end) as usize;
                    last.columns.end = columns.end;
                }
                _ => {
                    spans.push(ColumnSpan { columns, at });
                    at += grid.granule;
                }
            }
        }
        Self { spans }
    }

    /// Returns the number of columns.
    pub(super) fn len(&self) -> usize {
        let end = |span: &ColumnSpan| span.at + (span.columns.end - span.columns.start) as usize;
        self.spans.last().map_or(0, end)
    }

    /// Returns the place of a column in the segment.
    pub(super) fn column_index(&self, column: i64) -> usize {
        let behind = self
            .spans
            .partition_point(|span| span.columns.start <= column);
        let span = behind.checked_sub(1).and_then(|i| self.spans.get(i));
        span.map_or(0, |span| span.at + (column - span.columns.start) as usize)
    }

    /// Returns whether the segment has all of these columns in one span.
    pub(super) fn contains_columns(&self, columns: Range<i64>) -> bool {
        let mut spans = self.spans.iter();
        spans.any(|span| span.columns.start <= columns.start && columns.end <= span.columns.end)
    }

    /// Returns the first column of the segment.
    pub(super) fn first(&self) -> i64 {
        self.spans.first().map_or(0, |span| span.columns.start)
    }
}
