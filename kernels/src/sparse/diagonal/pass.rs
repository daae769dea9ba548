//! The product as a pass: loads and stores of its pages.

use super::cells::{ColumnSpan, DiagonalShape, QUAD, RowChunk};
use super::layout::{BUFFERS, ChunkPart};
use super::pages::Kind;
use super::{Diagonals, PlacedDiagonals};
use crate::job::Job;
use crate::sparse::listed_pages::PageSources;
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::ListedPage;
use std::ops::Range;

impl RowChunk {
    /// Returns the distance of the sections' origins, if it is the same for all.
    fn pitch(&self) -> Option<i64> {
        let mut pitches = self.origins.windows(2).map(|pair| pair[1] - pair[0]);
        let pitch = pitches.next().unwrap_or(0);
        pitches.all(|other| other == pitch).then_some(pitch)
    }

    /// Returns the columns of a span, in whole granules, that exist in a section.
    fn existing_columns(
        &self,
        section: usize,
        span: &ColumnSpan,
        grid: DiagonalShape,
    ) -> Range<i64> {
        let origin = self.origins.get(section).copied().unwrap_or(0);
        let end = grid.round_to_granules(grid.cols) as i64 - origin;
        let start = span.columns.start.max(-origin);
        start..span.columns.end.min(end).max(start)
    }

    /// Returns the numbers at the beginning and at the end of a span for which some section has no columns.
    fn missing_columns(&self, span: &ColumnSpan, grid: DiagonalShape) -> [usize; 2] {
        let (mut before, mut behind) = (0, 0);
        let Range { start, end } = span.columns;
        for section in 0..grid.sections {
            let inside = self.existing_columns(section, span, grid);
            before = before.max(inside.start.min(end) - start);
            behind = behind.max(end - inside.end.max(start));
        }
        if before + behind >= end - start {
            (before, behind) = (end - start, 0);
        }
        [before as usize, behind as usize]
    }
}

impl ChunkPart {
    /// Returns the most zeros that a transfer brings.
    fn zeros(&self, grid: DiagonalShape) -> usize {
        let spans = self.segment.spans.iter();
        let outside = spans.flat_map(|span| self.chunk.missing_columns(span, grid));
        outside.max().unwrap_or(0)
    }

    /// Loads the segment of the vector at `x` to a place in local memory.
    fn loads(
        &self,
        (x, zeros): (u64, u64),
        to: u32,
        grid: DiagonalShape,
        loads: &mut Vec<Descriptor>,
    ) {
        for span in &self.segment.spans {
            let Range { start, end } = span.columns;
            let local = |column: i64| to + 4 * (span.at as i64 + column - start) as u32;
            let from = |origin: i64, column: i64| x.wrapping_add_signed(4 * (origin + column));
            let outside = self.chunk.missing_columns(span, grid);
            let all = outside == [0, 0];
            if let (true, Some(pitch), Some(&origin)) =
                (all, self.chunk.pitch(), self.chunk.origins.first())
            {
                let blocks = Target::Blocks { stride: 4 * pitch };
                let bytes = 4 * (end - start) as u64;
                loads.push(Descriptor::load(
                    blocks,
                    from(origin, start),
                    to + 4 * span.at as u32,
                    bytes,
                ));
                continue;
            }
            let [before, behind] = outside;
            let margins = [(start, before), (end - behind as i64, behind)];
            for (column, count) in margins.into_iter().filter(|(_, count)| *count > 0) {
                let bytes = 4 * count as u64;
                loads.push(Descriptor::load(
                    Target::Broadcast,
                    zeros,
                    local(column),
                    bytes,
                ));
            }
            for (section, &origin) in self.chunk.origins.iter().enumerate() {
                let inside = self.chunk.existing_columns(section, span, grid);
                if inside.is_empty() {
                    continue;
                }
                let bytes = 4 * (inside.end - inside.start) as u64;
                let target = Target::Section(section as u32);
                let from = from(origin, inside.start);
                loads.push(Descriptor::load(target, from, local(inside.start), bytes));
            }
        }
    }

    /// Stores the results of groups from an address in local memory to the vector at `y`.
    fn stores(
        &self,
        groups: Range<usize>,
        y: u64,
        local: u32,
        grid: DiagonalShape,
    ) -> Vec<Descriptor> {
        let first =
            |section: usize| self.chunk.row + section * self.chunk.each + QUAD * groups.start;
        let bytes = 16 * groups.len() as u64;
        let there = |section: usize| {
            let rows = grid
                .round_to_granules(grid.rows)
                .saturating_sub(first(section));
            bytes.min(4 * rows as u64)
        };
        if there(grid.sections - 1) == bytes {
            let blocks = Target::Blocks {
                stride: 4 * self.chunk.each as i64,
            };
            return vec![Descriptor::store(
                blocks,
                y + 4 * first(0) as u64,
                local,
                bytes,
            )];
        }
        let own = (0..grid.sections).filter(|&section| there(section) > 0);
        let store = |section: usize| {
            let to = y + 4 * first(section) as u64;
            Descriptor::store(Target::Section(section as u32), to, local, there(section))
        };
        own.map(store).collect()
    }
}

impl Diagonals {
    /// Returns the most zeros that a transfer brings.
    pub(super) fn zeros(&self) -> usize {
        let zeros = self.parts.iter().map(|part| part.zeros(self.grid));
        zeros.max().unwrap_or(0)
    }
}

impl PlacedDiagonals {
    /// Adds a product to a job: y = A x, for the vectors at the addresses `x` and `y`.
    pub fn pass(&self, job: &mut Job, x: u64, y: u64) {
        let Diagonals {
            grid,
            layout,
            parts,
            pages: packed,
            ..
        } = &*self.diagonals;
        let mut sources = PageSources {
            streams: self.values.address(),
            index: self.index.address(),
            sections: grid.sections,
        };
        let mut pages = Vec::with_capacity(packed.len());
        for (number, page) in packed.iter().enumerate() {
            let mut listed = ListedPage::default();
            let (buffer, side) = (number % BUFFERS, page.part % 2);
            let Some(part) = parts.get(page.part) else {
                continue;
            };
            if page.kind == Kind::Segment {
                let from = (x, self.zeros.address());
                part.loads(from, layout.segments[side], *grid, &mut listed.loads);
            }
            let values = sources.load_stream(page.values.len(), layout.values[buffer]);
            listed.loads.extend(values);
            let index = sources.load_index(page.index.len(), layout.index[buffer]);
            listed.loads.push(index);
            if !page.results.is_empty() {
                let local = layout.results[buffer];
                listed.stores = part.stores(page.results.clone(), y, local, *grid);
            }
            pages.push(listed);
        }
        self.resident.pass(job, &layout.index, pages);
    }
}
