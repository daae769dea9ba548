//! A plan as device commands.

use crate::device::{Action, After, Buffer, Command, Device, Event, HostError, Placed, Turns};
use crate::schedule::{ArgBlock, Made, Plan, Step, StepId, StepKind, Steps, Stream, granule};
use cp2_dma::{Descriptor, Direction, Target};
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

/// The commands of a plan, made one by one as the device asks for them.
///
/// First the argument blocks of the first pages and the launch, then the steps
/// of [`Plan::steps`]: a load's last transfer posts [`PAGE_EVENT`], for the
/// kernel's part the CPU waits for the signal. Its memory does not depend on
/// the number of pages.
#[derive(Clone, Debug, PartialEq)]
pub struct PlanSource<'a> {
    plan: &'a Plan,
    arguments: &'a PageArguments,
    names: Names,
    made: Made<'a>,
    steps: Steps,
    /// What everything waits for.
    after: After,
    /// Commands made and not yet given.
    ready: VecDeque<Command>,
    /// Number of the next command made.
    next: u64,
    /// Last command of each recent step.
    last: Vec<(StepId, Event)>,
}

/// The names that commands have.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Names {
    kernel: Arc<str>,
    arguments: Arc<str>,
    page: Arc<str>,
    inputs: Vec<Arc<str>>,
    outputs: Vec<Arc<str>>,
}

impl<'a> PlanSource<'a> {
    /// The commands, the first of which has number `first`; all wait for
    /// `after`.
    #[must_use]
    pub fn new(
        plan: &'a Plan,
        kernel: &PageKernel,
        arguments: &'a PageArguments,
        first: Event,
        after: &[Event],
    ) -> Self {
        let all = |streams: &[Stream]| streams.iter().map(|s| s.name.as_str().into()).collect();
        let mut source = Self {
            plan,
            arguments,
            names: Names {
                kernel: kernel.name.as_str().into(),
                arguments: "arguments".into(),
                page: "page".into(),
                inputs: all(&plan.job().inputs),
                outputs: all(&plan.job().outputs),
            },
            made: Made::new(plan),
            steps: plan.steps(),
            after: after.iter().chain(&arguments.written).copied().collect(),
            ready: VecDeque::new(),
            next: first.number(),
            last: Vec::new(),
        };
        if let Some(block) = plan.first_args() {
            let load = Action::Dma(load(block.start(), arguments.first));
            let mut after = source.after.clone();
            let loaded = source.make(source.names.arguments.clone(), None, load, after.clone());
            after.push(loaded);
            let action = Action::Launch {
                entry: kernel.entry,
                args: block.address,
                protection: Some(Arc::new(plan.protection())),
            };
            source.make(source.names.kernel.clone(), None, action, after);
        }
        source
    }

    /// The launch, when the first command has number `first`.
    fn launch(first: Event) -> Event {
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
        if index < self.plan.degree() as u64 {
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
        let oldest = index.saturating_sub(2 * self.plan.degree() as u64 + 1);
        self.last.retain(|(id, _)| id.page >= oldest);
    }

    /// The transfers of page `k`; the last one.
    fn transfers(&mut self, direction: Direction, k: u64, after: &After) -> Option<Event> {
        let names = match direction {
            Direction::Load => &self.names.inputs,
            Direction::Store => &self.names.outputs,
        };
        let transfers = self.made.of(direction, k);
        for (stream, descriptor) in transfers {
            self.ready.push_back(Command {
                name: names[*stream].clone(),
                page: Some(k),
                action: Action::Dma(descriptor.clone()),
                after: after.clone(),
            });
        }
        self.next += transfers.len() as u64;
        (!transfers.is_empty()).then(|| Event::at(self.next - 1))
    }

    /// The transfers of a load, the arguments first where they change. The last
    /// one announces the page; where nothing is loaded, the CPU does.
    fn load(&mut self, k: u64, after: &After) -> Event {
        let mut last = None;
        if let Some(page) = self
            .plan
            .changes_args(k)
            .then(|| self.plan.pages().get(k))
            .flatten()
        {
            let block = self.plan.args_of(&page);
            if let Some(image) = self.arguments.of(&block) {
                let load = Action::Dma(load(block.start(), image));
                last = Some(self.make(self.names.arguments.clone(), Some(k), load, after.clone()));
            }
        }
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

impl Iterator for PlanSource<'_> {
    type Item = Command;

    fn next(&mut self) -> Option<Command> {
        while self.ready.is_empty() {
            let step = self.steps.next()?;
            self.step(&step);
        }
        self.ready.pop_front()
    }
}

impl Turns for PlanSource<'_> {
    fn turns(&self) -> u64 {
        self.plan.pages().len()
    }

    fn turn(&self) -> Option<u64> {
        self.steps.turn().filter(|_| self.ready.is_empty())
    }

    fn period(&self) -> u64 {
        self.plan.degree() as u64
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
            stopped = Some(PlanSource::launch(first));
            PlanSource::new(plan, kernel, arguments, first, after)
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
