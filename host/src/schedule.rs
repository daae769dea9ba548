//! The paging scheduler streams arrays of blocks in a row through DMEM.
//!
//! A [`Paging`] describes the job: how many blocks there are, where the blocks
//! of every input and output lie in system memory and how they are laid out
//! in DMEM. [`StreamPlan::new`] turns it into a [`StreamPlan`], a plain value: the
//! buffering degree, the DMEM map, the pages with the blocks of each section,
//! and the descriptors of every transfer. A plan can be printed and checked
//! without an emulator; [`crate::Device::page`] gives it to the engine ([`crate::paging`]).
//!
//! Nothing in a plan grows with the number of pages: pages and descriptors
//! are computed when asked for.

mod argument_blocks;
mod check;
mod dmem_frame;
mod dmem_map;
mod error;
mod estimate;
mod job;
mod page;
mod page_source;
mod plan_transfers;
mod print;
mod protection;
mod stream_plan;
#[cfg(test)]
mod tests;
mod transfer;

pub(crate) use transfer::merge;

pub use argument_blocks::ArgBlock;
pub use dmem_map::{DmemMap, DmemRegion};
pub use error::PlanError;
pub use estimate::StreamEstimate;
pub use job::{BlockPiece, BlocksPerSection, Buffering, PageArgs, Paging, Reserved, Stream};
pub use page::{Page, StreamPages};
pub use page_source::PageArguments;
#[cfg(test)]
pub(crate) use page_source::PlanWork;
use plan_transfers::PlanTransfers;
pub use stream_plan::StreamPlan;
