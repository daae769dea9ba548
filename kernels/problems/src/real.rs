//! Precisions of real numbers, and vector operations in any of them.

use std::fmt::Debug;
use std::ops::{Add, Mul, Sub};

/// A floating-point precision in which vectors are computed.
pub trait Real:
    Copy + Default + Debug + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self>
{
    /// Returns the nearest number of this precision.
    fn from_f64(x: f64) -> Self;
    /// Converts the number to double precision.
    fn wide(self) -> f64;
}

impl Real for f64 {
    fn from_f64(x: f64) -> Self {
        x
    }

    fn wide(self) -> f64 {
        self
    }
}

impl Real for f32 {
    fn from_f64(x: f64) -> Self {
        x as Self
    }

    fn wide(self) -> f64 {
        self.into()
    }
}

/// Returns the inner product of two vectors, in double precision.
pub(crate) fn dot<T: Real>(a: &[T], b: &[T]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a.wide() * b.wide()).sum()
}

/// Adds a multiple of a vector to another: `to += scale * from`.
pub(crate) fn add<T: Real>(to: &mut [T], scale: f64, from: &[T]) {
    let scale = T::from_f64(scale);
    for (to, &from) in to.iter_mut().zip(from) {
        *to = *to + scale * from;
    }
}

/// Updates a search direction: `p = r + scale * p`.
pub(crate) fn direct<T: Real>(p: &mut [T], scale: f64, r: &[T]) {
    let scale = T::from_f64(scale);
    for (p, &r) in p.iter_mut().zip(r) {
        *p = r + scale * *p;
    }
}
