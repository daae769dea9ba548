//! Drops the operations of a block that have no effect.
//!
//! A store has an effect, and so has what computes a value that a register gets behind the block, that a later block of
//! the chain begins with, or that an operation with an effect reads, in its own iteration or in a later one.

use super::block::{BlockOperand, BlockOperation, InitialValue, LinearBlock, ValueUse};
use super::widths::ChosenRow;

/// The halves of all values of a block that something with an effect reads.
struct ReadHalves(Vec<[bool; 2]>);

impl ReadHalves {
    /// Marks a value, or one half of it; returns true if it was not marked before.
    fn mark(&mut self, value: usize, half: Option<u8>) -> bool {
        let Some(halves) = self.0.get_mut(value) else {
            return false;
        };
        let before = *halves;
        match half {
            Some(half) => {
                if let Some(own) = halves.get_mut(usize::from(half)) {
                    *own = true;
                }
            }
            None => *halves = [true; 2],
        }
        *halves != before
    }

    /// Returns true if a value, or its half, is marked.
    fn holds(&self, used: ValueUse) -> bool {
        let halves = self.0.get(used.value).copied().unwrap_or_default();
        match used.half {
            Some(half) => halves.get(usize::from(half)) == Some(&true),
            None => halves.contains(&true),
        }
    }
}

impl BlockOperation {
    /// Returns true if the operation stores: it is an access without a result.
    fn stores(&self) -> bool {
        let access = |operand: &BlockOperand| {
            matches!(
                operand,
                BlockOperand::Address { .. } | BlockOperand::Place { .. }
            )
        };
        let accesses = self.operands.iter().any(|(operand, _)| access(operand));
        accesses && !self.list_values().any(|(_, written)| written)
    }
}

impl LinearBlock {
    /// Drops the operations without an effect, with their rows, where `read` lists the values that later blocks begin
    /// with.
    pub(crate) fn drop_without_effect(&mut self, rows: &mut Vec<ChosenRow>, read: &[usize]) {
        let mut halves = ReadHalves(vec![[false; 2]; self.values.len()]);
        let finals = self.finals.iter().map(|own| own.value);
        for value in finals.chain(read.iter().copied()) {
            halves.mark(value, None);
        }
        let mut kept: Vec<bool> = self.operations.iter().map(BlockOperation::stores).collect();
        // Values of earlier iterations are computed further down: the text is gone through until nothing changes.
        let mut changed = true;
        while changed {
            changed = false;
            for (operation, kept) in self.operations.iter().zip(&mut kept).rev() {
                let mut values = operation.list_values();
                *kept |= values.any(|(used, written)| written && halves.holds(used));
                if !*kept {
                    continue;
                }
                for (used, _) in operation.list_values().filter(|(_, written)| !written) {
                    changed |= halves.mark(used.value, used.half);
                }
            }
        }
        let mut keep = kept.iter();
        rows.retain(|_| keep.next() != Some(&false));
        let mut keep = kept.iter();
        let operations = std::mem::take(&mut self.operations).into_iter();
        let (operations, dropped): (Vec<_>, Vec<_>) =
            operations.partition(|_| keep.next() != Some(&false));
        self.operations = operations;
        self.dropped.extend(dropped.iter().map(|own| own.at));
    }

    /// Lists the values before the first iteration that the block begins with, where `read` lists its values that later
    /// blocks begin with: without iterations it hands on what it began with.
    pub(crate) fn list_begun<'a>(
        &'a self,
        read: &'a [usize],
    ) -> impl Iterator<Item = &'a InitialValue> {
        let distances = self.list_distances();
        self.initial.iter().filter(move |own| {
            let furthest = distances.get(own.value).copied().unwrap_or(0);
            let mut finals = self.finals.iter();
            let left = finals.any(|last| last.value == own.value) || read.contains(&own.value);
            own.distance <= furthest || left && own.distance == 1
        })
    }
}
