//! Object files: ELF64, little-endian.
//!
//! | part | holds |
//! |---|---|
//! | header | type `EXEC`, machine [`MACHINE`], entry point in bytes of program memory |
//! | `.text` | the program words from program address 0; byte address = 8 x word address |
//! | `.dmem`, one per segment | initial DMEM contents; the section's address is the DMEM byte address |
//! | `.note.cp2` | owner `CP2`: type 1 the kernel ABI version (`u32`), type 2 the required extensions by name, one per line, type 3 the rows of machine files that words use, as `[[row]]` tables |
//! | `.symtab` | labels of the program (in `.text`), DMEM labels (in `.dmem`), constants (`SHN_ABS`) |
//! | `.debug_line`, `.debug_info`, `.debug_abbrev` | DWARF 4 line table: one row wherever the source line changes |
//! | `.debug_expansions` | macros and counters that words came from, beside the line table |
//!
//! Program memory and DMEM are separate address spaces, so `.text` and
//! `.dmem` may hold the same addresses. The file is a function of the program
//! alone: no time, host name or path enters it.
//!
//! All of this is this project's own choice: no object format of the real
//! machine is known to us.

mod check;
mod error;
mod expansions;
mod lines;
mod note;
mod read;
#[cfg(test)]
mod tests;
mod write;

pub use check::MachineMismatch;
pub(crate) use check::{dmem_fits, lacks, program_fits};
pub use error::ObjectError;

use crate::Program;

/// `e_machine` of CP2 objects: `"CP"`, a value nobody has registered.
/// Assumed, as is the whole file format.
pub const MACHINE: u16 = 0x4350;

/// Most words a program can have: targets are 16 bits wide.
pub const MAX_WORDS: usize = 1 << 16;

/// Longest symbol, file or extension name an object may hold, in bytes.
pub const MAX_NAME: usize = 1024;

/// Bytes of one word in the object's address space of `.text`.
const WORD_BYTES: u64 = 8;

/// Name of the DMEM sections.
const DMEM: &[u8] = b".dmem";
/// Name of the section of program words.
const TEXT: &[u8] = b".text";
/// Name of the section that records ABI version and extensions.
const NOTE: &[u8] = b".note.cp2";

impl Program {
    /// Writes the program as an ELF file. Equal programs give equal bytes.
    ///
    /// Names are cut at a NUL character, which ELF cannot hold.
    #[must_use]
    pub fn to_elf(&self) -> Vec<u8> {
        let bytes = write::write(self);
        debug_assert!(bytes.is_ok(), "{bytes:?}");
        // Only string tables beyond 4 GiB fail. The result is then an empty file, which every reader refuses.
        bytes.unwrap_or_default()
    }

    /// Reads a program from an ELF file.
    ///
    /// Memory use is bounded by a small multiple of the length of `elf`.
    ///
    /// # Errors
    /// Any byte string that is not a well-formed CP2 object of this ABI
    /// version, with the part that is wrong and what was expected.
    pub fn from_elf(elf: &[u8]) -> Result<Self, ObjectError> {
        read::read(elf)
    }
}
