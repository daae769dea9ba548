//! Schedules of a row: all ways to make it that a machine has registers for, of which a block's height takes the fastest.

use super::error::StencilError;
use super::row_dataflow::{BlockRow, QUAD, RowVariant, ScheduledRow};
use crate::pipeline::{Body, Reg, Schedule, Step, Unschedulable};
use cp2_machine::Machine;

/// Issues of an iteration at most: the loop, with what fills and empties it, has to fit the page loop.
const ISSUES: usize = 1024;
/// Words of the loops of a page at most: the page loop's but for what else a page does.
const WORDS: usize = 3800;
/// Cycles of the pointers of what is kept.
const POINTERS: u64 = 6;

/// Ways to make a row.
type RowVariants<'a> = &'a dyn Fn(&BlockRow<'_>) -> Vec<RowVariant>;

/// A row's dataflow with its schedule, which the number of rows does not matter for.
#[derive(Debug)]
pub(super) struct Scheduled {
    pub(super) made: ScheduledRow,
    pub(super) schedule: Schedule,
    /// Quads of a row.
    quads: u64,
    /// What is kept for the first row, a quad at a time.
    pub(super) first: Option<(Body, Schedule)>,
}

impl BlockRow<'_> {
    /// Schedules it for a machine: at least one way.
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
                    true => made.body.stretch(machine, made.free()),
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
        // Long latencies keep more values waiting than there are registers: the last are stretched.
        let last = |row: &BlockRow<'_>| [&row.ways()[..], &[first, second]].concat();
        let tried: [(RowVariants<'_>, bool); 4] = [
            (&|row| row.ways(), false),
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
    /// The fastest of some for so many rows in one of so many loops of a page, if there is one for them.
    pub(super) fn fastest(all: &[Self], rows: usize, loops: usize) -> Option<&Self> {
        let own = all.iter().filter(|one| {
            let iterations = (rows / one.rows_per_iteration()) as u64;
            let words = || one.schedule.emit(iterations).text.lines().count();
            rows.is_multiple_of(one.rows_per_iteration()) && words() <= WORDS / loops.max(1)
        });
        own.min_by_key(|one| one.cycles(rows))
    }

    /// Numbers of rows that are the least from `rows` on for one of them.
    pub(super) fn heights(all: &[Self], rows: usize) -> Vec<usize> {
        let own = all
            .iter()
            .map(|one| rows.next_multiple_of(one.rows_per_iteration()));
        let mut heights: Vec<usize> = own.collect();
        heights.sort_unstable();
        heights.dedup();
        heights
    }

    /// Cycles of so many rows, a multiple of those [together](Self::rows_per_iteration).
    pub(super) fn cycles(&self, rows: usize) -> u64 {
        let iterations = rows / self.rows_per_iteration();
        let first = self
            .first
            .as_ref()
            .map(|(_, first)| first.emit(self.kept_first()).cycles + POINTERS);
        self.schedule.emit(iterations as u64).cycles + first.unwrap_or(0)
    }

    /// Quads that are kept for the first row: of it and the one before.
    pub(super) fn kept_first(&self) -> u64 {
        2 * self.quads
    }

    /// Bytes of what is kept of a block of so many rows.
    pub(super) fn kept(&self, rows: usize) -> u64 {
        match self.first {
            Some(_) => (rows as u64 + 2) * self.quads * QUAD as u64,
            None => 0,
        }
    }

    /// Bytes of the program's data.
    pub(super) fn data(&self) -> u64 {
        // Four lines of places, and one of where rows begin.
        let kept = if self.made.kept.is_some() { 5 } else { 0 };
        16 * (self.made.constants.len() as u64 + kept) + self.made.sums
    }

    /// Rows of an iteration.
    pub(super) fn rows_per_iteration(&self) -> usize {
        self.made.way.together.max(1)
    }
}

/// Pointers of what is kept for the first row: both planes, and where their sums go.
pub(super) const SUMMED: [u8; 3] = [0, 2, 4];

/// Sums of two planes, a quad at a time.
fn first(machine: &Machine, registers: u8) -> Result<(Body, Schedule), Unschedulable> {
    let mut body = Body::default();
    let [before, behind, to] = SUMMED.map(|register| body.pointer(register, Step::Bytes(QUAD)));
    let both = [before, behind].map(|plane| {
        let value = Reg::Whole(body.quad());
        body.load(value, plane, 0);
        value
    });
    let sum = body.quad_op("add", &both);
    body.store(Reg::Whole(sum), to, 0);
    let schedule = body.schedule(machine, registers)?;
    Ok((body, schedule))
}
