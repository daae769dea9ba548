//! Linear blocks: operations on named values, which the assembler schedules.
//!
//! A block between `.linear` and `.endlinear` is the text of one iteration, carried out one operation after the other
//! (`docs/linear.md`). [`block`] holds it as it was read, [`widths`] finds out which values are pairs and which quads,
//! and [`lower`] makes a [`Dataflow`](crate::schedule::Dataflow) of it for the scheduler.

mod apart;
mod block;
mod block_values;
mod carried_values;
mod effects;
mod lower;
mod memory;
mod pointer_registers;
mod report;
mod rounds;
mod scalars;
mod widths;

pub(crate) use block::{
    BlockConstant, BlockCount, BlockExtent, BlockOperand, BlockOperation, BlockPointer, BlockStep,
    BlockValue, FinalValue, InitialSource, InitialValue, LinearBlock, PlacementHint, PointerOrigin,
    TableAddress, TableLabel, ValueUse, ValueWidth,
};
pub(crate) use lower::{
    BlockRegisters, CarriedPlace, HeldConstant, KeptValues, LackingRegisters, LoweredBlock, lower,
};
pub use report::{BlockReport, BoundTerm, ChainOverlap, CycleFormula};
pub(crate) use rounds::{ROUND_ADDRESSES, RoundRegisters};
pub(crate) use widths::ChosenRow;
