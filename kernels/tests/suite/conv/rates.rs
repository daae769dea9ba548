//! Tests direct filters at all rates.

use super::*;
use cp2_kernels::conv::{AllowedMethods, FilterMethod};

/// Returns the number of taps that a refusal says there is room for.
fn room(error: &ConvError) -> Option<usize> {
    match error {
        ConvError::NoSchedule { most, .. } => Some(*most),
        _ => None,
    }
}

fn taps(n: usize, real: bool) -> Vec<Complex32> {
    if real { real_taps(n, 1) } else { complex(n, 1) }
}

/// A refusal names the most taps that are accepted: one more is refused.
#[test]
fn refusals_say_what_fits() {
    for (rate, n, real) in [
        (OutputRate::decimate_by(1), 3000, false),
        (OutputRate::decimate_by(100), 3500, true),
        (OutputRate::decimate_by(151), 7500, false),
        (OutputRate::interpolate_by(7), 9000, true),
        (OutputRate::interpolate_by(300), 9000, false),
        (OutputRate::interpolate_by(6000), 1, true),
    ] {
        let what = (ConvolutionMode::Full, rate);
        let plan = |n| {
            let taps = taps(n, real);
            Convolver::with_methods::<Complex32>(
                &VM7,
                (&taps, 1, 500),
                what,
                AllowedMethods::Direct,
            )
        };
        let most = room(&plan(n).unwrap_err()).unwrap();
        println!("{rate}, real {real}: {most}");
        assert!(most < n, "{rate}: {most}");
        assert!(most == 0 || plan(most).is_ok(), "{rate}: {most}");
        assert_eq!(room(&plan(most + 1).unwrap_err()), Some(most), "{rate}");
    }
}

/// If a page of tiles is longer than a hardware loop, another kernel is taken.
#[test]
fn what_is_longer_than_a_loop_is_left_to_others() {
    for (every, n) in [(154, 154), (186, 151), (186, 154), (236, 159)] {
        let taps = taps(n, false);
        for machine in [&*VM7, &*VM9] {
            let (rate, samples) = (OutputRate::decimate_by(every), 3000);
            let filter = Convolver::resampler::<Complex32>(machine, &taps, 1, samples, rate);
            let x = complex(samples, 2);
            let problem = ConvProblem::resampled(&taps, 1, samples, rate).unwrap();
            let done = filter.unwrap().process(&x).unwrap();
            let verdict = problem.compare(&x, done.output.as_ref().unwrap());
            assert!(
                verdict.is_within_tolerance(),
                "{n} taps, {rate}: {verdict:?}"
            );
        }
    }
}

/// Few outputs a block, or many outputs a sample, reach 0.90 of the bound.
///
/// An exception are sizes that the channel limits where overlapping blocks are loaded twice: L - 1 samples of
/// a window of 2 K or more.
#[test]
fn high_rates_are_fast() {
    let mut slow = Vec::new();
    for (rate, n, samples, real, floor) in [
        (OutputRate::decimate_by(100), 300, 300_000, true, 0.87),
        (OutputRate::decimate_by(100), 1000, 200_000, true, 0.90),
        (OutputRate::decimate_by(101), 500, 200_000, true, 0.90),
        (OutputRate::decimate_by(100), 500, 200_000, false, 0.90),
        // Fewer taps than an output has samples.
        (OutputRate::decimate_by(151), 100, 604_000, true, 0.90),
        (OutputRate::decimate_by(151), 100, 604_000, false, 0.90),
        (OutputRate::decimate_by(151), 10, 604_000, true, 0.90),
        (OutputRate::decimate_by(151), 10, 604_000, false, 0.90),
        (OutputRate::decimate_by(200), 100, 600_000, false, 0.90),
        (OutputRate::decimate_by(9000), 40, 9_000_000, true, 0.90),
        (OutputRate::decimate_by(16), 10, 200_000, false, 0.85),
        (OutputRate::decimate_by(25), 4, 400_000, false, 0.87),
        (OutputRate::decimate_by(7), 2, 200_000, true, 0.84),
        // Blocks that would overlap.
        (OutputRate::decimate_by(200), 2000, 400_000, true, 0.90),
        (OutputRate::decimate_by(151), 1000, 400_000, true, 0.90),
        (OutputRate::decimate_by(151), 2000, 400_000, false, 0.90),
        (OutputRate::interpolate_by(100), 129, 3000, true, 0.90),
        (OutputRate::interpolate_by(100), 129, 3000, false, 0.90),
        (OutputRate::interpolate_by(201), 1000, 1500, true, 0.90),
        (OutputRate::interpolate_by(32), 500, 6000, true, 0.90),
    ] {
        let h = taps(n, real);
        let problem = ConvProblem::resampled(&h, 1, samples, rate).unwrap();
        let x = complex(samples, 2);
        for machine in [&*VM7, &*VM9] {
            let filter = Convolver::resampler::<Complex32>(machine, &h, 1, samples, rate).unwrap();
            let done = filter.process(&x).unwrap();
            let share = directly(&h, samples, rate, &done.figures) / done.run.report.cycles as f64;
            let efficiency = done.efficiency();
            let line = format!(
                "{rate}, {n} taps, real {real}, {}: {}, {share:.3}, efficiency {efficiency:.3}",
                machine.name,
                filter.kernel()
            );
            println!("{line}");
            assert!(
                problem
                    .compare(&x, &done.output.unwrap())
                    .is_within_tolerance()
            );
            if share < floor || efficiency > 1.0 {
                slow.push(line);
            }
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

/// All taps and rates reach 0.90 of the direct algorithm by the price of a long signal.
///
/// Up to 10 taps reach 0.69, since a zero tap may be added so that signals begin at granules.
#[test]
fn no_size_is_slow() {
    let numbers = [
        1, 2, 3, 4, 7, 10, 16, 29, 60, 128, 257, 410, 777, 1200, 2000,
    ];
    let rates = [2, 3, 5, 8, 9, 14, 25, 48, 77, 100, 163, 200, 299];
    let mut slow = Vec::new();
    for size in 0..36 {
        let (n, factor) = (numbers[size * 4 % 15], rates[size * 5 % 13]);
        let (real, machine) = (size % 2 == 0, [&*VM7, &*VM9][size / 2 % 2]);
        let up = size % 5 == 0;
        let (rate, samples) = if up {
            (OutputRate::interpolate_by(factor), 600_000 / factor)
        } else {
            (
                OutputRate::decimate_by(factor),
                (6000 * factor).max(300_000),
            )
        };
        let h = taps(n, real);
        let filter = Convolver::resampler::<Complex32>(machine, &h, 1, samples, rate).unwrap();
        let priced = filter.choice().candidates[0].cycles.unwrap();
        let figures = filter.figures::<Complex32>(1);
        let efficiency = directly(&h, samples, rate, &figures) / priced;
        let line = format!(
            "{rate}, {n} taps, real {real}, {}: {}, {efficiency:.3}",
            machine.name,
            filter.kernel()
        );
        println!("{line}");
        // A price may be one or two percent below the run; transforms take less than the direct algorithm.
        let floor = if n <= 10 { 0.69 } else { 0.90 };
        let most = match filter.method() {
            FilterMethod::Direct => 1.02,
            FilterMethod::OverlapSave => f64::INFINITY,
        };
        if !(floor..=most).contains(&efficiency) {
            slow.push(line);
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

/// Every figure in the documents' table of high rates is at least 0.75, and for some rows the price agrees
/// with it.
#[test]
fn the_table_of_high_rates_holds() {
    let text = include_str!("../../../../docs/convolution.md");
    let rows = text.lines().filter_map(|line| {
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        let [_, rate, taps, figures @ .., _] = cells.as_slice() else {
            return None;
        };
        let factor = rate.strip_prefix("every ").unwrap_or(rate);
        let digits = factor.find(|c: char| !c.is_ascii_digit())?;
        let factor: usize = factor[..digits].parse().ok()?;
        let figures: Vec<f64> = figures.iter().filter_map(|f| f.parse().ok()).collect();
        let rate = match rate.starts_with("every ") {
            true => OutputRate::decimate_by(factor),
            false => OutputRate::interpolate_by(factor),
        };
        (figures.len() == 4).then_some((rate, taps.parse::<usize>().ok()?, figures))
    });
    let rows: Vec<_> = rows.collect();
    assert!(rows.len() >= 45, "{}", rows.len());
    for (number, (rate, n, figures)) in rows.into_iter().enumerate() {
        assert!(
            figures.iter().all(|f| (0.75..=1.0).contains(f)),
            "{rate}, {n} taps"
        );
        // Every other row is priced, for one of its four figures.
        let (machine, real) = ([&*VM7, &*VM9][number / 4 % 2], number / 2 % 2 == 1);
        if number % 2 == 1 {
            continue;
        }
        let samples = match rate {
            rate if rate.interpolate() > 1 => 400_000 / rate.interpolate(),
            rate => (4000 * rate.decimate()).max(200_000),
        };
        let h = taps(n, real);
        let filter = Convolver::resampler::<Complex32>(machine, &h, 1, samples, rate).unwrap();
        // The table is about direct filters; overlap-save may be faster.
        let mut candidates = filter.choice().candidates.iter();
        let direct = candidates.find(|c| c.kernel.starts_with("direct"));
        let priced = direct.unwrap().cycles.unwrap();
        let known = filter.figures::<Complex32>(1);
        let efficiency = directly(&h, samples, rate, &known) / priced;
        let documented = figures[2 * usize::from(machine.name == "vm9") + usize::from(real)];
        println!(
            "{rate}, {n} taps, real {real}, {}: {efficiency:.3}, {documented}",
            machine.name
        );
        assert!(
            (efficiency - documented).abs() < 0.02,
            "{rate}, {n} taps, real {real}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    /// Phases of all lengths, odd and even, agree with the reference under the checkers.
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
        let rate = if up { OutputRate::interpolate_by(factor) } else { OutputRate::decimate_by(factor) };
        let samples = if up { samples / 8 + 1 } else { 8 * samples };
        if real {
            resample(&real_taps(taps, seed), &floats(!seed, channels * samples), channels, rate);
        } else {
            resample(&complex(taps, seed), &complex(channels * samples, !seed), channels, rate);
        }
    }
}
