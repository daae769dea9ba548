//! Transforms of any length in several passes over system memory: Bluestein's
//! algorithm around long transforms of powers of two, and real transforms
//! around complex ones.
//!
//! Everything is done on the device: what the passes between the transforms do
//! are persistent page kernels (`stage`), their pages `slices` of rows. See
//! `docs/fft-mixed.md`.

mod bluestein;
mod elements;
mod half;
mod lines;
mod real;
mod slices;
mod stage;
mod two_pass;

pub use bluestein::LongBluestein;
pub(in crate::fft) use real::LongReal;
pub use two_pass::TwoPassFft;
