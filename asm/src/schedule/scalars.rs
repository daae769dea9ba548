//! Scalar values of a dataflow, and the operations of the memory slot on them.

use super::dataflow::{DataImmediate, DataOperand, DataValue, Dataflow};
use cp2_machine::Class;

/// The registers that a scalar value takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum ScalarUse {
    /// Address registers: an access has its address.
    Address,
    /// Any scalar registers.
    Any,
}

impl Dataflow {
    /// Adds a scalar that is not yet computed, or a couple of them.
    pub(crate) fn scalar(&mut self, couple: bool, used: ScalarUse) -> DataValue {
        self.enter(couple, Some(used))
    }

    /// Returns true if a value is a scalar, or a couple of them.
    pub(super) fn is_scalar(&self, value: usize) -> bool {
        self.scalars.get(value).is_some_and(Option::is_some)
    }

    /// Returns true if some values are scalars.
    pub(crate) fn has_scalar_values(&self) -> bool {
        self.scalars.iter().any(Option::is_some)
    }

    /// Returns true if some operations are of scalars.
    pub(super) fn has_scalars(&self) -> bool {
        self.ops.iter().any(|op| op.scalar)
    }

    /// Adds an operation of the memory slot that needs no pointer: scalar arithmetic with an immediate, or with
    /// `through` an access at so many bytes from its last operand.
    pub(crate) fn scalar_operation(
        &mut self,
        row: (&'static str, Class),
        (defs, uses): (&[DataOperand], &[DataOperand]),
        immediate: Option<DataImmediate>,
        through: Option<i64>,
    ) {
        self.operation(row, defs, uses, immediate);
        if let Some(op) = self.ops.last_mut() {
            (op.scalar, op.through) = (true, through);
        }
    }
}
