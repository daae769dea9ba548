//! Arrays of the user that are written and read part by part.

use super::Device;
use super::error::HostError;
use super::memory::{Buffer, MemoryElement, PART, out_parts, put_all};
use super::program::FinishedRun;
use cp2_emu::SystemRam;

/// Error that keeps a source from giving its values.
pub type SourceError = Box<dyn std::error::Error + Send + Sync>;

/// Values of an array in their order, given part by part, so that they need not all be on the host at once.
///
/// Slices are sources:
///
/// ```
/// use cp2_host::{Device, ValueSource};
/// use cp2_machine::Machine;
///
/// /// 0, 1, 2, ...
/// struct Numbers { next: u32, count: u32 }
///
/// impl ValueSource<u32> for Numbers {
///     fn count(&self) -> u64 {
///         (self.count - self.next).into()
///     }
///     fn fill_values(&mut self, values: &mut [u32]) -> Result<(), cp2_host::SourceError> {
///         for value in values {
///             *value = self.next;
///             self.next += 1;
///         }
///         Ok(())
///     }
/// }
///
/// let mut device = Device::new(Machine::builtin("vm7").unwrap().into());
/// let (x, _) = device.alloc_of(&mut Numbers { next: 0, count: 100_000 })?;
/// let (y, _) = device.alloc_of(&mut &[7u32, 8, 9][..])?;
/// let mut last = [0; 2];
/// let run = device.finish()?;
/// run.fetch(x.part(99_998, 2), &mut last)?;
/// assert_eq!(last, [99_998, 99_999]);
/// assert_eq!(run.read(y)?, [7, 8, 9]);
/// # Ok::<(), cp2_host::HostError>(())
/// ```
pub trait ValueSource<T> {
    /// Returns the number of values that are left to give.
    fn count(&self) -> u64;

    /// Gives the next values, as many as there is room for, and never more than are left.
    ///
    /// # Errors
    /// The source cannot give the values: a file cannot be read, or a value cannot be used.
    fn fill_values(&mut self, values: &mut [T]) -> Result<(), SourceError>;
}

impl<T: Copy> ValueSource<T> for &[T] {
    fn count(&self) -> u64 {
        self.len() as u64
    }

    fn fill_values(&mut self, values: &mut [T]) -> Result<(), SourceError> {
        let (now, rest) = self
            .split_at_checked(values.len())
            .ok_or("more values were asked for than there are")?;
        values.copy_from_slice(now);
        *self = rest;
        Ok(())
    }
}

/// Checksum of an array as it was when it was put into system memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Imprint {
    /// Byte address of the array.
    pub address: u64,
    /// Size of the array in bytes.
    pub bytes: u64,
    sum: u64,
}

impl Imprint {
    fn empty(address: u64) -> Self {
        Self {
            address,
            bytes: 0,
            sum: 0,
        }
    }

    /// Adds the bytes of `memory` up to offset `end`, in whole parts but for the last one.
    fn extend(&mut self, memory: &SystemRam, end: u64) -> Result<(), HostError> {
        let mut part = [0; PART];
        let last = self.address.saturating_add(end);
        while self.address + self.bytes < last {
            let at = self.address + self.bytes;
            let bytes = &mut part[..PART.min((last - at) as usize)];
            memory.read(at, bytes)?;
            self.sum = mixed(self.sum, sum(bytes));
            self.bytes += bytes.len() as u64;
        }
        Ok(())
    }
}

/// Returns a checksum in which every bit and its position count: enough to notice that something was written,
/// no protection against malice.
fn sum(bytes: &[u8]) -> u64 {
    const LANES: usize = 4;
    let mut lanes = [1, 2, 3, 4];
    let (blocks, rest) = bytes.as_chunks::<{ 8 * LANES }>();
    for block in blocks {
        for (lane, word) in lanes.iter_mut().zip(block.as_chunks::<8>().0) {
            *lane = mixed(*lane, u64::from_le_bytes(*word));
        }
    }
    for byte in rest {
        lanes[0] = mixed(lanes[0], (*byte).into());
    }
    lanes.into_iter().fold(bytes.len() as u64, mixed)
}

fn mixed(sum: u64, word: u64) -> u64 {
    // The factor is odd, so different words give different results from the same sum.
    (sum ^ word)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(29)
}

impl Device {
    /// Allocates room for the values that `source` has left, writes them there, and returns a checksum that
    /// shows later whether they have changed.
    ///
    /// # Errors
    /// System memory is used up, or this computer's is; simulated time has begun, or the source fails.
    pub fn alloc_of<T: MemoryElement>(
        &mut self,
        source: &mut dyn ValueSource<T>,
    ) -> Result<(Buffer<T>, Imprint), HostError> {
        let buffer = self.alloc::<T>(source.count())?;
        // If there is no room, no value is taken from the source.
        let end = self.memory.end();
        self.engine.processor.memory_mut().provide(end)?;
        let mut imprint = Imprint::empty(buffer.address());
        let each = (PART / T::BYTES.max(1)).max(1) as u64;
        let mut bytes = vec![0; each as usize * T::BYTES];
        let mut values = vec![T::get(&bytes); each as usize];
        let mut done = 0;
        while done < buffer.len() {
            let now = each.min(buffer.len() - done);
            let values = &mut values[..now as usize];
            source.fill_values(values).map_err(HostError::Source)?;
            let bytes = &mut bytes[..values.len() * T::BYTES];
            put_all(values, bytes);
            self.write_bytes(buffer.part(done, now).address(), bytes)?;
            done += now;
            // The bytes are still in the cache; the parts do not depend on the values' size.
            let written = done * T::BYTES as u64;
            let whole = written - written % PART as u64;
            imprint.extend(self.engine.processor.memory(), whole)?;
        }
        imprint.extend(self.engine.processor.memory(), buffer.bytes())?;
        Ok((buffer, imprint))
    }
}

impl FinishedRun {
    /// Fills `out` with the first values of a buffer. Simulated time is over, so the read costs none.
    ///
    /// # Errors
    /// There are more values than the buffer holds, or the buffer belongs to another device.
    pub fn fetch<T: MemoryElement>(
        &self,
        buffer: Buffer<T>,
        out: &mut [T],
    ) -> Result<(), HostError> {
        super::memory::holds(buffer, out)?;
        let memory = self.processor().memory();
        out_parts(out, |at, bytes| memory.read(buffer.address() + at, bytes))?;
        Ok(())
    }

    /// Fills `out` with bytes of system memory.
    ///
    /// # Errors
    /// The range lies outside system memory.
    pub fn fetch_bytes(&self, address: u64, out: &mut [u8]) -> Result<(), HostError> {
        Ok(self.processor().memory().read(address, out)?)
    }

    /// Returns true if an array is unchanged since it was put into system memory before time began.
    ///
    /// # Errors
    /// The array lies outside memory: it belongs to another device.
    pub fn is_kept(&self, imprint: &Imprint) -> Result<bool, HostError> {
        let mut now = Imprint::empty(imprint.address);
        now.extend(self.processor().memory(), imprint.bytes)?;
        Ok(now == *imprint)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_machine;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_change_of_an_array_is_noticed(
            len in 1_usize..40_000,
            at in any::<prop::sample::Index>(),
            bit in 0..32_u32,
            triples in any::<bool>(),
        ) {
            let values: Vec<u32> = (0..len as u32).map(|i| i.wrapping_mul(0x9e37_79b9)).collect();
            let mut device = Device::new(test_machine().into());
            let (buffer, imprint) = match triples {
                // Values whose size does not divide the parts.
                true => {
                    let triples: Vec<[u32; 3]> = values.chunks_exact(3).map(|c| [c[0], c[1], c[2]]).collect();
                    let (x, imprint) = device.alloc_of(&mut &triples[..]).unwrap();
                    (Buffer::<u32>::from_address(x.address(), 3 * x.len()), imprint)
                }
                false => device.alloc_of(&mut &values[..]).unwrap(),
            };
            let values = &values[..buffer.len() as usize];
            prop_assume!(!values.is_empty());
            let at = at.index(values.len());
            device.write(buffer.part(at as u64, 1), &[values[at] ^ (1_u32 << bit)]).unwrap();
            let run = device.finish().unwrap();
            prop_assert!(!run.is_kept(&imprint).unwrap());
            let mut device = Device::new(test_machine().into());
            let same = device.alloc_from(values).unwrap();
            prop_assert_eq!(same.address(), imprint.address);
            let run = device.finish().unwrap();
            prop_assert!(run.is_kept(&imprint).unwrap());
            let mut back = vec![0; values.len() - at];
            run.fetch(same.part(at as u64, back.len() as u64), &mut back).unwrap();
            prop_assert_eq!(&back[..], &values[at..]);
        }
    }

    #[test]
    fn a_source_that_fails_says_why() {
        struct Broken;
        impl ValueSource<f32> for Broken {
            fn count(&self) -> u64 {
                10
            }
            fn fill_values(&mut self, _: &mut [f32]) -> Result<(), SourceError> {
                Err("the tape is torn".into())
            }
        }
        let mut device = Device::new(test_machine().into());
        let error = device.alloc_of(&mut Broken).unwrap_err();
        assert_eq!(error.to_string(), "the tape is torn");
    }
}
