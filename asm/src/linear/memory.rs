//! Orders the loads and stores of a block that may meet in memory.
//!
//! Accesses through pointers from one register or label with one step are compared exactly, across iterations. Other
//! pointers keep the order of the text, unless the block says that they are apart.

use super::block::{
    BlockCount, BlockOperand, BlockPointer, BlockStep, LinearBlock, PointerOrigin, ValueUse,
};
use super::rounds::meeting_in_round;
use super::widths::ChosenRow;
use crate::diag::{Fail, Problem};
use crate::isa::Kind;
use crate::source::Span;

/// Two accesses that keep their order: `after` of an iteration `distance` later comes after `before`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryOrder {
    /// Index of the first operation in the block.
    pub(crate) before: usize,
    /// Index of the second operation in the block.
    pub(crate) after: usize,
    /// Number of iterations between them.
    pub(crate) distance: u32,
}

/// The place that the address of an access counts from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessPlace {
    /// The pointer with this index.
    Pointer(usize),
    /// A scalar value.
    Value(ValueUse),
}

impl AccessPlace {
    /// Returns the index of the pointer.
    pub(super) fn pointer(self) -> Option<usize> {
        match self {
            Self::Pointer(index) => Some(index),
            Self::Value(_) => None,
        }
    }
}

/// An access to memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemoryAccess {
    operation: usize,
    pub(super) place: AccessPlace,
    /// Bytes from the pointer.
    pub(super) offset: i64,
    pub(super) bytes: i64,
    /// Bytes of which the place is a multiple.
    pub(super) align: i64,
    stores: bool,
    /// Source position of the operand.
    pub(super) at: Span,
}

impl LinearBlock {
    /// Refuses steps by which no access through the pointer can go on.
    pub(crate) fn check_steps(&self, rows: &[ChosenRow]) -> Result<(), Fail> {
        /// Number of accesses that a step goes over at most.
        const REACH: i64 = 1 << 11;
        for access in self.list_accesses(rows) {
            let Some(pointer) = self.pointer_of(&access) else {
                continue;
            };
            // A pointer that goes round steps by a register.
            let (BlockStep::Bytes(step), None) = (pointer.step, pointer.round) else {
                continue;
            };
            let (align, what) = (access.align, format!("the step of `{}`", pointer.name));
            let problem = if step % align != 0 {
                Problem::Misaligned {
                    what,
                    value: step,
                    multiple: align,
                }
            } else if !(-REACH..REACH).contains(&(step / 16)) {
                Problem::OutOfRange {
                    what,
                    value: step,
                    least: -REACH * 16,
                    most: (REACH - 1) * 16,
                }
            } else {
                continue;
            };
            return Err(Fail::new(problem, pointer.at).related(access.at, "an access is here"));
        }
        Ok(())
    }

    /// Lists the accesses of an iteration.
    pub(super) fn list_accesses(&self, rows: &[ChosenRow]) -> Vec<MemoryAccess> {
        let operations = self.operations.iter().zip(rows).enumerate();
        let accesses = operations.filter_map(|(operation, (own, chosen))| {
            let operands = chosen.row.form.operands();
            let stores = !operands.iter().any(|o| o.role.writes());
            let mut places = operands.iter().zip(&own.operands);
            places.find_map(|(o, (operand, at))| match (o.kind, operand) {
                (Kind::Mem { bytes, align }, operand) => {
                    let (place, offset) = match *operand {
                        BlockOperand::Address { pointer, offset } => {
                            (AccessPlace::Pointer(pointer), offset)
                        }
                        BlockOperand::Place { address, offset } => {
                            (AccessPlace::Value(address), offset)
                        }
                        _ => return None,
                    };
                    Some(MemoryAccess {
                        operation,
                        place,
                        offset,
                        bytes: i64::from(bytes),
                        align: i64::from(align),
                        stores,
                        at: *at,
                    })
                }
                _ => None,
            })
        });
        accesses.collect()
    }

    /// Returns the pointer of an access, if it has one.
    pub(super) fn pointer_of(&self, access: &MemoryAccess) -> Option<&BlockPointer> {
        self.pointers.get(access.place.pointer()?)
    }

    /// Lists the accesses that must keep their order.
    pub(super) fn order_memory(&self, rows: &[ChosenRow]) -> Vec<MemoryOrder> {
        let accesses = self.list_accesses(rows);
        let mut orders = Vec::new();
        for (index, first) in accesses.iter().enumerate() {
            for second in accesses.get(index + 1..).unwrap_or_default() {
                if first.stores || second.stores {
                    self.order_pair(first, second, &mut orders);
                }
            }
        }
        // Iterations that are not carried out meet nothing.
        let count = match self.count {
            BlockCount::Once => Some(1),
            BlockCount::Known(count) => Some(count),
            BlockCount::Register { .. } => None,
        };
        orders.retain(|order| count.is_none_or(|count| u64::from(order.distance) < count));
        orders
    }

    /// Orders two accesses, of which the first comes before the second in the text.
    fn order_pair(
        &self,
        first: &MemoryAccess,
        second: &MemoryAccess,
        orders: &mut Vec<MemoryOrder>,
    ) {
        if self.are_named_apart([first.place, second.place]) {
            return;
        }
        let mut order = |before: &MemoryAccess, after: &MemoryAccess, distance| {
            orders.push(MemoryOrder {
                before: before.operation,
                after: after.operation,
                distance,
            });
        };
        let [Some(a), Some(b)] = [first, second].map(|access| self.pointer_of(access)) else {
            // Another iteration may have any address, and this one has another for another value.
            let used = |access: &MemoryAccess| match access.place {
                AccessPlace::Value(used) => Some(used),
                AccessPlace::Pointer(_) => None,
            };
            let (one, other) = (used(first), used(second));
            let one_value = one.map(|used| used.value) == other.map(|used| used.value);
            if self.apart && !one_value {
                return;
            }
            let places = [first.offset, second.offset];
            let meet = meeting_distance(places, [first.bytes, second.bytes], 0, 0).is_some();
            if one != other || meet {
                order(first, second, 0);
            }
            order(first, second, 1);
            order(second, first, 1);
            return;
        };
        let same_base = match (&a.base, &b.base) {
            (PointerOrigin::Register(a), PointerOrigin::Register(b)) => a == b,
            (PointerOrigin::Address(_), PointerOrigin::Address(_)) => true,
            _ => false,
        };
        let rounds = a.round.is_some() || b.round.is_some();
        if rounds && same_base && never_part(a, b) {
            if let Some(distance) = meeting_in_round(a, [first, second], 0) {
                order(first, second, distance);
            }
            if let Some(distance) = meeting_in_round(a, [second, first], 1) {
                order(second, first, distance);
            }
        } else if !rounds && same_base && a.step == b.step {
            let address = |own: &BlockPointer, access: &MemoryAccess| {
                let place = own.bytes.saturating_add(access.offset);
                match own.base {
                    PointerOrigin::Address(address) => address.saturating_add(place),
                    PointerOrigin::Register(_) => place,
                }
            };
            let places = [address(a, first), address(b, second)];
            let bytes = [first.bytes, second.bytes];
            let [one, other] = places;
            match a.step {
                BlockStep::Bytes(step) => {
                    if let Some(distance) = meeting_distance(places, bytes, step, 0) {
                        order(first, second, distance);
                    }
                    let bytes = [second.bytes, first.bytes];
                    if let Some(distance) = meeting_distance([other, one], bytes, step, 1) {
                        order(second, first, distance);
                    }
                }
                BlockStep::Register(_) | BlockStep::Table(..) => {
                    // Within an iteration the step plays no part; later ones may meet.
                    if meeting_distance(places, bytes, 0, 0).is_some() {
                        order(first, second, 0);
                    }
                    order(first, second, 1);
                    order(second, first, 1);
                }
            }
        } else if !self.apart {
            order(first, second, 0);
            order(second, first, 1);
        }
    }
}

/// Returns true if two pointers that go round from one base are at one place in every iteration.
fn never_part(a: &BlockPointer, b: &BlockPointer) -> bool {
    let from = |own: &BlockPointer| match own.base {
        PointerOrigin::Address(address) => address,
        PointerOrigin::Register(_) => 0,
    };
    let place = |own: &BlockPointer| (from(own), own.bytes, own.step, own.round);
    place(a) == place(b)
}

/// Returns the least number of iterations, `least` at least, after which an access at the second place meets what an
/// access at the first place reached, where both places move by `step` bytes an iteration.
fn meeting_distance(
    [first, second]: [i64; 2],
    [first_bytes, second_bytes]: [i64; 2],
    step: i64,
    least: u32,
) -> Option<u32> {
    // They meet after d iterations if first - second_bytes < second + d step < first + first_bytes.
    let apart = i128::from(first) - i128::from(second);
    let (low, high) = (
        apart - i128::from(second_bytes) + 1,
        apart + i128::from(first_bytes) - 1,
    );
    let step = i128::from(step);
    let meets = |d: i128| (low..=high).contains(&(d * step));
    let least = i128::from(least);
    if step == 0 {
        return meets(0).then_some(least as u32);
    }
    // The first d at which the moving place has come to the nearer end.
    let near = if step > 0 { low } else { high };
    let reached = (near / step) + i128::from(near % step != 0 && (near > 0) == (step > 0));
    let found = reached.max(least);
    let found = meets(found).then_some(found)?;
    u32::try_from(found).ok()
}

#[cfg(test)]
mod tests {
    use super::meeting_distance;

    /// The least distance is the one that trying all of them finds.
    #[test]
    fn distances_are_the_least() {
        for (first, second) in (-20..20).flat_map(|a| (-20..20).map(move |b| (4 * a, 4 * b))) {
            for step in [-48, -16, -4, 0, 4, 8, 16, 40] {
                for (bytes, least) in [([8, 16], 0), ([16, 16], 1), ([4, 8], 0)] {
                    let meets = |d: u32| {
                        let at = second + i64::from(d) * step;
                        at < first + bytes[0] && first < at + bytes[1]
                    };
                    let expected = (least..100).find(|&d| meets(d));
                    let found = meeting_distance([first, second], bytes, step, least);
                    assert_eq!(found, expected, "{first} {second} {bytes:?} {step} {least}");
                }
            }
        }
    }
}
