//! Addresses of a transfer in system memory, and buffers of packed stores.
//!
//! A packed store has its runs one behind the other in a buffer, to be carried out later.

use crate::copy::{AccessError, SystemMemory};
use smallvec::SmallVec;

/// A contiguous stretch of system memory, repeated by nested turns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    /// Pairs of a count of turns and the bytes from one turn to the next, innermost first.
    pub(crate) turns: SmallVec<[(u64, i64); 4]>,
}

impl Stretch {
    /// Returns the bytes of all turns together; saturates.
    fn all(&self) -> u64 {
        let counts = self.turns.iter().map(|turn| turn.0);
        counts.fold(self.bytes, u64::saturating_mul)
    }

    fn for_each<E>(&self, put: &mut impl FnMut(u64, usize) -> Result<(), E>) -> Result<(), E> {
        let mut len = self.bytes;
        // Turns left, count of turns and step in bytes, innermost first.
        let mut turns: SmallVec<[(u64, u64, i64); 4]> = SmallVec::new();
        for &(count, step) in &self.turns {
            match count {
                0 => return Ok(()),
                _ if turns.is_empty() && u64::try_from(step) == Ok(len) => len *= count,
                _ => turns.push((count, count, step)),
            }
        }
        // A valid transfer lies in the host's memory, so its lengths fit a usize.
        let (mut at, len) = (self.start, len as usize);
        loop {
            put(at, len)?;
            let mut advanced = false;
            for (left, count, step) in &mut turns {
                if *left > 1 {
                    *left -= 1;
                    at = at.wrapping_add_signed(*step);
                    advanced = true;
                    break;
                }
                *left = *count;
                let back = step.wrapping_mul(count.wrapping_sub(1) as i64);
                at = at.wrapping_add_signed(back.wrapping_neg());
            }
            if !advanced {
                return Ok(());
            }
        }
    }
}

/// Stretches of system memory that a valid transfer touches, in the order in which they move.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places {
    stretches: SmallVec<[Stretch; 1]>,
}

impl Places {
    pub(crate) fn repeated(stretch: Stretch) -> Self {
        let mut stretches = SmallVec::new();
        stretches.push(stretch);
        Self { stretches }
    }

    /// Returns the bytes of all stretches together.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let all = self.stretches.iter().map(Stretch::all);
        all.fold(0, u64::saturating_add)
    }

    /// Calls `put` with the address and the length of every contiguous stretch, in order. Repetitions whose
    /// step equals their length are joined to one stretch. Addresses are advanced incrementally, so that
    /// short runs cost little.
    ///
    /// The first error of `put`.
    pub fn for_each<E>(&self, mut put: impl FnMut(u64, usize) -> Result<(), E>) -> Result<(), E> {
        self.stretches.iter().try_for_each(|s| s.for_each(&mut put))
    }
}

/// Builds places from pairs of address and length; adjacent ones are joined.
impl FromIterator<(u64, u64)> for Places {
    fn from_iter<I: IntoIterator<Item = (u64, u64)>>(runs: I) -> Self {
        let mut stretches: SmallVec<[Stretch; 1]> = SmallVec::new();
        for (start, bytes) in runs {
            match stretches.last_mut() {
                Some(last) if last.start.checked_add(last.bytes) == Some(start) => {
                    last.bytes = last.bytes.saturating_add(bytes);
                }
                _ => stretches.push(Stretch {
                    start,
                    bytes,
                    turns: SmallVec::new(),
                }),
            }
        }
        Self { stretches }
    }
}

/// A buffer that packed runs are written to, as a system memory from address 0.
pub(crate) struct Room<'a>(pub &'a mut [u8]);

impl SystemMemory for Room<'_> {
    fn read(&self, address: u64, out: &mut [u8]) -> Result<(), AccessError> {
        Err(outside(address, out.len()))
    }

    fn write(&mut self, address: u64, data: &[u8]) -> Result<(), AccessError> {
        match self.span_mut(address, data.len() as u64) {
            Some(room) => room.copy_from_slice(data),
            None => return Err(outside(address, data.len())),
        }
        Ok(())
    }

    fn span_mut(&mut self, address: u64, bytes: u64) -> Option<&mut [u8]> {
        let first = usize::try_from(address).ok()?;
        let end = first.checked_add(usize::try_from(bytes).ok()?)?;
        self.0.get_mut(first..end)
    }
}

fn outside(address: u64, bytes: usize) -> AccessError {
    AccessError {
        address,
        bytes: bytes as u64,
        reason: "no room for a store that is kept apart".to_owned(),
    }
}
