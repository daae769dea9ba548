//! What programs leave of memories.

use cp2_asm::Program;
use cp2_dma::{Descriptor, Target};
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
