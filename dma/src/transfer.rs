//! What every kind of transfer is: runs, in the order in which they move.

use crate::error::{DescriptorError, Field, FieldValue, Memory, Rule};
use crate::validate::PROGRAM_WORD;
use crate::{Direction, Places, Recipient, Run, Schedule, Sweep};
use cp2_machine::Machine;
use std::ops::Range;

/// A kind of transfer. Everything that is done with one, its validation, copy, time, race checks, follows from its
/// runs: a new kind needs the first three functions.
///
/// The others are closed forms, for kinds that have any: each gives what its default makes of the runs, sooner. What consumes
/// transfers takes them through [`validate`](crate::validate), [`copy`](crate::copy) and [`transfer_time`](crate::transfer_time).
pub trait Transfer {
    /// Load or store.
    fn direction(&self) -> Direction;

    /// CP2 event to post when the transfer completes.
    fn event(&self) -> Option<u32>;

    /// The runs in the order in which they move. Runs that touch in system memory may be given apart or as one: timing joins them.
    ///
    /// Those of a transfer that [`check`](Self::check) refuses mean nothing, but iterating is safe.
    fn runs(&self, machine: &Machine) -> impl Iterator<Item = Run>;

    /// Checks every rule of the controller; nothing has moved when it fails. Kinds with rules of their own check these first.
    ///
    /// # Errors
    /// The first rule that is broken.
    fn check(&self, machine: &Machine) -> Result<(), DescriptorError> {
        check_runs(self, machine)
    }

    /// What it touches in system memory and in local memory.
    fn bounds(&self, machine: &Machine) -> Bounds {
        let mut runs = self.runs(machine);
        let first = runs.next();
        let first = first.map_or(Bounds::default(), |run| Bounds::of(&run, machine));
        runs.fold(first, |all, run| all.with(Bounds::of(&run, machine)))
    }

    /// Where in system memory it goes, run by run.
    fn places(&self, machine: &Machine) -> Places {
        self.runs(machine)
            .map(|run| (run.system, run.bytes))
            .collect()
    }

    /// When its granules cross the channel.
    fn schedule(&self, machine: &Machine) -> Schedule {
        Schedule::of_runs(self.runs(machine), machine)
    }

    /// The same transfer with its runs one behind the other from address 0 of system memory, where this kind has it.
    fn packed(&self, _machine: &Machine) -> Option<Self>
    where
        Self: Sized,
    {
        None
    }

    /// A valid transfer of every section, all at once, and the span of system memory that it touches; none where it is no such.
    fn sweep(&self, _machine: &Machine) -> Option<(Range<u64>, Sweep)> {
        None
    }
}

/// From the first byte to behind the last, of system memory and of local memory, whichever section's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bounds {
    /// In system memory.
    pub system: Range<u64>,
    /// In DMEM or program memory.
    pub local: Range<u64>,
}

impl Bounds {
    /// What a run touches.
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

/// The addresses that a run repeated by nested turns `(count, stride)` reaches, from the first to behind the last.
pub fn extent(run: Range<i128>, turns: impl Iterator<Item = (u32, i64)>) -> Range<i128> {
    turns.fold(run, |run, (count, stride)| {
        let way = i128::from(count.saturating_sub(1)) * i128::from(stride);
        run.start + way.min(0)..run.end + way.max(0)
    })
}

/// The rules of the controller, run by run: each inside both memories, whole granules, and together no more than their destination holds.
fn check_runs<T: Transfer + ?Sized>(
    transfer: &T,
    machine: &Machine,
) -> Result<(), DescriptorError> {
    let (sections, granule) = (machine.cp2.sections as u64, machine.dma.granule.0.max(1));
    let system = (Memory::System, machine.host.memory.0);
    let store = transfer.direction() == Direction::Store;
    // Bytes for each section, for program memory and, of a store, for system memory.
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

fn refuse(field: Field, value: u64, rule: Rule) -> Result<(), DescriptorError> {
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
        false => refuse(field, value.into(), Rule::AtMost(most)),
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
