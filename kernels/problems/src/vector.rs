//! Operations on vectors and small matrices.
//!
//! Element by element operations, reductions of rows, matrix products, transposes and windows.
//!
//! # Accuracy
//!
//! A result that is rounded once has an error of half a unit of its last place. Approximations of a root, an
//! angle or a logarithm have the errors that [`MapOp`] states. A sum of k terms may be computed in any order:
//! rounding errors that do not add up leave 2^-24 (4 + 2 sqrt k) of the sum of the terms' sizes, even for
//! terms of one sign. (The bound for the worst order, 2^-24 k, would hide a term that was left out.) Products
//! below the normal numbers have errors of half a unit of 2^-149 each.

mod map;
mod matrix;
mod product;
mod reduce;
mod transpose;
mod window;

pub use map::{MapOp, MapProblem};
pub use matrix::BeamProblem;
pub use product::ProductProblem;
pub use reduce::{ReduceProblem, ReductionOp};
pub use transpose::TransposeProblem;
pub use window::WindowFunction;

use crate::random::Random;
use crate::{ROUNDING, TINIEST};

/// Distance between the seeds of two arrays of an input.
const SEEDS: u64 = 1 << 32;

/// Returns the random stream of array `index` of an input.
fn stream(seed: u64, index: u64) -> Random {
    Random::new(seed.wrapping_add(index.wrapping_mul(SEEDS)))
}

/// The error that [`sum_error`] returns, in words.
const SUM_IN_WORDS: &str = "2^-24 (4 + 2 sqrt k) of the sum of the sizes of k terms: a sum in any order whose roundings do not add up";

/// Returns the error that a sum of `terms` products may have whose sizes add up to `sizes`.
fn sum_error(terms: usize, sizes: f64) -> f64 {
    let k = terms as f64;
    ROUNDING * (4.0 + 2.0 * k.sqrt()) * sizes + 2.0 * k * TINIEST
}

/// Returns the unit of the last place of a result.
fn unit(result: f64) -> f64 {
    let size = result.abs();
    if !size.is_finite() {
        // An infinity or NaN must be matched exactly.
        return 0.0;
    }
    if size < f64::from(f32::MIN_POSITIVE) {
        return TINIEST;
    }
    libm::ldexp(1.0, libm::ilogb(size) - 23)
}

/// Declares an enumeration of operations and a list with one of each, so that code which goes through the
/// list meets every new operation.
macro_rules! operations {
    (
        $(#[$about:meta])*
        pub enum $name:ident {
            $($(#[$doc:meta])* $variant:ident $(($value:ty = $example:expr))?,)*
        }
    ) => {
        $(#[$about])*
        pub enum $name {
            $($(#[$doc])* $variant $(($value))?,)*
        }

        impl $name {
            /// Returns one of each operation, with usual parameters.
            #[must_use]
            pub fn all() -> Vec<Self> {
                vec![$(Self::$variant $(($example))?,)*]
            }
        }
    };
}
use operations;
