//! Every problem is computed on this computer, with every kind of input.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_native::Native;
use cp2_problems::himeno::{HimenoData, HimenoSize};
use cp2_problems::{Backend, Case, KINDS, Problem, Refusal, run_judged};

#[test]
fn every_problem_is_computed() {
    for kind in KINDS {
        for size in kind.small_sizes() {
            let problem = kind.make_problem(&size).unwrap();
            let mut prepared = Native.prepare(&*problem).unwrap();
            for &case in problem.cases() {
                let input = problem.input(case, 9);
                let judged = run_judged(&mut *prepared, &*problem, &input);
                let judged = judged.unwrap_or_else(|e| panic!("{}, {case}: {e}", problem.title()));
                let output = &judged.outcome.output;
                assert!(problem.agree(&input, output, output).is_within_tolerance());
            }
        }
    }
}

/// Gosa of the Himeno benchmark is as near to double precision as single precision comes, which is much nearer than the
/// bound of the worst case.
#[test]
fn gosa_of_the_himeno_benchmark() {
    for (size, iterations, data, tolerance) in [
        (
            HimenoSize::XS,
            100,
            HimenoData::Standard,
            HimenoSize::XS.gosa_tolerance(),
        ),
        (
            HimenoSize::S,
            3,
            HimenoData::Standard,
            HimenoSize::S.gosa_tolerance(),
        ),
        (HimenoSize::XS, 10, HimenoData::General, 1e-6),
    ] {
        let problem = size.problem(iterations, data).unwrap();
        let input = problem.input(Case::Random, 1);
        let output = Native
            .prepare(&problem)
            .unwrap()
            .run(&input)
            .unwrap()
            .output;
        let reference = problem.reference(&input).unwrap();
        let cp2_problems::Exact::Real(exact) = &reference.arrays[1].exact else {
            panic!("gosa is a real number");
        };
        let off = (output.get::<f64>("gosa").unwrap()[0] / exact[0] - 1.0).abs();
        assert!(off < tolerance, "{}: off by {off:e}", problem.title());
    }
}

/// A problem of a type that the table does not know.
#[derive(Debug)]
struct Other;

impl Problem for Other {
    fn name(&self) -> &'static str {
        "other"
    }
    fn title(&self) -> String {
        "other".to_owned()
    }
    fn size(&self) -> cp2_problems::Size {
        cp2_problems::Size::new::<u64>(&[]).add_value("class", "S")
    }
    fn inputs(&self) -> Vec<cp2_problems::ArrayForm> {
        Vec::new()
    }
    fn outputs(&self) -> Vec<cp2_problems::ArrayForm> {
        Vec::new()
    }
    fn input(&self, _: cp2_problems::Case, _: u64) -> cp2_problems::NamedArrays {
        cp2_problems::NamedArrays::default()
    }
    fn reference(
        &self,
        _: &cp2_problems::NamedArrays,
    ) -> Result<cp2_problems::Reference, cp2_problems::DataError> {
        Ok(cp2_problems::Reference::default())
    }
}

#[test]
fn other_problems_are_refused() {
    let refused = Native.prepare(&Other).unwrap_err();
    assert!(matches!(
        refused,
        Refusal::Unknown {
            problem: "other",
            ..
        }
    ));
    let said = refused.to_string();
    assert!(said.contains("native does not compute `other`"), "{said}");
}
