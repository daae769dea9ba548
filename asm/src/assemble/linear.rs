//! Reads linear blocks, composes the scheduled loop, and places its words.

mod block_ends;
mod chain;
mod composer;
mod counted;
mod declarations;
mod initial_scalars;
mod joined_words;
mod lines;
mod moves;
mod placed_block;
mod pointers;
mod region;
mod rounds;

pub(super) use chain::OpenChain;
pub(super) use composer::BlockWrites;
pub(super) use placed_block::{BlockConstants, PlacedBlock};
