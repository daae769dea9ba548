//! Tests every problem on both backends: the emulated CP2 and this computer.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_kernels::{Cp2Backend, Cp2Report, REFUSED_KINDS};
use cp2_machine::Machine;
use cp2_native::Native;
use cp2_problems::{
    Backend, Case, Clock, KINDS, NamedArrays, Outcome, Problem, ProblemKind, Verdict, run_judged,
};

fn vm(name: &str) -> Cp2Backend {
    Cp2Backend::new(Machine::builtin(name).unwrap().into())
}

/// Checks that problems of a kind are right on a machine and natively, and as close to each other as the
/// tolerance demands.
fn compared(vm: &Cp2Backend, kind: &ProblemKind, cases: &[Case]) {
    for size in kind.small_sizes() {
        let problem = kind.make_problem(&size).unwrap();
        let title = problem.title();
        let refused = |e| panic!("{title}: {e}");
        let mut emulated = vm.prepare(&*problem).unwrap_or_else(refused);
        let mut native = Native.prepare(&*problem).unwrap_or_else(refused);
        for &case in problem.cases().iter().filter(|case| cases.contains(case)) {
            let input = problem.input(case, 3);
            let [one, other] = [&mut emulated, &mut native].map(|prepared| {
                let judged = run_judged(&mut **prepared, &*problem, &input);
                judged
                    .unwrap_or_else(|e| panic!("{title}, {case}: {e}"))
                    .outcome
            });
            let verdict = problem.agree(&input, &one.output, &other.output);
            assert!(
                verdict.is_within_tolerance(),
                "{title}, {case}: {verdict:?}"
            );
            check_clocks(&one, &other);
        }
    }
}

fn check_clocks(emulated: &Outcome, native: &Outcome) {
    assert_eq!(
        (emulated.clock, native.clock),
        (Clock::Simulated, Clock::Measured)
    );
    let report = emulated.report.as_ref().unwrap();
    let report: &Cp2Report = report.downcast_ref().unwrap();
    assert!(report.run.seconds_simulated == emulated.seconds);
    assert!(report.figures.bound.get() <= report.run.cycles);
}

/// Returns the kinds that are not on the list of refusals.
fn computed() -> impl Iterator<Item = &'static ProblemKind> {
    let listed = |kind: &ProblemKind| REFUSED_KINDS.iter().any(|(name, _)| *name == kind.name);
    KINDS.iter().filter(move |kind| !listed(kind))
}

/// A kind on the list of refusals is one of the table, and every size of it is refused with the reason that is listed.
#[test]
fn listed_kinds_are_refused() {
    for (name, reason) in REFUSED_KINDS {
        let kind = KINDS.iter().find(|kind| kind.name == *name);
        let kind = kind.unwrap_or_else(|| panic!("there is no kind {name}"));
        for size in kind.small_sizes() {
            let problem = kind.make_problem(&size).unwrap();
            let refused = vm("vm7").prepare(&*problem);
            let said = refused.expect_err("a listed kind is refused").to_string();
            assert!(said.ends_with(reason), "{said}");
        }
    }
}

#[test]
fn every_problem_on_vm7_and_natively() {
    for kind in computed() {
        compared(&vm("vm7"), kind, &Case::ALL);
    }
}

#[test]
fn every_problem_on_vm9_and_natively() {
    for kind in computed() {
        compared(&vm("vm9"), kind, &[Case::Random, Case::Outlier]);
    }
}

/// A result of one input is judged wrong for another input.
#[test]
fn another_inputs_result_is_wrong() {
    for kind in KINDS {
        let problem = kind.make_problem(&kind.small_sizes()[0]).unwrap();
        let [one, other] = [1, 2].map(|seed| problem.input(Case::Random, seed));
        let mut native = Native.prepare(&*problem).unwrap();
        let mut run = |input: &NamedArrays| native.run(input).unwrap().output;
        let wrong = |verdict: Verdict| assert!(!verdict.is_within_tolerance(), "{}", kind.name);
        wrong(problem.judge(&one, &run(&other)));
        wrong(problem.agree(&one, &run(&one), &run(&other)));
    }
}

/// A problem of another crate is refused with the name of its kind.
#[test]
fn what_is_not_in_the_table_is_refused() {
    #[derive(Debug)]
    struct Sorting;
    impl Problem for Sorting {
        fn name(&self) -> &'static str {
            "sorting"
        }
        fn title(&self) -> String {
            "sorting of class S".to_owned()
        }
        fn size(&self) -> cp2_problems::Size {
            cp2_problems::Size::new(&[("class", "S")])
        }
        fn inputs(&self) -> Vec<cp2_problems::ArrayForm> {
            Vec::new()
        }
        fn outputs(&self) -> Vec<cp2_problems::ArrayForm> {
            Vec::new()
        }
        fn input(&self, _: Case, _: u64) -> NamedArrays {
            NamedArrays::default()
        }
        fn reference(
            &self,
            _: &NamedArrays,
        ) -> Result<cp2_problems::Reference, cp2_problems::DataError> {
            Ok(cp2_problems::Reference::default())
        }
    }
    let said = vm("vm7").prepare(&Sorting).unwrap_err().to_string();
    assert_eq!(
        said,
        "vm7 does not compute `sorting`; take another backend for it"
    );
}
