//! Tests of multigrid in double precision: official norms, bits, refusals.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_host::DeviceOptions;
use cp2_kernels::npb::mg::{MultigridPlan, MultigridSplit, NormSum};
use cp2_kernels::{Cp2Backend, run_jobs};
use cp2_machine::Machine;
use cp2_network::InProcess;
use cp2_problems::npb::mg::{MgClass, MgProblem, Smoother};
use cp2_problems::npb::{NpbClass, Precision};
use cp2_problems::{Backend as _, Case, NamedArrays, Problem as _, run_judged};
use std::sync::Arc;

fn machine(name: &str) -> Arc<Machine> {
    Arc::new(Machine::load(name).unwrap())
}

fn double(shape: [usize; 3], cycles: usize, smoother: Smoother) -> MgProblem {
    let problem = MgProblem::with_shape(shape, cycles, smoother).unwrap();
    problem.with_precision(Precision::Double)
}

/// The norm of class S has the official value to the benchmark's own tolerance, under the checkers; the run takes its
/// price, and at most 2.2 times the cycles of single precision, whose operations on a quad are half as many numbers.
#[test]
fn class_s_is_official_at_half_the_rate() {
    for base in ["vm7", "vm9"] {
        let machine = machine(&format!("{base}+double"));
        let benchmark = MgClass::from_class(NpbClass::S);
        let cycles = [Precision::Single, Precision::Double].map(|precision| {
            let problem = benchmark.problem().with_precision(precision);
            let method = Cp2Backend::new(machine.clone()).method(&problem).unwrap();
            let input = problem.input(Case::Random, 1);
            let options = DeviceOptions {
                check: true,
                ..DeviceOptions::default()
            };
            let task = method.task(&input, options).unwrap();
            let expected = task.job.expected().unwrap().get();
            let done = task.run(method.figures.clone()).unwrap();
            assert_eq!(done.run.report.findings, []);
            let output = done.output.as_ref().unwrap();
            let norm = output.get::<f64>("norms").unwrap()[1];
            let off = (norm / benchmark.official - 1.0).abs();
            assert!(off < MgClass::tolerance(precision), "{base}: {off}");
            let verdict = problem.judge(&input, output);
            assert!(verdict.is_within_tolerance(), "{base}: {verdict:?}");
            assert!(done.efficiency() < 1.0, "{}", done.efficiency());
            let cycles = done.run.report.cycles;
            assert!(
                expected.abs_diff(cycles) < cycles / 100,
                "{expected} {cycles}"
            );
            cycles as f64
        });
        let slower = cycles[1] / cycles[0];
        assert!((1.5..2.2).contains(&slower), "{base}: {slower}");
    }
}

/// Inputs whose numbers have all 53 bits, of every kind, on grids of other shapes and on machines with other memories,
/// sections and rates.
#[test]
fn all_inputs_are_within_roundings_of_double_precision() {
    for (shape, changes) in [
        ([16, 16, 16], "vm7+double"),
        ([32, 16, 64], "vm9+double"),
        ([16, 32, 32], "vm7+double+cp2.sections=3+cp2.dmem=16KiB"),
        (
            [32, 32, 16],
            "vm7+double+cp2.interval.double-add=2+cp2.interval.double-madd=2",
        ),
    ] {
        let problem = double(shape, 2, Smoother::B);
        let backend = Cp2Backend::new(machine(changes));
        let mut prepared = backend.prepare(&problem).unwrap();
        for &case in problem.cases() {
            let judged = run_judged(&mut *prepared, &problem, &problem.input(case, 5));
            assert!(judged.is_ok(), "{shape:?}, {changes}, {case:?}: {judged:?}");
        }
    }
}

/// A result in single precision is not taken for one in double precision.
#[test]
fn a_result_in_single_precision_is_wrong() {
    let problem = double([16; 3], 2, Smoother::A);
    let input = problem.input(Case::Large, 3);
    let exact = problem.solve_exactly(&input).unwrap();
    let v = input.get::<f64>("v").unwrap();
    let single = problem.solve::<f32>(v);
    let u = single.u.points().iter().map(|&x| f64::from(x)).collect();
    let make = |u: Vec<f64>| {
        let output = NamedArrays::from_array("u", &problem.shape(), u);
        output.add_array("norms", &[2], exact.norms.to_vec())
    };
    assert!(!problem.judge(&input, &make(u)).is_within_tolerance());
    let u = exact.u.points().to_vec();
    assert!(problem.judge(&input, &make(u)).is_within_tolerance());
}

/// Four processors have the bits of one, norms too where these are added up in its order.
#[test]
fn processors_have_the_bits_of_one() {
    let machine = machine("vm7+double");
    let problem = double([32; 3], 1, Smoother::A);
    let input = problem.input(Case::Outlier, 2);
    let v = input.get::<f64>("v").unwrap();
    let whole = MultigridPlan::new(problem, &machine).unwrap();
    let split = MultigridSplit {
        parts: [2, 2],
        gather: 8,
    };
    let run = |plan: &MultigridPlan| {
        let options = DeviceOptions::default();
        let jobs = (0..plan.processors())
            .map(|processor| plan.processor_job(processor, v, options.clone()).unwrap());
        let (jobs, outputs): (Vec<_>, Vec<_>) = jobs.unzip();
        let count = jobs.len();
        let (_, runs) = run_jobs(&mut InProcess, &machine, count, jobs, 2, b"").unwrap();
        let mut u = vec![f64::NAN; v.len()];
        for (processor, (output, run)) in outputs.iter().zip(&runs).enumerate() {
            plan.place_own(processor, &output.read_own(&run.run).unwrap(), &mut u);
        }
        let norms = outputs[0].read_norms(&runs[0].run).unwrap();
        let bits = |values: Vec<f64>| values.into_iter().map(f64::to_bits).collect::<Vec<_>>();
        (bits(u), bits(norms))
    };
    let divided = whole.split(split, NormSum::Ordered).unwrap();
    assert_eq!(run(&whole), run(&divided));
}

/// A machine without numbers of double precision says what it lacks; so does a job that is given other numbers.
#[test]
fn what_lacks_double_precision_is_refused() {
    let problem = double([16; 3], 1, Smoother::A);
    let refused = Cp2Backend::new(machine("vm7")).method(&problem);
    let said = refused.err().unwrap().to_string();
    assert!(
        said.contains("take a machine with it, as vm7+double"),
        "{said}"
    );
    let plan = MultigridPlan::new(problem, &machine("vm7+double")).unwrap();
    let refused = plan.task(&[0f32; 4096], DeviceOptions::default());
    let said = refused.err().unwrap().to_string();
    assert_eq!(said, "the right-hand side is of float32; expected float64");
}
