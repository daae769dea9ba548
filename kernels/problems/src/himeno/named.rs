//! The sizes of the benchmark, by name.

use super::{HimenoData, HimenoProblem};
use std::fmt;

/// A size of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum HimenoSize {
    /// 32 x 32 x 64 points.
    XS,
    /// 64 x 64 x 128 points.
    S,
    /// 128 x 128 x 256 points.
    M,
    /// 256 x 256 x 512 points.
    L,
    /// 512 x 512 x 1024 points.
    XL,
}

impl HimenoSize {
    /// All sizes, the smallest one first.
    pub const ALL: [Self; 5] = [Self::XS, Self::S, Self::M, Self::L, Self::XL];

    /// Returns the name of the size.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::XS => "XS",
            Self::S => "S",
            Self::M => "M",
            Self::L => "L",
            Self::XL => "XL",
        }
    }

    /// Returns planes, rows and columns of the box that is computed. The benchmark's arrays have one more along each
    /// axis, which is never read.
    #[must_use]
    pub fn shape(self) -> [usize; 3] {
        let planes = match self {
            Self::XS => 32,
            Self::S => 64,
            Self::M => 128,
            Self::L => 256,
            Self::XL => 512,
        };
        [planes, planes, 2 * planes]
    }

    /// Returns the relative error that gosa of the standard data may have in single precision, from the first to the
    /// hundredth iteration. Its changes are small differences of nearly equal numbers, alike in a whole plane, so that
    /// their errors do not cancel. Three orders of evaluation, one of them with fused products, had half of it (up to
    /// [`HimenoSize::L`]); the bound of the worst case is hundreds of times as large.
    #[must_use]
    pub fn gosa_tolerance(self) -> f64 {
        match self {
            Self::XS => 1e-4,
            Self::S => 4e-4,
            Self::M => 1e-3,
            Self::L => 3e-3,
            Self::XL => 3e-2,
        }
    }

    /// Returns the problem of this size.
    ///
    /// # Errors
    /// There are no iterations or more than 2^20.
    pub fn problem(
        self,
        iterations: usize,
        data: HimenoData,
    ) -> Result<HimenoProblem, crate::ProblemError> {
        HimenoProblem::new(self.shape(), iterations, data)
    }
}

impl fmt::Display for HimenoSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
