//! Batches of one-dimensional complex FFTs.
//!
//! The manner is rustfft's: a [`FftPlanner`] makes an [`Fft`] for a length and
//! a direction; the plan is first a plain description, a [`Recipe`]. See
//! `docs/fft.md` for the algorithm and its schedule.

mod choice;
mod definition;
mod eighths;
mod entry;
mod error;
mod exact;
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
pub use definition::{FftProblem, error_bound, hermitian, reference, reference_nd};
pub(crate) use entry::KERNELS;
pub use error::{FftError, NoDivision, NoShape};
pub use exact::Exact;
pub use large::{FftNd, LargeFft, LargeRecipe, Lines};
pub use mixed::{
    BlockFft, BlockRecipe, BluesteinFft, BluesteinRecipe, ComplexToReal, LongBluestein, MixedFft,
    MixedRecipe, RealRecipe, RealRun, RealToComplex, TwoPassFft,
};
pub use plan::{FftRun, LocalFft};
pub use planner::{Candidate, FftPlanner, RecipeKind, Refused, TYPICAL_BATCH};
pub use program::source;
pub use recipe::{Direction, Layout, Pass, Recipe};
pub use transform::{Fft, Rows};
