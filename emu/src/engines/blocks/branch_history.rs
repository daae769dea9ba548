//! Usual directions of branches, from what they did so far.
//!
//! They decide how fast words run, and nothing else.

use std::collections::HashMap;

/// Numbers of times that each branch, by its word address, was not taken and was taken.
#[derive(Debug, Default)]
pub(super) struct BranchHistory(HashMap<u32, [u64; 2]>);

/// Usual direction of a branch.
#[derive(Clone, Copy, Debug)]
pub(super) struct UsualDirection {
    /// True if the branch is usually taken.
    pub taken: bool,
    /// Times that it went this way, of `all` times.
    so: u64,
    all: u64,
}

impl BranchHistory {
    /// Counts that the branch at `pc` was taken, or was not, `times` times.
    pub(super) fn note(&mut self, pc: u32, taken: bool, times: u64) {
        self.0.entry(pc).or_default()[usize::from(taken)] += times;
    }

    /// Returns the usual direction of the branch at `pc`, if it ever ran.
    pub(super) fn usual_direction(&self, pc: u32) -> Option<UsualDirection> {
        let [not, taken] = *self.0.get(&pc)?;
        let all = not + taken;
        (all > 0).then_some(UsualDirection {
            taken: taken >= not,
            so: taken.max(not),
            all,
        })
    }
}

/// Least share of a block's runs that should get as far as its end.
const LEAST: f64 = 1.0 / 16.0;

/// Probability that a run of a block gets this far, if its branches are independent.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReachProbability(f64);

impl Default for ReachProbability {
    fn default() -> Self {
        Self(1.0)
    }
}

impl ReachProbability {
    /// Multiplies by the probability of one more branch. Returns false if the block should not
    /// continue behind it.
    pub(super) fn admit_branch(&mut self, habit: &UsualDirection) -> bool {
        self.0 *= habit.so as f64 / habit.all as f64;
        self.0 >= LEAST
    }
}
