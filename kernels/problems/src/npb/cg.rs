//! CG: an eigenvalue of a sparse matrix by inverse iteration.
//!
//! Each iteration solves a system with conjugate gradients, and the result is the eigenvalue nearest to the
//! shift.

mod benchmark;
mod matrix;
mod problem;
#[cfg(test)]
mod tests;

pub use benchmark::CgClass;
pub use matrix::WideMatrix;
pub use problem::{CgProblem, Iterated, inverse_iterations};
