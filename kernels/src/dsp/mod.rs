//! The signal processing set: vectors, windows, reductions, small matrices,
//! transposition.
//!
//! Everything works on batches in system memory, paged through local memory:
//!
//! | plan | input | output |
//! |---|---|---|
//! | [`Map`] | one or two arrays of equal length | an array, element by element |
//! | [`Reduction`] | `rows` vectors of `n` numbers, or two such arrays | a number (and place) for each row |
//! | [`Beamformer`] | snapshots of `elements` complex numbers | `beams` complex numbers for each snapshot |
//! | [`SmallProducts`] | pairs of small complex matrices | their products |
//! | [`Transposition`] | complex matrices | their transposes |
//!
//! The inner loops are modulo schedules made by `pipeline` for the machine's
//! latencies; bounds are the arithmetic issues of the formula in its header or
//! the bytes over the DMA channel, whichever takes longer.

mod error;
mod kernel;
mod map;
mod matrix;
mod plan;
mod product;
mod reduce;
mod registered;
mod tile;
mod transpose;

pub use cp2_problems::vector::{MapOp, ReductionOp, Window};
pub use error::DspError;
pub use map::{Elements, Map};
pub use matrix::{Beamformer, Weights};
pub use plan::Planned;
pub use product::{Sides, SmallProducts};
pub use reduce::{Extreme, Reduction, Rows};
pub(crate) use registered::{KERNELS, beams, map, products, reduce, transpose};
pub use transpose::{Tiles, Transposition};
