//! Tests that a NaN reaches only the outputs whose definition has it.
//!
//! No kernel multiplies it with a padding zero, and no two rows share a number. Some filters do otherwise and
//! say so: they are tested in `conv::places`.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_kernels::{Cp2Backend, REFUSED_KINDS};
use cp2_machine::Machine;
use cp2_problems::{Backend, Case, Exact, KINDS, NamedArrays, Values};
use num_complex::Complex32;

/// Kinds of problems that are left out: their references are computed by transforms over whole blocks, and
/// the largest of a row takes no NaN.
const OTHERS: [&str; 6] = ["conv", "conv-real", "fir", "radar", "sonar", "max"];

/// Returns the input with a NaN at a place of one of its arrays, if that has floats.
fn spoiled(input: &NamedArrays, array: usize, at: usize) -> Option<NamedArrays> {
    let mut data = NamedArrays::default();
    for (number, own) in input.arrays().iter().enumerate() {
        let here = number == array && !own.values.is_empty();
        let at = at % own.values.len().max(1);
        data = match &own.values {
            Values::F32(x) => {
                let mut x = x.clone();
                if here {
                    x[at] = f32::NAN;
                }
                data.add_array(own.name, &own.shape, x)
            }
            Values::Complex64(x) => {
                let mut x = x.clone();
                if here {
                    x[at] = Complex32::new(f32::NAN, f32::NAN);
                }
                data.add_array(own.name, &own.shape, x)
            }
            Values::F64(x) => data.add_array(own.name, &own.shape, x.clone()),
            Values::Complex128(x) => data.add_array(own.name, &own.shape, x.clone()),
            Values::DoubleSingle(x) => data.add_array(own.name, &own.shape, x.clone()),
            Values::ComplexDoubleSingle(x) => data.add_array(own.name, &own.shape, x.clone()),
            Values::I32(x) => data.add_array(own.name, &own.shape, x.clone()),
            Values::U32(x) => data.add_array(own.name, &own.shape, x.clone()),
            Values::U8(x) => data.add_array(own.name, &own.shape, x.clone()),
        };
    }
    let floats = |values: &Values| matches!(values, Values::F32(_) | Values::Complex64(_));
    let own = input.arrays().get(array);
    own.is_some_and(|own| floats(&own.values)).then_some(data)
}

/// Marks the elements that are not finite.
fn places(values: &Values) -> Vec<bool> {
    match values {
        Values::F32(x) => x.iter().map(|x| !x.is_finite()).collect(),
        Values::F64(x) => x.iter().map(|x| !x.is_finite()).collect(),
        Values::Complex64(x) => x.iter().map(|x| !x.is_finite()).collect(),
        Values::Complex128(x) => x.iter().map(|x| !x.is_finite()).collect(),
        others => vec![false; others.len()],
    }
}

#[test]
fn a_nan_reaches_what_its_definition_says() {
    let vm7 = Cp2Backend::new(Machine::builtin("vm7").unwrap().into());
    let mut checked = 0;
    for kind in KINDS {
        let is_refused = REFUSED_KINDS.iter().any(|(name, _)| *name == kind.name);
        if OTHERS.contains(&kind.name) || kind.name.starts_with("npb") || is_refused {
            continue;
        }
        for size in kind.small_sizes() {
            let problem = kind.make_problem(&size).unwrap();
            let mut prepared = vm7.prepare(&*problem).unwrap();
            let input = problem.input(Case::Random, 3);
            for array in 0..input.arrays().len() {
                let Some(spoiled) = spoiled(&input, array, 7919) else {
                    continue;
                };
                let output = prepared.run(&spoiled).unwrap().output;
                for expected in problem.reference(&spoiled).unwrap().arrays {
                    let exact: Vec<bool> = match &expected.exact {
                        Exact::Real(x) => x.iter().map(|x| !x.is_finite()).collect(),
                        Exact::Complex(x) => x.iter().map(|x| !x.is_finite()).collect(),
                        Exact::Same(values) => places(values),
                    };
                    let found = places(&output.array(expected.name).unwrap().values);
                    let beside = found.iter().zip(&exact).filter(|(f, e)| **f && !**e);
                    let beside = beside.count();
                    assert_eq!(beside, 0, "{}, array {array}", problem.title());
                    checked += 1;
                }
            }
        }
    }
    assert!(checked >= 40, "{checked}");
}
