//! Sparse matrices times vectors, and systems of equations.

mod compressed_rows;
pub mod diagonal;
mod entry;
mod error;
mod format;
pub mod gather;
mod iteration_operators;
#[cfg(test)]
mod judged_products;
mod krylov;
mod listed_pages;
mod method;
mod multi_vector;
mod power_iteration;
mod product;
pub mod sell;
pub(crate) mod vector_passes;
mod work;

/// Rows, columns and the kind of a part of a matrix.
pub type MatrixRegion = (std::ops::Range<usize>, std::ops::Range<usize>, usize);

pub use compressed_rows::{Packing, csr_ratio};
pub(crate) use entry::ENTRIES;
pub use error::SparseError;
pub use format::{PackedFormat, UnknownFormat};
pub use iteration_operators::Operator;
pub(crate) use iteration_operators::{IterationPlan, Operators, quotient};
pub use krylov::Solver;
pub(crate) use krylov::solve;
pub use method::Products;
pub(crate) use method::product;
pub use power_iteration::PowerIterations;
pub(crate) use power_iteration::power;
pub use product::{FormatCost, PackedMatrix, PlacedProduct};
pub use work::PackingWork;
