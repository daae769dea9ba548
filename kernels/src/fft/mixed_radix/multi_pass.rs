//! Transforms of any length in several passes over system memory.
//!
//! Bluestein's algorithm around long transforms, mixed-radix transforms in two passes, and real transforms
//! around complex ones.
//!
//! Everything is done on the device: the passes between the transforms are persistent page kernels
//! (`persistent_kernel`), whose pages are `slices` of rows. See `docs/fft-mixed.md`.

mod bluestein;
mod elementwise;
mod matrix_lines;
mod mixed_radix_two_pass;
mod persistent_kernel;
mod real;
mod real_split_merge;
mod slices;

pub use bluestein::LongBluestein;
pub use mixed_radix_two_pass::TwoPassFft;
pub(in crate::fft) use real::LongReal;
