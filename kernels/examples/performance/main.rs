//! Prints `docs/performance.md`: every kernel of the registry, modelled and emulated.
//!
//! `cargo run --release -p cp2-kernels --example performance > docs/performance.md`

mod page;

use cp2_kernels::registry::KernelError;

fn main() -> Result<(), KernelError> {
    print!("{}", page::page(&mut |_| ())?);
    Ok(())
}
