//! MG: V-cycles of multigrid for the Poisson equation on a periodic cube.

mod benchmark;
mod operators;
mod problem;

pub use benchmark::{Benchmark, charges};
pub use operators::Grid;
pub use problem::{MgProblem, Smoother, Solution};
