//! CG: the eigenvalue of a sparse matrix that is nearest to a number, by inverse iteration with conjugate gradients.

mod benchmark;
mod matrix;
mod problem;
#[cfg(test)]
mod tests;

pub use benchmark::CgClass;
pub use matrix::WideMatrix;
pub use problem::{CgProblem, Iterated, inverse_iterations};
