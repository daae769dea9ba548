//! The checkers: reads of what was never written, and races with the DMA.
//!
//! A checker is an [`Observer`] beside the core; it changes neither bits nor
//! cycles. One finding is kept per program word and kind, with the number of
//! times it was seen.

use crate::core::WORD_BYTES;
use crate::observer::{Access, Observer};
use crate::transfers::Transfer;
use cp2_asm::isa::{Reg, RegSet};
use cp2_dma::Direction;
use cp2_machine::{LANE_BYTES, Machine};
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
}

/// An objection, where it arose first, and how often.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// Word that made the access; none for a transfer's own.
    pub pc: Option<u32>,
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

/// Shadow state of the checkers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checker {
    sections: usize,
    /// DMEM words per section.
    words: usize,
    /// Registers the running kernel wrote.
    written: u128,
    /// `[section][word]`: ever written.
    dmem: Vec<bool>,
    /// `[section][word]`: held by the running transfer.
    held: Vec<bool>,
    transfer: Option<(u64, Direction)>,
    /// First and last word of the runs of program memory the running transfer replaces.
    replaced: Vec<(u32, u32)>,
    findings: Vec<Finding>,
}

impl Checker {
    pub(crate) fn new(machine: &Machine) -> Self {
        let words = machine.cp2.dmem.0 as usize / LANE_BYTES;
        let sections = machine.cp2.sections;
        Self {
            sections,
            words,
            written: 0,
            dmem: vec![false; sections * words],
            held: vec![false; sections * words],
            transfer: None,
            replaced: Vec::new(),
            findings: Vec::new(),
        }
    }

    pub(crate) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// At launch only the argument address is defined.
    pub(crate) fn launch(&mut self) {
        self.written = RegSet::one(crate::core::ARGUMENTS.reg()).0;
    }

    /// A run of DMEM got a value.
    pub(crate) fn dmem_written(&mut self, section: usize, address: u32, bytes: u32) {
        let range = self.range(section, address, bytes);
        self.dmem[range].fill(true);
    }

    /// A transfer begins to hold a run of DMEM.
    pub(crate) fn hold(&mut self, transfer: &Transfer, section: usize, address: u32, bytes: u32) {
        self.transfer = Some((transfer.tag, transfer.descriptor.direction));
        let range = self.range(section, address, bytes);
        self.held[range].fill(true);
    }

    /// A transfer begins to replace a run of program memory, not empty.
    pub(crate) fn replace(&mut self, transfer: &Transfer, address: u32, bytes: u64) {
        self.transfer = Some((transfer.tag, transfer.descriptor.direction));
        let word = |byte: u64| (byte / WORD_BYTES as u64) as u32;
        let first = u64::from(address);
        self.replaced.push((word(first), word(first + bytes - 1)));
    }

    /// The running transfer lets go of everything it held.
    pub(crate) fn release(&mut self) {
        if self.transfer.take().is_some() {
            self.held.fill(false);
            self.replaced.clear();
        }
    }

    fn range(&self, section: usize, address: u32, bytes: u32) -> std::ops::Range<usize> {
        let at = |byte: usize| (byte / LANE_BYTES).min(self.words);
        let base = section.min(self.sections.saturating_sub(1)) * self.words;
        base + at(address as usize)..base + at(address as usize + bytes as usize)
    }

    /// A transfer is about to store a run of DMEM.
    pub(crate) fn stored(
        &mut self,
        tag: u64,
        cycle: u64,
        section: usize,
        address: u32,
        bytes: u32,
    ) {
        let range = self.range(section, address, bytes);
        if let Some(word) = self.dmem[range].iter().position(|written| !written) {
            let address = address + (word * LANE_BYTES) as u32;
            self.object(
                None,
                cycle,
                Objection::UnwrittenStore {
                    section,
                    address,
                    tag,
                },
            );
        }
    }

    fn object(&mut self, pc: Option<u32>, cycle: u64, objection: Objection) {
        let same = |f: &Finding| {
            f.pc == pc && std::mem::discriminant(&f.objection) == std::mem::discriminant(&objection)
        };
        match self.findings.iter_mut().find(|f| same(f)) {
            Some(finding) => finding.count += 1,
            None => self.findings.push(Finding {
                pc,
                cycle,
                count: 1,
                objection,
            }),
        }
    }
}

impl Observer for Checker {
    fn word(&mut self, pc: u32, cycle: u64, reads: RegSet, writes: RegSet) {
        if let Some((tag, _)) = self.transfer {
            let inside = |&(first, last): &(u32, u32)| (first..=last).contains(&pc);
            if self.replaced.iter().any(inside) {
                self.object(Some(pc), cycle, Objection::ProgramRace { tag });
            }
        }
        if let Some(reg) = RegSet(reads.0 & !self.written).iter().next() {
            self.object(
                Some(pc),
                cycle,
                Objection::UnwrittenRegister { register: reg.0 },
            );
        }
        self.written |= writes.0;
    }

    fn dmem(&mut self, access: Access) {
        let Access {
            pc,
            cycle,
            section,
            address,
            bytes,
            write,
        } = access;
        let range = self.range(section, address, bytes);
        if let Some((tag, direction)) = self.transfer
            && self.held[range.clone()].contains(&true)
            && (write || direction == Direction::Load)
        {
            self.object(
                Some(pc),
                cycle,
                Objection::Race {
                    section,
                    address,
                    write,
                    tag,
                    direction,
                },
            );
        }
        if write {
            self.dmem[range].fill(true);
        } else if self.dmem[range].contains(&false) {
            self.object(
                Some(pc),
                cycle,
                Objection::UnwrittenDmem { section, address },
            );
        }
    }
}
