//! The commands of a pass.

use super::{PageKernel, Paged};
use crate::device::{After, Command, Device, Event, HostAction, HostError, Turns};
use cp2_dma::Descriptor;
use cp2_emu::Protection;
use std::collections::VecDeque;
use std::sync::Arc;

/// A pass, as far as its commands are concerned.
pub trait PageSource: Clone + PartialEq + Send {
    /// Number of pages.
    fn pages(&self) -> u64;
    /// Pages after which commands repeat themselves, but for where transfers lie in system memory; none where they do not.
    fn period(&self) -> Option<u64>;
    /// The pages that are loaded behind the stores of `page`, or, without one, before the first is stored; all of them are pages of the pass.
    fn next(&self, page: Option<u64>) -> Vec<u64>;
    /// The kernel's launch; none of a pass without pages.
    fn launch(&self) -> Option<Launch>;
    /// The transfers that load a page, with the events for which the kernel waits.
    fn load(&mut self, page: u64, to: &mut CommandSink<'_>);
    /// The transfers that store it.
    fn store(&mut self, page: u64, to: &mut CommandSink<'_>);
    /// The event that the kernel signals when it is done with a page.
    fn signal(&self) -> u32;
    /// Loads of the next pass that are given behind the stores of `page`, or behind the first loads; the last one that
    /// the launch of that pass waits for, if there is one among them.
    fn load_next_pass(&mut self, _page: Option<u64>, _to: &mut CommandSink<'_>) -> Option<Event> {
        None
    }
    /// What follows the last page.
    fn ending(&self) -> Option<ReductionEnd> {
        None
    }
}

/// The launch of a pass's kernel.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The load of arguments that the launch waits for.
    pub arguments: Option<Descriptor>,
    /// What the kernel gets in `a15`.
    pub address: u32,
    /// What of DMEM is the kernel's, where that is known.
    pub protection: Option<Arc<Protection>>,
    /// Whether the first pages' loads are given before the launch: where the launch waits for nothing that comes behind them.
    pub loads_first: bool,
}

/// The end of a reduction: every section's result goes to system memory, those of all come back, and the whole result is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct ReductionEnd {
    /// Stores the results of all sections, when the kernel signals once more.
    pub partials: Descriptor,
    /// Loads the arguments of what follows.
    pub arguments: Descriptor,
    /// Brings the results of all sections to each of them, and posts the event that the kernel waits for.
    pub all: Descriptor,
    /// Store the whole result when the kernel has stopped.
    pub result: Vec<Descriptor>,
    /// What these stores are called.
    pub name: Arc<str>,
}

/// Where a [`PageSource`] puts its transfers.
#[derive(Debug)]
pub struct CommandSink<'a> {
    ready: &'a mut VecDeque<Command>,
    next: &'a mut Event,
    after: &'a After,
    last: Option<Event>,
}

impl CommandSink<'_> {
    /// A transfer, of a page or of all.
    pub fn dma(&mut self, name: &Arc<str>, page: Option<u64>, transfer: Descriptor) {
        self.submit(name, page, HostAction::Dma(transfer));
    }

    /// Has the last transfer so far post an event; where there is none, the control CPU does, as `name`.
    pub fn announce(&mut self, name: &Arc<str>, page: u64, event: u32) {
        let last = self.last.and(self.ready.back_mut());
        match last.map(|command| &mut command.action) {
            Some(HostAction::Dma(transfer)) => transfer.event = Some(event),
            _ => self.submit(name, Some(page), HostAction::Post { event }),
        }
    }

    /// The last command so far.
    #[must_use]
    pub fn last(&self) -> Option<Event> {
        self.last
    }

    fn submit(&mut self, name: &Arc<str>, page: Option<u64>, action: HostAction) {
        self.ready.push_back(Command {
            name: name.clone(),
            page,
            action,
            after: self.after.clone(),
        });
        self.last = Some(*self.next);
        *self.next = self.next.following();
    }
}

/// The commands of a pass, made as the device asks for them. What they take of this computer's memory does not depend on the number of pages.
#[derive(Clone, Debug, PartialEq)]
pub struct Commands<W> {
    work: W,
    kernel: Arc<str>,
    arguments: Arc<str>,
    launched: Option<Event>,
    /// Number of the next command made.
    next: Event,
    /// Made and not yet given.
    ready: VecDeque<Command>,
    /// The page whose turn it is.
    page: u64,
    /// The end of the page before, and the last store so far.
    done: Option<Event>,
    stored: Option<Event>,
    /// The last of what the next pass's launch waits for.
    begun: Option<Event>,
    ended: bool,
}

impl<W: PageSource> Commands<W> {
    /// The commands of `work`, the first of which has number `first`; all wait for `after`.
    pub fn new(work: W, kernel: &PageKernel, first: Event, after: &[Event]) -> Self {
        let mut commands = Self {
            work,
            kernel: kernel.name.as_str().into(),
            arguments: "arguments".into(),
            launched: None,
            next: first,
            ready: VecDeque::new(),
            page: 0,
            done: None,
            stored: None,
            begun: None,
            ended: false,
        };
        commands.begin(kernel.entry, &after.iter().copied().collect());
        commands
    }

    fn begin(&mut self, entry: u32, after: &After) {
        let launch = self.work.launch();
        let loads_first = launch.as_ref().is_some_and(|launch| launch.loads_first);
        if loads_first {
            self.loads(None, after);
        }
        if let Some(launch) = launch {
            let mut after = after.clone();
            if let Some(load) = launch.arguments {
                let name = self.arguments.clone();
                let loaded = self.make(name, None, HostAction::Dma(load), after.clone());
                after.push(loaded);
            }
            let action = HostAction::Launch {
                entry,
                args: launch.address,
                protection: launch.protection,
            };
            self.launched = Some(self.make(self.kernel.clone(), None, action, after));
        }
        if !loads_first {
            self.loads(None, after);
        }
        self.issue_next_pass_loads(None, after);
    }

    /// The launch.
    pub fn launched(&self) -> Option<Event> {
        self.launched
    }

    /// The last store so far.
    pub fn stored(&self) -> Option<Event> {
        self.stored
    }

    /// The last load so far that the launch of the next pass waits for.
    pub fn last_early_load(&self) -> Option<Event> {
        self.begun
    }

    fn make(
        &mut self,
        name: Arc<str>,
        page: Option<u64>,
        action: HostAction,
        after: After,
    ) -> Event {
        self.ready.push_back(Command {
            name,
            page,
            action,
            after,
        });
        let made = self.next;
        self.next = made.following();
        made
    }

    /// The work, and where it puts transfers that wait for `after`.
    fn moves<'a>(&'a mut self, after: &'a After) -> (&'a mut W, CommandSink<'a>) {
        let moves = CommandSink {
            ready: &mut self.ready,
            next: &mut self.next,
            after,
            last: None,
        };
        (&mut self.work, moves)
    }

    /// Loads the pages whose turn comes behind `page`.
    fn loads(&mut self, page: Option<u64>, after: &After) {
        for page in self.work.next(page) {
            let (work, mut to) = self.moves(after);
            work.load(page, &mut to);
        }
    }

    fn issue_next_pass_loads(&mut self, page: Option<u64>, after: &After) {
        let (work, mut to) = self.moves(after);
        let begun = work.load_next_pass(page, &mut to);
        self.begun = begun.or(self.begun);
    }

    /// The end of a page, its stores, and the loads of the pages that take its place.
    fn turn(&mut self, page: u64) {
        let event = self.work.signal();
        let wait = HostAction::WaitSignal { event };
        let done = self.make(self.kernel.clone(), Some(page), wait, After::new());
        let mut free: After = [done].into_iter().collect();
        let (work, mut to) = self.moves(&free);
        work.store(page, &mut to);
        let stored = to.last();
        // What takes its place waits for its store, which waits for its end.
        if let Some(stored) = stored {
            free = [stored].into_iter().collect();
        }
        (self.done, self.stored) = (Some(done), stored.or(self.stored));
        self.loads(Some(page), &free);
        self.issue_next_pass_loads(Some(page), &free);
    }

    /// What follows the last page, of a reduction.
    fn end(&mut self) {
        let Some(ending) = self.work.ending() else {
            return;
        };
        let event = self.work.signal();
        let before: After = self.done.into_iter().collect();
        let wait = HostAction::WaitSignal { event };
        let done = self.make(self.kernel.clone(), None, wait, before);
        let page: Arc<str> = "page".into();
        let arguments = self.arguments.clone();
        let mut one = |name: &Arc<str>, transfer: Descriptor, after: Event| {
            let after = [after].into_iter().collect();
            self.make(name.clone(), None, HostAction::Dma(transfer), after)
        };
        let stored = one(&page, ending.partials, done);
        one(&arguments, ending.arguments, stored);
        let all = one(&page, ending.all, stored);
        let stopped = self.launched.unwrap_or(all);
        let after: After = [stopped].into_iter().collect();
        for result in ending.result {
            let name = ending.name.clone();
            self.make(name, None, HostAction::Dma(result), after.clone());
        }
    }
}

impl<W: PageSource> Iterator for Commands<W> {
    type Item = Command;

    fn next(&mut self) -> Option<Command> {
        while self.ready.is_empty() {
            if self.page < self.work.pages() {
                self.page += 1;
                self.turn(self.page - 1);
            } else if self.ended {
                return None;
            } else {
                self.ended = true;
                self.end();
            }
        }
        self.ready.pop_front()
    }
}

impl<W: PageSource> Turns for Commands<W> {
    fn turns(&self) -> u64 {
        self.work.pages()
    }

    fn turn(&self) -> Option<u64> {
        let between = self.ready.is_empty() && self.work.period().is_some();
        between.then_some(self.page)
    }

    fn period(&self) -> u64 {
        self.work.period().unwrap_or(1)
    }

    fn leave_out(&mut self, turns: u64, commands: u64) {
        self.page += turns;
        self.next = self.next.advance_by(commands);
        for event in [&mut self.done, &mut self.stored] {
            *event = event.map(|event| event.advance_by(commands));
        }
    }
}

impl Device {
    /// Gives the commands of a pass, which wait for `after`. The kernel is loaded, or will be when `after` is complete. Returns the last
    /// command, and the pass's commands as they are when all have been given.
    ///
    /// # Errors
    /// A command can never be carried out.
    pub fn work<W: PageSource>(
        &mut self,
        work: W,
        kernel: &PageKernel,
        after: &[Event],
    ) -> Result<(Event, Commands<W>), HostError> {
        self.stream_turns(|first| Commands::new(work, kernel, first, after))
    }

    /// The same of pages that nothing is loaded for meanwhile.
    pub(crate) fn paged<W: PageSource>(
        &mut self,
        work: W,
        kernel: &PageKernel,
        after: &[Event],
    ) -> Result<Paged, HostError> {
        let (stored, commands) = self.work(work, kernel, after)?;
        Ok(Paged {
            stored,
            stopped: commands.launched().unwrap_or(stored),
        })
    }
}
