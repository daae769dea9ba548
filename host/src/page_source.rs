//! A plan as device commands.

use crate::device::{Action, Buffer, Command, Device, Event, HostError, Placed};
use crate::schedule::{ArgBlock, Page, Plan, Step, StepId, StepKind, Steps};
use cp2_dma::{Descriptor, Target};
use std::collections::{BTreeMap, VecDeque};

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
#[derive(Clone, Debug)]
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
#[derive(Debug)]
pub struct PlanSource<'a> {
    plan: &'a Plan,
    kernel: &'a PageKernel,
    arguments: &'a PageArguments,
    steps: Steps,
    /// What everything waits for.
    after: Vec<Event>,
    /// Commands made and not yet given.
    ready: VecDeque<Command>,
    /// Number of the next command made.
    next: u64,
    /// Last command of each recent step.
    last: BTreeMap<StepId, Event>,
}

impl<'a> PlanSource<'a> {
    /// The commands, the first of which has number `first`; all wait for
    /// `after`.
    #[must_use]
    pub fn new(
        plan: &'a Plan,
        kernel: &'a PageKernel,
        arguments: &'a PageArguments,
        first: Event,
        after: &[Event],
    ) -> Self {
        let mut source = Self {
            plan,
            kernel,
            arguments,
            steps: plan.steps(),
            after: [after, &arguments.written].concat(),
            ready: VecDeque::new(),
            next: first.number(),
            last: BTreeMap::new(),
        };
        let mut after = source.after.clone();
        if let Some(block) = plan.first_args() {
            let load = load(block.start(), arguments.first);
            after.push(source.make("arguments", None, Action::Dma(load), after.clone()));
            let action = Action::Launch {
                entry: kernel.entry,
                args: block.address,
            };
            source.make(&kernel.name, None, action, after);
        }
        source
    }

    /// The launch, when the first command has number `first`.
    fn launch(first: Event) -> Event {
        Event::at(first.number() + 1)
    }

    fn make(&mut self, name: &str, page: Option<u64>, action: Action, after: Vec<Event>) -> Event {
        self.ready.push_back(Command {
            name: name.to_string(),
            page,
            action,
            after,
        });
        self.next += 1;
        Event::at(self.next - 1)
    }

    fn step(&mut self, step: &Step) {
        let plan = self.plan;
        let index = step.id.page;
        let Some(page) = plan.pages().get(index) else {
            return;
        };
        let mut after: Vec<Event> = step
            .after
            .iter()
            .filter_map(|id| self.last.get(id))
            .copied()
            .collect();
        if index < plan.degree() as u64 {
            after.extend_from_slice(&self.after);
        }
        let made = match step.id.kind {
            StepKind::Load => Some(self.load(&page, after.clone())),
            StepKind::Compute => {
                let action = Action::WaitSignal { event: PAGE_EVENT };
                let name = &self.kernel.name;
                Some(self.make(name, Some(index), action, after.clone()))
            }
            StepKind::Store => {
                let streams = &plan.job().outputs;
                let stores = plan.stores(&page).into_iter();
                let make = |(stream, d): (usize, Descriptor)| {
                    let name = &streams[stream].name;
                    self.make(name, Some(index), Action::Dma(d), after.clone())
                };
                stores.map(make).last()
            }
        };
        // A step without commands is complete when what it waits for is.
        if let Some(last) = made.or(after.iter().max().copied()) {
            self.last.insert(step.id, last);
        }
        let oldest = index.saturating_sub(2 * plan.degree() as u64 + 1);
        self.last.retain(|id, _| id.page >= oldest);
    }

    /// The transfers of a load, the arguments first where they change. The last
    /// one announces the page; where nothing is loaded, the CPU does.
    fn load(&mut self, page: &Page, after: Vec<Event>) -> Event {
        let plan = self.plan;
        let index = Some(page.index);
        let mut transfers: Vec<(&str, Descriptor)> = Vec::new();
        if plan.loads_args(page) {
            let block = plan.args_of(page);
            let image = self.arguments.of(&block);
            transfers.extend(image.map(|image| ("arguments", load(block.start(), image))));
        }
        let streams = &plan.job().inputs;
        let loads = plan.loads(page).into_iter();
        transfers.extend(loads.map(|(stream, d)| (streams[stream].name.as_str(), d)));
        if let Some((_, last)) = transfers.last_mut() {
            last.event = Some(PAGE_EVENT);
        }
        let make = |(name, d)| self.make(name, index, Action::Dma(d), after.clone());
        let last = transfers.into_iter().map(make).last();
        last.unwrap_or_else(|| {
            let action = Action::Post { event: PAGE_EVENT };
            self.make("page", index, action, after)
        })
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
        let stored = self.stream(|first| {
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
        let granule = usize::try_from(self.machine().dma.granule.0).unwrap_or(1);
        // Whole granules.
        let padded = |words: &mut Vec<u32>| {
            words.resize(words.len().next_multiple_of((granule / 4).max(1)), 0)
        };
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
