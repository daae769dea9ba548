//! Builds descriptors for runs that lie anywhere: as few as strides allow.

use crate::{Descriptor, Direction, Level, Levels, Target};

/// Runs of a transfer between one place in local memory and one in system memory, repeated by levels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunk {
    /// Byte address in system memory.
    pub system: u64,
    /// Byte address in local memory.
    pub local: u32,
    /// Bytes of a run.
    pub run: u64,
    /// Nested repetitions, innermost first.
    pub levels: Levels,
}

impl Chunk {
    /// Returns a chunk of one run, without levels.
    #[must_use]
    pub fn new(system: u64, local: u32, run: u64) -> Self {
        let levels = Levels::new();
        Self {
            system,
            local,
            run,
            levels,
        }
    }

    /// Returns the distances in bytes from this chunk to another of the same shape:
    /// `[system memory, local memory]`. Returns none if run lengths or levels differ.
    fn step_to(&self, other: &Self) -> Option<[i64; 2]> {
        let alike = self.run == other.run && self.levels == other.levels;
        let system = other.system.wrapping_sub(self.system) as i64;
        let local = i64::from(other.local) - i64::from(self.local);
        alike.then_some([system, local])
    }

    /// Returns the descriptor that moves this chunk in a direction, to or from a target.
    fn descriptor(self, direction: Direction, target: Target) -> Descriptor {
        Descriptor {
            levels: self.levels,
            ..match direction {
                Direction::Load => Descriptor::load(target, self.system, self.local, self.run),
                Direction::Store => Descriptor::store(target, self.system, self.local, self.run),
            }
        }
    }
}

/// Chunks that follow each other at equal distances.
struct Progression {
    first: Chunk,
    last: Chunk,
    step: [i64; 2],
    count: u32,
}

impl Progression {
    /// Appends `next` if it has the shape of the last chunk and lies one more step behind it; the second
    /// chunk defines the step. Returns whether it was appended.
    fn take(&mut self, next: &Chunk) -> bool {
        let step = match self.last.step_to(next) {
            Some(step) if self.count == 1 || step == self.step => step,
            _ => return false,
        };
        self.step = step;
        self.last = next.clone();
        self.count += 1;
        true
    }

    fn chunk(self) -> Chunk {
        let mut chunk = self.first;
        if self.count > 1 {
            chunk.levels.push(Level {
                count: self.count,
                system_stride: self.step[0],
                local_stride: self.step[1],
            });
        }
        chunk
    }
}

/// Joins runs that are adjacent in both memories, then folds equal distances into levels, at most `limit` of
/// them a chunk.
///
/// The bytes that move are unchanged. The order of the chunks may change, so the chunks of one transfer must
/// not overlap.
#[must_use]
pub fn coalesce(chunks: impl IntoIterator<Item = Chunk>, limit: usize) -> Vec<Chunk> {
    let mut runs: Vec<Chunk> = Vec::new();
    for chunk in chunks {
        match runs.last_mut() {
            Some(last)
                if last.levels.is_empty()
                    && chunk.levels.is_empty()
                    && last.system + last.run == chunk.system
                    && u64::from(last.local) + last.run == u64::from(chunk.local) =>
            {
                last.run += chunk.run;
            }
            _ => runs.push(chunk),
        }
    }
    fold(runs, limit)
}

/// Folds chunks at equal distances into levels, at most `limit` of them a chunk. Runs are not joined: where
/// granules are dealt to the sections, two adjacent runs are not the same as one longer run.
#[must_use]
pub fn fold(chunks: impl IntoIterator<Item = Chunk>, limit: usize) -> Vec<Chunk> {
    let mut all: Vec<Progression> = Vec::new();
    for chunk in chunks {
        let fits = chunk.levels.len() < limit;
        // The most recent progressions are tried first: repeating patterns have short periods.
        let mut open = all.iter_mut().rev().take(4);
        if fits && open.any(|progression| progression.take(&chunk)) {
            continue;
        }
        all.push(Progression {
            last: chunk.clone(),
            first: chunk,
            step: [0; 2],
            count: 1,
        });
    }
    all.into_iter().map(Progression::chunk).collect()
}

/// Returns the transfers that move every section's chunks, in their order. If the places in system memory
/// differ by the same stride from each section to the next, one transfer of all sections moves a chunk;
/// otherwise each section has transfers of its own.
#[must_use]
pub fn over_sections(direction: Direction, sections: Vec<Vec<Chunk>>) -> Vec<Descriptor> {
    if let Some(strides) = strides(&sections) {
        let first = sections.into_iter().next().unwrap_or_default();
        let target = |stride| match (stride, direction) {
            (0, Direction::Load) => Target::Broadcast,
            _ => Target::Blocks { stride },
        };
        let all = first.into_iter().zip(strides);
        return all
            .map(|(chunk, stride)| chunk.descriptor(direction, target(stride)))
            .collect();
    }
    let own = (0u32..).zip(sections);
    own.flat_map(|(section, chunks)| {
        let target = Target::Section(section);
        chunks
            .into_iter()
            .map(move |chunk| chunk.descriptor(direction, target))
    })
    .collect()
}

/// Returns for each chunk of a section the distance in bytes in system memory to the next section's chunk.
/// Returns none unless all sections differ by these distances and in nothing else.
fn strides(sections: &[Vec<Chunk>]) -> Option<Vec<i64>> {
    let (first, second) = (sections.first()?, sections.get(1)?);
    let step = |a: &Chunk, b: &Chunk| a.step_to(b).filter(|step| step[1] == 0).map(|s| s[0]);
    let steps = |a: &[Chunk], b: &[Chunk]| -> Option<Vec<i64>> {
        let same = a.len() == b.len();
        let all = a.iter().zip(b).map(|(a, b)| step(a, b));
        same.then(|| all.collect()).flatten()
    };
    let strides = steps(first, second)?;
    let alike = sections.windows(2).all(|two| match two {
        [a, b] => steps(a, b).is_some_and(|steps| steps == strides),
        _ => true,
    });
    alike.then_some(strides)
}

#[cfg(test)]
mod tests {
    use super::*;
    use cp2_machine::Machine;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    /// Maps each byte of local memory, `(section, local address)`, to the byte of system memory that it is
    /// moved from or to.
    fn moved(transfers: &[Descriptor], machine: &Machine) -> BTreeMap<(u32, u64), u64> {
        let mut all = BTreeMap::new();
        for run in transfers.iter().flat_map(|d| d.runs(machine)) {
            let sections = match run.to {
                crate::Recipient::Section(s) => s..s + 1,
                _ => 0..machine.cp2.sections as u32,
            };
            for section in sections {
                for byte in 0..run.bytes {
                    all.insert((section, u64::from(run.local) + byte), run.system + byte);
                }
            }
        }
        all
    }

    proptest! {
        #[test]
        fn coalesced_runs_move_the_same_bytes(
            runs in prop::collection::vec((0u64..40, 1u64..4), 1..30),
            stride in prop_oneof![Just(0i64), Just(640), Just(-640)],
            odd in any::<bool>(),
            limit in 1usize..4,
        ) {
            let machine = Machine::builtin("vm7").unwrap();
            let mut local = 0;
            let mut chunks = Vec::new();
            for (system, granules) in runs {
                chunks.push(Chunk::new(1_000_000 + 16 * system, local, 16 * granules));
                local += 16 * granules as u32;
            }
            let sections: Vec<Vec<Chunk>> = (0..4)
                .map(|s| {
                    let by = stride * s + i64::from(odd && s == 2) * 16;
                    let own = chunks.iter().cloned().map(|c| Chunk {
                        system: c.system.wrapping_add_signed(by),
                        ..c
                    });
                    own.collect()
                })
                .collect();
            let single: Vec<Descriptor> = (0u32..)
                .zip(&sections)
                .flat_map(|(s, own)| {
                    own.iter().cloned().map(move |c| c.descriptor(Direction::Load, Target::Section(s)))
                })
                .collect();
            let few: Vec<Vec<Chunk>> = sections
                .into_iter()
                .map(|own| coalesce(own, limit))
                .collect();
            let few = over_sections(Direction::Load, few);
            prop_assert!(few.len() <= single.len());
            prop_assert!(few.iter().all(|d| d.levels.len() <= limit));
            prop_assert_eq!(moved(&few, &machine), moved(&single, &machine));
        }
    }
}
