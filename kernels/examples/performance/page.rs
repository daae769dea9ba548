//! The table of all kernels, emulated, with what the model says of each.

use cp2_host::DeviceOptions;
use cp2_kernels::registry::{self, Kernel, KernelError, PerformanceRow, Size};
use cp2_machine::Machine;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const HEAD: &str = include_str!("head.md");
/// Kernel, size, machine, cycles and bound of the rows as they were before arrays and bounds were audited.
const BEFORE: &str = include_str!("before.tsv");
const COMPARED: &str = include_str!("compared.md");

/// A row to be measured.
type Case = (&'static dyn Kernel, Size, Arc<Machine>);

/// The whole document; every row goes to `seen` as well, in its order.
pub(crate) fn page(seen: &mut dyn FnMut(PerformanceRow)) -> Result<String, KernelError> {
    Ok(format!("{HEAD}{}\n{COMPARED}", tables(|_| true, seen)?))
}

/// The tables of kernels whose names are wanted.
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

/// All rows, measured on as many threads as the host has cores.
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
        // Fewer helpers where no more can be started.
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
         | size | machine | cycles | bound | reference | efficiency | model | model / cycles | limit | the reference is | efficiency before | what changed |\n\
         |---|---|--:|--:|--:|--:|--:|--:|---|---|--:|---|\n",
        title(kernel.name()),
        sentence(kernel.summary())
    )
}

fn line(row: &PerformanceRow) -> String {
    format!(
        "| {} | {} | {} | {} | {} | {:.3} | {:.0} | {:.3} | {} | {} | {} |\n",
        row.size,
        row.machine,
        row.emulated_cycles,
        row.figures.bound.get(),
        row.figures.reference.get(),
        row.efficiency,
        row.model_cycles,
        row.ratio,
        row.limit,
        row.figures.method,
        changed(row)
    )
}

/// The efficiency that the row had, and why it is another one now: cycles that are counted only now, or another reference.
fn changed(row: &PerformanceRow) -> String {
    let own = BEFORE.lines().find_map(|line| {
        let mut words = line.split('\t');
        let is = |word: Option<&str>, own: &str| word == Some(own);
        let same = is(words.next(), row.kernel)
            && is(words.next(), &row.size)
            && is(words.next(), &row.machine);
        let mut number = || words.next().and_then(|word| word.parse::<f64>().ok());
        let numbers = [number()?, number()?];
        same.then_some(numbers)
    });
    let Some([cycles, bound]) = own else {
        return " | new".to_owned();
    };
    let percent = |now: f64, before: f64| 100.0 * (now / before - 1.0);
    let mut why = Vec::new();
    for (what, change) in [
        ("cycles", percent(row.emulated_cycles as f64, cycles)),
        (
            "reference",
            percent(row.figures.reference.get() as f64, bound),
        ),
    ] {
        if change.abs() >= 1.0 {
            why.push(format!("{what} {change:+.0} %"));
        }
    }
    match row.relayouts {
        0 => {}
        1 => why.push("1 relayout".to_owned()),
        n => why.push(format!("{n} relayouts")),
    }
    format!("{:.3} | {}", bound / cycles, why.join(", "))
}

/// A summary as a sentence.
fn sentence(summary: &str) -> String {
    let mut letters = summary.chars();
    let first = letters.next().map(|c| c.to_uppercase().to_string());
    format!("{}{}.", first.unwrap_or_default(), letters.as_str())
}
