//! Stencils: edges, coefficients of elements, and errors that are noticed.

use super::*;

fn problem(shape: &[usize], points: usize, edge: Edge, steps: usize) -> StencilProblem {
    let stencil = StencilShape::from_classes(points, None).unwrap();
    StencilProblem::new(shape, stencil, edge, steps).unwrap()
}

fn exact(problem: &StencilProblem, u: &[f32]) -> Vec<f64> {
    let input = NamedArrays::from_array("u", problem.shape(), u.to_vec());
    let reference = problem.reference(&input).unwrap();
    match &reference.arrays[0].exact {
        Exact::Real(values) => values.clone(),
        other => panic!("{other:?}"),
    }
}

/// Expected values by hand: coefficients 0.4 and 0.15 over the array 1 2 / 3 4.
#[test]
fn edges_are_what_they_are_called() {
    let u = [1.0, 2.0, 3.0, 4.0];
    let corner = |edge| exact(&problem(&[2, 2], 5, edge, 1), &u)[0];
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-7, "{a} {b}");
    close(corner(Edge::Zero), 0.4 + 0.15 * (2.0 + 3.0));
    close(corner(Edge::Fixed), 1.0);
    close(corner(Edge::Mirrored), 0.4 + 0.15 * (2.0 + 3.0 + 1.0 + 1.0));
    close(corner(Edge::Periodic), 0.4 + 0.15 * (2.0 + 3.0 + 2.0 + 3.0));
}

/// The mean of a constant array is the constant, if nothing is lost beyond the edges.
#[test]
fn means_keep_what_is_even() {
    for (shape, points) in [
        (&[3, 5][..], 5),
        (&[3, 5], 9),
        (&[2, 3, 5], 7),
        (&[2, 3, 5], 19),
        (&[1, 1, 1], 27),
    ] {
        for edge in [Edge::Fixed, Edge::Mirrored, Edge::Periodic] {
            let problem = problem(shape, points, edge, 3);
            let u = vec![7.0; problem.elements()];
            for v in exact(&problem, &u) {
                assert!((v - 7.0).abs() < 1e-5, "{}: {v}", problem.title());
            }
        }
    }
}

/// Coefficients of every element that equal those of the classes give the same result.
#[test]
fn coefficients_of_elements_are_row_by_row() {
    let one = problem(&[2, 3, 4], 7, Edge::Zero, 2);
    let input = one.input(Case::Random, 4);
    let many = one.clone().per_element();
    let mut c = Vec::new();
    for _ in 0..6 {
        for point in one.stencil().points() {
            c.extend([point.coefficient; 4]);
        }
    }
    let both = input.clone().add_array("c", &[2, 3, 7, 4], c);
    assert_eq!(
        one.reference(&input).unwrap(),
        many.reference(&both).unwrap()
    );
}

/// One element by hand: 0.4 u and 0.15 of each neighbour, in the order of the points, rounded once or twice.
#[test]
fn sums_in_order_are_those_of_the_points() {
    let problem = problem(&[3, 3], 5, Edge::Periodic, 1);
    let input = problem.input(Case::Random, 8);
    let u = input.get::<f32>("u").unwrap();
    let order = [(0.15, 1), (0.15, 3), (0.4, 4), (0.15, 5), (0.15, 7)];
    let twice = order.iter().fold(0.0, |sum, (c, at)| sum + c * u[*at]);
    let once = order
        .iter()
        .fold(0.0f32, |sum, (c, at)| f32::mul_add(*c, u[*at], sum));
    let middle = |rounding| {
        let output = problem.compute_in_order(&input, rounding).unwrap();
        output.get::<f32>("v").unwrap()[4]
    };
    assert_eq!(middle(MultiplyAdd::RoundedTwice), twice);
    assert_eq!(middle(MultiplyAdd::Fused), once);
    let all = |rounding| problem.compute_in_order(&input, rounding).unwrap();
    assert_ne!(all(MultiplyAdd::Fused), all(MultiplyAdd::RoundedTwice));
}

#[test]
fn what_is_off_is_noticed() {
    let problem = problem(&[4, 5, 6], 27, Edge::Periodic, 2);
    let input = problem.input(Case::Random, 3);
    let exact: Vec<f32> = exact(&problem, input.get::<f32>("u").unwrap())
        .iter()
        .map(|&v| v as f32)
        .collect();
    let judge = |v: Vec<f32>| problem.judge(&input, &NamedArrays::from_array("v", &[4, 5, 6], v));
    assert!(judge(exact.clone()).is_within_tolerance());
    let mut wrong = exact;
    wrong[17] += 2e-5;
    assert!(!judge(wrong).is_within_tolerance());
}

#[test]
fn stencils_that_are_none_are_refused() {
    assert!(StencilShape::from_classes(6, None).is_err());
    assert!(StencilShape::from_classes(7, Some(&[1.0])).is_err());
    let point = |offset, coefficient| StencilPoint {
        offset,
        coefficient,
    };
    for points in [
        vec![],
        vec![point([0, 0, 2], 1.0)],
        vec![point([1, 0, 0], 1.0)],
        vec![point([0, 0, 0], f32::NAN)],
        vec![point([0, 0, 1], 1.0), point([0, 0, 1], 2.0)],
    ] {
        assert!(StencilShape::new(2, points).is_err());
    }
    let star = StencilShape::from_classes(7, None).unwrap();
    assert!(star.is_of_classes());
    assert!(StencilProblem::new(&[4, 4], star.clone(), Edge::Zero, 1).is_err());
    assert!(StencilProblem::new(&[4, 4, 0], star.clone(), Edge::Zero, 1).is_err());
    assert!(StencilProblem::new(&[4, 4, 4], star, Edge::Zero, 0).is_err());
    let shifted = StencilShape::new(2, vec![point([0, 1, 0], 1.0)]).unwrap();
    assert!(!shifted.is_of_classes());
}

/// After many steps of a decaying field, values that single precision has flushed to 0 are no large error.
#[test]
fn errors_below_single_precision_are_small() {
    let problem = problem(&[3, 3], 5, Edge::Zero, 1000);
    let input = problem.input(Case::Random, 1);
    let exact = exact(&problem, input.get("u").unwrap());
    assert!(exact.iter().all(|x| x.abs() < 1e-50));
    let zeros = NamedArrays::from_array("v", &[3, 3], vec![0.0f32; 9]);
    let verdict = problem.judge(&input, &zeros);
    assert!(
        verdict.is_within_tolerance() && verdict.rms < 1e-10,
        "{verdict:?}"
    );
    // An error that single precision can represent is noticed.
    let wrong = NamedArrays::from_array("v", &[3, 3], vec![1e-37f32; 9]);
    let verdict = problem.judge(&input, &wrong);
    assert!(
        !verdict.is_within_tolerance() && verdict.rms > 1.0,
        "{verdict:?}"
    );
}
