//! Searches the shortest interval for which a body has a schedule.

use super::check::check_placement;
use super::dataflow::{Dataflow, Op};
use super::placement::{Attempt, ModuloSchedule, Order, sources};
use super::registers::{self, FreeRegisters};
use cp2_machine::Machine;

/// The error that no schedule was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no software pipeline of {operations} operations fits {registers} registers with an interval of up to {interval} cycles"
)]
pub struct Unschedulable {
    /// Number of operations of an iteration.
    pub operations: usize,
    /// Number of pair registers available.
    pub registers: u8,
    /// The longest interval tried.
    pub interval: u32,
}

/// Number of intervals, a cycle apart, that are tried from the least on before the search ends or stretches
/// the interval.
const TRIED_INTERVALS: u32 = 64;
/// Divisor of stretching: each interval that is tried is longer than the one before by one in so many cycles.
const STRETCH_DIVISOR: u32 = 8;
/// Cycles of the longest interval that is tried: loops of more words fit no program memory.
const LONGEST_INTERVAL_CYCLES: u32 = 1 << 13;
/// Number of intervals that are compared where a longer one may take fewer cycles in all.
const COMPARED_INTERVALS: usize = 6;

impl Dataflow {
    /// Finds the shortest interval for which there is a schedule with the pair
    /// registers below `registers`, or of a set.
    pub fn schedule(
        &self,
        machine: &Machine,
        registers: impl Into<FreeRegisters> + Copy,
    ) -> Result<ModuloSchedule, Unschedulable> {
        let least = self.least_interval(machine);
        let intervals = least..least.saturating_add(TRIED_INTERVALS);
        self.shortest(machine, registers.into(), intervals, self.tries())
    }

    /// Finds the shortest interval as [`Self::schedule`] does, or else stretches the interval until latencies
    /// need no more registers.
    ///
    /// This is for bodies that have no other way to be computed.
    pub fn schedule_or_stretch(
        &self,
        machine: &Machine,
        registers: impl Into<FreeRegisters> + Copy,
    ) -> Result<ModuloSchedule, Unschedulable> {
        self.schedule(machine, registers)
            .or_else(|_| self.schedule_stretched(machine, registers))
    }

    /// Finds a schedule with an interval so long that latencies keep few values waiting.
    ///
    /// Then the registers suffice that would do for one operation after the other.
    pub fn schedule_stretched(
        &self,
        machine: &Machine,
        registers: impl Into<FreeRegisters> + Copy,
    ) -> Result<ModuloSchedule, Unschedulable> {
        let first = self.least_interval(machine).saturating_add(TRIED_INTERVALS);
        let latencies = self.ops.iter().map(|op| op.latency(machine));
        let all = latencies.fold(0, i64::saturating_add);
        // At this interval operations could follow each other, each waiting for the one before, with loads
        // and stores in between.
        let last = u32::try_from(all)
            .unwrap_or(u32::MAX)
            .min(LONGEST_INTERVAL_CYCLES);
        let longer = |&n: &u32| Some(n + n.div_ceil(STRETCH_DIVISOR)).filter(|_| n < last);
        let intervals = std::iter::successors(Some(first), longer);
        self.shortest(machine, registers.into(), intervals, &[Order::Spread])
    }

    /// Returns the least interval that slots and units have room for.
    pub(crate) fn least_interval(&self, machine: &Machine) -> u32 {
        let slots = self.arithmetic().max(self.memory()).max(1) as u64;
        let classes = self.all_classes();
        let units = classes.iter().map(|(class, &count)| {
            let busy = machine.cp2.interval[class].0;
            count.saturating_mul(busy)
        });
        let least = units.fold(slots, u64::max);
        u32::try_from(least.saturating_add(self.spare as u64)).unwrap_or(u32::MAX)
    }

    /// Returns the schedule of the first interval that has one, or with `turns` the one of the fewest cycles
    /// in all.
    fn shortest(
        &self,
        machine: &Machine,
        free: FreeRegisters,
        intervals: impl Iterator<Item = u32>,
        orders: &[Order],
    ) -> Result<ModuloSchedule, Unschedulable> {
        let sources = sources(self);
        let (mut tried, mut compared) = (0, 0);
        let mut best: Option<(u64, ModuloSchedule)> = None;
        for interval in intervals {
            // Iterations alone take so many cycles.
            let turns = self.turns.unwrap_or(0).saturating_sub(1);
            let all = turns.saturating_mul(u64::from(interval));
            if best.as_ref().is_some_and(|&(least, _)| all >= least) {
                break;
            }
            tried = interval;
            for &order in orders {
                let Some(schedule) = self.attempt((machine, &sources), free, interval, order)
                else {
                    continue;
                };
                let Some(turns) = self.turns else {
                    return Ok(schedule);
                };
                let cycles = schedule.count_cycles(turns);
                if best.as_ref().is_none_or(|(least, _)| cycles < *least) {
                    best = Some((cycles, schedule));
                }
            }
            compared += usize::from(best.is_some());
            if compared == COMPARED_INTERVALS {
                break;
            }
        }
        if let Some((_, schedule)) = best {
            return Ok(schedule);
        }
        Err(Unschedulable {
            operations: self.ops.len(),
            registers: free.count() as u8,
            interval: tried,
        })
    }

    /// Returns the schedule with an interval and an order, if there is one.
    fn attempt(
        &self,
        (machine, sources): (&Machine, &[Vec<usize>]),
        free: FreeRegisters,
        interval: u32,
        order: Order,
    ) -> Option<ModuloSchedule> {
        let (cycles, steps, last) = Attempt::new(self, machine, interval).run(order, sources)?;
        let latency = |op: &Op| op.latency(machine);
        let live = registers::lifetimes(self, &cycles, interval, latency);
        if registers::count_live(self, &live, interval) > free.count() {
            return None;
        }
        if self.unstalled || self.is_general() {
            check_placement(self, machine, interval, (&cycles, &steps, &last)).ok()?;
        }
        let shape = (interval, registers::least_unroll(&live, interval));
        let registers = registers::allocate_settable(self, &live, shape, free)?;
        Some(ModuloSchedule {
            slack: self.slack(&cycles, latency),
            body: self.clone(),
            interval,
            cycles,
            steps,
            last,
            registers,
            loop_setup: u32::try_from(machine.cp2.loop_setup.0).unwrap_or(u32::MAX),
        })
    }
}
