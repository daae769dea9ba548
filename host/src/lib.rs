//! The host side of CP2.
//!
//! [`schedule`] pages arrays through DMEM.

pub mod schedule;

pub use schedule::{
    BlocksPerSection, Buffering, PageArgs, Paging, Piece, Plan, PlanError, Reserved, Stream,
};

#[cfg(test)]
pub(crate) fn test_machine() -> cp2_machine::Machine {
    cp2_machine::Machine::builtin("vm7").expect("vm7 is built in")
}
