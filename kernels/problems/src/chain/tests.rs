//! Receivers agree with their definitions, and wrong results are noticed.

use super::*;
use crate::problem::Problem;
use crate::random::Random;
use crate::vector::WindowFunction;
use crate::{Case, NamedArrays, Verdict, widen};
use num_complex::{Complex32, Complex64};
use proptest::prelude::*;
use std::f64::consts::TAU;

fn radar(pulses: usize, ranges: usize, chirp: usize) -> RadarProblem {
    let spec = RadarSpec {
        pulses,
        ranges,
        chirp,
        pulse_rate: 1.0,
        ..RadarSpec::default()
    };
    RadarProblem::new(spec).unwrap()
}

fn sonar(
    [hydrophones, beams, frames]: [usize; 3],
    [decimate, taps, points]: [usize; 3],
) -> SonarProblem {
    let spec = SonarSpec {
        hydrophones,
        beams,
        // The last three samples are in no frame.
        samples: decimate * points * frames + 3,
        decimate,
        taps,
        points,
        ..SonarSpec::default()
    };
    SonarProblem::new(spec).unwrap()
}

/// Lists receivers of both kinds, with sizes that are all different.
fn receivers() -> Vec<Box<dyn Problem>> {
    vec![
        Box::new(radar(16, 64, 16)),
        Box::new(radar(6, 10, 33)),
        Box::new(sonar([8, 6, 2], [4, 64, 64])),
        Box::new(sonar([4, 10, 3], [1, 7, 20])),
    ]
}

/// Computes point k of the windowed transform of a row, term by term.
fn point(row: &[Complex64], k: usize) -> Complex64 {
    let n = row.len();
    let window = WindowFunction::Hann.coefficients(n);
    let terms = row.iter().zip(&window).enumerate();
    let term = |(i, (x, w)): (usize, (&Complex64, &f32))| {
        x * f64::from(*w) * Complex64::cis(-TAU * (i * k % n) as f64 / n as f64)
    };
    terms.map(term).sum()
}

fn close(found: Complex64, exact: Complex64, size: f64) -> bool {
    (found - exact).norm() <= 1e-12 * size
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Computes points of a radar's map from the definition.
    #[test]
    fn a_radars_spectra_are_the_definition(
        pulses in 1_usize..9,
        ranges in 1_usize..9,
        chirp in 1_usize..20,
        seed in any::<u64>(),
    ) {
        let problem = radar(2 * pulses, 2 * ranges, chirp);
        let [rows, samples] = problem.block();
        let x = Random::new(seed).complexes(rows * samples);
        let exact = problem.exact(&x);
        let size = samples as f64 * rows as f64;
        for (r, spectrum) in exact.numbers().chunks(rows).enumerate() {
            let echo = |p: usize| -> Complex64 {
                let pulse = problem.pulse().iter().enumerate();
                pulse.map(|(i, h)| widen(x[p * samples + r + i]) * widen(h.conj())).sum()
            };
            let row: Vec<Complex64> = (0..rows).map(echo).collect();
            for (k, found) in spectrum.iter().enumerate() {
                prop_assert!(close(*found, point(&row, k), size), "range {r}, point {k}");
            }
        }
    }

    /// Computes points of a sonar's spectra from the definition.
    #[test]
    fn a_sonars_spectra_are_the_definition(
        hydrophones in 1_usize..4,
        beams in 1_usize..4,
        decimate in 1_usize..5,
        taps in 1_usize..20,
        points in 1_usize..7,
        seed in any::<u64>(),
    ) {
        let problem = sonar([2 * hydrophones, 2 * beams, 2], [decimate, taps, 2 * points]);
        let spec = problem.spec();
        let x = Random::new(seed).complexes(spec.hydrophones * spec.samples);
        let exact = problem.exact(&x);
        let (low_pass, weights) = (spec.low_pass(), spec.weights());
        let filtered = |e: usize, t: usize| -> Complex64 {
            let taps = low_pass.iter().enumerate();
            let met = taps.filter(|(k, _)| *k <= t * decimate);
            met.map(|(k, h)| widen(*h) * widen(x[e * spec.samples + t * decimate - k])).sum()
        };
        let size = (taps * spec.hydrophones * spec.points) as f64;
        for (row, spectrum) in exact.numbers().chunks(spec.points).enumerate() {
            let (beam, frame) = (row / spec.frames(), row % spec.frames());
            let at = |t: usize| -> Complex64 {
                let all = 0..spec.hydrophones;
                all.map(|e| widen(weights[beam * spec.hydrophones + e]) * filtered(e, t)).sum()
            };
            let times = frame * spec.points..(frame + 1) * spec.points;
            let samples: Vec<Complex64> = times.map(at).collect();
            for (k, found) in spectrum.iter().enumerate() {
                prop_assert!(close(*found, point(&samples, k), size), "row {row}, point {k}");
            }
        }
    }
}

/// White noise leaves about the norm that the tolerance assumes, in every receiver.
#[test]
fn noise_leaves_what_is_said_of_it() {
    fn check(problem: &impl ReceiverProblem) {
        let [rows, samples] = problem.block();
        let x = Random::new(5).complexes(rows * samples);
        let exact = problem.exact(&x);
        let share = exact.allowed() / (Accuracy::SPECTRA * exact.norm());
        assert!((1.0..1.1).contains(&share), "{}: {share}", problem.title());
        // Scenes have no less energy than noise, but for chance.
        let exact = problem.exact(&problem.scene(3));
        let share = exact.allowed() / (Accuracy::SPECTRA * exact.norm());
        assert!((1.0..1.1).contains(&share), "{}: {share}", problem.title());
    }
    check(&radar(64, 256, 32));
    check(&radar(64, 16, 64));
    check(&sonar([16, 16, 8], [4, 64, 128]));
    check(&sonar([4, 16, 64], [1, 5, 32]));
    check(&sonar([16, 8, 16], [8, 200, 64]));
}

/// A tone that the filter removes leaves rounding errors, which may be larger than the rest of the tone.
#[test]
fn a_tone_in_the_stop_band_may_err_by_more_than_what_is_left() {
    let problem = sonar([8, 8, 2], [4, 64, 64]);
    let input = problem.input(Case::Alternating, 1);
    let exact = problem.exact(input.get("x").unwrap());
    assert!(exact.allowed() > 10.0 * Accuracy::SPECTRA * exact.norm());
}

/// Returns the reference, rounded to single precision.
fn rounded(problem: &dyn Problem, input: &NamedArrays) -> (Vec<Complex32>, Vec<f32>) {
    let exact = problem.reference(input).unwrap();
    let crate::Exact::Complex(spectra) = &exact.arrays[0].exact else {
        panic!("spectra are complex");
    };
    let spectra: Vec<_> = spectra.iter().map(|z| scene::narrow(*z)).collect();
    let decibels = spectra
        .iter()
        .map(|z| 10.0 * libm::log10(widen(*z).norm_sqr()));
    let decibels = decibels.map(|x| x as f32).collect();
    (spectra, decibels)
}

fn output(problem: &dyn Problem, (spectra, decibels): &(Vec<Complex32>, Vec<f32>)) -> NamedArrays {
    let shape = problem.outputs()[0].shape.clone();
    let data = NamedArrays::from_array("spectra", &shape, spectra.clone());
    data.add_array("decibels", &shape, decibels.clone())
}

#[test]
fn wrong_spectra_and_wrong_decibels_are_noticed() {
    for problem in receivers() {
        let problem = &*problem;
        for &case in problem.cases() {
            let title = format!("{}, {case}", problem.title());
            let input = problem.input(case, 4);
            let right = rounded(problem, &input);
            let whole = output(problem, &right);
            let reference = problem.reference(&input).unwrap();
            // A right result passes the judgement and the comparison with itself.
            let holds =
                |verdict: Verdict| assert!(verdict.is_within_tolerance(), "{title}: {verdict:?}");
            holds(problem.judge(&input, &whole));
            holds(problem.agree(&input, &whole, &whole));
            if case != Case::Zeros {
                holds(reference.judge(&whole));
            }
            let wrong = |changed: &(Vec<Complex32>, Vec<f32>)| {
                let changed = output(problem, changed);
                assert!(
                    !problem.judge(&input, &changed).is_within_tolerance(),
                    "{title}"
                );
                assert!(
                    !problem
                        .agree(&input, &whole, &changed)
                        .is_within_tolerance(),
                    "{title}"
                );
                assert!(
                    !problem
                        .agree(&input, &changed, &whole)
                        .is_within_tolerance(),
                    "{title}"
                );
            };
            let at = right.1.len() / 3;
            let top = right.1.iter().copied().fold(f32::NEG_INFINITY, f32::max);
            let strongest = right.1.iter().position(|x| *x == top).unwrap();
            let mut changed = right.clone();
            let off = 3.0 * reference.arrays[0].allowed[0].max(1e-30) as f32;
            changed.0[at].re += off;
            changed.1[at] = (10.0 * libm::log10(widen(changed.0[at]).norm_sqr())) as f32;
            wrong(&changed);
            for off in [1e-3, f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                let mut changed = right.clone();
                changed.1[strongest] = match changed.1[strongest] + off {
                    same if same == right.1[strongest] => 0.0,
                    other => other,
                };
                wrong(&changed);
            }
            let mut changed = right.clone();
            changed.0[at].im = f32::NAN;
            wrong(&changed);
        }
    }
}

#[test]
fn arrays_of_other_shapes_are_wrong() {
    let problem = radar(4, 8, 3);
    let input = problem.input(Case::Random, 1);
    let right = rounded(&problem, &input);
    let whole = output(&problem, &right);
    assert!(problem.judge(&input, &whole).is_within_tolerance());
    let (spectra, decibels) = right;
    let turned = NamedArrays::from_array("spectra", &[4, 8], spectra.clone()).add_array(
        "decibels",
        &[8, 4],
        decibels,
    );
    let lacking = NamedArrays::from_array("spectra", &[8, 4], spectra.clone());
    let exchanged = lacking.clone().add_array("decibels", &[8, 4], spectra);
    for wrong in [turned, lacking, exchanged, NamedArrays::default()] {
        assert!(!problem.judge(&input, &wrong).is_within_tolerance());
        assert!(!problem.agree(&input, &whole, &wrong).is_within_tolerance());
    }
    assert!(
        !problem
            .judge(&NamedArrays::default(), &whole)
            .is_within_tolerance()
    );
}

/// No intermediate number of the map overflows, however large the samples of a case are.
#[test]
fn powers_of_large_inputs_are_numbers() {
    for problem in receivers() {
        let input = problem.input(Case::Large, 2);
        let (_, decibels) = rounded(&*problem, &input);
        let top = decibels.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        assert!((200.0..384.0).contains(&top), "{}: {top}", problem.title());
    }
}

#[test]
fn of_results_the_worst_is_kept() {
    let of = |rel_error, spectra_worst, decibels_error| Accuracy {
        rel_error,
        spectra_worst,
        decibels_error,
        rel_allowed: rel_error / spectra_worst,
    };
    let (a, b) = (of(1e-6, 0.5, 1e-6), of(2e-6, 0.2, 1e-3));
    for worst in [a.worst(b), b.worst(a)] {
        assert_eq!((worst.rel_error, worst.spectra_worst), (2e-6, 0.5));
        assert_eq!((worst.rel_allowed, worst.decibels_error), (2e-6, 1e-3));
        assert!(!worst.is_right() && worst.spectra_hold());
        assert!((worst.verdict().worst - 10.0).abs() < 1e-9);
    }
    assert!(a.is_right() && a.worst(Accuracy::default()) == a);
}
