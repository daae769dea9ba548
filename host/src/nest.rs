//! Pages as data: arrays of one to three dimensions in blocks with halos, several of them at a time.
//!
//! A [`GridPass`] describes the job: every input and output is a [`GridField`], an array with its blocks, its halo and what
//! lies beyond its edges; all have the same grid of blocks. [`GridPlan::new`] turns it into a [`GridPlan`], a plain value: a
//! page has a number with mixed radix, a digit for every axis; pages that differ only in where they lie are a [`Kind`],
//! with the transfers and argument words of its first page and a step of each for every digit. A block at an edge is of a
//! kind of its own. A nest can be printed, serialised and tested without an emulator, and nothing in it grows with the number of pages.
//!
//! A page is the same number of blocks for every section, one behind the other along the axis that is dealt to the sections.
//! A window shows its block, whole blocks with their halo, of the array as its edge continues it: all of it is data, and what lies inside the
//! array alone is stored.
//!
//! Neighbours along an axis have lines in common, planes or rows, where windows have a halo along it. Pages that *march* along that axis ([`March`]) load them once:
//! the lines of an input are a circular buffer in DMEM, and the kernel finds the address of each in its arguments.

mod argument_blocks;
mod argument_words;
mod dmem_layout;
mod error;
mod field;
mod grid_pass;
mod grid_plan;
mod march;
mod page_choice;
mod page_cuts;
mod page_source;
mod print;
mod protection;
#[cfg(test)]
mod tests;
mod transfers;

pub use argument_words::{ArgumentLayout, Reads};
pub use error::NestError;
pub use field::{AXES, BoundaryRule, FirstLoad, GridField, Strip, UnbufferedBlock};
pub use grid_pass::{ConstantTable, GridPass, PageCycles};
pub use grid_plan::{BlockTransfer, GridPlan, Kind};
pub use march::March;
pub use page_source::NestArguments;
#[cfg(test)]
pub(crate) use page_source::NestWork;
