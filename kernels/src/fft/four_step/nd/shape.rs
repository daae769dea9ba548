//! Shapes of n-D arrays for which there can be kernels.

use super::COMPLEX;
use crate::fft::error::NoShape;
use cp2_host::paging::deals_quads;
use cp2_machine::Machine;

/// Refuses shapes and machines for which there are no kernels, whatever the pages.
pub(super) fn possible(shape: &[usize], machine: &Machine) -> Result<(), NoShape> {
    let [before @ .., _] = shape else {
        return Err(NoShape::Axes);
    };
    if before.is_empty() {
        return Err(NoShape::Axes);
    }
    for (i, &length) in shape.iter().enumerate() {
        let lengths = match i == before.len() {
            true => 16..=4096,
            // 4096 can be divided between two passes.
            false => 4..=4096,
        };
        if !length.is_power_of_two() || !lengths.contains(&length) {
            return Err(NoShape::Length {
                axis: i + 1,
                length,
            });
        }
    }
    let bytes = shape
        .iter()
        .try_fold(COMPLEX as usize, |n, &d| n.checked_mul(d));
    if bytes.is_none_or(|bytes| isize::try_from(bytes).is_err()) {
        return Err(NoShape::Size);
    }
    let (deal, sections) = (machine.dma.dealt(), machine.cp2.sections);
    if !deals_quads(machine) {
        return Err(NoShape::Deal { deal });
    }
    if !sections.is_power_of_two() {
        return Err(NoShape::Sections { sections });
    }
    Ok(())
}
