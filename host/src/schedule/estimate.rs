//! What a plan should cost, from its shape alone.

use super::plan::Plan;
use cp2_dma::{Descriptor, transfer_time};
use cp2_machine::{Cycles, Machine, Ticks};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The scheduler's expectation. It prices transfers, the launch, completions
/// and the kernel as the job describes it; the loads of program and argument
/// blocks it leaves out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// From the first load to the last store seen complete.
    pub cycles: f64,
    /// The DMA busy time in it.
    pub dma: f64,
    /// The kernel time in it.
    pub compute: f64,
}

/// Pages simulated one by one; the rest goes on at the same pace.
const SIMULATED: u64 = 192;

#[derive(Clone, Copy, Default)]
struct Costs {
    load: Given,
    store: Given,
    compute: Ticks,
}

/// Transfers that the CPU gives one after the other.
#[derive(Clone, Copy, Default)]
struct Given {
    count: u64,
    /// Without the set-up of the first, which depends on what the engine did before.
    all: Ticks,
    last: Ticks,
}

/// How far CPU and channel have come.
struct Channel {
    cpu: Ticks,
    dma: Ticks,
    busy: Ticks,
    /// The CPU's time for a descriptor, and set-ups behind another transfer and on an idle engine.
    build: Ticks,
    queued: Ticks,
    idle: Ticks,
}

impl Channel {
    /// Transfers whose descriptors the CPU begins to build at `ready`, or when it has built those before.
    fn give(&mut self, given: Given, ready: Ticks) {
        let Some(more) = given.count.checked_sub(1) else {
            return;
        };
        let first = self.cpu.max(ready) + self.build;
        self.cpu = first + Ticks(self.build.0 * more);
        let begin = (self.dma + self.queued).max(first + self.idle);
        // The last of several may be built when the others are done.
        let late = if more > 0 {
            self.cpu + self.idle + given.last
        } else {
            Ticks(0)
        };
        self.dma = (begin + given.all).max(late);
        self.busy += given.all;
    }
}

pub(super) fn estimate(plan: &Plan, machine: &Machine) -> Estimate {
    let (pages, degree) = (plan.pages(), plan.degree());
    let total = pages.len();
    let simulated = total.min(SIMULATED);
    let mut prices = Prices {
        plan,
        machine,
        simulated,
        known: BTreeMap::new(),
    };
    let tick = machine.time_base();
    let see = tick.cycles(machine.host.completion);
    let mut channel = Channel {
        cpu: Ticks(0),
        dma: Ticks(0),
        busy: Ticks(0),
        build: tick.cycles(machine.host.descriptor),
        queued: tick.cycles(machine.dma.setup_queued),
        idle: tick.cycles(machine.dma.setup_idle),
    };
    // Launched when the CPU has seen its arguments loaded.
    let (mut kernel, mut busy_kernel) = (see + tick.cycles(machine.host.launch), Ticks(0));
    let mut loaded: Vec<Ticks> = Vec::new();
    let (mut half, mut end) = (Ticks(0), Ticks(0));
    for _ in 0..simulated.min(degree as u64) {
        channel.give(prices.of(loaded.len() as u64).load, Ticks(0));
        loaded.push(channel.dma);
    }
    for k in 0..simulated {
        let cost = prices.of(k);
        kernel = loaded[k as usize].max(kernel) + cost.compute;
        busy_kernel += cost.compute;
        channel.give(cost.store, kernel + see);
        if k + (degree as u64) < simulated {
            channel.give(prices.of(k + degree as u64).load, kernel + see);
            loaded.push(channel.dma);
        }
        end = channel.dma + see;
        if k + 1 == simulated / 2 {
            half = end;
        }
    }
    let scale = |t: Ticks| t.0 as f64 / tick.ticks_per_cycle as f64;
    let rest = (total - simulated) as f64 / (simulated - simulated / 2).max(1) as f64;
    let share = total as f64 / simulated.max(1) as f64;
    Estimate {
        cycles: scale(end) + scale(end.saturating_sub(half)) * rest,
        dma: scale(channel.busy) * share,
        compute: scale(busy_kernel) * share,
    }
}

/// Prices pages; pages of one shape cost the same.
struct Prices<'a> {
    plan: &'a Plan,
    machine: &'a Machine,
    simulated: u64,
    known: BTreeMap<(u32, u64), Costs>,
}

impl Prices<'_> {
    /// The costs of the `k`-th simulated page.
    fn of(&mut self, k: u64) -> Costs {
        let (total, simulated) = (self.plan.pages().len(), self.simulated);
        // The simulated pages end with the job's last.
        let k = if total > simulated && k + 2 >= simulated {
            total - (simulated - k)
        } else {
            k
        };
        let Some(page) = self.plan.pages().get(k) else {
            return Costs::default();
        };
        let key = (page.per_section, page.blocks);
        if let Some(&costs) = self.known.get(&key) {
            return costs;
        }
        let tick = self.machine.time_base();
        let setup = tick.cycles(self.machine.dma.setup_queued);
        let given = |transfers: Vec<(usize, Descriptor)>| {
            let mut bodies = transfers
                .iter()
                .map(|(_, d)| transfer_time(d, self.machine).body);
            let count = transfers.len() as u64;
            Given {
                count,
                all: bodies.clone().sum::<Ticks>() + Ticks(setup.0 * count.saturating_sub(1)),
                last: bodies.next_back().unwrap_or_default(),
            }
        };
        let (load, store) = (
            given(self.plan.loads(&page)),
            given(self.plan.stores(&page)),
        );
        let job = self.plan.job();
        let compute = match job.cycles_per_block {
            Some(cycles) => {
                let blocks = cycles.saturating_mul(u64::from(page.per_section));
                tick.cycles(Cycles(blocks.saturating_add(job.cycles_per_page)))
            }
            None => load.all + store.all,
        };
        let costs = Costs {
            load,
            store,
            compute,
        };
        self.known.insert(key, costs);
        costs
    }
}
