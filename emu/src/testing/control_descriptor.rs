//! Transfers that random actions of the control CPU ask for.

use super::case::ControlAction;
use super::layout::LOW;
use super::lockstep::{DATA, DATA_BYTES, VARIANT};
use cp2_dma::{Descriptor, Target};
use cp2_machine::Machine;

/// Returns the descriptor of an action that is a transfer.
pub(super) fn descriptor(deed: &ControlAction, machine: &Machine, program: usize) -> Descriptor {
    let granule = machine.dma.granule.0;
    match *deed {
        ControlAction::Transfer {
            load,
            target,
            slot,
            local,
            run,
            runs,
            gap,
            event,
        } => {
            let sections = machine.cp2.sections as u64;
            let run = (u64::from(run) + 1) * granule;
            let target = match target % 4 {
                0 => Target::Section(u32::from(target / 4) % sections as u32),
                1 => Target::Blocks {
                    stride: (4 * run) as i64,
                },
                2 if load => Target::Broadcast,
                _ => Target::Deal,
            };
            let slots = DATA_BYTES as u64 / granule;
            let low = u64::from(LOW).next_multiple_of(granule);
            let room = (machine.cp2.dmem.0 - low) / granule;
            let at = DATA + u64::from(slot) % slots * granule;
            let local = low + u64::from(local) % room * granule;
            let new = if load {
                Descriptor::load
            } else {
                Descriptor::store
            };
            let stride = run + u64::from(gap) * granule;
            let mut d = new(target, at, local as u32, run).level(
                u32::from(runs) + 1,
                stride as i64,
                run as i64,
            );
            d.event = event.map(u32::from);
            d
        }
        ControlAction::Replace {
            word,
            words,
            garbage,
        } => {
            let per_granule = (granule / 8).max(1);
            let granules = (program as u64).div_ceil(per_granule).max(1);
            let first = u64::from(word) % granules;
            let count = (u64::from(words) / per_granule + 1).min(granules - first);
            let at = first * granule;
            let from = if garbage { DATA } else { VARIANT };
            Descriptor::load(Target::Program, from + at, at as u32, count * granule)
        }
        // Descriptor without bytes, which every machine refuses.
        ControlAction::Post { .. } => Descriptor::load(Target::Program, 0, 0, 0),
    }
}
