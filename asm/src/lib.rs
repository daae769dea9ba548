//! The CP2 instruction set, its assembler, disassembler and object files.
//!
//! [`isa`] holds the one instruction table; everything else derives from it.

pub mod analysis;
mod assemble;
mod diag;
pub mod disasm;
mod expansion;
mod expr;
pub mod flow;
pub mod isa;
pub mod issue;
mod linear;
pub mod manual;
pub mod object;
mod program;
pub mod schedule;
#[cfg(any(test, feature = "testing"))]
pub mod testing;

pub use disasm::disassemble;
pub use object::{MachineMismatch, ObjectError};
mod source;
mod structure;
mod syntax;

pub use assemble::{
    Assembly, Include, IncludeFiles, Options, assemble, assemble_word, parse_define, shipped,
};
pub use diag::{Diagnostic, Diagnostics, Frame, Position, Problem, Related, Severity};
pub use expansion::{Expansion, ProgramExpansion};
pub use expr::{Value, cis};
pub use linear::{BlockReport, BoundTerm, ChainOverlap, CycleFormula};
pub use program::{ABI_VERSION, Line, LinkError, Program, Segment, Symbol, SymbolKind};
pub use source::Source;
pub use structure::StructureError;
