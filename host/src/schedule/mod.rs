//! The paging scheduler: how an array that does not fit in DMEM streams
//! through it.
//!
//! A [`Paging`] describes the job: how many blocks there are, where the blocks
//! of every input and output lie in system memory and how they are laid out
//! in DMEM. [`Plan::new`] turns it into a [`Plan`], a plain value: the
//! buffering degree, the DMEM map, the pages with the blocks of each section,
//! the descriptors of every transfer and the order of the steps with their
//! dependencies. A plan can be printed and checked without an emulator;
//! [`crate::Device::page`] turns it into device commands.
//!
//! Nothing in a plan grows with the number of pages: pages, descriptors and
//! steps are computed when asked for.

mod args;
mod buffer;
mod check;
mod error;
mod estimate;
mod frame;
mod job;
mod made;
mod map;
mod page;
mod plan;
mod print;
mod protection;
mod steps;
#[cfg(test)]
mod tests;
mod transfer;

pub(crate) use transfer::merge;

pub use args::ArgBlock;
pub use buffer::{Buffer as PageBuffer, BufferError, BufferState, Buffers, Transition};
pub use error::PlanError;
pub use estimate::Estimate;
pub(crate) use frame::granule;
pub use job::{BlocksPerSection, Buffering, PageArgs, Paging, Piece, Reserved, Stream};
pub(crate) use made::Made;
pub use map::{DmemMap, Region};
pub use page::{Page, Pages};
pub use plan::Plan;
pub use steps::{Step, StepId, StepKind, Steps};
