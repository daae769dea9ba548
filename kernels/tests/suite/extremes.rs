//! Tests FFTs at the ends of binary32: infinities, NaN and subnormals.
//!
//! Further inputs are numbers just short of overflow, single numbers, and odd batches.

#![allow(clippy::unwrap_used, reason = "tests")]

use cp2_kernels::fft::{Fft, FftPlanner, FftProblem, TransformDirection, error_bound, reference};
use cp2_machine::Machine;
use num_complex::{Complex32, Complex64};

const DIRECTIONS: [TransformDirection; 2] =
    [TransformDirection::Forward, TransformDirection::Inverse];

fn lengths() -> impl Iterator<Item = usize> {
    (4..=12).map(|b| 1 << b)
}

fn transform(n: usize, direction: TransformDirection, x: &[Complex32]) -> Vec<Complex32> {
    let vm7 = Machine::builtin("vm7").unwrap();
    let fft = FftPlanner::new(vm7.into())
        .plan_local(n, direction)
        .unwrap();
    fft.process(x).unwrap().output.unwrap()
}

fn random(n: usize, direction: TransformDirection, batch: usize) -> Vec<Complex32> {
    let problem = FftProblem::new(n, direction, batch).unwrap();
    problem.random((n + batch) as u64)
}

fn bits(x: &[Complex32]) -> Vec<(u32, u32)> {
    x.iter().map(|z| (z.re.to_bits(), z.im.to_bits())).collect()
}

/// Every output depends on every input of its row, and on nothing else.
#[test]
fn what_is_not_finite_fills_its_row_and_no_other() {
    for direction in DIRECTIONS {
        for n in lengths() {
            let clean = random(n, direction, 5);
            let expected = bits(&transform(n, direction, &clean));
            for (at, special) in [
                (0, f32::INFINITY),
                (n / 3, f32::NAN),
                (n - 1, f32::NEG_INFINITY),
            ] {
                let mut x = clean.clone();
                x[2 * n + at].im = special;
                let y = transform(n, direction, &x);
                for (row, (got, expected)) in y.chunks(n).zip(expected.chunks(n)).enumerate() {
                    if row == 2 {
                        assert!(got.iter().all(|z| !z.is_finite()), "{n} {special}");
                    } else {
                        assert_eq!(bits(got), expected, "{n} {special} row {row}");
                    }
                }
            }
        }
    }
}

/// Sums of N numbers of size up to 2^(126 - log2 N) do not overflow: they have the bits of sums of size 1,
/// except for the exponent.
#[test]
fn huge_numbers_scale_exactly() {
    for direction in DIRECTIONS {
        for n in lengths() {
            let scale = 2.0f32.powi(126 - n.ilog2() as i32);
            let x = random(n, direction, 2);
            let huge: Vec<_> = x.iter().map(|z| z * scale).collect();
            let y: Vec<_> = transform(n, direction, &x)
                .iter()
                .map(|z| z * scale)
                .collect();
            assert!(y.iter().all(|z| z.is_finite()));
            assert_eq!(bits(&transform(n, direction, &huge)), bits(&y), "{n}");
        }
    }
}

/// Sums of subnormals are exact, products are off by half a unit of 2^-149: there are four of them in a
/// butterfly, and errors add up.
#[test]
fn subnormals_lose_only_what_they_lack() {
    let unit = 2.0f64.powi(-149);
    for direction in DIRECTIONS {
        for n in lengths() {
            for shift in [-120, -130, -140, -149] {
                let scale = 2.0f64.powi(shift);
                let small = |v: f32| (f64::from(v) * scale) as f32;
                let x: Vec<Complex32> = random(n, direction, 1)
                    .iter()
                    .map(|z| Complex32::new(small(z.re), small(z.im)))
                    .collect();
                let exact = reference(&x, n, direction);
                let norm = exact.iter().map(Complex64::norm_sqr).sum::<f64>().sqrt();
                let error = transform(n, direction, &x)
                    .iter()
                    .zip(&exact)
                    .map(|(y, x)| (Complex64::new(f64::from(y.re), f64::from(y.im)) - x).norm_sqr())
                    .sum::<f64>()
                    .sqrt();
                let allowed = error_bound(n) * norm + 5.0 * n as f64 * unit;
                assert!(error <= allowed, "{n} 2^{shift}: {error:e} > {allowed:e}");
                assert!(norm > 0.0);
            }
        }
    }
}

/// One number at each place: row j of the result is the transform's column j.
#[test]
fn an_impulse_at_every_place() {
    for direction in DIRECTIONS {
        for n in [16, 32, 64, 128, 256] {
            let x: Vec<Complex32> = (0..n * n)
                .map(|i| Complex32::from(if i / n == i % n { 1.0 } else { 0.0 }))
                .collect();
            let y = transform(n, direction, &x);
            let exact = reference(&x, n, direction);
            // A factor is rounded once for each pass whose product it is: one to four times.
            for (i, (y, x)) in y.iter().zip(&exact).enumerate() {
                let error = Complex64::new(f64::from(y.re), f64::from(y.im)) - x;
                assert!(error.norm() < 4.0e-7, "{n}: column {}, {i}", i / n);
            }
        }
    }
}

/// A batch that is no multiple of pages or sections gives the rows of short batches.
#[test]
fn an_odd_long_batch_gives_the_rows_of_short_ones() {
    for n in [16, 64, 512] {
        let x = random(n, TransformDirection::Forward, 257);
        let y = bits(&transform(n, TransformDirection::Forward, &x));
        for (first, batch) in [(0, 1), (1, 2), (100, 3), (252, 5)] {
            let (from, to) = (first * n, (first + batch) * n);
            let part = bits(&transform(n, TransformDirection::Forward, &x[from..to]));
            assert_eq!(part, y[from..to], "{n}: {batch} from row {first}");
        }
    }
}
