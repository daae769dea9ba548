//! Every problem is computed on this computer, with every kind of input.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_native::Native;
use cp2_problems::{Backend, KINDS, Problem, Refusal, run_judged};

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
