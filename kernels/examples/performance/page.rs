//! Measures all kernels and writes the tables of `docs/performance.md`.

use cp2_host::DeviceOptions;
use cp2_kernels::registry::{self, Kernel, KernelError, PerformanceRow, Size};
use cp2_machine::Machine;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const HEAD: &str = include_str!("head.md");
const COMPARED: &str = include_str!("compared.md");

/// A row to be measured.
type Case = (&'static dyn Kernel, Size, Arc<Machine>);

/// Writes the whole document; every row also goes to `seen`, in its order.
pub(crate) fn page(seen: &mut dyn FnMut(PerformanceRow)) -> Result<String, KernelError> {
    Ok(format!("{HEAD}{}\n{COMPARED}", tables(|_| true, seen)?))
}

/// Writes the tables of the kernels whose names are wanted.
pub(crate) fn tables(
    wanted: impl Fn(&str) -> bool,
    seen: &mut dyn FnMut(PerformanceRow),
) -> Result<String, KernelError> {
    let machines: Vec<Arc<Machine>> = Machine::names()
        .into_iter()
        .filter_map(Machine::builtin)
        .map(Arc::new)
        .collect();
    let mut cases: Vec<Case> = Vec::new();
    for kernel in registry::all().into_iter().filter(|k| wanted(k.name())) {
        for size in kernel.sizes() {
            let rows = machines.iter().cloned();
            cases.extend(rows.map(|machine| (kernel, size.clone(), machine)));
        }
    }
    let mut text = String::new();
    let mut rows = measured(&cases).into_iter().zip(&cases).peekable();
    while let Some((row, (kernel, ..))) = rows.next() {
        let row = row?;
        let name = kernel.name();
        if !text.contains(&title(name)) {
            text += &head(*kernel);
        }
        text += &line(&row);
        seen(row);
        let more = rows
            .peek()
            .is_some_and(|(_, (next, ..))| next.name() == name);
        if let Some(why) = kernel.explain_low_efficiency().filter(|_| !more) {
            text += &format!("\nBelow {}: {why}.\n", registry::LOW);
        }
    }
    Ok(text)
}

/// Measures all rows on as many threads as the host has cores.
fn measured(cases: &[Case]) -> Vec<Result<PerformanceRow, KernelError>> {
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut rows = Vec::new();
        loop {
            let at = next.fetch_add(1, Relaxed);
            let Some((kernel, size, machine)) = cases.get(at) else {
                return rows;
            };
            let row = registry::measure(*kernel, size, machine, DeviceOptions::default());
            rows.push((at, row));
        }
    };
    let mut rows: Vec<_> = std::thread::scope(|scope| {
        // Fewer helpers suffice where no more can be started.
        let begin = |_| std::thread::Builder::new().spawn_scoped(scope, work).ok();
        let workers: Vec<_> = (1..threads).map_while(begin).collect();
        let own = work();
        let rows = workers.into_iter().map(std::thread::ScopedJoinHandle::join);
        rows.flat_map(|rows| rows.unwrap_or_else(|panic| resume_unwind(panic)))
            .chain(own)
            .collect()
    });
    rows.sort_by_key(|(at, _)| *at);
    rows.into_iter().map(|(_, row)| row).collect()
}

fn title(name: &str) -> String {
    format!("\n### {name}\n\n")
}

fn head(kernel: &dyn Kernel) -> String {
    format!(
        "{}{}\n\n\
         | size | machine | cycles | bound | reference | efficiency | model | model / cycles | limit | the reference is |\n\
         |---|---|--:|--:|--:|--:|--:|--:|---|---|\n",
        title(kernel.name()),
        sentence(kernel.summary())
    )
}

fn line(row: &PerformanceRow) -> String {
    format!(
        "| {} | {} | {} | {} | {} | {:.3} | {:.0} | {:.3} | {} | {} |\n",
        row.size,
        row.machine,
        row.emulated_cycles,
        row.figures.bound.get(),
        row.figures.reference.get(),
        row.efficiency,
        row.model_cycles,
        row.ratio,
        row.limit,
        row.figures.method
    )
}

/// Turns a summary into a sentence.
fn sentence(summary: &str) -> String {
    let mut letters = summary.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}
