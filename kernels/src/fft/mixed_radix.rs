//! Transforms of lengths with prime factors to 31, by passes in local memory.
//!
//! Stockham's algorithm with a pass for every radix, complex and real. The kernels are generated:
//! `butterflies` has the operations of a column, `stockham_pass` and `real_split` add loads, factors and
//! stores, and `column_loop` writes a linear block of them. See `docs/fft-mixed.md`.

mod assembly_text;
mod block_fft;
mod block_kernels;
mod bluestein;
mod butterflies;
mod chirp;
mod column_loop;
mod column_rows;
mod large_radix;
mod last_level;
mod multi_pass;
mod page_kernels;
mod quad_lanes;
mod radix;
mod radix_constants;
mod radix_operands;
mod real_fft;
mod real_merge;
mod real_plans;
mod real_recipe;
mod real_split;
mod recipe;
mod repitch;
mod ring4096_merge;
mod ring4096_split;
mod stockham_pass;

pub use block_fft::{BlockFft, BlockRecipe, MixedFft};
pub(super) use bluestein::find_least_issues;
pub use bluestein::{BluesteinFft, BluesteinRecipe};
pub(super) use multi_pass::LongReal;
pub use multi_pass::{LongBluestein, TwoPassFft};
pub use radix::has_small_factors;
pub use real_fft::{ComplexToReal, RealRun, RealToComplex};
pub(super) use real_plans::RealFftPlan;
pub use real_recipe::RealRecipe;
pub use recipe::MixedRecipe;
pub(super) use ring4096_merge::generate_merge;
pub(super) use ring4096_split::{ORDER, SplitMergeInclude, separation};
