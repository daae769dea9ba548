//! Filters through the whole machine: device, scheduler, DMA, kernels, under the checkers.

#![allow(
    clippy::disallowed_methods,
    reason = "oracles may use the host's functions"
)]
#![allow(clippy::unwrap_used, clippy::panic)]

mod common;

use common::{Bits, clean, floats, machine};
use cp2_emu::Cause;
use cp2_kernels::conv::{
    ConvError, ConvProblem, ConvRun, Convolver, Mode, Numbers, Places, Rate, Streaming, matched,
};
use cp2_kernels::{Job, Problem};
use cp2_machine::Machine;
use num_complex::Complex32;
use proptest::prelude::*;
use std::sync::{Arc, LazyLock};

static VM7: LazyLock<Arc<Machine>> = LazyLock::new(|| machine("vm7"));

fn run<T: Numbers + Bits>(filter: &Convolver, x: &[T]) -> ConvRun<T> {
    clean(|options| filter.process_with(x, options))
}

fn complex(n: usize, seed: u64) -> Vec<Complex32> {
    common::complex(seed, n)
}

fn real_taps(n: usize, seed: u64) -> Vec<Complex32> {
    floats(seed, n).into_iter().map(Complex32::from).collect()
}

/// Plans, runs and compares with the reference.
fn check<T: Numbers + Bits>(
    taps: &[Complex32],
    x: &[T],
    channels: usize,
    mode: Mode,
) -> ConvRun<T> {
    let samples = x.len() / channels;
    let filter = Convolver::new::<T>(&VM7, taps, channels, samples, mode).unwrap();
    judged(
        &filter,
        x,
        &ConvProblem::new(taps, channels, samples, mode).unwrap(),
    )
}

/// Runs and compares with the reference.
fn judged<T: Numbers + Bits>(filter: &Convolver, x: &[T], problem: &ConvProblem) -> ConvRun<T> {
    let done = run(filter, x);
    let verdict = problem.compare(x, done.output.as_ref().unwrap());
    assert!(
        verdict.holds(),
        "{} by {}: {verdict:?}",
        problem.title(),
        filter.kernel()
    );
    done
}

/// The promise of the project: 0.93 of N (log2 N + 1) / (4 (N - L + 1)) cycles an output at the
/// best N; and 0.93 of the bound, which lets half of the products ride for nothing.
#[test]
fn long_runs_are_fast() {
    for name in ["vm7", "vm9"] {
        let machine = Arc::new(Machine::builtin(name).unwrap());
        for (taps, samples) in [(9, 40_000), (33, 60_000), (65, 80_000), (129, 120_000)] {
            let (x, h) = (complex(samples, 1), complex(taps, 2));
            let filter = Convolver::new::<Complex32>(&machine, &h, 1, samples, Mode::Full).unwrap();
            let problem = ConvProblem::new(&h, 1, samples, Mode::Full).unwrap();
            let done = judged(&filter, &x, &problem);
            let best = (3..=16)
                .map(|b| f64::from(1 << b))
                .map(|n| n * (n.log2() + 1.0) / (4.0 * (n - taps as f64 + 1.0)))
                .filter(|c| *c > 0.0)
                .fold(f64::INFINITY, f64::min);
            let outputs = samples + taps - 1;
            let cycles = done.run.report.cycles;
            let classic = best * outputs as f64 / cycles as f64;
            println!(
                "{name}, {taps} taps, {}: {cycles} cycles, {:.3} a sample, bound {}, efficiency {:.3}, by the classic formula {classic:.3}, plan {} pages of {} x{}",
                filter.kernel(),
                cycles as f64 / outputs as f64,
                done.bound,
                done.efficiency(),
                done.passes[0].plan().unwrap().pages().len(),
                done.passes[0].plan().unwrap().pages().size(),
                done.passes[0].plan().unwrap().degree(),
            );
            assert!(classic >= 0.93, "{name}, {taps} taps: {classic:.3}");
            assert!(
                (0.93..=1.0).contains(&done.efficiency()),
                "{name}, {taps} taps: {:.3}",
                done.efficiency()
            );
        }
    }
}

/// Of long signals the columns of long blocks are hidden behind the rows: on vm7 but for
/// those of the first and the last blocks, on vm9 as far as the channel goes.
#[test]
fn long_signals_hide_their_columns() {
    let (taps, samples) = (complex(4097, 2), complex(950_000, 1));
    for (name, floor) in [("vm7", 0.925), ("vm9", 0.87)] {
        let machine = machine(name);
        let filter =
            Convolver::new::<Complex32>(&machine, &taps, 1, samples.len(), Mode::Full).unwrap();
        let done = filter.process(&samples).unwrap();
        let efficiency = done.efficiency();
        assert!((floor..=1.0).contains(&efficiency), "{efficiency}");
        let problem = ConvProblem::new(&taps, 1, samples.len(), Mode::Full).unwrap();
        assert!(problem.judge(&samples, &done.output.unwrap()).holds());
    }
}

/// Blocks beyond local memory: three passes over memory, of few blocks.
#[test]
fn long_filters_go_by_rows() {
    let mut slow = Vec::new();
    for (taps, samples) in [(600, 14_000), (1025, 28_000), (4097, 56_000)] {
        let x = complex(samples, 1);
        let h = complex(taps, 2);
        let filter = Convolver::new::<Complex32>(&VM7, &h, 1, samples, Mode::Full).unwrap();
        let problem = ConvProblem::new(&h, 1, samples, Mode::Full).unwrap();
        let done = judged(&filter, &x, &problem);
        println!(
            "{taps} taps: {}: {} cycles, bound {}, efficiency {:.3}\n{}",
            filter.kernel(),
            done.run.report.cycles,
            done.bound,
            done.efficiency(),
            filter.choice(),
        );
        if done.efficiency() < 0.67 {
            slow.push((taps, done.efficiency()));
        }
    }
    assert!(slow.is_empty(), "{slow:?}");
}

/// The sequences and sums of a published table of exact values.
#[test]
fn integer_sequences_convolve_exactly() {
    let wave = |n: usize, a: usize, b: usize, m: usize| -> Vec<f32> {
        (0..n)
            .map(|i| ((a * i + b) % m) as f32 - (m / 2) as f32)
            .collect()
    };
    // samples, taps, sum, sum of squares, largest magnitude, y[0], y[L - 1], y[N / 2], last
    let table: [(usize, usize, i64, i64, i64, [i64; 4]); 4] = [
        (1000, 100, 88, 16_748_470, 277, [25, -138, 50, -4]),
        (4096, 513, 35, 47_501_457, 316, [25, 38, 84, 12]),
        (65_536, 4097, 25, 973_651_123, 304, [25, 63, -49, 0]),
        (1_048_576, 1025, 5, 12_618_348_321, 310, [25, 194, 81, -12]),
    ];
    for (n, l, sum, squares, largest, values) in table {
        let x = wave(n, 7, 3, 17);
        let taps: Vec<Complex32> = wave(l, 5, 1, 13).into_iter().map(Complex32::from).collect();
        let y = if n > 100_000 {
            // Too long for the checkers.
            let filter = Convolver::new::<f32>(&VM7, &taps, 1, n, Mode::Full).unwrap();
            filter.process(&x).unwrap().output.unwrap()
        } else {
            check(&taps, &x, 1, Mode::Full).output.unwrap()
        };
        assert_eq!(y.len(), n + l - 1);
        let far = y.iter().map(|y| (y - y.round()).abs()).fold(0.0, f32::max);
        assert!(far < 0.01, "{n} {l}: {far} from an integer");
        let y: Vec<i64> = y.iter().map(|y| y.round() as i64).collect();
        assert_eq!(y.iter().sum::<i64>(), sum);
        assert_eq!(y.iter().map(|y| y * y).sum::<i64>(), squares);
        assert_eq!(y.iter().map(|y| y.abs()).max(), Some(largest));
        assert_eq!([y[0], y[l - 1], y[n / 2], y[n + l - 2]], values);
    }
}

/// An impulse shows every tap, at every place of a block and on both sides of its edges.
#[test]
fn impulses_show_the_taps() {
    let taps = complex(21, 5);
    let filter = Convolver::new::<Complex32>(&VM7, &taps, 1, 300, Mode::Full).unwrap();
    let mut x = vec![Complex32::default(); 300];
    for at in [0, 1, 43, 44, 107, 108, 299] {
        x.fill(Complex32::default());
        x[at] = Complex32::new(0.0, 2.0);
        let y = run(&filter, &x).output.unwrap();
        for (i, y) in y.iter().enumerate() {
            let tap = i.checked_sub(at).and_then(|i| taps.get(i)).copied();
            let expected = tap.unwrap_or_default() * Complex32::new(0.0, 2.0);
            assert!((y - expected).norm() < 2e-6, "{at} {i}: {y} {expected}");
        }
    }
}

/// Channels are filtered apart: a not-a-number in one does not reach another.
#[test]
fn channels_do_not_know_of_each_other() {
    let taps = complex(40, 1);
    let x = complex(3 * 500, 2);
    let filter = Convolver::new::<Complex32>(&VM7, &taps, 3, 500, Mode::Full).unwrap();
    let y = run(&filter, &x).output.unwrap();
    let mut spoilt = x.clone();
    spoilt[700].im = f32::NAN;
    let z = run(&filter, &spoilt).output.unwrap();
    assert_eq!(y[..539], z[..539]);
    assert_eq!(y[2 * 539..], z[2 * 539..]);
    let alone = run(&filter, &x[500..1000]).output.unwrap();
    assert_eq!(y[539..2 * 539], alone[..]);
}

/// A real filter is the complex one without imaginary parts, to the last bits but few.
#[test]
fn odd_numbers_of_real_channels() {
    for channels in [1, 2, 3, 5] {
        check(
            &real_taps(17, 3),
            &floats(4, channels * 333),
            channels,
            Mode::Same,
        );
    }
}

#[test]
fn a_pulse_is_found_where_it_is() {
    let pattern: Vec<Complex32> = (0..64)
        .map(|i| Complex32::from_polar(1.0, 0.02 * (i * i) as f32))
        .collect();
    let mut x: Vec<Complex32> = complex(2000, 9).iter().map(|z| z * 0.1).collect();
    for (i, p) in pattern.iter().enumerate() {
        x[1234 + i] += p;
    }
    let y = check(&matched(&pattern), &x, 1, Mode::Valid)
        .output
        .unwrap();
    let peak = (0..y.len()).max_by(|&a, &b| y[a].norm().total_cmp(&y[b].norm()));
    assert_eq!(peak, Some(1234));
}

#[test]
fn wrong_shapes_are_errors() {
    let new = |taps: &[Complex32], channels, samples| {
        Convolver::new::<Complex32>(&VM7, taps, channels, samples, Mode::Full)
    };
    let taps = complex(10, 1);
    assert!(new(&[], 1, 100).is_err());
    assert!(new(&taps, 0, 100).is_err());
    assert!(new(&taps, 1, 0).is_err());
    assert!(new(&taps, usize::MAX, usize::MAX).is_err());
    let error = new(&complex(70_000, 1), 1, 10_000).unwrap_err();
    assert!(error.to_string().contains("64513"), "{error}");
    let error = Convolver::new::<f32>(&VM7, &taps, 1, 100, Mode::Full).unwrap_err();
    assert!(error.to_string().contains("real taps"), "{error}");
    let error = Convolver::new::<Complex32>(&VM7, &taps, 1, 9, Mode::Valid).unwrap_err();
    assert!(error.to_string().contains("no shorter"), "{error}");
    let filter = new(&taps, 2, 100).unwrap();
    let x = complex(99, 1);
    let error = filter.process(&x).unwrap_err();
    assert_eq!(
        error.to_string(),
        "the signal holds 99 numbers, which is no multiple of the 100 samples of a channel this filter is planned for"
    );
    assert!(filter.process(&x[..0]).is_err());
    assert!(filter.process(&[0.0f32; 100]).is_err());
    let error =
        Convolver::resampler::<Complex32>(&VM7, &complex(300, 1), 1, 100, Rate::Decimate(1));
    let error = error.unwrap_err().to_string();
    assert!(error.contains("159 taps"), "{error}");
    assert!(error.contains("an output a sample"), "{error}");
    for rate in [
        Rate::Decimate(0),
        Rate::Interpolate(0),
        Rate::Interpolate(usize::MAX),
    ] {
        assert!(Convolver::resampler::<Complex32>(&VM7, &taps, 1, 100, rate).is_err());
    }
    assert!(
        Convolver::resampler::<Complex32>(&VM7, &taps, 1, 100, Rate::Decimate(usize::MAX)).is_err()
    );
}

/// Two filters in one job, the second on the first one's outputs where they lie.
#[test]
fn filters_are_passes_of_a_job() {
    for (first, second) in [(5, 40), (40, 600)] {
        let (channels, samples) = (2, 1500);
        let (a, b) = (complex(first, 1), complex(second, 2));
        let between = samples + first - 1;
        let plan = |taps: &[Complex32], samples| {
            Convolver::new::<Complex32>(&VM7, taps, channels, samples, Mode::Full).unwrap()
        };
        let filters = [plan(&a, samples), plan(&b, between)];
        let [from, to] = [0, 1].map(|i| filters[i].places(channels));
        let x = complex(channels * samples, 3);
        let lay = |x: &[Complex32], samples: usize, places: &Places| {
            let mut all = vec![Complex32::default(); places.input];
            for (i, x) in x.chunks(samples).enumerate() {
                let at = places.input_start + i * places.input_stride;
                all[at..at + samples].copy_from_slice(x);
            }
            all
        };
        let take = |y: &[Complex32], outputs: usize, places: &Places| -> Vec<Complex32> {
            let starts = (0..channels).map(|i| places.output_start + i * places.output_stride);
            starts.flat_map(|at| y[at..at + outputs].to_vec()).collect()
        };
        let run = |filter: &Convolver, places: &Places, x: &[Complex32]| {
            clean(|options| {
                let mut job = Job::new(VM7.clone(), options);
                let x = job.input(x)?;
                let y = job.output::<Complex32>("y", &[places.output as u64])?;
                filter.append(&mut job, x, y, channels)?;
                Ok::<_, ConvError>(job.run(filter.bound::<Complex32>(channels), |r| r.read(y))?)
            })
        };
        let y = run(&filters[0], &from, &lay(&x, samples, &from))
            .output
            .unwrap();
        let y = take(&y, between, &from);
        let problem = ConvProblem::new(&a, channels, samples, Mode::Full).unwrap();
        assert!(problem.judge(&x, &y).holds());
        let z = run(&filters[1], &to, &lay(&y, between, &to))
            .output
            .unwrap();
        let z = take(&z, between + second - 1, &to);
        let problem = ConvProblem::new(&b, channels, between, Mode::Full).unwrap();
        assert!(problem.judge(&y, &z).holds());
        // The same as the filter alone.
        let alone = filters[1].process(&y).unwrap().output.unwrap();
        assert_eq!(z, alone);

        let mut job = Job::new(VM7.clone(), cp2_host::Options::default());
        let short = job
            .input(&vec![Complex32::default(); to.input - 1])
            .unwrap();
        let y = job.output::<Complex32>("y", &[to.output as u64]).unwrap();
        let error = filters[1].append(&mut job, short, y, channels).unwrap_err();
        assert!(matches!(error, ConvError::ShortArray { .. }), "{error}");
    }
}

/// Scaling by a power of two scales every bit.
#[test]
fn powers_of_two_scale_every_bit() {
    let (taps, x) = (complex(50, 1), complex(400, 2));
    let filter = Convolver::new::<Complex32>(&VM7, &taps, 1, 400, Mode::Full).unwrap();
    let y = run(&filter, &x).output.unwrap();
    let scaled: Vec<Complex32> = x.iter().map(|x| x * 1024.0).collect();
    let z = run(&filter, &scaled).output.unwrap();
    assert!(y.iter().zip(&z).all(|(y, z)| y * 1024.0 == *z));
}

/// A machine file changes cycles, and bits only where it changes the kernel chosen.
#[test]
fn other_machines_filter_too() {
    let (taps, x) = (complex(30, 1), complex(700, 2));
    let plan = |machine: &Arc<Machine>| {
        Convolver::new::<Complex32>(machine, &taps, 2, 350, Mode::Full).unwrap()
    };
    let problem = ConvProblem::new(&taps, 2, 350, Mode::Full).unwrap();
    let ours = plan(&VM7);
    let y = judged(&ours, &x, &problem);
    for text in [
        "base = \"vm9\"",
        "base = \"vm7\"\n[cp2]\nsections = { value = 3, unit = \"sections\" }",
        "base = \"vm7\"\n[cp2]\ndmem = { value = 16, unit = \"KiB\" }",
    ] {
        let filter = plan(&Arc::new(Machine::parse("changed.toml", text).unwrap()));
        let z = judged(&filter, &x, &problem);
        if filter.kernel() == ours.kernel() {
            assert_eq!(y.output, z.output, "{text}");
        }
    }
}

fn resample<T: Numbers + Bits>(
    taps: &[Complex32],
    x: &[T],
    channels: usize,
    rate: Rate,
) -> ConvRun<T> {
    let samples = x.len() / channels;
    let filter = Convolver::resampler::<T>(&VM7, taps, channels, samples, rate).unwrap();
    judged(
        &filter,
        x,
        &ConvProblem::resampled(taps, channels, samples, rate).unwrap(),
    )
}

/// Large batches reach 0.90 of the bound, whatever the rate and the taps.
#[test]
fn resamplers_are_fast() {
    let mut slow = Vec::new();
    for (rate, taps, samples) in [
        (Rate::Decimate(2), 32, 60_000),
        (Rate::Decimate(4), 64, 80_000),
        (Rate::Decimate(8), 128, 80_000),
        (Rate::Interpolate(2), 32, 20_000),
        (Rate::Interpolate(4), 64, 20_000),
    ] {
        for real in [true, false] {
            let h = if real {
                real_taps(taps, 1)
            } else {
                complex(taps, 1)
            };
            let done = resample(&h, &complex(samples, 2), 1, rate);
            println!(
                "{rate}, {taps} taps, real {real}: {} cycles, bound {}, efficiency {:.3}, pages {} x{}",
                done.run.report.cycles,
                done.bound,
                done.efficiency(),
                done.passes[0].plan().unwrap().pages().len(),
                done.passes[0].plan().unwrap().degree(),
            );
            if done.efficiency() < 0.95 {
                slow.push((rate, taps, real, done.efficiency()));
            }
        }
    }
    assert!(slow.is_empty(), "{slow:?}");
}

/// Short filters are direct, and as fast as the DMA or their multiply-adds.
#[test]
fn short_filters_are_direct_and_fast() {
    let mut slow = Vec::new();
    for (taps, real) in [
        (1, false),
        (3, false),
        (5, false),
        (4, true),
        (8, true),
        (12, true),
    ] {
        let h = if real {
            real_taps(taps, 1)
        } else {
            complex(taps, 1)
        };
        let filter = Convolver::new::<Complex32>(&VM7, &h, 1, 80_000, Mode::Full).unwrap();
        let x = complex(80_000, 2);
        let problem = ConvProblem::new(&h, 1, 80_000, Mode::Full).unwrap();
        let done = judged(&filter, &x, &problem);
        println!(
            "{taps} taps, real {real}: {} cycles, bound {}, efficiency {:.3}, {}",
            done.run.report.cycles,
            done.bound,
            done.efficiency(),
            filter.kernel(),
        );
        assert_eq!(filter.kernel(), "direct");
        if done.efficiency() < 0.90 {
            slow.push((taps, real, done.efficiency()));
        }
    }
    assert!(slow.is_empty(), "{slow:?}");
}

fn modes() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(Mode::Full), Just(Mode::Same), Just(Mode::Valid)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn complex_filters_agree_with_the_reference(
        taps in prop_oneof![8 => 1usize..80, 1 => 80usize..600],
        samples in 1usize..900,
        channels in 1usize..4,
        mode in modes(),
        seed in any::<u64>(),
    ) {
        prop_assume!(!mode.outputs(samples, taps).is_empty());
        check(&complex(taps, seed), &complex(channels * samples, !seed), channels, mode);
    }

    #[test]
    fn real_filters_agree_with_the_reference(
        taps in prop_oneof![8 => 1usize..80, 1 => 80usize..600],
        samples in 1usize..900,
        channels in 1usize..4,
        mode in modes(),
        seed in any::<u64>(),
    ) {
        prop_assume!(!mode.outputs(samples, taps).is_empty());
        check(&real_taps(taps, seed), &floats(!seed, channels * samples), channels, mode);
    }

    /// Piece by piece as at once.
    #[test]
    fn streams_agree_with_the_reference(
        taps in 1usize..60,
        piece in 1usize..200,
        pieces in 1usize..6,
        channels in 1usize..4,
        seed in any::<u64>(),
    ) {
        let h = real_taps(taps, seed);
        let samples = piece * pieces;
        let x = floats(!seed, channels * samples);
        let mut filter = Streaming::<f32>::new(&VM7, &h, channels, piece).unwrap();
        let mut y = vec![0.0; x.len()];
        for i in 0..pieces {
            let part = |c: usize| c * samples + i * piece..c * samples + (i + 1) * piece;
            let next: Vec<f32> = (0..channels).flat_map(|c| x[part(c)].to_vec()).collect();
            let done = filter.push(&next).unwrap().output.unwrap();
            for (c, done) in done.chunks(piece).enumerate() {
                y[part(c)].copy_from_slice(done);
            }
        }
        // The first outputs of the full convolution, cut where the signal ends.
        let full = ConvProblem::new(&h, channels, samples, Mode::Full).unwrap();
        let rest = run(&Convolver::new::<f32>(&VM7, &h, channels, samples, Mode::Full).unwrap(), &x);
        let mut all = rest.output.unwrap();
        for (all, y) in all.chunks_mut(samples + taps - 1).zip(y.chunks(samples)) {
            all[..samples].copy_from_slice(y);
        }
        prop_assert!(full.compare(&x, &all).holds());
        prop_assert!(filter.push(&x[..0]).is_err());
    }

    #[test]
    fn resamplers_agree_with_the_reference(
        taps in 1usize..90,
        real in any::<bool>(),
        samples in 1usize..700,
        channels in 1usize..3,
        factor in 1usize..9,
        up in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let rate = if up { Rate::Interpolate(factor) } else { Rate::Decimate(factor) };
        if real {
            resample(&real_taps(taps, seed), &floats(!seed, channels * samples), channels, rate);
        }
        let h = if real { real_taps(taps, seed) } else { complex(taps, seed) };
        resample(&h, &complex(channels * samples, !seed), channels, rate);
    }
}

/// Every arithmetic slot between fill and drain of a page is a butterfly or a product.
#[test]
fn kernels_take_the_cycles_they_should() {
    let mut seen = Vec::new();
    for (taps, samples) in [(7, 900), (20, 900), (60, 3000), (100, 3000), (170, 3000)] {
        let filter =
            Convolver::new::<Complex32>(&VM7, &complex(taps, 1), 1, samples, Mode::Full).unwrap();
        let Some(n) = filter.kernel().strip_prefix("overlap-save ") else {
            continue;
        };
        let n: u64 = n.parse().unwrap();
        let done = run(&filter, &complex(samples, 2));
        let (levels, outer) = (u64::from(n.ilog2()), u64::from((n.ilog2() - 2) / 3));
        let middle = levels - 3 * outer;
        // Page loop and start, passes forward, the middle one, passes back.
        let forward = 41 + 50 * (outer - 1);
        let page = 4 + 9 + forward + 35 + 8 * middle + 47 * outer;
        let pages = done.passes[0].plan().unwrap().pages();
        // Once: the constants, the number of pages, the page loop with its set-up, `stop`.
        let expected: u64 = (0..pages.len())
            .map(|k| u64::from(pages.get(k).unwrap().per_section))
            .map(|p| p * (n * levels + n / 2) + page)
            .sum::<u64>()
            + 13;
        let causes = &done.run.report.counters.causes;
        let waits = [Cause::WaitLoad, Cause::WaitStore, Cause::WaitHost];
        let waited: u64 = waits.into_iter().map(|c| causes.get(c)).sum();
        assert_eq!(causes.total() - waited, expected, "{n}: {pages:?}");
        seen.push(n);
    }
    assert!(seen.len() >= 3, "{seen:?}");
}
