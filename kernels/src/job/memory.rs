//! What programs leave of memories.

use cp2_asm::Program;
use cp2_machine::Machine;

/// Bytes of system memory for argument blocks and alignment: they take far less than this.
pub(crate) const ROOM_BESIDE: u64 = 65_536;

/// Bytes of system memory that arrays can take beside `program`.
#[must_use]
pub fn room(machine: &Machine, program: &Program) -> u64 {
    let data: usize = program.dmem.iter().map(|s| s.bytes.len()).sum();
    let image = 8 * program.words.len() + data;
    machine
        .host
        .memory
        .0
        .saturating_sub(image as u64)
        .saturating_sub(ROOM_BESIDE)
}

/// Where the data of a program ends in DMEM.
pub(crate) fn data_end(program: &Program) -> u64 {
    let ends = program
        .dmem
        .iter()
        .map(|s| u64::from(s.address) + s.bytes.len() as u64);
    ends.max().unwrap_or(0)
}
