//! The runs of a descriptor, consumed by validation, copy and timing.

use crate::{Descriptor, Target};
use cp2_machine::Machine;
use serde::{Deserialize, Serialize};
use smallvec::{SmallVec, smallvec};

/// Bytes that are contiguous in system memory, and the local memories at their other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Run {
    /// First byte in system memory.
    pub system: u64,
    /// First byte in each of the local memories.
    pub local: u32,
    /// Bytes in system memory.
    pub bytes: u64,
    /// Local memories that take part.
    pub to: Recipient,
}

impl Run {
    /// Returns the bytes of the run in the local memory that holds most of them.
    pub(crate) fn most_local(&self, machine: &Machine) -> u64 {
        match self.to {
            Recipient::Deal => self.bytes_in(0, machine),
            _ => self.bytes,
        }
    }

    /// Returns the bytes of the run that belong to a section; they are contiguous from `local` in its DMEM.
    #[must_use]
    pub fn bytes_in(&self, section: u32, machine: &Machine) -> u64 {
        match self.to {
            Recipient::Program => 0,
            Recipient::Section(s) if s != section => 0,
            Recipient::Section(_) | Recipient::All => self.bytes,
            Recipient::Deal => {
                let unit = machine.dma.dealt();
                let round = unit.saturating_mul(machine.cp2.sections.max(1) as u64);
                let before = unit.saturating_mul(section.into());
                let rest = (self.bytes % round).saturating_sub(before);
                self.bytes / round * unit + rest.min(unit)
            }
        }
    }
}

/// The local memories at the other end of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Recipient {
    /// Program memory.
    Program,
    /// One section's DMEM.
    Section(u32),
    /// The DMEM of every section, the same bytes to each.
    All,
    /// Parts of the run go to sections 0, 1, 2, ... in turn, each of as many bytes as the machine deals at a
    /// time; every section receives a contiguous range (see [`Run::bytes_in`]).
    Deal,
}

/// Address steps of one nested repetition, in bytes, and its number of turns.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Turn {
    pub(crate) count: u32,
    pub(crate) system: i64,
    pub(crate) local: i64,
}

/// Steps between runs that are not adjacent, as pairs `(every, but)`: see [`Nest::breaks`].
pub(crate) type Breaks = SmallVec<[(u64, u64); 4]>;

/// The repetitions of a descriptor, innermost first. The blocks of [`Target::Blocks`] are the
/// outermost, over the sections.
pub(crate) fn turns(d: &Descriptor, machine: &Machine) -> impl Iterator<Item = Turn> + Clone {
    let level = |l: &crate::Level| Turn {
        count: l.count,
        system: l.system_stride,
        local: l.local_stride,
    };
    let blocks = match d.target {
        Target::Blocks { stride } => Some(Turn {
            count: machine.cp2.sections as u32,
            system: stride,
            local: 0,
        }),
        _ => None,
    };
    d.levels.iter().map(level).chain(blocks)
}

/// A descriptor as a nest of loops over one run: see [`turns`].
#[derive(Clone, Debug)]
pub(crate) struct Nest {
    pub(crate) turns: SmallVec<[Turn; 4]>,
    system: u64,
    local: u32,
    run: u64,
    to: Recipient,
    blocks: bool,
}

impl Nest {
    pub(crate) fn new(d: &Descriptor, machine: &Machine) -> Self {
        let mut all = SmallVec::new();
        for turn in turns(d, machine) {
            all.push(turn);
        }
        let to = match d.target {
            Target::Program => Recipient::Program,
            Target::Section(section) => Recipient::Section(section),
            Target::Blocks { .. } => Recipient::Section(0),
            Target::Broadcast => Recipient::All,
            Target::Deal => Recipient::Deal,
        };
        let blocks = matches!(d.target, Target::Blocks { .. });
        Self {
            turns: all,
            system: d.system,
            local: d.local,
            run: d.run,
            to,
            blocks,
        }
    }

    /// Returns the number of runs before adjacent ones are joined; saturates.
    pub(crate) fn count(&self) -> u64 {
        let counts = self.turns.iter().map(|turn| u64::from(turn.count));
        counts.fold(1, u64::saturating_mul)
    }

    /// Returns the steps between consecutive runs that are not adjacent in system memory (the next run does
    /// not start where the last one ends), as pairs `(every, but)`: a step to run number `i` is one of them
    /// if `i` is a multiple of `every` but not of `but`.
    ///
    /// When a turn advances, every inner turn falls back to its start. The step in system memory is the same
    /// each time, so either all advances of one turn are adjacent or none is.
    pub(crate) fn breaks(&self) -> Breaks {
        let mut breaks = Breaks::new();
        let mut every: u64 = 1;
        let mut back = 0;
        for turn in &self.turns {
            let but = every.saturating_mul(turn.count.max(1).into());
            let system = i128::from(turn.system);
            if system - back != i128::from(self.run) && but > every {
                breaks.push((every, but));
            }
            every = but;
            back += i128::from(turn.count.saturating_sub(1)) * system;
        }
        breaks
    }

    /// Returns the bytes of all runs, if these and their places are whole units of system memory and of local
    /// memory; both units are powers of two.
    pub(crate) fn whole_units(&self, system: u64, local: u64, machine: &Machine) -> Option<u64> {
        let dealt = match self.to {
            Recipient::Deal => machine.dma.dealt(),
            _ => 0,
        };
        let (mut systems, mut locals) = (
            self.system | self.run,
            u64::from(self.local) | self.run | dealt,
        );
        for turn in &self.turns {
            systems |= turn.system as u64;
            locals |= turn.local as u64;
        }
        let whole = |bits: u64, unit: u64| bits & unit.saturating_sub(1) == 0;
        (whole(systems, system) && whole(locals, local))
            .then(|| self.count().saturating_mul(self.run))
    }

    /// Returns the bytes of all runs in the local memory that holds most of them.
    pub(crate) fn most_local(&self, machine: &Machine) -> u64 {
        let run = Run {
            system: self.system,
            local: self.local,
            bytes: self.run,
            to: self.to,
        };
        let sections = machine.cp2.sections.max(1) as u64;
        let blocks = if self.blocks { sections } else { 1 };
        (self.count() / blocks).saturating_mul(run.most_local(machine))
    }

    /// Bytes of a run.
    pub(crate) fn run(&self) -> u64 {
        self.run
    }

    pub(crate) fn recipient(&self) -> Recipient {
        self.to
    }

    /// Returns true if the outermost turn goes over the sections, one block each.
    pub(crate) fn has_blocks(&self) -> bool {
        self.blocks
    }
}

/// Iterator over the runs of a descriptor; see [`Descriptor::runs`].
#[derive(Clone, Debug)]
pub struct Runs {
    nest: Nest,
    index: SmallVec<[u64; 4]>,
    left: u64,
}

impl Descriptor {
    /// The runs of the transfer in the order in which they move: innermost level
    /// first; for [`Target::Blocks`] the whole block of section 0, then of section 1, ...
    ///
    /// Adjacent runs are yielded one by one; timing joins them. For a descriptor that
    /// [`validate`](fn@crate::validate) refuses the runs mean nothing (but iterating is safe).
    #[must_use]
    pub fn runs(&self, machine: &Machine) -> Runs {
        let nest = Nest::new(self, machine);
        Runs {
            index: smallvec![0; nest.turns.len()],
            left: nest.count(),
            nest,
        }
    }
}

impl Iterator for Runs {
    type Item = Run;

    fn next(&mut self) -> Option<Run> {
        self.left = self.left.checked_sub(1)?;
        let (mut system, mut local) = (i128::from(self.nest.system), i128::from(self.nest.local));
        for (turn, &i) in self.nest.turns.iter().zip(&self.index) {
            let times = i128::from(i);
            system = system.wrapping_add(i128::from(turn.system).wrapping_mul(times));
            local = local.wrapping_add(i128::from(turn.local).wrapping_mul(times));
        }
        let to = match self.index.last() {
            Some(&section) if self.nest.blocks => Recipient::Section(section as u32),
            _ => self.nest.to,
        };
        for (turn, i) in self.nest.turns.iter().zip(&mut self.index) {
            *i += 1;
            if *i < turn.count.into() {
                break;
            }
            *i = 0;
        }
        // Runs of a validated descriptor lie inside both memories, so the addresses fit.
        Some(Run {
            system: system as u64,
            local: local as u32,
            bytes: self.nest.run,
            to,
        })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        match usize::try_from(self.left) {
            Ok(n) => (n, Some(n)),
            Err(_) => (usize::MAX, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// All bytes of a run are dealt, and the shares of two sections differ by at most one unit.
        #[test]
        fn a_run_is_dealt_whole(bytes in 0u64..5000, vm9: bool) {
            let machine = Machine::builtin(if vm9 { "vm9" } else { "vm7" }).unwrap();
            let run = Run { system: 0, local: 0, bytes, to: Recipient::Deal };
            let parts: Vec<u64> = (0..4).map(|section| run.bytes_in(section, &machine)).collect();
            prop_assert_eq!(parts.iter().sum::<u64>(), bytes);
            prop_assert!(parts.is_sorted_by(|a, b| a >= b));
            prop_assert!(parts[0] - parts[3] <= machine.dma.dealt());
        }
    }
}
