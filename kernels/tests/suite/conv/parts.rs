//! Tests filters with blocks of 4096, which go through DMEM part by part.

use super::*;

fn planned<T: FilterSample>(
    machine: &Arc<Machine>,
    taps: &[Complex32],
    (channels, samples): (usize, usize),
    mode: ConvolutionMode,
) -> Convolver {
    let filter = Convolver::new::<T>(machine, taps, channels, samples, mode).unwrap();
    assert!(filter.kernel().contains("4096"), "{}", filter.choice());
    filter
}

/// Blocks of 4096 keep the project's promise, 0.93 of the classic formula, for filters that are most of a
/// block of 2048, by price and by run.
#[test]
fn hundreds_of_taps_are_fast() {
    let samples = 1_000_000;
    let least = |taps: usize| classic(taps) * (samples + taps - 1) as f64;
    // The fewest taps and the most; between them, blocks of 4096 are further ahead of both shorter and longer
    // ones.
    for (name, taps) in [("vm7", 300), ("vm7", 1025), ("vm9", 300)] {
        let h = complex(taps, 2);
        let filter =
            Convolver::new::<Complex32>(&machine(name), &h, 1, samples, ConvolutionMode::Full)
                .unwrap();
        let expected = filter.choice().candidates[0].cycles.unwrap();
        let what = format!("{name}, {taps} taps, {}", filter.kernel());
        assert!(
            least(taps) / expected >= 0.93,
            "{what}: {}",
            least(taps) / expected
        );
    }
    for (name, taps) in [("vm7", 600), ("vm9", 600), ("vm9", 1025)] {
        let done = measured((name, taps, samples));
        let cycles = done.report.cycles as f64;
        let what = format!("{name}, {taps} taps, {}", done.kernel);
        println!("{what}: {cycles} cycles, {:.3}", least(taps) / cycles);
        assert_eq!(done.kernel, "overlap-save 4096");
        assert!(least(taps) / done.expected >= 0.93, "{what}");
        assert!(
            least(taps) / cycles >= 0.93,
            "{what}: {}",
            least(taps) / cycles
        );
        assert!(done.efficiency <= 1.0, "{what}: {}", done.efficiency);
        let explained = done.expected / cycles;
        assert!((0.99..=1.001).contains(&explained), "{what}: {explained}");
        assert!(done.holds, "{what}");
    }
}

/// Every cycle that is neither a butterfly nor a product is one that the source lists.
#[test]
fn blocks_take_the_cycles_they_should() {
    let h = complex(600, 2);
    for groups in [1u64, 3, 4, 7] {
        // As many blocks as groups: a section computes one block of each group.
        let samples = 3496 * (4 * groups as usize) - 600;
        let filter = planned::<Complex32>(&VM7, &h, (1, samples), ConvolutionMode::Full);
        let done = run(&filter, &complex(samples, 2));
        // 24 levels and half a product for each number. Besides, passes 1 to 3, the middle one, passes 4 to 6
        // and the step to the next block; another 7 for each pass that takes another path where the ring ends
        // in the block; ten words at the start, `stop`, and the last jump not taken.
        let beside = 67 + 52 + 54 + 102 + 49 + 48 + 70 + 9;
        let expected = groups * (4096 * 12 + 4096 / 2 + beside) + groups / 3 * 14 + 10 + 1 - 3;
        let causes = &done.run.report.counters.causes;
        let waits = [Cause::WaitLoad, Cause::WaitStore, Cause::WaitHost];
        let waited: u64 = waits.into_iter().map(|c| causes.get(c)).sum();
        assert_eq!(causes.total() - waited, expected, "{groups}: {causes:?}");
    }
}

/// After the first parts CP2 never waits for the channel, on either machine.
#[test]
fn nothing_is_waited_for_between() {
    let h = complex(300, 2);
    for name in ["vm7", "vm9"] {
        let machine = machine(name);
        let [short, long] = [3, 9].map(|groups| {
            let samples = (4096 - 300) * 4 * groups - 300;
            let filter = planned::<Complex32>(&machine, &h, (1, samples), ConvolutionMode::Full);
            let done = filter.process(&complex(samples, 3)).unwrap();
            done.run.report.counters.causes.get(Cause::WaitLoad)
        });
        assert_eq!(short, long, "{name}");
    }
}

/// Sums of products of small integers are exact after rounding.
#[test]
fn integers_convolve_exactly() {
    let whole = |x: &f32| x.round() as i64;
    for (taps, samples) in [(601, 27_000), (300, 30_000)] {
        let numbers = |n, seed| -> Vec<f32> {
            let all = floats(seed, n).into_iter();
            all.map(|x| (x * 8.0).round()).collect()
        };
        let (x, h) = (numbers(samples, 1), numbers(taps, 2));
        let complex: Vec<Complex32> = h.iter().copied().map(Complex32::from).collect();
        let filter = planned::<f32>(&VM7, &complex, (1, samples), ConvolutionMode::Full);
        let y = run(&filter, &x).output.unwrap();
        let mut exact = vec![0; samples + taps - 1];
        for (i, x) in x.iter().enumerate() {
            for (y, h) in exact[i..].iter_mut().zip(&h) {
                *y += whole(x) * whole(h);
            }
        }
        assert_eq!(y.iter().map(whole).collect::<Vec<_>>(), exact);
    }
}

#[test]
fn powers_of_two_scale_every_bit_of_parts() {
    let (taps, x) = (complex(500, 1), complex(28_000, 2));
    let filter = planned::<Complex32>(&VM7, &taps, (1, x.len()), ConvolutionMode::Same);
    let scaled: Vec<Complex32> = x.iter().map(|x| x / 512.0).collect();
    let [y, z] = [x, scaled].map(|x| filter.process(&x).unwrap().output.unwrap());
    assert!(y.iter().zip(&z).all(|(y, z)| y / 512.0 == *z));
}

/// Shapes: channels that fit one block, fewer channels than sections, few blocks and many, and overlaps that
/// end in every part of a block.
#[test]
fn all_shapes_agree_with_the_reference() {
    let shapes = [
        (3, 3500, 500, ConvolutionMode::Full),
        (9, 3000, 1000, ConvolutionMode::Same),
        (5, 4096, 700, ConvolutionMode::Valid),
        (2, 14_000, 400, ConvolutionMode::Full),
        (1, 20_000, 513, ConvolutionMode::Valid),
        (1, 20_000, 577, ConvolutionMode::Full),
        (3, 12_000, 640, ConvolutionMode::Same),
    ];
    let vm9 = machine("vm9");
    for (channels, samples, taps, mode) in shapes {
        let h = complex(taps, 2);
        let problem = ConvProblem::new(&h, channels, samples, mode).unwrap();
        let filter = planned::<Complex32>(&vm9, &h, (channels, samples), mode);
        judged(&filter, &complex(channels * samples, 1), &problem);
        let h = real_taps(taps, 3);
        let problem = ConvProblem::new(&h, channels, samples, mode).unwrap();
        let filter = Convolver::new::<f32>(&vm9, &h, channels, samples, mode).unwrap();
        judged(&filter, &floats(4, channels * samples), &problem);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn hundreds_of_taps_agree_with_the_reference(
        taps in 260usize..1200,
        samples in 9_000usize..24_000,
        channels in 1usize..3,
        real in any::<bool>(),
        seed in any::<u64>(),
    ) {
        if real {
            check(&real_taps(taps, seed), &floats(!seed, channels * samples), channels, ConvolutionMode::Full);
        } else {
            check(&complex(taps, seed), &complex(channels * samples, !seed), channels, ConvolutionMode::Full);
        }
    }
}
