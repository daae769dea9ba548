//! Operations on vectors and small matrices: element by element, reductions of rows, matrix
//! products, transposes, windows.
//!
//! # How exact
//!
//! What rounds once is off by half a unit of the last place of its result; what uses an approximation
//! of a root, an angle or a logarithm by the units that [`MapOp`] says. A sum of k terms may be made
//! in any order: rounding errors that do not add up leave 2^-24 (4 + 2 sqrt k) of the sum of the
//! terms' sizes, even of terms of one sign. (The bound of the worst order, 2^-24 k, would hide a term that
//! was left out.) Products below the normal numbers are off by half a unit of 2^-149 each.

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

/// Seeds from those of an array to those of the next.
const SEEDS: u64 = 1 << 32;

/// The random numbers of array `index` of an input.
fn stream(seed: u64, index: u64) -> Random {
    Random::new(seed.wrapping_add(index.wrapping_mul(SEEDS)))
}

/// The error of a sum of `terms` products whose sizes add up to `sizes`.
fn sum_error(terms: usize, sizes: f64) -> f64 {
    let k = terms as f64;
    ROUNDING * (4.0 + 2.0 * k.sqrt()) * sizes + 2.0 * k * TINIEST
}

/// A unit of the last place of a result of that size.
fn unit(result: f64) -> f64 {
    let size = result.abs();
    if !size.is_finite() {
        // Nothing but the same is right.
        return 0.0;
    }
    if size < f64::from(f32::MIN_POSITIVE) {
        return TINIEST;
    }
    libm::ldexp(1.0, libm::ilogb(size) - 23)
}

/// Declares an enumeration of operations, and one of each as a list: an
/// operation that is added is in the list, and whoever goes through it has to know it.
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
            /// One of each operation, those with parameters with usual ones.
            #[must_use]
            pub fn all() -> Vec<Self> {
                vec![$(Self::$variant $(($example))?,)*]
            }
        }
    };
}
use operations;
