//! Sweeps: a transfer of every section, carried out for all at once.

use crate::copy::overlaps;
use crate::transfer::extent;
use crate::{Descriptor, Direction, Target};
use cp2_machine::Machine;
use smallvec::SmallVec;
use std::ops::Range;

/// A repetition of the run and of all inner steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// Turns, at least 1.
    pub count: usize,
    /// Bytes from turn to turn in system memory.
    pub system: isize,
    /// Bytes from turn to turn in DMEM.
    pub local: isize,
}

/// Runs of all sections at the same DMEM addresses, and in system memory at equal distances: section 0's run
/// is at `start`, that of section `s` is `s * section` bytes behind it. `steps` repeat them, the innermost
/// first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep {
    /// First byte of section 0's first run, from the start of the span.
    pub start: usize,
    /// Bytes from a section's run to the next section's.
    pub section: isize,
    /// First byte in DMEM.
    pub local: usize,
    /// Bytes of a run.
    pub run: usize,
    /// Repetitions.
    pub steps: SmallVec<[Step; 4]>,
}

impl Sweep {
    /// Converts a valid descriptor to a sweep and the span of system memory that it touches. Returns none if
    /// the sections do not all take part in the same way, or if the order of the sections matters
    /// (overlapping stores).
    #[must_use]
    pub(crate) fn of(d: &Descriptor, machine: &Machine) -> Option<(Range<u64>, Self)> {
        let sections = machine.cp2.sections.max(1);
        let unit = machine.dma.dealt();
        let mut steps = SmallVec::new();
        let (run, section) = match d.target {
            Target::Blocks { stride } => {
                if d.direction == Direction::Store && overlaps(d, stride) {
                    return None;
                }
                (d.run, isize::try_from(stride).ok()?)
            }
            Target::Deal => {
                let round = unit.checked_mul(sections as u64)?;
                if !d.run.is_multiple_of(round) {
                    return None;
                }
                steps.push(Step {
                    count: usize::try_from(d.run / round).ok()?,
                    system: isize::try_from(round).ok()?,
                    local: isize::try_from(unit).ok()?,
                });
                (unit, isize::try_from(unit).ok()?)
            }
            Target::Program | Target::Section(_) | Target::Broadcast => return None,
        };
        for level in d.levels.iter().filter(|l| l.count > 1) {
            steps.push(Step {
                count: level.count as usize,
                system: isize::try_from(level.system_stride).ok()?,
                local: isize::try_from(level.local_stride).ok()?,
            });
        }
        let run = usize::try_from(run).ok()?;
        let mut sweep = Self {
            start: 0,
            section,
            local: d.local as usize,
            run,
            steps,
        };
        let (below, above) = sweep.systems(sections)?;
        sweep.start = below;
        let first = d.system.checked_sub(below as u64)?;
        let end = d
            .system
            .checked_add(above as u64)?
            .checked_add(run as u64)?;
        Some((first..end, sweep))
    }

    /// Returns the bytes that the runs of `sections` sections start below and above section 0's first run, at
    /// most.
    fn systems(&self, sections: usize) -> Option<(usize, usize)> {
        let steps = self.steps.iter().map(|s| (s.count, s.system));
        reach(steps.chain([(sections, self.section)]))
    }

    /// Returns the ranges of the span and of DMEM that `sections` sections touch. Returns none if a range
    /// would begin below 0.
    #[must_use]
    pub fn reach(&self, sections: usize) -> Option<(Range<usize>, Range<usize>)> {
        let locals = reach(self.steps.iter().map(|s| (s.count, s.local)))?;
        let range = |at: usize, (below, above): (usize, usize)| {
            let end = at.checked_add(above)?.checked_add(self.run)?;
            Some(at.checked_sub(below)?..end)
        };
        Some((
            range(self.start, self.systems(sections)?)?,
            range(self.local, locals)?,
        ))
    }
}

/// Returns the bytes that nested repetitions `(count, distance)` reach below and above their start, at most.
fn reach(turns: impl Iterator<Item = (usize, isize)>) -> Option<(usize, usize)> {
    let narrow = |(count, distance)| Some((u32::try_from(count).ok()?, distance as i64));
    let turns: SmallVec<[(u32, i64); 5]> = turns.map(narrow).collect::<Option<_>>()?;
    let all = extent(0..0, turns.into_iter());
    Some((
        usize::try_from(-all.start).ok()?,
        usize::try_from(all.end).ok()?,
    ))
}
