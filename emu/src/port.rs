//! The one-port DMEM: every granule the DMA moves costs its section's CP2 one
//! memory slot.
//!
//! The DMA buffers arriving granules. A cycle in which CP2 does not use DMEM
//! drains one buffered granule per section for free. A memory word that finds
//! any granule buffered gives way for one cycle, then has its turn, so that
//! neither side can starve the other. Machines with two ports have no such
//! state and never wait.

use serde::{Deserialize, Serialize};

/// Arbitration of the DMEM ports of all sections.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Port {
    /// Granules announced: cycle and section, ascending.
    arrivals: Vec<(u64, u32)>,
    state: State,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct State {
    /// First arrival not yet taken up.
    next: usize,
    /// Granules buffered per section.
    debt: Vec<u64>,
    /// First cycle not yet accounted for.
    settled: u64,
}

impl Port {
    /// Announces the granules of a transfer: cycle and section, ascending.
    pub(crate) fn announce(&mut self, arrivals: impl Iterator<Item = (u64, u32)>, sections: usize) {
        self.state.debt.resize(sections, 0);
        self.arrivals.drain(..self.state.next);
        self.state.next = 0;
        self.arrivals.extend(arrivals);
    }

    /// Cycles a memory word that could issue in cycle `at` has to give way.
    pub(crate) fn delay(&self, at: u64) -> u64 {
        if self.state.next == self.arrivals.len() && !self.state.owes() {
            return 0;
        }
        let mut state = self.state.clone();
        state.settle(&self.arrivals, at);
        state.take(&self.arrivals, at);
        u64::from(state.owes())
    }

    /// Records that a memory word issued in cycle `at`.
    pub(crate) fn commit(&mut self, at: u64) {
        if !self.state.debt.is_empty() {
            self.state.settle(&self.arrivals, at);
            self.state.take(&self.arrivals, at);
            self.state.settled = at + 1;
        }
    }
}

impl State {
    fn owes(&self) -> bool {
        self.debt.iter().any(|d| *d > 0)
    }

    /// Lets the cycles before `at` drain what they can.
    fn settle(&mut self, arrivals: &[(u64, u32)], at: u64) {
        while self.settled < at {
            if !self.owes() {
                // Nothing buffered: jump to the next arrival.
                match arrivals.get(self.next) {
                    Some(&(cycle, _)) if cycle < at => self.settled = self.settled.max(cycle),
                    _ => break,
                }
            }
            self.take(arrivals, self.settled);
            for debt in &mut self.debt {
                *debt = debt.saturating_sub(1);
            }
            self.settled += 1;
        }
        self.settled = self.settled.max(at);
    }

    /// Buffers what has arrived up to and including `cycle`.
    fn take(&mut self, arrivals: &[(u64, u32)], cycle: u64) {
        while let Some(&(arrival, section)) = arrivals.get(self.next) {
            if arrival > cycle {
                break;
            }
            if let Some(debt) = self.debt.get_mut(section as usize) {
                *debt += 1;
            }
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Issues a memory word at the first cycle the port allows from `at` on.
    fn access(port: &mut Port, at: u64) -> u64 {
        let at = at + port.delay(at);
        port.commit(at);
        at
    }

    #[test]
    fn a_continuous_transfer_takes_every_second_slot() {
        let mut port = Port::default();
        port.announce((0..100).map(|c| (c, (c / 25) as u32)), 4);
        let mut at = 0;
        for _ in 0..20 {
            at = access(&mut port, at) + 1;
        }
        assert_eq!(at, 40);
    }

    #[test]
    fn idle_cycles_drain_the_buffer_and_each_granule_costs_one_slot_at_most() {
        let mut port = Port::default();
        port.announce((0..3).map(|c| (c, 0)), 4);
        assert_eq!(access(&mut port, 10), 10);
        let mut port = Port::default();
        port.announce([(5, 1), (5, 1)].into_iter(), 4);
        assert_eq!(access(&mut port, 5), 6);
        assert_eq!(access(&mut port, 7), 8);
        assert_eq!(access(&mut port, 9), 9);
    }

    #[test]
    fn a_second_port_never_waits() {
        let mut port = Port::default();
        assert_eq!(access(&mut port, 3), 3);
    }
}
