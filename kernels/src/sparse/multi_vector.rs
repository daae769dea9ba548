//! Several interleaved vectors, split and merged by panels.
//!
//! Rows of the user's arrays have a word of each vector, or two of complex ones. Products need the words of a
//! *group* of vectors as an array of each group. Groups are processed by panels: the arrays of a panel are
//! split from x, multiplied, and written into their columns of y, before those of the next panel use the same
//! memory and the same programs. Columns of y are written in whole granules if a row of y has whole granules;
//! other rows are padded to whole granules first, and the padding is removed at the end.

use super::SparseError;
use crate::job::{Job, JobError};
use crate::relayout::{PlacedRelayout, Relayout, RowOrigin, SourceOfWord};
use cp2_host::paging::aligned;
use std::ops::Range;

/// Bytes of a word.
const WORD_BYTES: u64 = 4;

/// Method by which several vectors are multiplied.
#[derive(Clone, Copy, Debug)]
pub(super) struct MultiVectorMethod {
    /// True if two vectors are multiplied at a time.
    pub(super) paired: bool,
    /// Words of a row that are split at a time.
    pub(super) panel: u64,
    /// Number of vectors.
    pub(super) vectors: usize,
}

/// Words of a panel of vectors that are tried. The last is the most that are merged at a time: longer rows
/// have several panels.
pub(super) const PANEL_WORDS: [u64; 3] = [16, 64, 128];

/// Returns the panels to try for rows of `row` words: up to the smallest that holds a whole row.
pub(super) fn panels(row: u64) -> impl Iterator<Item = u64> {
    let whole = PANEL_WORDS.iter().position(|&panel| panel >= row);
    let tried = whole.map_or(PANEL_WORDS.len(), |at| at + 1);
    PANEL_WORDS.into_iter().take(tried)
}

/// An array of several vectors: its address, and its number of rows.
#[derive(Clone, Copy, Debug)]
pub(super) struct VectorSet {
    pub(super) address: u64,
    pub(super) rows: u64,
}

/// Interleaved vectors in a job, with the programs that split and merge them.
#[derive(Debug)]
pub(super) struct InterleavedVectors {
    /// Words of a row, and of a panel.
    row: u64,
    panel: u64,
    /// Words of a granule that transfers move.
    unit: u64,
    /// Programs that split groups, by the words of the group: groups of the same words share a program.
    apart: Vec<(Range<u64>, PlacedRelayout)>,
    /// Programs that merge panels, by the groups of the panel.
    together: Vec<(Vec<Range<u64>>, PlacedRelayout)>,
    /// Arrays of the groups of a panel: the vectors to multiply, and the results.
    from: Vec<u64>,
    to: Vec<u64>,
    /// Array of the result with rows padded to whole granules, if the user's rows have none and there are
    /// several panels.
    wide: Option<u64>,
}

impl InterleavedVectors {
    /// Prepares rows of `row` words in panels of `panel` words, rounded up to whole granules.
    pub(super) fn new(job: &Job, row: u64, panel: u64) -> Self {
        let unit = aligned(job.machine()) / WORD_BYTES;
        Self {
            row,
            panel: panel.next_multiple_of(unit).max(unit),
            unit,
            apart: Vec::new(),
            together: Vec::new(),
            from: Vec::new(),
            to: Vec::new(),
            wide: None,
        }
    }

    /// Adds all products of `groups`, which are the words of a row for each group, in order. `multiply` adds
    /// the product of one group.
    ///
    /// # Errors
    /// System memory is used up, or the machine is too small for what takes vectors apart.
    pub(super) fn pass(
        &mut self,
        job: &mut Job,
        (x, y): (VectorSet, VectorSet),
        groups: &[Range<u64>],
        multiply: impl Fn(&mut Job, usize, [u64; 2]),
    ) -> Result<(), SparseError> {
        let panels: Vec<&[Range<u64>]> = groups
            .chunk_by(|a, b| a.start / self.panel == b.start / self.panel)
            .collect();
        let is_one = panels.len() == 1;
        let whole = self.row.next_multiple_of(self.unit);
        let (to, pitch) = match is_one || whole == self.row {
            true => (y, self.row),
            false => {
                let address = job.temporary::<f32>(whole * y.rows)?.address();
                self.wide = Some(address);
                (VectorSet { address, ..y }, whole)
            }
        };
        let mut number = 0;
        for panel in panels {
            let first = panel.first().map_or(0, |group| group.start);
            let own: Vec<Range<u64>> = panel
                .iter()
                .map(|group| group.start - first..group.end - first)
                .collect();
            self.arrays(job, &own, [x.rows, y.rows])?;
            self.split_panel(job, x, (first, &own))?;
            for group in 0..own.len() {
                multiply(job, number, [self.from[group], self.to[group]]);
                number += 1;
            }
            let to = VectorSet {
                address: to.address + WORD_BYTES * first,
                ..to
            };
            self.merge_panel(job, &own, (to, pitch))?;
        }
        match self.wide {
            Some(from) => remove_row_padding(job, (from, whole), (y, self.row)),
            None => Ok(()),
        }
    }

    /// Allocates the arrays of a panel's groups: the first panel has the most.
    fn arrays(
        &mut self,
        job: &mut Job,
        groups: &[Range<u64>],
        rows: [u64; 2],
    ) -> Result<(), JobError> {
        for group in groups.iter().skip(self.from.len()) {
            let [from, to] = rows.map(|rows| rows * (group.end - group.start));
            self.from.push(job.temporary::<f32>(from)?.address());
            self.to.push(job.temporary::<f32>(to)?.address());
        }
        Ok(())
    }

    /// Splits the groups of a panel from x; groups with the same program follow each other.
    fn split_panel(
        &mut self,
        job: &mut Job,
        x: VectorSet,
        (first, groups): (u64, &[Range<u64>]),
    ) -> Result<(), SparseError> {
        let within = |group: &Range<u64>| {
            let start = group.start % self.unit;
            start..start + group.end - group.start
        };
        let mut order: Vec<(Range<u64>, usize)> = groups.iter().map(within).zip(0..).collect();
        order.sort_by_key(|(words, number)| (words.start, words.end, *number));
        for (words, number) in order {
            let from = x.address + WORD_BYTES * (first + groups[number].start - words.start);
            let to = self.from[number];
            let known = self.apart.iter().position(|(own, _)| *own == words);
            let at = match known {
                Some(at) => at,
                None => {
                    let own = words.end - words.start;
                    let relayout = Relayout {
                        name: "vectors of several",
                        from: &[RowOrigin::new(from, WORD_BYTES * self.row)],
                        to: RowOrigin::new(to, WORD_BYTES * own),
                        words: own * x.rows,
                        word: &|at| SourceOfWord::Of(0, words.start + at),
                    };
                    let placed = relayout.compile(job.machine())?.place(job)?;
                    self.apart.push((words, placed));
                    self.apart.len() - 1
                }
            };
            self.apart[at].1.pass(job, Some((&[from], to)))?;
        }
        Ok(())
    }

    /// Merges the results of the groups of a panel into its columns of rows that are `pitch` words apart.
    fn merge_panel(
        &mut self,
        job: &mut Job,
        groups: &[Range<u64>],
        (to, pitch): (VectorSet, u64),
    ) -> Result<(), SparseError> {
        let from = &self.to[..groups.len()];
        let known = self.together.iter().position(|(own, _)| own == groups);
        let at = match known {
            Some(at) => at,
            None => {
                let places = groups.iter().zip(from);
                let places: Vec<RowOrigin> = places
                    .map(|(group, &from)| {
                        RowOrigin::new(from, WORD_BYTES * (group.end - group.start))
                    })
                    .collect();
                let word = |at: u64| {
                    let group = groups.iter().position(|words| words.contains(&at));
                    // Sources are numbered by a byte, and a panel has few groups.
                    match group.and_then(|group| Some((u8::try_from(group).ok()?, group))) {
                        Some((array, group)) => SourceOfWord::Of(array, at - groups[group].start),
                        None => SourceOfWord::Any,
                    }
                };
                let relayout = Relayout {
                    name: "several vectors as one array",
                    from: &places,
                    to: RowOrigin::new(to.address, WORD_BYTES * pitch),
                    words: pitch * to.rows,
                    word: &word,
                };
                let placed = relayout.compile(job.machine())?.place(job)?;
                self.together.push((groups.to_vec(), placed));
                self.together.len() - 1
            }
        };
        self.together[at].1.pass(job, Some((from, to.address)))?;
        Ok(())
    }
}

/// Removes the padding of rows.
fn remove_row_padding(
    job: &mut Job,
    (from, whole): (u64, u64),
    (y, row): (VectorSet, u64),
) -> Result<(), SparseError> {
    job.relayouted(&Relayout {
        name: "rows of several vectors",
        from: &[RowOrigin::new(from, WORD_BYTES * whole)],
        to: RowOrigin::new(y.address, WORD_BYTES * row),
        words: row * y.rows,
        word: &|at| SourceOfWord::Of(0, at),
    })?;
    Ok(())
}
