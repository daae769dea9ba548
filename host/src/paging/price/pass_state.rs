//! How far control CPU, channel and kernel have come.

use super::StepCursor;
use cp2_dma::{Descriptor, transfer_time};
use cp2_emu::cycles::Counted;
use cp2_machine::{Cycles, Machine};
use std::collections::{BTreeMap, VecDeque};

/// What is the same for every page, in ticks.
#[derive(Clone, Copy)]
pub(super) struct Fixed {
    pub(super) cycle: u64,
    pub(super) completion: u64,
    pub(super) launch: u64,
    /// The control CPU's time for a transfer.
    pub(super) descriptor: u64,
    /// Set-up of a transfer that finds the channel idle, beyond that of one behind another.
    pub(super) idle: u64,
}

impl Fixed {
    pub(super) fn from_machine(machine: &Machine) -> Self {
        let of = |cycles: Cycles| machine.time_base().cycles(cycles).0;
        let (host, dma) = (&machine.host, &machine.dma);
        Self {
            cycle: of(Cycles(1)),
            completion: of(host.completion),
            launch: of(host.launch),
            descriptor: of(host.descriptor),
            idle: of(dma.setup_idle).saturating_sub(of(dma.setup_queued)),
        }
    }
}

/// Ticks of a transfer behind another.
pub(in crate::paging) fn queued(transfer: &Descriptor, machine: &Machine) -> u64 {
    let set_up = machine.time_base().cycles(machine.dma.setup_queued);
    transfer_time(transfer, machine).body.0 + set_up.0
}

/// Transfers that the control CPU gives one after the other, in ticks.
#[derive(Clone, Copy, Default)]
pub(super) struct IssuedTransfers {
    pub(super) count: u64,
    /// All of them, each behind another.
    pub(super) all: u64,
    pub(super) last: u64,
    /// The event that the last one posts.
    pub(super) event: Option<u32>,
}

impl IssuedTransfers {
    pub(super) fn new(transfers: &[Descriptor], machine: &Machine) -> Self {
        let mut given = Self::default();
        for transfer in transfers {
            given.last = queued(transfer, machine);
            given.event = transfer.event;
            given.all += given.last;
            given.count += 1;
        }
        given
    }
}

/// What a page costs, in ticks.
#[derive(Clone, Copy, Default)]
pub(super) struct Kind {
    /// What it waits for, unless all of that came with the page before.
    pub(super) own: Option<IssuedTransfers>,
    /// What comes with it for the next.
    pub(super) next: IssuedTransfers,
    pub(super) store: IssuedTransfers,
    /// What its kernel takes, and the event that it waits for, where its program is not known.
    pub(super) described: (u32, u64),
}

impl Kind {
    pub(super) fn load(&self) -> u64 {
        self.own.map_or(0, |own| own.all) + self.next.all
    }
}

/// How far a pass has come, in ticks.
#[derive(Clone, Default)]
pub(super) struct PassState {
    /// When the channel has done all it was given, CP2 the pages so far, and the control CPU has given all transfers.
    pub(super) dma: u64,
    pub(super) cp2: u64,
    pub(super) cpu: u64,
    /// When the pages to come are there that an event tells of, those of the next pass behind them.
    pub(super) posts: BTreeMap<u32, VecDeque<u64>>,
    /// When the program of the next pass is there.
    pub(super) ready: u64,
    /// The last page that was loaded.
    pub(super) furthest: u64,
    /// How far the kernel has come, and what it has computed.
    pub(super) place: StepCursor,
    pub(super) busy: u64,
    pub(super) moved: u64,
}

impl PassState {
    /// Transfers that the CPU may give from `ready` on.
    pub(super) fn issue_transfers(&mut self, given: IssuedTransfers, ready: u64, fixed: Fixed) {
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
        if let Some(event) = given.event {
            self.posts.entry(event).or_default().push_back(self.dma);
        }
    }

    /// CP2 is at work for so long.
    pub(super) fn work(&mut self, ticks: u64) {
        self.cp2 += ticks;
        self.busy += ticks;
    }

    /// CP2 waits for an event, which it sees at the begin of a cycle.
    pub(super) fn wait(&mut self, event: u32, cycle: u64) {
        let posted = self.posts.get_mut(&event).and_then(VecDeque::pop_front);
        let seen = posted.map_or(0, |at| at.next_multiple_of(cycle.max(1)));
        self.cp2 = self.cp2.max(seen);
    }

    pub(super) fn load(&mut self, page: u64, kind: Kind, ready: u64, fixed: Fixed) {
        if let Some(own) = kind.own {
            self.issue_transfers(own, ready, fixed);
        }
        self.issue_transfers(kind.next, ready, fixed);
        self.furthest = self
            .furthest
            .max(page + u64::from(kind.next.event.is_some()));
    }

    /// How many rounds of the `left` pages can be left out, all of which would be as the one since
    /// `before`, the last `tail` not among them: they are added. Or they would be so about.
    pub(super) fn rounds(
        &mut self,
        (page, before): &(u64, Self),
        (left, tail): (u64, u64),
        round: u64,
        (kernel, about): (Option<&Counted>, bool),
    ) -> u64 {
        let (start, dma) = (page + round, self.dma - before.dma);
        let passed = [(self.cp2, before.cp2), (self.cpu, before.cpu)];
        let same = passed
            .iter()
            .all(|(now, then)| now.checked_sub(*then) == Some(dma));
        let posts = |state: &Self, by: u64| -> Vec<(u32, u64)> {
            let all = state.posts.iter();
            all.flat_map(|(&event, at)| at.iter().map(move |at| (event, at + by)))
                .collect()
        };
        let ahead = self.furthest.saturating_sub(start);
        // The last pages are followed by none.
        let mut rounds = left.saturating_sub(ahead.max(round).max(tail)) / round;
        if let Some(kernel) = kernel {
            rounds = rounds.min(self.place.rounds(&before.place, kernel) + 1);
        }
        let same = about || same && posts(self, 0) == posts(before, dma);
        if !same || rounds < 2 {
            return 0;
        }
        let rounds = rounds - 1;
        self.dma += rounds * dma;
        self.cp2 += rounds * dma;
        self.cpu += rounds * dma;
        self.furthest += rounds * round;
        self.busy += rounds * (self.busy - before.busy);
        self.moved += rounds * (self.moved - before.moved);
        self.place.skip(&before.place, rounds);
        for at in self.posts.values_mut().flatten() {
            *at += rounds * dma;
        }
        rounds
    }
}
