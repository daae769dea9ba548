//! Address registers of a block's pointers.

use super::block::{BlockOperand, LinearBlock};
use super::widths::ChosenRow;
use crate::isa::Kind;
use crate::schedule::DataPointer;

/// The address registers of a pointer: one for each remainder of its offsets by the largest of its accesses.
///
/// The last access of an iteration steps, so the register points at its place, and the others have offsets from there:
/// multiples of what they access, whichever is last.
#[derive(Clone, Debug)]
pub(super) struct PointerRegisters {
    unit: i64,
    pub(super) found: Vec<(i64, Option<DataPointer>)>,
}

impl PointerRegisters {
    /// Returns the registers of all pointers of a block.
    pub(super) fn of(block: &LinearBlock, rows: &[ChosenRow]) -> Vec<Self> {
        let none = Self {
            unit: 1,
            found: Vec::new(),
        };
        let mut all = vec![none; block.pointers.len()];
        let operations = block.operations.iter().zip(rows);
        let accesses: Vec<(usize, i64, i64)> = operations
            .flat_map(|(own, chosen)| {
                let operands = chosen.row.form.operands().iter().zip(&own.operands);
                operands.filter_map(|(o, (operand, _))| match (o.kind, operand) {
                    (Kind::Mem { align, .. }, &BlockOperand::Address { pointer, offset }) => {
                        Some((pointer, offset, i64::from(align)))
                    }
                    _ => None,
                })
            })
            .collect();
        for &(pointer, _, align) in &accesses {
            if let Some(own) = all.get_mut(pointer) {
                own.unit = own.unit.max(align);
            }
        }
        for &(pointer, offset, _) in &accesses {
            if let Some(own) = all.get_mut(pointer) {
                let place = offset.rem_euclid(own.unit);
                if !own.found.iter().any(|&(other, _)| other == place) {
                    own.found.push((place, None));
                }
            }
        }
        all
    }

    /// Returns the address register for an offset.
    pub(super) fn find(&self, offset: i64) -> Option<DataPointer> {
        let place = offset.rem_euclid(self.unit);
        let found = self.found.iter().find(|&&(other, _)| other == place);
        found.and_then(|&(_, register)| register)
    }
}
