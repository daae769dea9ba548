//! Address registers of a block's pointers.

use super::block::LinearBlock;
use super::widths::ChosenRow;
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
        let accesses = block.list_accesses(rows);
        for access in &accesses {
            if let Some(own) = access.place.pointer().and_then(|p| all.get_mut(p)) {
                own.unit = own.unit.max(access.align);
            }
        }
        for access in &accesses {
            if let Some(own) = access.place.pointer().and_then(|p| all.get_mut(p)) {
                let place = access.offset.rem_euclid(own.unit);
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
