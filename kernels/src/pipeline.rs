//! Building blocks of generated loops, and counts of their operations.

mod block_writer;
mod operations;

pub(crate) use block_writer::{BlockWriter, address};
pub(crate) use operations::Operations;
