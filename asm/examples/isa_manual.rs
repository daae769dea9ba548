//! Prints the instruction set manual.
//!
//! `cargo run -p cp2-asm --example isa_manual > docs/isa.md` refreshes the manual that is checked in.

fn main() {
    print!("{}", cp2_asm::manual::isa());
}
