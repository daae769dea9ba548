//! A plan as device commands.

use crate::device::{Action, Command, Device, Element, Event, HostError, Placed};
use crate::schedule::{Plan, Step, StepId, StepKind, Steps};
use cp2_dma::{Descriptor, Target};
use std::collections::{BTreeMap, VecDeque};

/// What a paged run calls its kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageKernel {
    /// Name on the timeline.
    pub name: String,
    /// Word address of its first word.
    pub entry: u32,
}

/// The commands of a plan, made one by one as the device asks for them.
///
/// First the argument blocks, then the steps of [`Plan::steps`]. Its memory
/// does not depend on the number of pages.
#[derive(Debug)]
pub struct PlanSource<'a> {
    plan: &'a Plan,
    kernel: &'a PageKernel,
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
    /// `after`. `arguments` are the transfers that load the argument blocks.
    #[must_use]
    pub fn new(
        plan: &'a Plan,
        kernel: &'a PageKernel,
        arguments: Vec<Descriptor>,
        first: Event,
        after: &[Event],
    ) -> Self {
        let mut source = Self {
            plan,
            kernel,
            steps: plan.steps(),
            after: after.to_vec(),
            ready: VecDeque::new(),
            next: first.number(),
            last: BTreeMap::new(),
        };
        for descriptor in arguments {
            source.make(
                "arguments",
                None,
                Action::Dma(descriptor),
                source.after.clone(),
            );
        }
        source
    }

    fn make(&mut self, name: &str, page: Option<u64>, action: Action, after: Vec<Event>) {
        self.ready.push_back(Command {
            name: name.to_string(),
            page,
            action,
            after,
        });
        self.next += 1;
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
        let job = plan.job();
        let (transfers, streams) = match step.id.kind {
            StepKind::Load => (plan.loads(&page), &job.inputs),
            StepKind::Store => (plan.stores(&page), &job.outputs),
            StepKind::Compute => {
                let args = plan.args_of(&page).unwrap_or_default();
                let action = Action::Launch {
                    entry: self.kernel.entry,
                    args,
                };
                self.make(&self.kernel.name, Some(index), action, after);
                self.done(step.id);
                return;
            }
        };
        for (stream, descriptor) in transfers {
            self.make(
                &streams[stream].name,
                Some(index),
                Action::Dma(descriptor),
                after.clone(),
            );
        }
        self.done(step.id);
    }

    /// Notes the last command of a step and forgets what no later step waits for.
    fn done(&mut self, id: StepId) {
        if self.next > 0 {
            self.last.insert(id, Event::at(self.next - 1));
        }
        let oldest = id.page.saturating_sub(2 * self.plan.degree() as u64 + 1);
        self.last.retain(|id, _| id.page >= oldest);
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
    /// Pages an array through a kernel: gives the commands of `plan`, the
    /// program `placed` included, and returns the last of them.
    ///
    /// The argument blocks become part of the memory image, like the program,
    /// and are loaded by DMA; on a device that has begun to run, the control
    /// CPU writes them first.
    ///
    /// # Errors
    /// System memory is used up, or a command can never be carried out.
    pub fn page(
        &mut self,
        plan: &Plan,
        placed: &Placed,
        entry: u32,
        after: &[Event],
    ) -> Result<Event, HostError> {
        let loaded = self.load(placed, after)?;
        let kernel = PageKernel {
            name: placed.name.clone(),
            entry,
        };
        self.pages(plan, &kernel, &[loaded])
    }

    /// The same with a kernel that is loaded already.
    ///
    /// # Errors
    /// See [`Device::page`].
    pub fn pages(
        &mut self,
        plan: &Plan,
        kernel: &PageKernel,
        after: &[Event],
    ) -> Result<Event, HostError> {
        let mut after = after.to_vec();
        let arguments = self.place_arguments(plan, &mut after)?;
        self.stream(|first| PlanSource::new(plan, kernel, arguments, first, &after))
    }

    /// Writes the argument blocks to system memory; the transfers load them.
    /// Once time has begun, the control CPU writes them at its own rate.
    fn place_arguments(
        &mut self,
        plan: &Plan,
        after: &mut Vec<Event>,
    ) -> Result<Vec<Descriptor>, HostError> {
        let granule = usize::try_from(self.machine().dma.granule.0)
            .unwrap_or(1)
            .max(1);
        // Blocks that follow each other in DMEM are one transfer.
        let mut parts: Vec<(u32, Vec<u8>)> = Vec::new();
        let mut blocks: Vec<_> = plan.args().iter().collect();
        blocks.sort_by_key(|b| b.address);
        for block in blocks {
            let mut bytes = Vec::new();
            block.words.iter().for_each(|w| w.put(&mut bytes));
            bytes.resize(bytes.len().next_multiple_of(granule), 0);
            match parts.last_mut() {
                Some((at, part)) if *at as usize + part.len() == block.address as usize => {
                    part.extend(bytes)
                }
                _ => parts.push((block.address, bytes)),
            }
        }
        let mut transfers = Vec::new();
        for (local, bytes) in parts {
            let image = self.alloc(bytes.len() as u64)?;
            if self.has_started() {
                after.push(self.host_write("arguments", image, &bytes, &[])?);
            } else {
                self.write(image, &bytes)?;
            }
            transfers.push(Descriptor::load(
                Target::Broadcast,
                image.address(),
                local,
                bytes.len() as u64,
            ));
        }
        Ok(transfers)
    }
}
