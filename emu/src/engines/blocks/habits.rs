//! Which way branches usually go: what they did so far.
//!
//! A guess that decides how fast words run, and nothing else.

use std::collections::HashMap;

/// What the branches of a program did so far.
#[derive(Debug, Default)]
pub(super) struct Habits(HashMap<u32, [u64; 2]>);

/// What a branch usually does.
#[derive(Clone, Copy, Debug)]
pub(super) struct Habit {
    /// Whether it is taken.
    pub taken: bool,
    /// How often it does that, of `all` times.
    so: u64,
    all: u64,
}

impl Habits {
    /// The branch at `pc` was taken or not, so many times.
    pub(super) fn note(&mut self, pc: u32, taken: bool, times: u64) {
        self.0.entry(pc).or_default()[usize::from(taken)] += times;
    }

    /// What the branch at `pc` usually does, if it ever ran.
    pub(super) fn usual(&self, pc: u32) -> Option<Habit> {
        let [not, taken] = *self.0.get(&pc)?;
        let all = not + taken;
        (all > 0).then_some(Habit {
            taken: taken >= not,
            so: taken.max(not),
            all,
        })
    }
}

/// Least share of a block's runs that should get as far as its end.
const LEAST: f64 = 1.0 / 16.0;

/// How likely it is that a block runs as far as this, were its branches independent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Certainty(f64);

impl Default for Certainty {
    fn default() -> Self {
        Self(1.0)
    }
}

impl Certainty {
    /// Takes one more branch; false where it is not worth going on behind it.
    pub(super) fn after(&mut self, habit: &Habit) -> bool {
        self.0 *= habit.so as f64 / habit.all as f64;
        self.0 >= LEAST
    }
}
