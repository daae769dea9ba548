//! Tests FFTs of random lengths and directions.

use super::*;

/// Draws few cases of long FFTs: one of 4096 takes 25 thousand cycles.
fn row() -> impl Strategy<Value = (usize, TransformDirection, u64)> {
    let n = prop_oneof![8 => 4u32..8, 3 => 8u32..11, 1 => 11u32..13].prop_map(|b| 1usize << b);
    (
        n,
        prop_oneof![
            Just(TransformDirection::Forward),
            Just(TransformDirection::Inverse)
        ],
        any::<u64>(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// The error bound holds for finite inputs of any dynamic range without over- and underflow.
    #[test]
    fn the_error_bound_holds((n, direction, seed) in row(), spread in 0i32..60) {
        let mut random = Random::new(seed);
        let x: Vec<Complex32> = (0..2 * n)
            .map(|_| random.complex() * 2.0f32.powi((random.next_u64() % (spread as u64 + 1)) as i32 - spread / 2))
            .collect();
        let verdict = judge(n, direction, &x, &output(plan(n, direction), &x));
        prop_assert!(verdict.is_within_tolerance(), "{n} {direction}: {verdict:?}");
    }

    #[test]
    fn powers_of_two_scale_every_bit((n, direction, seed) in row(), k in -60i32..60) {
        let x = FftProblem::new(n, direction, 1).unwrap().random(seed);
        let scale = 2.0f32.powi(k);
        let scaled: Vec<Complex32> = x.iter().map(|z| z * scale).collect();
        let (a, b) = (output(plan(n, direction), &x), output(plan(n, direction), &scaled));
        let a: Vec<Complex32> = a.iter().map(|z| z * scale).collect();
        prop_assert_eq!(bits(&a), bits(&b));
    }

    /// The inverse equals the conjugated forward transform of the conjugate, to the last bit.
    #[test]
    fn the_inverse_mirrors_the_forward((n, _, seed) in row(), batch in 1usize..6) {
        let x = FftProblem::new(n, TransformDirection::Inverse, batch).unwrap().random(seed);
        let mirrored: Vec<Complex32> = x.iter().map(Complex32::conj).collect();
        let forward: Vec<Complex32> = output(plan(n, TransformDirection::Forward), &mirrored).iter().map(Complex32::conj).collect();
        prop_assert_eq!(output(plan(n, TransformDirection::Inverse), &x), forward);
    }
}
