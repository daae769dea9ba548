//! Tests filters of random shapes against the reference.

use super::*;

fn modes() -> impl Strategy<Value = ConvolutionMode> {
    prop_oneof![
        Just(ConvolutionMode::Full),
        Just(ConvolutionMode::Same),
        Just(ConvolutionMode::Valid)
    ]
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

    /// A signal filtered piece by piece gives the outputs of one run.
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
        // The outputs are the first ones of the full convolution, cut where the signal ends.
        let full = ConvProblem::new(&h, channels, samples, ConvolutionMode::Full).unwrap();
        let rest = run(&Convolver::new::<f32>(&VM7, &h, channels, samples, ConvolutionMode::Full).unwrap(), &x);
        let mut all = rest.output.unwrap();
        for (all, y) in all.chunks_mut(samples + taps - 1).zip(y.chunks(samples)) {
            all[..samples].copy_from_slice(y);
        }
        prop_assert!(full.compare(&x, &all).is_within_tolerance());
        prop_assert!(filter.push(&x[..0]).is_err());
    }

    #[test]
    fn resamplers_agree_with_the_reference(
        taps in prop_oneof![6 => 1usize..90, 1 => 150usize..700],
        real in any::<bool>(),
        samples in 1usize..700,
        channels in 1usize..3,
        factor in 1usize..9,
        up in any::<bool>(),
        seed in any::<u64>(),
    ) {
        let rate = if up { OutputRate::interpolate_by(factor) } else { OutputRate::decimate_by(factor) };
        if real {
            resample(&real_taps(taps, seed), &floats(!seed, channels * samples), channels, rate);
        }
        let h = if real { real_taps(taps, seed) } else { complex(taps, seed) };
        resample(&h, &complex(channels * samples, !seed), channels, rate);
    }
}
