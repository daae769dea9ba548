//! A plan as device commands.

use crate::device::{Action, After, Buffer, Command, Device, Event, HostError, Placed, Turns};
use crate::schedule::{ArgBlock, Made, Plan, Step, StepId, StepKind, Steps, Stream, granule};
use cp2_dma::{Descriptor, Direction, Target};
use cp2_emu::Protection;
use std::collections::VecDeque;
use std::sync::Arc;

/// The event by which a loaded page is announced to the kernel, and the signal
/// by which the kernel gives it back (`page.s`).
pub const PAGE_EVENT: u32 = 0;

/// What a paged run calls its kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageKernel {
    /// Name on the timeline.
    pub name: String,
    /// Word address of its first word.
    pub entry: u32,
}

/// The argument blocks of a plan in system memory, ready to be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageArguments {
    /// Those of the first pages, one for each buffer.
    first: Buffer<u32>,
    /// All, by buffer and number of blocks.
    all: Vec<(usize, u32, Buffer<u32>)>,
    /// The control CPU's writes, where time had begun.
    written: Vec<Event>,
}

/// A plan that a device has been given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paged {
    /// The last store.
    pub stored: Event,
    /// The end of the kernel.
    pub stopped: Event,
}

impl Paged {
    /// What a command waits for that needs memory and CP2 as the plan leaves them.
    #[must_use]
    pub fn events(self) -> [Event; 2] {
        [self.stored, self.stopped]
    }
}

/// What pages move, for the commands of a paged run.
pub(crate) trait PageWork {
    /// Number of pages.
    fn pages(&self) -> u64;
    /// Pages in DMEM at a time.
    fn degree(&self) -> usize;
    /// What a stream's transfers are called.
    fn name(&self, direction: Direction, stream: usize) -> Arc<str>;
    /// The transfers of page `k`, each with its stream.
    fn transfers(&mut self, direction: Direction, k: u64) -> &[(usize, Descriptor)];
    /// The load of the arguments that must be there when the kernel begins, and what it gets in `a15`; none of a run without pages.
    fn launched(&self) -> Option<(Descriptor, u32)>;
    /// The load of arguments that comes with page `k`.
    fn arguments(&self, k: u64) -> Option<Descriptor>;
    /// What of DMEM is the kernel's.
    fn protection(&self) -> Protection;
    /// What follows the last page.
    fn ending(&self) -> Option<Ending> {
        None
    }
    /// Whether pages whose numbers differ by the number of buffers differ only in where they lie in system memory.
    fn is_regular(&self) -> bool {
        true
    }
}

/// The end of a reduction: every section's result goes to system memory, those of all come back, and the whole result is stored.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Ending {
    pub(crate) partials: Descriptor,
    pub(crate) arguments: Descriptor,
    pub(crate) all: Descriptor,
    pub(crate) result: Descriptor,
}

/// The commands of a paged run, made one by one as the device asks for them.
///
/// First the argument blocks of the first pages and the launch, then the steps
/// of [`Steps`]: a load's last transfer posts [`PAGE_EVENT`], for the
/// kernel's part the CPU waits for the signal. Its memory does not depend on
/// the number of pages.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PageSource<W> {
    work: W,
    names: Names,
    steps: Steps,
    /// What everything waits for.
    after: After,
    launched: Option<Event>,
    ended: bool,
    /// Commands made and not yet given.
    ready: VecDeque<Command>,
    /// Number of the next command made.
    next: u64,
    /// Last command of each recent step.
    last: Vec<(StepId, Event)>,
}

/// What pages of a plan move.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlanWork<'a> {
    plan: &'a Plan,
    arguments: &'a PageArguments,
    made: Made<'a>,
    inputs: Vec<Arc<str>>,
    outputs: Vec<Arc<str>>,
}

/// The names that commands have.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Names {
    kernel: Arc<str>,
    arguments: Arc<str>,
    page: Arc<str>,
}

impl<'a> PlanWork<'a> {
    fn new(plan: &'a Plan, arguments: &'a PageArguments) -> Self {
        let all = |streams: &[Stream]| streams.iter().map(|s| s.name.as_str().into()).collect();
        Self {
            plan,
            arguments,
            made: Made::new(plan),
            inputs: all(&plan.job().inputs),
            outputs: all(&plan.job().outputs),
        }
    }
}

impl PageWork for PlanWork<'_> {
    fn pages(&self) -> u64 {
        self.plan.pages().len()
    }

    fn degree(&self) -> usize {
        self.plan.degree()
    }

    fn name(&self, direction: Direction, stream: usize) -> Arc<str> {
        match direction {
            Direction::Load => self.inputs[stream].clone(),
            Direction::Store => self.outputs[stream].clone(),
        }
    }

    fn transfers(&mut self, direction: Direction, k: u64) -> &[(usize, Descriptor)] {
        self.made.of(direction, k)
    }

    fn launched(&self) -> Option<(Descriptor, u32)> {
        let block = self.plan.first_args()?;
        Some((load(block.start(), self.arguments.first), block.address))
    }

    fn arguments(&self, k: u64) -> Option<Descriptor> {
        if !self.plan.changes_args(k) {
            return None;
        }
        let block = self.plan.args_of(&self.plan.pages().get(k)?);
        Some(load(block.start(), self.arguments.of(&block)?))
    }

    fn protection(&self) -> Protection {
        self.plan.protection()
    }
}

impl<W: PageWork> PageSource<W> {
    /// The commands of `work`, the first of which has number `first`; all wait for
    /// `after`.
    pub(crate) fn of(work: W, kernel: &PageKernel, first: Event, after: &[Event]) -> Self {
        let steps = Steps::new(work.pages(), work.degree());
        let mut source = Self {
            names: Names {
                kernel: kernel.name.as_str().into(),
                arguments: "arguments".into(),
                page: "page".into(),
            },
            work,
            steps,
            after: after.iter().copied().collect(),
            launched: None,
            ended: false,
            ready: VecDeque::new(),
            next: first.number(),
            last: Vec::new(),
        };
        if let Some((load, args)) = source.work.launched() {
            let mut after = source.after.clone();
            let load = Action::Dma(load);
            let loaded = source.make(source.names.arguments.clone(), None, load, after.clone());
            after.push(loaded);
            let action = Action::Launch {
                entry: kernel.entry,
                args,
                protection: Some(Arc::new(source.work.protection())),
            };
            source.launched = Some(source.make(source.names.kernel.clone(), None, action, after));
        }
        source
    }

    /// The launch, when the first command has number `first`.
    pub(crate) fn launch(first: Event) -> Event {
        Event::at(first.number() + 1)
    }

    fn make(&mut self, name: Arc<str>, page: Option<u64>, action: Action, after: After) -> Event {
        self.ready.push_back(Command {
            name,
            page,
            action,
            after,
        });
        self.next += 1;
        Event::at(self.next - 1)
    }

    fn step(&mut self, step: &Step) {
        let index = step.id.page;
        let known = |id: &StepId| self.last.iter().find(|(last, _)| last == id);
        let before = step.after.iter().filter_map(known);
        let mut after: After = before.map(|(_, event)| *event).collect();
        if index < self.work.degree() as u64 {
            after.extend_from_slice(&self.after);
        }
        let made = match step.id.kind {
            StepKind::Load => Some(self.load(index, &after)),
            StepKind::Compute => {
                let action = Action::WaitSignal { event: PAGE_EVENT };
                let name = self.names.kernel.clone();
                Some(self.make(name, Some(index), action, after.clone()))
            }
            StepKind::Store => self.transfers(Direction::Store, index, &after),
        };
        // A step without commands is complete when what it waits for is.
        if let Some(last) = made.or(after.iter().max().copied()) {
            self.last.push((step.id, last));
        }
        let oldest = index.saturating_sub(2 * self.work.degree() as u64 + 1);
        self.last.retain(|(id, _)| id.page >= oldest);
    }

    /// The transfers of page `k`; the last one.
    fn transfers(&mut self, direction: Direction, k: u64, after: &After) -> Option<Event> {
        let transfers = self.work.transfers(direction, k).to_vec();
        let count = transfers.len() as u64;
        for (stream, descriptor) in transfers {
            self.ready.push_back(Command {
                name: self.work.name(direction, stream),
                page: Some(k),
                action: Action::Dma(descriptor),
                after: after.clone(),
            });
        }
        self.next += count;
        (count > 0).then(|| Event::at(self.next - 1))
    }

    /// What follows the last page, of a reduction.
    fn end(&mut self) {
        let Some(ending) = self.work.ending() else {
            return;
        };
        let computed =
            |(id, event): &(StepId, Event)| (id.kind == StepKind::Compute).then_some(*event);
        let before: After = self
            .last
            .iter()
            .filter_map(computed)
            .max()
            .into_iter()
            .collect();
        let names = self.names.clone();
        let wait = Action::WaitSignal { event: PAGE_EVENT };
        let done = self.make(names.kernel, None, wait, before);
        let mut one = |name: &Arc<str>, d: Descriptor, after: Event| {
            self.make(
                name.clone(),
                None,
                Action::Dma(d),
                [after].into_iter().collect(),
            )
        };
        let stored = one(&names.page, ending.partials, done);
        one(&names.arguments, ending.arguments, stored);
        let mut all = ending.all;
        all.event = Some(PAGE_EVENT);
        let all = one(&names.page, all, stored);
        let stopped = self.launched.unwrap_or(all);
        let name = self.work.name(Direction::Store, 0);
        let result = Action::Dma(ending.result);
        self.make(name, None, result, [stopped].into_iter().collect());
    }

    /// The transfers of a load, the arguments first where they change. The last
    /// one announces the page; where nothing is loaded, the CPU does.
    fn load(&mut self, k: u64, after: &After) -> Event {
        let arguments = self.work.arguments(k);
        let mut last = arguments.map(|load| {
            let name = self.names.arguments.clone();
            self.make(name, Some(k), Action::Dma(load), after.clone())
        });
        last = self.transfers(Direction::Load, k, after).or(last);
        match (last, self.ready.back_mut()) {
            (
                Some(last),
                Some(Command {
                    action: Action::Dma(descriptor),
                    ..
                }),
            ) => {
                descriptor.event = Some(PAGE_EVENT);
                last
            }
            _ => {
                let action = Action::Post { event: PAGE_EVENT };
                self.make(self.names.page.clone(), Some(k), action, after.clone())
            }
        }
    }
}

/// The transfer that brings argument blocks to all sections.
fn load(local: u32, image: Buffer<u32>) -> Descriptor {
    Descriptor::load(Target::Broadcast, image.address(), local, image.bytes())
}

impl PageArguments {
    fn of(&self, block: &ArgBlock) -> Option<Buffer<u32>> {
        let key = (block.buffer, block.per_section);
        let found = self.all.iter().find(|(b, n, _)| (*b, *n) == key);
        found.map(|(_, _, image)| *image)
    }
}

impl<W: PageWork> Iterator for PageSource<W> {
    type Item = Command;

    fn next(&mut self) -> Option<Command> {
        while self.ready.is_empty() {
            match self.steps.next() {
                Some(step) => self.step(&step),
                None if self.ended => return None,
                None => {
                    self.ended = true;
                    self.end();
                }
            }
        }
        self.ready.pop_front()
    }
}

impl<W: PageWork + Clone + PartialEq + Send> Turns for PageSource<W> {
    fn turns(&self) -> u64 {
        self.work.pages()
    }

    fn turn(&self) -> Option<u64> {
        let between = self.ready.is_empty() && self.work.is_regular();
        self.steps.turn().filter(|_| between)
    }

    fn period(&self) -> u64 {
        self.work.degree() as u64
    }

    fn leave_out(&mut self, turns: u64, commands: u64) {
        self.steps.leave_out(turns);
        self.next += commands;
        for (id, last) in &mut self.last {
            id.page += turns;
            *last = last.later(commands);
        }
    }
}

impl Device {
    /// Pages an array through a kernel: loads the program `placed`, writes the
    /// argument blocks, gives the commands of `plan`.
    ///
    /// # Errors
    /// System memory is used up, or a command can never be carried out.
    pub fn page(
        &mut self,
        plan: &Plan,
        placed: &Placed,
        entry: u32,
        after: &[Event],
    ) -> Result<Paged, HostError> {
        let arguments = self.page_arguments(plan)?;
        let loaded = self.load(placed, after)?;
        let kernel = PageKernel {
            name: placed.name.clone(),
            entry,
        };
        self.pages(plan, &kernel, &arguments, &[loaded])
    }

    /// Gives the commands of `plan` for a kernel that is loaded and arguments
    /// that are written, or will be when `after` is complete.
    ///
    /// # Errors
    /// A command can never be carried out.
    pub fn pages(
        &mut self,
        plan: &Plan,
        kernel: &PageKernel,
        arguments: &PageArguments,
        after: &[Event],
    ) -> Result<Paged, HostError> {
        let mut stopped = None;
        let (stored, _) = self.stream_turns(|first| {
            stopped = Some(PageSource::<PlanWork<'_>>::launch(first));
            let after: Vec<Event> = after.iter().chain(&arguments.written).copied().collect();
            PageSource::of(PlanWork::new(plan, arguments), kernel, first, &after)
        })?;
        Ok(Paged {
            stored,
            stopped: stopped.unwrap_or(stored),
        })
    }

    /// Writes the argument blocks of `plan` to system memory. Before time
    /// begins they are part of the memory image, like a program; after that
    /// the control CPU writes them at its own rate.
    ///
    /// # Errors
    /// System memory is used up.
    pub fn page_arguments(&mut self, plan: &Plan) -> Result<PageArguments, HostError> {
        // As far apart as the plan has them in DMEM.
        let apart = usize::try_from(granule(self.machine()) / 4).unwrap_or(1);
        let padded = |words: &mut Vec<u32>| words.resize(words.len().next_multiple_of(apart), 0);
        let mut written = Vec::new();
        let mut image = |device: &mut Self, words: &[u32]| {
            let buffer = device.alloc(words.len() as u64)?;
            if device.has_started() {
                written.push(device.host_write("arguments", buffer, words, &[])?);
            } else {
                device.write(buffer, words)?;
            }
            Ok::<_, HostError>(buffer)
        };
        let mut first = Vec::new();
        let mut all = Vec::new();
        let pages = plan.pages();
        for page in (0..plan.degree() as u64).filter_map(|k| pages.get(k)) {
            first.extend(plan.args_of(&page).image());
            padded(&mut first);
        }
        let first = image(self, &first)?;
        // With one count no page ever needs another block than the first ones'.
        for block in plan.args().into_iter().filter(|_| pages.counts().len() > 1) {
            let mut words: Vec<u32> = block.image().collect();
            padded(&mut words);
            all.push((block.buffer, block.per_section, image(self, &words)?));
        }
        Ok(PageArguments {
            first,
            all,
            written,
        })
    }
}
