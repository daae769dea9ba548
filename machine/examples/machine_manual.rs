//! Prints the manual of machine files, `docs/machine.md`.
//!
//! `cargo run -p cp2-machine --example machine_manual > docs/machine.md` renews it.

fn main() {
    print!("{}", cp2_machine::manual());
}
