//! The shortest interval for which a body has a schedule.

use super::body::{Body, Op};
use super::registers;
use super::schedule::{Attempt, Order, Schedule, latency};
use cp2_machine::Machine;

/// No schedule was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "no software pipeline of {operations} operations fits {registers} registers with an interval of up to {interval} cycles"
)]
pub struct Unschedulable {
    /// Operations of an iteration.
    pub operations: usize,
    /// Pair registers to be had.
    pub registers: u8,
    /// The longest interval tried.
    pub interval: u32,
}

/// How much longer than the least an interval may be before the search ends.
const SLACK: u32 = 64;
/// Of longer ones each is longer by one in so many cycles than the one before.
const STRETCH: u32 = 8;
/// The longest interval: loops of more words fit no program memory.
const LONGEST: u32 = 1 << 13;
/// Intervals that are compared where a longer one may take less in all.
const COMPARED: usize = 6;

impl Body {
    /// Finds the shortest interval for which there is a schedule with the pair
    /// registers below `registers`.
    pub(crate) fn schedule(
        &self,
        machine: &Machine,
        registers: u8,
    ) -> Result<Schedule, Unschedulable> {
        let least = self.least(machine);
        let intervals = least..least.saturating_add(SLACK);
        self.shortest(machine, registers, intervals, self.tries())
    }

    /// The same, or an interval as long as latencies make it: for what has no other way to be computed.
    pub(crate) fn schedule_or_stretch(
        &self,
        machine: &Machine,
        registers: u8,
    ) -> Result<Schedule, Unschedulable> {
        self.schedule(machine, registers)
            .or_else(|_| self.stretch(machine, registers))
    }

    /// A schedule with an interval so long that latencies keep few values waiting for others: registers that do for one
    /// operation after the other do then.
    pub(crate) fn stretch(
        &self,
        machine: &Machine,
        registers: u8,
    ) -> Result<Schedule, Unschedulable> {
        let first = self.least(machine).saturating_add(SLACK);
        let latencies = self.ops.iter().map(|op| latency(machine, op.class));
        let all = latencies.fold(0, i64::saturating_add);
        // One after the other, each waits for that before it; loads and stores take their turns around them.
        let last = u32::try_from(all).unwrap_or(u32::MAX).min(LONGEST);
        let longer = |&n: &u32| Some(n + n.div_ceil(STRETCH)).filter(|_| n < last);
        let intervals = std::iter::successors(Some(first), longer);
        self.shortest(machine, registers, intervals, &[Order::Spread])
    }

    /// The least interval that slots and units have room for.
    fn least(&self, machine: &Machine) -> u32 {
        let slots = self.arithmetic().max(self.memory()).max(1);
        (slots.max(self.busiest_unit(machine)) + self.spare) as u32
    }

    /// The schedule of the first of some intervals that has one.
    fn shortest(
        &self,
        machine: &Machine,
        registers: u8,
        intervals: impl Iterator<Item = u32>,
        orders: &[Order],
    ) -> Result<Schedule, Unschedulable> {
        let (mut tried, mut compared) = (0, 0);
        let mut best: Option<(u64, Schedule)> = None;
        for interval in intervals {
            tried = interval;
            for &order in orders {
                let Some(schedule) = self.attempt(machine, registers, interval, order) else {
                    continue;
                };
                let Some(turns) = self.turns else {
                    return Ok(schedule);
                };
                let cycles = schedule.emit(turns).cycles;
                if best.as_ref().is_none_or(|(least, _)| cycles < *least) {
                    best = Some((cycles, schedule));
                }
            }
            compared += usize::from(best.is_some());
            if compared == COMPARED {
                break;
            }
        }
        if let Some((_, schedule)) = best {
            return Ok(schedule);
        }
        Err(Unschedulable {
            operations: self.ops.len(),
            registers,
            interval: tried,
        })
    }

    /// The schedule with an interval and an order, if there is one.
    fn attempt(
        &self,
        machine: &Machine,
        registers: u8,
        interval: u32,
        order: Order,
    ) -> Option<Schedule> {
        let (cycles, steps, last) = Attempt::new(self, machine, interval).run(order)?;
        let latency = |op: &Op| latency(machine, op.class);
        let registers = registers::allocate(self, &cycles, interval, registers, latency)?;
        Some(Schedule {
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
