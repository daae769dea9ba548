//! An assembled program: what the assembler produces, an ELF file carries and
//! a device loads.

use crate::isa::{DecodeError, Word};
use cp2_machine::Extensions;

/// Version of the kernel ABI (`docs/abi.md`) that objects record.
pub const ABI_VERSION: u32 = 2;

/// A program with its data, symbols and line table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Program memory from word address 0.
    pub words: Vec<u64>,
    /// Initial DMEM contents, the same in every section; disjoint, ascending.
    pub dmem: Vec<Segment>,
    /// Symbols.
    pub symbols: Vec<Symbol>,
    /// Source files that [`Program::lines`] refers to.
    pub files: Vec<String>,
    /// Source position of each word; parallel to [`Program::words`].
    pub lines: Vec<Line>,
    /// Word address where a launch begins unless told otherwise.
    pub entry: u16,
    /// Extensions the machine must have.
    pub requires: Extensions,
}

/// A stretch of initialised DMEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Byte address in DMEM.
    pub address: u32,
    /// Contents.
    pub bytes: Vec<u8>,
}

/// What a symbol's value means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// Word address in program memory.
    Program,
    /// Byte address in DMEM.
    Dmem,
    /// A constant (`.equ`).
    Absolute,
}

/// A named value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Name as written.
    pub name: String,
    /// What the value means.
    pub kind: SymbolKind,
    /// The value.
    pub value: i64,
}

/// Where a word came from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// Index into [`Program::files`].
    pub file: u32,
    /// Line, from 1; 0 where unknown.
    pub line: u32,
}

impl Program {
    /// The value of a symbol.
    #[must_use]
    pub fn symbol(&self, name: &str) -> Option<i64> {
        self.symbols
            .iter()
            .find(|s| s.name == name)
            .map(|s| s.value)
    }

    /// `file:line` of the word at `pc`, where known.
    #[must_use]
    pub fn location(&self, pc: usize) -> Option<String> {
        let line = self.lines.get(pc).filter(|l| l.line > 0)?;
        Some(format!(
            "{}:{}",
            self.files.get(line.file as usize)?,
            line.line
        ))
    }

    /// All words decoded.
    ///
    /// # Errors
    /// The address of the first invalid word, and what is wrong with it.
    pub fn decode(&self) -> Result<Vec<Word>, (usize, DecodeError)> {
        self.words
            .iter()
            .enumerate()
            .map(|(pc, &bits)| Word::decode(bits).map_err(|e| (pc, e)))
            .collect()
    }
}
