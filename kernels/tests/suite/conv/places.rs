//! Where a NaN or an infinity of the input goes, and filters at the full rate, which have one spelling.

use super::*;
use cp2_kernels::conv::{Method, Ways};

/// The outputs of each channel whose definition has a sample of `spoiled`: sample j and tap m are in output I j + m of the full
/// convolution, of which every M-th from the mode's first on is wanted.
fn defined(problem: &ConvProblem, spoiled: &[usize]) -> Vec<bool> {
    let (samples, taps, rate) = (problem.samples(), problem.taps().len(), problem.rate());
    let first = match (rate == Rate::SAME, problem.mode()) {
        (true, Mode::Same) => (taps - 1) / 2,
        (true, Mode::Valid) => taps - 1,
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

/// Runs a filter on ones, some of which are not finite, and says which outputs are not.
fn reached<T: Numbers>(
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

/// A filter's places and those of the definition, of real samples or complex ones.
fn places(
    (taps, channels, samples): (&[Complex32], usize, usize),
    what: (Mode, Rate),
    (ways, real, special): (Ways, bool, f32),
    spoiled: &[usize],
) -> Option<(Convolver, Vec<bool>, Vec<bool>)> {
    let problem = ConvProblem::at_rate(taps, channels, samples, what).unwrap();
    let size = (taps, channels, samples);
    let made = match real {
        true => Convolver::by::<f32>(&VM7, size, what, ways),
        false => Convolver::by::<Complex32>(&VM7, size, what, ways),
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

fn rates() -> impl Strategy<Value = Rate> {
    prop_oneof![
        3 => Just(Rate::SAME),
        3 => (1_usize..30).prop_map(Rate::decimate_by),
        2 => (1_usize..14).prop_map(Rate::interpolate_by),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever the filter: what says that it keeps places does, and no filter loses one. Where places are asked for they are kept, or
    /// the refusal says that no filter that fits does.
    #[test]
    fn what_is_not_finite_reaches_the_outputs_of_its_definition(
        taps in prop_oneof![6 => 1usize..60, 2 => 60usize..320],
        real_taps_only in any::<bool>(),
        real in any::<bool>(),
        samples in 1usize..400,
        channels in 1usize..4,
        mode in prop_oneof![Just(Mode::Full), Just(Mode::Same), Just(Mode::Valid)],
        rate in rates(),
        ways in prop_oneof![1 => Just(Ways::All), 1 => Just(Ways::Direct), 2 => Just(Ways::Exact)],
        special in prop_oneof![Just(f32::NAN), Just(f32::INFINITY), Just(f32::NEG_INFINITY)],
        spoiled in prop::collection::vec(any::<prop::sample::Index>(), 1..4),
    ) {
        let h = if real || real_taps_only { real_taps(taps, 5) } else { complex(taps, 5) };
        prop_assume!(ConvProblem::at_rate(&h, channels, samples, (mode, rate)).is_ok());
        let spoiled: Vec<usize> = spoiled.iter().map(|at| at.index(channels * samples)).collect();
        let size = (&h[..], channels, samples);
        let Some((filter, found, defined)) = places(size, (mode, rate), (ways, real, special), &spoiled) else {
            prop_assert_eq!(ways, Ways::Exact);
            return Ok(());
        };
        if filter.is_exact() {
            prop_assert_eq!(found, defined, "{}", filter.kernel());
        } else {
            prop_assert_ne!(ways, Ways::Exact);
            let lost = found.iter().zip(&defined).any(|(found, defined)| *defined && !*found);
            prop_assert!(!lost, "{}", filter.kernel());
        }
        let kept = filter.method() == Method::Direct || !filter.is_exact();
        prop_assert!(kept, "{}", filter.kernel());
    }

    /// An output every sample is the full rate however it is written: the filter that a convolution takes, and its cycles.
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
        let convolved = run(new(&VM7, &h, channels, samples, Mode::Full).unwrap());
        for rate in [Rate::SAME, Rate::decimate_by(1), Rate::interpolate_by(1)] {
            prop_assert_eq!(&convolved, &run(resampler(&VM7, &h, channels, samples, rate).unwrap()));
        }
    }
}

/// Taps beyond one part of a direct filter, in numbers that no equal parts have: none is filled up.
#[test]
fn parts_of_many_taps_keep_places() {
    for (taps, rate, real) in [
        (167, Rate::SAME, false),
        (601, Rate::SAME, true),
        (997, Rate::SAME, true),
        (521, Rate::decimate_by(3), false),
        (431, Rate::interpolate_by(3), true),
        (700, Rate::decimate_by(8), true),
    ] {
        let h = if real {
            real_taps(taps, 5)
        } else {
            complex(taps, 5)
        };
        let (what, spoiled) = ((Mode::Full, rate), [0, 333, 1499]);
        for ways in [Ways::Direct, Ways::Exact] {
            let made = places((&h, 1, 1500), what, (ways, real, f32::NAN), &spoiled);
            let (filter, found, defined) = made.unwrap();
            assert!(
                filter.is_exact(),
                "{taps} taps, {rate}: {}",
                filter.kernel()
            );
            assert!(found == defined, "{taps} taps, {rate}: {}", filter.kernel());
        }
        // The result is right as well.
        let what = (Mode::Full, rate);
        let filter = Convolver::by::<Complex32>(&VM7, (&h, 1, 1500), what, Ways::Exact).unwrap();
        let problem = ConvProblem::resampled(&h, 1, 1500, rate).unwrap();
        judged(&filter, &complex(1500, 6), &problem);
    }
}

/// Overlap-save alone where it is asked for, though a direct filter would be faster, and the other way round.
#[test]
fn the_kind_of_filter_can_be_chosen() {
    let (few, many) = (complex(2, 1), complex(300, 2));
    let plan = |taps: &[Complex32], ways| {
        let size = (taps, 1, 5000);
        Convolver::by::<Complex32>(&VM7, size, (Mode::Full, Rate::SAME), ways).unwrap()
    };
    assert_eq!(plan(&few, Ways::All).method(), Method::Direct);
    assert_eq!(plan(&few, Ways::OverlapSave).method(), Method::OverlapSave);
    assert_eq!(plan(&many, Ways::All).method(), Method::OverlapSave);
    assert_eq!(plan(&many, Ways::Direct).method(), Method::Direct);
    let problem = ConvProblem::new(&many, 1, 5000, Mode::Full).unwrap();
    judged(&plan(&many, Ways::Direct), &complex(5000, 3), &problem);
    let up = (Mode::Full, Rate::interpolate_by(2));
    let error = Convolver::by::<Complex32>(&VM7, (&many, 1, 500), up, Ways::OverlapSave);
    assert!(matches!(error, Err(ConvError::NoTransforms { .. })));
}

/// Decimation by overlap-save is taken where its price is lower, which is its time, and is right.
#[test]
fn decimation_by_transforms_is_taken_where_it_is_faster() {
    for (taps, every, real, least) in [(64, 4, false, 1.15), (300, 8, true, 1.05)] {
        let h = if real {
            real_taps(taps, 1)
        } else {
            complex(taps, 1)
        };
        let (samples, what) = (60_000, (Mode::Full, Rate::decimate_by(every)));
        let run = |ways| {
            let size = (&h[..], 1, samples);
            let filter = Convolver::by::<Complex32>(&VM7, size, what, ways).unwrap();
            let problem = ConvProblem::at_rate(&h, 1, samples, what).unwrap();
            let x = complex(samples, 2);
            let done = filter.process(&x).unwrap();
            assert!(problem.compare(&x, done.output.as_ref().unwrap()).holds());
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
        let (direct, taken) = (run(Ways::Direct), run(Ways::All));
        assert_eq!(taken.0, Method::OverlapSave);
        assert!(
            direct.1 as f64 > least * taken.1 as f64,
            "{direct:?} {taken:?}"
        );
    }
    // Of few taps the direct filter is.
    let h = complex(16, 1);
    let filter = Convolver::resampler::<Complex32>(&VM7, &h, 1, 60_000, Rate::decimate_by(8));
    assert_eq!(filter.unwrap().method(), Method::Direct);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, failure_persistence: None, ..ProptestConfig::default() })]

    /// Of real and complex channels, at rates that divide blocks and rates that do not.
    #[test]
    fn decimation_by_transforms_agrees_with_the_reference(
        taps in prop_oneof![4 => 1usize..60, 1 => 60usize..400],
        real in any::<bool>(),
        samples in 1usize..1500,
        channels in 1usize..4,
        every in prop_oneof![4 => 2usize..12, 1 => 12usize..200, 1 => Just(5000)],
        seed in any::<u64>(),
    ) {
        let what = (Mode::Full, Rate::decimate_by(every));
        let h = if real { real_taps(taps, seed) } else { complex(taps, seed) };
        let size = (&h[..], channels, samples);
        let problem = ConvProblem::at_rate(&h, channels, samples, what).unwrap();
        if real {
            let filter = Convolver::by::<f32>(&VM7, size, what, Ways::OverlapSave).unwrap();
            prop_assert_eq!(filter.method(), Method::OverlapSave);
            judged(&filter, &floats(!seed, channels * samples), &problem);
        } else {
            let filter = Convolver::by::<Complex32>(&VM7, size, what, Ways::OverlapSave).unwrap();
            judged(&filter, &complex(channels * samples, !seed), &problem);
        }
    }
}
