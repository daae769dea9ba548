//! Which DMEM a transfer's runs touch, section by section.

use cp2_dma::{Recipient, Run};
use cp2_machine::Machine;

/// Calls `touch` with section, address and length of each part of a run in DMEM.
pub(crate) fn for_each_part(run: &Run, machine: &Machine, mut touch: impl FnMut(usize, u32, u32)) {
    for section in 0..machine.cp2.sections {
        let bytes = run.bytes_in(section as u32, machine) as u32;
        if bytes > 0 {
            touch(section, run.local, bytes);
        }
    }
}

/// Calls `arrive` with the granule's number within the run and its section,
/// in the order the granules move.
pub(crate) fn for_each_granule(
    run: &Run,
    granule: u64,
    sections: usize,
    mut arrive: impl FnMut(u64, usize),
) {
    for i in 0..run.bytes / granule {
        match run.to {
            Recipient::Program => {}
            Recipient::Section(section) => arrive(i, section as usize),
            Recipient::All => (0..sections).for_each(|s| arrive(i, s)),
            Recipient::Deal => arrive(i, (i % sections as u64) as usize),
        }
    }
}
