//! Counts the operations that generated loops issue, for the performance model.

use cp2_asm::BlockReport;
use cp2_asm::schedule::Dataflow;
use cp2_machine::{Class, ClassMap, Machine};

/// Operations of one section.
///
/// Arithmetic is counted by class. Class `Control` counts the memory operations that exceed the arithmetic of
/// their loop, so that they cannot be issued along with it. The counts follow from the dataflow of the loops
/// alone, whatever the schedule is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Operations(ClassMap<u64>);

impl Operations {
    /// Adds the iterations of a loop.
    pub(crate) fn add(&mut self, body: &Dataflow, iterations: u64, machine: &Machine) {
        let classes = body.classes();
        for (class, count) in classes.iter() {
            self.0[class] += count * iterations;
        }
        let beneath = body.arithmetic().max(body.busiest_unit(machine));
        let more = body.memory().saturating_sub(beneath) as u64;
        self.0[Class::Control] += more * iterations;
    }

    /// Adds the iterations of a linear block.
    pub(crate) fn add_block(&mut self, block: &BlockReport, iterations: u64) {
        for (class, count) in block.classes.iter() {
            self.0[class] += count * iterations;
        }
        let beneath = block.arithmetic.max(block.busiest_unit);
        let more = block.memory.saturating_sub(beneath);
        self.0[Class::Control] += more * iterations;
    }

    /// Adds `times` times the operations of `other`.
    pub(crate) fn join(&mut self, other: &Self, times: u64) {
        for (class, count) in other.0.iter() {
            self.0[class] += count * times;
        }
    }

    /// Returns `times` times these operations, by class.
    pub(crate) fn times(&self, times: u64) -> Vec<(Class, u64)> {
        let issued = self.0.iter().filter(|(_, count)| **count > 0);
        issued
            .map(|(class, &count)| (class, count.saturating_mul(times)))
            .collect()
    }
}
