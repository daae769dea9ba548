//! Iterations in double precision, with bounds of single-precision errors.
//!
//! With u = 2^-24, s0 is a sum of 19 terms in any order. Each goes through at most 18 additions, a product and the
//! sign of a difference, so that the error is at most 20 u S, S the sum of the terms' absolute values (Higham,
//! *Accuracy and Stability of Numerical Algorithms*, 2nd ed., section 3.1). The product with a3, the subtraction of p
//! and the product with bnd round once each: the error of ss is at most 24 u M with M = |bnd| (|a3| S + |p|), one unit
//! for the higher orders among them. The new p is p + omega ss: omega ss is rounded, and so is the sum, which makes
//! 28 u (M + |p|) enough; omega is below 1. Each product may be subnormal, which adds half the smallest number, times
//! what it is multiplied by afterwards.
//!
//! An error e of p goes into ss as |bnd| (|a3| sum |c| e + e), and into the new p as |1 - omega bnd| e +
//! omega |bnd| |a3| sum |c| e. Then gosa = sum ss^2 changes by at most sum (2 |ss| e + e^2). Squares may be added up
//! in single precision, in parts: with the rounding of a square, 128 u gosa allow for 126 additions one after the
//! other.

use super::{HimenoArrays, HimenoProblem};
use crate::{ROUNDING, TINIEST};

/// Roundings of ss.
const CHANGE: f64 = 24.0;
/// Roundings of the new p.
const NEW: f64 = 28.0;
/// Roundings of a square and of its additions.
const SQUARES: f64 = 128.0;

/// Results in double precision with the errors that others may have.
pub(super) struct HimenoExact {
    pub(super) p: Vec<f64>,
    pub(super) errors: Vec<f64>,
    pub(super) gosa: f64,
    pub(super) gosa_error: f64,
}

/// Sums over the terms of s0.
#[derive(Default)]
struct TermSums {
    /// The terms.
    value: f64,
    /// Their absolute values.
    size: f64,
    /// Absolute values of coefficients times the errors of p.
    error: f64,
}

impl HimenoProblem {
    /// Computes p after all iterations and gosa of the last one, with their errors.
    pub(super) fn exact(&self, arrays: &HimenoArrays<'_>) -> HimenoExact {
        let p: Vec<f64> = arrays.p.iter().map(|&x| x.into()).collect();
        let errors = vec![0.0; p.len()];
        let mut next = (p.clone(), errors.clone());
        let mut found = HimenoExact {
            p,
            errors,
            gosa: 0.0,
            gosa_error: 0.0,
        };
        for _ in 0..self.iterations {
            self.iterate(arrays, &mut found, &mut next);
            std::mem::swap(&mut found.p, &mut next.0);
            std::mem::swap(&mut found.errors, &mut next.1);
        }
        found
    }

    /// Computes an iteration; p and its errors go to `next`, whose points at faces are there already.
    fn iterate(
        &self,
        arrays: &HimenoArrays<'_>,
        found: &mut HimenoExact,
        next: &mut (Vec<f64>, Vec<f64>),
    ) {
        let [planes, rows, columns] = self.shape;
        let omega = f64::from(Self::OMEGA);
        let (mut gosa, mut gosa_error) = (0.0, 0.0);
        for z in 1..planes - 1 {
            for y in 1..rows - 1 {
                let row = (z * rows + y) * columns;
                for at in row + 1..row + columns - 1 {
                    let sums = self.terms(arrays, found, at);
                    let [a3, source, mask] = [arrays.a[3], arrays.wrk1, arrays.bnd];
                    let [a3, source, mask] = [a3, source, mask].map(|x| f64::from(x[at]));
                    let (p, error) = (found.p[at], found.errors[at]);
                    let change = ((sums.value + source) * a3 - p) * mask;
                    let (mask, gain) = (mask.abs(), (mask * a3).abs());
                    let size = gain * (sums.size + source.abs()) + mask * p.abs();
                    let tiny = TINIEST * (8.0 + 32.0 * gain + 2.0 * mask);
                    let own = gain * sums.error + mask * error;
                    let own = own + CHANGE * ROUNDING * size + tiny;
                    gosa += change * change;
                    gosa_error += 2.0 * change.abs() * own + own * own + TINIEST;
                    next.0[at] = p + omega * change;
                    let kept = (1.0 - omega * f64::from(arrays.bnd[at])).abs();
                    next.1[at] = kept * error
                        + omega * gain * sums.error
                        + NEW * ROUNDING * (size + p.abs())
                        + tiny;
                }
            }
        }
        found.gosa = gosa;
        found.gosa_error = gosa_error + SQUARES * ROUNDING * gosa;
    }

    /// Adds up the terms of s0 of a point.
    fn terms(&self, arrays: &HimenoArrays<'_>, found: &HimenoExact, at: usize) -> TermSums {
        let [_, rows, columns] = self.shape;
        let strides = [rows * columns, columns, 1];
        let mut sums = TermSums::default();
        let mut add = |coefficient: &[f32], there: usize, sign: f64| {
            let coefficient = f64::from(coefficient[at]);
            let term = coefficient * found.p[there];
            sums.value += sign * term;
            sums.size += term.abs();
            sums.error += coefficient.abs() * found.errors[there];
        };
        for (axis, stride) in strides.into_iter().enumerate() {
            add(arrays.a[axis], at + stride, 1.0);
            add(arrays.c[axis], at - stride, 1.0);
        }
        // The coefficients b belong to pairs of axes: b0 to planes and rows, b1 to rows and columns, b2 to both others.
        for (b, [one, other]) in arrays.b.iter().zip([[0, 1], [1, 2], [0, 2]]) {
            let [one, other] = [strides[one], strides[other]];
            add(b, at + one + other, 1.0);
            add(b, at + one - other, -1.0);
            add(b, at - one + other, -1.0);
            add(b, at - one - other, 1.0);
        }
        sums
    }
}
