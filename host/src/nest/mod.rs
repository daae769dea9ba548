//! Pages as data: arrays of one to three dimensions in blocks with halos, several of them at a time.
//!
//! A [`Sweep`] describes the job: every input and output is a [`Field`], an array with its blocks, its halo and what
//! lies beyond its edges; all have the same grid of blocks. [`Nest::new`] turns it into a [`Nest`], a plain value: a
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

mod args;
mod arguments;
mod choose;
mod compile;
mod cuts;
mod error;
mod field;
mod job;
mod march;
mod plan;
mod print;
mod protection;
mod room;
mod source;
#[cfg(test)]
mod tests;

pub use args::{Layout, Reads};
pub use error::NestError;
pub use field::{AXES, Edge, Field, Opening, Strip, Within};
pub use job::{PageCycles, Sweep, Table};
pub use march::March;
pub use plan::{Kind, Move, Nest};
pub use source::NestArguments;
#[cfg(test)]
pub(crate) use source::NestWork;
