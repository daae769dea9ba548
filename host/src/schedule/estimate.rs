//! What a plan should cost, from its shape alone.

use super::job::{Paging, Stream};
use super::page::Pages;
use cp2_machine::{Cycles, Machine, Ticks};
use serde::{Deserialize, Serialize};

/// The scheduler's expectation. It prices set-ups, bytes, launches and
/// completions; contiguous runs within a transfer, the program load and waits
/// inside the kernel it does not know.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
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

struct Costs {
    load: Ticks,
    store: Ticks,
    compute: Ticks,
}

pub(super) fn estimate(job: &Paging, machine: &Machine, pages: &Pages, degree: usize) -> Estimate {
    let total = pages.len();
    let simulated = total.min(SIMULATED);
    let tick = machine.time_base();
    let see = tick.cycles(machine.host.completion);
    let overhead = see + tick.cycles(machine.host.launch);
    let build = tick.cycles(machine.host.descriptor);
    let start = Ticks(0);
    let (mut dma, mut kernel) = (start, start);
    let (mut busy_dma, mut busy_kernel) = (Ticks(0), Ticks(0));
    let mut loaded: Vec<Ticks> = Vec::new();
    let mut stored: Vec<Ticks> = Vec::new();
    let (mut half, mut end) = (Ticks(0), Ticks(0));
    // The page whose first load is due next.
    let load =
        |k: u64, dma: &mut Ticks, busy: &mut Ticks, loaded: &mut Vec<Ticks>, ready: Ticks| {
            let cost = page_costs(job, machine, pages, k, total, simulated);
            *dma = (*dma).max(ready + build) + cost.load;
            *busy += cost.load;
            loaded.push(*dma);
        };
    for k in 0..simulated.min(degree as u64) {
        load(k, &mut dma, &mut busy_dma, &mut loaded, start);
    }
    for k in 0..simulated {
        let i = k as usize;
        let cost = page_costs(job, machine, pages, k, total, simulated);
        let mut ready = loaded[i].max(kernel) + overhead;
        if let Some(before) = i.checked_sub(degree).filter(|_| !job.in_place) {
            ready = ready.max(stored[before] + overhead);
        }
        kernel = ready + cost.compute;
        busy_kernel += cost.compute;
        dma = dma.max(kernel + see + build) + cost.store;
        busy_dma += cost.store;
        stored.push(dma);
        let next = k + degree as u64;
        if next < simulated {
            load(next, &mut dma, &mut busy_dma, &mut loaded, kernel + see);
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

fn page_costs(
    job: &Paging,
    machine: &Machine,
    pages: &Pages,
    k: u64,
    total: u64,
    simulated: u64,
) -> Costs {
    // The simulated pages end with the job's last.
    let k = if total > simulated && k + 2 >= simulated {
        total - (simulated - k)
    } else {
        k
    };
    let tick = machine.time_base();
    let Some(page) = pages.get(k) else {
        return Costs {
            load: Ticks(0),
            store: Ticks(0),
            compute: Ticks(0),
        };
    };
    let granule = machine.dma.granule.0.max(1);
    let transfer = |streams: &[Stream]| -> Ticks {
        streams
            .iter()
            .map(|s| {
                let granules = s
                    .block_bytes()
                    .saturating_mul(page.blocks)
                    .div_ceil(granule);
                let setups = Cycles(
                    machine
                        .dma
                        .setup_queued
                        .0
                        .saturating_mul(s.pieces.len() as u64),
                );
                Ticks(granules.saturating_mul(tick.ticks_per_granule)) + tick.cycles(setups)
            })
            .sum()
    };
    let (load, store) = (transfer(&job.inputs), transfer(&job.outputs));
    let compute = match job.cycles_per_block {
        Some(cycles) => tick.cycles(Cycles(cycles.saturating_mul(u64::from(page.per_section)))),
        None => load + store,
    };
    Costs {
        load,
        store,
        compute,
    }
}
