//! A processor's state, moved to a later turn of a run that repeats itself.

use super::Processor;
use crate::account::counters::Counters;
use crate::core::Core;
use cp2_asm::isa::{SCALARS, Scalar};
use cp2_dma::Transfer;
use cp2_machine::Cycles;

/// Numbers that count while a kernel repeats itself: scalars, and passes left of hardware loops.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Course {
    /// Shared scalars.
    scalars: Vec<u32>,
    /// Passes left of each running hardware loop.
    left: Vec<u32>,
}

impl Course {
    /// Returns the change of each number since `before`.
    #[must_use]
    pub fn elapsed_since(&self, before: &Self) -> Self {
        let difference = |now: &[u32], before: &[u32]| {
            let both = now.iter().zip(before);
            both.map(|(now, before)| now.wrapping_sub(*before))
                .collect()
        };
        Self {
            scalars: difference(&self.scalars, &before.scalars),
            left: difference(&self.left, &before.left),
        }
    }
}

fn scalars() -> impl Iterator<Item = Scalar> {
    (0..SCALARS).map(|i| Scalar(i as u8))
}

impl Core {
    /// Changes each number by `times` times its step.
    fn add_steps(&mut self, steps: &Course, times: u64) {
        // Numbers count modulo 2^32.
        let on = |now: u32, step: u32| now.wrapping_add(step.wrapping_mul(times as u32));
        for (scalar, &step) in scalars().zip(&steps.scalars) {
            self.set_scalar(scalar, on(self.scalar(scalar), step));
        }
        for (running, &step) in self.loops.iter_mut().zip(&steps.left) {
            running.left = on(running.left, step);
        }
    }
}

impl<T: Transfer + Clone> Processor<T> {
    /// Returns the scalars and the passes left of loops as they are now.
    #[must_use]
    pub fn course(&self) -> Course {
        let core = &self.cp2.core;
        Course {
            scalars: scalars().map(|s| core.scalar(s)).collect(),
            left: core.loops.iter().map(|l| l.left).collect(),
        }
    }

    /// Takes over the state of `other`, except for system memory, with counters at zero.
    /// Translations of programs stay.
    pub fn copy_state(&mut self, other: &Self) {
        self.cp2.adopt_state(&other.cp2);
        self.transfers.clone_from(&other.transfers);
        self.checker.clone_from(&other.checker);
        self.now = other.now;
        self.stopping = other.stopping;
    }

    /// Moves all times `cycles` later, and changes scalars and loop counts by `times` times
    /// `steps`.
    pub fn move_on(&mut self, cycles: u64, steps: &Course, times: u64) {
        let ticks = self.time_base().cycles(Cycles(cycles));
        self.cp2.shift_times(cycles, ticks);
        self.cp2.core.add_steps(steps, times);
        self.transfers.shift_times(ticks);
        self.now += ticks;
        self.stopping = self.stopping.map(|at| at + ticks);
    }

    /// Calls `change` with every transfer under way or queued, and its tag.
    pub fn for_each_transfer(&mut self, change: impl FnMut(&mut T, &mut u64)) {
        self.transfers.for_each_transfer(change);
    }

    /// Adds to the counters of the coprocessor.
    pub fn count(&mut self, more: &Counters) {
        self.cp2.count(more);
    }
}
