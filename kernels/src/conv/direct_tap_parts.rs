//! A direct filter whose taps are divided among several loops.
//!
//! One loop goes along the block with all taps in its words. Where program memory has no room for them,
//! several loops go over the whole block in turn, each with a part of the taps, and each adds to the sums of
//! those before.

use super::block_filter::COMPLEX;
use super::direct::{has_room, most_tiles, room};
use super::direct_tile::{TileSchedule, TileShape};
use super::program::PageText;
use crate::pipeline::Operations;
use cp2_machine::Machine;
use num_complex::Complex32;

/// Numbers of parts that are tried, from the fewest that program memory allows on.
const TRIED_PART_COUNTS: usize = 3;
/// Numbers of parts that are tried where parts have two lengths, which share program memory.
const TRIED_UNEQUAL_PART_COUNTS: usize = 64;

/// A direct filter by tiles, with its taps in parts.
#[derive(Clone, Debug)]
pub(super) struct TiledFilter {
    /// Samples before an output's own that are read.
    pub(super) lead: usize,
    /// The taps in the order of their use.
    pub(super) table: Vec<Complex32>,
    /// True if the table has zeros that the user has not given.
    pub(super) fills: bool,
    /// Operations of a tile, for the model.
    pub(super) operations: Operations,
    shape: TileShape,
    /// Loop of a part, and the number of parts that it serves.
    part: TapPart,
    parts: usize,
    /// Loop of a shorter part behind these.
    rest: Option<TapPart>,
}

/// A tile with a part of the taps.
#[derive(Clone, Debug)]
struct TapPart {
    shape: TileShape,
    tiles: Box<TileSchedule>,
}

impl TapPart {
    /// Schedules a tile with `taps` of the filter's taps. With `adds` it continues the sums of other parts.
    fn new(taps: usize, shape: TileShape, adds: bool, machine: &Machine) -> Option<Self> {
        let part = TileShape { taps, ..shape };
        part.alternatives().find_map(|shape| {
            let tiles = Box::new(TileSchedule::new(shape, adds, machine)?);
            Some(Self { shape, tiles })
        })
    }
}

/// Taps of each part, the number of such parts, and the taps of a shorter part behind them.
#[derive(Clone, Copy, Debug)]
struct TapDivision {
    each: usize,
    parts: usize,
    rest: usize,
}

impl TapDivision {
    /// Divides the taps into parts of one length, the last one padded with zeros.
    fn pad_last_part(shape: TileShape, parts: usize) -> Self {
        let all = shape.taps.max(shape.interpolate);
        let each = match parts {
            1 => shape.taps,
            _ => all.div_ceil(parts).next_multiple_of(shape.interpolate),
        };
        let parts = all.div_ceil(each.max(shape.interpolate));
        Self {
            each,
            parts,
            rest: 0,
        }
    }

    /// Divides the taps into parts without padding. A part has an even number of taps of every phase, so that
    /// the samples of a later part begin at an even place too.
    fn exact(shape: TileShape, parts: usize) -> Option<Self> {
        let (all, unit) = (shape.taps, 2 * shape.interpolate);
        if parts == 1 {
            return (all >= shape.interpolate).then(|| Self::pad_last_part(shape, 1));
        }
        let each = all.div_ceil(parts).next_multiple_of(unit);
        let (parts, rest) = (all / each, all % each);
        // A phase without a tap would need a product with zero.
        (parts > 0 && (rest == 0 || rest >= shape.interpolate)).then_some(Self {
            each,
            parts,
            rest,
        })
    }
}

impl TiledFilter {
    /// Divides the taps into as few parts as there is room for. With `exact` the table has no zeros that
    /// would turn a NaN in a sample into one of an output that it is no part of.
    pub(super) fn new(
        taps: &[Complex32],
        shape: TileShape,
        exact: bool,
        machine: &Machine,
    ) -> Option<Self> {
        let all = taps.len().max(shape.interpolate);
        let least = all.div_ceil((room(machine) / shape.width()).max(1));
        let of = |division| Self::divided(taps, shape, division, machine);
        if exact {
            let mut tried = least..least + TRIED_UNEQUAL_PART_COUNTS;
            return tried.find_map(|parts| of(TapDivision::exact(shape, parts)?));
        }
        (least..least + TRIED_PART_COUNTS)
            .find_map(|parts| of(TapDivision::pad_last_part(shape, parts)))
    }

    fn divided(
        taps: &[Complex32],
        shape: TileShape,
        division: TapDivision,
        machine: &Machine,
    ) -> Option<Self> {
        let TapDivision { each, parts, rest } = division;
        let words = shape.moves(each) + if rest > 0 { shape.moves(rest) } else { 0 };
        if words > room(machine) {
            return None;
        }
        let adds = parts > 1 || rest > 0;
        let whole = each.max(shape.interpolate);
        let filled = if adds { whole * parts + rest } else { each };
        let lead = TileShape {
            taps: filled,
            ..shape
        }
        .lead();
        if most_tiles([whole * parts + rest, lead, shape.numbers()], machine) == 0 {
            return None;
        }
        let part = TapPart::new(each, shape, adds, machine)?;
        let rest = match rest {
            0 => None,
            taps => Some(TapPart::new(taps, shape, adds, machine)?),
        };
        let programs = [Some(&part), rest.as_ref()].into_iter().flatten();
        let words = programs.map(|part| part.tiles.words()).sum();
        if !has_room(words, machine) {
            return None;
        }
        let order = |part: &TapPart, first: usize| -> Vec<usize> {
            let order = part.shape.order().into_iter();
            order.map(|m| first + m).collect()
        };
        let mut all: Vec<usize> = (0..parts).flat_map(|i| order(&part, i * each)).collect();
        all.extend(rest.iter().flat_map(|rest| order(rest, parts * each)));
        let fills = all.iter().any(|&m| m >= taps.len());
        let at = |m: usize| taps.get(m).copied().unwrap_or_default();
        let table = all.into_iter().map(at);
        let table = if shape.real {
            table.map(|h| Complex32::new(h.re, h.re)).collect()
        } else {
            table.collect()
        };
        let mut operations = Operations::default();
        operations.join(&part.tiles.operations, parts as u64);
        if let Some(rest) = &rest {
            operations.join(&rest.tiles.operations, 1);
        }
        Some(Self {
            lead,
            table,
            fills,
            operations,
            shape,
            part,
            parts,
            rest,
        })
    }

    /// Writes the page for a block of `tiles` tiles.
    pub(super) fn page(&self, tiles: usize) -> PageText {
        let (part, parts) = (&self.part.shape, self.parts);
        let mut page = PageText::default();
        if parts == 1 && self.rest.is_none() {
            page.cycles = self.part.tiles.write("tile", tiles, &mut page);
            return page;
        }
        let shape = self.shape;
        let quads = shape.width() * shape.lanes() * shape.interpolate / 2;
        let bytes = |numbers: usize| numbers as u64 * COMPLEX;
        let [first, back, taps] = [
            self.lead - part.lead(),
            part.taps / part.interpolate,
            part.taps,
        ]
        .map(bytes);
        page.add_words(&format!(
            "    movi a11, zero\n    ldq q0, [a11]\n    mov a10, a9\n    loop {tiles} {{\n    \
             loop {quads} {{\n    stq q0, [a10]+16\n    }}\n    nop\n    }}\n    \
             movi s15, {first}\n    add a8, a8, s15\n    movi a11, taps\n    movi s14, -{back}\n    \
             movi s15, {taps}\n    loop {parts} {{\n"
        ));
        let cycles = self.part.tiles.write("tile", tiles, &mut page);
        page.add_words("    add a8, a8, s14\n    add a11, a11, s15\n    }\n");
        let zeros = (tiles * (quads + 4)) as u64;
        page.cycles = zeros + parts as u64 * (cycles + 2) + 16;
        if let Some(rest) = &self.rest {
            // Move the input pointer to where the samples of the shorter part begin: the difference of the
            // leads.
            let later = bytes(part.lead()) as i64 - bytes(rest.shape.lead()) as i64;
            page.add_words(&format!("    movi s14, {later}\n    add a8, a8, s14\n"));
            page.cycles += rest.tiles.write("rest", tiles, &mut page) + 2;
        }
        page
    }
}
