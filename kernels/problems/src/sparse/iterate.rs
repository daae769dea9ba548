//! The methods, in any precision.

use super::method::{MethodEnd, SolverMethod};
use super::{SolveProblem, SparseMatrix};
use crate::real::{Real, add, direct, dot};

/// What a method gives.
#[derive(Clone, Debug, PartialEq)]
pub struct Solved<T> {
    /// x.
    pub x: Vec<T>,
    /// |r| / |b| of the residual that is updated, at first and behind each iteration.
    pub residuals: Vec<f64>,
    /// How it ended.
    pub end: MethodEnd,
}

/// A matrix, multiplied in a precision.
fn times<T: Real>(matrix: &SparseMatrix, x: &[T]) -> Vec<T> {
    let row = |i| {
        let products = matrix.real_row(i);
        products.fold(T::default(), |sum, (j, a)| {
            sum + T::from_f64(a.into()) * x[j]
        })
    };
    (0..matrix.rows()).map(row).collect()
}

/// A vector divided by the diagonal, if that is to be done.
fn divided<T: Real>(inverse: Option<&[T]>, r: &[T]) -> Vec<T> {
    match inverse {
        Some(inverse) => inverse.iter().zip(r).map(|(&d, &r)| d * r).collect(),
        None => r.to_vec(),
    }
}

impl SolveProblem {
    /// The method in a precision; sums of products are made in double precision. What `b` lacks of as many numbers as there are rows is 0. It is multiplied
    /// by a power of two that brings its length near 1, and x by the inverse of that, so that no precision's least number comes into the way.
    #[must_use]
    pub fn solve<T: Real>(&self, b: &[f32]) -> Solved<T> {
        let square: f64 = b.iter().map(|&b| f64::from(b) * f64::from(b)).sum();
        // 0, and what is no number, stays as it is.
        let exponent = match square.is_normal() {
            true => -libm::ilogb(square) / 2,
            false => 0,
        };
        let scaled = |x: f64, exponent: i32| T::from_f64(libm::ldexp(x, exponent));
        let mut b: Vec<T> = b.iter().map(|&b| scaled(b.into(), exponent)).collect();
        b.resize(self.matrix().rows(), T::default());
        let inverse: Option<Vec<T>> = self
            .preconditioner()
            .map(|inverse| inverse.iter().map(|&d| T::from_f64(d.into())).collect());
        let mut watch = self.watch();
        let norm = dot(&b, &b).sqrt();
        let mut x = vec![T::default(); b.len()];
        let end = if norm == 0.0 {
            watch.note(0.0).unwrap_or(MethodEnd::Converged)
        } else {
            let mut note = |r: &[T]| watch.note(dot(r, r).sqrt() / norm);
            match self.method() {
                SolverMethod::Cg | SolverMethod::Pcg => {
                    self.gradients(b, inverse.as_deref(), &mut x, &mut note)
                }
                SolverMethod::Bicgstab => self.stabilised(b, inverse.as_deref(), &mut x, &mut note),
            }
        };
        let x = x.into_iter().map(|x| scaled(x.wide(), -exponent));
        Solved {
            x: x.collect(),
            residuals: watch.residuals().to_vec(),
            end,
        }
    }

    /// Conjugate gradients.
    fn gradients<T: Real>(
        &self,
        mut r: Vec<T>,
        inverse: Option<&[T]>,
        x: &mut [T],
        note: &mut dyn FnMut(&[T]) -> Option<MethodEnd>,
    ) -> MethodEnd {
        if let Some(end) = note(&r) {
            return end;
        }
        let mut p = divided(inverse, &r);
        let mut rho = dot(&r, &p);
        loop {
            let q = times(self.matrix(), &p);
            let curvature = dot(&p, &q);
            if !curvature.is_finite() {
                return MethodEnd::Diverged;
            }
            if curvature <= 0.0 {
                return MethodEnd::Breakdown;
            }
            let alpha = rho / curvature;
            add(x, alpha, &p);
            add(&mut r, -alpha, &q);
            if let Some(end) = note(&r) {
                return end;
            }
            let z = divided(inverse, &r);
            let before = std::mem::replace(&mut rho, dot(&r, &z));
            if rho == 0.0 {
                return MethodEnd::Breakdown;
            }
            direct(&mut p, rho / before, &z);
        }
    }

    /// Stabilised biconjugate gradients.
    fn stabilised<T: Real>(
        &self,
        mut r: Vec<T>,
        inverse: Option<&[T]>,
        x: &mut [T],
        note: &mut dyn FnMut(&[T]) -> Option<MethodEnd>,
    ) -> MethodEnd {
        if let Some(end) = note(&r) {
            return end;
        }
        let shadow = r.clone();
        let mut p = r.clone();
        let mut rho = dot(&shadow, &r);
        loop {
            let y = divided(inverse, &p);
            let v = times(self.matrix(), &y);
            let across = dot(&shadow, &v);
            if !across.is_finite() {
                return MethodEnd::Diverged;
            }
            if across == 0.0 {
                return MethodEnd::Breakdown;
            }
            let alpha = rho / across;
            add(x, alpha, &y);
            add(&mut r, -alpha, &v);
            let z = divided(inverse, &r);
            let t = times(self.matrix(), &z);
            let size = dot(&t, &t);
            // Where nothing is left of t nothing is left of r, or it cannot be made smaller that way.
            let omega = if size == 0.0 { 0.0 } else { dot(&t, &r) / size };
            add(x, omega, &z);
            add(&mut r, -omega, &t);
            if let Some(end) = note(&r) {
                return end;
            }
            let before = std::mem::replace(&mut rho, dot(&shadow, &r));
            if omega == 0.0 || rho == 0.0 {
                return MethodEnd::Breakdown;
            }
            let beta = rho / before * (alpha / omega);
            add(&mut p, -omega, &v);
            direct(&mut p, beta, &r);
        }
    }
}
