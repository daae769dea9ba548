//! System memory as the host program sees it: typed buffers.

use super::error::HostError;
use crate::paging::aligned;
use cp2_emu::{OutOfMemory, SystemRam};
use cp2_machine::Machine;
use num_complex::{Complex32, Complex64};
use std::marker::PhantomData;

/// A value with a fixed little-endian layout in system memory.
pub trait MemoryElement: Copy {
    /// Bytes of one value.
    const BYTES: usize;
    /// Type of the scalars in one value, as a recorded array names it: `uint8`, `float32`, `complex64`.
    const SCALAR: &'static str;
    /// Number of scalars in one value.
    const SCALARS: u64;
    /// Writes the value's [`MemoryElement::BYTES`] bytes; a number for which there is no room is left out.
    fn put(self, out: &mut [u8]);
    /// Reads a value from its [`MemoryElement::BYTES`] bytes; a number without enough bytes is 0.
    fn get(bytes: &[u8]) -> Self;
}

macro_rules! element {
    ($($type:ty: $name:literal),*) => {$(
        impl MemoryElement for $type {
            const BYTES: usize = std::mem::size_of::<$type>();
            const SCALAR: &'static str = $name;
            const SCALARS: u64 = 1;
            #[inline]
            fn put(self, out: &mut [u8]) {
                // Copying a chunk of known size compiles to a move; copying a slice may be a call.
                if let Some(out) = out.first_chunk_mut() {
                    *out = self.to_le_bytes();
                }
            }
            #[inline]
            fn get(bytes: &[u8]) -> Self {
                Self::from_le_bytes(bytes.first_chunk().copied().unwrap_or_default())
            }
        }
    )*};
}
element!(
    u8: "uint8", u32: "uint32", i32: "int32", u64: "uint64", i64: "int64", f32: "float32", f64: "float64"
);

impl<T: MemoryElement, const N: usize> MemoryElement for [T; N] {
    const BYTES: usize = T::BYTES * N;
    const SCALAR: &'static str = T::SCALAR;
    const SCALARS: u64 = T::SCALARS * N as u64;
    #[inline]
    fn put(self, out: &mut [u8]) {
        for (value, out) in self.into_iter().zip(out.chunks_exact_mut(T::BYTES.max(1))) {
            value.put(out);
        }
    }
    #[inline]
    fn get(bytes: &[u8]) -> Self {
        std::array::from_fn(|i| T::get(bytes.get(i * T::BYTES..).unwrap_or_default()))
    }
}

/// Implements [`MemoryElement`] for complex numbers.
macro_rules! complex {
    ($($type:ty: $name:literal),*) => {$(
        impl MemoryElement for $type {
            const BYTES: usize = std::mem::size_of::<$type>();
            const SCALAR: &'static str = $name;
            const SCALARS: u64 = 1;
            #[inline]
            fn put(self, out: &mut [u8]) {
                [self.re, self.im].put(out);
            }
            #[inline]
            fn get(bytes: &[u8]) -> Self {
                let [re, im] = MemoryElement::get(bytes);
                Self { re, im }
            }
        }
    )*};
}
complex!(Complex32: "complex64", Complex64: "complex128");

/// `len` values of `T` in system memory.
#[derive(Debug, PartialEq, Eq)]
pub struct Buffer<T> {
    address: u64,
    len: u64,
    element: PhantomData<fn() -> T>,
}

impl<T> Clone for Buffer<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Buffer<T> {}

impl<T: MemoryElement> Buffer<T> {
    pub(crate) fn new(address: u64, len: u64) -> Self {
        Self {
            address,
            len,
            element: PhantomData,
        }
    }

    /// Creates a buffer at an address that the device gave to another one.
    #[must_use]
    pub fn from_address(address: u64, len: u64) -> Self {
        Self::new(address, len)
    }

    /// Returns `len` values from value `first` on, as far as the buffer has them.
    #[must_use]
    pub fn part(&self, first: u64, len: u64) -> Self {
        let first = first.min(self.len);
        let address = self.address + first.saturating_mul(T::BYTES as u64);
        Self::new(address, len.min(self.len - first))
    }

    /// Returns the byte address of the first value.
    #[must_use]
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Returns the number of values.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Returns true if the buffer holds no values.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the size in bytes.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        // The product was checked when the buffer was allocated.
        self.len.saturating_mul(T::BYTES as u64)
    }
}

/// Returns the little-endian bytes of `values`.
pub(crate) fn to_bytes<T: MemoryElement>(values: &[T]) -> Vec<u8> {
    let mut bytes = vec![0; values.len() * T::BYTES];
    put_all(values, &mut bytes);
    bytes
}

pub(super) fn put_all<T: MemoryElement>(values: &[T], bytes: &mut [u8]) {
    for (value, bytes) in values.iter().zip(bytes.chunks_exact_mut(T::BYTES.max(1))) {
        value.put(bytes);
    }
}

/// Bytes that are converted at a time, few enough to stay in the host's cache.
pub(super) const PART: usize = 16 * 1024;

/// Gives `write` the little-endian bytes of `values` part by part, each with its byte offset.
pub(crate) fn in_parts<T: MemoryElement, E>(
    values: &[T],
    mut write: impl FnMut(u64, &[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut buffer = [0; PART];
    // A value may be larger than the buffer.
    let each = PART / T::BYTES.max(1);
    if each == 0 {
        return write(0, &to_bytes(values));
    }
    let mut at = 0;
    for part in values.chunks(each) {
        let bytes = &mut buffer[..part.len() * T::BYTES];
        put_all(part, bytes);
        write(at, bytes)?;
        at += bytes.len() as u64;
    }
    Ok(())
}

/// Bytes that are read at a time; few, because a row may be short.
const SMALL: usize = 2 * 1024;

/// Fills `values` with the bytes that `read` gives, part by part.
pub(crate) fn out_parts<T: MemoryElement, E>(
    values: &mut [T],
    mut read: impl FnMut(u64, &mut [u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut at = 0;
    let (mut small, mut large) = ([0; SMALL], Vec::new());
    // A value may be larger than the buffer.
    let buffer = if T::BYTES <= SMALL {
        &mut small[..]
    } else {
        large.resize(T::BYTES, 0);
        &mut large[..]
    };
    for part in values.chunks_mut((SMALL / T::BYTES.max(1)).max(1)) {
        let bytes = &mut buffer[..part.len() * T::BYTES];
        read(at, bytes)?;
        at += bytes.len() as u64;
        for (value, bytes) in part.iter_mut().zip(bytes.chunks_exact(T::BYTES.max(1))) {
            *value = T::get(bytes);
        }
    }
    Ok(())
}

/// Converts `bytes` to values, if this computer can hold them.
pub(crate) fn from_bytes<T: MemoryElement>(bytes: &[u8]) -> Result<Vec<T>, HostError> {
    let values = bytes.chunks_exact(T::BYTES.max(1)).map(T::get);
    let mut all = room(bytes.len() as u64)?;
    all.extend(values);
    Ok(all)
}

/// Returns an empty list with room for the values in `bytes` bytes of system memory.
pub(crate) fn room<T: MemoryElement>(bytes: u64) -> Result<Vec<T>, HostError> {
    let unreadable = HostError::Unreadable { bytes };
    let Ok(len) = usize::try_from(bytes / T::BYTES.max(1) as u64) else {
        return Err(unreadable);
    };
    let mut all = Vec::new();
    all.try_reserve_exact(len).map_err(|_| unreadable)?;
    Ok(all)
}

/// Hands out system memory from the bottom up.
///
/// Allocations begin and end at multiples of the unit that kernels store at a time: whole granules, and whole
/// quads where granules are smaller.
#[derive(Clone, Debug)]
pub(crate) struct Allocator {
    unit: u64,
    size: u64,
    next: u64,
    /// Addresses and sizes of all allocations.
    pub(crate) taken: Vec<(u64, u64)>,
}

impl Allocator {
    pub(crate) fn new(machine: &Machine) -> Self {
        let size = machine.host.memory.0;
        Self {
            unit: aligned(machine),
            size,
            next: 0,
            taken: Vec::new(),
        }
    }

    /// Returns the first byte and the end of each allocation, including the rest of its last unit, in order.
    pub(crate) fn areas(&self) -> Vec<(u64, u64)> {
        let end = |address: u64, bytes: u64| (address + bytes).next_multiple_of(self.unit);
        let all = self.taken.iter();
        all.map(|&(address, bytes)| (address, end(address, bytes)))
            .collect()
    }

    /// Returns the end of the last allocation.
    pub(crate) fn end(&self) -> u64 {
        self.next
    }

    /// Allocates `bytes` bytes at a multiple of the unit and of `align`.
    pub(crate) fn take(&mut self, bytes: u64, align: u64) -> Result<u64, HostError> {
        let align = align.max(1).next_multiple_of(self.unit);
        let error = HostError::OutOfMemory {
            bytes,
            free: self.size - self.next,
            size: self.size,
        };
        let Some(address) = self.next.checked_next_multiple_of(align) else {
            return Err(error);
        };
        let end = address
            .checked_add(bytes)
            .and_then(|end| end.checked_next_multiple_of(self.unit));
        match end {
            Some(end) if end <= self.size => {
                self.next = end;
                self.taken.push((address, bytes));
                Ok(address)
            }
            _ => Err(error),
        }
    }
}

/// Reads bytes of system memory, if this computer can hold them.
pub(super) fn read(memory: &SystemRam, address: u64, bytes: u64) -> Result<Vec<u8>, HostError> {
    let size = memory.size();
    if address.checked_add(bytes).is_none_or(|end| end > size) {
        return Err(OutOfMemory::Outside {
            address,
            bytes,
            size,
        }
        .into());
    }
    let mut out = room(bytes)?;
    out.resize(bytes as usize, 0);
    memory.read(address, &mut out)?;
    Ok(out)
}

/// Refuses more values than a buffer holds.
pub(super) fn holds<T: MemoryElement>(buffer: Buffer<T>, values: &[T]) -> Result<(), HostError> {
    if values.len() as u64 > buffer.len() {
        return Err(HostError::Length {
            values: values.len() as u64,
            len: buffer.len(),
        });
    }
    Ok(())
}
