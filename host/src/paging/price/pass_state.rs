//! Progress of control CPU, channel and kernel in a simulated pass.

use super::StepCursor;
use cp2_dma::{Descriptor, transfer_time};
use cp2_emu::cycles::Counted;
use cp2_machine::{Cycles, Machine};
use std::collections::{BTreeMap, VecDeque};

/// Costs that are equal for every page, in ticks.
#[derive(Clone, Copy)]
pub(super) struct Fixed {
    pub(super) cycle: u64,
    pub(super) completion: u64,
    pub(super) launch: u64,
    /// Time of the control CPU for a transfer.
    pub(super) descriptor: u64,
    /// Set-up of a transfer that finds the channel idle, beyond that of a queued one.
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

/// Returns the ticks of a transfer that is queued behind another.
pub(in crate::paging) fn queued(transfer: &Descriptor, machine: &Machine) -> u64 {
    let set_up = machine.time_base().cycles(machine.dma.setup_queued);
    transfer_time(transfer, machine).body.0 + set_up.0
}

/// Transfers that the control CPU gives in a row, in ticks.
#[derive(Clone, Copy, Default)]
pub(super) struct IssuedTransfers {
    pub(super) count: u64,
    /// Time of all transfers, each queued behind another.
    pub(super) all: u64,
    pub(super) last: u64,
    /// Event that the last transfer posts.
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

/// Cost of a page, in ticks.
#[derive(Clone, Copy, Default)]
pub(super) struct Kind {
    /// Loads that the page waits for, unless all of them came with the page before.
    pub(super) own: Option<IssuedTransfers>,
    /// Loads that come with this page for the next one.
    pub(super) next: IssuedTransfers,
    pub(super) store: IssuedTransfers,
    /// Event that the kernel waits for, and ticks of its work, if its program is not known.
    pub(super) described: (u32, u64),
}

impl Kind {
    pub(super) fn load(&self) -> u64 {
        self.own.map_or(0, |own| own.all) + self.next.all
    }
}

/// Progress of a pass, in ticks.
#[derive(Clone, Default)]
pub(super) struct PassState {
    /// Time when the channel has ended all transfers given so far.
    pub(super) dma: u64,
    /// Time when CP2 has ended the pages so far.
    pub(super) cp2: u64,
    /// Time when the control CPU has given all transfers so far.
    pub(super) cpu: u64,
    /// Times of the posts of each event that the kernel has not consumed; those of the next pass come behind.
    pub(super) posts: BTreeMap<u32, VecDeque<u64>>,
    /// Time when the program of the next pass is loaded.
    pub(super) ready: u64,
    /// Last page that was loaded.
    pub(super) furthest: u64,
    /// Next step of the kernel.
    pub(super) place: StepCursor,
    /// Time in which the kernel has computed.
    pub(super) busy: u64,
    /// Time of all transfers of the pages so far.
    pub(super) moved: u64,
}

impl PassState {
    /// Gives transfers that the CPU may issue from `ready` on.
    pub(super) fn issue_transfers(&mut self, given: IssuedTransfers, ready: u64, fixed: Fixed) {
        let Some(more) = given.count.checked_sub(1) else {
            return;
        };
        let first = self.cpu.max(ready) + fixed.descriptor;
        self.cpu = first + more * fixed.descriptor;
        // When the first is given, the channel is still at work, or it starts anew.
        let begin = if first <= self.dma {
            self.dma
        } else {
            first + fixed.idle
        };
        // The channel may have become idle before the last is given.
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

    /// Lets CP2 work for `ticks`.
    pub(super) fn work(&mut self, ticks: u64) {
        self.cp2 += ticks;
        self.busy += ticks;
    }

    /// Lets CP2 wait for an event, which it sees at the beginning of a cycle.
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

    /// Skips rounds if the last one, since `before`, moved all times by the same amount: every further round
    /// of the `left` pages then does so too. Adds the rounds skipped and returns their number; the last
    /// `tail` pages are not among them. With `about`, the round is only taken to be typical.
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
        // No pages follow the last ones.
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
