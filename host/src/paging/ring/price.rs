//! Expected time of a pass over a ring.

use super::{EarlyLoad, RingPass};
use crate::paging::KernelEntryPoint;
use crate::paging::price::{PageTransfers, Priced, StepCursor, price, prices, queued};
use cp2_asm::Program;
use cp2_dma::Descriptor;
use cp2_emu::cycles::{Counted, KernelInterval, Mark, Uncounted};
use cp2_machine::{Class, Cycles, Machine};
use std::sync::Arc;

/// A pass on a machine.
pub(super) struct RingPrice<'a> {
    pass: &'a RingPass,
    machine: &'a Machine,
    /// Number of pages after which costs repeat.
    period: u64,
    /// Number of the first pages whose costs repeat.
    alike: u64,
    /// Ticks of a page besides its arithmetic, approximately, if its program is not known: four schedules are
    /// filled and drained.
    turn: u64,
}

impl<'a> RingPrice<'a> {
    pub(super) fn new(pass: &'a RingPass, machine: &'a Machine) -> Self {
        // If there are two kinds in sequence, costs repeat within the first.
        let (period, alike) = match pass.work.pages_of_kind() {
            [0, _] => (pass.work.cost_period().max(1), pass.count()),
            [first, _] => (1, first),
        };
        let latency = |class| machine.cp2.latency[class].0;
        let turn = Cycles(4 * (latency(Class::Load) + 3 * latency(Class::Butterfly)));
        Self {
            pass,
            machine,
            period,
            alike,
            turn: machine.time_base().cycles(turn).0,
        }
    }
}

impl Priced for RingPrice<'_> {
    fn pages(&self) -> u64 {
        self.pass.count()
    }

    fn next(&self, page: Option<u64>) -> Vec<u64> {
        self.pass.next(page).collect()
    }

    fn class(&self, page: u64, usual: bool) -> u64 {
        // The last page may hold less than the others.
        if page >= self.alike || page + 1 == self.pass.count() {
            return page;
        }
        let place = page % self.period;
        let later = Some(self.period + place).filter(|&later| later < self.alike);
        later
            .filter(|_| usual || page >= self.period)
            .unwrap_or(place)
    }

    fn page_transfers(&self, page: u64) -> PageTransfers {
        let levels = self.machine.dma.levels;
        let (own, next) = self.pass.shares(page, levels);
        let stores = self.pass.stores(page, levels);
        PageTransfers { own, next, stores }
    }

    fn round(&self, followed: bool) -> u64 {
        match followed {
            // The buffers take turns, too.
            true => common(self.period, self.pass.ring.pages.len() as u64),
            false => self.period,
        }
    }

    fn count_equal_pages(&self, page: u64) -> u64 {
        self.alike.saturating_sub(page)
    }

    fn arguments(&self) -> Option<Descriptor> {
        let bytes = self.pass.padded(self.machine).len() as u64 * 4;
        Some(self.pass.argument_load(0, bytes))
    }

    fn loads_first(&self) -> bool {
        true
    }

    fn counted_kernel(&self) -> Option<Arc<Counted>> {
        self.pass.counted(self.machine)
    }

    fn describe_page(&self, page: u64, _moved: u64) -> (u32, u64) {
        let issues = Cycles(self.pass.work.arithmetic_cycles(page));
        let ticks = self.machine.time_base().cycles(issues).0;
        (self.pass.work.event(page), ticks + self.turn)
    }

    fn early_start(&self) -> Option<bool> {
        self.pass.begun.then_some(self.pass.informed)
    }

    fn early_loads(&self) -> &[EarlyLoad] {
        &self.pass.ahead
    }
}

/// Returns the least common multiple.
fn common(a: u64, b: u64) -> u64 {
    let (mut x, mut y) = (a, b);
    while y > 0 {
        (x, y) = (y, x % y);
    }
    a / x.max(1) * b.max(1)
}

impl RingPass {
    /// Returns the expected time of the pass on `machine`, and its least time: its arithmetic with the first
    /// load and the last store, or its transfers.
    pub fn expect(&self, machine: &Machine) -> PassEstimate {
        let price = price(&RingPrice::new(self, machine), machine);
        let tick = machine.time_base();
        let scale = |ticks: u64| ticks as f64 / tick.ticks_per_cycle as f64;
        PassEstimate {
            cycles: scale(price.dma),
            least: scale((price.ends + price.busy).max(price.moved)),
        }
    }

    /// Returns the cycles of the next pass's early loads that are given before this one's last store.
    pub fn price_early_pages(&self, machine: &Machine) -> f64 {
        let last = self.count().saturating_sub(1);
        let early = self.ahead.iter();
        let early = early.filter(|ahead| ahead.page.is_some() && ahead.behind < Some(last));
        let ticks = early.map(|ahead| queued(&ahead.load, machine));
        ticks.sum::<u64>() as f64 / machine.time_base().ticks_per_cycle as f64
    }

    /// Prices the pass by the kernel that runs it: the one at a label of a program.
    pub fn price_by_kernel(mut self, program: &Arc<Program>, entry: &str) -> Self {
        self.kernel = Some(KernelEntryPoint::from_label(program, entry));
        self
    }

    /// Prices the pass by the arithmetic of its pages alone
    /// ([`RingPages::arithmetic_cycles`](super::RingPages::arithmetic_cycles)). That is quick, for
    /// comparisons of many passes.
    pub fn price_by_arithmetic(mut self) -> Self {
        self.kernel = None;
        self
    }

    /// Returns the steps of a kernel that runs the pass, in order.
    ///
    /// # Errors
    /// The kernel's control flow depends on data.
    pub fn steps(
        &self,
        kernel: &KernelEntryPoint,
        machine: &Machine,
    ) -> Result<impl Iterator<Item = KernelInterval> + Send + use<>, Uncounted> {
        let words = self.padded(machine);
        let counted = kernel.count(machine, (self.ring.arguments, &words))?;
        let mut place = StepCursor::default();
        Ok(std::iter::from_fn(move || place.next(&counted)))
    }

    /// Returns the counted steps of the kernel, if its program is known.
    pub fn counted(&self, machine: &Machine) -> Option<Arc<Counted>> {
        let words = self.padded(machine);
        let counted = self
            .kernel
            .as_ref()?
            .count(machine, (self.ring.arguments, &words));
        counted.ok()
    }

    /// Returns the cycles of the kernel from the load of its first page until the last page is done, without
    /// any waits. The words before the last wait of the first page are left out, because they may overlap the
    /// load.
    pub(super) fn busy(&self, machine: &Machine) -> u64 {
        if let Some(counted) = self.counted(machine) {
            let last = counted.stretches.last().and_then(|last| last.steps.last());
            let end = last.filter(|last| last.mark == Mark::Stop);
            let first = counted
                .steps()
                .take_while(|step| matches!(step.mark, Mark::Wait(_)));
            let start: u64 = first.map(|step| step.cycles + 1).sum();
            return counted.cycles() - end.map_or(0, |end| end.cycles) - start;
        }
        (0..self.count())
            .map(|page| self.work.arithmetic_cycles(page))
            .sum()
    }
}

/// Returns the expected cycles of consecutive passes, some of them begun while the one before ends.
pub fn expect_all<'a>(passes: impl IntoIterator<Item = &'a RingPass>, machine: &Machine) -> f64 {
    let passes = passes.into_iter().map(|pass| RingPrice::new(pass, machine));
    let passes: Vec<_> = passes.collect();
    prices(&passes, machine).dma as f64 / machine.time_base().ticks_per_cycle as f64
}

/// Expected time of a pass.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct PassEstimate {
    /// Cycles expected.
    pub cycles: f64,
    /// Least number of cycles.
    pub least: f64,
}

impl PassEstimate {
    /// Returns the estimate of two passes in sequence.
    pub fn and(self, other: Self) -> Self {
        Self {
            cycles: self.cycles + other.cycles,
            least: self.least + other.least,
        }
    }
}
