//! Least time of a pass over a ring, with all words of its kernel.

use super::RingPass;
use cp2_dma::{Descriptor, transfer_time};
use cp2_machine::{Cycles, Machine};

/// Lower bounds of a pass, in cycles.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OverlapBound {
    /// Time of the first load.
    pub first: f64,
    /// Time of the kernel's words until the last page is done.
    pub words: f64,
    /// Time from the last page's signal to the control CPU, and of its store.
    pub last: f64,
    /// Time of all transfers.
    pub moved: f64,
}

impl OverlapBound {
    /// Returns the larger of first load + words + last store, and of all transfers.
    pub fn cycles(self) -> f64 {
        (self.first + self.words + self.last).max(self.moved)
    }

    /// Returns the bound of this pass and `next`, whose first load can overlap this one's words and whose
    /// words can overlap this one's last store.
    pub fn overlapped(self, next: Self) -> Self {
        Self {
            first: self.first,
            words: self.words + next.words,
            last: next.last,
            moved: self.moved + next.moved,
        }
    }
}

impl RingPass {
    /// Returns the least time of the pass. If the program and factors of its first page may be loaded before,
    /// `late`, only the last load of that page counts.
    pub fn floor(&self, machine: &Machine, late: bool) -> OverlapBound {
        let tick = machine.time_base();
        let of = |cycles: Cycles| tick.cycles(cycles).0;
        let body = |d: &Descriptor| transfer_time(d, machine).body.0 + of(machine.dma.setup_queued);
        let all = |d: &[Descriptor]| d.iter().map(body).sum::<u64>();
        let cycles = |ticks: u64| ticks as f64 / tick.ticks_per_cycle as f64;
        let last = self.count().saturating_sub(1);
        let levels = machine.dma.levels;
        let own = self.shares(0, levels).0;
        let counted = if late { 1 } else { own.len() };
        let first: u64 = own.iter().rev().take(counted).map(body).sum();
        let mut moved = 0;
        for page in 0..self.count() {
            moved += all(&self.loads(page, levels)) + all(&self.stores(page, levels));
        }
        let see = machine.host.completion.0 + machine.host.descriptor.0;
        OverlapBound {
            first: cycles(first),
            words: self.busy(machine) as f64,
            last: see as f64 + cycles(all(&self.stores(last, levels))),
            moved: cycles((moved + first).saturating_sub(all(&own))),
        }
    }
}
