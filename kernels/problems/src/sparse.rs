//! Sparse matrices: storage, sources, and the problems that use them.

mod confirm;
mod iterate;
mod judge;
mod market;
mod matrix;
mod method;
mod pattern;
mod places;
mod power;
mod product;
mod solve;
mod symmetry;
#[cfg(test)]
mod tests;
mod triplets;

pub use confirm::{Confirmation, SolveOutcome};
pub use iterate::Solved;
pub use market::{MarketError, read_market};
pub use matrix::{MatrixEntries, MatrixError, SparseMatrix};
pub use method::{MethodEnd, SolverMethod, Watch};
pub use pattern::{GeneratedMatrix, NumberField, Pattern};
pub use power::{PowerProblem, Powers};
pub use product::SpmvProblem;
pub use solve::SolveProblem;
pub use symmetry::{Significant, Symmetry};
pub use triplets::Triplets;
