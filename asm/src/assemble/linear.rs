//! Reads linear blocks, composes the scheduled loop, and places its words.

mod block_ends;
mod block_registers;
mod block_words;
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
mod scheduled_block;

pub(super) use block_registers::BlockWrites;
pub(super) use chain::OpenChain;
pub(super) use placed_block::{BlockConstants, PooledWords};
