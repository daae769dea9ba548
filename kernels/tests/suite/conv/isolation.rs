//! Tests that channels do not affect each other, by rounding or by NaNs.

use super::*;
use std::ops::Mul;

/// Draws levels of channels: loud, soft, silent, broken.
fn levels(channels: usize) -> impl Strategy<Value = Vec<f32>> {
    let level = prop_oneof![
        Just(1.0),
        Just(1e10),
        Just(1e-10),
        Just(0.0),
        Just(f32::NAN)
    ];
    proptest::collection::vec(level, channels)
}

/// Checks that every channel has the bits among the others that it has among silent channels.
fn isolated<T: FilterSample + Bits + Mul<f32, Output = T>>(
    taps: &[Complex32],
    x: &[T],
    levels: &[f32],
    mode: ConvolutionMode,
) {
    let (channels, samples) = (levels.len(), x.len() / levels.len());
    let filter = Convolver::new::<T>(&VM7, taps, channels, samples, mode).unwrap();
    let scaled: Vec<T> = x
        .chunks(samples)
        .zip(levels)
        .flat_map(|(x, &level)| x.iter().map(move |&x| x * level))
        .collect();
    let all = filter.process(&scaled).unwrap().output.unwrap();
    for c in 0..channels {
        let mut alone = vec![T::default(); x.len()];
        let own = c * samples..(c + 1) * samples;
        alone[own.clone()].copy_from_slice(&scaled[own]);
        let alone = filter.process(&alone).unwrap().output.unwrap();
        let outputs = c * filter.outputs()..(c + 1) * filter.outputs();
        assert!(
            all[outputs.clone()]
                .iter()
                .zip(&alone[outputs])
                .all(|(a, b)| a.bits() == b.bits()),
            "channel {c}, {}",
            filter.kernel()
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn channels_do_not_know_each_other(
        taps in prop_oneof![4 => 1usize..80, 1 => 80usize..600],
        samples in 1usize..1500,
        levels in (2usize..5).prop_flat_map(levels),
        mode in prop_oneof![Just(ConvolutionMode::Full), Just(ConvolutionMode::Same), Just(ConvolutionMode::Valid)],
        seed in any::<u64>(),
    ) {
        prop_assume!(!mode.outputs(samples, taps).is_empty());
        let channels = levels.len();
        isolated(&real_taps(taps, seed), &floats(!seed, channels * samples), &levels, mode);
        isolated(&complex(taps, seed), &complex(channels * samples, !seed), &levels, mode);
    }
}

/// Isolation also holds for long blocks, and for channels of a few blocks of several lengths.
#[test]
fn long_blocks_are_of_one_channel() {
    for (taps, samples, channels) in [(1300, 30_000, 2), (600, 12_000, 3), (129, 1140, 16)] {
        let levels: Vec<f32> = (0..channels).map(|c| [1e10, 1.0, 0.0][c % 3]).collect();
        let x = floats(7, channels * samples);
        isolated(&real_taps(taps, 3), &x, &levels, ConvolutionMode::Same);
    }
}
