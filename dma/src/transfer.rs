//! The trait of transfers: any kind is its runs, in the order they move.

use crate::error::{DescriptorError, Field, FieldValue, Memory, Rule};
use crate::validate::PROGRAM_WORD;
use crate::{Combine, Direction, Places, Recipient, Run, Schedule, Sweep};
use cp2_machine::Machine;
use std::ops::Range;

/// A kind of transfer. Validation, copy, timing and race checks follow from its runs: a new kind needs only
/// the first three functions.
///
/// `combine`, `check` and `schedule` may differ from their defaults. The other functions are closed forms, for kinds
/// that have them: each returns what its default computes from the runs, in less time. Consumers of transfers take them
/// through [`validate`](fn@crate::validate), [`copy`](fn@crate::copy) and [`transfer_time`](crate::transfer_time).
pub trait Transfer {
    /// Returns the direction, load or store.
    fn direction(&self) -> Direction;

    /// Returns the CP2 event to post when the transfer completes.
    fn event(&self) -> Option<u32>;

    /// Returns what becomes of the bytes at the destination. Copy and checkers honour it; the time is the same.
    fn combine(&self) -> Combine {
        Combine::Replace
    }

    /// Returns the runs in the order in which they move. Adjacent runs in system memory may be given apart or
    /// as one: timing joins them.
    ///
    /// Runs of a transfer that [`check`](Self::check) refuses mean nothing, but iterating is safe.
    fn runs(&self, machine: &Machine) -> impl Iterator<Item = Run>;

    /// Checks every rule of the controller, before anything moves. Kinds with rules of their own check these
    /// first.
    ///
    /// # Errors
    /// The first rule that is broken.
    fn check(&self, machine: &Machine) -> Result<(), DescriptorError> {
        check_runs(self, machine)
    }

    /// Returns the ranges that the transfer touches in system memory and in local memory.
    fn bounds(&self, machine: &Machine) -> Bounds {
        let mut runs = self.runs(machine);
        let first = runs.next();
        let first = first.map_or(Bounds::default(), |run| Bounds::of(&run, machine));
        runs.fold(first, |all, run| all.with(Bounds::of(&run, machine)))
    }

    /// Returns the addresses that the transfer touches in system memory, run by run.
    fn places(&self, machine: &Machine) -> Places {
        self.runs(machine)
            .map(|run| (run.system, run.bytes))
            .collect()
    }

    /// Returns the times at which its granules cross the channel.
    fn schedule(&self, machine: &Machine) -> Schedule {
        Schedule::of_runs(self.runs(machine), machine)
    }

    /// Returns the transfer with its runs packed from address 0 of system memory, one behind the other.
    /// Returns none if this kind of transfer cannot express that.
    fn packed(&self, _machine: &Machine) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// Returns a valid transfer of every section as one sweep, with the span of system memory that it
    /// touches. Returns none if the transfer is not of this form.
    fn sweep(&self, _machine: &Machine) -> Option<(Range<u64>, Sweep)> {
        None
    }
}

/// Ranges from the first byte touched to the end of the last, in system memory and in local memory (of any
/// section).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// Bytes in system memory.
    pub system: Range<u64>,
    /// Bytes in DMEM or program memory.
    pub local: Range<u64>,
}

impl Bounds {
    /// Returns the bounds of one run.
    fn of(run: &Run, machine: &Machine) -> Self {
        let local = u64::from(run.local);
        Self {
            system: run.system..run.system.saturating_add(run.bytes),
            local: local..local.saturating_add(run.most_local(machine)),
        }
    }

    fn with(self, other: Self) -> Self {
        let both = |a: Range<u64>, b: Range<u64>| a.start.min(b.start)..a.end.max(b.end);
        Self {
            system: both(self.system, other.system),
            local: both(self.local, other.local),
        }
    }
}

/// Returns the range of addresses that a run repeated by nested turns `(count, stride)` reaches: each turn
/// widens it by `(count - 1) * stride`, below or above.
pub fn extent(run: Range<i128>, turns: impl Iterator<Item = (u32, i64)>) -> Range<i128> {
    turns.fold(run, |run, (count, stride)| {
        let way = i128::from(count.saturating_sub(1)) * i128::from(stride);
        run.start + way.min(0)..run.end + way.max(0)
    })
}

/// Checks the rules of the controller run by run: each run lies inside both memories and is whole granules,
/// and all runs together move no more bytes than their destination holds.
pub(crate) fn check_runs<T: Transfer + ?Sized>(
    transfer: &T,
    machine: &Machine,
) -> Result<(), DescriptorError> {
    let (sections, granule) = (machine.cp2.sections as u64, machine.dma.granule.0.max(1));
    let system = (Memory::System, machine.host.memory.0);
    let store = transfer.direction() == Direction::Store;
    // Bytes so far for each section, for program memory and, in a store, for system memory.
    let mut taken = vec![0u64; machine.cp2.sections];
    let (mut program, mut stored) = (0u64, 0u64);
    if let Some(event) = transfer.event() {
        at_most(Field::Event, event, machine.cp2.events)?;
    }
    for (number, run) in (0..).zip(transfer.runs(machine)) {
        let (memory, size) = match run.to {
            Recipient::Program => (Memory::Program, machine.cp2.program.0),
            _ => (Memory::Dmem, machine.cp2.dmem.0),
        };
        if store && matches!(run.to, Recipient::Program | Recipient::All) {
            return Err(DescriptorError {
                field: Field::Direction,
                value: FieldValue::Direction(Direction::Store),
                rule: Rule::LoadsOnly,
                nearest: Some(FieldValue::Direction(Direction::Load)),
            });
        }
        if let Recipient::Section(section) = run.to {
            at_most(Field::Section, section, machine.cp2.sections)?;
        }
        let (unit, rule) = match run.to {
            Recipient::Program if granule < PROGRAM_WORD => {
                (PROGRAM_WORD, Rule::ProgramWord(PROGRAM_WORD))
            }
            _ => (granule, Rule::Granule(granule)),
        };
        let [from, to, bytes] = [Field::RunSystem, Field::RunLocal, Field::RunBytes];
        let (from, to, bytes) = (from(number), to(number), bytes(number));
        whole(from, run.system, granule, Rule::Granule(granule))?;
        whole(to, run.local.into(), unit, rule)?;
        whole(bytes, run.bytes, unit, rule)?;
        if run.bytes == 0 {
            return refuse(bytes, 0, Rule::AtLeast(unit));
        }
        inside(from, run.system, run.bytes, system)?;
        inside(
            to,
            run.local.into(),
            run.most_local(machine),
            (memory, size),
        )?;
        let full = |memory, size| refuse(bytes, run.bytes, Rule::Capacity { memory, size });
        if store {
            stored = stored.saturating_add(run.bytes);
            if stored > system.1 {
                return full(Memory::System, system.1);
            }
        } else if run.to == Recipient::Program {
            program = program.saturating_add(run.bytes);
            if program > size {
                return full(memory, size);
            }
        } else {
            for (section, taken) in (0..sections as u32).zip(&mut taken) {
                *taken = taken.saturating_add(run.bytes_in(section, machine));
                if *taken > size {
                    return full(memory, size);
                }
            }
        }
    }
    Ok(())
}

pub(crate) fn refuse(field: Field, value: u64, rule: Rule) -> Result<(), DescriptorError> {
    Err(DescriptorError {
        field,
        value: FieldValue::Number(value.into()),
        rule,
        nearest: None,
    })
}

fn at_most(field: Field, value: u32, count: usize) -> Result<(), DescriptorError> {
    let most = (count as u64).saturating_sub(1);
    match u64::from(value) <= most {
        true => Ok(()),
        false => Err(DescriptorError {
            field,
            value: FieldValue::Number(value.into()),
            rule: Rule::AtMost(most),
            nearest: Some(FieldValue::Number(most.into())),
        }),
    }
}

fn whole(field: Field, value: u64, unit: u64, rule: Rule) -> Result<(), DescriptorError> {
    match value.is_multiple_of(unit) {
        true => Ok(()),
        false => refuse(field, value, rule),
    }
}

fn inside(
    field: Field,
    from: u64,
    bytes: u64,
    (memory, size): (Memory, u64),
) -> Result<(), DescriptorError> {
    match from.checked_add(bytes) {
        Some(end) if end <= size => Ok(()),
        _ => refuse(field, from, Rule::Inside { memory, size }),
    }
}
