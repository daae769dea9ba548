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

/// A schedule on a machine.
#[derive(Clone, Debug)]
pub(super) struct Direct {
    shape: Shape,
    tiles: Tiles,
    /// The taps in the order of their use, the real ones twice.
    table: Vec<Complex32>,
}

impl Direct {
    /// Taps whose multiply-adds program memory has room for.
    pub(super) fn most_taps(taps: &[Complex32], machine: &Machine) -> usize {
        room(machine) / Shape::new(taps, 1, 1).width()
    }

    /// None where registers or program memory do not suffice.
    pub(super) fn new(
        taps: &[Complex32],
        decimate: usize,
        interpolate: usize,
        machine: &Machine,
    ) -> Option<Self> {
        let shape = Shape::new(taps, decimate, interpolate);
        let room = room(machine);
        let fits = |words: usize| words <= room;
        let multiplies = taps.len().max(interpolate).checked_mul(shape.width())?;
        if !fits(multiplies) || !fits(decimate) {
            return None;
        }
        let tiles = Tiles::new(shape, machine)?;
        if tiles.words(SOME).text.lines().count() > PAGE_WORDS.min(memory(machine)) {
            return None;
        }
        let at = |m: usize| taps.get(m).copied().unwrap_or_default();
        let table = shape.order().into_iter().map(at);
        let table = if shape.real {
            table.map(|h| Complex32::new(h.re, h.re)).collect()
        } else {
            table.collect()
        };
        Some(Self {
            shape,
            tiles,
            table,
        })
    }

    /// Numbers of tiles worth making a block of: as many as leave room for two
    /// blocks and their outputs, and fewer for short signals.
    pub(super) fn sizes(&self, machine: &Machine) -> impl Iterator<Item = usize> {
        let shape = self.shape;
        let numbers = shape.width() * shape.lanes() * (shape.decimate + shape.interpolate);
        let taken = (self.table.len() + 2 * shape.lead()) as u64 * COMPLEX + 1024;
        let room = machine.cp2.dmem.0.saturating_sub(taken) / 2;
        let most = room / (numbers as u64 * COMPLEX);
        let most = usize::try_from(most).unwrap_or(0).min(4096);
        std::iter::successors((most > 0).then_some(most), |&n| {
            (n > 1).then_some(n * 2 / 3)
        })
    }

    /// The filter whose blocks are `tiles` tiles.
    pub(super) fn filter(&self, tiles: usize, machine: &Arc<Machine>) -> Result<Filter, ConvError> {
        let shape = self.shape;
        let half = shape.width() * tiles;
        let points = half * shape.lanes();
        let made = self.tiles.words(tiles);
        let defines = [("TAPS", self.table.len() as i64)];
        let mut program = program(("direct.s", "direct filter"), &defines, &made.text, machine)?;
        fill(&mut program, "taps", &self.table);
        let rate = match (shape.decimate, shape.interpolate) {
            (1, 1) => String::new(),
            (m, 1) => format!(", an output every {m} samples"),
            (_, i) => format!(", {i} outputs a sample"),
        };
        let lead = shape.lead();
        Ok(Filter {
            title: format!("direct{rate}"),
            program: Arc::new(program),
            machine: machine.clone(),
            lead,
            window: ((points - 1) * shape.decimate + lead + 1).next_multiple_of(2),
            hop: points * shape.decimate,
            out: points * shape.interpolate,
            skip: 0,
            first: 0,
            in_place: false,
            fixed: true,
            operations: vec![(Class::Madd, (half * shape.taps) as u64)],
            cycles_per_block: made.cycles,
            // The page loop's words and the load of the arguments.
            cycles_per_page: 8,
            long: None,
        })
    }
}
