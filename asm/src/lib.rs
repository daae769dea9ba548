//! The CP2 instruction set, its assembler, disassembler and object files.
//!
//! [`isa`] holds the one instruction table; everything else derives from it.

pub mod disasm;
pub mod isa;
pub mod object;
mod program;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use disasm::disassemble;
pub use object::{MachineMismatch, ObjectError};
pub use program::{ABI_VERSION, Line, Program, Segment, Symbol, SymbolKind};
