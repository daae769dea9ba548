//! Batches of one-dimensional complex FFTs.
//!
//! The manner is rustfft's: a [`FftPlanner`] makes an [`Fft`] for a length and
//! a direction; the plan is first a plain description, a [`Recipe`]. See
//! `docs/fft.md` for the algorithm and its schedule.

mod choice;
mod eighths;
mod entry;
mod error;
mod joined;
mod large;
mod mixed;
mod plan;
mod planner;
mod program;
mod real_floor;
mod real_ring;
mod real_ways;
mod recipe;
mod resident;
mod transform;

pub use choice::{Choice, Why};
pub use cp2_problems::fft::{Direction, error_bound, hermitian, reference, reference_nd};
pub use cp2_problems::fft::{ExactFft as Exact, FftProblem, RealFftProblem};
pub(crate) use entry::{KERNELS, complex, real};
pub use error::{FftError, NoDivision, NoShape};
pub(crate) use large::FieldFft;
pub use large::{FftNd, LargeFft, LargeRecipe, Lines};
pub use mixed::{
    BlockFft, BlockRecipe, BluesteinFft, BluesteinRecipe, ComplexToReal, LongBluestein, MixedFft,
    MixedRecipe, RealRecipe, RealRun, RealToComplex, TwoPassFft,
};
pub use plan::{FftRun, LocalFft};
pub use planner::{Candidate, FftPlanner, RecipeKind, Refused, TYPICAL_BATCH};
pub use program::source;
pub use recipe::{Layout, Pass, Recipe};
pub use transform::{Fft, Rows};
