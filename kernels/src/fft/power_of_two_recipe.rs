//! Passes of a power-of-two FFT: Stockham, or in place in a ring at 4096.

use super::error::FftError;
use crate::fft::TransformDirection;
use std::fmt;

/// The shortest transform.
pub(super) const MIN_LENGTH: usize = 16;
/// The longest transform.
pub(super) const MAX_LENGTH: usize = 4096;

/// Places of a transform's numbers in DMEM between the passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PassLayout {
    /// Stockham's layout: passes alternate between two buffers, in natural order.
    Stockham,
    /// In place in eight blocks of a ring; the store puts the result in order.
    Ring,
}

/// One pass over a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RadixPass {
    /// Radix of the pass: 4 or 8.
    pub radix: usize,
    /// Length of the sub-transforms that the pass combines.
    pub done: usize,
}

/// Length, direction, layout and passes of a transform.
///
/// ```
/// use cp2_kernels::fft::{TransformDirection, PowerOfTwoRecipe};
/// let recipe = PowerOfTwoRecipe::new(1024, TransformDirection::Forward)?;
/// assert_eq!(recipe.to_string(), "fft 1024 forward: stockham 4 x 4 x 8 x 8");
/// # Ok::<(), cp2_kernels::fft::FftError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PowerOfTwoRecipe {
    n: usize,
    direction: TransformDirection,
    layout: PassLayout,
    passes: Vec<RadixPass>,
}

impl PowerOfTwoRecipe {
    /// Chooses the passes: as many of radix 8 as possible, the rest of radix 4
    /// and first, where the twiddle factors are few enough to stay in registers.
    ///
    /// # Errors
    /// A length without a kernel.
    pub fn new(n: usize, direction: TransformDirection) -> Result<Self, FftError> {
        if !n.is_power_of_two() || !(MIN_LENGTH..=MAX_LENGTH).contains(&n) {
            return Err(FftError::Length { n });
        }
        let layout = if n == MAX_LENGTH {
            PassLayout::Ring
        } else {
            PassLayout::Stockham
        };
        let fours = match n.trailing_zeros() % 3 {
            0 => 0,
            2 => 1,
            _ => 2,
        };
        let mut passes = Vec::new();
        let mut done = 1;
        while done < n {
            let radix = if passes.len() < fours { 4 } else { 8 };
            passes.push(RadixPass { radix, done });
            done *= radix;
        }
        Ok(Self {
            n,
            direction,
            layout,
            passes,
        })
    }

    /// Returns the length of the transform.
    #[must_use]
    pub fn len(&self) -> usize {
        self.n
    }

    /// Returns false: a transform has at least 16 numbers.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.n == 0
    }

    /// Returns the direction of the transform.
    #[must_use]
    pub fn direction(&self) -> TransformDirection {
        self.direction
    }

    /// Returns the layout of the numbers between the passes.
    #[must_use]
    pub fn layout(&self) -> PassLayout {
        self.layout
    }

    /// Returns the passes in order.
    #[must_use]
    pub fn passes(&self) -> &[RadixPass] {
        &self.passes
    }

    /// True if the result ends in the page that the input was in: an even number of passes.
    #[must_use]
    pub fn is_in_place(&self) -> bool {
        self.passes.len().is_multiple_of(2)
    }

    /// Returns the number of butterflies (x + yw, x - yw) of one transform: N/2 log2 N.
    #[must_use]
    pub fn butterflies(&self) -> u64 {
        (self.n / 2) as u64 * u64::from(self.n.trailing_zeros())
    }
}

impl fmt::Display for PowerOfTwoRecipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let layout = match self.layout {
            PassLayout::Stockham => "stockham",
            PassLayout::Ring => "ring",
        };
        write!(f, "fft {} {}: {layout}", self.n, self.direction)?;
        for (i, pass) in self.passes.iter().enumerate() {
            write!(f, "{} {}", if i == 0 { "" } else { " x" }, pass.radix)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_length_has_its_radices() {
        let radices: Vec<String> = (4..=12)
            .map(|b| {
                let recipe = PowerOfTwoRecipe::new(1 << b, TransformDirection::Inverse).unwrap();
                let mut done = 1;
                for pass in recipe.passes() {
                    assert_eq!(pass.done, done);
                    done *= pass.radix;
                }
                assert_eq!(done, recipe.len());
                recipe.to_string().split_once(": ").unwrap().1.to_owned()
            })
            .collect();
        assert_eq!(
            radices,
            [
                "stockham 4 x 4",
                "stockham 4 x 8",
                "stockham 8 x 8",
                "stockham 4 x 4 x 8",
                "stockham 4 x 8 x 8",
                "stockham 8 x 8 x 8",
                "stockham 4 x 4 x 8 x 8",
                "stockham 4 x 8 x 8 x 8",
                "ring 8 x 8 x 8 x 8"
            ]
            .map(|s| s.to_owned())
        );
    }

    #[test]
    fn other_lengths_are_refused() {
        for n in [0, 1, 8, 15, 17, 48, 8192, usize::MAX] {
            let error = PowerOfTwoRecipe::new(n, TransformDirection::Forward).unwrap_err();
            assert!(error.to_string().contains(&n.to_string()), "{error}");
        }
    }
}
