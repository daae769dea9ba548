//! Compiles the blocks of a page to transfers and argument words.

use super::NestError;
use super::argument_words::{
    ArgumentLayout, COLUMNS, PLANES, QUADS, ROWS, SECTION_FILLED, SECTION_ORIGIN,
};
use super::field::{
    AXES, FirstLoad, GridField, RowSegment, UnbufferedBlock, WindowRows, WindowSource, X,
};
use super::grid_pass::GridPass;
use super::grid_plan::{BlockTransfer, Kind};
use super::march::{LineRing, March, order};
use super::page_cuts::Cuts;
use crate::schedule::merge;
use cp2_dma::{Chunk, Descriptor, Direction, Level, over_sections};
use std::ops::Range;

/// Compiler of a sweep's pages: everything that they are made from.
pub(super) struct PageCompiler<'a> {
    pub(super) sweep: &'a GridPass,
    pub(super) cuts: &'a Cuts,
    /// Addresses of each stream's first buffer, inputs first.
    pub(super) places: Vec<u32>,
    pub(super) layout: ArgumentLayout,
    pub(super) granule: u64,
    pub(super) quad: u64,
    pub(super) levels: usize,
    /// Number of pages in DMEM at a time.
    pub(super) degree: usize,
}

impl PageCompiler<'_> {
    /// Returns the ring of a stream's lines where pages march, or nothing for a stream whose pages have
    /// buffers of their own.
    pub(super) fn ring(&self, field: &GridField) -> Option<LineRing> {
        let march = self.sweep.march?;
        let ring = LineRing::new(self.sweep, field, self.cuts.digits(), self.degree)?;
        let block = self.extents(field);
        let row = field.pitch(block[X], self.quad);
        let pitch = match march {
            March::Planes => row * (block[1] + 2 * field.halo[1] + field.room),
            March::Rows => row,
        };
        Some(LineRing { pitch, ..ring })
    }

    /// Returns the kinds of pages, in the order of their first pages.
    pub(super) fn kinds(&self) -> Result<Vec<Kind>, NestError> {
        let ranges = self.cuts.ranges(self.sweep, self.quad);
        let order = order(self.sweep.march);
        let [slow, middle, fast] = order.map(|axis| &ranges[axis]);
        let mut kinds = Vec::new();
        for a in slow {
            for b in middle {
                for c in fast {
                    let mut when = [a.clone(), b.clone(), c.clone()];
                    for (range, axis) in [a, b, c].into_iter().zip(order) {
                        when[axis] = range.clone();
                    }
                    kinds.push(self.kind(when)?);
                }
            }
        }
        Ok(kinds)
    }

    fn kind(&self, when: [Range<u64>; AXES]) -> Result<Kind, NestError> {
        let first = [when[0].start, when[1].start, when[2].start];
        let mut kind = self.page(first)?;
        for axis in 0..AXES {
            if when[axis].end - when[axis].start < 2 {
                continue;
            }
            let mut next = first;
            next[axis] += 1;
            let next = self.page(next)?;
            for (moves, others) in [
                (&mut kind.loads, &next.loads),
                (&mut kind.stores, &next.stores),
            ] {
                for (one, other) in moves.iter_mut().zip(others) {
                    one.steps[axis] =
                        other.descriptor.system.wrapping_sub(one.descriptor.system) as i64;
                }
            }
            let words = kind.words.iter().zip(&next.words);
            kind.steps[axis] = words.map(|(one, other)| other.wrapping_sub(*one)).collect();
        }
        kind.when = when;
        Ok(kind)
    }

    /// Returns a kind for one page alone.
    pub(super) fn page(&self, digits: [u64; AXES]) -> Result<Kind, NestError> {
        let (sweep, mut loads, mut stores) = (self.sweep, Vec::new(), Vec::new());
        for (index, field) in sweep.inputs.iter().enumerate() {
            self.moves(Direction::Load, (index, field), digits, &mut loads)?;
        }
        for (index, field) in sweep.stored().iter().enumerate() {
            self.moves(Direction::Store, (index, field), digits, &mut stores)?;
        }
        let words = self.words(digits);
        Ok(Kind {
            when: digits.map(|digit| digit..digit + 1),
            blocks: u32::try_from(self.cuts.per_section(digits)).unwrap_or(u32::MAX),
            loads,
            stores,
            steps: [0, 1, 2].map(|_| vec![0; words.len()]),
            words,
        })
    }

    /// Returns the elements of a section's window along each axis, without halo: whole blocks.
    fn extent(&self, field: &GridField, digits: [u64; AXES]) -> [u64; AXES] {
        let mut extent = field.block;
        extent[self.cuts.deal] *= self.cuts.per_section(digits);
        extent
    }

    /// Returns the first element of a section's window, without halo.
    fn origin(&self, field: &GridField, digits: [u64; AXES], section: u64) -> [i64; AXES] {
        let first = self.cuts.first(digits, section);
        [0, 1, 2].map(|axis| (first[axis] * field.block[axis]) as i64 + field.offset[axis])
    }

    /// Returns the number of elements of the window that lie in the array, along each axis.
    fn filled_elements(&self, field: &GridField, digits: [u64; AXES], section: u64) -> [u64; AXES] {
        let (origin, extent) = (
            self.origin(field, digits, section),
            self.extent(field, digits),
        );
        [0, 1, 2].map(|axis| {
            let end = (origin[axis] + extent[axis] as i64).min(field.shape[axis] as i64);
            (end - origin[axis].max(0)).max(0) as u64
        })
    }

    /// Returns the number of blocks of a section that a stream's buffer holds, which is 1 for a reduction's
    /// result.
    fn buffer_blocks(&self, field: &GridField) -> u64 {
        match self.sweep.partials {
            Some(_)
                if self
                    .sweep
                    .outputs
                    .iter()
                    .any(|output| std::ptr::eq(output, field)) =>
            {
                1
            }
            _ => self.cuts.largest_section(),
        }
    }

    /// Returns the elements along each axis of all blocks that a section has in a stream's buffer, without
    /// halo.
    fn extents(&self, field: &GridField) -> [u64; AXES] {
        let mut block = field.block;
        block[self.cuts.deal] *= self.buffer_blocks(field);
        block
    }

    /// Returns the number of lines of a stream's buffer along an axis: those of a window, with the room
    /// behind its rows, or of a ring.
    fn lines(&self, field: &GridField, axis: usize) -> u64 {
        let ring = self.sweep.march.filter(|march| march.axis() == axis);
        match ring.and_then(|_| self.ring(field)) {
            Some(ring) => ring.lines,
            None => {
                let room = if axis == 1 { field.room } else { 0 };
                self.extents(field)[axis] + 2 * field.halo[axis] + room
            }
        }
    }

    /// Returns the input in whose buffer a stream lies, if that is not its own, and the bytes from that
    /// buffer to the block; in a ring, to the block's row in the first line. The bytes are missing if the
    /// block lies before the buffer.
    pub(super) fn find_containing_input(&self, field: &GridField) -> Option<(usize, Option<u64>)> {
        let within = field.within?;
        let input = self.sweep.inputs.get(within.input)?;
        let row = self.pitches(input)[0] as i64;
        let by = self
            .interior(input)
            .checked_add_signed(within.row.saturating_mul(row));
        Some((within.input, by))
    }

    /// Returns the line of an input's window with which the block of a stream in its ring begins, if pages
    /// march.
    fn line(&self, within: UnbufferedBlock) -> Option<u64> {
        let input = self.sweep.inputs.get(within.input)?;
        let march = self.sweep.march?;
        self.ring(input)?;
        input.halo[march.axis()].checked_add_signed(within.plane)
    }

    /// Returns the stream in whose buffer a stream lies.
    fn buffer<'f>(&'f self, field: &'f GridField) -> &'f GridField {
        let within = field.within;
        within
            .and_then(|within| self.sweep.inputs.get(within.input))
            .unwrap_or(field)
    }

    /// Returns the bytes from row to row and from plane to plane of a stream's buffer.
    pub(super) fn pitches(&self, field: &GridField) -> [u64; 2] {
        let field = self.buffer(field);
        let row = field.pitch(self.extents(field)[X], self.quad);
        [row, row * self.lines(field, 1)]
    }

    /// Returns the bytes of a stream's buffer.
    pub(super) fn bytes(&self, field: &GridField) -> u64 {
        self.pitches(field)[1] * self.lines(field, 0)
    }

    /// Returns the bytes from a buffer to the block's first element, or from a ring's first line to the
    /// element in that line.
    pub(super) fn interior(&self, field: &GridField) -> u64 {
        let mut halo = field.halo;
        if let (Some(march), Some(_)) = (self.sweep.march, self.ring(field)) {
            halo[march.axis()] = 0;
        }
        let [row, plane] = self.pitches(field);
        halo[0] * plane + halo[1] * row + field.lead(self.quad)
    }

    fn moves(
        &self,
        direction: Direction,
        (index, field): (usize, &GridField),
        digits: [u64; AXES],
        all: &mut Vec<BlockTransfer>,
    ) -> Result<(), NestError> {
        let ring = self.sweep.march.zip(self.ring(field));
        let lines = ring.map(|(march, ring)| (march, ring.loaded(digits[march.axis()] == 0)));
        let line = match field.within {
            // The ring belongs to the input.
            Some(within) => self.line(within),
            None => lines.as_ref().map(|(_, lines)| lines.start),
        };
        let sections = (0..self.cuts.sections).map(|section| match direction {
            Direction::Load => self.window((index, field), lines.clone(), digits, section),
            Direction::Store => self.block(index, field, digits, section),
        });
        let sections = sections.collect::<Result<Vec<_>, _>>()?;
        let moved = self.make_transfers(direction, sections);
        all.extend(moved.into_iter().map(|descriptor| BlockTransfer {
            stream: index,
            descriptor,
            steps: [0; AXES],
            line,
        }));
        Ok(())
    }

    /// Returns the transfers of lines of an input's windows, to the beginning of the buffer.
    pub(super) fn line_transfers(
        &self,
        index: usize,
        (march, lines): (March, &Range<u64>),
        digits: [u64; AXES],
    ) -> Result<Vec<Descriptor>, NestError> {
        let Some(field) = self.sweep.inputs.get(index) else {
            return Ok(Vec::new());
        };
        let sections = 0..self.cuts.sections;
        let sections = sections.map(|section| {
            let part = Some((march, lines.clone()));
            self.window((index, field), part, digits, section)
        });
        let sections = sections.collect::<Result<Vec<_>, _>>()?;
        Ok(self.make_transfers(Direction::Load, sections))
    }

    /// Returns the stores of a reduction's result from section 0; other sweeps have none.
    pub(super) fn result(&self) -> Result<Vec<Descriptor>, NestError> {
        let sweep = self.sweep;
        let Some(field) = sweep.partials.and(sweep.outputs.first()) else {
            return Ok(Vec::new());
        };
        let mut sections = vec![Vec::new(); self.cuts.sections as usize];
        if let Some(first) = sections.first_mut() {
            *first = self.block(0, field, [0; AXES], 0)?;
        }
        Ok(self.make_transfers(Direction::Store, sections))
    }

    fn make_transfers(&self, direction: Direction, sections: Vec<Vec<Chunk>>) -> Vec<Descriptor> {
        let moved = over_sections(direction, sections);
        let moved = moved
            .iter()
            .flat_map(|d| d.within(self.levels).collect::<Vec<_>>());
        moved.filter(|d| d.run > 0).collect()
    }

    /// Returns the loads of a section: its window, or lines of it, to the beginning of the buffer.
    fn window(
        &self,
        (index, field): (usize, &GridField),
        part: Option<(March, Range<u64>)>,
        digits: [u64; AXES],
        section: u64,
    ) -> Result<Vec<Chunk>, NestError> {
        let (origin, extent) = (
            self.origin(field, digits, section),
            self.extent(field, digits),
        );
        let follows = self.cuts.continues_section(digits);
        let skipped = match field.opening {
            FirstLoad::Nothing if !follows => return Ok(Vec::new()),
            FirstLoad::Further(rows) if follows => rows.min(extent[1] + 2 * field.halo[1]),
            _ => 0,
        };
        let [row, plane] = self.pitches(field);
        let place = u64::from(self.places[index]);
        let from = origin[X] * field.element as i64 - field.lead(self.quad) as i64;
        let width = field.pitch(extent[X], self.quad);
        let columns = field.columns(from, from + width as i64, self.granule)?;
        let lines = |axis: usize| {
            let from = origin[axis] - field.halo[axis] as i64;
            let part = part.as_ref().filter(|(march, _)| march.axis() == axis);
            let all = 0..extent[axis] + 2 * field.halo[axis];
            let part = part.map_or(all, |(_, lines)| lines.clone());
            field.lines(axis, from + part.start as i64, from + part.end as i64)
        };
        let first = origin[1] - field.halo[1] as i64;
        let rows = match skipped {
            0 => lines(1),
            _ => {
                let end = first + (extent[1] + 2 * field.halo[1]) as i64;
                let mut rows = field.lines(1, first + skipped as i64, end);
                rows.iter_mut().for_each(|lines| lines.local += skipped);
                rows
            }
        };
        let lines = [lines(0), rows];
        Ok(self.pieces(field, place, lines, &columns, (width, [row, plane])))
    }

    /// Returns the transfers of segments of rows and planes at a place in DMEM. Rows that the array does not
    /// have are zeros, `width` bytes each.
    fn pieces(
        &self,
        field: &GridField,
        place: u64,
        [planes, rows]: [Vec<WindowRows>; 2],
        columns: &[RowSegment],
        (width, [row, plane]): (u64, [u64; 2]),
    ) -> Vec<Chunk> {
        let mut chunks = Vec::new();
        for planes in &planes {
            for rows in &rows {
                let local = place + planes.local * plane + rows.local * row;
                let counts = [(rows.count, row), (planes.count, plane)];
                let (Some((z, dz)), Some((y, dy))) = (planes.source, rows.source) else {
                    self.zeros(local, width, counts, &mut chunks);
                    continue;
                };
                for segment in columns {
                    let local = local + segment.local;
                    let lying = |address: u64, [line, sheet]: [u64; 2]| {
                        let levels = [
                            (rows.count, dy * line, row),
                            (planes.count, dz * sheet, plane),
                        ];
                        (address + y * line + z * sheet, levels)
                    };
                    match segment.source {
                        WindowSource::At(address, steps) => {
                            let (system, levels) = lying(address, steps);
                            chunks.push(chunk(system, local, segment.bytes, &levels));
                        }
                        WindowSource::Same(address, steps) => {
                            let (system, levels) = lying(address, steps);
                            let repeat = (segment.bytes / field.element, 0, field.element);
                            let levels = [repeat, levels[0], levels[1]];
                            chunks.push(chunk(system, local, field.element, &levels));
                        }
                        WindowSource::Zero => self.zeros(local, segment.bytes, counts, &mut chunks),
                    }
                }
            }
        }
        chunks
    }

    /// Adds loads of zeros to `bytes` bytes of lines at given distances.
    fn zeros(
        &self,
        local: u64,
        mut bytes: u64,
        mut lines: [(u64, u64); 2],
        chunks: &mut Vec<Chunk>,
    ) {
        let (address, table) = self.sweep.zeros;
        for (count, step) in &mut lines {
            // Lines that touch are merged into one.
            if *step == bytes && bytes * *count <= table {
                bytes *= *count;
                *count = 1;
            }
        }
        let table = table.max(self.granule);
        let mut at = 0;
        while at < bytes {
            let run = (bytes - at).min(table);
            let levels = lines.map(|(count, step)| (count, 0, step));
            chunks.push(chunk(address, local + at, run, &levels));
            at += run;
        }
    }

    /// Returns the stores of a section: the part of its blocks that lies in the array.
    fn block(
        &self,
        index: usize,
        field: &GridField,
        digits: [u64; AXES],
        section: u64,
    ) -> Result<Vec<Chunk>, NestError> {
        let (origin, filled) = (
            self.origin(field, digits, section),
            self.filled_elements(field, digits, section),
        );
        if filled.contains(&0) {
            return Ok(Vec::new());
        }
        let [row, plane] = self.pitches(field);
        // Elements before the array are not stored.
        let before = origin.map(|origin| origin.min(0).unsigned_abs());
        let origin = origin.map(|origin| origin.max(0));
        let skipped = before[0] * plane + before[1] * row + before[X] * field.element;
        let interior = if field.within.is_some() {
            0
        } else {
            self.interior(field)
        };
        let place = u64::from(self.places[self.sweep.inputs.len() + index]) + interior + skipped;
        let from = origin[X] * field.element as i64;
        let bytes = (filled[X] * field.element).next_multiple_of(self.granule);
        let mut columns = field.columns(from, from + bytes as i64, self.granule)?;
        columns.retain(|segment| matches!(segment.source, WindowSource::At(..)));
        let lines = [0, 1].map(|axis| {
            let from = origin[axis];
            field.lines(axis, from, from + filled[axis] as i64)
        });
        Ok(self.pieces(field, place, lines, &columns, (bytes, [row, plane])))
    }

    /// Returns the argument words of all sections' blocks, one behind the other, for the first buffers.
    fn words(&self, digits: [u64; AXES]) -> Vec<u32> {
        let (sweep, layout) = (self.sweep, self.layout);
        let Some(leading) = sweep.leading() else {
            return Vec::new();
        };
        let word = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let mut all = Vec::new();
        let most = self.filled_elements(leading, digits, 0);
        for section in 0..self.cuts.sections {
            let mut words = vec![0; layout.bytes() as usize / 4];
            let mut put = |at: i64, value: u64| {
                if let Some(place) = words.get_mut(layout.word(at)) {
                    *place = word(value);
                }
            };
            put(8, self.cuts.per_section(digits));
            put(QUADS, (most[X] * leading.element).div_ceil(16));
            put(COLUMNS, most[X]);
            put(ROWS, most[1]);
            put(PLANES, most[0]);
            let origin = self.origin(leading, digits, section);
            let filled = self.filled_elements(leading, digits, section);
            for (i, axis) in [2, 1, 0].into_iter().enumerate() {
                put(SECTION_FILLED + 4 * i as i64, filled[axis]);
                // A position before the array is written in two's complement.
                put(
                    SECTION_ORIGIN + 4 * i as i64,
                    u64::from(origin[axis] as u32),
                );
            }
            put(SECTION_FILLED + 12, section);
            let inputs = sweep.inputs.len();
            for (index, field) in sweep.inputs.iter().chain(&sweep.outputs).enumerate() {
                let at = ArgumentLayout::pitch(index, inputs);
                let [row, plane] = self.pitches(field);
                put(at, row);
                put(at + 4, plane);
            }
            all.extend(words);
        }
        all
    }
}

/// Creates a chunk of runs at distances: each level has a count, and bytes in system memory and in DMEM.
fn chunk(system: u64, local: u64, run: u64, levels: &[(u64, u64, u64)]) -> Chunk {
    let signed = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
    let levels: Vec<Level> = levels
        .iter()
        .map(|&(count, system, local)| Level {
            count: u32::try_from(count).unwrap_or(u32::MAX),
            system_stride: signed(system),
            local_stride: signed(local),
        })
        .collect();
    let (run, levels) = merge(run, &levels);
    Chunk {
        // The address lies inside DMEM, whose addresses are u32.
        local: u32::try_from(local).unwrap_or(u32::MAX),
        levels,
        ..Chunk::new(system, 0, run)
    }
}

/// Returns the transfer that loads the same bytes into every section.
pub(super) fn broadcast(system: u64, local: u32, bytes: u64) -> Descriptor {
    Descriptor::load(cp2_dma::Target::Broadcast, system, local, bytes)
}
