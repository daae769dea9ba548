//! MG: V-cycles of multigrid for the Poisson equation on a periodic cube.

mod benchmark;
mod operators;
mod problem;

pub use benchmark::{MgClass, charges};
pub use operators::PeriodicGrid;
pub use problem::{MgProblem, Smoother, Solution};
