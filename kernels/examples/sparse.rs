//! Prints a table of products of sparse matrices in every format.
//!
//! The table is that of `docs/sparse.md`. Matrices are of generated families, or from the Matrix Market files
//! that are named. Other arguments are two machines, vm7 and vm9 if there are none: all formats on the first,
//! and the fastest on the second.
//!
//! `cargo run --release -p cp2-kernels --example sparse -- [A.mtx ...] [MACHINE MACHINE]`
#![allow(
    clippy::unwrap_used,
    reason = "an example that stops where something is wrong"
)]

use cp2_kernels::sparse::{PackedFormat, Products, csr_ratio};
use cp2_machine::Machine;
use cp2_problems::sparse::{GeneratedMatrix, Pattern, SpmvProblem, read_market};
use std::fs::File;
use std::io::BufReader;
use std::sync::Arc;

/// Generated matrices: name, family, side, entries of a row, diagonals.
const FAMILIES: [(&str, Pattern, usize, usize, &[i64]); 8] = [
    (
        "five diagonals, n = 7001",
        Pattern::Band,
        7001,
        5,
        &[-100, -1, 0, 1, 100],
    ),
    ("5 points on 110 x 110", Pattern::Grid5, 110, 5, &[]),
    ("7 points on 24^3", Pattern::Grid7, 24, 7, &[]),
    ("27 points on 24^3", Pattern::Grid27, 24, 27, &[]),
    ("random, 56 a row, n = 1400", Pattern::Random, 1400, 56, &[]),
    (
        "random, 8 a row, n = 10,000",
        Pattern::Random,
        10_000,
        8,
        &[],
    ),
    ("power law, n = 20,000", Pattern::PowerLaw, 20_000, 8, &[]),
    ("triangles, n = 25,000", Pattern::Mesh, 25_000, 7, &[]),
];

fn main() {
    let (files, names): (Vec<String>, Vec<String>) = std::env::args()
        .skip(1)
        .partition(|argument| argument.ends_with(".mtx"));
    let names = match names.as_slice() {
        [one, other] => [one.as_str(), other.as_str()],
        _ => ["vm7", "vm9"],
    };
    let machines = names.map(|name| Arc::new(Machine::load(name).unwrap()));
    let formats = PackedFormat::possible(&machines[0]).map(PackedFormat::name);
    let formats: Vec<&str> = formats.collect();
    println!(
        "| matrix | rows x columns | entries | {} | {}, the fastest |",
        formats.join(" | "),
        names[1]
    );
    println!("|---|---|---|{}---|", "---|".repeat(formats.len()));
    let files = files.into_iter().map(|path| {
        let mut text = BufReader::new(File::open(&path).unwrap());
        let matrix = Arc::new(read_market(&mut text, 1 << 30).unwrap());
        let name = path
            .rsplit('/')
            .next()
            .unwrap_or_default()
            .replace(".mtx", "");
        (name, SpmvProblem::new(matrix, 1).unwrap())
    });
    let made = FAMILIES.iter().map(|(name, pattern, n, each, diagonals)| {
        let made = GeneratedMatrix {
            each: *each,
            diagonals: diagonals.to_vec(),
            ..GeneratedMatrix::new(*pattern, *n)
        };
        (
            (*name).to_owned(),
            SpmvProblem::from_generated(&made, 1).unwrap(),
        )
    });
    for (name, problem) in made.chain(files) {
        let ratios = machines.each_ref().map(|machine| ratios(&problem, machine));
        let best = |ratios: &[Option<f64>]| ratios.iter().flatten().copied().fold(0.0, f64::max);
        let most = best(&ratios[0]);
        let cells: Vec<String> = ratios[0]
            .iter()
            .map(|ratio| match ratio {
                Some(ratio) if *ratio == most => format!("**{ratio:.2}**"),
                Some(ratio) => format!("{ratio:.2}"),
                None => "-".to_owned(),
            })
            .collect();
        let matrix = problem.matrix();
        println!(
            "| {name} | {} x {} | {} | {} | {:.2} |",
            matrix.rows(),
            matrix.cols(),
            matrix.nnz(),
            cells.join(" | "),
            best(&ratios[1])
        );
    }
}

/// Returns for every format the time that compressed rows take over the channel, divided by the time of the
/// product.
fn ratios(problem: &SpmvProblem, machine: &Arc<Machine>) -> Vec<Option<f64>> {
    let products = Products::new(problem, machine, None).unwrap();
    let found = products.candidates();
    found
        .map(|(found, _)| {
            let cycles = *found.cycles.as_ref().ok()?;
            Some(csr_ratio(problem.matrix(), 1, cycles, machine))
        })
        .collect()
}
