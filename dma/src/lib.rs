//! The DMA controller: descriptors, their validation, their functional copy
//! and their timing.
//!
//! Validation, copy and timing are three functions that consume one iterator
//! of contiguous runs, so that new kinds of transfer are new producers of runs.

mod copy;
mod descriptor;
mod error;
mod runs;
mod timing;
mod validate;

pub use copy::{AccessError, CopyError, LocalMemory, SystemMemory, copy};
pub use descriptor::{Descriptor, Direction, Level, Target};
pub use error::{DescriptorError, Field, FieldValue, Memory, Rule};
pub use runs::{Recipient, Run, Runs};
pub use timing::{TransferTime, transfer_time};
pub use validate::validate;
