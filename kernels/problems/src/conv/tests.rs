//! References of convolutions follow the definition; errors are noticed.

use super::*;
use proptest::prelude::*;

#[test]
fn the_reference_is_the_definition() {
    let mut random = Random::new(1);
    let mut numbers =
        |n: usize| -> Vec<Complex64> { (0..n).map(|_| widen(random.complex())).collect() };
    for (n, l) in [(1, 1), (1, 7), (30, 4), (9, 20), (9000, 3), (5000, 700)] {
        let (x, h) = (numbers(n), numbers(l));
        let mut naive = vec![Complex64::default(); n + l - 1];
        for (i, x) in x.iter().enumerate() {
            for (j, h) in h.iter().enumerate() {
                naive[i + j] += x * h;
            }
        }
        let y = reference(&x, &h);
        assert_eq!(y.len(), naive.len());
        let error = y.iter().zip(&naive).map(|(a, b)| (a - b).norm());
        assert!(error.fold(0.0, f64::max) < 1e-12);
    }
}

#[test]
fn a_wrong_result_is_noticed() {
    let taps = [1.0, -2.0, 0.5].map(Complex32::from);
    let problem = ConvProblem::new(&taps, 2, 40, ConvolutionMode::Same).unwrap();
    let x = problem.random(1);
    let h: Vec<Complex64> = taps.iter().map(|&h| widen(h)).collect();
    let mut y: Vec<Complex32> = x
        .chunks(40)
        .flat_map(|x| {
            let x: Vec<Complex64> = x.iter().map(|&x| widen(x)).collect();
            reference(&x, &h)[1..41].to_vec()
        })
        .map(|z| Complex32::new(z.re as f32, z.im as f32))
        .collect();
    assert!(problem.compare(&x, &y).is_within_tolerance());
    y[50] *= 1.001;
    assert!(!problem.compare(&x, &y).is_within_tolerance());
    y[50].re = f32::NAN;
    assert!(!problem.compare(&x, &y).is_within_tolerance());
    assert!(!problem.compare(&x, &y[1..]).is_within_tolerance());
}

/// A channel that is not finite hides no error in another channel.
#[test]
fn channels_that_are_not_finite_are_left_out() {
    let taps = [1.0, -2.0, 0.5].map(Complex32::from);
    let problem = ConvProblem::new(&taps, 3, 40, ConvolutionMode::Same).unwrap();
    let h: Vec<Complex64> = taps.iter().map(|&h| widen(h)).collect();
    let mut x = problem.random(1);
    let filtered = |x: &[Complex32]| {
        let exact = |x: &[Complex32]| {
            let x: Vec<Complex64> = x.iter().map(|&x| widen(x)).collect();
            reference(&x, &h)[1..41].to_vec()
        };
        let all = x.chunks(40).flat_map(exact);
        all.map(|z| Complex32::new(z.re as f32, z.im as f32))
            .collect::<Vec<_>>()
    };
    x[45].im = f32::NAN;
    let mut y = filtered(&x);
    let (verdict, channels) = problem.compare_finite(&x, &y).unwrap();
    assert!(
        verdict.is_within_tolerance() && channels == 2,
        "{verdict:?}"
    );
    assert!(!problem.compare(&x, &y).is_within_tolerance());
    y[100].re = f32::INFINITY;
    let (verdict, _) = problem.compare_finite(&x, &y).unwrap();
    assert!(!verdict.is_within_tolerance(), "{verdict:?}");
    x[0].re = f32::INFINITY;
    x[119].re = f32::NAN;
    assert_eq!(problem.compare_finite(&x, &filtered(&x)), None);
}

#[test]
fn modes_are_parts_of_the_full_convolution() {
    assert_eq!(ConvolutionMode::Full.outputs(10, 4), 0..13);
    assert_eq!(ConvolutionMode::Same.outputs(10, 4), 1..11);
    assert_eq!(ConvolutionMode::Valid.outputs(10, 4), 3..10);
    assert!(ConvolutionMode::Valid.outputs(3, 4).is_empty());
    assert_eq!(ConvolutionMode::Valid.outputs(4, 4), 3..4);
}

#[test]
fn a_matched_filter_peaks_at_its_pattern() {
    let mut random = Random::new(3);
    let pattern: Vec<Complex64> = (0..20).map(|_| widen(random.complex())).collect();
    let narrow = |z: &Complex64| Complex32::new(z.re as f32, z.im as f32);
    let taps = matched(&pattern.iter().map(narrow).collect::<Vec<_>>());
    let taps: Vec<Complex64> = taps.into_iter().map(widen).collect();
    let y = reference(&pattern, &taps);
    let energy: f64 = pattern.iter().map(Complex64::norm_sqr).sum();
    assert!((y[19] - energy).norm() < 1e-6);
    assert!(y.iter().all(|z| z.norm() <= energy + 1e-6));
}

/// Computes the outputs of one channel from the definition.
fn naive(problem: &ConvProblem, x: &[Complex32]) -> Vec<Complex32> {
    let (spread, step) = (problem.rate().interpolate(), problem.rate().decimate());
    let (x, h) = (x.iter().map(|&x| widen(x)), problem.taps());
    let mut y = vec![Complex64::default(); (x.len() - 1) * spread + h.len()];
    for (i, x) in x.enumerate() {
        for (j, &h) in h.iter().enumerate() {
            y[i * spread + j] += x * widen(h);
        }
    }
    let wanted = match problem.rate() {
        OutputRate::SAME => problem.mode().outputs(problem.samples(), h.len()),
        _ => 0..y.len(),
    };
    let wanted = y[wanted].iter().step_by(step);
    wanted
        .map(|z| Complex32::new(z.re as f32, z.im as f32))
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// With any blocks, modes and rates a right result passes, and one wrong output anywhere does not.
    #[test]
    fn every_output_is_judged(
        (samples, taps) in prop_oneof![(1_usize..200, 1_usize..60), (4000_usize..9000, 1_usize..6)],
        channels in 1_usize..3,
        mode in prop_oneof![Just(ConvolutionMode::Full), Just(ConvolutionMode::Same), Just(ConvolutionMode::Valid)],
        rate in prop_oneof![
            Just(OutputRate::SAME),
            (1_usize..5).prop_map(OutputRate::decimate_by),
            (1_usize..5).prop_map(OutputRate::interpolate_by),
        ],
        at in any::<prop::sample::Index>(),
    ) {
        let mut random = Random::new(samples as u64);
        let taps = random.complexes(taps);
        let problem = ConvProblem::new_at_rate(&taps, channels, samples, (mode, rate));
        // Modes without a valid output are no problems.
        prop_assume!(problem.is_ok());
        let problem = problem.unwrap();
        let x = problem.random(7);
        let mut y: Vec<Complex32> = x.chunks(samples).flat_map(|x| naive(&problem, x)).collect();
        prop_assert_eq!(y.len(), channels * problem.outputs());
        let verdict = problem.compare(&x, &y);
        prop_assert!(verdict.is_within_tolerance() && verdict.rms < 1e-6, "{:?}", verdict);
        let at = at.index(y.len());
        y[at].im += 100.0;
        prop_assert!(!problem.compare(&x, &y).is_within_tolerance());
    }
}
