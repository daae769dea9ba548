//! Batches of one-dimensional complex FFTs, N = 16 .. 4096.
//!
//! The manner is rustfft's: a [`FftPlanner`] makes an [`Fft`] for a length and
//! a direction; the plan is first a plain description, a [`Recipe`]. See
//! `docs/fft.md` for the algorithm and its schedule.

mod definition;
mod entry;
mod error;
mod plan;
mod planner;
mod program;
mod recipe;

pub use definition::{FftProblem, error_bound, reference};
pub use entry::FftKernel;
pub use error::FftError;
pub use plan::{Fft, FftRun};
pub use planner::FftPlanner;
pub use program::source;
pub use recipe::{Direction, Layout, Pass, Recipe};
