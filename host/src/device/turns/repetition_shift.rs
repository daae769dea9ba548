//! A device moved on to the state it would have some turns later.

use super::super::command::{Command, HostAction};
use super::super::control_state::{Arrival, ControlCpuState};
use super::super::engine::DeviceEngine;
use super::repetition::RepetitionRate;
use cp2_machine::Ticks;

/// A shift by a number of repetitions.
pub(super) struct RepetitionShift<'a> {
    pub rate: &'a RepetitionRate,
    pub times: u64,
    /// Number of the first of `commands`.
    pub first: u64,
    /// Last commands that are given before the state to be reached.
    pub commands: &'a [Command],
}

impl RepetitionShift<'_> {
    fn numbers(&self) -> u64 {
        self.rate.commands.saturating_mul(self.times)
    }

    fn cycles(&self) -> u64 {
        self.rate.cycles.saturating_mul(self.times)
    }

    /// Returns the number that command `number` has after the shift. Commands older than `commands` are not
    /// repeated and keep their number: the launch of the kernel that runs.
    fn number(&self, number: u64) -> u64 {
        match number.checked_add(self.numbers()) {
            Some(moved) if moved >= self.first => moved,
            _ => number,
        }
    }

    /// Returns the command with a number.
    fn command(&self, number: u64) -> Option<&Command> {
        let at = number.checked_sub(self.first)?;
        self.commands.get(usize::try_from(at).ok()?)
    }
}

impl DeviceEngine {
    /// Moves the device on, or returns nothing if a command there does not correspond to one here. Commands
    /// become those given there; data in local memory stay as they are.
    pub(super) fn moved(&mut self, on: &RepetitionShift<'_>) -> Option<()> {
        let ticks = self.ticks(on.cycles());
        self.state.moved(on, ticks)?;
        let (steps, times) = (&on.rate.steps, on.times);
        self.processor.move_on(on.cycles(), steps, times);
        let mut known = true;
        self.processor.for_each_transfer(|descriptor, tag| {
            *tag = on.number(*tag);
            match on.command(*tag).map(|command| &command.action) {
                Some(HostAction::Dma(there)) => descriptor.clone_from(there),
                _ => known = false,
            }
        });
        known.then_some(())
    }
}

impl ControlCpuState {
    fn moved(&mut self, on: &RepetitionShift<'_>, ticks: Ticks) -> Option<()> {
        let (cycles, turns) = (on.cycles(), on.rate.turns * on.times);
        let later = |at: &mut u64| *at = at.saturating_add(cycles);
        let renumber = |number: &mut u64| *number = on.number(*number);
        later(&mut self.now);
        let (number, command) = (|number| on.number(number), |number| on.command(number));
        self.window.replace(number, command)?;
        self.progress
            .moved(on.numbers(), |number| on.number(number));
        if let Some(busy) = &mut self.busy {
            renumber(&mut busy.command);
            *busy.what = on.command(busy.command)?.clone();
            later(&mut busy.from);
            later(&mut busy.until);
        }
        for (at, arrival) in &mut self.arrivals {
            later(at);
            match arrival {
                Arrival::Transfer { command, .. } | Arrival::Kernel { command } => {
                    renumber(command);
                }
                Arrival::Signal { at, .. } => later(at),
            }
        }
        for submitted in &mut self.transfers {
            renumber(&mut submitted.command);
            let command = on.command(submitted.command)?;
            (submitted.name, submitted.page) = (command.name.clone(), command.page);
        }
        self.signals.values_mut().flatten().for_each(later);
        for (page, at) in &mut self.ready {
            *page += turns;
            *at += ticks;
        }
        self.paged += ticks;
        Some(())
    }
}
