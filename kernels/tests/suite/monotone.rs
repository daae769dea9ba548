//! Tests that machines with eased parameters refuse nothing and are as fast.
//!
//! Every parameter is eased for a size of some kernels.
//! `cargo run --release -p cp2-kernels --example monotone` does all rows of the performance table.

#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_asm::isa::Op;
use cp2_host::DeviceOptions;
use cp2_kernels::registry::{self, Size};
use cp2_kernels::{Cp2Backend, Cp2Report};
use cp2_machine::{Bytes, Extensions, Machine};
use cp2_problems::sparse::SolveProblem;
use cp2_problems::{Backend, Case, Problem, run_judged};
use std::sync::Arc;

/// Kernels, with sizes that take different plans: in local memory, dealt in passes, with rows that are no
/// whole granules.
const ROWS: &[(&str, &[(&str, u64)])] = &[
    ("fft", &[("n", 256), ("batch", 64)]),
    ("fft-large", &[("n", 8192), ("batch", 2)]),
    (
        "fft-nd",
        &[("rows", 64), ("columns", 64), ("planes", 1), ("batch", 4)],
    ),
    ("fft-mixed", &[("n", 60), ("batch", 64)]),
    ("fft-real", &[("n", 16_384), ("batch", 8)]),
    ("fft-real-inverse", &[("n", 1024), ("batch", 16)]),
    ("conv-real", &[]),
    ("dot", &[]),
    ("transpose", &[]),
];

/// Kernels whose plans may leave sections idle, with granules of at most 16 bytes.
const IDLE: &[(&str, &[(&str, u64)])] = &[
    ("stencil", &[("planes", 1), ("rows", 25), ("columns", 1500)]),
    (
        "stencil",
        &[
            ("planes", 12),
            ("rows", 16),
            ("columns", 64),
            ("points", 7),
            ("steps", 2),
        ],
    ),
    ("spmv", &[("n", 400), ("each", 9)]),
    ("npb-cg", &[("rows", 100), ("nonzer", 2), ("iterations", 1)]),
    ("npb-mg", &[("n", 16), ("cycles", 2)]),
    (
        "npb-ft",
        &[("planes", 32), ("rows", 32), ("columns", 32), ("steps", 1)],
    ),
];

fn cycles(name: &str, size: &Size, machine: &Arc<Machine>) -> Result<u64, String> {
    let kernel = registry::find(name).unwrap();
    let row = registry::measure(kernel, size, machine, DeviceOptions::default());
    row.map(|row| row.emulated_cycles)
        .map_err(|e| e.to_string())
}

/// Returns a size with these numbers; other parameters are those of the smallest size of the tables.
fn size(name: &str, numbers: &[(&'static str, u64)]) -> Size {
    let kernel = registry::find(name).unwrap();
    let smallest = kernel.sizes().into_iter().next().unwrap();
    let of = |(key, value): (&'static str, &registry::SizeValue)| {
        let own = numbers.iter().find(|(name, _)| *name == key);
        (key, own.map_or_else(|| value.clone(), |own| own.1.into()))
    };
    Size::new(&smallest.iter().map(of).collect::<Vec<_>>())
}

/// Returns the cycles of a system solved by conjugate gradients. It is no row of the tables, since its input
/// decides how long it takes.
fn solve_cycles(machine: &Arc<Machine>) -> Result<u64, String> {
    let size = Size::parse(&SolveProblem::PARAMETERS, "pattern=grid5 n=12").unwrap();
    let problem = SolveProblem::from_size(&size).unwrap();
    let prepared = Cp2Backend::new(machine.clone()).prepare(&problem);
    let mut prepared = prepared.map_err(|e| e.to_string())?;
    let judged = run_judged(&mut *prepared, &problem, &problem.input(Case::Random, 1));
    let outcome = judged.map_err(|e| e.to_string())?.outcome;
    let report = outcome.report.unwrap();
    Ok(report.downcast_ref::<Cp2Report>().unwrap().run.cycles)
}

#[test]
fn what_permits_more_refuses_nothing_and_takes_no_longer() {
    let vm7 = crate::common::machine("vm7");
    // An extension without instructions changes nothing.
    let changes = |key: &str| {
        Extensions::by_name(key).is_none_or(|flag| {
            let mut rows = Op::ALL.iter().map(|op| op.row());
            rows.any(|row| row.requires.contains(flag))
        })
    };
    let eased: Vec<_> = vm7
        .eased()
        .into_iter()
        .filter(|(key, _)| changes(key))
        .map(|(key, m)| (key, Arc::new(m)))
        .collect();
    assert!(eased.len() >= 20);
    assert!(eased.iter().any(|(key, _)| key == "section-addressing"));
    let mut worse = Vec::new();
    for (name, numbers) in ROWS.iter().chain(IDLE) {
        let size = size(name, numbers);
        let own = cycles(name, &size, &vm7).unwrap();
        for (key, machine) in &eased {
            match cycles(name, &size, machine) {
                Ok(cycles) if cycles as f64 <= 1.05 * own as f64 => {}
                other => worse.push(format!("{name} {size}, {key}: {own}, then {other:?}")),
            }
        }
    }
    let own = solve_cycles(&vm7).unwrap();
    for (key, machine) in &eased {
        match solve_cycles(machine) {
            Ok(cycles) if cycles as f64 <= 1.05 * own as f64 => {}
            other => worse.push(format!("solve, {key}: {own}, then {other:?}")),
        }
    }
    assert!(worse.is_empty(), "{worse:#?}");
}

/// Granules may have any size that divides a dealt unit, and larger ones where nothing is dealt.
#[test]
fn granules_are_no_ways_of_dealing() {
    for (granule, rows) in [(4, ROWS), (8, ROWS), (32, &ROWS[6..]), (64, &ROWS[6..])] {
        let mut machine = (*crate::common::machine("vm7")).clone();
        machine.dma.granule = Bytes(granule);
        let machine = Arc::new(machine);
        for (name, numbers) in rows {
            let size = size(name, numbers);
            let done = cycles(name, &size, &machine);
            assert!(done.is_ok(), "{name} {size}, granule {granule}: {done:?}");
        }
    }
}
