//! The DMA controller: descriptors, their validation, their functional copy
//! and their timing.
//!
//! Validation, copy and timing are three functions that consume one iterator
//! of contiguous runs, so that new kinds of transfer are new producers of runs.

mod descriptor;
mod memory;

pub use descriptor::{Descriptor, Direction, Level, Target};
pub use memory::{CopyError, LocalMemory, SystemMemory};
