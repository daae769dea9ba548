//! What a pass should take, and the least it can: one simulation of control CPU, channel and kernel, of any pass.
//!
//! It goes page by page, as [`Commands`](super::Commands) gives them: a kernel waits for a page's load, works, and signals; the page is stored, and the next one
//! loaded that takes its place. Where everything is as it was a round of buffers before, rounds are left out.

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

/// A pass, as far as its price is concerned.
pub(crate) trait Priced {
    /// Number of pages.
    fn pages(&self) -> u64;
    /// The pages that are loaded behind the stores of `page`, or before the first is stored.
    fn next(&self, page: Option<u64>) -> Vec<u64>;
    /// The first page that costs the same, or, of what is `usual`, does so without what only the first pages have to load.
    fn class(&self, page: u64, usual: bool) -> u64;
    /// Its transfers, with the events that they post.
    fn moved(&self, page: u64) -> PageTransfers;
    /// Pages after which they cost the same again; of a kernel that is `followed` also the buffers are the same ones.
    fn round(&self, followed: bool) -> u64;
    /// How many pages from this one on cost what those of the round before did.
    fn alike(&self, page: u64) -> u64;
    /// How many pages from this one on, behind very many, may be taken to cost about what as many before did.
    fn about(&self, _page: u64) -> u64 {
        0
    }
    /// The load of arguments that the launch waits for.
    fn arguments(&self) -> Option<Descriptor> {
        None
    }
    /// Whether the first pages' loads are given before the launch.
    fn loads_first(&self) -> bool;
    /// The steps of its kernel, where its program is known.
    fn counted(&self) -> Option<Arc<Counted>> {
        None
    }
    /// Where it is not: the event that the kernel waits for, and the ticks that a page then takes, whose transfers take so many.
    fn described(&self, page: u64, moved: u64) -> (u32, u64);
    /// Whether its first pages are loaded while the pass before it ends, and if so whether its arguments are.
    fn begun(&self) -> Option<bool> {
        None
    }
    /// What of the next pass is loaded while it ends.
    fn early_loads(&self) -> &[EarlyLoad] {
        &[]
    }
}

/// The transfers of a page.
#[derive(Debug, Default)]
pub(crate) struct PageTransfers {
    /// What it waits for that is not there yet.
    pub(crate) own: Vec<Descriptor>,
    /// What comes with it for the next page.
    pub(crate) next: Vec<Descriptor>,
    /// What stores it.
    pub(crate) stores: Vec<Descriptor>,
}

/// Pages that are simulated one by one where they do not repeat themselves; the rest goes on at the same pace.
const MANY: u64 = 512;

/// The pages of a pass on a machine, one after the other.
pub(super) struct PricedPages<'a, P> {
    pass: &'a P,
    machine: &'a Machine,
    arguments: IssuedTransfers,
    fixed: Fixed,
    /// What its kernel takes, where its program is known.
    kernel: Option<Arc<Counted>>,
    /// What the pages cost that stand for others.
    kinds: RefCell<BTreeMap<u64, Kind>>,
}

impl<'a, P: Priced> PricedPages<'a, P> {
    fn new(pass: &'a P, machine: &'a Machine) -> Self {
        Self {
            pass,
            machine,
            arguments: IssuedTransfers::new(pass.arguments().as_slice(), machine),
            fixed: Fixed::from_machine(machine),
            kernel: pass.counted(),
            kinds: RefCell::default(),
        }
    }

    /// What a page costs; if it is to be `usual`, without what only the first have to load.
    fn kind(&self, page: u64, usual: bool) -> Kind {
        let class = self.pass.class(page, usual);
        let mut kinds = self.kinds.borrow_mut();
        *kinds.entry(class).or_insert_with(|| self.make(class))
    }

    fn make(&self, page: u64) -> Kind {
        let moved = self.pass.moved(page);
        let given = |transfers: &[Descriptor]| IssuedTransfers::new(transfers, self.machine);
        let (own, next, store) = (given(&moved.own), given(&moved.next), given(&moved.stores));
        let ticks = own.all + next.all + store.all;
        Kind {
            own: (own.count > 0).then_some(own),
            next,
            store,
            described: self.pass.described(page, ticks),
        }
    }

    /// Goes on from `now` to the last store of the pass. Returns what its first load and its last store take.
    fn go(&self, now: &mut PassState) -> u64 {
        self.begin(now);
        let count = self.pass.pages();
        // The last pages are followed by the first of the next pass.
        let tail = |ahead: &EarlyLoad| count - ahead.behind.unwrap_or(0);
        let tail = self.pass.early_loads().first().map_or(0, tail);
        let round = self.pass.round(self.kernel.is_some()).max(1);
        let many = (MANY / 2).next_multiple_of(round);
        let (mut page, mut before) = (0, None);
        let mut half = None;
        let mut ahead = self.pass.early_loads().iter().peekable();
        while let Some(ahead) = ahead.next_if(|ahead| ahead.behind.is_none()) {
            self.price_early_load(ahead, now);
        }
        while page < count {
            if page % round == 0 {
                let (left, skipped) = (self.pass.alike(page), before.take());
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
            // What repeats itself after very many pages only is about the same in between.
            if page == many {
                half = Some((page, PassState::clone(now)));
            }
            if page == 2 * many
                && let Some(half) = half.take()
            {
                let kernel = (self.kernel.as_deref(), true);
                let rounds = now.rounds(&half, (self.pass.about(page), tail), many, kernel);
                page += rounds * many;
                before = None;
            }
            self.page(page, now);
            while let Some(ahead) = ahead.next_if(|ahead| ahead.behind <= Some(page)) {
                self.price_early_load(ahead, now);
            }
            page += 1;
        }
        // What comes behind the last page.
        while let Some(step) = self
            .kernel
            .as_ref()
            .and_then(|kernel| now.place.next(kernel))
        {
            now.work(step.cycles * self.fixed.cycle);
        }
        self.kind(0, true).load() + self.kind(count.max(1) - 1, true).store.all
    }

    /// A load of the next pass.
    fn price_early_load(&self, ahead: &EarlyLoad, now: &mut PassState) {
        let load = IssuedTransfers::new(std::slice::from_ref(&ahead.load), self.machine);
        now.issue_transfers(load, 0, self.fixed);
        if ahead.page.is_none() {
            now.ready = now.dma;
        }
    }

    /// The launch, and the loads before it unless the pass before has given them.
    fn begin(&self, now: &mut PassState) {
        (now.place, now.furthest) = (StepCursor::default(), 0);
        if let Some(informed) = self.pass.begun() {
            if !informed {
                // Its arguments come behind the last stores.
                now.cp2 = now.cp2.max(now.dma);
            }
            // Its program may be the last to come.
            now.cp2 = now.cp2.max(std::mem::take(&mut now.ready));
            now.cp2 += self.fixed.completion + self.fixed.launch;
            now.furthest = self.pass.next(None).into_iter().max().unwrap_or(0);
        } else {
            // What the pass before has done must have been seen.
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

    /// A page that is there: its arithmetic, its stores, and the loads that take its place.
    fn page(&self, page: u64, now: &mut PassState) {
        let this = self.kind(page, false);
        let done = match &self.kernel {
            Some(kernel) => self.followed(kernel, now),
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

    /// The kernel goes on until it signals a page, whose end this is.
    fn followed(&self, kernel: &Counted, now: &mut PassState) -> u64 {
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

/// What a pass alone takes, in ticks.
pub(crate) struct Price {
    /// Until the channel has done all.
    pub(crate) dma: u64,
    /// The kernel's work, and the transfers of all pages.
    pub(crate) busy: u64,
    pub(crate) moved: u64,
    /// The first load and the last store.
    pub(crate) ends: u64,
}

/// What a pass takes whose program is there.
pub(crate) fn price<P: Priced>(pass: &P, machine: &Machine) -> Price {
    prices([pass], machine)
}

/// What passes take that follow each other, some of them begun while the one before them ends; the ends are those of the last.
pub(crate) fn prices<'a, P: Priced + 'a>(
    passes: impl IntoIterator<Item = &'a P>,
    machine: &Machine,
) -> Price {
    let (mut now, mut ends) = (PassState::default(), 0);
    for pass in passes {
        ends = PricedPages::new(pass, machine).go(&mut now);
    }
    Price {
        dma: now.dma,
        busy: now.busy,
        moved: now.moved,
        ends,
    }
}
