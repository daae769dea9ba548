//! Compares results of backends with the reference and with each other.

use super::class::{EqualBits, OrderedResults};
use crate::backends::BackendName;
use cp2_problems::{Case, DataError, NamedArrays, PartVerdict, Problem, Verdict};

/// Result of a backend, or the reason why it has none.
#[derive(Debug)]
pub(super) struct BackendOutput {
    pub(super) backend: BackendName,
    pub(super) output: Result<NamedArrays, String>,
}

/// Comparison of two results, or of a result with the reference.
#[derive(Clone, Debug)]
pub(super) struct ComparedPair {
    /// Backend of the first result.
    pub(super) a: BackendName,
    /// Backend of the second one; none for the reference.
    pub(super) b: Option<BackendName>,
    /// Difference of the part that is nearest to its bound, and that bound.
    pub(super) largest: f64,
    pub(super) bound: f64,
    /// The largest difference in units of its bound.
    pub(super) ratio: f64,
    /// Root-mean-square difference, relative to the size of the result.
    pub(super) rms: f64,
    /// Equality of the results with those in the order of the definition.
    pub(super) equal: EqualBits,
    /// Verdict; none where results are only reported.
    pub(super) pass: Option<bool>,
    /// Reason why there is no verdict.
    pub(super) open: Option<&'static str>,
    /// Differences of all parts in units of their bounds.
    pub(super) ratios: Vec<f64>,
    /// Reason why there is nothing to compare.
    pub(super) failure: Option<String>,
}

/// Comparisons of the results from one input.
#[derive(Clone, Debug)]
pub(super) struct ComparedCase {
    pub(super) case: Case,
    pub(super) pairs: Vec<ComparedPair>,
}

/// Reason of results from inputs that a tolerance is not meant for.
const NOT_MEANT: &str = "the tolerance is not meant for this input";
/// Reason of results from numbers that the language of graphics cards leaves open.
const LEFT_OPEN: &str = "WGSL leaves such numbers open";
/// Reason of results without a bound.
const NO_BOUND: &str = "no part of the reference is finite, so that there is no bound";

/// Returns the reason why a backend's results from a case are not judged, if they are not. A problem says which cases
/// its tolerance is meant for; the language of graphics cards leaves subnormal numbers, infinities and NaNs open.
pub(super) fn find_open(
    problem: &dyn Problem,
    backend: BackendName,
    case: Case,
) -> Option<&'static str> {
    let open = matches!(case, Case::Subnormal | Case::NotFinite);
    let defined = match case {
        Case::NotFinite => problem.is_defined_beyond_finite(),
        case => problem.cases().contains(&case),
    };
    match (defined, open && backend == BackendName::Gpu) {
        (false, _) => Some(NOT_MEANT),
        (true, true) => Some(LEFT_OPEN),
        (true, false) => None,
    }
}

/// Compares each output with the reference, and each pair of outputs.
///
/// # Errors
/// The input does not fit the problem.
pub(super) fn compare(
    problem: &dyn Problem,
    case: Case,
    input: &NamedArrays,
    outputs: &[BackendOutput],
) -> Result<ComparedCase, DataError> {
    let reference = problem.reference(input)?;
    let ordered = OrderedResults::new(problem, input);
    let mut pairs = Vec::new();
    for one in outputs {
        let open = find_open(problem, one.backend, case);
        pairs.push(match &one.output {
            Err(reason) => ComparedPair::failed(one.backend, open, reason),
            Ok(output) => ComparedPair::new(
                (one.backend, None),
                problem.judge(input, output),
                problem.judge_parts(&reference, input, output),
                ordered.equal_bits(output),
                open,
            ),
        });
    }
    for (i, one) in outputs.iter().enumerate() {
        for other in outputs.iter().skip(i + 1) {
            let open = [one, other].map(|output| find_open(problem, output.backend, case));
            let open = open.into_iter().flatten().next();
            // A backend without a result fails in its comparison with the reference.
            let (Ok(a), Ok(b)) = (&one.output, &other.output) else {
                continue;
            };
            pairs.push(ComparedPair::new(
                (one.backend, Some(other.backend)),
                problem.agree(input, a, b),
                problem.agree_parts(&reference, input, [a, b]),
                ordered.equal_bits(a).and(ordered.equal_bits(b)),
                open,
            ));
        }
    }
    Ok(ComparedCase { case, pairs })
}

impl ComparedPair {
    fn new(
        (a, b): (BackendName, Option<BackendName>),
        verdict: Verdict,
        parts: Option<Vec<PartVerdict>>,
        equal: EqualBits,
        open: Option<&'static str>,
    ) -> Self {
        let parts = parts.unwrap_or_default();
        // Without a bound no difference is small or large.
        let nearest = find_nearest(&parts);
        let is_unbounded = nearest.is_some_and(|part| part.allowed.is_nan() && part.error == 0.0);
        let open = open.or(is_unbounded.then_some(NO_BOUND));
        Self {
            a,
            b,
            largest: match nearest {
                Some(part) if !is_unbounded => part.error.sqrt(),
                _ => f64::NAN,
            },
            bound: nearest.map_or(f64::NAN, |part| part.allowed),
            ratio: if is_unbounded {
                f64::NAN
            } else {
                verdict.worst
            },
            rms: verdict.rms,
            equal,
            pass: open.is_none().then(|| verdict.is_within_tolerance()),
            open,
            ratios: parts.iter().map(PartVerdict::ratio).collect(),
            failure: nearest
                .is_none()
                .then(|| "the result has not the arrays of the problem".to_owned()),
        }
    }

    /// Returns the row of a backend without a result, which fails where it is judged.
    fn failed(a: BackendName, open: Option<&'static str>, reason: &str) -> Self {
        Self {
            a,
            b: None,
            largest: f64::NAN,
            bound: f64::NAN,
            ratio: f64::NAN,
            rms: f64::NAN,
            equal: EqualBits {
                fused: false,
                rounded_twice: false,
            },
            pass: open.is_none().then_some(false),
            open,
            ratios: Vec::new(),
            failure: Some(reason.to_owned()),
        }
    }
}

/// Returns the part whose error is the largest share of what it may be; without errors, the part that may have the
/// smallest one.
fn find_nearest(parts: &[PartVerdict]) -> Option<PartVerdict> {
    let nearer = |best: PartVerdict, part: &PartVerdict| {
        let (own, before) = (part.ratio(), best.ratio());
        let nearer = match own == 0.0 && before == 0.0 {
            true => part.allowed < best.allowed || best.allowed.is_nan(),
            false => own > before || (own.is_nan() && !before.is_nan()),
        };
        if nearer { *part } else { best }
    };
    let first = parts.first()?;
    Some(parts.iter().fold(*first, nearer))
}

#[cfg(test)]
mod tests {
    use super::*;
    use cp2_native::Native;
    use cp2_problems::Backend as _;
    use cp2_problems::stencil::{Edge, StencilProblem, StencilShape};

    fn stencil() -> StencilProblem {
        let points = StencilShape::from_classes(5, None).unwrap();
        StencilProblem::new(&[6, 7], points, Edge::Periodic, 1).unwrap()
    }

    fn part(error: f64, allowed: f64) -> PartVerdict {
        PartVerdict {
            error: error * error,
            norm: 1.0,
            allowed,
        }
    }

    #[test]
    fn the_nearest_part_decides() {
        let of = |parts: &[PartVerdict]| find_nearest(parts).map(|part| part.allowed);
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[part(0.0, 3.0), part(0.0, 2.0)]), Some(2.0));
        assert_eq!(
            of(&[part(1.0, 4.0), part(0.5, 1.0), part(0.0, 0.5)]),
            Some(1.0)
        );
        assert_eq!(
            of(&[part(1.0, 4.0), part(f64::NAN, 9.0), part(5.0, 1.0)]),
            Some(9.0)
        );
    }

    /// An output with one element that is off fails against the reference and against the other backend.
    #[test]
    fn an_element_that_is_off_fails() {
        let problem = stencil();
        let input = problem.input(Case::Random, 3);
        let right = Native
            .prepare(&problem)
            .unwrap()
            .run(&input)
            .unwrap()
            .output;
        let mut v = right.get::<f32>("v").unwrap().to_vec();
        v[11] += 1e-5;
        let wrong = NamedArrays::from_array("v", &[6, 7], v);
        let outputs = |native: NamedArrays| {
            [
                BackendOutput {
                    backend: BackendName::Cp2,
                    output: Ok(right.clone()),
                },
                BackendOutput {
                    backend: BackendName::Native,
                    output: Ok(native),
                },
            ]
        };
        let pass = |native: NamedArrays| {
            let compared = compare(&problem, Case::Random, &input, &outputs(native)).unwrap();
            compared
                .pairs
                .iter()
                .map(|pair| pair.pass)
                .collect::<Vec<_>>()
        };
        assert_eq!(pass(right.clone()), [Some(true); 3]);
        assert_eq!(pass(wrong.clone()), [Some(true), Some(false), Some(false)]);
        let compared = compare(&problem, Case::Random, &input, &outputs(wrong)).unwrap();
        let [first, second, _] = &compared.pairs[..] else {
            panic!("{compared:?}")
        };
        assert!(first.equal.rounded_twice && !second.equal.rounded_twice);
        assert!(second.largest > second.bound && second.ratio > 1.0);
        assert!((second.largest - 1e-5).abs() < 1e-6, "{second:?}");
        // An output of another shape fails, and so does a backend without one.
        assert_eq!(
            pass(NamedArrays::default()),
            [Some(true), Some(false), Some(false)]
        );
        let mut outputs = outputs(right.clone());
        outputs[0].output = Err("out of memory".to_owned());
        let compared = compare(&problem, Case::Random, &input, &outputs).unwrap();
        let pass: Vec<_> = compared.pairs.iter().map(|pair| pair.pass).collect();
        assert_eq!(pass, [Some(false), Some(true)]);
        assert_eq!(compared.pairs[0].failure.as_deref(), Some("out of memory"));
    }

    /// Graphics cards are not judged by numbers that their language leaves open.
    #[test]
    fn open_numbers_of_graphics_cards_are_only_reported() {
        let problem = stencil();
        let open = |backend, case| find_open(&problem, backend, case);
        assert_eq!(open(BackendName::Cp2, Case::Subnormal), None);
        assert_eq!(open(BackendName::Native, Case::NotFinite), None);
        assert_eq!(open(BackendName::Gpu, Case::NotFinite), Some(LEFT_OPEN));
        assert_eq!(open(BackendName::Gpu, Case::Subnormal), Some(LEFT_OPEN));
        assert_eq!(open(BackendName::Gpu, Case::Outlier), None);
    }

    /// Parts without a bound, all of which are equal, are no success; a difference there is a failure.
    #[test]
    fn results_without_a_bound_are_not_judged() {
        let equal = EqualBits::BOTH;
        let verdict = |worst| Verdict { rms: 0.0, worst };
        let compare = |parts: Vec<PartVerdict>, worst: f64| {
            let backends = (BackendName::Native, None);
            ComparedPair::new(backends, verdict(worst), Some(parts), equal, None)
        };
        let equal_nans = compare(vec![part(0.0, f64::NAN); 3], 0.0);
        assert_eq!((equal_nans.pass, equal_nans.open), (None, Some(NO_BOUND)));
        assert!(equal_nans.largest.is_nan() && equal_nans.ratio.is_nan());
        let some = compare(vec![part(0.0, f64::NAN), part(0.0, 1.0)], 0.0);
        assert_eq!((some.pass, some.largest), (Some(true), 0.0));
        let wrong = compare(vec![part(1.0, f64::NAN)], f64::NAN);
        assert_eq!(wrong.pass, Some(false));
    }
}
