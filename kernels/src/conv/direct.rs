//! The direct FIR kernel: a schedule for the taps, a block size, the taps as data.

use super::error::ConvError;
use super::filter::{COMPLEX, Filter};
use super::program::{fill, program};
use super::tile::{Shape, Tiles};
use cp2_machine::{Class, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// Copies of a tile in the program: the first, the last, and those between.
const COPIES: usize = 3;
/// Words beside the tiles, and more.
const REST: usize = 256;
/// Tiles that fill and drain the pipeline and go round the loop.
const SOME: usize = 64;
/// Words of a page: the page loop is a hardware loop.
const PAGE_WORDS: usize = 4095;

/// Words of program memory.
fn memory(machine: &Machine) -> usize {
    usize::try_from(machine.cp2.program.0 / 8).unwrap_or(PAGE_WORDS)
}

/// Words of a tile that program memory has room for.
fn room(machine: &Machine) -> usize {
    memory(machine).min(PAGE_WORDS).saturating_sub(REST) / COPIES
}

/// Numbers of parts that are tried, from the fewest that program memory allows on.
const TRIES: usize = 3;
/// Tiles of a block at most: the longest hardware loop.
const MOST_TILES: usize = 4095;
/// Bytes of local memory beside taps and blocks.
const BESIDE: u64 = 1024;

/// A schedule on a machine.
#[derive(Clone, Debug)]
pub(super) struct Direct {
    shape: Shape,
    /// The taps of a part; more than one part where program memory has no room for a tile of
    /// all taps. Each goes over the whole block and adds to the sums of those before.
    part: Shape,
    parts: usize,
    tiles: Tiles,
    /// The taps in the order of their use, the real ones twice.
    table: Vec<Complex32>,
}

impl Direct {
    /// Taps that local memory has room for beside a block of one tile, if program memory has for a tile.
    pub(super) fn most_taps(
        taps: &[Complex32],
        decimate: usize,
        interpolate: usize,
        machine: &Machine,
    ) -> usize {
        let shape = Shape::new(taps, decimate, interpolate);
        let room = room(machine);
        if interpolate > room / shape.width() || decimate > room {
            return 0;
        }
        let block = 2 * (shape.numbers() as u64) * COMPLEX;
        let free = machine.cp2.dmem.0.saturating_sub(BESIDE + block) / COMPLEX;
        // The taps, and in two blocks the samples before an output's own; parts are filled up.
        let outputs = interpolate as u64;
        let parts = free / (room / shape.width()).max(1) as u64 + TRIES as u64;
        let most = free.saturating_mul(outputs) / (outputs + 2);
        usize::try_from(most.saturating_sub(parts * outputs)).unwrap_or(usize::MAX)
    }

    /// None where registers, program memory or local memory do not suffice.
    pub(super) fn new(
        taps: &[Complex32],
        decimate: usize,
        interpolate: usize,
        machine: &Machine,
    ) -> Option<Self> {
        if taps.len() > Self::most_taps(taps, decimate, interpolate, machine) {
            return None;
        }
        let shape = Shape::new(taps, decimate, interpolate);
        let all = taps.len().max(interpolate);
        let least = all.div_ceil(room(machine) / shape.width());
        (least..least + TRIES).find_map(|parts| Self::of(taps, shape, parts, machine))
    }

    /// The taps in so many parts, or fewer.
    fn of(taps: &[Complex32], shape: Shape, parts: usize, machine: &Machine) -> Option<Self> {
        let all = taps.len().max(shape.interpolate);
        let part = if parts == 1 {
            shape
        } else {
            Shape {
                taps: all.div_ceil(parts).next_multiple_of(shape.interpolate),
                ..shape
            }
        };
        let parts = all.div_ceil(part.taps.max(shape.interpolate));
        if shape.moves(part.taps) > room(machine) {
            return None;
        }
        let (part, tiles) = part.alternatives().find_map(|part| {
            let tiles = Tiles::new(part, parts > 1, machine)?;
            Some((part, tiles))
        })?;
        if tiles.words(SOME).text.lines().count() + REST / 2 > PAGE_WORDS.min(memory(machine)) {
            return None;
        }
        let at = |m: usize| taps.get(m).copied().unwrap_or_default();
        let order = part.order();
        let all = (0..parts).flat_map(|i| order.iter().map(move |m| i * part.taps + m));
        let table = all.map(at);
        let table = if shape.real {
            table.map(|h| Complex32::new(h.re, h.re)).collect()
        } else {
            table.collect()
        };
        Some(Self {
            shape,
            part,
            parts,
            tiles,
            table,
        })
    }

    /// Samples before an output's own that its parts need, made even.
    fn lead(&self) -> usize {
        let taps = if self.parts == 1 {
            self.shape.taps
        } else {
            self.part.taps * self.parts
        };
        Shape { taps, ..self.shape }.lead()
    }

    /// Numbers of tiles worth making a block of: as many as leave room for two
    /// blocks and their outputs, and fewer for short signals.
    pub(super) fn sizes(&self, machine: &Machine) -> impl Iterator<Item = usize> {
        let taken = (self.table.len() + 2 * self.lead()) as u64 * COMPLEX + BESIDE;
        let room = machine.cp2.dmem.0.saturating_sub(taken) / 2;
        let most = room / (self.shape.numbers() as u64 * COMPLEX);
        let most = usize::try_from(most).unwrap_or(0).min(MOST_TILES);
        std::iter::successors((most > 0).then_some(most), |&n| {
            (n > 1).then_some(n * 2 / 3)
        })
    }

    /// The words of a block of `tiles` tiles, and their cycles.
    fn words(&self, tiles: usize) -> (String, u64) {
        let made = self.tiles.words(tiles);
        if self.parts == 1 {
            return (made.text, made.cycles);
        }
        let quads = self.shape.width() * self.shape.lanes() * self.shape.interpolate / 2;
        let [first, back, taps] = [
            self.lead() - self.part.lead(),
            self.part.taps / self.part.interpolate,
            self.part.taps,
        ]
        .map(|numbers| numbers as u64 * COMPLEX);
        let text = format!(
            "    movi a11, zero\n    ldq q0, [a11]\n    mov a10, a9\n    loop {tiles} {{\n    \
             loop {quads} {{\n    stq q0, [a10]+16\n    }}\n    nop\n    }}\n    \
             movi s15, {first}\n    add a8, a8, s15\n    movi a11, taps\n    movi s14, -{back}\n    \
             movi s15, {taps}\n    loop {} {{\n{}    add a8, a8, s14\n    add a11, a11, s15\n    }}\n",
            self.parts, made.text
        );
        let zeros = (tiles * (quads + 4)) as u64;
        (text, zeros + self.parts as u64 * (made.cycles + 2) + 16)
    }

    /// The filter whose blocks are `tiles` tiles.
    pub(super) fn filter(&self, tiles: usize, machine: &Arc<Machine>) -> Result<Filter, ConvError> {
        let shape = self.shape;
        let half = shape.width() * tiles;
        let points = half * shape.lanes();
        let (text, cycles) = self.words(tiles);
        let defines = [("TAPS", self.table.len() as i64)];
        let mut program = program(("direct.s", "direct filter"), &defines, &text, machine)?;
        fill(&mut program, "taps", &self.table);
        let rate = match (shape.decimate, shape.interpolate) {
            (1, 1) => String::new(),
            (m, 1) => format!(", an output every {m} samples"),
            (_, i) => format!(", {i} outputs a sample"),
        };
        let lead = self.lead();
        Ok(Filter {
            title: format!("direct{rate}"),
            program: Arc::new(program),
            machine: machine.clone(),
            lead,
            window: ((points - 1) * shape.decimate + lead + 1).next_multiple_of(2),
            hop: points * shape.decimate,
            out: points * shape.interpolate,
            apart: points * shape.interpolate,
            skip: 0,
            first: 0,
            in_place: false,
            fixed: true,
            operations: vec![
                (Class::Madd, (half * shape.taps) as u64),
                (Class::Load, (tiles * self.parts * self.tiles.waits) as u64),
            ],
            cycles_per_block: cycles,
            // The page loop's words and the load of the arguments.
            cycles_per_page: 8,
            passes: None,
            mixes: None,
        })
    }
}
