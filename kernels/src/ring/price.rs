//! What a pass over a ring should take, and the least it can.

use super::RingPass;
use cp2_dma::{Descriptor, transfer_time};
use cp2_machine::{Cycles, Machine};
use std::collections::BTreeMap;

impl RingPass {
    /// What the pass should take on `machine`, and the least it can take: its
    /// arithmetic or its transfers, with the first load and the last store.
    pub(crate) fn expect(&self, machine: &Machine) -> Expected {
        let tick = machine.time_base();
        let of = |cycles: Cycles| tick.cycles(cycles).0;
        let body = |d: &Descriptor| transfer_time(d, machine).body.0 + of(machine.dma.setup_queued);
        let period = self.work.period();
        let kinds: Vec<Kind> = (0..period.min(self.count()).max(1))
            // The very first page may have more to load.
            .map(|page| {
                if page + period < self.count() {
                    page + period
                } else {
                    page
                }
            })
            .map(|page| Kind {
                load: self.loads(page).iter().map(body).sum(),
                store: self.stores(page).iter().map(body).sum(),
                issues: of(Cycles(self.work.issues(page))),
                head: of(Cycles(self.work.head(page))),
                overhead: of(Cycles(self.work.overhead(page))),
                after: of(Cycles(self.work.after(page))),
            })
            .collect();
        let kind = |page: u64| kinds[(page % kinds.len() as u64) as usize];
        let see = of(machine.host.completion) + of(machine.host.descriptor);
        // Instead of the set-up of a transfer behind another, which each has.
        let idle = of(machine.dma.setup_idle).saturating_sub(of(machine.dma.setup_queued));
        let count = self.count();
        let (mut dma, mut cp2) = (idle, idle);
        let mut loaded = BTreeMap::new();
        for page in self.next(None) {
            dma += kind(page).load;
            loaded.insert(page, dma);
        }
        let (mut issues, mut moved) = (0, 0);
        let group = self.work.group().max(1);
        for page in 0..count {
            if page % group == 0 {
                for page in page..count.min(page + group) {
                    cp2 = cp2.max(loaded.remove(&page).unwrap_or(cp2)) + kind(page).head;
                }
            }
            let this = kind(page);
            cp2 += this.issues.saturating_sub(this.head) + this.overhead;
            // The channel is still at work when the store is given, or starts anew.
            let given = cp2.saturating_sub(this.after) + see;
            dma = if given <= dma { dma } else { given + idle } + this.store;
            for next in self.next(Some(page)) {
                dma += kind(next).load;
                loaded.insert(next, dma);
            }
            issues += this.issues;
            moved += this.load + this.store;
        }
        let scale = |ticks: u64| ticks as f64 / tick.ticks_per_cycle as f64;
        let ends = kind(0).load + kind(count.max(1) - 1).store;
        Expected {
            cycles: scale(dma),
            least: scale((ends + issues).max(moved)),
        }
    }
}

/// What a page costs, in ticks.
#[derive(Clone, Copy)]
struct Kind {
    load: u64,
    store: u64,
    issues: u64,
    /// Of the issues those that need no other page of the group.
    head: u64,
    overhead: u64,
    /// Cycles after the page has been signalled.
    after: u64,
}

/// What a pass should take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Expected {
    /// Cycles expected.
    pub cycles: f64,
    /// Cycles it takes at least.
    pub least: f64,
}
