//! The checkers: unwritten reads, races with the DMA, foreign accesses.
//!
//! A checker is an [`Observer`] beside the core; it changes neither bits nor cycles. One finding is
//! kept per program word, kind of objection and launch number given by the caller (a word of
//! another program is another word), with the number of times it was seen.

pub(crate) mod finding;
pub(crate) mod origins;
pub(crate) mod protection;
pub(crate) mod results;
use crate::check::finding::{Finding, Objection};
use crate::check::origins::Origins;
use crate::check::protection::Protection;
use crate::check::results::ResultLocation;
use crate::core::WORD_BYTES;
use crate::processor::observer::{CoreAccess, Observer};
use crate::semantics::action::Action;
use cp2_asm::isa::{RegSet, Scalar};
use cp2_dma::Direction;
use cp2_machine::{LANE_BYTES, Machine};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Shadow state of the checkers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Checker {
    sections: usize,
    /// DMEM words per section.
    words: usize,
    /// Registers the running kernel wrote, one bit each.
    written: u128,
    /// `[section][word]`: true once written by a kernel or a transfer.
    dmem: Vec<bool>,
    /// `[section][word]`: the page at which the running kernel wrote it last, from 1 on; 0 if it
    /// never did.
    stamps: Vec<u32>,
    /// Which streams the addresses in scalars come from.
    origins: Origins,
    /// `[section][word]`: true while the running transfer holds it.
    held: Vec<bool>,
    transfer: Option<(u64, Direction)>,
    /// First and last word of the runs of program memory the running transfer replaces.
    replaced: Vec<(u32, u32)>,
    /// DMEM that the running kernel owns, page by page, if that is known.
    protection: Option<Arc<Protection>>,
    /// Page that the kernel is at, from 0.
    page: u64,
    /// Areas of system memory that stores must keep to, each as first byte and end, in ascending
    /// order; empty if stores are not restricted.
    #[serde(default)]
    areas: Vec<(u64, u64)>,
    /// Number that the caller gave to the last launch.
    launched: u32,
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
            stamps: vec![0; sections * words],
            origins: Origins::default(),
            held: vec![false; sections * words],
            transfer: None,
            replaced: Vec::new(),
            protection: None,
            page: 0,
            areas: Vec::new(),
            launched: 0,
            findings: Vec::new(),
        }
    }

    pub(crate) fn findings(&self) -> &[Finding] {
        &self.findings
    }

    /// Begins a launch: of the registers only the argument address is defined.
    pub(crate) fn launch(&mut self, protection: Option<Arc<Protection>>, launched: u32) {
        self.launched = launched;
        self.written = RegSet::one(crate::core::ARGUMENTS.reg()).0;
        self.protection = protection;
        self.page = 0;
        self.stamps.fill(0);
        self.origins = Origins::default();
    }

    /// Counts a page if `event`, which the kernel has signalled, ends pages.
    pub(crate) fn signalled(&mut self, event: u32) {
        let ends = self.protection.as_ref().is_some_and(|p| p.signal == event);
        self.page += u64::from(ends);
    }

    /// Marks a run of DMEM as written.
    pub(crate) fn dmem_written(&mut self, section: usize, address: u32, bytes: u32) {
        let range = self.range(section, address, bytes);
        self.dmem[range].fill(true);
    }

    /// Marks a run of DMEM as held by `transfer` (tag and direction), which begins.
    pub(crate) fn hold(
        &mut self,
        transfer: (u64, Direction),
        section: usize,
        address: u32,
        bytes: u32,
    ) {
        self.transfer = Some(transfer);
        let range = self.range(section, address, bytes);
        self.held[range].fill(true);
    }

    /// Marks a non-empty run of program memory as being replaced by `transfer`, which begins.
    pub(crate) fn replace(&mut self, transfer: (u64, Direction), address: u32, bytes: u64) {
        self.transfer = Some(transfer);
        let word = |byte: u64| (byte / WORD_BYTES as u64) as u32;
        let first = u64::from(address);
        self.replaced.push((word(first), word(first + bytes - 1)));
    }

    /// Releases everything that the running transfer held.
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

    /// Restricts later stores of transfers to these areas of system memory, each as first byte and
    /// end, in ascending order.
    pub(crate) fn restrict_stores(&mut self, areas: Vec<(u64, u64)>) {
        self.areas = areas;
    }

    /// Areas of system memory that stores are restricted to, see [`Self::restrict_stores`].
    pub(crate) fn areas(&self) -> &[(u64, u64)] {
        &self.areas
    }

    /// Checks that a run of `bytes` bytes, which a transfer is about to store to system memory,
    /// ends within the area that it begins in.
    pub(crate) fn stores(&mut self, (tag, cycle): (u64, u64), address: u64, bytes: u64) {
        let behind = self.areas.partition_point(|&(start, _)| start <= address);
        let end = match behind.checked_sub(1) {
            Some(own) => self.areas[own].1,
            None => 0,
        };
        if !self.areas.is_empty() && address.saturating_add(bytes) > end {
            let objection = Objection::BehindArray {
                tag,
                address,
                bytes,
                end,
            };
            self.object(None, cycle, objection);
        }
    }

    /// Checks that a run of DMEM, which a transfer is about to store, was written. `system` is its
    /// address in system memory if all of it is one section's.
    pub(crate) fn check_store(
        &mut self,
        (tag, cycle): (u64, u64),
        section: usize,
        (address, bytes): (u32, u32),
        system: Option<u64>,
    ) {
        if let Some(objection) = self.unwritten(tag, section, (address, bytes), system) {
            self.object(None, cycle, objection);
        }
    }

    /// Checks that a run of DMEM, to which a transfer is about to add, was written.
    pub(crate) fn check_sum(
        &mut self,
        (tag, cycle): (u64, u64),
        section: usize,
        (address, bytes): (u32, u32),
    ) {
        let mut range = self.range(section, address, bytes).enumerate();
        if let Some((word, _)) = range.find(|&(_, at)| !self.dmem[at]) {
            let address = address + (word * LANE_BYTES) as u32;
            self.object(
                None,
                cycle,
                Objection::UnwrittenSum {
                    section,
                    address,
                    tag,
                },
            );
        }
    }

    /// Returns the objection to the first word of a stored run that was not written: in the block
    /// of an output by its page, elsewhere by anybody.
    fn unwritten(
        &self,
        tag: u64,
        section: usize,
        (address, bytes): (u32, u32),
        system: Option<u64>,
    ) -> Option<Objection> {
        let results = self.protection.as_ref().map(|p| &p.results);
        let page = results.and_then(|results| results.owner(self.page, address));
        let range = self.range(section, address, bytes);
        range.enumerate().find_map(|(word, at)| {
            let further = (word * LANE_BYTES) as u64;
            let place = results
                .zip(system)
                .map(|(r, system)| r.place(system + further));
            let address = address + further as u32;
            match (place, page) {
                (Some(ResultLocation::Behind), _) => None,
                (Some(ResultLocation::Result { row, byte }), Some(page)) => {
                    (self.stamps[at] != stamp(page)).then_some(Objection::UnwrittenOutput {
                        section,
                        address,
                        page,
                        tag,
                        row,
                        byte,
                    })
                }
                _ => (!self.dmem[at]).then_some(Objection::UnwrittenStore {
                    section,
                    address,
                    tag,
                }),
            }
        })
    }

    /// Returns the objection to an access of the page's own buffers, if there is any: an address
    /// from another stream, or a read of an output that this page has not written.
    fn find_misuse(&self, access: CoreAccess) -> Option<Objection> {
        let CoreAccess {
            section,
            address,
            bytes,
            write,
            ..
        } = access;
        let (results, page) = (&self.protection.as_ref()?.results, self.page);
        let stream = results.find_touched_stream(page, address, bytes)?;
        if self.origins.is_stray(stream) {
            return Some(Objection::Strayed {
                section,
                address,
                write,
                page,
            });
        }
        let range = self.range(section, address, bytes);
        let own = |at: usize| self.stamps[at] == stamp(page);
        let left = !write && results.is_output(stream) && !range.clone().all(own);
        // DMEM that was never written at all has an objection of its own, `UnwrittenDmem`.
        let written = !self.dmem[range].contains(&false);
        (left && written).then_some(Objection::Undefined {
            section,
            address,
            page,
        })
    }

    fn object(&mut self, pc: Option<u32>, cycle: u64, objection: Objection) {
        let launched = self.launched;
        let same = |f: &Finding| {
            (f.pc, f.launched) == (pc, launched)
                && std::mem::discriminant(&f.objection) == std::mem::discriminant(&objection)
        };
        match self.findings.iter_mut().find(|f| same(f)) {
            Some(finding) => finding.count += 1,
            None => self.findings.push(Finding {
                pc,
                launched,
                cycle,
                count: 1,
                objection,
            }),
        }
    }
}

/// Returns the mark of words that are written at a page: the page number from 1 on.
fn stamp(page: u64) -> u32 {
    u32::try_from(page.saturating_add(1)).unwrap_or(u32::MAX)
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

    fn act(&mut self, action: Action) {
        self.origins.act(action);
    }

    fn scalar(&mut self, register: Scalar, address: u32, value: u32) {
        let Some(protection) = &self.protection else {
            return;
        };
        if let Some(block) = protection.argument_block(address) {
            let offset = address - block;
            self.origins
                .argument(&protection.results, register, offset, value);
        }
    }

    fn dmem(&mut self, access: CoreAccess) {
        let CoreAccess {
            pc,
            cycle,
            section,
            address,
            bytes,
            write,
        } = access;
        if let Some(protection) = &self.protection
            && let Some(owner) = protection.violated(self.page, address, bytes, write)
        {
            let page = self.page;
            self.object(
                Some(pc),
                cycle,
                Objection::Outside {
                    section,
                    address,
                    write,
                    page,
                    owner,
                },
            );
        } else if let Some(objection) = self.find_misuse(access) {
            self.object(Some(pc), cycle, objection);
        }
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
            self.stamps[range.clone()].fill(stamp(self.page));
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
