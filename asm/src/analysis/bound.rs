//! The cycles that no order of a loop's operations goes below.

use super::CycleRatio;
use super::dependence::{find_largest_ratio, list_dependences, list_operations};
use crate::isa::{Slot, Word};
use cp2_machine::{Class, Cp2};
use std::fmt;

/// Reason why an iteration takes as many cycles as it does at least.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopLimit {
    /// The operations of the arithmetic slot, one in a word.
    Arithmetic,
    /// The operations of the slot for memory, scalars and control, one in a word.
    Memory,
    /// A unit that accepts an operation only every few cycles.
    Unit(Class),
    /// Results that come back to their own operation in a later iteration.
    Recurrence {
        /// Words of the operations, as program addresses, in the order in which results flow.
        words: Vec<usize>,
    },
}

impl fmt::Display for LoopLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Arithmetic => f.write_str("arithmetic"),
            Self::Memory => f.write_str("memory"),
            Self::Unit(class) => write!(f, "unit-{class}"),
            Self::Recurrence { .. } => f.write_str("recurrence"),
        }
    }
}

/// Lower bound of the cycles of an iteration, on average over many iterations.
///
/// The bound holds for every order of the loop's operations, with any registers and over any number of
/// iterations at once. A loop of few iterations may take less, as its last results are still under way when it ends,
/// and it does not come back after the last one. A slot has one operation in a cycle, and none in the cycles that a
/// loop loses when its body starts again; a unit is busy for its interval with each operation; and a result is there
/// after its latency. Loads are not taken to depend on stores.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopBound {
    /// Cycles of an iteration, at least: the largest of the terms.
    pub cycles: CycleRatio,
    /// All terms with their cycles, the largest first; equal ones in the order of [`LoopLimit`].
    pub terms: Vec<(LoopLimit, CycleRatio)>,
    /// Operations of the arithmetic slot.
    pub arithmetic: usize,
    /// Operations of the slot for memory, scalars and control.
    pub memory: usize,
}

impl LoopBound {
    /// Computes the bound of a body, whose first word is at program address `first`. `back` are the cycles that are
    /// lost when the body starts again.
    pub(super) fn new(body: &[Word], first: usize, back: u64, cp2: &Cp2) -> Self {
        let operations = list_operations(body);
        let in_slot = |slot| {
            let all = operations.iter();
            all.filter(|o| o.inst.row().slot() == slot).count()
        };
        let [arithmetic, memory] = [Slot::Arith, Slot::Mem].map(in_slot);
        // A word is necessary even if it has no operation: an empty slot limits nothing then.
        let slot = |count: usize| CycleRatio::whole(count.max(1) as u64 + back);
        let mut terms = Vec::new();
        if arithmetic > 0 {
            terms.push((LoopLimit::Arithmetic, slot(arithmetic)));
        }
        if memory > 0 || arithmetic == 0 {
            terms.push((LoopLimit::Memory, slot(memory)));
        }
        for class in Class::ALL {
            let interval = cp2.interval[class].0;
            let of_class = operations.iter().filter(|o| o.inst.row().class == class);
            let busy = of_class.count() as u64 * interval;
            if interval > 1 && busy > 0 {
                terms.push((LoopLimit::Unit(class), CycleRatio::whole(busy)));
            }
        }
        let dependences = list_dependences(&operations, cp2);
        if let Some((cycles, cycle)) = find_largest_ratio(operations.len(), &dependences) {
            let words = cycle.iter().map(|&o| first + operations[o].word).collect();
            terms.push((LoopLimit::Recurrence { words }, cycles));
        }
        terms.sort_by(|(_, one), (_, other)| other.cmp(one));
        Self {
            cycles: terms[0].1,
            terms,
            arithmetic,
            memory,
        }
    }

    /// Returns the term that is the bound.
    #[must_use]
    pub fn limit(&self) -> &LoopLimit {
        &self.terms[0].0
    }
}
