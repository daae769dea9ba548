//! Window of commands that were given and not begun.

use super::command::{Command, Event, HostAction};
use std::collections::VecDeque;

/// A command in the window.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct WaitingCommand {
    pub(super) number: u64,
    /// The command, boxed so that it stays at its address while it is handed on.
    pub(super) command: Box<Command>,
    /// Number of commands that it still waits for.
    left: usize,
}

/// Resource that a command needs besides the completion of others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CommandNeeds {
    Nothing,
    /// Room in the DMA queue.
    Queue,
    /// An idle coprocessor.
    Core,
    /// A signal of this event.
    Signal(u32),
}

impl CommandNeeds {
    fn from_action(action: &HostAction) -> Self {
        match action {
            HostAction::Dma(_) => Self::Queue,
            HostAction::Launch { .. } => Self::Core,
            HostAction::WaitSignal { event } => Self::Signal(*event),
            HostAction::Work { .. }
            | HostAction::Write { .. }
            | HostAction::Step(_)
            | HostAction::Mark
            | HostAction::Read { .. }
            | HostAction::Send { .. }
            | HostAction::Receive { .. }
            | HostAction::Await { .. }
            | HostAction::Post { .. } => Self::Nothing,
        }
    }
}

/// Dependency of a command on another.
#[derive(Clone, Copy, Debug, PartialEq)]
struct CommandWait {
    /// Number of the command that is waited for.
    of: u64,
    /// Number of the command that waits.
    by: u64,
    /// True if the waiting command is a transfer.
    transfer: bool,
}

/// The commands, ascending, and their dependencies. Neither the search for commands that a completion lets go
/// nor the search for a ready command goes through all of them.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct CommandWindow {
    given: VecDeque<WaitingCommand>,
    /// Dependencies, ordered by the command that is waited for.
    waits: Vec<CommandWait>,
    /// Commands that wait for no other, ascending, and the resource they need.
    free: Vec<(u64, CommandNeeds)>,
}

impl CommandWindow {
    pub(super) fn clear(&mut self) {
        self.given.clear();
        self.waits.clear();
        self.free.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.given.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// Returns the commands in order.
    pub(super) fn iter(&self) -> impl Iterator<Item = &WaitingCommand> {
        self.given.iter()
    }

    /// Takes the next command into the window; of its dependencies those count that `waits` accepts.
    pub(super) fn push(&mut self, number: u64, command: Box<Command>, waits: impl Fn(u64) -> bool) {
        let transfer = matches!(command.action, HostAction::Dma(_));
        let mut left = 0;
        for &Event(of) in command.after.iter().filter(|Event(of)| waits(*of)) {
            let at = self.waits.partition_point(|wait| wait.of <= of);
            let by = number;
            self.waits.insert(at, CommandWait { of, by, transfer });
            left += 1;
        }
        if left == 0 {
            self.free
                .push((number, CommandNeeds::from_action(&command.action)));
        }
        self.given.push_back(WaitingCommand {
            number,
            command,
            left,
        });
    }

    /// Lets go the commands that wait for `command`; if `transfers` is set, only transfers.
    pub(super) fn release(&mut self, command: u64, transfers: bool) {
        let mut at = self.waits.partition_point(|wait| wait.of < command);
        while let Some(&CommandWait { of, by, transfer }) = self.waits.get(at) {
            if of != command {
                break;
            }
            if transfers && !transfer {
                at += 1;
                continue;
            }
            self.waits.remove(at);
            let place = self.place(by);
            if let Some(given) = place.and_then(|place| self.given.get_mut(place)) {
                given.left = given.left.saturating_sub(1);
                if given.left == 0 {
                    let needs = CommandNeeds::from_action(&given.command.action);
                    let at = self.free.partition_point(|free| free.0 < by);
                    self.free.insert(at, (by, needs));
                }
            }
        }
    }

    /// Takes out the first command that waits for no other and whose needs are met.
    pub(super) fn take(
        &mut self,
        met: impl Fn(CommandNeeds) -> bool,
    ) -> Option<(u64, Box<Command>)> {
        let mut unmet = None;
        let first = self.free.iter().position(|&(_, needs)| {
            // Consecutive commands often need the same resource, which is then tested once.
            let ready = unmet != Some(needs) && met(needs);
            if !ready {
                unmet = Some(needs);
            }
            ready
        });
        let (number, _) = self.free.remove(first?);
        let given = self.given.remove(self.place(number)?)?;
        Some((number, given.command))
    }

    /// Gives every command the number and content that it has elsewhere; returns nothing if it has none.
    pub(super) fn replace<'a>(
        &mut self,
        number: impl Fn(u64) -> u64,
        command: impl Fn(u64) -> Option<&'a Command>,
    ) -> Option<()> {
        for given in &mut self.given {
            given.number = number(given.number);
            *given.command = command(given.number)?.clone();
        }
        for wait in &mut self.waits {
            (wait.of, wait.by) = (number(wait.of), number(wait.by));
        }
        for (free, needs) in &mut self.free {
            *free = number(*free);
            *needs = CommandNeeds::from_action(&command(*free)?.action);
        }
        Some(())
    }

    fn place(&self, number: u64) -> Option<usize> {
        self.given
            .binary_search_by_key(&number, |given| given.number)
            .ok()
    }
}
