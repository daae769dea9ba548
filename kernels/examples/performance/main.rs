//! Prints `docs/performance.md`: every kernel, modelled and emulated.
//!
//! `cargo run --release -p cp2-kernels --example performance > docs/performance.md`; with names of kernels it
//! prints only their tables.

mod page;

use cp2_kernels::registry::KernelError;

fn main() -> Result<(), KernelError> {
    let names: Vec<String> = std::env::args().skip(1).collect();
    let text = match names.is_empty() {
        true => page::page(&mut |_| ())?,
        false => page::tables(|name| names.iter().any(|own| own == name), &mut |_| ())?,
    };
    print!("{text}");
    Ok(())
}
