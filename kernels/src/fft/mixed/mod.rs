//! Transforms of lengths 2^a 3^b 5^c 7^d in local memory.
//!
//! Stockham's algorithm with a pass for every radix. The kernels are generated:
//! `dft` has the dataflow of a column, `pass` adds loads, factors and stores,
//! and `crate::pipeline` schedules it for the machine. See `docs/fft-mixed.md`.

mod dft;
mod pass;
mod plan;
mod program;
mod recipe;
mod text;

pub use plan::MixedFft;
pub use recipe::MixedRecipe;
