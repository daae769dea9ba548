//! The words that stay in program memory.

use super::block::{bases, reachable};
use super::pages::GatherLayout;
use super::registers::GatherRegisters;
use super::{ColumnLanes, NAME};
use crate::assembly::{Unfit, assembly};
use cp2_asm::{Options, Program, Source, Value};
use cp2_machine::Machine;

/// Assembles the words that stay in program memory.
pub(super) fn resident(
    layout: &GatherLayout,
    registers: &GatherRegisters,
    (masks, lanes): (usize, ColumnLanes),
    machine: &Machine,
) -> Result<Program, Unfit> {
    let free = i64::from(registers.free().end);
    let unroll = match lanes {
        ColumnLanes::Either => ((free - 1) / 2).min(8),
        _ => 0,
    };
    let bases = bases(reachable(machine)) as i64;
    let symbols = [
        ("BASES", bases),
        ("MASKS", masks as i64),
        ("FIRST_MASK", registers.first_mask().into()),
        ("ZERO", registers.zero().into()),
        ("SHIFTED", layout.shifted.into()),
        ("UNROLL", unroll),
        ("ALIGN", (machine.dma.granule.0 as i64 / 8).max(1)),
    ];
    let options = Options {
        defines: symbols
            .map(|(name, value)| (name.to_owned(), Value::Int(value)))
            .into(),
        machine: Some(machine),
        ..Options::default()
    };
    let source = Source::new("gather.s", include_str!("resident.s"));
    Ok(assembly(NAME, (&source, ""), &options)?.program)
}
