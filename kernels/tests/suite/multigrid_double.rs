//! Tests of multigrid in double and double-single precision: norms, bits, refusals.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_host::{DeviceOptions, MemoryElement};
use cp2_kernels::npb::mg::{MultigridPlan, MultigridSplit, NormSum};
use cp2_kernels::{Cp2Backend, run_jobs};
use cp2_machine::Machine;
use cp2_network::InProcess;
use cp2_problems::npb::mg::{MgClass, MgProblem, Smoother};
use cp2_problems::npb::{NpbClass, Precision};
use cp2_problems::{
    Backend as _, Case, Element, NamedArrays, Problem as _, join_double, run_judged,
};
use std::sync::Arc;

fn machine(name: &str) -> Arc<Machine> {
    Arc::new(Machine::load(name).unwrap())
}

/// Formats of numbers with more digits than those of the base machine.
const WIDE: [Precision; 2] = [Precision::Double, Precision::DoubleSingle];

fn problem(precision: Precision, (shape, cycles): ([usize; 3], usize)) -> MgProblem {
    let problem = MgProblem::with_shape(shape, cycles, Smoother::B).unwrap();
    problem.with_precision(precision)
}

/// The norm of class S has the official value to the benchmark's own tolerance, under the checkers; the run takes its
/// price. In double precision it takes at most 2.2 times the cycles of single precision, in which operations compute
/// twice as many numbers, and in double-single precision at most 4.5 times.
#[test]
fn class_s_is_official() {
    for (base, precision, most) in [
        ("vm7", Precision::Double, 2.2),
        ("vm9", Precision::Double, 2.2),
        ("vm9", Precision::DoubleSingle, 4.5),
    ] {
        let machine = machine(&format!("{base}+{precision}"));
        let benchmark = MgClass::from_class(NpbClass::S);
        let cycles = [Precision::Single, precision].map(|precision| {
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
            assert!(
                off < 1e-11 || precision == Precision::Single,
                "{base}: {off}"
            );
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
        assert!((1.5..most).contains(&slower), "{base}: {slower}");
    }
}

/// Inputs whose numbers have all digits, of every kind, on grids of other shapes and on machines with other memories,
/// sections and rates. The weights of the smoother are not exact in any format.
#[test]
fn all_inputs_are_within_roundings() {
    let [double, pair] = WIDE;
    for (precision, shape, changes) in [
        (double, [16, 16, 16], "vm7+double"),
        (double, [16, 16, 32], "vm9+double"),
        (
            double,
            [16, 32, 16],
            "vm7+double+cp2.sections=3+cp2.dmem=16KiB",
        ),
        (
            double,
            [32, 16, 16],
            "vm7+double+cp2.interval.double-add=2+cp2.interval.double-madd=2",
        ),
        (pair, [16, 16, 16], "vm9+double-single"),
        (
            pair,
            [16, 16, 32],
            "vm7+double-single+cp2.sections=3+cp2.dmem=32KiB+cp2.latency.error=9",
        ),
    ] {
        let problem = problem(precision, (shape, 2));
        let backend = Cp2Backend::new(machine(changes));
        let mut prepared = backend.prepare(&problem).unwrap();
        for &case in problem.cases() {
            let judged = run_judged(&mut *prepared, &problem, &problem.input(case, 5));
            assert!(judged.is_ok(), "{shape:?}, {changes}, {case:?}: {judged:?}");
        }
    }
}

/// A result in single precision is not taken for one of more digits.
#[test]
fn a_result_in_single_precision_is_wrong() {
    for precision in WIDE {
        let problem = problem(precision, ([16; 3], 2));
        let input = problem.input(Case::Large, 3);
        let exact = problem.solve_exactly(&input).unwrap();
        let v: Vec<f64> = match precision {
            Precision::DoubleSingle => {
                let v = input.get::<[f32; 2]>("v").unwrap();
                v.iter().map(|&x| join_double(x)).collect()
            }
            _ => input.get::<f64>("v").unwrap().to_vec(),
        };
        let single = problem.solve::<f32>(&v);
        let u = single.u.points().iter().map(|&x| f64::from(x)).collect();
        let make = |u: Vec<f64>| {
            let output = NamedArrays::from_array("u", &problem.shape(), u);
            output.add_array("norms", &[2], exact.norms.to_vec())
        };
        assert!(!problem.judge(&input, &make(u)).is_within_tolerance());
        let u = exact.u.points().to_vec();
        assert!(problem.judge(&input, &make(u)).is_within_tolerance());
    }
}

/// Four processors have the bits of one, norms too where these are added up in its order.
#[test]
fn processors_have_the_bits_of_one() {
    processors_agree::<f64>(Precision::Double);
    processors_agree::<[f32; 2]>(Precision::DoubleSingle);
}

fn processors_agree<T: Element + MemoryElement>(precision: Precision) {
    let machine = machine(&format!("vm7+{precision}"));
    let problem = problem(precision, ([32; 3], 1));
    let input = problem.input(Case::Outlier, 2);
    let v = input.get::<T>("v").unwrap();
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
        let mut u = vec![T::default(); v.len()];
        for (processor, (output, run)) in outputs.iter().zip(&runs).enumerate() {
            plan.place_own(processor, &output.read_own(&run.run).unwrap(), &mut u);
        }
        let norms = outputs[0].read_norms(&runs[0].run).unwrap();
        let norms: Vec<u64> = norms.into_iter().map(f64::to_bits).collect();
        (T::values(u).bytes(), norms)
    };
    let divided = whole.split(split, NormSum::Ordered).unwrap();
    assert_eq!(run(&whole), run(&divided));
}

/// A machine without numbers of more digits says what it lacks; so does a job that is given other numbers.
#[test]
fn what_lacks_a_precision_is_refused() {
    for precision in WIDE {
        let problem = problem(precision, ([16; 3], 1));
        let refused = Cp2Backend::new(machine("vm7")).method(&problem);
        let said = refused.err().unwrap().to_string();
        let take = format!("take a machine with it, as vm7+{precision}, or");
        assert!(said.contains(&take), "{said}");
        let plan = MultigridPlan::new(problem, &machine(&format!("vm7+{precision}"))).unwrap();
        let refused = plan.task(&[0f32; 4096], DeviceOptions::default());
        let said = refused.err().unwrap().to_string();
        let expected = precision.kind();
        assert_eq!(
            said,
            format!("the right-hand side is of float32; expected {expected}")
        );
    }
}
