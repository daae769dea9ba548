//! Direct filters at any rate.

use super::*;

/// What a refusal says that there is room for.
fn room(error: &ConvError) -> Option<usize> {
    match error {
        ConvError::NoSchedule { most, .. } => Some(*most),
        _ => None,
    }
}

fn taps(n: usize, real: bool) -> Vec<Complex32> {
    if real { real_taps(n, 1) } else { complex(n, 1) }
}

/// A refusal names the most taps that are not refused: one more are.
#[test]
fn refusals_say_what_fits() {
    for (rate, n, real) in [
        (Rate::Decimate(1), 3000, false),
        (Rate::Decimate(100), 3500, true),
        (Rate::Decimate(151), 7500, false),
        (Rate::Interpolate(7), 9000, true),
        (Rate::Interpolate(300), 9000, false),
        (Rate::Interpolate(6000), 1, true),
        (Rate::Decimate(7000), 7100, false),
        (Rate::Decimate(1 << 40), 1, true),
    ] {
        let plan = |n| Convolver::resampler::<Complex32>(&VM7, &taps(n, real), 1, 500, rate);
        let most = room(&plan(n).unwrap_err()).unwrap();
        println!("{rate}, real {real}: {most}");
        assert!(most < n, "{rate}: {most}");
        assert!(most == 0 || plan(most).is_ok(), "{rate}: {most}");
        assert_eq!(room(&plan(most + 1).unwrap_err()), Some(most), "{rate}");
    }
}

/// Few outputs a block, or many outputs a sample: 0.90 of the bound, unless the channel limits and blocks that overlap are
/// loaded twice, L - 1 of a window of 2 K or more.
#[test]
fn high_rates_are_fast() {
    let mut slow = Vec::new();
    for (rate, n, samples, real, floor) in [
        (Rate::Decimate(100), 300, 300_000, true, 0.87),
        (Rate::Decimate(100), 1000, 200_000, true, 0.90),
        (Rate::Decimate(101), 500, 200_000, true, 0.90),
        (Rate::Decimate(100), 500, 200_000, false, 0.90),
        // Fewer taps than an output has samples.
        (Rate::Decimate(151), 100, 600_000, true, 0.90),
        (Rate::Decimate(200), 100, 600_000, false, 0.90),
        (Rate::Decimate(9000), 40, 9_000_000, true, 0.90),
        (Rate::Decimate(16), 10, 200_000, false, 0.90),
        // Blocks that would overlap.
        (Rate::Decimate(200), 2000, 400_000, true, 0.90),
        (Rate::Decimate(151), 1000, 400_000, true, 0.90),
        (Rate::Decimate(151), 2000, 400_000, false, 0.90),
        (Rate::Interpolate(100), 129, 3000, true, 0.90),
        (Rate::Interpolate(100), 129, 3000, false, 0.90),
        (Rate::Interpolate(201), 1000, 1500, true, 0.90),
        (Rate::Interpolate(32), 500, 6000, true, 0.90),
    ] {
        let h = taps(n, real);
        let problem = ConvProblem::resampled(&h, 1, samples, rate).unwrap();
        let x = complex(samples, 2);
        for machine in [&*VM7, &*VM9] {
            let filter = Convolver::resampler::<Complex32>(machine, &h, 1, samples, rate).unwrap();
            let done = filter.process(&x).unwrap();
            let efficiency = done.efficiency();
            let line = format!(
                "{rate}, {n} taps, real {real}, {}: {}, {efficiency:.3}",
                machine.name,
                filter.kernel()
            );
            println!("{line}");
            assert!(problem.judge(&x, &done.output.unwrap()).holds());
            if !(floor..=1.0).contains(&efficiency) {
                slow.push(line);
            }
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Phases of all lengths, odd and even, under the checkers.
    #[test]
    fn all_rates_agree_with_the_reference(
        taps in prop_oneof![2 => 1usize..300, 1 => 300usize..1000],
        real in any::<bool>(),
        samples in 1usize..400,
        channels in 1usize..3,
        factor in 4usize..240,
        up in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let rate = if up { Rate::Interpolate(factor) } else { Rate::Decimate(factor) };
        let samples = if up { samples / 8 + 1 } else { 8 * samples };
        if real {
            resample(&real_taps(taps, seed), &floats(!seed, channels * samples), channels, rate);
        } else {
            resample(&complex(taps, seed), &complex(channels * samples, !seed), channels, rate);
        }
    }
}
