//! The paging scheduler: how an array that does not fit in DMEM streams
//! through it.
//!
//! A [`Paging`] describes the job: how many blocks there are, where the blocks
//! of every input and output lie in system memory and how they are laid out
//! in DMEM. [`Plan::new`] turns it into a [`Plan`], a plain value: the
//! buffering degree, the DMEM map, the pages with the blocks of each section,
//! and the descriptors of every transfer. A plan can be printed and checked
//! without an emulator; [`crate::Device::page`] gives it to the engine ([`crate::paging`]).
//!
//! Nothing in a plan grows with the number of pages: pages and descriptors
//! are computed when asked for.

mod args;
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
mod source;
#[cfg(test)]
mod tests;
mod transfer;

pub(crate) use transfer::merge;

pub use args::ArgBlock;
pub use error::PlanError;
pub use estimate::Estimate;
pub use job::{BlocksPerSection, Buffering, PageArgs, Paging, Piece, Reserved, Stream};
use made::Made;
pub use map::{DmemMap, Region};
pub use page::{Page, Pages};
pub use plan::Plan;
pub use source::PageArguments;
#[cfg(test)]
pub(crate) use source::PlanWork;
