//! FFTs: power-of-two, mixed-radix, four-step, Bluestein, real and n-D.
//!
//! The manner is rustfft's: a [`FftPlanner`] makes an [`Fft`] for a length and
//! a direction; the plan is first a plain description, a [`PowerOfTwoRecipe`]. See
//! `docs/fft.md` for the algorithm and its schedule.

mod choice;
mod double_lines;
mod entry;
mod error;
mod fft_trait;
mod four_step;
mod mixed_radix;
mod planner;
mod power_of_two;
mod power_of_two_recipe;
mod program;
mod real_bound;
mod real_planner;
mod resident_bench;
mod ring4096_inverse_real;
mod ring4096_pages;
mod ring4096_real;

pub use choice::{ChoiceReason, FftChoice};
pub use cp2_problems::fft::{ExactTransform, FftProblem, RealFftProblem};
pub use cp2_problems::fft::{TransformDirection, error_bound, hermitian, reference, reference_nd};
pub(crate) use double_lines::{DoubleAxisPass, DoubleWeights};
pub(crate) use entry::ENTRIES;
pub use error::{FftError, NoDivision, NoShape};
pub use fft_trait::{Fft, RowStrides};
pub(crate) use four_step::FieldFft;
pub use four_step::{CrossSectionFft, FftNd, FourStepFft, FourStepRecipe, LineBatch};
pub use mixed_radix::{
    BlockFft, BlockRecipe, BluesteinFft, BluesteinRecipe, ComplexToReal, LongBluestein, MixedFft,
    MixedRecipe, RealRecipe, RealRun, RealToComplex, TwoPassFft, has_small_factors,
};
pub use planner::{FftCandidate, FftPlanner, RecipeKind, RefusedRecipe, TYPICAL_BATCH};
pub use power_of_two::{FftRun, LocalFft};
pub use power_of_two_recipe::{PassLayout, PowerOfTwoRecipe, RadixPass};
pub use program::source;
