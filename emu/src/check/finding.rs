//! What the checkers find, and how they say it.

use crate::check::protection::Owner;
use cp2_asm::isa::Reg;
use cp2_dma::Direction;
use serde::{Deserialize, Serialize};
use std::fmt;

/// What a checker objects to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum Objection {
    /// A register is read that the kernel never wrote.
    UnwrittenRegister {
        /// Flat register number.
        register: u8,
    },
    /// DMEM is read that neither a transfer nor a kernel ever wrote.
    UnwrittenDmem {
        /// Section.
        section: usize,
        /// Byte address.
        address: u32,
    },
    /// A transfer stores DMEM that was never written.
    UnwrittenStore {
        /// Section.
        section: usize,
        /// Byte address.
        address: u32,
        /// The transfer's tag.
        tag: u64,
    },
    /// A transfer stores behind the end of what it begins in of system memory: an array, a table, a program.
    BehindArray {
        /// The transfer's tag.
        tag: u64,
        /// First byte of what is stored together.
        address: u64,
        /// Bytes of that.
        bytes: u64,
        /// Where the area ends, the rest of its last granule included.
        end: u64,
    },
    /// A transfer stores what of an output's block its kernel did not write at its page.
    UnwrittenOutput {
        /// Section.
        section: usize,
        /// Byte address.
        address: u32,
        /// The page, from 0.
        page: u64,
        /// The transfer's tag.
        tag: u64,
        /// Row of the array that is stored, those of all planes counted.
        row: u64,
        /// Byte in the row.
        byte: u64,
    },
    /// The kernel reads a block of an output where it has not written it at this page.
    Undefined {
        /// Section.
        section: usize,
        /// Byte address.
        address: u32,
        /// The page, from 0.
        page: u64,
    },
    /// The kernel touches the block of one stream by an address that comes from another one's.
    Strayed {
        /// Section.
        section: usize,
        /// Byte address.
        address: u32,
        /// The kernel stores rather than loads.
        write: bool,
        /// The page, from 0.
        page: u64,
    },
    /// The kernel touches DMEM that a running transfer writes, or writes DMEM
    /// that one reads.
    Race {
        /// Section.
        section: usize,
        /// Byte address.
        address: u32,
        /// The kernel stores rather than loads.
        write: bool,
        /// The transfer's tag.
        tag: u64,
        /// The transfer's direction.
        direction: Direction,
    },
    /// The kernel runs a word that a running transfer replaces.
    ProgramRace {
        /// The transfer's tag.
        tag: u64,
    },
    /// The kernel touches DMEM that is neither of its page nor its scratch, arguments or program data.
    Outside {
        /// Section.
        section: usize,
        /// Byte address.
        address: u32,
        /// The kernel stores rather than loads.
        write: bool,
        /// The page it is at, from 0.
        page: u64,
        /// Whose it is.
        owner: Owner,
    },
}

/// An objection, where it arose first, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Word that made the access; none for a transfer's own.
    pub pc: Option<u32>,
    /// The number that the caller gave to the launch, or to the last one before a transfer: what program the word is of.
    pub launched: u32,
    /// Cycle of the first occurrence.
    pub cycle: u64,
    /// Occurrences at this word.
    pub count: u64,
    /// What is wrong.
    #[serde(flatten)]
    pub objection: Objection,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.objection {
            Objection::Outside {
                section,
                address,
                write,
                page,
                owner,
            } => {
                let does = if write { "writes" } else { "reads" };
                let place = format!("DMEM {address:#x} of section {section} at page {page}");
                match owner {
                    Owner::Arguments => write!(
                        f,
                        "kernel overwrites an argument block, {place}; it may only read it: nothing loads it again for the next page"
                    )?,
                    Owner::Window => write!(
                        f,
                        "kernel overwrites {place}, a line of a window that slides; it may only read it: the next pages find it there"
                    )?,
                    Owner::OtherPage => write!(
                        f,
                        "kernel {does} {place}, which belongs to another page or lies behind the last block of this one; \
                         keep to the blocks that the arguments count"
                    )?,
                    Owner::None => write!(
                        f,
                        "kernel {does} {place}, which is neither of the page nor scratch, arguments or program data; \
                         ask for working space as scratch (`cp2 map --scratch`) or take it with `.dmem`"
                    )?,
                }
            }
            Objection::ProgramRace { tag } => {
                write!(
                    f,
                    "kernel runs a word that transfer {tag} is replacing; load programs where no kernel runs"
                )?;
            }
            Objection::UnwrittenRegister { register } => {
                write!(
                    f,
                    "register {} is read but this kernel never wrote it",
                    Reg(register)
                )?;
            }
            Objection::UnwrittenDmem { section, address } => {
                write!(
                    f,
                    "DMEM {address:#x} of section {section} is read but was never written"
                )?;
            }
            Objection::UnwrittenStore {
                section,
                address,
                tag,
            } => {
                write!(
                    f,
                    "transfer {tag} stores DMEM {address:#x} of section {section}, which was never written"
                )?;
            }
            Objection::BehindArray {
                tag,
                address,
                bytes,
                end,
            } => {
                write!(
                    f,
                    "transfer {tag} stores {bytes} bytes at {address:#x} of system memory, beyond {end:#x}, where the array that they begin in ends; \
                     what lies there is not its own"
                )?;
            }
            Objection::UnwrittenOutput {
                section,
                address,
                page,
                tag,
                row,
                byte,
            } => {
                write!(
                    f,
                    "kernel leaves part of an output's block unwritten at page {page}: transfer {tag} stores DMEM {address:#x} of section {section} \
                     to byte {byte} of row {row} of the array; write all of each block, what it holds else is left from other pages"
                )?;
            }
            Objection::Undefined {
                section,
                address,
                page,
            } => {
                write!(
                    f,
                    "kernel reads DMEM {address:#x} of section {section} at page {page}, where an output's block is that it has not written at this page; \
                     what the block holds when a page begins is undefined"
                )?;
            }
            Objection::Strayed {
                section,
                address,
                write,
                page,
            } => {
                let does = if write { "writes" } else { "reads" };
                write!(
                    f,
                    "kernel {does} DMEM {address:#x} of section {section} at page {page}, in the block of another stream than the one that its address comes from: \
                     what lies behind the last block depends on the size of pages; keep to the blocks that the arguments count, or give the input a halo"
                )?;
            }
            Objection::Race {
                section,
                address,
                write,
                tag,
                direction,
            } => {
                let does = if write { "writes" } else { "reads" };
                let moves = match direction {
                    Direction::Load => "writing",
                    Direction::Store => "reading",
                };
                write!(
                    f,
                    "kernel {does} DMEM {address:#x} of section {section} while transfer {tag} is {moves} it; \
                     wait for the transfer's completion first"
                )?;
            }
        }
        if let Some(pc) = self.pc {
            write!(f, " (pc {pc}, cycle {}, {})", self.cycle, often(self.count))
        } else {
            write!(f, " (cycle {}, {})", self.cycle, often(self.count))
        }
    }
}

fn often(count: u64) -> String {
    if count == 1 {
        "once".to_owned()
    } else {
        format!("{count} times")
    }
}
