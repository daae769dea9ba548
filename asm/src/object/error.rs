//! Errors of reading object files.

use super::{MACHINE, MAX_NAME, MAX_WORDS};
use crate::ABI_VERSION;
use crate::StructureError;
use crate::isa::DecodeError;

/// Reasons why a byte string is no CP2 object. Each message says where, what was expected, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// A part cannot be read as the ELF or DWARF structure it should be.
    #[error(
        "{part}: {reason}; expected an ELF64 little-endian object as `cp2 asm` writes it: is the file complete?"
    )]
    Malformed {
        /// Part of the file.
        part: &'static str,
        /// Message of the ELF or DWARF parser.
        reason: String,
    },
    /// The file is for some other machine.
    #[error(
        "the ELF header names machine {found:#06x}, expected {MACHINE:#06x} (CP2): assemble the source with `cp2 asm`"
    )]
    Machine {
        /// Value of `e_machine`.
        found: u16,
    },
    /// Not an executable.
    #[error(
        "the ELF header has file type {found}, expected 2 (EXEC): CP2 objects are complete programs, not linker input"
    )]
    Type {
        /// Value of `e_type`.
        found: u16,
    },
    /// A section that must be there is not, or is there twice.
    #[error("section `{section}` occurs {found} times, expected once: assemble the source again")]
    Count {
        /// Section.
        section: &'static str,
        /// How often it occurs.
        found: usize,
    },
    /// The ABI version is missing.
    #[error(
        "`.note.cp2` records no ABI version, expected {ABI_VERSION}: assemble the source again"
    )]
    AbiMissing,
    /// The ABI version is not ours.
    #[error(
        "the object follows kernel ABI version {found}, expected {ABI_VERSION}: assemble the source with this tool's `cp2 asm`"
    )]
    Abi {
        /// Recorded version.
        found: u32,
    },
    /// The rows of machine files are not what they should be.
    #[error(
        "`.note.cp2` holds rows of a machine file that cannot be read: assemble the source again\n{reason}"
    )]
    Rows {
        /// Problem of the text.
        reason: String,
    },
    /// An extension of that name does not exist.
    #[error(
        "`.note.cp2` requires the extension `{name}`, which this version does not know: use a newer tool"
    )]
    Extension {
        /// Name as recorded.
        name: String,
    },
    /// A word needs an extension that the object does not declare.
    #[error(
        "word {pc:#06x} requires the extension {missing}, which `.note.cp2` does not list: assemble the source again"
    )]
    Undeclared {
        /// Word address.
        pc: usize,
        /// Extensions, comma-separated.
        missing: String,
    },
    /// The program is longer than any branch could reach.
    #[error("`.text` has {bytes} bytes, expected a multiple of 8 up to {} (2^16 words)", 8 * MAX_WORDS)]
    TextSize {
        /// Size found.
        bytes: usize,
    },
    /// `.text` does not lie at program address 0.
    #[error("`.text` has address {address:#x}, expected 0: programs are loaded from word 0")]
    TextAddress {
        /// Address found.
        address: u64,
    },
    /// A word is no instruction.
    #[error("`.text`, word {pc:#06x}: {source}; assemble the source again")]
    Word {
        /// Word address.
        pc: usize,
        /// Reason why the word is invalid.
        source: DecodeError,
    },
    /// The words do not fit together.
    #[error("`.text`: {0}; assemble the source again")]
    Structure(#[from] StructureError),
    /// The entry point is no word of the program.
    #[error(
        "the entry point is byte address {entry:#x}, expected a multiple of 8 below {bytes:#x}, the size of `.text`"
    )]
    Entry {
        /// Value of `e_entry`.
        entry: u64,
        /// Size of `.text`.
        bytes: u64,
    },
    /// A DMEM segment is misplaced.
    #[error(
        "`.dmem` section at {address:#x} with {bytes} bytes: expected address and size in multiples of 4, below 2^32, after the end {previous:#x} of the section before"
    )]
    Segment {
        /// Address.
        address: u64,
        /// Size.
        bytes: u64,
        /// End of the previous segment.
        previous: u64,
    },
    /// The sections together claim more bytes than the file has.
    #[error(
        "the `.dmem` sections claim {bytes} bytes, but the file has {file}: sections must not share contents"
    )]
    Overlap {
        /// Claimed so far.
        bytes: u64,
        /// File length.
        file: u64,
    },
    /// A symbol's section or value is not possible.
    #[error("symbol {index} `{name}`: {expected}, found {value:#x}")]
    Symbol {
        /// Index in `.symtab`.
        index: usize,
        /// Name.
        name: String,
        /// Description of a valid section or value.
        expected: &'static str,
        /// The offending value.
        value: u64,
    },
    /// A name is too long or no UTF-8.
    #[error("{part}: a name is no UTF-8 text of at most {MAX_NAME} bytes")]
    Name {
        /// Part of the file that holds the name.
        part: &'static str,
    },
    /// The line table is not the ordered table of this program.
    #[error(
        "`.debug_line`: {expected}, found {value:#x}: assemble again, or strip the debug sections"
    )]
    Lines {
        /// Description of a valid row.
        expected: &'static str,
        /// The offending value.
        value: u64,
    },
    /// The table of expansions is not one of this program.
    #[error(
        "`.debug_expansions`: {expected}, found {value:#x}: assemble again, or strip the debug sections"
    )]
    Expansions {
        /// Description of a valid entry.
        expected: &'static str,
        /// The offending value.
        value: u64,
    },
}

impl ObjectError {
    /// Makes a closure for `map_err` around a parser of `part`.
    pub(super) fn malformed<E: std::fmt::Display>(part: &'static str) -> impl FnOnce(E) -> Self {
        move |e| Self::Malformed {
            part,
            reason: e.to_string(),
        }
    }
}

/// Checks the length of a name and converts it to text.
pub(super) fn name(bytes: &[u8], part: &'static str) -> Result<String, ObjectError> {
    match std::str::from_utf8(bytes) {
        Ok(text) if text.len() <= MAX_NAME => Ok(text.to_owned()),
        _ => Err(ObjectError::Name { part }),
    }
}
