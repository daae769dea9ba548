//! Checks of commands that are refused when they are given.

use super::command::{Command, HostAction};
use super::cpu::{MAX_COST, cost};
use super::error::{CommandError, HostError};
use super::messages::MessageRegion;
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
            check_region(region, &memory, &fail)?;
        }
        HostAction::Await {
            until, arrivals, ..
        } => {
            if *until > MAX_COST {
                return Err(fail(CommandError::TooLate {
                    until: *until,
                    limit: MAX_COST,
                }));
            }
            for arrival in arrivals {
                check_region(&arrival.region, &memory, &fail)?;
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

/// Checks that the rows of a message do not overlap, and lie in system memory.
fn check_region(
    region: &MessageRegion,
    memory: &dyn Fn(u64, u64) -> Result<(), HostError>,
    fail: &dyn Fn(CommandError) -> HostError,
) -> Result<(), HostError> {
    let apart = region.rows <= 1 || (region.row > 0 && region.pitch >= region.row);
    if !apart {
        return Err(fail(CommandError::Rows {
            rows: region.rows,
            row: region.row,
            pitch: region.pitch,
        }));
    }
    let (address, bytes) = region.extent();
    memory(address, bytes)
}
