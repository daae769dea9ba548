//! The user's arrays, as a recording knows them.

use super::AddressRange;
use crate::device::{Buffer, MemoryElement};
use serde::{Deserialize, Serialize};

/// An array of the user in system memory: an input when simulated time begins, a result when it ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct EmittedArray {
    /// Name.
    pub name: String,
    /// Byte address in system memory.
    pub address: u64,
    /// Size in bytes.
    pub bytes: u64,
    /// Element type, by NumPy's name: `uint8`, `float32`, `complex64`.
    pub element: String,
    /// Shape in elements, last index fastest.
    pub shape: Vec<u64>,
}

impl EmittedArray {
    /// Describes the values at the start of a buffer; `shape` counts values of `T`.
    #[must_use]
    pub fn new<T: MemoryElement>(name: &str, buffer: Buffer<T>, shape: &[u64]) -> Self {
        let values = shape.iter().fold(1u64, |n, &d| n.saturating_mul(d));
        let mut shape = shape.to_vec();
        if T::SCALARS != 1 {
            shape.push(T::SCALARS);
        }
        Self {
            name: name.to_owned(),
            address: buffer.address(),
            bytes: values.saturating_mul(T::BYTES as u64),
            element: T::SCALAR.to_owned(),
            shape,
        }
    }
}

/// An array in the recorded images of memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct RecordedArray {
    #[serde(flatten)]
    pub(super) array: EmittedArray,
    /// Byte offset of the array in `memory.bin` and in `memory-end.bin`.
    pub(super) offset: u64,
    /// SHA-256 of the recorded bytes of an input.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) sha256: Option<String>,
}

impl RecordedArray {
    pub(super) fn new(array: EmittedArray, offset: u64) -> Self {
        Self {
            array,
            offset,
            sha256: None,
        }
    }
}

/// Returns the offset of an array in an image of the stretches, or nothing if it does not lie in one of them.
pub(super) fn offset(array: &EmittedArray, stretches: &[AddressRange]) -> Option<u64> {
    let end = array.address.checked_add(array.bytes)?;
    let mut before = 0u64;
    for stretch in stretches {
        if stretch.address <= array.address && end <= stretch.address.checked_add(stretch.bytes)? {
            return before.checked_add(array.address - stretch.address);
        }
        before = before.checked_add(stretch.bytes)?;
    }
    // An empty array needs no stretch.
    (array.bytes == 0).then_some(0)
}
