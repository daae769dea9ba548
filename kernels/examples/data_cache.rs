//! Models sparse products with a data cache in each section, from traces.
//!
//! `cargo run --release -p cp2-kernels --example data_cache` prints the table of docs/proposals.md.
//!
//! Nothing is executed: the time of a cache depends on data, so no program has a price with one. Each section is given
//! a quarter of the rows, adjacent ones, and forms its own addresses; the vector stays in system memory and is read
//! through 32 KiB of a section's memory: 4 ways, least recently used, lines of 16 bytes. A miss moves a line over the
//! channel and waits for nothing else. Entries are 6 bytes, a value and a half-word for its column, and results 4. The
//! time is that of the channel or of the arithmetic slots (5.5 for four entries, as in `sparse/sell.rs`), whichever is
//! longer: a lower limit of what such a machine would take.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a tool for those who work on cp2"
)]

use cp2_kernels::registry::{self, Size};
use cp2_machine::Machine;
use cp2_problems::sparse::{SparseMatrix, SpmvProblem};
use std::sync::Arc;

/// Bytes of a line.
const LINE: usize = 16;
/// Lines of a set.
const WAYS: usize = 4;
/// Bytes of the cache of a section.
const CACHE: usize = 32 << 10;
/// Bytes of an entry: a value, and a half-word for its column.
const ENTRY: usize = 4 + 2;
/// Numbers of a vector in a line.
const NUMBERS: usize = LINE / 4;

/// A set-associative cache: in each set the lines that it holds, the one used last in front.
struct Cache(Vec<Vec<usize>>);

impl Cache {
    fn new() -> Self {
        Self(vec![Vec::new(); CACHE / LINE / WAYS])
    }

    /// Reads a line, and returns true if it was not there.
    fn miss(&mut self, line: usize) -> bool {
        let sets = self.0.len();
        let set = &mut self.0[line % sets];
        let found = set.iter().position(|&held| held == line);
        if let Some(at) = found {
            set.remove(at);
        }
        set.insert(0, line);
        set.truncate(WAYS);
        found.is_none()
    }
}

/// Returns the lines that all sections fetch.
fn count_misses(matrix: &SparseMatrix, sections: usize) -> usize {
    let share = matrix.rows().div_ceil(sections);
    let mut misses = 0;
    for section in 0..sections {
        let mut cache = Cache::new();
        let rows = section * share..((section + 1) * share).min(matrix.rows());
        for row in rows {
            let columns = matrix.columns_of(row).iter();
            misses += columns
                .filter(|&&column| cache.miss(column as usize / NUMBERS))
                .count();
        }
    }
    misses
}

fn main() {
    println!(
        "| matrix | machine | today | own addresses | and words | cache, at least | bytes of misses / of entries |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|");
    for row in [
        "pattern=random n=1400 each=56",
        "pattern=random n=10000 each=8",
        "pattern=band n=10000 each=9",
        "pattern=power-law n=10000 each=8",
    ] {
        let kernel = registry::find("spmv").unwrap();
        let size = Size::parse(kernel.parameters(), row).unwrap();
        let problem = SpmvProblem::from_size(&size).unwrap();
        let matrix = problem.matrix();
        for name in ["vm7", "vm9"] {
            let changes = [
                "",
                "+section-addressing",
                "+section-addressing+word-addressing",
            ];
            let [base, own, words] = changes.map(|change| {
                let machine = Machine::load(&format!("{name}{change}")).unwrap();
                registry::price(kernel, &size, &Arc::new(machine))
                    .unwrap()
                    .unwrap()
                    .cycles
            });
            let machine = Machine::builtin(name).unwrap();
            let sections = machine.cp2.sections;
            let missed = LINE * count_misses(matrix, sections);
            let entries = ENTRY * matrix.nnz();
            let bytes = (missed + entries + 4 * matrix.rows()) as f64;
            let slots = 5.5 / 4.0 * matrix.nnz() as f64 / sections as f64;
            let cycles = (bytes / machine.dma.bandwidth.as_f64()).max(slots);
            let ratio = missed as f64 / entries as f64;
            println!("| {row} | {name} | {base} | {own} | {words} | {cycles:.0} | {ratio:.2} |");
        }
    }
}
