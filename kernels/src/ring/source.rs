//! The commands of a pass.

use super::{DONE, RingPass};
use cp2_dma::Descriptor;
use cp2_host::{Action, Command, Event, Limits, Turns, Views};
use std::collections::VecDeque;
use std::sync::Arc;

/// The commands of a pass, made as the device asks for them: the loads of the
/// pages ahead and the launch, then for each page the wait for its end, its
/// stores, and the loads of the pages that take its buffer.
#[derive(Clone)]
pub(super) struct Source<'a> {
    pass: &'a RingPass,
    names: [Arc<str>; 4],
    /// Where the rows of views lie, for a machine of such limits.
    views: &'a Views,
    limits: Limits,
    pub(super) launch: Event,
    /// The load of the next pass's argument block, and the last of what that pass waits for to begin: this or its program.
    following: Option<&'a Descriptor>,
    pub(super) begun: Option<Event>,
    /// Number of the next command made.
    next: Event,
    /// Made and not yet given.
    ready: VecDeque<Command>,
    /// The page whose turn it is.
    page: u64,
    /// The last store so far.
    pub(super) stored: Option<Event>,
}

impl<'a> Source<'a> {
    pub(super) fn new(
        pass: &'a RingPass,
        (name, entry): (&str, u32),
        first: Event,
        after: &[Event],
        following: Option<&'a Descriptor>,
        (views, limits): (&'a Views, Limits),
    ) -> Self {
        let mut source = Self {
            pass,
            views,
            limits,
            names: ["load", "done", "store", "program"].map(Arc::from),
            launch: first,
            following,
            begun: None,
            next: first,
            ready: VecDeque::new(),
            page: 0,
            stored: None,
        };
        if !pass.begun {
            for page in pass.next(None) {
                source.load(page, after);
            }
        }
        let args = pass.ring.arguments;
        let action = Action::Launch {
            entry,
            args,
            protection: pass.protection.clone(),
        };
        source.launch = source.make(Command::new(name, action).after(after));
        source.ahead(None, after);
        source
    }

    fn give(&mut self, name: usize, page: u64, action: Action, after: &[Event]) -> Event {
        self.make(Command {
            name: self.names[name].clone(),
            page: Some(page),
            action,
            after: after.into(),
        })
    }

    /// A transfer, or those that it stands for; the last one, if there is any.
    fn transfer(
        &mut self,
        name: usize,
        page: u64,
        descriptor: Descriptor,
        after: &[Event],
    ) -> Option<Event> {
        if !self.views.has(descriptor.system) {
            return Some(self.give(name, page, Action::Dma(descriptor), after));
        }
        let all = self.views.expand(descriptor, self.limits).into_iter();
        all.map(|d| self.give(name, page, Action::Dma(d), after))
            .last()
    }

    fn make(&mut self, command: Command) -> Event {
        self.ready.push_back(command);
        let made = self.next;
        self.next = made.following();
        made
    }

    fn load(&mut self, page: u64, after: &[Event]) {
        for descriptor in self.pass.loads(page, self.limits.levels) {
            self.transfer(0, page, descriptor, after);
        }
    }

    /// What of the next pass is loaded behind `page`, whose last store is `free`, or behind the first loads.
    fn ahead(&mut self, page: Option<u64>, free: &[Event]) {
        let pass = self.pass;
        if Some(page) == pass.ahead.first().map(|ahead| ahead.behind)
            && let Some(arguments) = self.following
        {
            let load = Action::Dma(arguments.clone());
            self.begun = Some(self.give(0, page.unwrap_or(0), load, free));
        }
        for ahead in pass.ahead.iter().filter(|ahead| ahead.behind == page) {
            match ahead.page {
                Some(page) => {
                    self.transfer(0, page, ahead.load.clone(), free);
                }
                None => {
                    let load = Action::Dma(ahead.load.clone());
                    let command = Command::new(&self.names[3], load).after(free);
                    self.begun = Some(self.make(command));
                }
            }
        }
    }
}

impl Iterator for Source<'_> {
    type Item = Command;

    fn next(&mut self) -> Option<Command> {
        if self.ready.is_empty() && self.page < self.pass.count() {
            let page = self.page;
            self.page += 1;
            let wait = Action::WaitSignal { event: DONE };
            let done = self.give(1, page, wait, &[]);
            // What takes its place waits for its store, which waits for its end.
            let mut free = done;
            for store in self.pass.stores(page, self.limits.levels) {
                if let Some(stored) = self.transfer(2, page, store, &[done]) {
                    free = stored;
                    self.stored = Some(stored);
                }
            }
            for next in self.pass.next(Some(page)) {
                self.load(next, &[free]);
            }
            self.ahead(Some(page), &[free]);
        }
        self.ready.pop_front()
    }
}

/// Of the same pass: where it stands.
impl PartialEq for Source<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.pass, other.pass)
            && (self.launch, self.next, self.page, self.stored)
                == (other.launch, other.next, other.page, other.stored)
            && self.ready == other.ready
    }
}

impl Turns for Source<'_> {
    fn turns(&self) -> u64 {
        self.pass.count()
    }

    fn turn(&self) -> Option<u64> {
        self.ready.is_empty().then_some(self.page)
    }

    fn period(&self) -> u64 {
        let (mut a, mut b) = (self.pass.ring.pages.len() as u64, self.pass.work.period());
        let both = a.saturating_mul(b);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        both / a.max(1)
    }

    fn leave_out(&mut self, turns: u64, commands: u64) {
        self.page += turns;
        self.next = self.next.later(commands);
        self.stored = self.stored.map(|last| last.later(commands));
    }
}
