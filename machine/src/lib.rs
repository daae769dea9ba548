//! CP2 machines as data.
//!
//! A [`Machine`] holds every number the rest of the workspace needs to know
//! about the hardware: section count, register file, latencies, DMA bandwidth,
//! host costs. Nothing else in the workspace may contain such a number.
//!
//! This crate stands at the bottom of the crate graph and depends on no other.

mod class;
mod extensions;
mod params;
mod units;

pub use class::{Class, ClassMap};
pub use extensions::Extensions;
pub use params::{Cp2, Dma, Host, LANE_BYTES, Machine};
pub use units::{Bytes, Cycles, Ratio, Ticks, TimeBase};
