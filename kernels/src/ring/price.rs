//! What a pass over a ring should take, and the least it can.

use super::RingPass;
use cp2_dma::{Descriptor, transfer_time};
use cp2_machine::{Cycles, Machine};
use std::collections::BTreeMap;

impl RingPass {
    /// What the pass should take on `machine`, and the least it can take: its
    /// arithmetic or its transfers, with the first load and the last store.
    pub(crate) fn expect(&self, machine: &Machine) -> Expected {
        let mut now = State::default();
        let ends = self.walk(machine, &mut now);
        let tick = machine.time_base();
        let scale = |ticks: u64| ticks as f64 / tick.ticks_per_cycle as f64;
        Expected {
            cycles: scale(now.dma),
            least: scale((ends + now.issues).max(now.moved)),
        }
    }

    /// Cycles of what the next pass's pages have before this one's last store.
    pub(crate) fn early(&self, machine: &Machine) -> f64 {
        let last = self.count().saturating_sub(1);
        let tick = machine.time_base();
        let early = self.ahead.iter();
        let early = early.filter(|ahead| ahead.page.is_some() && ahead.behind < last);
        let ticks = early.map(|ahead| {
            transfer_time(&ahead.load, machine).body.0 + tick.cycles(machine.dma.setup_queued).0
        });
        ticks.sum::<u64>() as f64 / tick.ticks_per_cycle as f64
    }

    /// Goes on from `now` to the last store of the pass. Returns what its first load and its last store take.
    fn walk(&self, machine: &Machine, now: &mut State) -> u64 {
        let tick = machine.time_base();
        let of = |cycles: Cycles| tick.cycles(cycles).0;
        let body = |d: &Descriptor| transfer_time(d, machine).body.0 + of(machine.dma.setup_queued);
        let count = self.count();
        // Of two kinds, one after the other, those of the first are alike.
        let (period, alike) = match self.work.counts() {
            [0, _] => (self.work.alike().max(1), count),
            [first, _] => (1, first),
        };
        let make = |page: u64| {
            let (own, next) = self.shares(page);
            Kind {
                own: (!own.is_empty()).then(|| own.iter().map(body).sum()),
                next: next.iter().map(body).sum(),
                waited_for: next.last().is_some_and(|last| last.event.is_some()),
                store: self.stores(page).iter().map(body).sum(),
                issues: of(Cycles(self.work.issues(page))),
                head: of(Cycles(self.work.head(page))),
                overhead: of(Cycles(self.work.overhead(page))),
                after: of(Cycles(self.work.after(page))),
            }
        };
        // The first pages may have more to load than those that follow.
        let kinds: Vec<Kind> = (0..alike.min(2 * period)).map(make).collect();
        let kind = |page: u64| {
            if page >= alike {
                return (make(page), make(page));
            }
            let later = kinds.get((period + page % period) as usize);
            let first = kinds.get((page % period) as usize);
            let (first, later) = (first.copied().unwrap_or_default(), later.copied());
            (first, later.unwrap_or(first))
        };
        let at = |page: u64| {
            if page < period {
                kind(page).0
            } else {
                kind(page).1
            }
        };
        let see = of(machine.host.completion) + of(machine.host.descriptor);
        // Instead of the set-up of a transfer behind another, which each has.
        let idle = of(machine.dma.setup_idle).saturating_sub(of(machine.dma.setup_queued));
        if self.begun {
            if !self.informed {
                // Its arguments come behind the last stores.
                now.cp2 = now.cp2.max(now.dma);
            }
            // Its program may be the last to come.
            now.cp2 = now.cp2.max(std::mem::take(&mut now.ready));
            now.cp2 += of(machine.host.completion) + of(machine.host.launch);
            now.loaded = std::mem::take(&mut now.begun);
        } else {
            now.dma += idle;
            now.cp2 = now.dma;
            now.loaded.clear();
            for page in self.next(None) {
                now.load(page, at(page));
            }
        }
        // The last pages are followed by the first of the next pass.
        let tail = self.ahead.first().map_or(0, |ahead| count - ahead.behind);
        let mut ahead = self.ahead.iter().peekable();
        let group = self.work.group().max(1);
        let round = period * group;
        let (mut page, mut before) = (0, None);
        while page < count {
            if page % round == 0 {
                let (left, skipped) = (alike.saturating_sub(page), before.take());
                let rounds = skipped.map_or(0, |before| now.rounds(&before, (left, tail), round));
                before = (rounds == 0).then(|| (page, State::clone(now)));
                page += rounds * round;
            }
            if page % group == 0 {
                for page in page..count.min(page + group) {
                    let loaded = now.loaded.remove(&page).unwrap_or(now.cp2);
                    now.cp2 = now.cp2.max(loaded) + at(page).head;
                }
            }
            let this = at(page);
            now.cp2 += (this.issues + this.overhead).saturating_sub(this.head);
            // The channel is still at work when the store is given, or starts anew.
            let given = now.cp2.saturating_sub(this.after) + see;
            now.dma = if given <= now.dma {
                now.dma
            } else {
                given + idle
            } + this.store;
            for next in self.next(Some(page)) {
                now.load(next, at(next));
            }
            while let Some(ahead) = ahead.next_if(|ahead| ahead.behind <= page) {
                now.dma += body(&ahead.load);
                match ahead.page {
                    None => now.ready = now.dma,
                    Some(page) if ahead.load.event.is_some() => {
                        now.begun.insert(page, now.dma);
                    }
                    Some(_) => {}
                }
            }
            now.issues += this.issues;
            let usual = kind(page).1;
            now.moved += usual.load() + usual.store;
            page += 1;
        }
        kind(0).1.load() + kind(count.max(1) - 1).1.store
    }
}

/// What passes should take that follow each other, some of them begun while the one before them ends.
pub(crate) fn expect_all<'a>(
    passes: impl IntoIterator<Item = &'a RingPass>,
    machine: &Machine,
) -> f64 {
    let mut now = State::default();
    for pass in passes {
        pass.walk(machine, &mut now);
    }
    now.dma as f64 / machine.time_base().ticks_per_cycle as f64
}

/// What a page costs, in ticks.
#[derive(Clone, Copy, Default)]
struct Kind {
    /// What it waits for, unless all of that came with the page before.
    own: Option<u64>,
    /// What comes with it for the next, and whether that waits for nothing else.
    next: u64,
    waited_for: bool,
    store: u64,
    issues: u64,
    /// Of issues and overhead what needs no other page of the group.
    head: u64,
    overhead: u64,
    /// Cycles after the page has been signalled.
    after: u64,
}

impl Kind {
    fn load(&self) -> u64 {
        self.own.unwrap_or(0) + self.next
    }
}

/// How far a pass has come, in ticks.
#[derive(Clone, Default)]
struct State {
    /// When the channel has done all it was given, and CP2 the pages so far.
    dma: u64,
    cp2: u64,
    /// When pages to come are there.
    loaded: BTreeMap<u64, u64>,
    /// The same of the next pass, and when its program is.
    begun: BTreeMap<u64, u64>,
    ready: u64,
    issues: u64,
    moved: u64,
}

impl State {
    fn load(&mut self, page: u64, kind: Kind) {
        if let Some(own) = kind.own {
            self.dma += own;
            self.loaded.insert(page, self.dma);
        }
        self.dma += kind.next;
        if kind.waited_for {
            self.loaded.insert(page + 1, self.dma);
        }
    }

    /// How many rounds of the `left` pages can be left out, all of which would be as the one since
    /// `before`, the last `tail` not among them: they are added.
    fn rounds(
        &mut self,
        (page, before): &(u64, Self),
        (left, tail): (u64, u64),
        round: u64,
    ) -> u64 {
        let (start, dma) = (page + round, self.dma - before.dma);
        let same = self.cp2.checked_sub(before.cp2) == Some(dma);
        let moved = before
            .loaded
            .iter()
            .map(|(page, at)| (page + round, at + dma));
        let ahead = self
            .loaded
            .last_key_value()
            .map_or(start, |(&last, _)| last)
            - start;
        // The last pages are followed by none.
        let rounds = left.saturating_sub(ahead.max(round).max(tail)) / round;
        if !same || !self.loaded.iter().map(|(&page, &at)| (page, at)).eq(moved) || rounds < 2 {
            return 0;
        }
        let rounds = rounds - 1;
        self.dma += rounds * dma;
        self.cp2 += rounds * dma;
        self.issues += rounds * (self.issues - before.issues);
        self.moved += rounds * (self.moved - before.moved);
        let on = |(page, at): (u64, u64)| (page + rounds * round, at + rounds * dma);
        self.loaded = std::mem::take(&mut self.loaded)
            .into_iter()
            .map(on)
            .collect();
        rounds
    }
}

/// What a pass should take.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Expected {
    /// Cycles expected.
    pub cycles: f64,
    /// Cycles it takes at least.
    pub least: f64,
}

impl Expected {
    /// What it and another should take, one after the other.
    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            cycles: self.cycles + other.cycles,
            least: self.least + other.least,
        }
    }
}
