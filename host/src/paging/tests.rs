//! Tests that dependencies of commands keep buffers in turn at any speeds.

mod buffers;

use super::*;
use crate::device::{Command, Device, HostAction};
use crate::nest::{BoundaryRule, GridField, GridPass, GridPlan};
use crate::schedule::{BlocksPerSection, Buffering, Paging, Stream, StreamPlan};
use buffers::{Buffers, StepId, StepKind};
use cp2_dma::{Direction, Transfer};
use cp2_machine::Machine;
use proptest::prelude::*;
use std::collections::VecDeque;

/// Simulation of a pass: the control CPU takes the oldest ready command, the DMA works in order, the kernel
/// waits for loads.
struct Run {
    commands: Vec<Command>,
    begun: Vec<bool>,
    ended: Vec<bool>,
    /// Transfers under way.
    dma: VecDeque<usize>,
    buffers: Buffers,
    /// Number of pages that have been announced.
    posted: u64,
    /// Number of pages that the kernel has begun.
    computing: u64,
    /// Number of pages that the kernel has ended.
    computed: u64,
}

impl Run {
    fn new(commands: Vec<Command>, degree: usize, in_place: bool) -> Self {
        Self {
            begun: vec![false; commands.len()],
            ended: vec![false; commands.len()],
            commands,
            dma: VecDeque::new(),
            buffers: Buffers::new(degree, in_place),
            posted: 0,
            computing: 0,
            computed: 0,
        }
    }

    /// Returns the step that a transfer belongs to, and whether it is the first and the last of the step.
    fn step(&self, i: usize) -> Option<(StepId, bool, bool)> {
        let of = |command: &Command| match (&command.action, command.page) {
            (HostAction::Dma(d), Some(page)) => Some(StepId {
                kind: match d.direction() {
                    Direction::Load => StepKind::Load,
                    Direction::Store => StepKind::Store,
                },
                page,
            }),
            _ => None,
        };
        let step = of(&self.commands[i])?;
        let same = |j: usize| self.commands.get(j).and_then(of) == Some(step);
        let first = i.checked_sub(1).is_none_or(|before| !same(before));
        Some((step, first, !same(i + 1)))
    }

    /// Lets the control CPU take the oldest ready command.
    fn begin(&mut self) -> Result<bool, TestCaseError> {
        let known = |event: &crate::Event| self.ended[event.number() as usize];
        let ready = |&i: &usize| !self.begun[i] && self.commands[i].after.iter().all(known);
        let Some(i) = (0..self.commands.len()).find(ready) else {
            return Ok(false);
        };
        self.begun[i] = true;
        if let Some((step, true, _)) = self.step(i) {
            self.buffers.begin(step)?;
        }
        match self.commands[i].action {
            HostAction::Dma(_) => self.dma.push_back(i),
            HostAction::Post { .. } => panic!("every page loads something"),
            _ => {}
        }
        Ok(true)
    }

    /// Lets the DMA end a transfer.
    fn transferred(&mut self) -> Result<bool, TestCaseError> {
        let Some(i) = self.dma.pop_front() else {
            return Ok(false);
        };
        self.ended[i] = true;
        if let Some((step, _, true)) = self.step(i) {
            self.buffers.end(step)?;
        }
        if let HostAction::Dma(transfer) = &self.commands[i].action {
            self.posted += u64::from(transfer.event().is_some());
        }
        Ok(true)
    }

    /// Lets the kernel begin a page, or end one.
    fn compute(&mut self) -> Result<bool, TestCaseError> {
        let step = |page| StepId {
            kind: StepKind::Compute,
            page,
        };
        if self.computing > self.computed {
            self.buffers.end(step(self.computed))?;
            self.computed += 1;
        } else if self.posted > self.computing {
            self.buffers.begin(step(self.computing))?;
            self.computing += 1;
        } else {
            return Ok(false);
        }
        Ok(true)
    }

    /// Lets the control CPU see a signal.
    fn see(&mut self) -> bool {
        let waits = |&i: &usize| {
            let command = &self.commands[i];
            let wait = matches!(command.action, HostAction::WaitSignal { .. });
            wait && self.begun[i]
                && !self.ended[i]
                && command.page.is_some_and(|page| page < self.computed)
        };
        let found = (0..self.commands.len()).find(waits);
        found.map(|i| self.ended[i] = true).is_some()
    }

    /// Goes on until nothing can happen any more; `choices` decides what happens first.
    fn go(mut self, mut choices: impl FnMut() -> usize) -> Result<(), TestCaseError> {
        let mut idle = 0;
        while idle < 4 {
            let first = choices();
            idle = 0;
            for k in 0..4 {
                let happened = match (first + k) % 4 {
                    0 => self.begin()?,
                    1 => self.transferred()?,
                    2 => self.compute()?,
                    _ => self.see(),
                };
                if happened {
                    break;
                }
                idle += 1;
            }
        }
        let open = |i: &usize| !self.ended[*i];
        let left: Vec<_> = (0..self.commands.len())
            .filter(open)
            .map(|i| &self.commands[i].action)
            .collect();
        // The model does not end the kernel's launch.
        prop_assert!(
            matches!(left[..], [HostAction::Launch { .. }]),
            "{:?}",
            left
        );
        prop_assert!(self.buffers.all_free());
        Ok(())
    }
}

fn commands<W: PageSource>(work: W) -> Vec<Command> {
    let kernel = PageKernel {
        name: "kernel".into(),
        entry: 0,
    };
    Commands::new(work, &kernel, Event::from_number(0), &[]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn dependencies_alone_keep_buffers_in_turn(
        blocks in 1u64..50, size in 1u32..4, degree in 0usize..3, in_place: bool, halo in 0u64..2,
        choices in prop::collection::vec(0usize..4, 1..300),
    ) {
        let machine = Machine::builtin("vm7").unwrap();
        let mut device = Device::new(machine.clone().into());
        let buffering = [Buffering::Single, Buffering::Double, Buffering::Triple][degree];
        let size = BlocksPerSection::Fixed(size);
        let stream = |name, at| Stream::contiguous(name, at, 16);
        let plan = StreamPlan::new(Paging {
            in_place, size, buffering, ..Paging::new(blocks, vec![stream("x", 0)], vec![stream("y", 1 << 20)])
        }, &machine).unwrap();
        let images = device.page_arguments(&plan).unwrap();
        let list = commands(crate::schedule::PlanWork::new(&plan, &images));
        let mut next = choices.iter().copied().cycle();
        Run::new(list, plan.degree(), in_place).go(|| next.next().unwrap_or(0))?;

        let field = |name, at| GridField::new(name, at, 4, [1, 7, 16 * blocks], [1, 2, 8]);
        let window = if in_place { field("u", 1 << 20) } else { field("u", 1 << 20).halo([0, halo, 4 * halo], BoundaryRule::Zero) };
        let sweep = GridPass {
            zeros: (0, 4096), size, buffering, ..GridPass::new(vec![window], vec![field("v", 2 << 20)])
        };
        let sweep = if in_place { sweep.compute_in_place() } else { sweep };
        let nest = GridPlan::new(sweep, &machine).unwrap();
        let images = device.nest_arguments(&nest).unwrap();
        let list = commands(crate::nest::NestWork::new(&nest, &images, &[]));
        Run::new(list, nest.degree(), in_place).go(|| next.next().unwrap_or(0))?;
    }
}

#[test]
fn an_early_load_is_named() {
    let step = |kind, page| StepId { kind, page };
    let mut buffers = Buffers::new(2, true);
    buffers.begin(step(StepKind::Load, 0)).unwrap();
    buffers.end(step(StepKind::Load, 0)).unwrap();
    buffers.begin(step(StepKind::Compute, 0)).unwrap();
    let error = buffers.begin(step(StepKind::Load, 2)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "begin of Load 2: input buffer 0 is computing page 0; it should be free"
    );
}
