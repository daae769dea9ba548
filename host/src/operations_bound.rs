//! The cycles that no run of the same operations goes below.
//!
//! The bound is of one finished run: of the operations that issued in it, of the bytes that it moved, and of the
//! commands of its control CPU. It holds for every order of these, on any data and with any overlap. Each term
//! is a unit that does one thing at a time, so that no run is shorter than the sum of what the unit has to do:
//!
//! * *A slot.* A word issues in a cycle of its own and has one operation in each slot. No word issues in the
//!   cycles that the machine loses after a taken branch, a call, a return, the set-up of a loop, or the way back
//!   to a loop's first word: control operations with the same outcomes lose them in any order. A slot with `n`
//!   operations needs `n` cycles and all that are lost.
//! * *A unit.* It accepts an operation `interval` cycles after the one before. Between the first and the last of
//!   `n` lie `(n - 1) interval` cycles, and the last one issues in a cycle of its own.
//! * *The channel.* One transfer is under way at a time: its granules at the channel's rate, what each contiguous
//!   run takes to begin, and before them at least the lesser of both set-ups. Bytes do not depend on the order.
//! * *The control CPU.* It carries one command out at a time.
//!
//! Unlike the bound of a loop ([`cp2_asm::analysis::LoopBound`]) it has no term of results that are waited for:
//! in a run of many loops these waits can overlap.

use crate::FinishedRun;
use cp2_asm::isa::Slot;
use cp2_emu::{Cause, Causes};
use cp2_machine::{Class, Ticks};
use serde::{Deserialize, Serialize};
use std::cmp::Reverse;
use std::fmt;

/// Unit that limits a run of the same operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum OperationsLimit {
    /// The arithmetic slot: one operation in a word.
    Arithmetic,
    /// The slot for memory, scalars and control: one operation in a word.
    Memory,
    /// A unit that accepts an operation only every few cycles.
    Unit(Class),
    /// The channel between system memory and local memories.
    Dma,
    /// The control CPU: descriptors, and what it computes itself.
    ControlCpu,
}

impl fmt::Display for OperationsLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arithmetic => f.write_str("arithmetic"),
            Self::Memory => f.write_str("memory"),
            Self::Unit(class) => write!(f, "unit-{class}"),
            Self::Dma => f.write_str("dma"),
            Self::ControlCpu => f.write_str("control-cpu"),
        }
    }
}

/// Lower bound of the cycles of a run, from the operations that it carried out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationsBound {
    /// All terms that are not 0, in cycles, the largest first; equal ones in the order of [`OperationsLimit`].
    pub terms: Vec<(OperationsLimit, u64)>,
}

impl OperationsBound {
    /// Computes the bound of a run. There is none for a run that did not finish, of whose last transfer and
    /// command only parts were carried out.
    #[must_use]
    pub fn new(run: &FinishedRun) -> Option<Self> {
        let (report, machine) = (&run.report, run.processor().machine());
        if !report.end.is_finished() {
            return None;
        }
        let operations = &report.counters.work.operations;
        let lost = lost_by_control(&report.counters.causes);
        let in_slot = |slot| -> u64 {
            let classes = Class::ALL
                .into_iter()
                .filter(|&class| slot_of(class) == slot);
            classes.map(|class| operations[class]).sum()
        };
        let slot = |slot| match in_slot(slot) {
            0 => 0,
            count => count + lost,
        };
        let mut terms = vec![
            (OperationsLimit::Arithmetic, slot(Slot::Arith)),
            (OperationsLimit::Memory, slot(Slot::Mem)),
        ];
        for class in Class::ALL {
            let interval = machine.cp2.interval[class].0;
            let count = operations[class];
            if interval > 1 && count > 0 {
                let busy = (count - 1).saturating_mul(interval).saturating_add(1);
                terms.push((OperationsLimit::Unit(class), busy));
            }
        }
        let (base, dma) = (machine.time_base(), &machine.dma);
        let setup = base.cycles(dma.setup_idle.min(dma.setup_queued));
        let setups = setup.0.saturating_mul(report.dma.transfers);
        let moved = report.dma.moving + Ticks(setups);
        terms.push((OperationsLimit::Dma, base.ceil_cycles(moved).0));
        terms.push((OperationsLimit::ControlCpu, report.host.busy));
        terms.retain(|&(_, cycles)| cycles > 0);
        terms.sort_by_key(|&(_, cycles)| Reverse(cycles));
        Some(Self { terms })
    }

    /// Returns the bound in cycles.
    #[must_use]
    pub fn cycles(&self) -> u64 {
        self.terms.first().map_or(0, |&(_, cycles)| cycles)
    }

    /// Returns the term that is the bound; none for a run of nothing.
    #[must_use]
    pub fn limit(&self) -> Option<OperationsLimit> {
        self.terms.first().map(|&(limit, _)| limit)
    }

    /// Returns bound / measured, which is at most 1.
    #[must_use]
    pub fn efficiency(&self, measured: u64) -> f64 {
        self.cycles() as f64 / measured.max(1) as f64
    }
}

/// Returns the cycles in which no word issued since a control operation had been carried out.
fn lost_by_control(causes: &Causes) -> u64 {
    causes.get(Cause::Branch) + causes.get(Cause::Loop)
}

/// Returns the slot that the operations of a class are of.
fn slot_of(class: Class) -> Slot {
    match class.is_memory() {
        true => Slot::Mem,
        false => Slot::Arith,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cp2_asm::isa::Op;

    /// Counts by class say how many operations each slot had.
    #[test]
    fn a_class_is_of_one_slot() {
        for op in Op::ALL.iter().filter(|op| **op != Op::Nop) {
            let row = op.row();
            assert_eq!(row.slot(), slot_of(row.class), "{}", row.mnemonic);
        }
    }
}
