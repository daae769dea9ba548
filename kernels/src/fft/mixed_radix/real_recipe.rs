//! Recipes of real FFTs in DMEM: radices, and which pass splits.

use super::block_fft::{BlockRecipe as _, COMPLEX, check_room};
use super::block_kernels::GeneratedKernel;
use super::page_kernels::real;
use super::radix::factors as turns;
use super::recipe::{
    MixedRecipe, RadixPassRange, best_radices, column_radices, factors, table_room,
};
use super::stockham_pass::LaneAssignment;
use crate::fft::TransformDirection;
use crate::fft::error::FftError;
use cp2_machine::Machine;
use std::fmt;

/// Radices that the pass with the split or the merge may have; 1 for a pass of its own.
const JOINT_RADICES: [usize; 4] = [1, 2, 4, 8];

/// The passes of a transform of N real numbers, N even: those of N/2 complex ones, of which one also splits
/// (or merges) the spectrum.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RealRecipe {
    pub(super) n: usize,
    direction: TransformDirection,
    radices: Vec<usize>,
    joint: usize,
    lanes: LaneAssignment,
}

/// Typical numbers of one half of the pairs of a block.
const TYPICAL_BLOCK_NUMBERS: usize = 1024;

/// A recipe and its kernel.
type RealRecipeKernel = (RealRecipe, Result<GeneratedKernel, FftError>);

impl RealRecipe {
    /// Lists the recipes, one for each radix of the joint pass, with their kernels.
    fn all(
        n: usize,
        direction: TransformDirection,
        lanes: LaneAssignment,
        machine: &Machine,
    ) -> Result<Vec<RealRecipeKernel>, FftError> {
        let m = n / 2;
        if n % 2 == 1 || factors(m).is_none() {
            return Err(FftError::RealLength { n });
        }
        check_room(
            4 * n as u64 / lanes.width() as u64,
            &format!("real fft {n} {direction}"),
            machine,
        )?;
        // Kernels are compared with as many pairs as a block is likely to have: with fewer, fill and drain
        // weigh more.
        let pairs = match lanes {
            LaneAssignment::Transforms => (TYPICAL_BLOCK_NUMBERS / m.max(1)).clamp(1, 8),
            LaneAssignment::Columns => 1,
        };
        let joints = JOINT_RADICES.into_iter();
        let joints = joints.filter(|joint| m.is_multiple_of(*joint) && (*joint == 1 || m > *joint));
        let recipes = joints.filter_map(|joint| {
            let recipe = Self {
                n,
                direction,
                radices: radices(m, joint, direction, (lanes, machine.cp2.dmem.0))?,
                joint,
                lanes,
            };
            let made = recipe.kernel(pairs, machine);
            Some((recipe, made))
        });
        Ok(recipes.collect())
    }

    /// Returns the recipe for two transforms at a time whose kernel takes the fewest cycles.
    pub(super) fn new(
        n: usize,
        direction: TransformDirection,
        machine: &Machine,
    ) -> Result<Self, FftError> {
        let mut best: Option<(u64, Self)> = None;
        let mut error = FftError::RealLength { n };
        for (recipe, made) in Self::all(n, direction, LaneAssignment::Transforms, machine)? {
            match made {
                Ok(made) if best.as_ref().is_none_or(|(c, _)| made.block_cycles < *c) => {
                    best = Some((made.block_cycles, recipe));
                }
                Ok(_) => {}
                Err(e) => error = e,
            }
        }
        best.map(|(_, recipe)| recipe).ok_or(error)
    }

    /// Lists the recipes for two columns at a time and their kernels. The cheapest depends on local memory
    /// too: a larger joint radix has smaller tables.
    pub(super) fn columns(
        n: usize,
        direction: TransformDirection,
        machine: &Machine,
    ) -> Result<Vec<(Self, GeneratedKernel)>, FftError> {
        let all = Self::all(n, direction, LaneAssignment::Columns, machine)?;
        let made = all
            .into_iter()
            .filter_map(|(recipe, made)| Some((recipe, made.ok()?)));
        Ok(made.collect())
    }

    pub(super) fn kernel(
        &self,
        pairs: usize,
        machine: &Machine,
    ) -> Result<GeneratedKernel, FftError> {
        real(
            self.n / 2,
            &self.radices,
            self.joint,
            self.direction,
            (self.lanes, pairs),
            machine,
        )
    }

    /// Returns the numbers from a half spectrum to the next in system memory: N/2 + 1 for pairs of
    /// transforms, which follow each other, and N/2 + 2 for single ones, which begin at whole granules.
    pub(super) fn spectrum(&self) -> usize {
        self.n / 2 + self.lanes.width()
    }

    /// Returns the bytes of a transform's input and output in system memory.
    pub(super) fn bytes(&self) -> (u64, u64) {
        let (time, spectrum) = (4 * self.n as u64, 8 * self.spectrum() as u64);
        match self.direction {
            TransformDirection::Forward => (time, spectrum),
            TransformDirection::Inverse => (spectrum, time),
        }
    }

    /// Returns the least arithmetic issues of one transform: those of N/2 complex numbers, and two
    /// butterflies for every two numbers of the spectrum. For a power of two that is N/4 (log2 N + 1).
    #[must_use]
    pub fn issues(&self) -> u64 {
        let m = self.n / 2;
        let complex = MixedRecipe::new(m, self.direction).map_or(0, |r| r.issues());
        complex + m as u64
    }
}

/// Returns the radices of the passes other than the joint one, in order.
fn radices(
    m: usize,
    joint: usize,
    direction: TransformDirection,
    (lanes, dmem): (LaneAssignment, u64),
) -> Option<Vec<usize>> {
    let (rest, forward) = (m / joint, direction == TransformDirection::Forward);
    if lanes == LaneAssignment::Transforms {
        return best_radices(rest, (forward, !forward));
    }
    // There must be pairs of columns c, L - c beside the columns that are processed alone.
    if rest % 2 == 1 || rest <= 4 {
        return None;
    }
    // The first pass, which is one of these or the joint one, makes adjacent results from one column and so
    // has an even radix.
    let even_first = forward || joint == 1;
    let share = RadixPassRange {
        all: m,
        n: rest,
        done: if forward { 1 } else { joint },
    };
    // Half of the columns of the joint pass have factors of their own.
    let factors = (joint as u64 / 2).max(1) + if forward { turns(joint) } else { 0 };
    let room = table_room(m, dmem).saturating_sub(COMPLEX * (rest / 2) as u64 * factors);
    column_radices(share, room, |order| !even_first || order[0] % 2 == 0)
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
            TransformDirection::Forward => write!(
                f,
                "real fft {n} {direction}: mixed {radices} x {joint}split"
            ),
            TransformDirection::Inverse => write!(
                f,
                "real fft {n} {direction}: mixed {joint}merge x {radices}"
            ),
        }?;
        f.write_str(self.lanes.suffix())
    }
}
