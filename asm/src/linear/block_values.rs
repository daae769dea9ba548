//! Questions to a block about its values, constants and registers.

use super::block::{BlockCount, BlockOperand, BlockOperation, LinearBlock};
use crate::diag::{Fail, Problem};
use crate::source::Span;
use crate::syntax::Register;
use std::rc::Rc;

impl LinearBlock {
    /// Returns for every constant whether an operation uses it.
    pub(crate) fn mark_used_constants(&self) -> Vec<bool> {
        let mut used = vec![false; self.constants.len()];
        for (operand, _) in self.operations.iter().flat_map(|own| &own.operands) {
            if let BlockOperand::Constant { index, .. } = *operand
                && let Some(used) = used.get_mut(index)
            {
                *used = true;
            }
        }
        used
    }

    /// Iterates over the words of the constants that operations use.
    pub(crate) fn list_used_constants(&self) -> impl Iterator<Item = [u32; 4]> {
        let used = self.constants.iter().zip(self.mark_used_constants());
        used.filter(|(_, used)| *used).map(|(own, _)| own.words)
    }

    /// Returns how many iterations before its own a value is read at most, for every value. Where a register holds the
    /// count, what is left behind no iteration is the value of the iteration before the first.
    pub(crate) fn list_distances(&self) -> Vec<u32> {
        let mut distances = vec![0; self.values.len()];
        let counted = matches!(self.count, BlockCount::Register { .. });
        for last in self.finals.iter().filter(|_| counted) {
            let mut initial = self.initial.iter();
            let given = initial.any(|own| (own.value, own.distance) == (last.value, 1));
            if let Some(distance) = distances.get_mut(last.value).filter(|_| given) {
                *distance = 1;
            }
        }
        for (used, _) in self.operations.iter().flat_map(BlockOperation::list_values) {
            if let Some(distance) = distances.get_mut(used.value) {
                *distance = used.distance.max(*distance);
            }
        }
        distances
    }

    /// Lists the registers that operations name: they have one value in all iterations.
    pub(crate) fn list_invariants(&self) -> impl Iterator<Item = Register> {
        let operands = self.operations.iter().flat_map(|own| &own.operands);
        operands.filter_map(|(operand, _)| match operand {
            BlockOperand::Register(register) => Some(*register),
            _ => None,
        })
    }

    /// Lists the values that no operation reads and no register gets, with the places where they are named first.
    pub(crate) fn list_unread(&self) -> Vec<(Rc<str>, Span)> {
        let mut read = vec![false; self.values.len()];
        let mut mark = |value: usize| {
            if let Some(entry) = read.get_mut(value) {
                *entry = true;
            }
        };
        for (used, _) in self
            .operations
            .iter()
            .flat_map(BlockOperation::list_values)
            .filter(|(_, written)| !written)
        {
            mark(used.value);
        }
        for own in &self.finals {
            mark(own.value);
        }
        for &value in &self.read_later {
            mark(value);
        }
        let values = self.values.iter().zip(read).filter(|(_, read)| !read);
        values.map(|(own, _)| (own.name.clone(), own.at)).collect()
    }

    /// Refuses values that are never computed, and those of iterations before the first that are not given.
    pub(crate) fn check_definitions(&self) -> Result<(), Fail> {
        let distances = self.list_distances();
        for (index, value) in self.values.iter().enumerate() {
            let name = || value.name.to_string();
            if value.defined.iter().any(Option::is_none) {
                let half = value.defined.iter().any(Option::is_some);
                return Err(Fail::new(
                    Problem::Uncomputed { name: name(), half },
                    value.at,
                ));
            }
            let furthest = distances.get(index).copied().unwrap_or(0);
            if furthest > 0 && self.count == BlockCount::Once {
                let problem = Problem::NoEarlierIteration { name: name() };
                return Err(Fail::new(problem, value.at));
            }
            let given = |distance: u32| {
                let mut initial = self.initial.iter();
                initial.any(|own| (own.value, own.distance) == (index, distance))
            };
            if let Some(distance) = (1..=furthest).find(|&distance| !given(distance)) {
                let problem = Problem::NoInitialValue {
                    name: name(),
                    distance,
                };
                return Err(Fail::new(problem, value.at));
            }
        }
        Ok(())
    }
}
