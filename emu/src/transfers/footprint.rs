//! DMEM that a transfer's runs touch, section by section.

use cp2_dma::Run;
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
