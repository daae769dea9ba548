//! What programs leave of memories.

use super::{Job, JobError};
use cp2_asm::Program;
use cp2_dma::{Descriptor, Target};
use cp2_host::{Buffer, HostError, MemoryElement};
use cp2_machine::Machine;

/// Bytes of system memory for argument blocks and alignment: they take far less than this.
pub(crate) const ROOM_BESIDE: u64 = 65_536;

/// Bytes of system memory that arrays can take beside `program`.
#[must_use]
pub fn room(machine: &Machine, program: &Program) -> u64 {
    machine
        .host
        .memory
        .0
        .saturating_sub(image(program))
        .saturating_sub(ROOM_BESIDE)
}

impl Job {
    /// Bytes of an array of elements of so many bytes.
    ///
    /// # Errors
    /// System memory does not have so many.
    pub(crate) fn bytes_of(
        &self,
        name: &str,
        element: u64,
        shape: &[u64],
    ) -> Result<u64, JobError> {
        let memory = self.machine().host.memory.0;
        let bytes = shape.iter().try_fold(element, |n, &d| n.checked_mul(d));
        bytes
            .filter(|bytes| *bytes <= memory)
            .ok_or_else(|| JobError::ArrayTooLarge {
                array: name.to_owned(),
                shape: shape.to_vec(),
                element,
                memory,
            })
    }

    /// Room for an array of so many values.
    ///
    /// # Errors
    /// System memory is used up.
    pub(crate) fn room_for<T: MemoryElement>(
        &mut self,
        name: &str,
        values: u64,
    ) -> Result<Buffer<T>, JobError> {
        self.device.alloc(values).map_err(|e| named(name, e))
    }
}

/// Says for which array memory is used up.
pub(super) fn named(array: &str, error: HostError) -> JobError {
    match error {
        HostError::OutOfMemory { bytes, free, size } => JobError::NoRoom {
            array: array.to_owned(),
            bytes,
            free,
            memory: size,
        },
        other => other.into(),
    }
}

/// Bytes of a program and its data.
pub(crate) fn image(program: &Program) -> u64 {
    let data: usize = program.dmem.iter().map(|s| s.bytes.len()).sum();
    (8 * program.words.len() + data) as u64
}

/// The loads of a program's words and of its tables, for prices.
pub(crate) fn loads(program: &Program) -> Vec<Descriptor> {
    let words = 8 * program.words.len() as u64;
    let parts = [
        Descriptor::load(Target::Program, 0, 0, words),
        Descriptor::load(Target::Broadcast, 0, 0, image(program) - words),
    ];
    parts.into_iter().filter(|part| part.run > 0).collect()
}

/// Cycles that the DMA needs for so many bytes, those of a program and its tables.
pub(crate) fn load(bytes: u64, machine: &Machine) -> f64 {
    let bandwidth = machine.dma.bandwidth;
    bytes as f64 * bandwidth.den as f64 / bandwidth.num.max(1) as f64
}
