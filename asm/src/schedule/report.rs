//! Requests of schedules, and reports of what bounds them and what was tried.

use super::dataflow::Dataflow;
use super::dependence::DependenceGraph;
use super::registers::FreeRegisters;
use crate::analysis::CycleRatio;
use cp2_machine::{Class, Machine};
use std::fmt;

/// The number of iterations of a loop that is to be scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Iterations {
    /// So many.
    Known(u64),
    /// A number that a register holds.
    ///
    /// Its turns are counted by shifts, so registers repeat after a power of two of iterations; the loop has words of
    /// its own for a remainder.
    Unknown,
}

/// The registers and the copies that a schedule may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ScheduleRequest {
    /// Registers for the values.
    pub free: FreeRegisters,
    /// Number of iterations.
    pub iterations: Iterations,
    /// Most iterations after which registers repeat: the words of the loop are as many intervals.
    pub most_copies: u32,
}

impl ScheduleRequest {
    /// Makes the request for a loop of so many iterations, with copies of values as they are needed.
    #[must_use]
    pub fn new(free: FreeRegisters, iterations: Iterations) -> Self {
        // Only whether there are fewer iterations than copies matters: loops of other lengths are one request.
        let iterations = match iterations {
            Iterations::Known(count) => Iterations::Known(count.min(MOST_COPIES.into())),
            Iterations::Unknown => Iterations::Unknown,
        };
        Self {
            free,
            iterations,
            most_copies: MOST_COPIES,
        }
    }

    /// Returns the numbers of iterations after which registers may repeat, in rising order.
    pub(super) fn unrolls(&self) -> Vec<u32> {
        let allowed = |&unroll: &u32| match self.iterations {
            Iterations::Known(count) => unroll == 1 || u64::from(unroll) <= count,
            Iterations::Unknown => unroll.is_power_of_two(),
        };
        (1..=self.most_copies.max(1)).filter(allowed).collect()
    }
}

/// Most copies of a value, if the request does not say otherwise.
const MOST_COPIES: u32 = 8;

/// Reason why an iteration takes as many cycles as it does at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ScheduleLimit {
    /// The operations of the arithmetic slot, one in a cycle.
    Arithmetic,
    /// The operations of the memory slot, one in a cycle.
    Memory,
    /// A unit that takes an operation only every few cycles.
    Unit(Class),
    /// Operations, by number, that wait for each other from iteration to iteration. Loads of steps have the
    /// numbers behind those of all operations.
    Recurrence(Vec<usize>),
}

impl fmt::Display for ScheduleLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arithmetic => f.write_str("arithmetic"),
            Self::Memory => f.write_str("memory"),
            Self::Unit(class) => write!(f, "unit-{class}"),
            Self::Recurrence(_) => f.write_str("recurrence"),
        }
    }
}

/// The cycles that an iteration takes at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleBound {
    /// Whole cycles of an iteration, at least.
    pub cycles: u32,
    /// All terms with their cycles, the largest first; equal ones in the order of [`ScheduleLimit`].
    pub terms: Vec<(ScheduleLimit, CycleRatio)>,
}

impl ScheduleBound {
    pub(super) fn new(body: &Dataflow, machine: &Machine, graph: &DependenceGraph) -> Self {
        let in_slot = |memory: bool| graph.nodes.iter().filter(|n| n.memory == memory).count();
        let whole = |cycles: usize| CycleRatio::whole(cycles as u64);
        let mut terms = vec![
            (ScheduleLimit::Arithmetic, whole(in_slot(false))),
            (ScheduleLimit::Memory, whole(in_slot(true))),
        ];
        for class in Class::ALL {
            let busy = machine.cp2.interval[class].0;
            let count = graph.nodes.iter().filter(|n| n.class == class).count() as u64;
            if busy > 1 && count > 0 {
                let cycles = CycleRatio::whole(count.saturating_mul(busy));
                terms.push((ScheduleLimit::Unit(class), cycles));
            }
        }
        if let Some((cycles, nodes)) = graph.find_recurrence() {
            terms.push((ScheduleLimit::Recurrence(nodes), cycles));
        }
        terms.sort_by_key(|&(_, cycles)| std::cmp::Reverse(cycles));
        let first = terms.first().map(|&(_, cycles)| cycles);
        let cycles = first.map_or(1, |c| c.cycles().div_ceil(c.iterations()).max(1));
        let spare = u32::try_from(body.spare).unwrap_or(u32::MAX);
        Self {
            cycles: u32::try_from(cycles)
                .unwrap_or(u32::MAX)
                .saturating_add(spare),
            terms,
        }
    }

    /// Returns the term that is the bound.
    #[must_use]
    pub fn limit(&self) -> &ScheduleLimit {
        self.terms
            .first()
            .map_or(&ScheduleLimit::Memory, |(limit, _)| limit)
    }
}

/// Why there is no schedule with an interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IntervalRefusal {
    /// A dependence comes back too soon, or a value that lives too long for the copies that it may have.
    Dependences,
    /// Operations found no free slots.
    Slots,
    /// So many registers are held at once, at least in the placements that were found.
    Registers {
        /// Pair registers that are held in the fullest cycle; no more than there are where they lie apart so
        /// that quads or long lifetimes find no place.
        live: u32,
    },
}

impl fmt::Display for IntervalRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Dependences => f.write_str("dependences come back too soon"),
            Self::Slots => f.write_str("no free slots"),
            Self::Registers { live } => write!(f, "{live} registers are held at once"),
        }
    }
}

/// An interval without a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RefusedInterval {
    /// Cycles from an iteration to the next.
    pub interval: u32,
    /// Iterations after which registers were to repeat.
    pub copies: u32,
    /// Why there is none.
    pub refusal: IntervalRefusal,
}

/// The bound of a schedule, and the intervals that were tried before it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleReport {
    /// The bound.
    pub bound: ScheduleBound,
    /// Operations, by number, that wait for each other within one iteration: there is no schedule then.
    pub contradiction: Option<Vec<usize>>,
    /// Intervals that were tried in vain.
    pub refused: Vec<RefusedInterval>,
}
