//! Expected time of a plan, from its shape alone.

use super::page_source::list_pages_loaded_behind;
use super::stream_plan::StreamPlan;
use crate::paging::price::{PageTransfers, Priced, price};
use crate::paging::{PAGE_EVENT, aligned};
use cp2_dma::{Descriptor, Target};
use cp2_machine::{Cycles, Machine};
use serde::{Deserialize, Serialize};

/// Expected time of a plan. It includes transfers, the launch, completions and the kernel as the job
/// describes it, but not the load of the program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StreamEstimate {
    /// Cycles from the first load until the last store is seen complete.
    pub cycles: f64,
    /// Busy cycles of the DMA in it, without arguments.
    pub dma: f64,
    /// Cycles of the kernel in it.
    pub compute: f64,
}

pub(super) fn estimate(plan: &StreamPlan, machine: &Machine) -> StreamEstimate {
    let price = price(&plan.priced(machine), machine);
    let tick = machine.time_base();
    let scale = |ticks: u64| ticks as f64 / tick.ticks_per_cycle as f64;
    StreamEstimate {
        cycles: scale(price.dma + tick.cycles(machine.host.completion).0),
        dma: scale(price.moved),
        compute: scale(price.busy),
    }
}

/// A plan on a machine, to be priced.
pub(crate) struct PlanPrice<'a> {
    plan: &'a StreamPlan,
    machine: &'a Machine,
}

impl StreamPlan {
    pub(crate) fn priced<'a>(&'a self, machine: &'a Machine) -> PlanPrice<'a> {
        PlanPrice {
            plan: self,
            machine,
        }
    }
}

impl Priced for PlanPrice<'_> {
    fn pages(&self) -> u64 {
        self.plan.pages().len()
    }

    fn next(&self, page: Option<u64>) -> Vec<u64> {
        list_pages_loaded_behind(page, self.plan.degree(), self.pages())
    }

    /// Returns the class of pages with as many blocks: the first, those behind it, and the last two may have
    /// other numbers of them.
    fn class(&self, page: u64, _usual: bool) -> u64 {
        let (pages, count) = (self.plan.pages(), self.pages());
        let blocks = |page: u64| pages.extent(page).map(|(_, blocks)| blocks);
        let kinds = [0, 1, count.saturating_sub(2)].into_iter();
        let mut same = kinds.filter(|&kind| kind <= page && blocks(kind) == blocks(page));
        same.next().unwrap_or(page)
    }

    fn page_transfers(&self, page: u64) -> PageTransfers {
        let Some(page) = self.plan.pages().get(page) else {
            return PageTransfers::default();
        };
        let of =
            |all: Vec<(usize, Descriptor)>| -> Vec<_> { all.into_iter().map(|(_, d)| d).collect() };
        let mut own = of(self.plan.loads(&page));
        if let Some(last) = own.last_mut() {
            last.event = Some(PAGE_EVENT);
        }
        PageTransfers {
            own,
            next: Vec::new(),
            stores: of(self.plan.stores(&page)),
        }
    }

    fn round(&self, _followed: bool) -> u64 {
        self.plan.degree() as u64
    }

    fn count_equal_pages(&self, page: u64) -> u64 {
        // All pages are alike behind the first, which may differ, and before the last two.
        match page > self.plan.degree() as u64 {
            true => self.pages().saturating_sub(page + 2),
            false => 0,
        }
    }

    fn count_similar_pages(&self, page: u64) -> u64 {
        self.count_equal_pages(page)
    }

    fn arguments(&self) -> Option<Descriptor> {
        let block = self.plan.first_args()?;
        let words = block.image().count() as u64 * self.pages().min(self.plan.degree() as u64);
        let granule = aligned(self.machine);
        let bytes = (4 * words).next_multiple_of(granule);
        Some(Descriptor::load(Target::Broadcast, 0, block.start(), bytes))
    }

    fn loads_first(&self) -> bool {
        false
    }

    fn describe_page(&self, page: u64, moved: u64) -> (u32, u64) {
        let job = self.plan.job();
        let ticks = job.cycles_per_block.map(|cycles| {
            let page = self.plan.pages().get(page);
            let blocks = page.map_or(0, |page| u64::from(page.per_section));
            let cycles = cycles
                .saturating_mul(blocks)
                .saturating_add(job.cycles_per_page);
            self.machine.time_base().cycles(Cycles(cycles)).0
        });
        // A kernel of unknown speed is taken to be as fast as the DMA.
        (PAGE_EVENT, ticks.unwrap_or(moved))
    }
}
