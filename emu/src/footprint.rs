//! Which DMEM a transfer's runs touch, section by section.

use cp2_dma::{Recipient, Run};

/// Calls `touch` with section, address and length of each part of a run in DMEM.
pub(crate) fn for_each_part(run: &Run, sections: usize, mut touch: impl FnMut(usize, u32, u32)) {
    let bytes = run.bytes as u32;
    match run.to {
        Recipient::Program => {}
        Recipient::Section(section) => touch(section as usize, run.local, bytes),
        Recipient::All => (0..sections).for_each(|s| touch(s, run.local, bytes)),
        Recipient::Deal => (0..sections).for_each(|s| touch(s, run.local, bytes / sections as u32)),
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
