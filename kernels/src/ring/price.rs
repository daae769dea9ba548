//! What a pass over a ring should take, and the least it can.

use super::RingPass;
use super::ahead::Ahead;
use cp2_dma::{Descriptor, transfer_time};
use cp2_machine::{Cycles, Machine};
use std::collections::BTreeMap;

impl RingPass {
    /// What the pass should take on `machine`, and the least it can take: its
    /// arithmetic or its transfers, with the first load and the last store.
    pub(crate) fn expect(&self, machine: &Machine) -> Expected {
        let mut now = State::default();
        let ends = Walk::new(self, machine).go(&mut now);
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
        let early = self.ahead.iter();
        let early = early.filter(|ahead| ahead.page.is_some() && ahead.behind < Some(last));
        let ticks = early.map(|ahead| queued(&ahead.load, machine));
        ticks.sum::<u64>() as f64 / machine.time_base().ticks_per_cycle as f64
    }
}

/// Ticks of a transfer behind another.
fn queued(transfer: &Descriptor, machine: &Machine) -> u64 {
    let set_up = machine.time_base().cycles(machine.dma.setup_queued);
    transfer_time(transfer, machine).body.0 + set_up.0
}

/// The pages of a pass on a machine, one after the other.
struct Walk<'a> {
    pass: &'a RingPass,
    machine: &'a Machine,
    fixed: Fixed,
    /// Pages after which they cost the same again, and how many of the first do so.
    period: u64,
    alike: u64,
    /// Those of the first period, which may have more to load, and of the one that follows.
    kinds: Vec<Kind>,
}

/// What is the same for every page, in ticks.
#[derive(Clone, Copy)]
struct Fixed {
    completion: u64,
    launch: u64,
    /// The control CPU's time for a transfer.
    descriptor: u64,
    /// Set-up of a transfer that finds the channel idle, beyond that of one behind another.
    idle: u64,
}

impl<'a> Walk<'a> {
    fn new(pass: &'a RingPass, machine: &'a Machine) -> Self {
        let of = |cycles: Cycles| machine.time_base().cycles(cycles).0;
        let (host, dma) = (&machine.host, &machine.dma);
        // Of two kinds, one after the other, those of the first are alike.
        let (period, alike) = match pass.work.counts() {
            [0, _] => (pass.work.alike().max(1), pass.count()),
            [first, _] => (1, first),
        };
        let mut walk = Self {
            pass,
            machine,
            fixed: Fixed {
                completion: of(host.completion),
                launch: of(host.launch),
                descriptor: of(host.descriptor),
                idle: of(dma.setup_idle).saturating_sub(of(dma.setup_queued)),
            },
            period,
            alike,
            kinds: Vec::new(),
        };
        walk.kinds = (0..alike.min(2 * period)).map(|p| walk.make(p)).collect();
        walk
    }

    fn make(&self, page: u64) -> Kind {
        let work = &self.pass.work;
        let levels = self.machine.dma.levels;
        let (own, next) = self.pass.shares(page, levels);
        let given = |transfers: &[Descriptor]| Given::new(transfers, self.machine);
        let of = |cycles: u64| self.machine.time_base().cycles(Cycles(cycles)).0;
        Kind {
            own: (!own.is_empty()).then(|| given(&own)),
            next: given(&next),
            waited_for: next.last().is_some_and(|last| last.event.is_some()),
            store: given(&self.pass.stores(page, levels)),
            issues: of(work.issues(page)),
            head: of(work.head(page)),
            overhead: of(work.overhead(page)),
            after: of(work.after(page)),
        }
    }

    /// What a page costs; if it is to be `usual`, without what only the first have to load.
    fn kind(&self, page: u64, usual: bool) -> Kind {
        if page >= self.alike {
            return self.make(page);
        }
        let place = page % self.period;
        let later = self.kinds.get((self.period + place) as usize);
        let later = later.filter(|_| usual || page >= self.period);
        let kind = later.or_else(|| self.kinds.get(place as usize));
        kind.copied().unwrap_or_default()
    }

    /// Goes on from `now` to the last store of the pass. Returns what its first load and its last store take.
    fn go(&self, now: &mut State) -> u64 {
        self.begin(now);
        let count = self.pass.count();
        // The last pages are followed by the first of the next pass.
        let tail = |ahead: &Ahead| count - ahead.behind.unwrap_or(0);
        let tail = self.pass.ahead.first().map_or(0, tail);
        let group = self.pass.work.group().max(1);
        let round = self.period * group;
        let (mut page, mut before) = (0, None);
        let mut ahead = self.pass.ahead.iter().peekable();
        while let Some(ahead) = ahead.next_if(|ahead| ahead.behind.is_none()) {
            self.ahead(ahead, now);
        }
        while page < count {
            if page % round == 0 {
                let (left, skipped) = (self.alike.saturating_sub(page), before.take());
                let rounds = skipped.map_or(0, |before| now.rounds(&before, (left, tail), round));
                before = (rounds == 0).then(|| (page, State::clone(now)));
                page += rounds * round;
            }
            if page % group == 0 {
                for page in page..count.min(page + group) {
                    let loaded = now.loaded.remove(&page).unwrap_or(now.cp2);
                    now.cp2 = now.cp2.max(loaded) + self.kind(page, false).head;
                }
            }
            self.page(page, now);
            while let Some(ahead) = ahead.next_if(|ahead| ahead.behind <= Some(page)) {
                self.ahead(ahead, now);
            }
            page += 1;
        }
        self.kind(0, true).load() + self.kind(count.max(1) - 1, true).store.all
    }

    /// A load of the next pass.
    fn ahead(&self, ahead: &Ahead, now: &mut State) {
        let load = Given::new(std::slice::from_ref(&ahead.load), self.machine);
        now.give(load, 0, self.fixed);
        match ahead.page {
            None => now.ready = now.dma,
            Some(page) if ahead.load.event.is_some() => {
                now.begun.insert(page, now.dma);
            }
            Some(_) => {}
        }
    }

    /// The launch, and the loads before it unless the pass before has given them.
    fn begin(&self, now: &mut State) {
        if self.pass.begun {
            if !self.pass.informed {
                // Its arguments come behind the last stores.
                now.cp2 = now.cp2.max(now.dma);
            }
            // Its program may be the last to come.
            now.cp2 = now.cp2.max(std::mem::take(&mut now.ready));
            now.cp2 += self.fixed.completion + self.fixed.launch;
            now.loaded = std::mem::take(&mut now.begun);
        } else {
            let ready = now.dma;
            now.cp2 = ready + self.fixed.launch;
            now.loaded.clear();
            for page in self.pass.next(None) {
                now.load(page, self.kind(page, false), ready, self.fixed);
            }
        }
    }

    /// A page that is there: its arithmetic, its stores, and the loads that take its place.
    fn page(&self, page: u64, now: &mut State) {
        let this = self.kind(page, false);
        now.cp2 += (this.issues + this.overhead).saturating_sub(this.head);
        let seen = now.cp2.saturating_sub(this.after) + self.fixed.completion;
        now.give(this.store, seen, self.fixed);
        for next in self.pass.next(Some(page)) {
            now.load(next, self.kind(next, false), seen, self.fixed);
        }
        now.issues += this.issues;
        let usual = self.kind(page, true);
        now.moved += usual.load() + usual.store.all;
    }
}

/// What passes should take that follow each other, some of them begun while the one before them ends.
pub(crate) fn expect_all<'a>(
    passes: impl IntoIterator<Item = &'a RingPass>,
    machine: &Machine,
) -> f64 {
    let mut now = State::default();
    for pass in passes {
        Walk::new(pass, machine).go(&mut now);
    }
    now.dma as f64 / machine.time_base().ticks_per_cycle as f64
}

/// Transfers that the control CPU gives one after the other, in ticks.
#[derive(Clone, Copy, Default)]
struct Given {
    count: u64,
    /// All of them, each behind another.
    all: u64,
    last: u64,
}

impl Given {
    fn new(transfers: &[Descriptor], machine: &Machine) -> Self {
        let mut given = Self::default();
        for transfer in transfers {
            given.last = queued(transfer, machine);
            given.all += given.last;
            given.count += 1;
        }
        given
    }
}

/// What a page costs, in ticks.
#[derive(Clone, Copy, Default)]
struct Kind {
    /// What it waits for, unless all of that came with the page before.
    own: Option<Given>,
    /// What comes with it for the next, and whether that waits for nothing else.
    next: Given,
    waited_for: bool,
    store: Given,
    issues: u64,
    /// Of issues and overhead what needs no other page of the group.
    head: u64,
    overhead: u64,
    /// Cycles after the page has been signalled.
    after: u64,
}

impl Kind {
    fn load(&self) -> u64 {
        self.own.map_or(0, |own| own.all) + self.next.all
    }
}

/// How far a pass has come, in ticks.
#[derive(Clone, Default)]
struct State {
    /// When the channel has done all it was given, CP2 the pages so far, and the control CPU has given all transfers.
    dma: u64,
    cp2: u64,
    cpu: u64,
    /// When pages to come are there.
    loaded: BTreeMap<u64, u64>,
    /// The same of the next pass, and when its program is.
    begun: BTreeMap<u64, u64>,
    ready: u64,
    issues: u64,
    moved: u64,
}

impl State {
    /// Transfers that the CPU may give from `ready` on.
    fn give(&mut self, given: Given, ready: u64, fixed: Fixed) {
        let Some(more) = given.count.checked_sub(1) else {
            return;
        };
        let first = self.cpu.max(ready) + fixed.descriptor;
        self.cpu = first + more * fixed.descriptor;
        // The channel is still at work when the first is given, or starts anew.
        let begin = if first <= self.dma {
            self.dma
        } else {
            first + fixed.idle
        };
        // So also when the last is given.
        let (others, last) = (begin + given.all - given.last, self.cpu);
        self.dma = if last <= others {
            others
        } else {
            last + fixed.idle
        } + given.last;
    }

    fn load(&mut self, page: u64, kind: Kind, ready: u64, fixed: Fixed) {
        if let Some(own) = kind.own {
            self.give(own, ready, fixed);
            self.loaded.insert(page, self.dma);
        }
        self.give(kind.next, ready, fixed);
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
        let passed = [(self.cp2, before.cp2), (self.cpu, before.cpu)];
        let same = passed
            .iter()
            .all(|(now, then)| now.checked_sub(*then) == Some(dma));
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
        self.cpu += rounds * dma;
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
