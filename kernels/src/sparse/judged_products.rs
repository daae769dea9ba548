//! Products in tests: run under the checkers, and judged.

use super::csr_ratio;
use crate::job::Job;
use cp2_host::DeviceOptions;
use cp2_machine::{Cycles, Machine};
use cp2_problems::sparse::{SparseMatrix, SpmvProblem};
use cp2_problems::{Case, NamedArrays, Problem};
use cp2_reference::{Count, Figures, Traffic};
use std::sync::Arc;

/// Returns the result of a product and its cycles, and asserts that it has ended without findings and when it
/// was expected to. `pass` adds it to a job, for the addresses of x and y.
pub(super) fn product(
    matrix: &SparseMatrix,
    machine: &Arc<Machine>,
    x: &[f32],
    pass: impl FnOnce(&mut Job, u64, u64),
) -> (Vec<f32>, u64) {
    let options = DeviceOptions {
        check: true,
        ..DeviceOptions::default()
    };
    let mut job = Job::new(machine.clone(), options);
    let x = job.input("x", x, &[x.len() as u64]).unwrap();
    let y = job.output::<f32>("y", &[matrix.rows() as u64]).unwrap();
    pass(&mut job, x.address(), y.address());
    let traffic = Traffic::bytes(u128::from(matrix.csr_bytes(1)));
    let figures = Figures::of(machine, traffic, Count::default(), "test", "test");
    let run = job.run(figures, |run| run.read(y)).unwrap();
    let report = &run.run.report;
    assert!(report.end.is_finished(), "{:?}", report.end);
    assert!(report.findings.is_empty(), "{:?}", report.findings);
    assert_eq!(run.expected.map(|cycles| cycles.0), Some(report.cycles));
    (run.output.unwrap(), report.cycles)
}

/// Judges a product and returns its `csr_ratio`.
pub(super) fn judged(
    matrix: &SparseMatrix,
    machine: &Arc<Machine>,
    case: Case,
    pass: impl FnOnce(&mut Job, u64, u64),
) -> f64 {
    let problem = SpmvProblem::new(Arc::new(matrix.clone()), 1).unwrap();
    let input = problem.input(case, 1);
    let x = input.get_sized::<f32>("x", matrix.cols()).unwrap();
    let (y, cycles) = product(matrix, machine, x, pass);
    let verdict = problem.judge(&input, &NamedArrays::from_array("y", &[matrix.rows()], y));
    assert!(
        verdict.is_within_tolerance(),
        "{} {case:?}: {verdict:?}",
        problem.title()
    );
    csr_ratio(matrix, 1, Cycles(cycles), machine)
}
