//! Simulation of any pass: its expected time, and its least time.
//!
//! Control CPU, channel and kernel are followed page by page, as [`Commands`](super::Commands) gives them: a
//! kernel waits for a page's load, works, and signals; the page is stored, and the page that takes its place
//! is loaded. Rounds of the buffers that repeat the round before exactly are skipped.

mod pass_state;
mod step_cursor;

pub(super) use pass_state::queued;
pub(super) use step_cursor::StepCursor;

use super::ring::EarlyLoad;
use cp2_dma::Descriptor;
use cp2_emu::cycles::{Counted, Mark};
use cp2_machine::Machine;
use pass_state::{Fixed, IssuedTransfers, Kind, PassState};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Pages of a pass, as far as they decide its price.
pub(crate) trait Priced {
    /// Returns the number of pages.
    fn pages(&self) -> u64;
    /// Returns the pages that are loaded behind the stores of `page`, or before the first is stored.
    fn next(&self, page: Option<u64>) -> Vec<u64>;
    /// Returns the first page of equal cost. With `usual`, loads that only the first pages have do not count.
    fn class(&self, page: u64, usual: bool) -> u64;
    /// Returns the transfers of a page, with the events that they post.
    fn page_transfers(&self, page: u64) -> PageTransfers;
    /// Returns the number of pages after which costs repeat; for a kernel that is `followed` the buffers
    /// repeat as well.
    fn round(&self, followed: bool) -> u64;
    /// Returns the number of pages from this one on that cost as much as those of the round before.
    fn count_equal_pages(&self, page: u64) -> u64;
    /// Returns the number of pages from this one on that, behind very many, may be taken to cost about as
    /// much as those before.
    fn count_similar_pages(&self, _page: u64) -> u64 {
        0
    }
    /// Returns the load of arguments that the launch waits for.
    fn arguments(&self) -> Option<Descriptor> {
        None
    }
    /// Returns true if the first pages' loads are given before the launch.
    fn loads_first(&self) -> bool;
    /// Returns the counted steps of the kernel, if its program is known.
    fn counted_kernel(&self) -> Option<Arc<Counted>> {
        None
    }
    /// Returns, for a kernel whose program is not known, the event that it waits for, and the ticks of a page
    /// whose transfers take `moved` ticks.
    fn describe_page(&self, page: u64, moved: u64) -> (u32, u64);
    /// Returns a value if the first pages are loaded while the pass before ends: true if the arguments are as
    /// well.
    fn early_start(&self) -> Option<bool> {
        None
    }
    /// Returns the loads of the next pass that are given while this one ends.
    fn early_loads(&self) -> &[EarlyLoad] {
        &[]
    }
}

/// The transfers of a page.
#[derive(Debug, Default)]
pub(crate) struct PageTransfers {
    /// Loads that the page waits for and that did not come with the page before.
    pub(crate) own: Vec<Descriptor>,
    /// Loads that come with this page for the next one.
    pub(crate) next: Vec<Descriptor>,
    /// Stores of the page.
    pub(crate) stores: Vec<Descriptor>,
}

/// Number of pages that are simulated one by one if they do not repeat themselves; the rest goes on at the
/// same pace. It bounds the time of pricing.
const MOST_SIMULATED_PAGES: u64 = 512;

/// The pages of a pass on a machine, in order.
pub(super) struct PricedPages<'a, P> {
    pass: &'a P,
    machine: &'a Machine,
    arguments: IssuedTransfers,
    fixed: Fixed,
    /// Counted steps of the kernel, if its program is known.
    kernel: Option<Arc<Counted>>,
    /// Costs of the pages that stand for their class.
    kinds: RefCell<BTreeMap<u64, Kind>>,
}

impl<'a, P: Priced> PricedPages<'a, P> {
    fn new(pass: &'a P, machine: &'a Machine) -> Self {
        Self {
            pass,
            machine,
            arguments: IssuedTransfers::new(pass.arguments().as_slice(), machine),
            fixed: Fixed::from_machine(machine),
            kernel: pass.counted_kernel(),
            kinds: RefCell::default(),
        }
    }

    /// Returns the cost of a page; with `usual`, without loads that only the first pages have.
    fn kind(&self, page: u64, usual: bool) -> Kind {
        let class = self.pass.class(page, usual);
        let mut kinds = self.kinds.borrow_mut();
        *kinds.entry(class).or_insert_with(|| self.make_kind(class))
    }

    fn make_kind(&self, page: u64) -> Kind {
        let moved = self.pass.page_transfers(page);
        let given = |transfers: &[Descriptor]| IssuedTransfers::new(transfers, self.machine);
        let (own, next, store) = (given(&moved.own), given(&moved.next), given(&moved.stores));
        let ticks = own.all + next.all + store.all;
        Kind {
            own: (own.count > 0).then_some(own),
            next,
            store,
            described: self.pass.describe_page(page, ticks),
        }
    }

    /// Goes on from `now` to the last store of the pass. Returns the ticks of the first load and the last
    /// store.
    fn advance_to_end(&self, now: &mut PassState) -> u64 {
        self.begin(now);
        let count = self.pass.pages();
        // The last pages are followed by the first of the next pass.
        let tail = |ahead: &EarlyLoad| count - ahead.behind.unwrap_or(0);
        let tail = self.pass.early_loads().first().map_or(0, tail);
        let round = self.pass.round(self.kernel.is_some()).max(1);
        let many = (MOST_SIMULATED_PAGES / 2).next_multiple_of(round);
        let (mut page, mut before) = (0, None);
        let mut half = None;
        let mut ahead = self.pass.early_loads().iter().peekable();
        while let Some(ahead) = ahead.next_if(|ahead| ahead.behind.is_none()) {
            self.price_early_load(ahead, now);
        }
        while page < count {
            if page % round == 0 {
                let (left, skipped) = (self.pass.count_equal_pages(page), before.take());
                let rounds = skipped.map_or(0, |before| {
                    now.rounds(
                        &before,
                        (left, tail),
                        round,
                        (self.kernel.as_deref(), false),
                    )
                });
                before = (rounds == 0).then(|| (page, PassState::clone(now)));
                page += rounds * round;
            }
            // A pass that repeats itself only after very many pages goes on at about the same pace.
            if page == many {
                half = Some((page, PassState::clone(now)));
            }
            if page == 2 * many
                && let Some(half) = half.take()
            {
                let kernel = (self.kernel.as_deref(), true);
                let rounds = now.rounds(
                    &half,
                    (self.pass.count_similar_pages(page), tail),
                    many,
                    kernel,
                );
                page += rounds * many;
                before = None;
            }
            self.page(page, now);
            while let Some(ahead) = ahead.next_if(|ahead| ahead.behind <= Some(page)) {
                self.price_early_load(ahead, now);
            }
            page += 1;
        }
        // The kernel's steps behind the last page.
        while let Some(step) = self
            .kernel
            .as_ref()
            .and_then(|kernel| now.place.next(kernel))
        {
            now.work(step.cycles * self.fixed.cycle);
        }
        self.kind(0, true).load() + self.kind(count.max(1) - 1, true).store.all
    }

    /// Adds an early load of the next pass.
    fn price_early_load(&self, ahead: &EarlyLoad, now: &mut PassState) {
        let load = IssuedTransfers::new(std::slice::from_ref(&ahead.load), self.machine);
        now.issue_transfers(load, 0, self.fixed);
        if ahead.page.is_none() {
            now.ready = now.dma;
        }
    }

    /// Adds the launch, and the loads before it unless the pass before has given them.
    fn begin(&self, now: &mut PassState) {
        (now.place, now.furthest) = (StepCursor::default(), 0);
        if let Some(informed) = self.pass.early_start() {
            if !informed {
                // The arguments come behind the last stores.
                now.cp2 = now.cp2.max(now.dma);
            }
            // The program may be the last to be loaded.
            now.cp2 = now.cp2.max(std::mem::take(&mut now.ready));
            now.cp2 += self.fixed.completion + self.fixed.launch;
            now.furthest = self.pass.next(None).into_iter().max().unwrap_or(0);
        } else {
            // The CPU must have seen the end of the pass before.
            let ready = match now.dma.max(now.cp2) {
                0 => 0,
                busy => busy + self.fixed.completion,
            };
            now.issue_transfers(self.arguments, ready, self.fixed);
            let informed = now.dma + self.fixed.completion;
            now.posts.clear();
            for page in self.pass.next(None) {
                now.load(page, self.kind(page, false), ready, self.fixed);
            }
            let given = if self.pass.loads_first() { now.cpu } else { 0 };
            now.cp2 = informed.max(given) + self.fixed.launch;
        }
    }

    /// Adds a page: its computation, its stores, and the loads that take its place.
    fn page(&self, page: u64, now: &mut PassState) {
        let this = self.kind(page, false);
        let done = match &self.kernel {
            Some(kernel) => self.follow_until_signal(kernel, now),
            None => {
                let (event, ticks) = this.described;
                now.wait(event, self.fixed.cycle);
                now.work(ticks);
                now.cp2
            }
        };
        let seen = done + self.fixed.completion;
        now.issue_transfers(this.store, seen, self.fixed);
        for next in self.pass.next(Some(page)) {
            now.load(next, self.kind(next, false), seen, self.fixed);
        }
        let usual = self.kind(page, true);
        now.moved += usual.load() + usual.store.all;
    }

    /// Follows the kernel until it signals a page, and returns the time of the signal.
    fn follow_until_signal(&self, kernel: &Counted, now: &mut PassState) -> u64 {
        let cycle = self.fixed.cycle;
        while let Some(step) = now.place.next(kernel) {
            now.work(step.cycles * cycle);
            match step.mark {
                Mark::Wait(event) => {
                    now.wait(event, cycle);
                    now.work(cycle);
                }
                Mark::Signal(_) => {
                    let done = now.cp2;
                    now.work(cycle);
                    return done;
                }
                Mark::Stop => break,
            }
        }
        now.cp2
    }
}

/// Time of a pass alone, in ticks.
pub(crate) struct Price {
    /// End of the last transfer.
    pub(crate) dma: u64,
    /// Work of the kernel.
    pub(crate) busy: u64,
    /// Transfers of all pages.
    pub(crate) moved: u64,
    /// Transfers of the first load and the last store.
    pub(crate) ends: u64,
}

/// Returns the price of a pass whose program is loaded.
pub(crate) fn price<P: Priced>(pass: &P, machine: &Machine) -> Price {
    prices([pass], machine)
}

/// Returns the price of consecutive passes, some of them begun while the one before ends; `ends` is that of
/// the last.
pub(crate) fn prices<'a, P: Priced + 'a>(
    passes: impl IntoIterator<Item = &'a P>,
    machine: &Machine,
) -> Price {
    let (mut now, mut ends) = (PassState::default(), 0);
    for pass in passes {
        ends = PricedPages::new(pass, machine).advance_to_end(&mut now);
    }
    Price {
        dma: now.dma,
        busy: now.busy,
        moved: now.moved,
        ends,
    }
}
