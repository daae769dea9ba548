//! Limits on the expansion of a source.
//!
//! Exceeding a limit is an error with a place, so that no source makes the assembler run away.

/// Bytes of one source file.
pub(super) const FILE: usize = 16 << 20;
/// Bytes of all source files.
pub(super) const FILES: usize = 64 << 20;
/// Lines after expansion, including those left out by `.if`.
pub(super) const LINES: u64 = 1_000_000;
/// Iterations of one `.rept`.
pub(super) const REPEAT: i64 = 1_000_000;
/// Nesting of macros, repetitions, conditions and inclusions.
pub(super) const DEPTH: u32 = 64;
/// Tokens of one line after its macro parameters are filled in.
pub(super) const TOKENS: usize = 4096;
/// Tokens of all expanded lines.
pub(super) const ALL_TOKENS: u64 = 20_000_000;
/// Characters in one name.
pub(super) const NAME: usize = 256;
/// Words of program memory that an address can reach.
pub(super) const WORDS: usize = 1 << 16;
/// Bytes of DMEM that data may reach, if no machine sets a lower limit.
pub(super) const DMEM: u64 = 1 << 22;
/// Most definitions in a chain in which each uses a later one.
pub(super) const CHAIN: u32 = 16;
