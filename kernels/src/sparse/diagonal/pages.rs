//! Pages: addresses, values, and the results that they leave.

use super::cells::{DiagonalShape, Entry, QUAD, SegmentColumns, cells, diagonals};
use super::layout::{
    BUFFERS, ChunkPart, DiagonalLayout, GROUPS, HEADER_WORDS, STEP_BYTES, TRAILER_WORDS,
};
use crate::sparse::work::PackingWork;
use cp2_problems::sparse::SparseMatrix;
use std::ops::Range;

/// Number of quads that a turn of the kernel shifts.
const SHIFTED_QUADS: usize = 8;

/// Approximate number of steps of the first page and of the last: with little data there is little to wait
/// for.
const END_PAGE_STEPS: usize = 24;

/// Operations for a unit that is put into a page: its steps are added up and compared with five limits.
const UNIT_CUT_OPERATIONS: u64 = 12;
/// Operations for an address: the column's place in the segment, whether it is even, the address there,
/// stored. The search of the spans is counted separately.
const ADDRESS_OPERATIONS: u64 = 6;
/// Operations to check whether an entry is in the cell of the one before.
const CELL_CHECK_OPERATIONS: u64 = 3;
/// Operations for a place of a cell: a zero is stored.
const PLACE_OPERATIONS: u64 = 1;
/// Operations for an entry of a cell: its section, lane and value, which is compared with zero and stored.
const VALUE_OPERATIONS: u64 = 6;
/// Operations to check whether a segment has the columns of a diagonal: two for these, compared with those of
/// each span, whose ends are loaded.
const SPAN_OPERATIONS: u64 = 6;
/// Operations for a word of a page: it is stored.
const WORD_OPERATIONS: u64 = 1;

/// Content of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Kind {
    /// A segment of the vector.
    #[default]
    Segment,
    /// Units with addresses of their own.
    Apart,
    /// Units with one list of addresses.
    Alike,
}

/// A page. Nothing in it depends on the addresses of arrays in system memory.
#[derive(Clone, Debug, Default)]
pub(super) struct DiagonalPage {
    /// Header and addresses.
    pub(super) index: Vec<u32>,
    /// Values, section after section.
    pub(super) values: Vec<f32>,
    /// Number of the part of the matrix that it belongs to.
    pub(super) part: usize,
    /// Content of the page.
    pub(super) kind: Kind,
    /// Groups of rows whose results are stored when the page is done.
    pub(super) results: Range<usize>,
}

/// Units of a page; none for the page that brings the segment.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PageUnits {
    part: usize,
    units: Range<usize>,
    /// For a unit that is longer than a page: these of its steps, and whether more follow.
    steps: Option<(Range<usize>, bool)>,
}

/// Divides the units of all parts among pages.
fn cuts(parts: &[ChunkPart], layout: &DiagonalLayout) -> Vec<PageUnits> {
    let mut left: usize = parts.iter().flat_map(|part| &part.units).sum();
    let mut target = END_PAGE_STEPS;
    let mut all = Vec::new();
    for (number, part) in parts.iter().enumerate() {
        let mut end = |units: Range<usize>, steps| {
            all.push(PageUnits {
                part: number,
                units,
                steps,
            });
        };
        end(0..0, None);
        let own: usize = part.units.iter().sum();
        // A segment replaces the one before the last, whose pages must have left local memory by then: each
        // part has at least as many pages as there are buffers.
        let least = if parts.len() > 1 { BUFFERS } else { 1 };
        let (mut begin, mut steps, mut pages) = (0, 0, 0);
        for (unit, &more) in part.units.iter().enumerate() {
            let most = target
                .min((left / 3).max(END_PAGE_STEPS))
                .min(own.div_ceil(least))
                .min(layout.steps);
            let pressed = pages + 1 < least && part.units.len() - unit < least - pages;
            let full = steps + more > most || unit - begin == layout.units;
            if unit > begin && (full || pressed || more > layout.steps) {
                end(begin..unit, None);
                left = left.saturating_sub(steps);
                target = (2 * target).min(layout.steps);
                (begin, steps) = (unit, 0);
                pages += 1;
            }
            if more > layout.steps {
                for from in (0..more).step_by(layout.steps) {
                    let to = (from + layout.steps).min(more);
                    end(unit..unit + 1, Some((from..to, to < more)));
                    pages += 1;
                }
                left = left.saturating_sub(more);
                begin = unit + 1;
                continue;
            }
            steps += more;
        }
        if begin < part.units.len() {
            end(begin..part.units.len(), None);
        }
        left = left.saturating_sub(steps);
    }
    all
}

/// Returns the pages of a matrix.
pub(super) fn pages(
    matrix: &SparseMatrix,
    grid: DiagonalShape,
    (layout, parts): (&DiagonalLayout, &[ChunkPart]),
    work: &PackingWork,
) -> Vec<DiagonalPage> {
    work.add(
        parts.iter().map(|part| part.units.len()).sum(),
        UNIT_CUT_OPERATIONS,
    );
    let cuts = cuts(parts, layout);
    let mut pages: Vec<DiagonalPage> = Vec::with_capacity(cuts.len());
    let mut groups = Vec::new();
    for (number, cut) in cuts.iter().enumerate() {
        let Some(part) = parts.get(cut.part) else {
            continue;
        };
        let segment = cut.units.is_empty();
        if segment {
            groups = part.chunk.entries(matrix, work);
        }
        let unfinished = cut.steps.as_ref().is_some_and(|(_, more)| *more);
        let side = cut.part % 2;
        let next = if number + 1 < cuts.len() {
            layout.index[(number + 1) % BUFFERS]
        } else {
            0
        };
        let buffer = number % BUFFERS;
        let quads = part.segment.len() / QUAD;
        let index = layout.index[buffer];
        let words = match segment {
            true => [(quads - 1) / SHIFTED_QUADS, (quads - 1) % SHIFTED_QUADS],
            false => [usize::from(unfinished), 0],
        };
        let mut page = DiagonalPage {
            index: vec![
                (cut.units.len() as u32).wrapping_sub(1),
                next,
                layout.values[buffer],
                index + 4 * HEADER_WORDS as u32,
                if segment { layout.segments[side] } else { 0 },
                layout.results[buffer],
                words[0] as u32,
                words[1] as u32,
            ],
            values: Vec::new(),
            part: cut.part,
            kind: if segment { Kind::Segment } else { Kind::Apart },
            results: match unfinished {
                true => 0..0,
                false => {
                    cut.units.start * GROUPS..(cut.units.end * GROUPS).min(part.chunk.groups())
                }
            },
        };
        let place = VectorLocation {
            segment: &part.segment,
            own: layout.segments[side],
            shifted: layout.shifted,
            work,
        };
        let mut values = vec![Vec::new(); grid.sections];
        let list = find_shared_diagonals(&groups, cut, (part, layout, grid), work);
        if let Some(list) = &list {
            page.list(list, cut.units.start, &place);
        }
        for unit in cut.units.clone() {
            let own = groups.chunks(GROUPS).nth(unit).unwrap_or(&[]);
            if let Some(list) = &list {
                unit_alike(matrix, (own, unit), list, (&mut values, work));
                continue;
            }
            let all = 0..part.units.get(unit).copied().unwrap_or(1);
            let steps = cut.steps.as_ref().map_or(all, |(steps, _)| steps.clone());
            page.unit(matrix, (own, steps), &place, &mut values);
        }
        if page.kind == Kind::Apart {
            page.index.extend([0; TRAILER_WORDS]);
        }
        let whole = grid.round_to_granules(page.index.len());
        page.index.resize(whole, 0);
        page.values = values.concat();
        work.add(page.index.len() + page.values.len(), WORD_OPERATIONS);
        pages.push(page);
    }
    pages
}

/// Location of the vector in local memory.
struct VectorLocation<'a> {
    segment: &'a SegmentColumns,
    own: u32,
    shifted: u32,
    work: &'a PackingWork,
}

impl VectorLocation<'_> {
    /// Returns the address of four numbers from a column on, which is the address of a pair: in the shifted
    /// copy for odd places.
    fn address(&self, column: i64) -> u32 {
        self.work.add(1, ADDRESS_OPERATIONS);
        self.work.searched(self.segment.spans.len());
        let at = self.segment.column_index(column) as u32;
        match at % 2 {
            0 => self.own + 4 * at,
            _ => self.shifted + 4 * (at - 1),
        }
    }
}

/// Returns the value of an entry as packed: +0 becomes -0, since +0 marks places without an entry.
fn packed(value: f32) -> f32 {
    if value.to_bits() == 0 { -0.0 } else { value }
}

/// Returns the diagonals that all groups of a page share, if padding the groups that lack some takes fewer
/// bytes than addresses for each group.
fn find_shared_diagonals(
    groups: &[Vec<Entry>],
    cut: &PageUnits,
    (part, layout, grid): (&ChunkPart, &DiagonalLayout, DiagonalShape),
    work: &PackingWork,
) -> Option<Vec<i64>> {
    if cut.units.is_empty() || cut.steps.is_some() {
        return None;
    }
    let first = cut.units.start * GROUPS;
    let end = cut.units.end * GROUPS;
    let own = groups.get(first..end.min(groups.len()))?;
    let list = diagonals(own, first, work);
    let steps = list.len() * cut.units.len();
    let apart: usize = part.units.get(cut.units.clone())?.iter().sum();
    let step = STEP_BYTES * grid.sections;
    let bytes = apart * (step + 4 * GROUPS) + 8 * cut.units.len();
    let fewer = steps <= layout.steps && steps * step + 8 * list.len() <= bytes;
    let (begin, end) = ((QUAD * first) as i64, (QUAD * end) as i64);
    let all = || {
        work.add(list.len() * part.segment.spans.len(), SPAN_OPERATIONS);
        list.iter().all(|diagonal| {
            part.segment
                .contains_columns(begin + diagonal..end + diagonal)
        })
    };
    (!list.is_empty() && fewer && all()).then_some(list)
}

/// Appends the values of a unit whose groups have the same diagonals.
fn unit_alike(
    matrix: &SparseMatrix,
    (groups, unit): (&[Vec<Entry>], usize),
    list: &[i64],
    (values, work): (&mut [Vec<f32>], &PackingWork),
) {
    for diagonal in list {
        for number in 0..GROUPS {
            let column = diagonal + (QUAD * (GROUPS * unit + number)) as i64;
            let group = groups.get(number).map_or(&[][..], Vec::as_slice);
            work.searched_often(2, group.len());
            let begin = group.partition_point(|entry| entry.column < column);
            let end = group.partition_point(|entry| entry.column <= column);
            let entries = group.get(begin..end).unwrap_or(&[]);
            cell(matrix, entries, values, work);
        }
    }
}

/// Appends the values of a cell.
fn cell(matrix: &SparseMatrix, entries: &[Entry], values: &mut [Vec<f32>], work: &PackingWork) {
    work.add(QUAD * values.len(), PLACE_OPERATIONS);
    work.add(entries.len(), VALUE_OPERATIONS);
    for own in values.iter_mut() {
        own.extend([0.0; QUAD]);
    }
    for entry in entries {
        let (section, lane) = (entry.place as usize / QUAD, entry.place as usize % QUAD);
        let own = values.get_mut(section).and_then(|own| {
            let at = own.len() - QUAD + lane;
            own.get_mut(at)
        });
        if let Some(value) = own {
            *value = packed(matrix.real(entry.entry));
        }
    }
}

impl DiagonalPage {
    /// Writes one list of addresses for all units, the first of which has number `unit`.
    fn list(&mut self, list: &[i64], unit: usize, place: &VectorLocation<'_>) {
        let first = (QUAD * GROUPS * unit) as i64;
        for (step, diagonal) in list.iter().enumerate() {
            let address = place.address(first + diagonal);
            self.index.extend([
                if step == 0 {
                    address + STEP_BYTES as u32
                } else {
                    address
                },
                0,
            ]);
        }
        self.kind = Kind::Alike;
        if let Some(bytes) = self.index.get_mut(HEADER_WORDS - 1) {
            *bytes = 8 * list.len() as u32;
        }
    }

    /// Writes the addresses and values of a unit.
    fn unit(
        &mut self,
        matrix: &SparseMatrix,
        (groups, steps): (&[Vec<Entry>], Range<usize>),
        place: &VectorLocation<'_>,
        values: &mut [Vec<f32>],
    ) {
        let all: Vec<Vec<&[Entry]>> = groups.iter().map(|group| cells(group).collect()).collect();
        place
            .work
            .add(groups.iter().map(Vec::len).sum(), CELL_CHECK_OPERATIONS);
        let first = place.address(place.segment.first());
        let mut last = [first; GROUPS];
        for step in steps.clone() {
            for (group, last) in last.iter_mut().enumerate() {
                let cell = all.get(group).and_then(|cells| cells.get(step)).copied();
                let cell = cell.unwrap_or(&[]);
                if let Some(entry) = cell.first() {
                    *last = place.address(entry.column);
                }
                self::cell(matrix, cell, values, place.work);
            }
            self.index.extend(last);
            if step == steps.start {
                self.index.extend([steps.len() as u32 - 1, 0]);
            }
        }
    }
}
