//! Prints the manual of machine files: `cargo run -p cp2-machine --example machine_manual > docs/machine.md`.

fn main() {
    print!("{}", cp2_machine::manual());
}
