//! The one-port DMEM, which CP2 and the DMA share.
//!
//! Every granule that the DMA moves costs its section's CP2 one memory slot at most.
//!
//! The DMA buffers arriving granules. A cycle in which CP2 does not use DMEM
//! drains one buffered granule per section for free. A memory word that finds
//! any granule buffered gives way for one cycle, then has its turn, so that
//! neither side can starve the other. Machines with two ports have no such
//! state and never wait.

use cp2_dma::{Recipient, Schedule};
use cp2_machine::{Ticks, TimeBase};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// Arbitration of the DMEM ports of all sections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Port {
    /// Transfers with granules that have not been buffered yet, in the order of the DMA engine.
    transfers: VecDeque<Arrivals>,
    /// Number of granules buffered per section.
    debt: Vec<u64>,
    /// First cycle not yet accounted for.
    settled: u64,
}

/// Granules of one transfer that are still to come.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Arrivals {
    schedule: Schedule,
    /// Instant at which the set-up ends and data begins to move.
    data: Ticks,
    base: TimeBase,
    /// Number of the first granule that has not been buffered.
    next: u64,
}

impl Arrivals {
    /// Returns the cycle of the next granule, and its recipient.
    fn peek(&self) -> Option<(u64, Recipient)> {
        (self.next < self.schedule.granules()).then(|| {
            let at = self.data + self.schedule.at(self.next);
            (self.base.floor_cycles(at).0, self.schedule.to(self.next))
        })
    }
}

impl Port {
    /// Announces the granules of a transfer that starts now. Before cycle `decided` CP2 uses DMEM
    /// in no cycle beyond those already committed.
    pub(crate) fn announce(
        &mut self,
        schedule: Schedule,
        data: Ticks,
        base: TimeBase,
        sections: usize,
        decided: u64,
    ) {
        self.debt.resize(sections, 0);
        // Otherwise the queue would grow while no memory word issues.
        self.drain_until(decided);
        self.transfers.push_back(Arrivals {
            schedule,
            data,
            base,
            next: 0,
        });
    }

    /// Moves all times later by `cycles` cycles, which are `ticks` ticks.
    pub(crate) fn shift_times(&mut self, cycles: u64, ticks: Ticks) {
        if *self != Self::default() {
            self.settled = self.settled.saturating_add(cycles);
        }
        for arrivals in &mut self.transfers {
            arrivals.data += ticks;
        }
    }

    /// Returns the cycles by which a memory word that could otherwise issue in cycle `at` must give
    /// way.
    pub(crate) fn delay(&mut self, at: u64) -> u64 {
        if self.idle() {
            return 0;
        }
        self.drain_until(at);
        self.buffer_arrivals(at);
        u64::from(self.has_debt())
    }

    /// Records that a memory word issued in cycle `at`.
    pub(crate) fn commit(&mut self, at: u64) {
        if !self.idle() {
            self.drain_until(at);
            self.buffer_arrivals(at);
            self.settled = at + 1;
        }
    }

    /// True if no word can be delayed before the next transfer is announced.
    pub(crate) fn idle(&self) -> bool {
        self.transfers.is_empty() && !self.has_debt()
    }

    fn has_debt(&self) -> bool {
        self.debt.iter().any(|d| *d > 0)
    }

    fn peek(&mut self) -> Option<(u64, Recipient)> {
        while let Some(front) = self.transfers.front() {
            if let Some(next) = front.peek() {
                return Some(next);
            }
            self.transfers.pop_front();
        }
        None
    }

    /// Lets each cycle before `at` drain one buffered granule per section.
    fn drain_until(&mut self, at: u64) {
        while self.settled < at {
            if !self.has_debt() {
                // Nothing buffered: jump to the next arrival.
                match self.peek() {
                    Some((cycle, _)) if cycle < at => self.settled = self.settled.max(cycle),
                    _ => break,
                }
            }
            self.buffer_arrivals(self.settled);
            for debt in &mut self.debt {
                *debt = debt.saturating_sub(1);
            }
            self.settled += 1;
        }
        self.settled = self.settled.max(at);
    }

    /// Buffers the granules that have arrived up to and including `cycle`.
    fn buffer_arrivals(&mut self, cycle: u64) {
        while let Some((arrival, to)) = self.peek() {
            if arrival > cycle {
                break;
            }
            match to {
                Recipient::Section(section) => {
                    if let Some(debt) = self.debt.get_mut(section as usize) {
                        *debt += 1;
                    }
                }
                Recipient::All | Recipient::Deal => self.debt.iter_mut().for_each(|d| *d += 1),
                Recipient::Program => {}
            }
            if let Some(front) = self.transfers.front_mut() {
                front.next += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cp2_dma::{Descriptor, Target};
    use cp2_machine::Machine;

    /// Issues a memory word in the first cycle from `at` on that the port allows.
    fn access(port: &mut Port, at: u64) -> u64 {
        let at = at + port.delay(at);
        port.commit(at);
        at
    }

    /// Returns a port on vm7 with granules that arrive one a cycle from cycle `first` on.
    fn make_port(target: Target, granules: u64, first: u64) -> Port {
        let vm7 = Machine::builtin("vm7").unwrap();
        let d = Descriptor::load(target, 0, 0, 16 * granules);
        let mut port = Port::default();
        let data = Ticks(first - 1);
        port.announce(Schedule::new(&d, &vm7), data, vm7.time_base(), 4, 0);
        port
    }

    #[test]
    fn a_continuous_transfer_takes_every_second_slot() {
        let mut port = make_port(Target::Section(1), 100, 1);
        let mut at = 1;
        for _ in 0..20 {
            at = access(&mut port, at) + 1;
        }
        assert_eq!(at, 41);
    }

    #[test]
    fn idle_cycles_drain_the_buffer_and_each_granule_costs_one_slot_at_most() {
        let mut port = make_port(Target::Broadcast, 3, 1);
        assert_eq!(access(&mut port, 10), 10);
        // Granules in cycles 5, 6, 7: the words in 5 and 7 give way, and once more.
        let mut port = make_port(Target::Section(1), 3, 5);
        assert_eq!(access(&mut port, 5), 6);
        assert_eq!(access(&mut port, 7), 8);
        assert_eq!(access(&mut port, 9), 10);
        assert_eq!(access(&mut port, 11), 11);
        // Dealt to different sections, they drain together.
        let mut port = make_port(Target::Deal, 3, 5);
        assert_eq!(access(&mut port, 5), 6);
        assert_eq!(access(&mut port, 7), 8);
        assert_eq!(access(&mut port, 9), 9);
    }

    #[test]
    fn asking_again_changes_nothing() {
        let mut port = make_port(Target::Section(1), 100, 5);
        assert_eq!((port.delay(9), port.delay(9)), (1, 1));
        let before = port.clone();
        port.delay(9);
        assert_eq!(port, before);
    }

    #[test]
    fn a_second_port_never_waits() {
        let mut port = Port::default();
        assert_eq!(access(&mut port, 3), 3);
    }

    #[test]
    fn transfers_do_not_pile_up_while_no_memory_word_issues() {
        let vm7 = Machine::builtin("vm7").unwrap();
        let d = Descriptor::load(Target::Broadcast, 0, 0, 160);
        let mut port = Port::default();
        for i in 0..1000 {
            let schedule = Schedule::new(&d, &vm7);
            port.announce(schedule, Ticks(50 * i), vm7.time_base(), 4, 50 * i);
        }
        assert!(port.transfers.len() <= 2);
    }
}
