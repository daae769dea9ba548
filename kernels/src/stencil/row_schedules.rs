//! Schedules of a row: all variants that fit the registers.
//!
//! A block takes the variant that is the fastest for its height. Each variant is assembled once, as a loop over many
//! rows: what loops over fewer rows take follows from its report.

use super::error::StencilError;
use super::page_kernel::{FREE_REGISTERS, scalar_base};
use super::row_dataflow::{BlockRow, PointerWalkKind, QUAD, RowBlock, RowVariant};
use super::row_loop::{LoopNames, RowPointerBase, sum_first_planes};
use crate::pipeline::PricedBlock;
use cp2_machine::Machine;

/// Most issues of an iteration: the loop, with the words that fill and empty it, must fit the page loop.
const ISSUES: usize = 1024;
/// Most words of the loops of a page: those of the page loop but for the page's other words.
const WORDS: u64 = 3800;
/// Iterations of the loops that are assembled for their reports: more than ever overlap.
const ITERATIONS: u64 = 512;
/// Intervals, a cycle apart from the least one on, that are tried before the loop is stretched.
const TRIED: u64 = 64;

/// Chooser of the variants of a row.
type RowVariants<'a> = &'a dyn Fn(&BlockRow<'_>) -> Vec<RowVariant>;

/// A row's block with the report of its schedule, which does not depend on the number of rows.
#[derive(Debug)]
pub(super) struct Scheduled {
    pub(super) made: RowBlock,
    /// The loop over rows.
    rows: PricedBlock,
    /// Quads of a row.
    quads: u64,
    /// The loop that makes the sums kept for the first row, a quad at a time.
    first: Option<PricedBlock>,
}

impl BlockRow<'_> {
    /// Schedules the row for a machine in at least one variant.
    pub(super) fn schedules(&self, machine: &Machine) -> Result<Vec<Scheduled>, StencilError> {
        let variants = self.variants();
        let mut refused = None;
        let mut of = |ways: RowVariants<'_>, stretched: bool| {
            let mut all = Vec::new();
            let each = variants
                .iter()
                .flat_map(|row| ways(row).into_iter().map(move |way| row.make(way)));
            for made in each.filter(|made| made.block.count_issues() <= ISSUES) {
                match self.schedule(made, machine) {
                    Ok(one) if stretched || !one.is_stretched() => all.push(one),
                    Ok(_) => {}
                    Err(e) => refused = Some(e),
                }
            }
            all
        };
        let [first, second] = Self::frugal_ways();
        // With long latencies more values wait than there are registers: the last attempt stretches the loop.
        let last = |row: &BlockRow<'_>| [&row.ways(machine)[..], &[first, second]].concat();
        let tried: [(RowVariants<'_>, bool); 4] = [
            (&|row| row.ways(machine), false),
            (&|_| vec![first], false),
            (&|_| vec![second], false),
            (&last, true),
        ];
        for (ways, stretched) in tried {
            let all = of(ways, stretched);
            if !all.is_empty() {
                return Ok(all);
            }
        }
        Err(refused.unwrap_or_else(|| StencilError::NoBlock {
            points: self.stencil.points().len(),
            machine: machine.name.clone(),
            dmem: machine.cp2.dmem.0,
            granule: machine.dma.granule.0,
        }))
    }

    /// Assembles a loop of a variant for its report.
    fn schedule(&self, made: RowBlock, machine: &Machine) -> Result<Scheduled, StencilError> {
        let quads = self.quads().unsigned_abs();
        let names = LoopNames::new("");
        let base = |stream: PointerWalkKind| scalar_base(stream.register(), 0);
        let mut text = format!(
            "; A row's loop, for its report.\n{FREE_REGISTERS}.dmem 0\n{}.program\n",
            made.data(&names, None)
        );
        if made.way.kept {
            let bases = [
                PointerWalkKind::Plane(-1),
                PointerWalkKind::Plane(1),
                PointerWalkKind::Kept,
            ];
            let bases: [RowPointerBase; 3] = bases.map(base);
            text += &sum_first_planes(&names.first, &bases, 2 * quads);
        }
        text += &made.text(self, &names, ITERATIONS, &base);
        text += "    stop\n";
        let turns = [2 * quads, ITERATIONS];
        let turns = &turns[usize::from(!made.way.kept)..];
        let mut blocks = PricedBlock::list("stencil", (&text, turns), machine)?;
        let Some(rows) = blocks.pop() else {
            // Never: the text has the block.
            return Err(StencilError::NoBlock {
                points: self.stencil.points().len(),
                machine: machine.name.clone(),
                dmem: machine.cp2.dmem.0,
                granule: machine.dma.granule.0,
            });
        };
        let first = blocks.pop();
        Ok(Scheduled {
            made,
            rows,
            quads,
            first,
        })
    }
}

impl Scheduled {
    /// Returns true if there are registers only for an interval much longer than the least.
    fn is_stretched(&self) -> bool {
        self.rows.count_beyond_bound() >= TRIED
    }

    /// Returns the fastest of some schedules for so many rows in one of `loops` loops of a page, if one fits.
    pub(super) fn fastest(all: &[Self], rows: usize, loops: u64) -> Option<&Self> {
        let own = all.iter().filter(|one| {
            rows.is_multiple_of(one.rows_per_iteration()) && one.words(rows) <= WORDS / loops.max(1)
        });
        own.min_by_key(|one| one.cycles(rows))
    }

    /// Returns the least numbers of rows from `rows` on that the schedules allow.
    pub(super) fn heights(all: &[Self], rows: usize) -> Vec<usize> {
        let own = all
            .iter()
            .map(|one| rows.next_multiple_of(one.rows_per_iteration()));
        let mut heights: Vec<usize> = own.collect();
        heights.sort_unstable();
        heights.dedup();
        heights
    }

    /// Returns the cycles of so many rows, a multiple of those of [an iteration](Self::rows_per_iteration).
    pub(super) fn cycles(&self, rows: usize) -> u64 {
        let first = self.first.as_ref();
        self.loop_cycles(rows) + first.map_or(0, |first| first.cycles(self.kept_first()))
    }

    fn loop_cycles(&self, rows: usize) -> u64 {
        let iterations = (rows / self.rows_per_iteration()) as u64;
        self.rows.cycles(iterations)
    }

    /// Returns a bound of the words of the loop over so many rows: few iterations have no hardware loop, and a word for
    /// each cycle.
    fn words(&self, rows: usize) -> u64 {
        self.rows.words().min(self.loop_cycles(rows))
    }

    /// Returns the quads that are kept for the first row: those of the row and of the one before.
    pub(super) fn kept_first(&self) -> u64 {
        2 * self.quads
    }

    /// Returns the bytes of the sums that a block of so many rows keeps.
    pub(super) fn kept(&self, rows: usize) -> u64 {
        match self.made.way.kept {
            true => (rows as u64 + 2) * self.quads * QUAD as u64,
            false => 0,
        }
    }

    /// Returns the bytes of the program's data.
    pub(super) fn data(&self) -> u64 {
        // Four lines of places, and one of where rows begin.
        let kept = if self.made.keeps_edges { 5 } else { 0 };
        16 * (self.made.constants.len() as u64 + kept) + self.made.sums
    }

    /// Returns the rows of an iteration.
    pub(super) fn rows_per_iteration(&self) -> usize {
        self.made.way.together.max(1)
    }
}
