//! Checks that a machine with eased parameters is never slower.
//!
//! Every row of `docs/performance.md` is measured with every parameter eased, doubled or halved, and with
//! every extension, one after the other. Prints the rows that are refused or take more than 5 % longer.
//!
//! `cargo run --release -p cp2-kernels --example monotone -- [KERNEL or PARAMETER or EXTENSION or MACHINE]...`
//! takes only what is named. It fails if it prints any row.

use cp2_host::DeviceOptions;
use cp2_kernels::registry::{self, Kernel};
use cp2_machine::{Extensions, Machine};
use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;

/// Highest allowed ratio of the cycles on an eased machine to those on the machine itself.
const MOST: f64 = 1.05;

/// Names of kernels, parameters and machines to check; where none of a kind is named, all of that kind.
struct Wanted(Vec<String>);

impl Wanted {
    fn is(&self, name: &str, all: &[&str]) -> bool {
        let of_kind = |wanted: &&String| all.contains(&wanted.as_str());
        let mut named = self.0.iter().filter(of_kind).peekable();
        named.peek().is_none() || named.any(|wanted| wanted == name)
    }
}

fn main() -> ExitCode {
    let wanted = Wanted(std::env::args().skip(1).collect());
    let machines = Machine::names();
    let kernels = registry::all();
    let names: Vec<&str> = kernels.iter().map(|kernel| kernel.name()).collect();
    let flags: Vec<String> = Extensions::all().names().collect();
    let keys = cp2_machine::ROWS.iter().map(|row| row.key);
    let keys: Vec<&str> = keys.chain(flags.iter().map(String::as_str)).collect();
    let known = [&machines[..], &names, &keys].concat();
    if let Some(unknown) = wanted.0.iter().find(|w| !known.contains(&w.as_str())) {
        eprintln!(
            "`{unknown}` is no kernel, parameter or machine: expected any of {}",
            known.join(", ")
        );
        return ExitCode::from(2);
    }
    let mut worse = 0;
    println!("kernel\tsize\tmachine\tparameter\tcycles\teased\tratio");
    for machine in machines.iter().filter(|name| wanted.is(name, &machines)) {
        let Some(machine) = Machine::builtin(machine).map(Arc::new) else {
            continue;
        };
        let eased = machine.eased().into_iter();
        let eased: Vec<_> = eased
            .filter(|(key, _)| wanted.is(key, &keys))
            .map(|(key, machine)| (key, Arc::new(machine)))
            .collect();
        for kernel in kernels
            .iter()
            .filter(|kernel| wanted.is(kernel.name(), &names))
        {
            worse += of_kernel(*kernel, &machine, &eased);
        }
    }
    eprintln!("{worse} rows are refused or take longer");
    ExitCode::from(u8::from(worse > 0))
}

/// Prints and counts the rows of a kernel that are worse.
fn of_kernel(
    kernel: &dyn Kernel,
    machine: &Arc<Machine>,
    eased: &[(String, Arc<Machine>)],
) -> usize {
    let mut worse = 0;
    for size in kernel.sizes() {
        let measure = |machine: &Arc<Machine>| {
            registry::measure(kernel, &size, machine, DeviceOptions::default())
                .map(|row| row.emulated_cycles)
        };
        let Ok(own) = measure(machine) else {
            continue;
        };
        for (key, eased) in eased {
            if std::io::stderr().is_terminal() {
                eprint!("\r{} {size} {key}\x1b[K\r", kernel.name());
            }
            let line = match measure(eased) {
                Ok(cycles) if cycles as f64 <= MOST * own as f64 => continue,
                Ok(cycles) => format!("{cycles}\t{:.3}", cycles as f64 / own as f64),
                Err(refused) => format!("refused\t{refused}"),
            };
            worse += 1;
            println!(
                "{}\t{size}\t{}\t{key}\t{own}\t{line}",
                kernel.name(),
                machine.name
            );
            let _ = std::io::stdout().flush();
        }
    }
    worse
}
