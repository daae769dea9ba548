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
    load: Ticks,
    store: Ticks,
    compute: Ticks,
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
    let build = tick.cycles(machine.host.descriptor);
    let queued = tick.cycles(machine.dma.setup_queued);
    let idle = tick.cycles(machine.dma.setup_idle);
    // First granule of transfers whose descriptors the CPU begins to build at `ready`.
    let begin = |dma: Ticks, ready: Ticks| (dma + queued).max(ready + build + idle);
    let (mut dma, mut busy_dma) = (Ticks(0), Ticks(0));
    // Launched when the CPU has seen its arguments loaded.
    let (mut kernel, mut busy_kernel) = (see + tick.cycles(machine.host.launch), Ticks(0));
    let mut loaded: Vec<Ticks> = Vec::new();
    let (mut half, mut end) = (Ticks(0), Ticks(0));
    for _ in 0..simulated.min(degree as u64) {
        let cost = prices.of(loaded.len() as u64).load;
        dma = begin(dma, Ticks(0)) + cost;
        busy_dma += cost;
        loaded.push(dma);
    }
    for k in 0..simulated {
        let cost = prices.of(k);
        kernel = loaded[k as usize].max(kernel) + cost.compute;
        busy_kernel += cost.compute;
        dma = begin(dma, kernel + see) + cost.store;
        busy_dma += cost.store;
        if k + (degree as u64) < simulated {
            let cost = prices.of(k + degree as u64).load;
            dma = begin(dma, kernel + see) + cost;
            busy_dma += cost;
            loaded.push(dma);
        }
        end = dma + see;
        if k + 1 == simulated / 2 {
            half = end;
        }
    }
    let scale = |t: Ticks| t.0 as f64 / tick.ticks_per_cycle as f64;
    let rest = (total - simulated) as f64 / (simulated - simulated / 2).max(1) as f64;
    let share = total as f64 / simulated.max(1) as f64;
    Estimate {
        cycles: scale(end) + scale(end.saturating_sub(half)) * rest,
        dma: scale(busy_dma) * share,
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
        let time = |transfers: Vec<(usize, Descriptor)>| -> Ticks {
            let bodies = transfers
                .iter()
                .map(|(_, d)| transfer_time(d, self.machine).body);
            // The first set-up depends on what the engine did before.
            bodies.sum::<Ticks>() + Ticks(setup.0 * (transfers.len() as u64).saturating_sub(1))
        };
        let (load, store) = (time(self.plan.loads(&page)), time(self.plan.stores(&page)));
        let job = self.plan.job();
        let compute = match job.cycles_per_block {
            Some(cycles) => {
                let blocks = cycles.saturating_mul(u64::from(page.per_section));
                tick.cycles(Cycles(blocks.saturating_add(job.cycles_per_page)))
            }
            None => load + store,
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
