//! Tests that filters are as fast as promised, and where their cycles go.

use super::*;

/// Long signals keep the project's promise: 0.93 of N (log2 N + 1) / (4 (N - L + 1)) cycles an output at the
/// best N.
///
/// They also reach 0.93 of the reference, which counts only half of the products.
#[test]
fn long_runs_are_fast() {
    for name in ["vm7", "vm9"] {
        let machine = Arc::new(Machine::builtin(name).unwrap());
        for (taps, samples) in [(9, 40_000), (33, 60_000), (65, 80_000), (129, 120_000)] {
            let (x, h) = (complex(samples, 1), complex(taps, 2));
            let filter =
                Convolver::new::<Complex32>(&machine, &h, 1, samples, ConvolutionMode::Full)
                    .unwrap();
            let problem = ConvProblem::new(&h, 1, samples, ConvolutionMode::Full).unwrap();
            let done = judged(&filter, &x, &problem);
            let outputs = samples + taps - 1;
            let cycles = done.run.report.cycles;
            let classic = classic(taps) * outputs as f64 / cycles as f64;
            println!(
                "{name}, {taps} taps, {}: {cycles} cycles, {:.3} a sample, bound {}, efficiency {:.3}, by the classic formula {classic:.3}, plan {} pages of {} x{}",
                filter.kernel(),
                cycles as f64 / outputs as f64,
                done.figures.reference,
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

/// In long signals the columns of long blocks are hidden behind the rows: on vm7 except those of the first
/// and the last blocks, on vm9 as far as the channel allows.
#[test]
fn long_signals_hide_their_columns() {
    for (row, floor) in [
        (("vm7", 4097, 1_000_000), 0.935),
        (("vm9", 4097, 1_000_000), 0.92),
        (("vm9", 16_385, 2_000_000), 0.86),
    ] {
        let measured = measured(row);
        let efficiency = measured.efficiency;
        println!("{row:?}: {efficiency:.4}");
        assert!((floor..=1.0).contains(&efficiency), "{row:?}: {efficiency}");
        assert!(measured.holds, "{row:?}");
    }
}

/// Few blocks beyond local memory are filtered in three passes over memory.
#[test]
fn long_filters_go_by_rows() {
    let mut slow = Vec::new();
    for (taps, samples) in [(600, 14_000), (1025, 28_000), (4097, 56_000)] {
        let x = complex(samples, 1);
        let h = complex(taps, 2);
        let filter =
            Convolver::new::<Complex32>(&VM7, &h, 1, samples, ConvolutionMode::Full).unwrap();
        let problem = ConvProblem::new(&h, 1, samples, ConvolutionMode::Full).unwrap();
        let done = judged(&filter, &x, &problem);
        println!(
            "{taps} taps: {}: {} cycles, bound {}, efficiency {:.3}\n{}",
            filter.kernel(),
            done.run.report.cycles,
            done.figures.reference,
            done.efficiency(),
            filter.choice(),
        );
        if done.efficiency() < 0.67 {
            slow.push((taps, done.efficiency()));
        }
    }
    assert!(slow.is_empty(), "{slow:?}");
}

/// Large batches reach 0.95 of the direct algorithm, at all rates and numbers of taps.
#[test]
fn resamplers_are_fast() {
    let mut slow = Vec::new();
    for (rate, taps, samples) in [
        (OutputRate::decimate_by(2), 32, 60_000),
        (OutputRate::decimate_by(4), 64, 80_000),
        (OutputRate::decimate_by(8), 128, 80_000),
        (OutputRate::interpolate_by(2), 32, 20_000),
        (OutputRate::interpolate_by(4), 64, 20_000),
    ] {
        for real in [true, false] {
            let h = if real {
                real_taps(taps, 1)
            } else {
                complex(taps, 1)
            };
            let done = resample(&h, &complex(samples, 2), 1, rate);
            let share = directly(&h, samples, rate, &done.figures) / done.run.report.cycles as f64;
            println!(
                "{rate}, {taps} taps, real {real}: {} cycles, {}, efficiency {:.3}, of the direct way {share:.3}, pages {} x{}",
                done.run.report.cycles,
                done.figures.text(),
                done.efficiency(),
                done.passes[0].plan().unwrap().pages().len(),
                done.passes[0].plan().unwrap().degree(),
            );
            if share < 0.95 || done.efficiency() > 1.0 {
                slow.push((rate, taps, real, share));
            }
        }
    }
    assert!(slow.is_empty(), "{slow:?}");
}

/// With fewer taps than an output has samples, some samples meet no tap: bound and reference leave them out.
#[test]
fn samples_that_meet_no_tap_are_not_in_the_bound() {
    for (taps, every) in [(1, 8), (1, 20), (2, 15), (4, 16)] {
        let x = complex(3 * 9212, 2);
        let done = resample(&complex(taps, 1), &x, 3, OutputRate::decimate_by(every));
        let efficiency = done.efficiency();
        assert!(efficiency <= 1.0, "{taps} taps, {every}: {efficiency:.3}");
    }
}

/// Short filters are direct, and as fast as the DMA or their multiply-adds allow.
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
        let filter =
            Convolver::new::<Complex32>(&VM7, &h, 1, 80_000, ConvolutionMode::Full).unwrap();
        let x = complex(80_000, 2);
        let problem = ConvProblem::new(&h, 1, 80_000, ConvolutionMode::Full).unwrap();
        let done = judged(&filter, &x, &problem);
        let share =
            directly(&h, 80_000, OutputRate::SAME, &done.figures) / done.run.report.cycles as f64;
        println!(
            "{taps} taps, real {real}: {} cycles, {}, efficiency {:.3}, of the direct way {share:.3}, {}",
            done.run.report.cycles,
            done.figures.text(),
            done.efficiency(),
            filter.kernel(),
        );
        assert_eq!(filter.kernel(), "direct");
        if share < 0.90 || done.efficiency() > 1.0 {
            slow.push((taps, real, share));
        }
    }
    assert!(slow.is_empty(), "{slow:?}");
}

/// Every arithmetic slot between fill and drain of a page is a butterfly or a product.
#[test]
fn kernels_take_the_cycles_they_should() {
    let mut seen = Vec::new();
    for (taps, samples) in [(7, 900), (20, 900), (60, 3000), (100, 3000), (170, 3000)] {
        let filter =
            Convolver::new::<Complex32>(&VM7, &complex(taps, 1), 1, samples, ConvolutionMode::Full)
                .unwrap();
        let Some(n) = filter.kernel().strip_prefix("overlap-save ") else {
            continue;
        };
        let n: u64 = n.parse().unwrap();
        let done = run(&filter, &complex(samples, 2));
        let (levels, outer) = (u64::from(n.ilog2()), u64::from((n.ilog2() - 2) / 3));
        let middle = levels - 3 * outer;
        // Page loop and start, forward passes, the middle pass, backward passes.
        let forward = 41 + 50 * (outer - 1);
        let page = 4 + 9 + forward + 35 + 8 * middle + 47 * outer;
        let pages = done.passes[0].plan().unwrap().pages();
        // Once in a kernel: constants, number of pages, page loop with its set-up, `stop`.
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
