//! Prints `docs/performance.md`: every kernel of the registry, expected and emulated.
//!
//! `cargo run --release -p cp2-kernels --example performance > docs/performance.md`

use cp2_host::Options;
use cp2_kernels::registry::{self, Kernel, KernelError};
use cp2_machine::Machine;
use std::sync::Arc;

const HEAD: &str = include_str!("head.md");
const COMPARED: &str = include_str!("compared.md");

fn main() -> Result<(), KernelError> {
    let machines: Vec<Arc<Machine>> = Machine::names()
        .into_iter()
        .filter_map(Machine::builtin)
        .map(Arc::new)
        .collect();
    print!("{HEAD}");
    for kernel in registry::all() {
        table(kernel, &machines)?;
    }
    print!("\n{COMPARED}");
    Ok(())
}

fn table(kernel: &dyn Kernel, machines: &[Arc<Machine>]) -> Result<(), KernelError> {
    println!(
        "\n### {}\n\n{}\n\n\
         | size | machine | cycles | bound | reference | efficiency | expected | expected / cycles | limit | the reference is |\n\
         |---|---|--:|--:|--:|--:|--:|--:|---|---|",
        kernel.name(),
        sentence(kernel.summary())
    );
    for size in kernel.sizes() {
        for machine in machines {
            let row = registry::measure(kernel, &size, machine, Options::default())?;
            println!(
                "| {} | {} | {} | {} | {} | {:.3} | {:.0} | {:.3} | {} | {} |",
                row.size,
                row.machine,
                row.emulated_cycles,
                row.figures.bound.get(),
                row.figures.reference.get(),
                row.efficiency,
                row.expected_cycles,
                row.ratio,
                row.limit,
                row.figures.method
            );
        }
    }
    Ok(())
}

/// A summary as a sentence.
fn sentence(summary: &str) -> String {
    let mut letters = summary.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}
