//! The CP2 instruction set, its assembler, disassembler and object files.
//!
//! [`isa`] holds the one instruction table; everything else derives from it.

pub mod isa;
mod program;

pub use program::{ABI_VERSION, Line, Program, Segment, Symbol, SymbolKind};
