//! The reference has the values that are known of the benchmark.

use super::*;

/// Returns gosa and the value of p in the middle of the box, in double precision.
fn reach(size: HimenoSize, iterations: usize, data: HimenoData) -> [f64; 2] {
    let problem = size.problem(iterations, data).unwrap();
    let input = problem.input(Case::Random, 1);
    let exact = problem.exact(&problem.arrays(&input).unwrap());
    let [planes, rows, columns] = problem.shape();
    let middle = (planes / 2 * rows + rows / 2) * columns + columns / 2;
    [exact.gosa, exact.p[middle]]
}

/// The first change of the benchmark's data is 2 / (6 (planes - 1)^2) in every point inside; 1/6 in single precision
/// changes it by about 6e-8 (planes - 1)^2 of it.
#[test]
fn the_first_change_is_known() {
    for size in [HimenoSize::XS, HimenoSize::S] {
        let problem = size.problem(1, HimenoData::Standard).unwrap();
        let steps = ((problem.shape()[0] - 1) as f64).powi(2);
        let expected = problem.inner_count() as f64 * (2.0 / (6.0 * steps)).powi(2);
        let [gosa, _] = reach(size, 1, HimenoData::Standard);
        let off = (gosa / expected - 1.0).abs();
        assert!(off < 1e-7 * steps, "{size}: {gosa}, off by {off}");
    }
}

/// Values of an independent program in double precision, from the data in single precision.
#[test]
fn standard_data_reach_their_values() {
    for (size, iterations, expected) in [
        (HimenoSize::XS, 1, 6.713_816_314e-3),
        (HimenoSize::XS, 3, 6.229_690_749e-3),
        (HimenoSize::XS, 10, 5.358_178_521e-3),
        (HimenoSize::XS, 100, 2.317_163_830e-3),
        (HimenoSize::S, 1, 3.417_049_112e-3),
        (HimenoSize::S, 3, 3.296_217_567e-3),
        (HimenoSize::S, 10, 3.070_062_043e-3),
        (HimenoSize::M, 1, 1.723_985_144e-3),
    ] {
        let [gosa, _] = reach(size, iterations, HimenoData::Standard);
        let off = (gosa / expected - 1.0).abs();
        assert!(off < 2e-9, "{size}, {iterations}: {gosa:e}, off by {off:e}");
    }
}

#[test]
fn general_data_reach_their_values() {
    for (size, iterations, expected) in [
        (HimenoSize::XS, 1, 4.945_191_856e3),
        (HimenoSize::XS, 3, 6.528_100_015e1),
        (HimenoSize::XS, 10, 7.977_930_760e-1),
        (HimenoSize::XS, 100, 3.118_583_896e-6),
        (HimenoSize::S, 1, 4.299_236_207e4),
        (HimenoSize::S, 3, 5.851_925_873e2),
        (HimenoSize::M, 1, 3.571_557_744e5),
    ] {
        let [gosa, _] = reach(size, iterations, HimenoData::General);
        let off = (gosa / expected - 1.0).abs();
        assert!(off < 2e-9, "{size}, {iterations}: {gosa:e}, off by {off:e}");
    }
    let [_, p] = reach(HimenoSize::XS, 10, HimenoData::General);
    assert!((p / 4.868_668_329e-1 - 1.0).abs() < 2e-9, "{p:e}");
}

/// A coefficient, the source or the mask that changes in one point changes the result beyond the tolerance.
#[test]
fn every_input_counts() {
    let problem = HimenoProblem::new([5, 6, 7], 2, HimenoData::General).unwrap();
    let input = problem.input(Case::Random, 1);
    let right = problem.compute_in_order(&input, MultiplyAdd::RoundedTwice);
    assert!(problem.judge(&input, &right.unwrap()).is_within_tolerance());
    let inside = (2 * 6 + 3) * 7 + 3;
    let mut checked = 0;
    for (name, boxes) in [
        ("p", 1),
        ("a", 4),
        ("b", 3),
        ("c", 3),
        ("wrk1", 1),
        ("bnd", 1),
    ] {
        for at in (0..boxes).map(|own| own * problem.count() + inside) {
            let changed = input
                .arrays()
                .iter()
                .fold(NamedArrays::default(), |all, array| {
                    let mut values = input.get::<f32>(array.name).unwrap().to_vec();
                    if array.name == name {
                        values[at] += 0.01;
                    }
                    all.add_array(array.name, &array.shape, values)
                });
            let wrong = problem.compute_in_order(&changed, MultiplyAdd::RoundedTwice);
            let verdict = problem.judge(&input, &wrong.unwrap());
            assert!(!verdict.is_within_tolerance(), "{name}, {at}: {verdict:?}");
            checked += 1;
        }
    }
    assert_eq!(checked, 13);
}

/// Points at faces keep their values, and bounds stay useful over many iterations.
#[test]
fn faces_are_kept_and_bounds_are_narrow() {
    let problem = HimenoProblem::new([6, 7, 9], 50, HimenoData::Random).unwrap();
    let input = problem.input(Case::Random, 4);
    let arrays = problem.arrays(&input).unwrap();
    let exact = problem.exact(&arrays);
    let mut faces = 0;
    for (at, &p) in arrays.p.iter().enumerate() {
        let place = [at / 63, at / 9 % 7, at % 9];
        if place
            .iter()
            .zip(problem.shape())
            .any(|(&i, n)| i == 0 || i + 1 == n)
        {
            assert_eq!((exact.p[at], exact.errors[at]), (p.into(), 0.0));
            faces += 1;
        }
    }
    assert_eq!(faces, problem.count() - problem.inner_count());
    let largest = exact.errors.iter().fold(0.0f64, |most, &x| most.max(x));
    assert!(largest < 1e-4, "{largest:e}");
}

#[test]
fn boxes_without_an_inside_are_refused() {
    for (shape, iterations) in [([2, 9, 9], 1), ([9, 9, 1], 1), ([9, 9, 9], 0)] {
        assert!(HimenoProblem::new(shape, iterations, HimenoData::Random).is_err());
    }
}
