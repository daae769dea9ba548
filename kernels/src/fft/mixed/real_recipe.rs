//! The passes of a transform of real numbers in local memory.

use super::blocks::Generated;
use super::pass::Lanes;
use super::plan::{BlockRecipe as _, check_room};
use super::program::real;
use super::recipe::{MixedRecipe, best_order, factors};
use crate::fft::Direction;
use crate::fft::error::FftError;
use crate::pipeline::Unschedulable;
use cp2_machine::Machine;
use std::fmt;

/// Radices of the pass that goes together with the split or the merge.
const JOINT: [usize; 4] = [1, 2, 4, 8];

/// The passes of a transform of N real numbers, N even: those of N/2 complex
/// ones, of which one also separates (or joins) the spectrum.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RealRecipe {
    pub(super) n: usize,
    direction: Direction,
    radices: Vec<usize>,
    joint: usize,
    lanes: Lanes,
}

/// Numbers of one half of the pairs of a block, at a guess.
const BLOCK: usize = 1024;

impl RealRecipe {
    /// The recipe whose kernel takes the fewest cycles.
    pub(super) fn new(
        n: usize,
        direction: Direction,
        lanes: Lanes,
        machine: &Machine,
    ) -> Result<Self, FftError> {
        let m = n / 2;
        if n % 2 == 1 || factors(m).is_none() {
            return Err(FftError::RealLength { n });
        }
        check_room(
            4 * n as u64 / lanes.width() as u64,
            &format!("real fft {n} {direction}"),
            machine,
        )?;
        let mut best: Option<(u64, Self)> = None;
        // As many as a block is likely to have: of few, fill and drain weigh more.
        let pairs = match lanes {
            Lanes::Transforms => (BLOCK / m.max(1)).clamp(1, 8),
            Lanes::Columns => 1,
        };
        let mut error = FftError::RealLength { n };
        for joint in JOINT {
            if m % joint != 0 || (joint > 1 && m == joint) {
                continue;
            }
            let Some(radices) = radices(m, joint, direction, lanes) else {
                continue;
            };
            let recipe = Self {
                n,
                direction,
                radices,
                joint,
                lanes,
            };
            match recipe.kernel(pairs, machine) {
                Ok(made) if best.as_ref().is_none_or(|(c, _)| made.block_cycles < *c) => {
                    best = Some((made.block_cycles, recipe));
                }
                Ok(_) => {}
                Err(e) => error = e.into(),
            }
        }
        best.map(|(_, recipe)| recipe).ok_or(error)
    }

    pub(super) fn kernel(
        &self,
        pairs: usize,
        machine: &Machine,
    ) -> Result<Generated, Unschedulable> {
        real(
            self.n / 2,
            &self.radices,
            self.joint,
            self.direction,
            (self.lanes, pairs),
            machine,
        )
    }

    /// What the halves of a quad are.
    pub(super) fn lanes(&self) -> Lanes {
        self.lanes
    }

    /// Numbers from a half spectrum to the next in system memory: those of pairs follow each
    /// other, single ones begin at whole granules.
    pub(super) fn spectrum(&self) -> usize {
        self.n / 2 + self.lanes.width()
    }

    /// The least arithmetic issues of one transform: those of N/2 complex
    /// numbers, and two butterflies for every two numbers of the spectrum. For
    /// a power of two that is N/4 (log2 N + 1).
    #[must_use]
    pub fn issues(&self) -> u64 {
        let m = self.n / 2;
        let complex = MixedRecipe::new(m, self.direction).map_or(0, |r| r.issues());
        complex + m as u64
    }
}

/// The radices of the other passes, in order.
fn radices(m: usize, joint: usize, direction: Direction, lanes: Lanes) -> Option<Vec<usize>> {
    let (rest, forward) = (m / joint, direction == Direction::Forward);
    if lanes == Lanes::Transforms {
        return Some(best_order(factors(rest)?, (forward, !forward)));
    }
    // Couples of columns beside the four that are alone.
    let coupled = rest % 4 == 0 && rest > 4 && joint % 2 == 0;
    let recipe = MixedRecipe::columns(rest, direction).filter(|_| coupled)?;
    let mut radices = recipe.radices().to_vec();
    if !forward {
        radices.reverse();
    }
    Some(radices)
}

impl fmt::Display for RealRecipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let radices: Vec<String> = self.radices.iter().map(usize::to_string).collect();
        let (n, direction, radices) = (self.n, self.direction, radices.join(" x "));
        let joint = if self.joint == 1 {
            String::new()
        } else {
            format!("{} with ", self.joint)
        };
        match direction {
            Direction::Forward => write!(
                f,
                "real fft {n} {direction}: mixed {radices} x {joint}split"
            ),
            Direction::Inverse => write!(
                f,
                "real fft {n} {direction}: mixed {joint}merge x {radices}"
            ),
        }?;
        f.write_str(self.lanes.suffix())
    }
}
