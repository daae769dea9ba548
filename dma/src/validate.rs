//! Validation of a descriptor: every rule of the controller on a machine.

use crate::error::{DescriptorError, Field, FieldValue, Memory, Rule};
use crate::runs::turns;
use crate::transfer::extent;
use crate::{Combine, Descriptor, Direction, Recipient, Run, Target, Transfer};
use cp2_machine::Machine;

type Checked = Result<(), DescriptorError>;

fn refuse(field: Field, value: i128, rule: Rule, nearest: Option<i128>) -> Checked {
    let number = FieldValue::Number;
    Err(DescriptorError {
        field,
        value: number(value),
        rule,
        nearest: nearest.map(number),
    })
}

/// Checks every rule of the controller; nothing has moved when it fails.
///
/// # Errors
/// The first rule that is broken, with field, value and, for a descriptor, the nearest legal value.
pub fn validate(transfer: &impl Transfer, machine: &Machine) -> Checked {
    transfer.check(machine)?;
    let combine = transfer.combine();
    let programs = |run: Run| run.to == Recipient::Program;
    if combine != Combine::Replace && transfer.runs(machine).any(programs) {
        return Err(DescriptorError {
            field: Field::Combine,
            value: FieldValue::Name(combine.name()),
            rule: Rule::ReplacesOnly,
            nearest: None,
        });
    }
    Ok(())
}

/// Checks the rules for a descriptor. Bounds follow from strides and counts in closed form: the time of the
/// check does not depend on the counts.
pub(crate) fn strided(d: &Descriptor, machine: &Machine) -> Checked {
    shape(d, machine)?;
    alignment(d, machine)?;
    let (memory, size) = local_memory(d, machine);
    let sections = machine.cp2.sections as u64;
    let granule = machine.dma.granule.0.max(1);

    let longest = if matches!(d.target, Target::Deal) {
        size.saturating_mul(sections)
    } else {
        size
    };
    let whole = |run: u64| Some(i128::from(run - run % local_granule(d, machine)));
    let system = machine.host.memory.0;
    let inside = Rule::Inside {
        memory: Memory::System,
        size: system,
    };
    if d.run > system {
        return refuse(Field::Run, d.run.into(), inside, whole(system.min(longest)));
    }
    let inside_local = Rule::Inside { memory, size };
    if d.run > longest {
        return refuse(Field::Run, d.run.into(), inside_local, whole(longest));
    }
    let systems = turns(d, machine).map(|t| (t.count, t.system));
    let locals = turns(d, machine).map(|t| (t.count, t.local));
    let side = Side {
        rule: inside,
        size: system,
        granule,
        run: d.run,
        is_system: true,
    };
    side.check(d, d.system, systems)?;
    let side = Side {
        rule: inside_local,
        size,
        granule: local_granule(d, machine),
        run: local_run(d, machine),
        is_system: false,
    };
    side.check(d, d.local.into(), locals)?;
    capacity(d, machine, memory, size)
}

/// Checks the rules about single fields that are not addresses.
fn shape(d: &Descriptor, machine: &Machine) -> Checked {
    if d.direction == Direction::Store && matches!(d.target, Target::Program | Target::Broadcast) {
        return Err(DescriptorError {
            field: Field::Direction,
            value: FieldValue::Direction(Direction::Store),
            rule: Rule::LoadsOnly,
            nearest: Some(FieldValue::Direction(Direction::Load)),
        });
    }
    let at_most = |field, value: u64, most: usize| {
        if value > most as u64 {
            refuse(
                field,
                value.into(),
                Rule::AtMost(most as u64),
                Some(most as i128),
            )
        } else {
            Ok(())
        }
    };
    if let Target::Section(section) = d.target {
        at_most(
            Field::Section,
            section.into(),
            machine.cp2.sections.saturating_sub(1),
        )?;
    }
    if let Some(event) = d.event {
        at_most(
            Field::Event,
            event.into(),
            machine.cp2.events.saturating_sub(1),
        )?;
    }
    at_most(Field::Levels, d.levels.len() as u64, machine.dma.levels)?;
    match d.levels.iter().position(|l| l.count == 0) {
        Some(i) => refuse(Field::Count(i), 0, Rule::AtLeast(1), Some(1)),
        None => Ok(()),
    }
}

/// Bytes of a program word, the unit of transfers to program memory.
pub(crate) const PROGRAM_WORD: u64 = 8;

/// Returns the bytes that local addresses, local strides and runs must be multiples of.
fn local_granule(d: &Descriptor, machine: &Machine) -> u64 {
    let granule = machine.dma.granule.0.max(1);
    match d.target {
        Target::Program => granule.max(PROGRAM_WORD),
        _ => granule,
    }
}

/// Checks that addresses, strides and the run are multiples of their granules.
fn alignment(d: &Descriptor, machine: &Machine) -> Checked {
    let granule = machine.dma.granule.0.max(1);
    let local = local_granule(d, machine);
    let multiple = |field, rule, granule: u64, value: i128, lo: i128, hi: i128| {
        let g = i128::from(granule);
        // 64-bit divisions are several times faster than 128-bit ones, and many transfers are checked.
        let whole = match (i64::try_from(value), i64::try_from(granule)) {
            (Ok(value), Ok(granule)) => value.rem_euclid(granule) == 0,
            _ => value.rem_euclid(g) == 0,
        };
        if whole {
            return Ok(());
        }
        let below = value - value.rem_euclid(g);
        let near_first = if value - below <= g / 2 {
            [below, below + g]
        } else {
            [below + g, below]
        };
        let nearest = near_first.into_iter().find(|n| (lo..=hi).contains(n));
        refuse(field, value, rule, nearest)
    };
    if d.run > 0 && whole_at_a_glance(d, granule, local) {
        return Ok(());
    }
    let rule = Rule::Granule(granule);
    let local_rule = if local == granule {
        rule
    } else {
        Rule::ProgramWord(local)
    };
    let whole = |field, value, lo, hi| multiple(field, rule, granule, value, lo, hi);
    let whole_local = |field, value, lo, hi| multiple(field, local_rule, local, value, lo, hi);
    whole(Field::System, d.system.into(), 0, u64::MAX.into())?;
    whole_local(Field::Local, d.local.into(), 0, u32::MAX.into())?;
    whole_local(Field::Run, d.run.into(), local.into(), u64::MAX.into())?;
    if d.run == 0 {
        return refuse(Field::Run, 0, Rule::AtLeast(local), Some(local.into()));
    }
    let strides = i64::MIN.into()..=i64::MAX.into();
    let (lo, hi): (i128, i128) = strides.into_inner();
    for (i, level) in d.levels.iter().enumerate() {
        whole(Field::SystemStride(i), level.system_stride.into(), lo, hi)?;
        whole_local(Field::LocalStride(i), level.local_stride.into(), lo, hi)?;
    }
    if let Target::Blocks { stride } = d.target {
        whole(Field::BlockStride, stride.into(), lo, hi)?;
    }
    Ok(())
}

/// Returns true only if all addresses, strides and the run are multiples of their granules, without
/// divisions. False decides nothing: it is also returned for granules that are not powers of two, which few
/// machines have.
fn whole_at_a_glance(d: &Descriptor, granule: u64, local: u64) -> bool {
    let block = match d.target {
        Target::Blocks { stride } => stride,
        _ => 0,
    };
    let (mut systems, mut locals) = (d.system | block as u64, d.run | u64::from(d.local));
    for level in &d.levels {
        systems |= level.system_stride as u64;
        locals |= level.local_stride as u64;
    }
    let whole = |bits: u64, granule: u64| granule.is_power_of_two() && bits & (granule - 1) == 0;
    whole(systems, granule) && whole(locals, local)
}

fn local_memory(d: &Descriptor, machine: &Machine) -> (Memory, u64) {
    match d.target {
        Target::Program => (Memory::Program, machine.cp2.program.0),
        _ => (Memory::Dmem, machine.cp2.dmem.0),
    }
}

/// Returns the bytes that one run takes in a local memory; for a dealt run those of section 0, which holds
/// most.
pub(crate) fn local_run(d: &Descriptor, machine: &Machine) -> u64 {
    let to = match d.target {
        Target::Deal => Recipient::Deal,
        _ => Recipient::All,
    };
    let run = Run {
        system: d.system,
        local: d.local,
        bytes: d.run,
        to,
    };
    run.most_local(machine)
}

/// One side of the transfer: system or local memory.
struct Side {
    rule: Rule,
    size: u64,
    granule: u64,
    run: u64,
    is_system: bool,
}

impl Side {
    /// Returns true if all that the nest reaches lies in `0..size`.
    fn holds(&self, start: u64, turns: impl Iterator<Item = (u32, i64)>) -> bool {
        let start = i128::from(start);
        let all = extent(start..start + i128::from(self.run), turns);
        all.start >= 0 && all.end <= i128::from(self.size)
    }

    /// Checks that everything the nest reaches lies in `0..size`. Each turn widens
    /// the reach; the first that makes it larger than the memory is at fault,
    /// otherwise the start address.
    fn check(
        &self,
        d: &Descriptor,
        start: u64,
        turns: impl Iterator<Item = (u32, i64)> + Clone,
    ) -> Checked {
        if self.holds(start, turns.clone()) {
            return Ok(());
        }
        let start = i128::from(start);
        let size = i128::from(self.size);
        let (mut low, mut high) = (0, i128::from(self.run));
        for (i, (count, stride)) in turns.enumerate() {
            let stride = i128::from(stride);
            let span = high - low;
            let reach = i128::from(count.saturating_sub(1)) * stride;
            if span + reach.abs() > size {
                // Room in bytes in the direction of the stride, from this start address if that is possible.
                let fits = start + low >= 0 && start + high <= size;
                let room = match (fits, stride > 0) {
                    (false, _) => size - span,
                    (true, true) => size - start - high,
                    (true, false) => start + low,
                };
                // Fewer turns, or a shorter stride where one turn is already too far.
                let turns = room / stride.abs().max(1) + 1;
                let most = room / (i128::from(count) - 1).max(1);
                let shorter = (most - most % i128::from(self.granule)) * stride.signum();
                let (field, value, nearest) = if i == d.levels.len() {
                    (Field::BlockStride, stride, shorter)
                } else if turns > 1 {
                    (Field::Count(i), i128::from(count), turns)
                } else if self.is_system {
                    (Field::SystemStride(i), stride, shorter)
                } else {
                    (Field::LocalStride(i), stride, shorter)
                };
                return refuse(field, value, self.rule, Some(nearest));
            }
            low += reach.min(0);
            high += reach.max(0);
        }
        let (least, most) = (-low, size - high);
        if (least..=most).contains(&start) {
            return Ok(());
        }
        let field = if self.is_system {
            Field::System
        } else {
            Field::Local
        };
        refuse(field, start, self.rule, Some(start.max(least).min(most)))
    }
}

/// Checks that no transfer moves more bytes than its destination holds, as it would write some byte twice.
/// This bounds the work of any descriptor, whatever its counts.
fn capacity(d: &Descriptor, machine: &Machine, memory: Memory, size: u64) -> Checked {
    let sections = machine.cp2.sections as u64;
    let granule = machine.dma.granule.0.max(1);
    let (rule, limit, run) = match (d.direction, d.target) {
        (Direction::Load, _) => (Rule::Capacity { memory, size }, size, local_run(d, machine)),
        (Direction::Store, target) => {
            let total = machine.host.memory.0;
            let blocks = if matches!(target, Target::Blocks { .. }) {
                sections
            } else {
                1
            };
            (
                Rule::Capacity {
                    memory: Memory::System,
                    size: total,
                },
                total / blocks,
                d.run,
            )
        }
    };
    if run > limit {
        let nearest = limit - limit % granule;
        let nearest = (nearest > 0).then_some(i128::from(nearest));
        return refuse(Field::Run, d.run.into(), rule, nearest);
    }
    let mut bytes = i128::from(run);
    for (i, level) in d.levels.iter().enumerate() {
        let count = i128::from(level.count);
        if bytes * count > i128::from(limit) {
            return refuse(
                Field::Count(i),
                count,
                rule,
                Some(i128::from(limit) / bytes),
            );
        }
        bytes *= count;
    }
    Ok(())
}
