//! Stores that are kept apart: their runs one behind the other, to be carried out later.

use crate::copy::{AccessError, SystemMemory};
use crate::runs::Nest;
use crate::{Descriptor, Target};
use cp2_machine::Machine;
use smallvec::SmallVec;
use std::ops::Range;

impl Descriptor {
    /// The bytes of system memory from the first to the last that a valid transfer touches.
    #[must_use]
    pub fn span(&self, machine: &Machine) -> Range<u64> {
        let (mut low, mut high) = (i128::from(self.system), i128::from(self.system));
        for turn in Nest::new(self, machine).turns {
            let reach = i128::from(turn.count.saturating_sub(1)) * i128::from(turn.system);
            low += reach.min(0);
            high += reach.max(0);
        }
        // Inside system memory, as it is valid.
        low as u64..(high as u64).saturating_add(self.run)
    }

    /// The same transfer with its runs one behind the other from address 0 of
    /// system memory, in the order of [`Descriptor::runs`], and how many bytes they are.
    #[must_use]
    pub fn packed(&self, machine: &Machine) -> (Self, u64) {
        let mut packed = Self {
            system: 0,
            ..self.clone()
        };
        let stride = |bytes: u64| i64::try_from(bytes).unwrap_or(i64::MAX);
        let mut bytes = self.run;
        for level in &mut packed.levels {
            level.system_stride = stride(bytes);
            bytes = bytes.saturating_mul(level.count.into());
        }
        if let Target::Blocks { stride: apart } = &mut packed.target {
            *apart = stride(bytes);
            bytes = bytes.saturating_mul(machine.cp2.sections as u64);
        }
        (packed, bytes)
    }

    /// Gives `put` the address in system memory and the length of every stretch of a valid
    /// transfer, in the order in which [`Descriptor::packed`] has them one behind the other: its
    /// runs, those together that are as its strides have it. Addresses are stepped, so that
    /// short runs cost little.
    ///
    /// # Errors
    /// The first of `put`.
    pub fn for_each_stretch<E>(
        &self,
        machine: &Machine,
        mut put: impl FnMut(u64, usize) -> Result<(), E>,
    ) -> Result<(), E> {
        let mut len = self.run;
        // Turns left to go and all turns, with the step, innermost first.
        let mut turns: SmallVec<[(u64, u64, i64); 4]> = SmallVec::new();
        for turn in Nest::new(self, machine).turns {
            match turn.count {
                0 => return Ok(()),
                count if turns.is_empty() && u64::try_from(turn.system) == Ok(len) => len *= count,
                count => turns.push((count, count, turn.system)),
            }
        }
        // A valid transfer lies in the host's memory.
        let (mut at, len) = (self.system, len as usize);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Direction, Level, validate};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn packed_runs_follow_each_other_and_lie_in_the_span(
            target in 0u8..3, stride in -20i64..40, system in 0u64..200, local in 0u32..40, run in 1u64..9,
            levels in prop::collection::vec((1u32..4, -20i64..40, -3i64..8), 0..=2),
        ) {
            let vm7 = Machine::builtin("vm7").unwrap();
            let level = |(count, system, local)| Level { count, system_stride: 16 * system, local_stride: 16 * local };
            let d = Descriptor {
                direction: Direction::Store,
                target: [Target::Blocks { stride: 16 * stride }, Target::Section(1), Target::Deal][usize::from(target)],
                system: 16 * system,
                local: 16 * local,
                run: 16 * run,
                levels: levels.into_iter().map(level).collect(),
                event: None,
            };
            prop_assume!(validate(&d, &vm7).is_ok());
            let (packed, bytes) = d.packed(&vm7);
            prop_assert!(validate(&packed, &vm7).is_ok());
            let (mut at, span) = (0, d.span(&vm7));
            let (mut first, mut end) = (u64::MAX, 0);
            for (run, moved) in d.runs(&vm7).zip(packed.runs(&vm7)) {
                prop_assert_eq!((moved.system, moved.local, moved.bytes, moved.to), (at, run.local, run.bytes, run.to));
                at += run.bytes;
                first = first.min(run.system);
                end = end.max(run.system + run.bytes);
            }
            prop_assert_eq!((at, first..end), (bytes, span));
            // Every byte's address in the order of the runs, either way.
            let mut stretches = Vec::new();
            let _ = d.for_each_stretch(&vm7, |at, len| {
                stretches.extend(at..at + len as u64);
                Ok::<(), ()>(())
            });
            let runs: Vec<u64> = d.runs(&vm7).flat_map(|r| r.system..r.system + r.bytes).collect();
            prop_assert_eq!(stretches, runs);
        }
    }
}
