//! Schedules of a row: all variants that fit the registers.
//!
//! A block takes the variant that is the fastest for its height.

use super::error::StencilError;
use super::row_dataflow::{BlockRow, QUAD, RowVariant, ScheduledRow};
use cp2_asm::schedule::{DataOperand, Dataflow, ModuloSchedule, PointerStep, Unschedulable};
use cp2_machine::Machine;

/// Most issues of an iteration: the loop, with the words that fill and empty it, must fit the page loop.
const ISSUES: usize = 1024;
/// Most words of the loops of a page: those of the page loop but for the page's other words.
const WORDS: usize = 3800;
/// Cycles of setting up the pointers of kept sums.
const POINTERS: u64 = 6;

/// Chooser of the variants of a row.
type RowVariants<'a> = &'a dyn Fn(&BlockRow<'_>) -> Vec<RowVariant>;

/// A row's dataflow with its schedule, which does not depend on the number of rows.
#[derive(Debug)]
pub(super) struct Scheduled {
    pub(super) made: ScheduledRow,
    pub(super) schedule: ModuloSchedule,
    /// Quads of a row.
    quads: u64,
    /// Loop that makes the sums kept for the first row, a quad at a time.
    pub(super) first: Option<(Dataflow, ModuloSchedule)>,
}

impl BlockRow<'_> {
    /// Schedules the row for a machine in at least one variant.
    pub(super) fn schedules(&self, machine: &Machine) -> Result<Vec<Scheduled>, StencilError> {
        let variants = self.variants();
        let mut refused = None;
        let mut of = |ways: RowVariants<'_>, stretched: bool| {
            let mut all = Vec::new();
            let each = variants.iter().flat_map(|row| {
                let ways = ways(row).into_iter();
                ways.map(move |way| (way, row.make(way)))
            });
            for (way, made) in each {
                if made.body.arithmetic().max(made.body.memory()) > ISSUES {
                    continue;
                }
                let schedule = match stretched {
                    true => made.body.schedule_stretched(machine, made.free()),
                    false => made.body.schedule(machine, made.free()),
                };
                let first = way.kept.then(|| first(machine, made.free())).transpose();
                match schedule.and_then(|schedule| Ok((schedule, first?))) {
                    Ok((schedule, first)) => all.push(Scheduled {
                        made,
                        schedule,
                        quads: self.quads().unsigned_abs(),
                        first,
                    }),
                    Err(e) => refused = Some(StencilError::from(e)),
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
}

impl Scheduled {
    /// Returns the fastest of some schedules for so many rows in one of `loops` loops of a page, if one fits.
    pub(super) fn fastest(all: &[Self], rows: usize, loops: usize) -> Option<&Self> {
        let own = all.iter().filter(|one| {
            let iterations = (rows / one.rows_per_iteration()) as u64;
            let words = || one.schedule.emit(iterations).lines.len();
            rows.is_multiple_of(one.rows_per_iteration()) && words() <= WORDS / loops.max(1)
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
        let iterations = rows / self.rows_per_iteration();
        let first = self
            .first
            .as_ref()
            .map(|(_, first)| first.emit(self.kept_first()).cycles + POINTERS);
        self.schedule.emit(iterations as u64).cycles + first.unwrap_or(0)
    }

    /// Returns the quads that are kept for the first row: those of the row and of the one before.
    pub(super) fn kept_first(&self) -> u64 {
        2 * self.quads
    }

    /// Returns the bytes of the sums that a block of so many rows keeps.
    pub(super) fn kept(&self, rows: usize) -> u64 {
        match self.first {
            Some(_) => (rows as u64 + 2) * self.quads * QUAD as u64,
            None => 0,
        }
    }

    /// Returns the bytes of the program's data.
    pub(super) fn data(&self) -> u64 {
        // Four lines of places, and one of where rows begin.
        let kept = if self.made.kept.is_some() { 5 } else { 0 };
        16 * (self.made.constants.len() as u64 + kept) + self.made.sums
    }

    /// Returns the rows of an iteration.
    pub(super) fn rows_per_iteration(&self) -> usize {
        self.made.way.together.max(1)
    }
}

/// Address registers for the sums kept for the first row: both planes, and the sums.
pub(super) const SUMMED: [u8; 3] = [0, 2, 4];

/// Schedules the loop that adds two planes, a quad at a time: u(z-1) + u(z+1).
fn first(machine: &Machine, registers: u8) -> Result<(Dataflow, ModuloSchedule), Unschedulable> {
    let mut body = Dataflow::default();
    let [before, behind, to] =
        SUMMED.map(|register| body.pointer(register, PointerStep::Bytes(QUAD)));
    let both = [before, behind].map(|plane| {
        let value = DataOperand::Whole(body.quad());
        body.load(value, plane, 0);
        value
    });
    let sum = body.quad_op("add", &both);
    body.store(DataOperand::Whole(sum), to, 0);
    let schedule = body.schedule(machine, registers)?;
    Ok((body, schedule))
}
