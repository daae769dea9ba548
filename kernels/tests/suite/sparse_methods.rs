//! Tests methods on sparse products: NPB CG, powers and linear systems.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use crate::common::machine;
use crate::sparse::machines;
use cp2_host::DeviceOptions;
use cp2_kernels::sparse::Solver;
use cp2_kernels::{Cp2Backend, Cp2Report};
use cp2_machine::Machine;
use cp2_problems::npb::cg::CgProblem;
use cp2_problems::sparse::{
    MethodEnd, PowerProblem, SolveProblem, SolverMethod, SparseMatrix, Symmetry, Triplets,
};
use cp2_problems::{Backend as _, Case, NamedArrays, Problem, Size, run_judged};
use proptest::prelude::*;
use std::sync::Arc;

fn cp2(name: &str, check: bool) -> Cp2Backend {
    on(machine(name), check)
}

fn on(machine: Arc<Machine>, check: bool) -> Cp2Backend {
    let options = DeviceOptions {
        check,
        ..DeviceOptions::default()
    };
    Cp2Backend::with_options(machine, options)
}

/// Returns the output of a problem on an input, judged to be right; the checkers find nothing.
fn judged(vm: &Cp2Backend, problem: &dyn Problem, input: &NamedArrays) -> NamedArrays {
    let mut prepared = vm.prepare(problem).unwrap();
    let judged = run_judged(&mut *prepared, problem, input);
    let judged = judged.unwrap_or_else(|e| panic!("{}: {e}", problem.title()));
    let report = judged.outcome.report.unwrap();
    let report: &Cp2Report = report.downcast_ref().unwrap();
    assert_eq!(report.run.findings, []);
    judged.outcome.output
}

/// Returns the output of a problem on any machine, judged to be right. Only a lack of local memory is a
/// reason to refuse it.
fn judged_anywhere(
    machine: &Arc<Machine>,
    problem: &dyn Problem,
    input: &NamedArrays,
) -> Result<Option<NamedArrays>, TestCaseError> {
    let vm = on(machine.clone(), true);
    if let Err(refused) = vm.prepare(problem) {
        prop_assert!(machine.cp2.dmem.0 <= 16 << 10, "{refused}");
        return Ok(None);
    }
    Ok(Some(judged(&vm, problem, input)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, ..ProptestConfig::default() })]

    /// Matrices of the benchmark's kind whose rows are no whole quads or blocks agree with double precision,
    /// under the checkers.
    ///
    /// Shifts are above the spectrum (zeta of class S, with as many entries, is 8.6): near it 25 steps in
    /// single precision solve nothing.
    #[test]
    fn inverse_iterations_are_those_of_double_precision(
        rows in 16usize..400,
        entries in 1usize..8,
        iterations in 1usize..3,
        above in 5u32..25,
        seed in 1u64..9,
        machine in machines(),
    ) {
        let shift = above + 3 * entries as u32;
        let problem = CgProblem::new(rows, entries, iterations, shift).unwrap();
        let input = problem.input(Case::Random, seed);
        judged_anywhere(&machine, &problem, &input)?;
    }

    /// Systems are solved by every method, with any number of rows, under the checkers.
    #[test]
    fn systems_are_solved(
        n in 5usize..17,
        grid in any::<bool>(),
        number in 0usize..3,
        seed in 1u64..1000,
        case in prop_oneof![Just(Case::Random), Just(Case::Large), Just(Case::Small), Just(Case::Zeros)],
        machine in machines(),
    ) {
        let method = ["cg", "pcg", "bicgstab"][number];
        let (pattern, n) = if grid { ("grid5", n) } else { ("fem", 6 * n) };
        let size = format!("pattern={pattern} n={n} each=4 seed={seed} method={method} tolerance=1e-4 iterations=400");
        let size = Size::parse(&SolveProblem::PARAMETERS, &size).unwrap();
        let problem = SolveProblem::from_size(&size).unwrap();
        let input = problem.input(case, seed);
        if let Some(output) = judged_anywhere(&machine, &problem, &input)? {
            prop_assert_eq!(output.get::<u32>("end").unwrap(), [MethodEnd::Converged.number()]);
        }
    }

    /// Power iterations work with any square matrix, also one that maps x to 0, under the checkers.
    #[test]
    fn powers_are_those_of_double_precision(
        n in 4usize..20,
        pattern in prop::sample::select(vec!["grid5", "grid27", "fem", "band", "random", "power-law", "empty"]),
        iterations in 1usize..6,
        field in prop::sample::select(vec!["real", "pattern"]),
        seed in 1u64..1000,
        case in prop_oneof![Just(Case::Random), Just(Case::Large), Just(Case::Small), Just(Case::Zeros)],
        machine in machines(),
    ) {
        let n = match pattern {
            "grid5" => n,
            "grid27" => 2 + n / 6,
            _ => 6 * n,
        };
        let size = format!("pattern={pattern} n={n} each=4 field={field} seed={seed} iterations={iterations}");
        let size = Size::parse(&PowerProblem::PARAMETERS, &size).unwrap();
        let problem = PowerProblem::from_size(&size).unwrap();
        judged_anywhere(&machine, &problem, &problem.input(case, seed))?;
    }
}

/// Conjugate gradients may take more than sixty iterations on a grid of 15 x 15 points, as a drawn case did.
#[test]
fn a_grid_may_take_many_iterations() {
    let size = "pattern=grid5 n=15 each=4 seed=463 method=cg tolerance=1e-4 iterations=400";
    let size = Size::parse(&SolveProblem::PARAMETERS, size).unwrap();
    let problem = SolveProblem::from_size(&size).unwrap();
    let output = judged(
        &cp2("vm7", true),
        &problem,
        &problem.input(Case::Random, 463),
    );
    assert_eq!(
        output.get::<u32>("end").unwrap(),
        [MethodEnd::Converged.number()]
    );
    let residuals = output.get::<f64>("residuals").unwrap();
    let iterations = residuals.iter().filter(|r| !r.is_nan()).count() - 1;
    assert!((61..=225).contains(&iterations), "{iterations}");
}

/// Iterative methods take the format at addresses of each section where products in it take fewer cycles.
#[test]
fn own_addresses_serve_conjugate_gradients() {
    let problem = CgProblem::new(1400, 7, 1, 10).unwrap();
    let input = problem.input(Case::Random, 1);
    let cycles = |name: &str| {
        let mut prepared = cp2(name, false).prepare(&problem).unwrap();
        let judged = run_judged(&mut *prepared, &problem, &input).unwrap();
        let report = judged.outcome.report.unwrap();
        let report: &Cp2Report = report.downcast_ref().unwrap();
        report.run.cycles as f64
    };
    for (name, least) in [("vm7", 1.9), ("vm9", 1.7)] {
        let gain = cycles(name) / cycles(&format!("{name}+section-addressing"));
        assert!(gain > least, "{name}: {gain}");
    }
}

/// Powers of diagonal matrices are known: the quotient of ones is the mean, the last is near the largest. The
/// number of iterations is fixed, so they have a price, which is the time.
#[test]
fn powers_come_near_the_largest_eigenvalue() {
    let values: Vec<_> = (0..40).map(|i| (i, i, f64::from(i) - 50.0)).collect();
    let problem = PowerProblem::new(symmetric(40, &values).into(), 400).unwrap();
    let x = NamedArrays::from_array("x", &[40], vec![3.0f32; 40]);
    for name in ["vm7", "vm9"] {
        let vm = cp2(name, false);
        let method = vm.method(&problem).unwrap();
        let done = method.task(&x, DeviceOptions::default()).unwrap();
        let done = done.run(method.figures.clone()).unwrap();
        assert_eq!(done.expected.map(|c| c.0), Some(done.run.report.cycles));
        assert!(done.efficiency() < 1.0);
        let output = done.output.unwrap();
        assert!(problem.judge(&x, &output).is_within_tolerance());
        let found: &[f64] = output.get("values").unwrap();
        assert_eq!(found.len(), 401);
        assert!((found[0] + 30.5).abs() < 1e-5, "{}", found[0]);
        assert!((found[400] + 50.0).abs() < 1e-5, "{}", found[400]);
        let left: &[f64] = output.get("residuals").unwrap();
        assert!(left[400] < 1e-3 && left[0] > 0.3, "{left:?}");
    }
}

/// A fixed number of iterations has a price, which is the time.
#[test]
fn inverse_iterations_take_what_they_should() {
    let problem = CgProblem::new(700, 5, 1, 12).unwrap();
    let input = problem.input(Case::Random, 1);
    for name in ["vm7", "vm9"] {
        let vm = cp2(name, false);
        let method = vm.method(&problem).unwrap();
        let task = method.task(&input, DeviceOptions::default()).unwrap();
        let expected = task.job.expected().unwrap();
        let done = task.run(method.figures.clone()).unwrap();
        let report = &done.run.report;
        assert_eq!(report.cycles, expected.0, "{name}");
        assert_eq!(report.causes.total(), report.cycles);
        assert!(done.keeps_inputs().unwrap());
        assert!(done.figures.bound <= done.figures.reference);
        assert!(done.efficiency() < 1.0);
    }
}

/// Makes a symmetric matrix from its entries on and below the diagonal.
fn symmetric(n: usize, entries: &[(u32, u32, f64)]) -> SparseMatrix {
    let mirrored = entries.iter().flat_map(|&(i, j, a)| {
        let other = (i != j).then_some((j, i, a));
        [(i, j, a)].into_iter().chain(other)
    });
    let all = Triplets::Real(mirrored.collect());
    let matrix = SparseMatrix::from_triplets(n, n, &all).unwrap();
    matrix.declared(Symmetry::Symmetric).unwrap()
}

/// Returns how a method ends, and after how many iterations.
fn ends(matrix: SparseMatrix, method: SolverMethod, b: &[f32], most: usize) -> (MethodEnd, usize) {
    let problem = SolveProblem::new(matrix.into(), method, 1e-5, most).unwrap();
    let exact = problem.solve::<f64>(b);
    let solver = Solver::new(problem, &machine("vm7"), None).unwrap();
    let task = solver.task(b, DeviceOptions::default()).unwrap();
    let done = task.run(solver.figures(1)).unwrap();
    let output = done.output.unwrap();
    let end = MethodEnd::from_number(output.get::<u32>("end").unwrap()[0]).unwrap();
    let residuals: &[f64] = output.get("residuals").unwrap();
    let count = residuals
        .iter()
        .position(|r| r.is_nan())
        .unwrap_or(residuals.len());
    assert_eq!(end, exact.end);
    (end, count.saturating_sub(1))
}

/// Ends other than convergence are each reached by some matrix, as in double precision.
#[test]
fn every_end_is_found() {
    // Indefinite matrix: the first direction has no curvature.
    let saddle = symmetric(4, &[(0, 0, 1.0), (1, 1, -1.0), (2, 2, 1.0), (3, 3, 1.0)]);
    let first = [1.0, 1.0, 0.0, 0.0];
    assert_eq!(
        ends(saddle.clone(), SolverMethod::Cg, &first, 10),
        (MethodEnd::Breakdown, 0)
    );
    // A rotation by 90 degrees: the product is orthogonal to the shadow residual.
    let turn = Triplets::Real(vec![(0, 1, 1.0), (1, 0, -1.0)]);
    let turn = SparseMatrix::from_triplets(2, 2, &turn).unwrap();
    assert_eq!(
        ends(turn, SolverMethod::Bicgstab, &[1.0, 1.0], 10),
        (MethodEnd::Breakdown, 0)
    );
    // Ten different eigenvalues take ten iterations.
    let values: Vec<_> = (0..10).map(|i| (i, i, 1.0 + f64::from(i))).collect();
    let b = [1.0; 10];
    assert_eq!(
        ends(symmetric(10, &values), SolverMethod::Cg, &b, 3),
        (MethodEnd::Limit, 3)
    );
    let (end, count) = ends(symmetric(10, &values), SolverMethod::Pcg, &b, 20);
    assert_eq!((end, count), (MethodEnd::Converged, 1));
    // A zero right-hand side needs no iteration.
    assert_eq!(
        ends(saddle.clone(), SolverMethod::Cg, &[0.0; 4], 10),
        (MethodEnd::Converged, 0)
    );
    // A NaN in the right-hand side makes single and double precision diverge.
    assert_eq!(
        ends(saddle, SolverMethod::Cg, &[f32::NAN; 4], 10).0,
        MethodEnd::Diverged
    );
}
