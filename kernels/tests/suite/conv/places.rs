//! Tests which outputs NaNs and infinities reach, and the full rate.
//!
//! The full rate may be written in several ways and is the same filter.

use super::*;
use cp2_kernels::conv::{AllowedMethods, FilterMethod};

/// Marks the outputs of each channel whose definition has a sample of `spoiled`.
///
/// Sample j and tap m are in output I j + m of the full convolution, of which every M-th from the mode's
/// first on is wanted.
fn defined(problem: &ConvProblem, spoiled: &[usize]) -> Vec<bool> {
    let (samples, taps, rate) = (problem.samples(), problem.taps().len(), problem.rate());
    let first = match (rate == OutputRate::SAME, problem.mode()) {
        (true, ConvolutionMode::Same) => (taps - 1) / 2,
        (true, ConvolutionMode::Valid) => taps - 1,
        _ => 0,
    };
    let mut places = vec![false; problem.channels() * problem.outputs()];
    for at in spoiled {
        let (channel, sample) = (at / samples, at % samples);
        for m in 0..taps {
            let Some(output) = (rate.interpolate() * sample + m).checked_sub(first) else {
                continue;
            };
            let (output, rest) = (output / rate.decimate(), output % rate.decimate());
            if rest == 0 && output < problem.outputs() {
                places[channel * problem.outputs() + output] = true;
            }
        }
    }
    places
}

/// Runs a filter on ones, some of which are not finite, and marks the outputs that are not finite.
fn reached<T: FilterSample>(
    filter: &Convolver,
    problem: &ConvProblem,
    spoiled: &[usize],
    values: [T; 2],
) -> Vec<bool> {
    let mut x = vec![values[0]; problem.channels() * problem.samples()];
    for &at in spoiled {
        x[at] = values[1];
    }
    let y = filter.process(&x).unwrap().output.unwrap();
    let finite = |y: &T| y.complex().re.is_finite() && y.complex().im.is_finite();
    y.iter().map(|y| !finite(y)).collect()
}

/// Compares the outputs that a filter spoils with those of the definition, for real or complex samples.
fn places(
    (taps, channels, samples): (&[Complex32], usize, usize),
    what: (ConvolutionMode, OutputRate),
    (ways, real, special): (AllowedMethods, bool, f32),
    spoiled: &[usize],
) -> Option<(Convolver, Vec<bool>, Vec<bool>)> {
    let problem = ConvProblem::new_at_rate(taps, channels, samples, what).unwrap();
    let size = (taps, channels, samples);
    let made = match real {
        true => Convolver::with_methods::<f32>(&VM7, size, what, ways),
        false => Convolver::with_methods::<Complex32>(&VM7, size, what, ways),
    };
    let filter = match made {
        Err(ConvError::NotExact { .. }) => return None,
        made => made.unwrap(),
    };
    let found = match real {
        true => reached(&filter, &problem, spoiled, [1.0, special]),
        false => {
            let values = [1.0, special].map(|re| Complex32::new(re, 1.0));
            reached(&filter, &problem, spoiled, values)
        }
    };
    let defined = defined(&problem, spoiled);
    Some((filter, found, defined))
}

fn rates() -> impl Strategy<Value = OutputRate> {
    prop_oneof![
        3 => Just(OutputRate::SAME),
        3 => (1_usize..30).prop_map(OutputRate::decimate_by),
        2 => (1_usize..14).prop_map(OutputRate::interpolate_by),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    /// A filter that claims to keep non-finite values in place does so, and no filter loses one.
    ///
    /// Where this is asked for, it is granted, or the refusal says that no filter that fits does so.
    #[test]
    fn what_is_not_finite_reaches_the_outputs_of_its_definition(
        taps in prop_oneof![6 => 1usize..60, 2 => 60usize..320],
        real_taps_only in any::<bool>(),
        real in any::<bool>(),
        samples in 1usize..400,
        channels in 1usize..4,
        mode in prop_oneof![Just(ConvolutionMode::Full), Just(ConvolutionMode::Same), Just(ConvolutionMode::Valid)],
        rate in rates(),
        ways in prop_oneof![1 => Just(AllowedMethods::All), 1 => Just(AllowedMethods::Direct), 2 => Just(AllowedMethods::Exact)],
        special in prop_oneof![Just(f32::NAN), Just(f32::INFINITY), Just(f32::NEG_INFINITY)],
        spoiled in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
    ) {
        let h = if real || real_taps_only { real_taps(taps, 5) } else { complex(taps, 5) };
        prop_assume!(ConvProblem::new_at_rate(&h, channels, samples, (mode, rate)).is_ok());
        let spoiled: Vec<usize> = spoiled.iter().map(|at| at.index(channels * samples)).collect();
        let size = (&h[..], channels, samples);
        let Some((filter, found, defined)) = places(size, (mode, rate), (ways, real, special), &spoiled) else {
            prop_assert_eq!(ways, AllowedMethods::Exact);
            return Ok(());
        };
        if filter.is_exact() {
            prop_assert_eq!(found, defined, "{}", filter.kernel());
        } else {
            prop_assert_ne!(ways, AllowedMethods::Exact);
            let lost = found.iter().zip(&defined).any(|(found, defined)| *defined && !*found);
            prop_assert!(!lost, "{}", filter.kernel());
        }
        let kept = filter.method() == FilterMethod::Direct || !filter.is_exact();
        prop_assert!(kept, "{}", filter.kernel());
    }

    /// An output for every sample is the full rate however it is written: the filter is that of a
    /// convolution, with its cycles.
    #[test]
    fn the_full_rate_is_a_convolution(
        taps in prop_oneof![4 => 1usize..40, 2 => 40usize..700],
        real in any::<bool>(),
        samples in 1usize..3000,
        channels in 1usize..3,
    ) {
        let h = real_taps(taps, 3);
        let run = |filter: Convolver| {
            let cycles = if real {
                filter.process(&floats(4, channels * samples)).unwrap().run.report.cycles
            } else {
                filter.process(&complex(channels * samples, 4)).unwrap().run.report.cycles
            };
            (filter.kernel().to_owned(), cycles)
        };
        let new = if real { Convolver::new::<f32> } else { Convolver::new::<Complex32> };
        let resampler = if real { Convolver::resampler::<f32> } else { Convolver::resampler::<Complex32> };
        let convolved = run(new(&VM7, &h, channels, samples, ConvolutionMode::Full).unwrap());
        for rate in [OutputRate::SAME, OutputRate::decimate_by(1), OutputRate::interpolate_by(1)] {
            prop_assert_eq!(&convolved, &run(resampler(&VM7, &h, channels, samples, rate).unwrap()));
        }
    }
}

/// Taps beyond one part of a direct filter are divided into unequal parts where no equal ones exist; none is
/// padded.
#[test]
fn parts_of_many_taps_keep_places() {
    for (taps, rate, real) in [
        (167, OutputRate::SAME, false),
        (601, OutputRate::SAME, true),
        (997, OutputRate::SAME, true),
        (521, OutputRate::decimate_by(3), false),
        (431, OutputRate::interpolate_by(3), true),
        (700, OutputRate::decimate_by(8), true),
    ] {
        let h = if real {
            real_taps(taps, 5)
        } else {
            complex(taps, 5)
        };
        let (what, spoiled) = ((ConvolutionMode::Full, rate), [0, 333, 1499]);
        for ways in [AllowedMethods::Direct, AllowedMethods::Exact] {
            let made = places((&h, 1, 1500), what, (ways, real, f32::NAN), &spoiled);
            let (filter, found, defined) = made.unwrap();
            assert!(
                filter.is_exact(),
                "{taps} taps, {rate}: {}",
                filter.kernel()
            );
            assert!(found == defined, "{taps} taps, {rate}: {}", filter.kernel());
        }
        // The result must be right as well.
        let what = (ConvolutionMode::Full, rate);
        let filter =
            Convolver::with_methods::<Complex32>(&VM7, (&h, 1, 1500), what, AllowedMethods::Exact)
                .unwrap();
        let problem = ConvProblem::resampled(&h, 1, 1500, rate).unwrap();
        judged(&filter, &complex(1500, 6), &problem);
    }
}

/// Overlap-save is taken where it alone is allowed, though a direct filter would be faster, and vice versa.
#[test]
fn the_kind_of_filter_can_be_chosen() {
    let (few, many) = (complex(2, 1), complex(300, 2));
    let plan = |taps: &[Complex32], ways| {
        let size = (taps, 1, 5000);
        Convolver::with_methods::<Complex32>(
            &VM7,
            size,
            (ConvolutionMode::Full, OutputRate::SAME),
            ways,
        )
        .unwrap()
    };
    assert_eq!(
        plan(&few, AllowedMethods::All).method(),
        FilterMethod::Direct
    );
    assert_eq!(
        plan(&few, AllowedMethods::OverlapSave).method(),
        FilterMethod::OverlapSave
    );
    assert_eq!(
        plan(&many, AllowedMethods::All).method(),
        FilterMethod::OverlapSave
    );
    assert_eq!(
        plan(&many, AllowedMethods::Direct).method(),
        FilterMethod::Direct
    );
    let problem = ConvProblem::new(&many, 1, 5000, ConvolutionMode::Full).unwrap();
    judged(
        &plan(&many, AllowedMethods::Direct),
        &complex(5000, 3),
        &problem,
    );
    let up = (ConvolutionMode::Full, OutputRate::interpolate_by(2));
    let error = Convolver::with_methods::<Complex32>(
        &VM7,
        (&many, 1, 500),
        up,
        AllowedMethods::OverlapSave,
    );
    assert!(matches!(error, Err(ConvError::NoTransforms { .. })));
}

/// Decimation by overlap-save is taken where its price is lower; the price is its time, and the result is
/// right.
#[test]
fn decimation_by_transforms_is_taken_where_it_is_faster() {
    for (taps, every, real, least) in [(64, 4, false, 1.15), (300, 8, true, 1.05)] {
        let h = if real {
            real_taps(taps, 1)
        } else {
            complex(taps, 1)
        };
        let (samples, what) = (
            60_000,
            (ConvolutionMode::Full, OutputRate::decimate_by(every)),
        );
        let run = |ways| {
            let size = (&h[..], 1, samples);
            let filter = Convolver::with_methods::<Complex32>(&VM7, size, what, ways).unwrap();
            let problem = ConvProblem::new_at_rate(&h, 1, samples, what).unwrap();
            let x = complex(samples, 2);
            let done = filter.process(&x).unwrap();
            assert!(
                problem
                    .compare(&x, done.output.as_ref().unwrap())
                    .is_within_tolerance()
            );
            let expected = done.expected.unwrap().0;
            let cycles = done.run.report.cycles;
            println!(
                "{taps} taps, every {every}: {}: {cycles}, expected {expected}",
                filter.kernel()
            );
            assert!(
                cycles.abs_diff(expected) <= cycles / 50,
                "{cycles} {expected}"
            );
            (filter.method(), cycles)
        };
        let (direct, taken) = (run(AllowedMethods::Direct), run(AllowedMethods::All));
        assert_eq!(taken.0, FilterMethod::OverlapSave);
        assert!(
            direct.1 as f64 > least * taken.1 as f64,
            "{direct:?} {taken:?}"
        );
    }
    // With few taps the direct filter is taken.
    let h = complex(16, 1);
    let filter = Convolver::resampler::<Complex32>(&VM7, &h, 1, 60_000, OutputRate::decimate_by(8));
    assert_eq!(filter.unwrap().method(), FilterMethod::Direct);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    /// Real and complex channels are decimated, at rates that divide blocks and at others.
    #[test]
    fn decimation_by_transforms_agrees_with_the_reference(
        taps in prop_oneof![4 => 1usize..60, 1 => 60usize..400],
        real in any::<bool>(),
        samples in 1usize..1500,
        channels in 1usize..4,
        every in prop_oneof![4 => 2usize..12, 1 => 12usize..200, 1 => Just(5000)],
        seed in any::<u64>(),
    ) {
        let what = (ConvolutionMode::Full, OutputRate::decimate_by(every));
        let h = if real { real_taps(taps, seed) } else { complex(taps, seed) };
        let size = (&h[..], channels, samples);
        let problem = ConvProblem::new_at_rate(&h, channels, samples, what).unwrap();
        if real {
            let filter = Convolver::with_methods::<f32>(&VM7, size, what, AllowedMethods::OverlapSave).unwrap();
            prop_assert_eq!(filter.method(), FilterMethod::OverlapSave);
            judged(&filter, &floats(!seed, channels * samples), &problem);
        } else {
            let filter = Convolver::with_methods::<Complex32>(&VM7, size, what, AllowedMethods::OverlapSave).unwrap();
            judged(&filter, &complex(channels * samples, !seed), &problem);
        }
    }
}
