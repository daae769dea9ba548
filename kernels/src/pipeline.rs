//! Building blocks of generated loops, and counts of their operations.

mod operations;
mod ops;

pub(crate) use operations::Operations;
pub(crate) use ops::Ops;
