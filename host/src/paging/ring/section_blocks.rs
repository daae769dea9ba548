//! Blocks that each section has to itself.

use cp2_dma::{Descriptor, Target};
use cp2_machine::Machine;

/// Bytes of a quad, the widest access of a section.
pub const QUAD: u64 = 16;

/// Whether a dealt transfer gives each section a quad at a time: a couple of columns of complex numbers.
pub fn deals_quads(machine: &Machine) -> bool {
    machine.dma.dealt() == QUAD
}

/// What pages and argument blocks in local memory are aligned to: transfers are whole granules, accesses of the widest kind quads.
pub fn aligned(machine: &Machine) -> u64 {
    machine.dma.granule.0.max(QUAD)
}

/// Blocks, one for each section at a time: a group.
#[derive(Clone, Copy, Debug)]
pub struct SectionBlocks {
    /// Blocks in all.
    pub count: u64,
    /// Sections.
    pub sections: u64,
}

impl SectionBlocks {
    /// Groups that the blocks make.
    pub fn groups(&self) -> u64 {
        self.count.div_ceil(self.sections)
    }

    /// The transfers of a group whose blocks are `apart` bytes from each other in system memory:
    /// `descriptor` makes one of target and bytes from the first block of all. Where the last blocks
    /// are fewer than the sections, some are computed again.
    pub fn list_transfers(
        &self,
        group: u64,
        apart: u64,
        descriptor: impl Fn(Target, u64) -> Descriptor,
    ) -> Vec<Descriptor> {
        if let Some(spare) = self.count.checked_sub(self.sections) {
            let first = (group * self.sections).min(spare);
            let stride = apart as i64;
            return vec![descriptor(Target::Blocks { stride }, first * apart)];
        }
        (0..self.count)
            .map(|i| {
                let section = u32::try_from(i).unwrap_or(u32::MAX);
                descriptor(Target::Section(section), i * apart)
            })
            .collect()
    }

    /// The same for loads: no section computes what was never loaded.
    pub fn loads(
        &self,
        group: u64,
        apart: u64,
        load: impl Fn(Target, u64) -> Descriptor,
    ) -> Vec<Descriptor> {
        let mut loads = self.list_transfers(group, apart, &load);
        if self.count < self.sections {
            loads.insert(0, load(Target::Broadcast, 0));
        }
        loads
    }
}
