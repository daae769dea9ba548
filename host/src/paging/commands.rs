//! The commands of a pass: loads, waits and stores, and their dependencies.

use super::{PageKernel, PageMessage, Paged};
use crate::device::{After, Command, Device, Event, HostAction, HostError, Turns};
use cp2_dma::{Descriptor, Movement};
use cp2_emu::Protection;
use std::collections::VecDeque;
use std::sync::Arc;

/// Pages of a pass, and the transfers that its commands are made of.
pub trait PageSource: Clone + PartialEq + Send {
    /// Returns the number of pages.
    fn pages(&self) -> u64;
    /// Returns the number of pages after which commands repeat themselves, except for addresses in system
    /// memory, or nothing if they do not.
    fn period(&self) -> Option<u64>;
    /// Returns the pages that are loaded behind the stores of `page`, or, without one, before the first page
    /// is stored. All of them are pages of the pass.
    fn next(&self, page: Option<u64>) -> Vec<u64>;
    /// Returns the kernel's launch; a pass without pages has none.
    fn launch(&self) -> Option<Launch>;
    /// Gives the transfers that load a page, with the events for which the kernel waits.
    fn load(&mut self, page: u64, to: &mut CommandSink<'_>);
    /// Gives the transfers that store a page.
    fn store(&mut self, page: u64, to: &mut CommandSink<'_>);
    /// Returns the event that the kernel signals when it is done with a page.
    fn signal(&self) -> u32;
    /// Gives the loads of the next pass that come behind the stores of `page`, or, without one, behind the
    /// first loads. Returns the last of them that the launch of that pass waits for, if there is one.
    fn load_next_pass(&mut self, _page: Option<u64>, _to: &mut CommandSink<'_>) -> Option<Event> {
        None
    }
    /// Returns the end of a reduction, which follows the last page, if the pass is one.
    fn ending(&self) -> Option<ReductionEnd> {
        None
    }
}

/// The launch of a pass's kernel.
#[derive(Clone, Debug)]
pub struct Launch {
    /// Load of the arguments, for which the launch waits.
    pub arguments: Option<Descriptor>,
    /// Address of the argument block, which the kernel gets in `a15`.
    pub address: u32,
    /// Areas of DMEM that belong to the kernel, where they are known.
    pub protection: Option<Arc<Protection>>,
    /// True if the first pages' loads are given before the launch, which then waits for none of them.
    pub loads_first: bool,
}

/// The end of a reduction: every section's result is stored to system memory, the results of all are loaded
/// by each section, and the whole result is stored.
#[derive(Clone, Debug, PartialEq)]
pub struct ReductionEnd {
    /// Store of the results of all sections, when the kernel signals once more.
    pub partials: Descriptor,
    /// Load of the arguments for the rest of the kernel.
    pub arguments: Descriptor,
    /// Load of the results of all sections to each of them, which posts the event that the kernel waits for.
    pub all: Descriptor,
    /// Stores of the whole result, when the kernel has stopped.
    pub result: Vec<Descriptor>,
    /// Name of these stores on the timeline.
    pub name: Arc<str>,
}

/// Receiver of the transfers of a [`PageSource`].
#[derive(Debug)]
pub struct CommandSink<'a> {
    ready: &'a mut VecDeque<Command>,
    next: &'a mut Event,
    after: &'a After,
    last: Option<Event>,
}

impl CommandSink<'_> {
    /// Adds a transfer, of a page or of all pages.
    pub fn dma(&mut self, name: &Arc<str>, page: Option<u64>, transfer: impl Into<Movement>) {
        self.submit(name, page, HostAction::Dma(transfer.into()));
    }

    /// Makes the last transfer so far post an event; if there is none, adds a post by the control CPU under
    /// the name `name`.
    pub fn announce(&mut self, name: &Arc<str>, page: u64, event: u32) {
        let last = self.last.and(self.ready.back_mut());
        match last.map(|command| &mut command.action) {
            Some(HostAction::Dma(transfer)) => transfer.post(event),
            _ => self.submit(name, Some(page), HostAction::Post { event }),
        }
    }

    /// Adds the send of a message behind the transfers so far, of which it waits for the last.
    pub fn send(&mut self, message: &PageMessage) {
        let after = match self.last {
            Some(last) => [last].into_iter().collect(),
            None => self.after.clone(),
        };
        let last = self.last;
        self.submit(&message.name, Some(message.page), message.action());
        if let Some(command) = self.ready.back_mut() {
            command.after = after;
        }
        // Loads into the page's place wait for its store alone.
        self.last = last;
    }

    /// Returns the last transfer so far.
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

/// The commands of a pass, made as the device asks for them. They take the same amount of host memory for any
/// number of pages.
#[derive(Clone, Debug, PartialEq)]
pub struct Commands<W> {
    work: W,
    kernel: Arc<str>,
    arguments: Arc<str>,
    launched: Option<Event>,
    /// Number of the next command to be made.
    next: Event,
    /// Commands that were made and not yet given.
    ready: VecDeque<Command>,
    /// Page that is ended next.
    page: u64,
    /// End of the page before.
    done: Option<Event>,
    /// Last store so far.
    stored: Option<Event>,
    /// Last load so far that the next pass's launch waits for.
    begun: Option<Event>,
    ended: bool,
}

impl<W: PageSource> Commands<W> {
    /// Creates the commands of `work`, the first of which has number `first`; all wait for `after`.
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
                let loaded =
                    self.push_command(name, None, HostAction::Dma(load.into()), after.clone());
                after.push(loaded);
            }
            let action = HostAction::Launch {
                entry,
                args: launch.address,
                protection: launch.protection,
            };
            self.launched = Some(self.push_command(self.kernel.clone(), None, action, after));
        }
        if !loads_first {
            self.loads(None, after);
        }
        self.issue_next_pass_loads(None, after);
    }

    /// Returns the launch.
    pub fn launched(&self) -> Option<Event> {
        self.launched
    }

    /// Returns the last store so far.
    pub fn stored(&self) -> Option<Event> {
        self.stored
    }

    /// Returns the last load so far that the launch of the next pass waits for.
    pub fn last_early_load(&self) -> Option<Event> {
        self.begun
    }

    fn push_command(
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

    /// Returns the work, and a sink for its transfers, which wait for `after`.
    fn moves<'a>(&'a mut self, after: &'a After) -> (&'a mut W, CommandSink<'a>) {
        let moves = CommandSink {
            ready: &mut self.ready,
            next: &mut self.next,
            after,
            last: None,
        };
        (&mut self.work, moves)
    }

    /// Gives the loads of the pages that come behind `page`.
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

    /// Gives the wait for the end of a page, its stores, and the loads of the pages that take its place.
    fn turn(&mut self, page: u64) {
        let event = self.work.signal();
        let wait = HostAction::WaitSignal { event };
        let done = self.push_command(self.kernel.clone(), Some(page), wait, After::new());
        let mut free: After = [done].into_iter().collect();
        let (work, mut to) = self.moves(&free);
        work.store(page, &mut to);
        let stored = to.last();
        // A load into the page's place waits for the store of the page, which waits for the page's end.
        if let Some(stored) = stored {
            free = [stored].into_iter().collect();
        }
        (self.done, self.stored) = (Some(done), stored.or(self.stored));
        self.loads(Some(page), &free);
        self.issue_next_pass_loads(Some(page), &free);
    }

    /// Gives the commands behind the last page of a reduction.
    fn end(&mut self) {
        let Some(ending) = self.work.ending() else {
            return;
        };
        let event = self.work.signal();
        let before: After = self.done.into_iter().collect();
        let wait = HostAction::WaitSignal { event };
        let done = self.push_command(self.kernel.clone(), None, wait, before);
        let page: Arc<str> = "page".into();
        let arguments = self.arguments.clone();
        let mut one = |name: &Arc<str>, transfer: Descriptor, after: Event| {
            let after = [after].into_iter().collect();
            self.push_command(name.clone(), None, HostAction::Dma(transfer.into()), after)
        };
        let stored = one(&page, ending.partials, done);
        one(&arguments, ending.arguments, stored);
        let all = one(&page, ending.all, stored);
        let stopped = self.launched.unwrap_or(all);
        let after: After = [stopped].into_iter().collect();
        for result in ending.result {
            let name = ending.name.clone();
            self.push_command(name, None, HostAction::Dma(result.into()), after.clone());
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
    /// Gives the commands of a pass, which wait for `after`. The kernel is loaded, or will be when `after` is
    /// complete. Returns the last command, and the final state of the pass's commands.
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

    /// Gives the commands of a pass, of which no next pass loads pages early.
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
