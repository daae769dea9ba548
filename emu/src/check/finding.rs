//! Findings of the checkers and their messages.

use crate::check::protection::Owner;
use cp2_asm::isa::Reg;
use cp2_dma::Direction;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Kinds of violations that the checkers report.
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
    /// A transfer adds to DMEM that was never written.
    UnwrittenSum {
        /// Section.
        section: usize,
        /// Byte address.
        address: u32,
        /// The transfer's tag.
        tag: u64,
    },
    /// A transfer stores beyond the end of the area of system memory in which the stored run
    /// begins: an array, a table or a program.
    BehindArray {
        /// The transfer's tag.
        tag: u64,
        /// Address of the first byte of the stored run.
        address: u64,
        /// Length of the run in bytes.
        bytes: u64,
        /// End of the area, the rest of its last granule included.
        end: u64,
    },
    /// A transfer stores a part of an output's block that the kernel did not write at the block's
    /// page.
    UnwrittenOutput {
        /// Section.
        section: usize,
        /// Byte address.
        address: u32,
        /// The page, from 0.
        page: u64,
        /// The transfer's tag.
        tag: u64,
        /// Row of the stored array, counted through all planes.
        row: u64,
        /// Byte in the row.
        byte: u64,
    },
    /// The kernel reads part of an output's block that it has not written at this page.
    Undefined {
        /// Section.
        section: usize,
        /// Byte address.
        address: u32,
        /// The page, from 0.
        page: u64,
    },
    /// The kernel accesses the block of one stream through an address that was computed from
    /// another stream's.
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
        /// Page that the kernel is at, from 0.
        page: u64,
        /// Owner of the address.
        owner: Owner,
    },
}

/// An objection with its first occurrence and the number of occurrences.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Word that made the access; none for a transfer's own.
    pub pc: Option<u32>,
    /// Number that the caller gave to the launch, or for a transfer's access to the last launch
    /// before it. It identifies the program that the word belongs to.
    pub launched: u32,
    /// Cycle of the first occurrence.
    pub cycle: u64,
    /// Occurrences at this word.
    pub count: u64,
    /// Violation that was found.
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
            Objection::UnwrittenSum {
                section,
                address,
                tag,
            } => {
                write!(
                    f,
                    "transfer {tag} adds to DMEM {address:#x} of section {section}, which was never written"
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
            write!(
                f,
                " (pc {pc}, cycle {}, {})",
                self.cycle,
                format_count(self.count)
            )
        } else {
            write!(f, " (cycle {}, {})", self.cycle, format_count(self.count))
        }
    }
}

fn format_count(count: u64) -> String {
    if count == 1 {
        "once".to_owned()
    } else {
        format!("{count} times")
    }
}
