//! Every kind of problem keeps its promises on arrays, inputs and sizes.

use super::*;
use crate::npb::cg::CgProblem;
use crate::sparse::{PowerProblem, SolveProblem};
use crate::{Case, MultiplyAdd, NamedArrays, PartVerdict, SizeValue};
use std::collections::BTreeSet;

/// Kinds that no kernel computes yet; their rows move to the table as soon as one does.
static PLANNED: &[ProblemKind] = &[
    ProblemKind {
        name: "npb-cg",
        parameters: &CgProblem::PARAMETERS,
        small: &["64 3 2 10", "200 5 4 12", "64 3 2 10 double"],
        make: |_, size| Ok(Arc::new(CgProblem::from_size(size)?)),
    },
    ProblemKind {
        name: "solve",
        parameters: &SolveProblem::PARAMETERS,
        small: &[
            "grid5 12 1 0 real 1 cg 1e-5 100",
            "grid27 5 1 0 real 1 pcg 1e-5 100",
            "fem 100 3 0 real 1 cg 1e-4 100",
            "mesh 150 1 0 real 1 pcg 1e-5 3",
            "band 200 1 -14,-1,0,1,14 real 1 bicgstab 1e-5 100",
            "random 90 4 0 real 1 bicgstab 1e-5 100",
        ],
        make: |_, size| Ok(Arc::new(SolveProblem::from_size(size)?)),
    },
    ProblemKind {
        name: "power-iteration",
        parameters: &PowerProblem::PARAMETERS,
        small: &[
            "grid5 12 1 0 real 1 20",
            "fem 100 3 0 real 1 5",
            "random 90 4 0 real 1 3",
            "grid7 5 1 0 pattern 1 50",
        ],
        make: |_, size| Ok(Arc::new(PowerProblem::from_size(size)?)),
    },
];

fn all() -> impl Iterator<Item = &'static ProblemKind> {
    KINDS.iter().chain(PLANNED)
}

#[test]
fn every_operation_is_a_kind_and_names_are_unique() {
    let names: BTreeSet<_> = all().map(|kind| kind.name).collect();
    assert_eq!(names.len(), all().count());
    let maps = crate::vector::MapOp::all();
    for name in maps.iter().map(|op| op.name()) {
        assert!(names.contains(name), "{name}");
    }
    for op in crate::vector::ReductionOp::all() {
        assert!(names.contains(op.name()));
    }
}

/// Arrays have the announced forms, inputs are reproducible, and an empty output is no result.
#[test]
fn problems_keep_their_word() {
    for kind in all() {
        // Every row is a valid size.
        assert_eq!(kind.small_sizes().len(), kind.small.len(), "{}", kind.name);
        for size in kind.small_sizes() {
            let problem = kind.make_problem(&size).unwrap();
            for &case in problem.cases() {
                let input = problem.input(case, 5);
                // Inputs are compared by their bytes, as a NaN is not equal to itself.
                let bytes = |data: NamedArrays| -> Vec<_> {
                    let arrays = data.arrays().iter();
                    arrays.map(|array| array.values.bytes()).collect()
                };
                assert_eq!(bytes(input.clone()), bytes(problem.input(case, 5)));
                let forms = problem.inputs();
                assert_eq!(forms.len(), input.arrays().len());
                for (form, array) in forms.iter().zip(input.arrays()) {
                    let found = (array.name, array.values.kind(), &array.shape);
                    assert_eq!(found, (form.name, form.kind, &form.shape));
                    assert_eq!(array.values.len(), form.shape.iter().product());
                }
                let exact = problem.reference(&input).unwrap();
                let outputs = problem.outputs();
                assert_eq!(exact.arrays.len(), outputs.len());
                for (form, array) in outputs.iter().zip(&exact.arrays) {
                    assert_eq!((form.name, &form.shape), (array.name, &array.shape));
                }
                assert!(
                    !problem
                        .judge(&input, &NamedArrays::default())
                        .is_within_tolerance()
                );
            }
            assert_ne!(
                problem.input(Case::Random, 1),
                problem.input(Case::Random, 2)
            );
        }
    }
}

/// Results in the order of the definition are right, and every kind says how its tolerance comes about.
#[test]
fn results_in_order_are_within_the_tolerance() {
    let mut ordered = BTreeSet::new();
    for kind in KINDS {
        for size in kind.small_sizes() {
            let problem = kind.make_problem(&size).unwrap();
            assert!(!problem.tolerance_in_words().is_empty(), "{}", kind.name);
            for &case in problem.cases() {
                let input = problem.input(case, 5);
                let reference = problem.reference(&input).unwrap();
                assert!(
                    problem
                        .judge_parts(&reference, &input, &NamedArrays::default())
                        .is_none()
                );
                for rounding in MultiplyAdd::ALL {
                    let Some(output) = problem.compute_in_order(&input, rounding) else {
                        continue;
                    };
                    ordered.insert(kind.name);
                    let parts = problem.judge_parts(&reference, &input, &output).unwrap();
                    let worst = parts.iter().map(PartVerdict::ratio).fold(0.0, f64::max);
                    let verdict = problem.judge(&input, &output);
                    assert!(verdict.is_within_tolerance(), "{} {case}", problem.title());
                    assert_eq!(verdict.worst, worst);
                }
                assert!(
                    problem
                        .compute_in_order(&NamedArrays::default(), MultiplyAdd::Fused)
                        .is_none()
                );
            }
        }
    }
    let expected = [
        "add",
        "axpy",
        "complex-multiply",
        "himeno",
        "max",
        "multiply",
        "power",
        "scale",
        "spmv",
        "stencil",
        "subtract",
        "transpose",
        "window",
    ];
    assert_eq!(ordered, BTreeSet::from(expected));
}

#[test]
fn sizes_that_are_none_are_refused() {
    for kind in all() {
        for value in [0, u64::MAX, u64::MAX / 8 + 1] {
            let values = kind.parameters.iter().map(|p| match p.default {
                SizeValue::Number(_) => (p.name, SizeValue::Number(value)),
                SizeValue::Word(_) => (p.name, p.default.clone()),
            });
            let size = Size::new(&values.collect::<Vec<_>>());
            assert!(kind.make_problem(&size).is_err(), "{} {size}", kind.name);
        }
        let empty = Size::new::<u64>(&[]);
        assert!(kind.make_problem(&empty).is_err(), "{}", kind.name);
    }
}
