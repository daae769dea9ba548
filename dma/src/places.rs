//! Where in system memory a transfer goes, and stores that are kept apart: their runs one behind the other, to be
//! carried out later.

use crate::copy::{AccessError, SystemMemory};
use smallvec::SmallVec;

/// A stretch of system memory, repeated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    /// Turns with the bytes from one to the next, innermost first.
    pub(crate) turns: SmallVec<[(u64, i64); 4]>,
}

impl Stretch {
    /// Bytes of all turns together; saturates.
    fn all(&self) -> u64 {
        let counts = self.turns.iter().map(|turn| turn.0);
        counts.fold(self.bytes, u64::saturating_mul)
    }

    fn for_each<E>(&self, put: &mut impl FnMut(u64, usize) -> Result<(), E>) -> Result<(), E> {
        let mut len = self.bytes;
        // Turns left to go and all turns, with the step, innermost first.
        let mut turns: SmallVec<[(u64, u64, i64); 4]> = SmallVec::new();
        for &(count, step) in &self.turns {
            match count {
                0 => return Ok(()),
                _ if turns.is_empty() && u64::try_from(step) == Ok(len) => len *= count,
                _ => turns.push((count, count, step)),
            }
        }
        // A valid transfer lies in the host's memory.
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

/// Where in system memory a valid transfer goes, in the order in which it does.
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

    /// All bytes together.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let all = self.stretches.iter().map(Stretch::all);
        all.fold(0, u64::saturating_add)
    }

    /// Gives `put` the address and the length of every stretch, those together that are as strides have it. Addresses are
    /// stepped, so that short runs cost little.
    ///
    /// # Errors
    /// The first of `put`.
    pub fn for_each<E>(&self, mut put: impl FnMut(u64, usize) -> Result<(), E>) -> Result<(), E> {
        self.stretches.iter().try_for_each(|s| s.for_each(&mut put))
    }
}

/// Addresses and lengths, one behind the other.
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

/// Where packed runs go.
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
