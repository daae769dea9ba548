//! Words of a kernel's data that are filled when its pass begins.

use super::items::JobItem;
use super::{Job, JobError};
use cp2_dma::{Descriptor, Target};
use cp2_host::{Buffer, MemoryElement};

impl Job {
    /// Fills words of the program's data at run time, whenever the pass that was added last begins.
    ///
    /// The words at `label` are loaded from an array in system memory, whole granules of the DMA. All
    /// sections get the same words.
    ///
    /// The kernel finds the values that an earlier pass or a step of the control CPU has left in the array. A
    /// scalar of its arithmetic has to be in every lane of a quad, 4 floats; an integer of its control is one
    /// word, where `ldx` loads it.
    ///
    /// # Errors
    /// No pass was added last, or the words are not in the program's data or no whole granules.
    pub fn fill<T: MemoryElement>(
        &mut self,
        label: &str,
        array: Buffer<T>,
    ) -> Result<(), JobError> {
        let granule = self.machine().dma.granule.0.max(1);
        let pass = match self.items.last() {
            Some(JobItem::Pass(pass)) => self.passes.get_mut(*pass),
            _ => None,
        };
        let (address, bytes) = (array.address(), array.bytes());
        let no_words = |program: &str| JobError::NoWords {
            program: program.to_owned(),
            label: label.to_owned(),
            bytes,
        };
        let pass = pass.ok_or_else(|| JobError::NoPass {
            label: label.to_owned(),
        })?;
        let program = &pass.placed.program;
        let at = program.symbol(label).and_then(|at| u32::try_from(at).ok());
        let inside = |at: &u32| {
            let (at, end) = (u64::from(*at), u64::from(*at).saturating_add(bytes));
            program.dmem.iter().any(|segment| {
                let from = u64::from(segment.address);
                from <= at && end <= from + segment.bytes.len() as u64
            })
        };
        let local = at.filter(inside);
        let local = local.ok_or_else(|| no_words(&pass.placed.name))?;
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
        pass.fills.push((label.to_owned(), load));
        Ok(())
    }
}
