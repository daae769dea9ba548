//! Tests of FT in double precision: official checksums, all lengths, refusals.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_host::DeviceOptions;
use cp2_kernels::Cp2Backend;
use cp2_machine::Machine;
use cp2_problems::npb::ft::{checksum_tolerance, official};
use cp2_problems::npb::{FtProblem, NpbClass, Precision};
use cp2_problems::{Backend as _, Case, Problem as _, run_judged};
use std::sync::Arc;

fn machine(name: &str) -> Arc<Machine> {
    Arc::new(Machine::load(name).unwrap())
}

/// Class S has the official checksums to the benchmark's own tolerance, under the checkers, at most 2.1 times as slowly
/// as in single precision.
#[test]
fn class_s_is_official_at_half_the_rate() {
    for base in ["vm7", "vm9"] {
        let machine = machine(&format!("{base}+double"));
        let cycles = [Precision::Single, Precision::Double].map(|precision| {
            let problem = FtProblem::from_class(NpbClass::S).with_precision(precision);
            let method = Cp2Backend::new(machine.clone()).method(&problem).unwrap();
            let input = problem.initial();
            let options = DeviceOptions {
                check: true,
                ..DeviceOptions::default()
            };
            let task = method.task(&input, options).unwrap();
            let done = task.run(method.figures.clone()).unwrap();
            assert_eq!(done.run.report.findings, []);
            let output = done.output.as_ref().unwrap();
            let sums = output.get::<f64>("checksums").unwrap();
            for (ours, [re, im]) in sums.chunks_exact(2).zip(official(NpbClass::S)) {
                let apart = libm::hypot(ours[0] - re, ours[1] - im) / libm::hypot(*re, *im);
                assert!(apart < checksum_tolerance(precision), "{base}: {apart}");
            }
            assert!(problem.judge(&input, output).is_within_tolerance());
            assert!(done.efficiency() < 1.0, "{}", done.efficiency());
            done.run.report.cycles as f64
        });
        let slower = cycles[1] / cycles[0];
        assert!((1.5..2.1).contains(&slower), "{base}: {slower}");
    }
}

/// Lines of every length, forward and back, along every axis, are within the roundings of both transforms.
#[test]
fn lines_of_every_length_are_transformed() {
    for length in (1..=10).map(|levels| 1 << levels) {
        for shape in [[length, 4, 16], [4, length, 16], [4, 16, length]] {
            let problem = FtProblem::new(shape, 1).unwrap();
            let problem = problem.with_precision(Precision::Double);
            let backend = Cp2Backend::new(machine("vm7+double"));
            let mut prepared = match backend.prepare(&problem) {
                Ok(prepared) => prepared,
                // Four sections with four lines each need as many columns, and as many rows. Along z the weights of
                // 1024 numbers leave no room for lines of as many.
                Err(refused) => {
                    let narrow = shape[2] < 16 || shape[0] * shape[1] < 16;
                    assert!(narrow || shape[0] == 1024, "{shape:?}");
                    assert!(refused.to_string().contains("lines"), "{refused}");
                    continue;
                }
            };
            let judged = run_judged(&mut *prepared, &problem, &problem.input(Case::Random, 7));
            assert!(judged.is_ok(), "{shape:?}: {judged:?}");
        }
    }
}

/// A machine without `double` is refused, and the error says which one to take.
#[test]
fn a_machine_without_double_is_refused() {
    let problem = FtProblem::from_class(NpbClass::S).with_precision(Precision::Double);
    let refused = Cp2Backend::new(machine("vm7"))
        .method(&problem)
        .unwrap_err();
    assert!(refused.to_string().contains("vm7+double"), "{refused}");
}

/// There are no transforms in double-single precision, and the error says what to take instead.
#[test]
fn double_single_precision_is_refused() {
    let problem = FtProblem::from_class(NpbClass::S).with_precision(Precision::DoubleSingle);
    let refused = Cp2Backend::new(machine("vm7+double-single"))
        .method(&problem)
        .unwrap_err();
    let said = refused.to_string();
    assert!(
        said.contains("has no kernels: take single precision"),
        "{said}"
    );
}
