//! Checks of commands that are refused when they are given.

use super::command::{Command, HostAction};
use super::cpu::{MAX_COST, cost};
use super::error::{CommandError, HostError};
use cp2_machine::Machine;

/// Checks everything about a command that can be checked before it runs.
pub(super) fn admit(machine: &Machine, number: u64, command: &Command) -> Result<(), HostError> {
    if let Some(&dependency) = command.after.iter().find(|d| d.0 >= number) {
        return Err(HostError::UnknownEvent {
            command: number,
            dependency,
        });
    }
    let fail = |reason: CommandError| HostError::Command {
        command: number,
        name: command.name.to_string(),
        reason: Box::new(reason),
    };
    let memory = |address: u64, bytes: u64| {
        let size = machine.host.memory.0;
        match address.checked_add(bytes) {
            Some(end) if end <= size => Ok(()),
            _ => Err(fail(
                cp2_emu::OutOfMemory::Outside {
                    address,
                    bytes,
                    size,
                }
                .into(),
            )),
        }
    };
    match &command.action {
        HostAction::Dma(d) => cp2_dma::validate(d, machine)
            .map(|_| ())
            .map_err(|e| fail(e.into()))?,
        HostAction::Write { address, bytes } => memory(*address, bytes.len() as u64)?,
        HostAction::Read { address, bytes, .. } => memory(*address, *bytes)?,
        HostAction::Send { region, .. } | HostAction::Receive { region, .. } => {
            let (address, bytes) = region.extent();
            memory(address, bytes)?;
        }
        HostAction::Await { arrivals, .. } => {
            for (address, bytes) in arrivals.iter().map(|arrival| arrival.region.extent()) {
                memory(address, bytes)?;
            }
        }
        HostAction::Step(step) => step.check(machine.host.memory.0).map_err(fail)?,
        HostAction::Post { event } | HostAction::WaitSignal { event }
            if *event as usize >= machine.cp2.events =>
        {
            return Err(fail(
                cp2_emu::NoEvent {
                    event: *event,
                    events: machine.cp2.events,
                }
                .into(),
            ));
        }
        _ => {}
    }
    match cost(machine, &command.action) {
        cycles if cycles > MAX_COST => Err(fail(CommandError::TooLong {
            cycles,
            limit: MAX_COST,
        })),
        _ => Ok(()),
    }
}
