//! The exact output of a problem, and the errors that an output may have.

use crate::data::{Array, NamedArrays, Values};
use crate::double_single::{join_complex, join_double};
use crate::verdict::{PartVerdict, Tally, Verdict};
use crate::widen;
use num_complex::Complex64;

/// The exact elements of an array.
#[derive(Clone, Debug, PartialEq)]
pub enum Exact {
    /// Real numbers.
    Real(Vec<f64>),
    /// Complex numbers.
    Complex(Vec<Complex64>),
    /// Elements that must be equal bit by bit.
    Same(Values),
}

/// An array of a problem's output with its exact elements.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedArray {
    /// Name of the array.
    pub name: &'static str,
    /// Shape of the array.
    pub shape: Vec<usize>,
    /// Exact elements.
    pub exact: Exact,
    /// Number of elements of a part. The error of a part is the L2 norm of the errors of its elements.
    pub part: usize,
    /// Error that each part may have; empty for [`Exact::Same`].
    pub allowed: Vec<f64>,
}

/// All exact outputs of a problem.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reference {
    /// The output arrays.
    pub arrays: Vec<ExpectedArray>,
}

impl Reference {
    /// Returns the reference of one output array.
    #[must_use]
    pub fn from_array(array: ExpectedArray) -> Self {
        Self {
            arrays: vec![array],
        }
    }

    /// Compares an output with the exact one.
    #[must_use]
    pub fn judge(&self, output: &NamedArrays) -> Verdict {
        let mut tally = Tally::default();
        let judged = self.judge_each(output, &mut |part| tally.add(part));
        judged.map_or(Verdict::SHAPELESS, |()| tally.verdict())
    }

    /// Returns the parts of an output with their errors; none for an output of another shape.
    #[must_use]
    pub fn judge_parts(&self, output: &NamedArrays) -> Option<Vec<PartVerdict>> {
        let mut parts = Vec::new();
        self.judge_each(output, &mut |part| parts.push(part))?;
        Some(parts)
    }

    fn judge_each(&self, output: &NamedArrays, add: &mut dyn FnMut(PartVerdict)) -> Option<()> {
        for expected in &self.arrays {
            expected.compare(expected.find_matching(output)?, 1.0, add)?;
        }
        Some(())
    }

    /// Compares two outputs with each other: their distance may be twice the error that each may have.
    #[must_use]
    pub fn agree(&self, one: &NamedArrays, other: &NamedArrays) -> Verdict {
        let mut tally = Tally::default();
        let compared = self.agree_each(one, other, &mut |part| tally.add(part));
        compared.map_or(Verdict::SHAPELESS, |()| tally.verdict())
    }

    /// Returns the parts of two outputs with their distances, which may be twice the error that each may have;
    /// none for outputs of another shape.
    #[must_use]
    pub fn agree_parts(&self, one: &NamedArrays, other: &NamedArrays) -> Option<Vec<PartVerdict>> {
        let mut parts = Vec::new();
        self.agree_each(one, other, &mut |part| parts.push(part))?;
        Some(parts)
    }

    fn agree_each(
        &self,
        one: &NamedArrays,
        other: &NamedArrays,
        add: &mut dyn FnMut(PartVerdict),
    ) -> Option<()> {
        for expected in &self.arrays {
            let one = expected.find_matching(one)?;
            let other = expected.find_matching(other)?;
            let exact = match &one.values {
                Values::F32(x) => Exact::Real(x.iter().map(|&x| x.into()).collect()),
                Values::F64(x) => Exact::Real(x.clone()),
                Values::Complex64(x) => Exact::Complex(x.iter().map(|&z| widen(z)).collect()),
                Values::Complex128(x) => Exact::Complex(x.clone()),
                Values::DoubleSingle(x) => Exact::Real(x.iter().map(|&x| join_double(x)).collect()),
                Values::ComplexDoubleSingle(x) => {
                    Exact::Complex(x.iter().map(|&z| join_complex(z)).collect())
                }
                others => Exact::Same(others.clone()),
            };
            let exact = match &expected.exact {
                Exact::Same(_) => Exact::Same(one.values.clone()),
                _ => exact,
            };
            let first = ExpectedArray {
                exact,
                ..expected.clone()
            };
            first.compare(other, 2.0, add)?;
        }
        Some(())
    }
}

/// The smallest normal number of single precision.
const SMALL: f64 = f32::MIN_POSITIVE as f64;

impl ExpectedArray {
    /// Returns the array of the output, if it has the shape.
    fn find_matching<'a>(&self, output: &'a NamedArrays) -> Option<&'a Array> {
        let found = output.array(self.name).ok()?;
        let whole = found.shape.iter().product::<usize>() == found.values.len();
        (whole && found.shape == self.shape).then_some(found)
    }

    /// Gives the parts of an array to `add`. Returns none if its elements are of another type.
    fn compare(
        &self,
        found: &Array,
        tolerance: f64,
        add: &mut dyn FnMut(PartVerdict),
    ) -> Option<()> {
        let real = |x: &[f64],
                    y: &mut dyn ExactSizeIterator<Item = f64>,
                    add: &mut dyn FnMut(PartVerdict)| {
            self.parts(x, y, tolerance, add, |x, y| {
                // A NaN is right where the exact element is NaN.
                let same = *x == y || (x.is_nan() && y.is_nan());
                let error = if same { 0.0 } else { (x - y) * (x - y) };
                (error, if x.is_finite() { x * x } else { 0.0 })
            })
        };
        let complex = |x: &[Complex64],
                       y: &mut dyn ExactSizeIterator<Item = Complex64>,
                       add: &mut dyn FnMut(PartVerdict)| {
            self.parts(x, y, tolerance, add, |x, y| {
                // Which part of a complex product with an infinity is infinite depends on how products are
                // computed, so all infinities are equal.
                match (x.is_finite(), y.is_finite()) {
                    (false, false) => (0.0, 0.0),
                    (false, true) => (f64::INFINITY, 0.0),
                    (true, _) => ((x - y).norm_sqr(), x.norm_sqr()),
                }
            })
        };
        match (&self.exact, &found.values) {
            (Exact::Real(x), Values::F32(y)) => real(x, &mut y.iter().map(|&y| y.into()), add),
            (Exact::Real(x), Values::F64(y)) => real(x, &mut y.iter().copied(), add),
            (Exact::Complex(x), Values::Complex64(y)) => {
                complex(x, &mut y.iter().map(|&y| widen(y)), add)
            }
            (Exact::Complex(x), Values::Complex128(y)) => complex(x, &mut y.iter().copied(), add),
            (Exact::Real(x), Values::DoubleSingle(y)) => {
                real(x, &mut y.iter().map(|&y| join_double(y)), add)
            }
            (Exact::Complex(x), Values::ComplexDoubleSingle(y)) => {
                complex(x, &mut y.iter().map(|&y| join_complex(y)), add)
            }
            (Exact::Same(x), y) if x.kind() == y.kind() && x.len() == y.len() => {
                let same = x.bytes() == y.bytes();
                add(PartVerdict {
                    error: if same { 0.0 } else { 1.0 },
                    norm: 1.0,
                    allowed: 0.0,
                });
                Some(())
            }
            _ => None,
        }
    }

    /// Gives the parts to `add` one by one; `of` returns the squares of an element's error and size. Returns none
    /// unless every part has a reference and an allowed error.
    fn parts<X, Y>(
        &self,
        exact: &[X],
        found: &mut dyn ExactSizeIterator<Item = Y>,
        tolerance: f64,
        add: &mut dyn FnMut(PartVerdict),
        of: impl Fn(&X, Y) -> (f64, f64),
    ) -> Option<()> {
        let parts = exact.chunks(self.part.max(1));
        if found.len() != exact.len() || parts.len() != self.allowed.len() {
            return None;
        }
        let parts = parts.zip(&self.allowed);
        for (part, allowed) in parts {
            let (mut error, mut norm) = (0.0, 0.0);
            for (x, y) in part.iter().zip(&mut *found) {
                let (e, n) = of(x, y);
                error += e;
                // Numbers below the normal range are known to the smallest number only, not to a share of
                // their size.
                norm += n.max(SMALL * SMALL);
            }
            add(PartVerdict {
                error,
                norm,
                allowed: tolerance * allowed,
            });
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expected() -> Reference {
        let floats = ExpectedArray {
            name: "y",
            shape: vec![2, 2],
            exact: Exact::Real(vec![1.0, 2.0, f64::NEG_INFINITY, 4.0]),
            part: 1,
            allowed: vec![1e-3; 4],
        };
        let places = ExpectedArray {
            name: "place",
            shape: vec![2],
            exact: Exact::Same(Values::U32(vec![3, 4])),
            part: 1,
            allowed: Vec::new(),
        };
        Reference {
            arrays: vec![floats, places],
        }
    }

    fn make_result(y: [f32; 4], place: [u32; 2]) -> NamedArrays {
        NamedArrays::from_array("y", &[2, 2], y.to_vec()).add_array("place", &[2], place.to_vec())
    }

    #[test]
    fn every_array_is_looked_at() {
        let right = [1.0, 2.0005, f32::NEG_INFINITY, 4.0];
        assert!(
            expected()
                .judge(&make_result(right, [3, 4]))
                .is_within_tolerance()
        );
        assert!(
            !expected()
                .judge(&make_result(right, [3, 5]))
                .is_within_tolerance()
        );
        for wrong in [
            [1.0, 2.0, f32::NEG_INFINITY, 4.002],
            [1.0, 2.0, f32::INFINITY, 4.0],
            [1.0, f32::NAN, f32::NEG_INFINITY, 4.0],
        ] {
            assert!(
                !expected()
                    .judge(&make_result(wrong, [3, 4]))
                    .is_within_tolerance(),
                "{wrong:?}"
            );
        }
    }

    #[test]
    fn shapes_kinds_and_names_matter() {
        let y = vec![1.0f32, 2.0, f32::NEG_INFINITY, 4.0];
        let place = vec![3u32, 4];
        let of = |name, shape: &[usize]| NamedArrays::from_array(name, shape, y.clone());
        let with = |data: NamedArrays| data.add_array("place", &[2], place.clone());
        assert!(
            expected()
                .judge(&with(of("y", &[2, 2])))
                .is_within_tolerance()
        );
        assert!(!expected().judge(&with(of("y", &[4]))).is_within_tolerance());
        assert!(
            !expected()
                .judge(&with(of("z", &[2, 2])))
                .is_within_tolerance()
        );
        assert!(!expected().judge(&of("y", &[2, 2])).is_within_tolerance());
        let signed = of("y", &[2, 2]).add_array("place", &[2], vec![3i32, 4]);
        assert!(!expected().judge(&signed).is_within_tolerance());
        let wide: Vec<f64> = y.iter().map(|&y| y.into()).collect();
        assert!(
            expected()
                .judge(&with(NamedArrays::from_array("y", &[2, 2], wide)))
                .is_within_tolerance()
        );
    }

    /// A part without a reference, or without a known allowed error, is an error and is not skipped.
    #[test]
    fn every_part_has_a_reference_and_what_it_is_allowed() {
        let output = make_result([1.0, 2.0, 3.0, 4.0], [3, 4]);
        assert!(!Reference::default().judge(&output).is_within_tolerance());
        let of = |exact: usize, allowed: usize| {
            let array = ExpectedArray {
                name: "y",
                shape: vec![2, 2],
                exact: Exact::Real([1.0, 2.0, 3.0, 4.0].iter().copied().take(exact).collect()),
                part: 1,
                allowed: vec![1e-3; allowed],
            };
            let reference = Reference::from_array(array);
            let agree = reference.agree(&output, &output).is_within_tolerance();
            [reference.judge(&output).is_within_tolerance(), agree]
        };
        assert_eq!(of(4, 4), [true; 2]);
        assert_eq!(of(3, 3), [false; 2]);
        assert_eq!(of(4, 3), [false; 2]);
        assert_eq!(of(4, 0), [false; 2]);
    }

    #[test]
    fn what_is_no_number_is_where_it_should_be() {
        let of = |exact| ExpectedArray {
            name: "y",
            shape: vec![2],
            exact,
            part: 1,
            allowed: vec![1e-3; 2],
        };
        let real = Reference::from_array(of(Exact::Real(vec![f64::NAN, 1.0])));
        let holds = |y: [f32; 2]| {
            real.judge(&NamedArrays::from_array("y", &[2], y.to_vec()))
                .is_within_tolerance()
        };
        assert!(holds([f32::NAN, 1.0]));
        for wrong in [[f32::INFINITY, 1.0], [0.0, 1.0], [f32::NAN, f32::NAN]] {
            assert!(!holds(wrong), "{wrong:?}");
        }
        let z = num_complex::Complex32::new;
        let infinite = Complex64::new(f64::INFINITY, f64::NAN);
        let complex = Reference::from_array(of(Exact::Complex(vec![infinite, 1.0.into()])));
        let holds = |y: Vec<_>| {
            complex
                .judge(&NamedArrays::from_array("y", &[2], y))
                .is_within_tolerance()
        };
        assert!(holds(vec![z(f32::NAN, f32::NEG_INFINITY), z(1.0, 0.0)]));
        assert!(!holds(vec![z(1.0, 0.0), z(1.0, 0.0)]));
        assert!(!holds(vec![z(f32::NAN, 0.0), z(f32::NAN, 0.0)]));
    }

    #[test]
    fn two_outputs_may_be_twice_as_far_apart() {
        let at = |y: f32| make_result([y, 2.0, f32::NEG_INFINITY, 4.0], [3, 4]);
        let agree = |a: f32, b: f32| expected().agree(&at(a), &at(b)).is_within_tolerance();
        assert!(agree(0.9992, 1.0008) && !agree(0.9985, 1.0008));
        let other = make_result([1.0, 2.0, f32::NEG_INFINITY, 4.0], [3, 5]);
        assert!(!expected().agree(&at(1.0), &other).is_within_tolerance());
    }
}
