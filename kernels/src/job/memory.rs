//! System memory that arrays and programs of a job need, and load times.

use super::{Job, JobError};
use cp2_asm::Program;
use cp2_dma::{Descriptor, Target};
use cp2_host::{Buffer, HostError, MemoryElement};
use cp2_machine::Machine;

/// Bytes of system memory kept free for argument blocks and alignment, which take far less than this.
pub(crate) const ROOM_BESIDE: u64 = 65_536;

/// Returns the bytes of system memory that arrays can take beside `program`.
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
    /// Returns the bytes of an array of a shape, `element` bytes an element.
    ///
    /// # Errors
    /// The array is larger than system memory.
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

    /// Allocates an array of so many values.
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

/// Turns the error of exhausted memory into one that names the array.
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

/// Returns the bytes of a program's words and data.
pub(crate) fn image(program: &Program) -> u64 {
    let data: usize = program.dmem.iter().map(|s| s.bytes.len()).sum();
    (8 * program.words.len() + data) as u64
}

/// Returns descriptors for the loads of a program's words and of its tables, for prices; addresses are 0.
pub(crate) fn loads(program: &Program) -> Vec<Descriptor> {
    let words = 8 * program.words.len() as u64;
    let parts = [
        Descriptor::load(Target::Program, 0, 0, words),
        Descriptor::load(Target::Broadcast, 0, 0, image(program) - words),
    ];
    parts.into_iter().filter(|part| part.run > 0).collect()
}

/// Returns the cycles that the DMA channel needs for so many bytes, `bytes / bandwidth`.
pub(crate) fn load(bytes: u64, machine: &Machine) -> f64 {
    let bandwidth = machine.dma.bandwidth;
    bytes as f64 * bandwidth.den as f64 / bandwidth.num.max(1) as f64
}
