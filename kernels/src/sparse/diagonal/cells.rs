//! Which cells the entries of rows stand in, and which columns a section has for them.

use crate::sparse::work::PackingWork;
use cp2_machine::Machine;
use cp2_problems::sparse::SparseMatrix;
use std::ops::Range;

/// Numbers of a quad: rows of a group, and columns of a cell.
pub(super) const QUAD: usize = 4;

/// Numbers between two spans of columns that are loaded with them: they take less time than another transfer.
const GAP: i64 = 32;

/// An entry: its column, two for what it is counted from, section and lane, and three words stored.
const ENTRY: u64 = 8;
/// An entry that is asked whether it is in the cell of the one before: two columns, compared.
const IN_CELL: u64 = 3;
/// A cell whose diagonal is listed: its column, less that of the group, stored, and later compared with the one before.
const LISTED: u64 = 6;
/// A cell whose columns a segment needs: the first and the last granule.
const NEEDS: u64 = 4;
/// A granule that is needed: stored, compared with the one before, and put behind a span.
const NEEDED_GRANULE: u64 = 7;

/// The shape of a product.
#[derive(Clone, Copy, Debug)]
pub(super) struct DiagonalShape {
    pub(super) sections: usize,
    /// Numbers of a granule of the DMA, at least of a quad.
    pub(super) granule: usize,
    pub(super) rows: usize,
    pub(super) cols: usize,
}

/// Rows that are worked on with one segment of the vector in local memory: as many one behind the other in each section.
#[derive(Clone, Debug)]
pub(super) struct RowChunk {
    /// The first row.
    pub(super) row: usize,
    /// Rows of a section; some may be none of the matrix.
    pub(super) each: usize,
    /// The column of each section that its columns are counted from.
    pub(super) origins: Vec<i64>,
}

/// An entry in the cell that it is multiplied in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Entry {
    /// Where the cell's first column is, from the section's origin on.
    pub(super) column: i64,
    /// Section and lane.
    pub(super) place: u32,
    /// Its number in the matrix.
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

    /// So many numbers in whole granules.
    pub(super) fn whole(&self, numbers: usize) -> usize {
        numbers.next_multiple_of(self.granule)
    }

    /// All rows in about so many chunks.
    pub(super) fn chunks(&self, count: usize) -> Vec<RowChunk> {
        let unit = self.sections * self.granule;
        let rows = self.rows.div_ceil(count.max(1)).next_multiple_of(unit);
        let firsts = (0..self.rows).step_by(rows);
        firsts
            .map(|row| self.chunk(row, rows.min(self.rows - row)))
            .collect()
    }

    fn chunk(&self, row: usize, rows: usize) -> RowChunk {
        let each = self.whole(rows.div_ceil(self.sections));
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
    /// Groups of rows of a section.
    pub(super) fn groups(&self) -> usize {
        self.each / QUAD
    }

    /// The entries of all groups, by cells.
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
            work.add(entries.len(), ENTRY);
            work.sorted(entries.len(), 3);
            entries.sort_unstable();
            entries
        };
        (0..self.groups()).map(group).collect()
    }
}

/// The entries of each cell of a group.
pub(super) fn cells(entries: &[Entry]) -> impl Iterator<Item = &[Entry]> {
    entries.chunk_by(|a, b| a.column == b.column)
}

/// The diagonals that groups have cells on, the first of which is that of this number: the columns of cells less those of the group.
pub(super) fn diagonals(groups: &[Vec<Entry>], first: usize, work: &PackingWork) -> Vec<i64> {
    let mut all = Vec::new();
    for (number, group) in groups.iter().enumerate() {
        let before = all.len();
        work.add(group.len(), IN_CELL);
        let own = (QUAD * (first + number)) as i64;
        let columns = cells(group).filter_map(|cell| cell.first());
        all.extend(columns.map(|entry| entry.column - own));
        work.add(all.len() - before, LISTED);
        if number % 16 == 15 {
            work.sorted(all.len(), 1);
            all.sort_unstable();
            all.dedup();
        }
    }
    work.sorted(all.len(), 1);
    all.sort_unstable();
    all.dedup();
    all
}

/// Columns that lie one behind the other, counted from a section's origin on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ColumnSpan {
    pub(super) columns: Range<i64>,
    /// Numbers of the segment before it.
    pub(super) at: usize,
}

/// The columns of a segment of the vector: the same in every section, from its origin on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SegmentColumns {
    pub(super) spans: Vec<ColumnSpan>,
}

impl SegmentColumns {
    /// What the cells of groups need.
    pub(super) fn from_groups(
        groups: &[Vec<Entry>],
        grid: DiagonalShape,
        work: &PackingWork,
    ) -> Self {
        let granule = grid.granule as i64;
        let mut needed: Vec<i64> = Vec::new();
        for (number, group) in groups.iter().enumerate() {
            // Where the last unit lacks groups, those before it may be read as if they were there.
            let behind = if number + 1 == groups.len() {
                4 * QUAD
            } else {
                QUAD
            };
            work.add(group.len(), IN_CELL);
            for cell in cells(group) {
                work.add(1, NEEDS);
                let Some(first) = cell.first() else { continue };
                let last = first.column + behind as i64 - 1;
                needed.extend(first.column.div_euclid(granule)..=last.div_euclid(granule));
            }
        }
        work.add(needed.len(), NEEDED_GRANULE);
        work.sorted(needed.len(), 1);
        needed.sort_unstable();
        needed.dedup();
        if needed.is_empty() {
            // Rows without entries take something, too.
            needed.push(0);
        }
        let mut spans: Vec<ColumnSpan> = Vec::new();
        let mut at = 0;
        for block in needed {
            let columns = block * granule..(block + 1) * granule;
            match spans.last_mut() {
                Some(last) if columns.start - last.columns.end <= GAP => {
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

    /// Its numbers.
    pub(super) fn len(&self) -> usize {
        let end = |span: &ColumnSpan| span.at + (span.columns.end - span.columns.start) as usize;
        self.spans.last().map_or(0, end)
    }

    /// Where in it a column is.
    pub(super) fn column_index(&self, column: i64) -> usize {
        let behind = self
            .spans
            .partition_point(|span| span.columns.start <= column);
        let span = behind.checked_sub(1).and_then(|i| self.spans.get(i));
        span.map_or(0, |span| span.at + (column - span.columns.start) as usize)
    }

    /// Whether it has all of these columns, one behind the other.
    pub(super) fn has(&self, columns: Range<i64>) -> bool {
        let mut spans = self.spans.iter();
        spans.any(|span| span.columns.start <= columns.start && columns.end <= span.columns.end)
    }

    /// The first column that it has.
    pub(super) fn first(&self) -> i64 {
        self.spans.first().map_or(0, |span| span.columns.start)
    }
}
