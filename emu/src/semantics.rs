//! Meaning of every operation, written once for all engines and checkers.
//!
//! * [`arith`]: the arithmetic slot, per section, generic over [`crate::alu::Alu`].
//! * [`action`]: what the memory-and-control slot asks for, resolved once per word.
//! * [`scalar`]: operations on the shared scalars.
//! * [`address`]: DMEM addresses and their updates.
//! * [`elementary`]: the elementary functions' algorithms.
//!
//! Nothing here knows of cycles, memories or sections. Each `match` over
//! operations is exhaustive and without a wildcard: a new row of the table
//! does not compile until it has a meaning.

pub mod action;
pub mod address;
pub mod arith;
pub mod double;
pub mod elementary;
pub mod exchange;
pub mod scalar;
mod user_row;
