//! Pages as data: arrays of one to three dimensions in blocks with halos.
//!
//! A [`GridPass`] describes the job. Every input and output is a [`GridField`]: an array with its blocks, its
//! halo, and the values beyond its edges. All fields have the same grid of blocks. [`GridPlan::new`] turns
//! the job into a [`GridPlan`], a plain value. The number of a page is a mixed-radix number with a digit for
//! every axis. Pages that differ only in their addresses are a [`Kind`]: it has the transfers and argument
//! words of its first page, and a step of each for every digit. A block at an edge is of a kind of its own. A
//! plan can be printed, serialised and tested without an emulator, and nothing in it grows with the number of
//! pages.
//!
//! A page has the same number of blocks for every section, consecutive along the axis that is dealt to the
//! sections. A window shows a whole block with its halo, where the array is continued by its edge rule. A
//! kernel reads all of the window as data; only elements inside the array are stored.
//!
//! Windows with a halo share lines (planes or rows) with their neighbours along that axis. Pages that *march*
//! along the axis ([`March`]) load the shared lines once: the lines of an input are a circular buffer in
//! DMEM, and the kernel finds the address of each in its arguments.

mod argument_blocks;
mod argument_words;
mod block_place;
mod dmem_layout;
mod error;
mod field;
mod grid_pass;
mod grid_plan;
mod last_store;
mod march;
mod page_choice;
mod page_cuts;
mod page_source;
mod print;
mod protection;
mod shared_nest;
#[cfg(test)]
mod tests;
mod transfers;

pub use argument_words::{ArgumentLayout, Reads};
pub use block_place::BlockPlace;
pub use error::NestError;
pub use field::{AXES, BoundaryRule, FirstLoad, GridField, Strip, UnbufferedBlock};
pub use grid_pass::{ConstantTable, GridPass, PageCycles};
pub use grid_plan::{BlockTransfer, GridPlan, Kind};
pub use march::March;
pub use page_source::NestArguments;
#[cfg(test)]
pub(crate) use page_source::NestWork;
pub use shared_nest::SharedNest;
