//! Steps of the control CPU: reads words, computes with them, writes words.
//!
//! A step runs between passes. It is a value, a list of operations, each of which gives a number that later
//! ones use. So a recorded run holds it, and a replay on other data computes other numbers. Numbers are f64,
//! whatever the words that are read and written; every operation is that of IEEE 754 and gives equal results
//! on every host.

mod operation;

pub use operation::{BinaryOperation, Operation, StepNumber, StepScalar, UnaryOperation, WordKind};

use crate::device::{Buffer, CommandError, HostError};
use cp2_emu::{OutOfMemory, SystemRam};
use serde::{Deserialize, Serialize};

/// A step of the control CPU.
///
/// A step takes `host.scalar` cycles for every operation but constants, loads and stores, and `host.copy` for
/// each byte that is loaded or stored.
///
/// ```
/// use cp2_host::{Device, HostStep};
/// use cp2_machine::Machine;
/// use std::sync::Arc;
///
/// let vm7 = Arc::new(Machine::builtin("vm7").unwrap());
/// let mut device = Device::new(vm7.clone());
/// let x = device.alloc_from(&[2.0f32, 8.0])?;
/// let ratio = device.alloc::<f32>(4)?;
/// // A quotient, in all lanes of a quad, as kernels want their scalars.
/// let mut step = HostStep::new();
/// let [a, b] = [step.load(x, 0)?, step.load(x, 1)?];
/// let quotient = step.divide(a, b);
/// step.fill(ratio, quotient)?;
/// device.host_step("ratio", step, &[])?;
/// let run = device.finish()?;
/// assert_eq!(run.read(ratio)?, [0.25; 4]);
/// // Two words in, one operation, four words out.
/// assert_eq!(run.report.cycles, 8 + vm7.host.scalar.0 + 16);
/// # Ok::<(), cp2_host::HostError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HostStep {
    operations: Vec<Operation>,
}

impl HostStep {
    /// Creates a step that does nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns the operations in the order in which they are carried out.
    #[must_use]
    pub fn operations(&self) -> &[Operation] {
        &self.operations
    }

    fn push(&mut self, operation: Operation) -> StepScalar {
        self.operations.push(operation);
        // A step of so many operations is refused by `HostStep::check`.
        StepScalar(u32::try_from(self.operations.len() - 1).unwrap_or(u32::MAX))
    }

    /// Adds a constant.
    pub fn constant(&mut self, number: f64) -> StepScalar {
        let bits = number.to_bits();
        self.push(Operation::Constant { bits })
    }

    /// Loads value `index` of an array in system memory.
    ///
    /// # Errors
    /// The array has fewer.
    pub fn load<T: StepNumber>(
        &mut self,
        array: Buffer<T>,
        index: u64,
    ) -> Result<StepScalar, HostError> {
        let (word, address) = (T::WORD, place(array, index)?);
        Ok(self.push(Operation::Load { word, address }))
    }

    /// Stores a number as value `index` of an array in system memory.
    ///
    /// # Errors
    /// The array has fewer.
    pub fn store<T: StepNumber>(
        &mut self,
        array: Buffer<T>,
        index: u64,
        of: StepScalar,
    ) -> Result<(), HostError> {
        let (word, address) = (T::WORD, place(array, index)?);
        self.push(Operation::Store { word, address, of });
        Ok(())
    }

    /// Stores a number as the value of an array at an index that another number gives, rounded down. If the
    /// index is NaN or outside the array, nothing is stored. The address costs an operation too.
    ///
    /// # Errors
    /// The array is empty.
    pub fn put<T: StepNumber>(
        &mut self,
        array: Buffer<T>,
        index: StepScalar,
        of: StepScalar,
    ) -> Result<(), HostError> {
        let (word, address) = (T::WORD, place(array, 0)?);
        self.push(Operation::Put {
            word,
            address,
            count: array.len(),
            index,
            of,
        });
        Ok(())
    }

    /// Stores a number as every value of an array.
    ///
    /// # Errors
    /// The array is larger than [`HostStep::MOST`] values.
    pub fn fill<T: StepNumber>(
        &mut self,
        array: Buffer<T>,
        of: StepScalar,
    ) -> Result<(), HostError> {
        if array.len() > Self::MOST as u64 {
            return Err(HostError::Length {
                values: array.len(),
                len: Self::MOST as u64,
            });
        }
        (0..array.len()).try_for_each(|i| self.store(array, i, of))
    }

    /// Computes the sum of the values of an array, one by one from the first.
    ///
    /// # Errors
    /// The array is empty or larger than [`HostStep::MOST`] values.
    pub fn sum<T: StepNumber>(&mut self, array: Buffer<T>) -> Result<StepScalar, HostError> {
        if array.len() > Self::MOST as u64 {
            return Err(HostError::Length {
                values: array.len(),
                len: Self::MOST as u64,
            });
        }
        let mut sum = self.load(array, 0)?;
        for i in 1..array.len() {
            let next = self.load(array, i)?;
            sum = self.add(sum, next);
        }
        Ok(sum)
    }

    fn unary(&mut self, operation: UnaryOperation, of: StepScalar) -> StepScalar {
        self.push(Operation::Unary { operation, of })
    }

    fn binary(&mut self, operation: BinaryOperation, a: StepScalar, b: StepScalar) -> StepScalar {
        let of = [a, b];
        self.push(Operation::Binary { operation, of })
    }

    /// Computes -a.
    pub fn negate(&mut self, a: StepScalar) -> StepScalar {
        self.unary(UnaryOperation::Negate, a)
    }

    /// Computes |a|.
    pub fn magnitude(&mut self, a: StepScalar) -> StepScalar {
        self.unary(UnaryOperation::Magnitude, a)
    }

    /// Computes the square root of a.
    pub fn square_root(&mut self, a: StepScalar) -> StepScalar {
        self.unary(UnaryOperation::SquareRoot, a)
    }

    /// Computes the largest whole number that is not larger than a.
    pub fn floor(&mut self, a: StepScalar) -> StepScalar {
        self.unary(UnaryOperation::Floor, a)
    }

    /// Computes a + b.
    pub fn add(&mut self, a: StepScalar, b: StepScalar) -> StepScalar {
        self.binary(BinaryOperation::Add, a, b)
    }

    /// Computes a - b.
    pub fn subtract(&mut self, a: StepScalar, b: StepScalar) -> StepScalar {
        self.binary(BinaryOperation::Subtract, a, b)
    }

    /// Computes a b.
    pub fn multiply(&mut self, a: StepScalar, b: StepScalar) -> StepScalar {
        self.binary(BinaryOperation::Multiply, a, b)
    }

    /// Computes a / b.
    pub fn divide(&mut self, a: StepScalar, b: StepScalar) -> StepScalar {
        self.binary(BinaryOperation::Divide, a, b)
    }

    /// Computes the minimum: b if b < a, else a.
    pub fn minimum(&mut self, a: StepScalar, b: StepScalar) -> StepScalar {
        self.binary(BinaryOperation::Least, a, b)
    }

    /// Computes the maximum: b if b > a, else a.
    pub fn largest(&mut self, a: StepScalar, b: StepScalar) -> StepScalar {
        self.binary(BinaryOperation::Largest, a, b)
    }

    /// Computes 1 if a < b, else 0.
    pub fn less(&mut self, a: StepScalar, b: StepScalar) -> StepScalar {
        self.binary(BinaryOperation::Less, a, b)
    }

    /// Computes 1 if neither a nor b is 0, else 0.
    pub fn logical_and(&mut self, a: StepScalar, b: StepScalar) -> StepScalar {
        self.binary(BinaryOperation::Both, a, b)
    }

    /// Computes 1 if a or b is not 0, else 0.
    pub fn logical_or(&mut self, a: StepScalar, b: StepScalar) -> StepScalar {
        self.binary(BinaryOperation::Either, a, b)
    }

    /// Selects a, or b if `by` is 0.
    pub fn select(&mut self, by: StepScalar, a: StepScalar, b: StepScalar) -> StepScalar {
        let of = [a, b];
        self.push(Operation::Select { by, of })
    }

    /// Number of operations of a step at most: more work belongs to a kernel.
    pub const MOST: usize = 4096;

    /// Returns the bytes of system memory that the step reads and writes, and the number of operations that
    /// cost time.
    pub(crate) fn counts(&self) -> (u64, u64) {
        let places = self.operations.iter().filter_map(Operation::place);
        let bytes = places.map(|(word, ..)| word.bytes()).sum();
        let computed = self.operations.iter().filter(|o| o.computes()).count();
        (bytes, computed as u64)
    }

    /// Refuses a step that cannot be carried out in `size` bytes of system memory.
    pub(crate) fn check(&self, size: u64) -> Result<(), CommandError> {
        let operations = self.operations.len();
        if operations > Self::MOST {
            let most = Self::MOST;
            return Err(CommandError::StepTooLong { operations, most });
        }
        for (at, operation) in self.operations.iter().enumerate() {
            if operation.uses().any(|of| of.0 as usize >= at) {
                return Err(CommandError::StepOrder { operation: at });
            }
            let Some((word, address, count)) = operation.place() else {
                continue;
            };
            let bytes = word.bytes().saturating_mul(count);
            if address.checked_add(bytes).is_none_or(|end| end > size) {
                return Err(OutOfMemory::Outside {
                    address,
                    bytes,
                    size,
                }
                .into());
            }
        }
        Ok(())
    }

    /// Carries the step out.
    pub(crate) fn run(&self, memory: &mut SystemRam) -> Result<(), OutOfMemory> {
        let mut numbers: Vec<f64> = Vec::with_capacity(self.operations.len());
        for operation in &self.operations {
            let next = operation.run(&numbers, memory)?;
            numbers.push(next);
        }
        Ok(())
    }
}

/// Returns the byte address of value `index` of an array.
fn place<T: StepNumber>(array: Buffer<T>, index: u64) -> Result<u64, HostError> {
    if index >= array.len() {
        return Err(HostError::Length {
            values: index.saturating_add(1),
            len: array.len(),
        });
    }
    Ok(array.address() + index * T::BYTES as u64)
}
