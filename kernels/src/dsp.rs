//! Signal processing: vectors, reductions, small matrices, transposition.
//!
//! Every plan works on batches in system memory, paged through local memory:
//!
//! | plan | input | output |
//! |---|---|---|
//! | [`ElementwisePlan`] | one or two arrays of equal length | an array, element by element |
//! | [`ReductionPlan`] | `rows` vectors of `n` numbers, or two such arrays | a number (and place) for each row |
//! | [`Beamformer`] | snapshots of `elements` complex numbers | `beams` complex numbers for each snapshot |
//! | [`SmallProducts`] | pairs of small complex matrices | their products |
//! | [`TransposePlan`] | complex matrices | their transposes |
//!
//! The inner loops are linear blocks, scheduled for the machine's latencies. The figures of a plan
//! are the longer of the arithmetic issues of its formula and the bytes over the DMA channel.

mod entry;
mod error;
mod kernel;
mod map;
mod matrix;
mod plan;
mod reduce;
mod small_products;
mod tile;
mod transpose;

pub use cp2_problems::vector::{MapOp, ReductionOp, WindowFunction};
pub(crate) use entry::ENTRIES;
pub use error::DspError;
pub use map::{Elements, ElementwisePlan};
pub use matrix::{Beamformer, WeightLayout};
pub use plan::VectorPlan;
pub use reduce::{Extreme, ReducedRows, ReductionPlan};
pub use small_products::{Sides, SmallProducts};
pub use transpose::{MatrixTiles, TransposePlan};
