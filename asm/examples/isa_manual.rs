//! Prints the instruction set manual.
//!
//! `cargo run -p cp2-asm --example isa_manual > docs/isa.md` refreshes the manual that is checked in. With names or
//! files of machines it is the manual of these, with the rows that their files define.

use cp2_machine::{Machine, MachineError};

fn main() -> Result<(), MachineError> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    if names.is_empty() {
        print!("{}", cp2_asm::manual::isa());
        return Ok(());
    }
    let machines: Result<Vec<_>, _> = names.iter().map(|name| Machine::load(name)).collect();
    print!("{}", cp2_asm::manual::isa_of(&machines?));
    Ok(())
}
