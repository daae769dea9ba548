//! Words of a kernel that are known when its pass begins.

use super::JobError;
use cp2_dma::{Descriptor, Target};
use cp2_host::{Buffer, Element, Placed};
use cp2_machine::Machine;

/// Words of a program's data, and the array in system memory that fills them when a pass begins: all sections get the same.
///
/// What an earlier pass or a step of the control CPU has left in the array is what the kernel finds at the label. A kernel wants a scalar
/// of its arithmetic in every lane of a quad, 4 floats, and an integer of its control where `ldx` loads it.
#[derive(Clone, Copy, Debug)]
pub struct RunTime<'a> {
    label: &'a str,
    address: u64,
    bytes: u64,
}

impl<'a> RunTime<'a> {
    /// Fills the words at `label` with an array, which is whole granules of the DMA.
    #[must_use]
    pub fn new<T: Element>(label: &'a str, array: Buffer<T>) -> Self {
        Self {
            label,
            address: array.address(),
            bytes: array.bytes(),
        }
    }

    /// The transfer that does so, and its name.
    pub(super) fn load(
        &self,
        program: &Placed,
        machine: &Machine,
    ) -> Result<(String, Descriptor), JobError> {
        let Self {
            label,
            address,
            bytes,
        } = *self;
        let at = program.program.symbol(label);
        let at = at.and_then(|at| u32::try_from(at).ok());
        let inside = |at: &u32| {
            let (at, end) = (u64::from(*at), u64::from(*at).saturating_add(bytes));
            program.program.dmem.iter().any(|segment| {
                let from = u64::from(segment.address);
                from <= at && end <= from + segment.bytes.len() as u64
            })
        };
        let Some(local) = at.filter(inside) else {
            return Err(JobError::NoWords {
                program: program.name.clone(),
                label: label.to_owned(),
                bytes,
            });
        };
        let granule = machine.dma.granule.0.max(1);
        let whole = |n: u64| n.is_multiple_of(granule);
        if !(whole(address) && whole(bytes) && whole(local.into())) {
            return Err(JobError::Unaligned {
                label: label.to_owned(),
                bytes,
                from: address,
                to: local.into(),
                granule,
            });
        }
        let load = Descriptor::load(Target::Broadcast, address, local, bytes);
        Ok((label.to_owned(), load))
    }
}
