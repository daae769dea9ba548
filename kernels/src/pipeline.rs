//! Building blocks of generated loops, and counts of their operations.

mod block_body;
mod block_writer;
mod operations;
mod priced_block;

pub(crate) use block_body::{
    BlockBody, BodyOperand, BodyPointer, BodyValue, CarriedValue, PointerDeclaration,
};
pub(crate) use block_writer::{BlockWriter, address};
pub(crate) use operations::Operations;
pub(crate) use priced_block::PricedBlock;
