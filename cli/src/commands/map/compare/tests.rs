//! Property tests of comparisons against the definitions.

use super::*;
use proptest::prelude::*;

fn array(shape: &[usize], numbers: &[f32]) -> NpyArray {
    NpyArray {
        kind: Kind::Float32,
        shape: shape.to_vec(),
        bytes: numbers.iter().flat_map(|x| x.to_le_bytes()).collect(),
    }
}

fn bound(number: f64) -> Option<Bound> {
    Bound::try_from(number).ok()
}

fn compare(shape: &[usize], got: &[f32], expected: &[f32], tolerance: MapTolerance) -> Comparison {
    Comparison::new(&array(shape, got), &array(shape, expected), tolerance).unwrap()
}

const EXACT: MapTolerance = MapTolerance {
    each: None,
    largest: None,
    rms: None,
};

#[test]
fn what_is_not_finite_is_right_only_where_it_is_expected() {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    for (got, expected, right) in [
        (nan, nan, true),
        (inf, inf, true),
        (inf, -inf, false),
        (nan, 1.0, false),
        (1.0, nan, false),
        (1.0, inf, false),
        (inf, 1.0, false),
    ] {
        // No tolerance, however large, accepts an infinity or a NaN in place of a number.
        for tolerance in [
            EXACT,
            MapTolerance {
                each: bound(f64::MAX),
                ..EXACT
            },
            MapTolerance {
                largest: bound(f64::MAX),
                ..EXACT
            },
            MapTolerance {
                rms: bound(f64::MAX),
                ..EXACT
            },
        ] {
            let compared = compare(&[2], &[1.0, got], &[1.0, expected], tolerance);
            assert_eq!(compared.is_close(), right, "{got} {expected} {tolerance:?}");
        }
    }
}

#[test]
fn nothing_is_a_share_of_zeros() {
    let relative = MapTolerance {
        largest: bound(0.5),
        rms: bound(0.5),
        ..EXACT
    };
    assert!(compare(&[2], &[0.0, 0.0], &[0.0, -0.0], relative).is_close());
    // The squares of these numbers are 0 in single precision, and in double precision far too small.
    let compared = compare(&[2], &[0.0, 1e-45], &[0.0, 0.0], relative);
    assert!(!compared.is_close() && compared.to_string().starts_with("WRONG"));
    let tiny = [1e-45, 1e-40];
    assert!(compare(&[2], &tiny, &tiny.map(|x: f32| x * 1.0), relative).is_close());
    assert!(!compare(&[2], &[1e-40, 1e-40], &tiny, relative).is_close());
}

#[test]
fn an_error_is_shown_with_the_digits_that_decide() {
    let tolerance = MapTolerance {
        each: bound(0.01),
        ..EXACT
    };
    let text = compare(&[1], &[0.010_000_1], &[0.0], tolerance).to_string();
    let words = "WRONG: the largest error is 1.00001";
    assert!(text.starts_with(words), "{text}");
    assert!(text.contains("tolerance 1e-2"), "{text}");
}

proptest! {
    /// Number, box and worst place of the wrong elements, and all verdicts, follow the definitions.
    #[test]
    fn what_is_wrong_is_found(
        shape in prop::collection::vec(1usize..5, 1..4),
        seed in prop::collection::vec((-4i8..5, prop::bool::weighted(0.2)), 64),
        tolerances in (prop::option::of(0u8..6), prop::option::of(0u8..6), prop::option::of(0u8..6)),
    ) {
        let count: usize = shape.iter().product();
        let expected: Vec<f32> = seed[..count].iter().map(|(x, _)| f32::from(*x)).collect();
        let got: Vec<f32> = seed[..count].iter().zip(1..).map(|((x, other), i)| f32::from(*x) + if *other { i as f32 / 64.0 } else { 0.0 }).collect();
        let bound = |n: Option<u8>| n.map(|n| f64::from(n) / 16.0);
        let (each, largest, rms) = (bound(tolerances.0), bound(tolerances.1), bound(tolerances.2));
        let tolerance = MapTolerance { each: each.and_then(super::tests::bound), largest: largest.and_then(super::tests::bound), rms: rms.and_then(super::tests::bound) };
        let each = each.or((largest.or(rms)).is_none().then_some(0.0));
        let d: Vec<f64> = got.iter().zip(&expected).map(|(a, b)| f64::from((a - b).abs())).collect();
        let x: Vec<f64> = expected.iter().map(|x| f64::from(x.abs())).collect();
        let top = x.iter().copied().fold(0.0, f64::max);
        let far = |i: usize| each.is_some_and(|e| d[i] > e * x[i].max(1.0)) || largest.is_some_and(|e| d[i] > e * top);
        let mean = |v: &[f64]| v.iter().map(|v| v * v).sum::<f64>() / count as f64;
        let (a, b) = (mean(&d).sqrt(), mean(&x).sqrt());
        // Cases in which rounding decides the verdict are left out.
        prop_assume!(rms.is_none_or(|e| a == 0.0 || (a - e * b).abs() > 1e-9));
        let close = !(0..count).any(far) && rms.is_none_or(|e| a <= e * b);
        let compared = compare(&shape, &got, &expected, tolerance);
        prop_assert_eq!(compared.is_close(), close);
        prop_assert_eq!(compared.to_string().starts_with("as expected"), close);
        let mut at = vec![Vec::new(); count];
        for (i, at) in at.iter_mut().enumerate() {
            // The expected coordinates come from walking the array, the last index fastest.
            let mut step = count;
            for n in &shape {
                step /= n;
                at.push(i / step % n);
            }
        }
        let wrong: Vec<usize> = (0..count).filter(|i| far(*i)).collect();
        prop_assert_eq!(compared.wrong.elements, wrong.len());
        let within = (0..shape.len()).filter_map(|axis| {
            let along = || wrong.iter().map(|i| at[*i][axis]);
            Some(along().min()?..along().max()? + 1)
        });
        prop_assert_eq!(&compared.wrong.within, &within.collect::<Vec<_>>());
        let worst = compared.worst.unwrap();
        prop_assert_eq!(&worst.at, &at[worst.index]);
        let own = |i: usize| if each.is_some() { d[i] / x[i].max(1.0) } else { d[i] };
        prop_assert!((0..count).all(|i| own(i) <= own(worst.index)));
    }
}
