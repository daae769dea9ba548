//! Transforms of lengths with prime factors to 31 in local memory, complex and real.
//!
//! Stockham's algorithm with a pass for every radix. The kernels are generated:
//! `dft` has the dataflow of a column, `pass` and `real` add loads, factors and
//! stores, and `crate::pipeline` schedules it for the machine. See
//! `docs/fft-mixed.md`.

mod blocks;
mod bluestein;
mod chirp;
mod constants;
mod dft;
mod join;
mod lanes;
mod large_radix;
mod last;
mod long;
mod merge;
mod pass;
mod plan;
mod program;
mod radix;
mod real;
mod real_plan;
mod real_recipe;
mod real_way;
mod recipe;
mod repitch;
mod rows;
mod separate;
mod text;
mod walk;

pub(super) use bluestein::least_issues_of;
pub use bluestein::{BluesteinFft, BluesteinRecipe};
pub(super) use join::joining;
pub(super) use long::LongReal;
pub use long::{LongBluestein, TwoPassFft};
pub use plan::{BlockFft, BlockRecipe, MixedFft};
pub use real_plan::{ComplexToReal, RealRun, RealToComplex};
pub use real_recipe::RealRecipe;
pub(super) use real_way::RealWay;
pub use recipe::MixedRecipe;
pub(super) use separate::{ORDER, Separation, separation};
