//! Iterative methods for A x = b, in any precision.

use super::method::{MethodEnd, SolverMethod};
use super::{SolveProblem, SparseMatrix};
use crate::real::{Real, add, direct, dot};

/// Result of a method.
#[derive(Clone, Debug, PartialEq)]
pub struct Solved<T> {
    /// The solution x.
    pub x: Vec<T>,
    /// Relative norms |r| / |b| of the residual that the method updates, initially and after each iteration.
    pub residuals: Vec<f64>,
    /// The way in which the method ended.
    pub end: MethodEnd,
}

/// Multiplies a matrix by a vector in a precision.
fn times<T: Real>(matrix: &SparseMatrix, x: &[T]) -> Vec<T> {
    let row = |i| {
        let products = matrix.real_row(i);
        products.fold(T::default(), |sum, (j, a)| {
            sum + T::from_f64(a.into()) * x[j]
        })
    };
    (0..matrix.rows()).map(row).collect()
}

/// Multiplies a vector by the inverse of the diagonal, if there is one.
fn divided<T: Real>(inverse: Option<&[T]>, r: &[T]) -> Vec<T> {
    match inverse {
        Some(inverse) => inverse.iter().zip(r).map(|(&d, &r)| d * r).collect(),
        None => r.to_vec(),
    }
}

impl SolveProblem {
    /// Runs the method in any precision; inner products are computed in double precision. If `b` has fewer
    /// numbers than there are rows, the others are 0.
    ///
    /// `b` is multiplied by a power of two that brings its norm near 1, and x by the inverse of that, so that
    /// no precision's smallest number influences the result.
    #[must_use]
    pub fn solve<T: Real>(&self, b: &[f32]) -> Solved<T> {
        let square: f64 = b.iter().map(|&b| f64::from(b) * f64::from(b)).sum();
        // Vectors of norm 0, or with a NaN or an infinity, are not scaled.
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
                SolverMethod::Bicgstab => {
                    self.run_bicgstab(b, inverse.as_deref(), &mut x, &mut note)
                }
            }
        };
        let x = x.into_iter().map(|x| scaled(x.wide(), -exponent));
        Solved {
            x: x.collect(),
            residuals: watch.residuals().to_vec(),
            end,
        }
    }

    /// Runs conjugate gradients; `note` records each residual and tells the end.
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

    /// Runs stabilised biconjugate gradients; `note` records each residual and tells the end.
    fn run_bicgstab<T: Real>(
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
            // If t is 0, then so is r, or r cannot be reduced in this direction.
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
