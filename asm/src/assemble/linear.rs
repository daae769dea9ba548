//! Linear blocks in the assembler: their lines are read, the scheduled block is composed and gets its words.

mod block_ends;
mod composer;
mod counted;
mod declarations;
mod lines;
mod placed_block;

pub(super) use composer::BlockWrites;
pub(super) use placed_block::{ConstantTable, PlacedBlock};
