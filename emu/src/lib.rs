//! The CP2 emulator.

pub mod alu;
pub mod semantics;
