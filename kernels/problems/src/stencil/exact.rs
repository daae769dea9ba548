//! Stencils in double precision, with bounds of single-precision errors.
//!
//! A sum of n products may be computed in any order. Each term goes through at most n additions and three
//! products (its own, that of a class's sum, and one by a ratio of coefficients). To first order the error is
//! at most (n + 3) 2^-24 of the sum of the terms' absolute values (Higham, *Accuracy and Stability of
//! Numerical Algorithms*, 2nd ed., section 3.1; one unit more here for the higher orders), and half the
//! smallest number for each product, which may be subnormal. From step to step the error of u is multiplied
//! by |c|: e'(i) = sum |c| e + (n + 4) 2^-24 sum |c| |u| + (n + 3) tiny.

use super::{Edge, StencilProblem};
use crate::{ROUNDING, TINIEST};

impl StencilProblem {
    /// Computes the elements after all steps, with the error that each may have.
    pub(super) fn exact(&self, u: &[f32], c: Option<&[f32]>) -> (Vec<f64>, Vec<f64>) {
        let mut values: Vec<f64> = u.iter().map(|&x| x.into()).collect();
        let mut errors = vec![0.0; u.len()];
        let mut next = (values.clone(), errors.clone());
        for _ in 0..self.steps {
            self.step((&values, &errors), &mut next, c);
            std::mem::swap(&mut values, &mut next.0);
            std::mem::swap(&mut errors, &mut next.1);
        }
        (values, errors)
    }

    fn step(
        &self,
        (values, errors): (&[f64], &[f64]),
        next: &mut (Vec<f64>, Vec<f64>),
        c: Option<&[f32]>,
    ) {
        let (extents, points) = (self.extents(), self.stencil.points());
        let [planes, rows, columns] = extents;
        let n = points.len() as f64;
        let kept = |at: [usize; 3]| {
            let axes = 3 - self.shape.len()..3;
            self.edge == Edge::Fixed
                && axes
                    .into_iter()
                    .any(|a| at[a] == 0 || at[a] + 1 == extents[a])
        };
        for z in 0..planes {
            for y in 0..rows {
                for x in 0..columns {
                    let at = [z, y, x];
                    let here = (z * rows + y) * columns + x;
                    if kept(at) {
                        next.0[here] = values[here];
                        next.1[here] = errors[here];
                        continue;
                    }
                    let (mut sum, mut size, mut error) = (0.0, 0.0, 0.0);
                    for (p, point) in points.iter().enumerate() {
                        let near = |a: usize| {
                            let at = at[a] as isize + isize::from(point.offset[a]);
                            self.edge.index(at, extents[a])
                        };
                        let (Some(z), Some(y), Some(x)) = (near(0), near(1), near(2)) else {
                            continue;
                        };
                        let there = (z * rows + y) * columns + x;
                        let coefficient = f64::from(match c {
                            Some(c) => {
                                let row = here / columns * points.len() + p;
                                c[row * columns + at[2]]
                            }
                            None => point.coefficient,
                        });
                        sum += coefficient * values[there];
                        size += (coefficient * values[there]).abs();
                        error += coefficient.abs() * errors[there];
                    }
                    next.0[here] = sum;
                    next.1[here] = error + (n + 4.0) * ROUNDING * size + (n + 3.0) * TINIEST;
                }
            }
        }
    }
}
