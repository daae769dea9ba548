//! The direct FIR filter: a schedule for the taps, a block size.

use super::block_filter::{BlockFilter, COMPLEX, GatheredRuns};
use super::direct_tap_parts::TiledFilter;
use super::direct_tile::TileShape;
use super::error::ConvError;
use super::overlap_save::unit;
use super::polyphase::{PolyphaseFilter, PolyphaseSpec};
use super::program::{PageText, fill, program};
use super::transposed_form;
use crate::pipeline::Operations;
use cp2_machine::Machine;
use num_complex::Complex32;
use std::sync::Arc;

/// Copies of a tile in the program: the first, the last, and those between.
const TILE_COPIES: usize = 3;
/// Words of the program outside the tiles, with a margin.
const OTHER_PROGRAM_WORDS: usize = 256;
/// Number of tiles enough to fill and drain the pipeline and go round the loop: the text of so many shows the
/// length of the program.
pub(super) const SAMPLE_TILES: usize = 64;
/// Most words of a page: the page loop is a hardware loop.
const MAX_PAGE_WORDS: usize = 4095;

/// Returns the words of program memory.
fn memory(machine: &Machine) -> usize {
    usize::try_from(machine.cp2.program.0 / 8).unwrap_or(MAX_PAGE_WORDS)
}

/// Returns the words of a tile that program memory has room for.
pub(super) fn room(machine: &Machine) -> usize {
    memory(machine)
        .min(MAX_PAGE_WORDS)
        .saturating_sub(OTHER_PROGRAM_WORDS)
        / TILE_COPIES
}

/// Returns whether program memory and the page loop have room for so many words, which are those of `SAMPLE_TILES`
/// tiles.
pub(super) fn has_room(words: u64, machine: &Machine) -> bool {
    usize::try_from(words)
        .unwrap_or(usize::MAX)
        .saturating_add(OTHER_PROGRAM_WORDS / 2)
        <= MAX_PAGE_WORDS.min(memory(machine))
}

/// Samples for an output, or outputs for a sample, from which on loops through the phases are considered.
const MIN_LOOPED_PHASES: usize = 9;
/// Most tiles of a block: the longest hardware loop.
const MOST_TILES: usize = 4095;
/// Bytes of local memory reserved besides taps and blocks.
const RESERVED_BYTES: u64 = 1024;

/// A schedule of a direct filter on a machine.
#[derive(Clone, Debug)]
pub(super) struct DirectSchedule {
    shape: TileShape,
    /// Outputs (interpolating: samples) of a tile.
    points: usize,
    /// Samples before an output's own that are read.
    lead: usize,
    /// Taps of 0 that precede the first tap: so many samples after an output's own are read.
    later: usize,
    /// Numbers of a block from an output's samples to the next one's, where runs of samples are gathered;
    /// fewer than the samples from an output to the next.
    gathered: Option<usize>,
    /// The taps in the order of their use.
    table: Vec<Complex32>,
    /// True if the table has zeros that the user has not given: a NaN that such a zero multiplies reaches an
    /// output that it is no part of.
    fills: bool,
    inner: DirectLoop,
    /// Operations of a tile, for the model.
    operations: Operations,
}

/// Loop that computes a block.
#[derive(Clone, Debug)]
enum DirectLoop {
    /// A loop along the block with all taps in its words, or one such loop for each part of the taps.
    Tiles(Box<TiledFilter>),
    /// Loops through the phases of the taps.
    Phases(Box<PolyphaseFilter>),
}

/// Returns the most tiles of a block with so many taps in the table, samples before an output's own, and
/// samples and outputs of a tile: local memory has room for two such blocks.
pub(super) fn most_tiles([table, lead, numbers]: [usize; 3], machine: &Machine) -> usize {
    let taken = (table as u64).saturating_add(2 * lead as u64) * COMPLEX + RESERVED_BYTES;
    let room = machine.cp2.dmem.0.saturating_sub(taken) / 2;
    let most = room / (numbers as u64).saturating_mul(COMPLEX).max(1);
    usize::try_from(most).unwrap_or(0).min(MOST_TILES)
}

/// Returns all schedules for such a filter that the machine has room for. With `exact`, only those whose
/// products are those of the definition and no others.
pub(super) fn schedules(
    taps: &[Complex32],
    (decimate, interpolate): (usize, usize),
    exact: bool,
    machine: &Machine,
) -> Vec<DirectSchedule> {
    // A filter with more taps, or outputs of a sample, than local memory holds is refused, as is one with
    // more samples for an output than system memory holds. Later sizes need no check of overflow.
    let numbers = |memory: u64, n: usize| n as u64 <= memory / COMPLEX;
    let held = |n| numbers(machine.cp2.dmem.0, n);
    if !held(taps.len()) || !held(interpolate) || !numbers(machine.host.memory.0, decimate) {
        return Vec::new();
    }
    let shape = TileShape::new(taps, decimate, interpolate);
    let of = |taps: &[Complex32]| TileShape {
        taps: taps.len(),
        ..shape
    };
    let begun = |make: &dyn Fn(&[Complex32]) -> Option<DirectSchedule>| {
        if exact {
            return make(taps).filter(|direct| !direct.fills);
        }
        align_to_granules(taps, interpolate, machine, make)
    };
    let tiles =
        held(decimate).then(|| begun(&|h| DirectSchedule::plan_tiles(h, of(h), exact, machine)));
    let few = held(decimate) && decimate.max(interpolate) >= MIN_LOOPED_PHASES;
    let phases = few.then(|| begun(&|h| DirectSchedule::plan_polyphase(h, of(h), false, machine)));
    // The set-up of a run takes the channel as long as one or two numbers.
    let unused = taps.len() + 3 < decimate;
    let gathered =
        unused.then(|| begun(&|h| DirectSchedule::plan_polyphase(h, of(h), true, machine)));
    [tiles, phases, gathered]
        .into_iter()
        .flatten()
        .flatten()
        .collect()
}

/// Returns the schedule of `make` for the taps padded with a zero behind or before them, such that signals
/// begin at a granule and the DMA moves them as they lie; the schedule without padding if that does or none
/// helps.
fn align_to_granules(
    taps: &[Complex32],
    interpolate: usize,
    machine: &Machine,
    make: &dyn Fn(&[Complex32]) -> Option<DirectSchedule>,
) -> Option<DirectSchedule> {
    let unit = unit(machine);
    let begins = |direct: &DirectSchedule| (direct.lead - direct.later).is_multiple_of(unit);
    let made = make(taps)?;
    if begins(&made) {
        return Some(made);
    }
    let zeros = vec![Complex32::default(); interpolate];
    let fills = |made: DirectSchedule| DirectSchedule {
        fills: true,
        ..made
    };
    let behind = make(&[taps, &zeros].concat()).filter(begins);
    let before = || {
        let made = make(&[&zeros, taps].concat()).filter(|_| interpolate == 1)?;
        Some(DirectSchedule { later: 1, ..made }).filter(begins)
    };
    behind.or_else(before).map(fills).or(Some(made))
}

/// Returns whether `taps` taps of the kind of `tap` can be filtered directly.
fn fits(
    tap: Complex32,
    taps: usize,
    (decimate, interpolate): (usize, usize),
    machine: &Arc<Machine>,
) -> bool {
    let taps = vec![tap; taps];
    let fits = |every: usize, exact: bool| {
        let all = schedules(&taps, (every, interpolate), exact, machine);
        all.iter().any(|direct| {
            let filter = direct.filter(1, machine);
            filter.is_ok_and(|filter| matches!(filter.estimate(1), Ok(Some(_))))
        })
    };
    let carries = |every: usize| {
        let mut all = transposed_form::filters(&taps, every, machine).into_iter();
        all.any(|filter| filter.is_ok_and(|filter| filter.exact))
    };
    fits(decimate, false)
        || fits(decimate, true)
        || transposed_form::fits(&taps, decimate, machine)
        || divisors(decimate).any(|every| fits(every, true) || carries(every))
}

/// Samples for an output from which on no direct filter can hold the taps of all in words.
const MAX_DIRECT_DECIMATION: usize = 1024;

/// Returns the divisors of `every` that are less than it, the highest first. The outputs of a filter at such
/// a rate include those that are `every` samples apart.
pub(super) fn divisors(every: usize) -> impl Iterator<Item = usize> {
    let less = (1..every.min(MAX_DIRECT_DECIMATION)).rev();
    less.filter(move |&divisor| every.is_multiple_of(divisor))
}

/// Returns the largest number of taps, less than the refused one, that can be filtered directly. It is found
/// by bisection.
pub(super) fn most_taps(
    taps: &[Complex32],
    decimate: usize,
    interpolate: usize,
    machine: &Arc<Machine>,
) -> usize {
    let complex = taps.iter().find(|h| h.im != 0.0);
    let tap = complex.copied().unwrap_or(Complex32::new(1.0, 0.0));
    let (mut fit, mut not) = (0, taps.len());
    while not - fit > 1 {
        let middle = fit + (not - fit) / 2;
        if fits(tap, middle, (decimate, interpolate), machine) {
            fit = middle;
        } else {
            not = middle;
        }
    }
    fit
}

impl DirectSchedule {
    fn plan_tiles(
        taps: &[Complex32],
        shape: TileShape,
        exact: bool,
        machine: &Machine,
    ) -> Option<Self> {
        let tiled = TiledFilter::new(taps, shape, exact, machine)?;
        Some(Self {
            shape,
            points: shape.width() * shape.lanes(),
            lead: tiled.lead,
            later: 0,
            gathered: None,
            table: tiled.table.clone(),
            fills: tiled.fills,
            operations: tiled.operations,
            inner: DirectLoop::Tiles(Box::new(tiled)),
        })
    }

    fn plan_polyphase(
        taps: &[Complex32],
        shape: TileShape,
        gathered: bool,
        machine: &Machine,
    ) -> Option<Self> {
        let TileShape {
            real,
            decimate,
            interpolate,
            ..
        } = shape;
        let rates = PolyphaseSpec {
            taps,
            real,
            decimate,
            interpolate,
            gathered,
        };
        let phases = PolyphaseFilter::new(rates, room(machine), machine, |layout| {
            let numbers = layout.points * (layout.row + interpolate);
            let lead = if gathered { 0 } else { layout.lead };
            most_tiles([layout.table.len(), lead, numbers], machine) > 0
        })?;
        if !has_room(phases.page(SAMPLE_TILES, machine).words, machine) {
            return None;
        }
        Some(Self {
            shape,
            points: phases.points,
            lead: phases.lead,
            later: 0,
            gathered: gathered.then_some(phases.row),
            table: phases.table.clone(),
            fills: phases.fills,
            operations: phases.operations,
            inner: DirectLoop::Phases(Box::new(phases)),
        })
    }

    /// Returns the numbers of tiles worth making a block of: as many as leave room for two blocks and their
    /// outputs, and fewer for short signals.
    pub(super) fn sizes(&self, machine: &Machine) -> impl Iterator<Item = usize> {
        let (lead, row) = match self.gathered {
            None => (self.lead, self.shape.decimate),
            Some(row) => (0, row),
        };
        let numbers = self.points * (row + self.shape.interpolate);
        let most = most_tiles([self.table.len(), lead, numbers], machine);
        std::iter::successors((most > 0).then_some(most), |&n| {
            (n > 1).then_some(n * 2 / 3)
        })
    }

    /// Writes the page for a block of `tiles` tiles.
    fn page(&self, tiles: usize, machine: &Machine) -> PageText {
        match &self.inner {
            DirectLoop::Phases(phases) => phases.page(tiles, machine),
            DirectLoop::Tiles(tiled) => tiled.page(tiles),
        }
    }

    /// Returns the filter whose blocks are `tiles` tiles.
    pub(super) fn filter(
        &self,
        tiles: usize,
        machine: &Arc<Machine>,
    ) -> Result<BlockFilter, ConvError> {
        let shape = self.shape;
        let points = self.points * tiles;
        let page = self.page(tiles, machine);
        let defines = [("TAPS", self.table.len() as i64)];
        let mut program = program(("direct.s", "direct filter"), &defines, &page.text, machine)?;
        fill(&mut program, "taps", &self.table);
        let rate = match (shape.decimate, shape.interpolate) {
            (1, 1) => String::new(),
            (m, 1) => format!(", an output every {m} samples"),
            (_, i) => format!(", {i} outputs a sample"),
        };
        let way = match self.inner {
            DirectLoop::Tiles(_) => "",
            DirectLoop::Phases(_) if self.gathered.is_some() => " of gathered samples",
            DirectLoop::Phases(_) => " by phases",
        };
        let lead = self.lead;
        let rows = self.gathered.map(|run| GatheredRuns {
            run,
            count: points,
            every: shape.decimate,
            // With an even number of taps, the samples of every other output span one granule less.
            spare: run - shape.taps.next_multiple_of(2),
        });
        let window = rows.map_or(
            (points - 1) * shape.decimate + lead + 1,
            GatheredRuns::reach,
        );
        Ok(BlockFilter {
            title: format!("direct{way}{rate}"),
            program: Arc::new(program),
            machine: machine.clone(),
            lead: lead - self.later,
            window: window.next_multiple_of(2),
            rows,
            hop: points * shape.decimate,
            out: points * shape.interpolate,
            apart: points * shape.interpolate,
            skip: 0,
            first: 0,
            in_place: false,
            fixed: true,
            deal: 1,
            operations: self.operations.times(tiles as u64),
            cycles_per_block: page.cycles,
            passes: None,
            mixes: None,
            exact: !self.fills,
            keep: 1,
        })
    }
}
