//! Blocks that each section has to itself.

use cp2_dma::{Descriptor, Target};
use cp2_machine::Machine;

/// Bytes of a quad, the widest access of a section.
pub const QUAD: u64 = 16;

/// Returns true if a dealt transfer gives each section a quad at a time: two columns of complex numbers.
pub fn deals_quads(machine: &Machine) -> bool {
    machine.dma.dealt() == QUAD
}

/// Returns the alignment of pages and argument blocks in local memory: transfers are whole granules, and the
/// widest accesses are quads.
pub fn aligned(machine: &Machine) -> u64 {
    machine.dma.granule.0.max(QUAD)
}

/// Blocks in groups of one for each section.
#[derive(Clone, Copy, Debug)]
pub struct SectionBlocks {
    /// Number of all blocks.
    pub count: u64,
    /// Number of sections.
    pub sections: u64,
}

impl SectionBlocks {
    /// Returns the number of groups.
    pub fn groups(&self) -> u64 {
        self.count.div_ceil(self.sections)
    }

    /// Returns the transfers of a group whose blocks are `apart` bytes from each other in system memory.
    /// `descriptor` makes one from a target and the bytes from the first block of all. If the last blocks are
    /// fewer than the sections, some are computed twice.
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

    /// Returns the loads of a group. If there are fewer blocks than sections, a broadcast ensures that no
    /// section computes data that was never loaded.
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
