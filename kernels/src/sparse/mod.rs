//! Sparse matrices times vectors, and systems of equations.

mod compressed;
pub mod diagonal;
mod error;
mod format;
pub mod gather;
mod method;
mod operators;
mod power;
mod product;
mod registered;
mod several;
mod solve;
pub(crate) mod vectors;
mod work;

/// Rows, columns and the kind of a part of a matrix.
pub type Region = (std::ops::Range<usize>, std::ops::Range<usize>, usize);

pub use compressed::{Packing, csr_ratio};
pub use error::SparseError;
pub use format::{Format, UnknownFormat};
pub use method::Products;
pub(crate) use method::product;
pub use operators::Operator;
pub(crate) use operators::{IterationPlan, Operators, quotient};
pub use power::PowerIterations;
pub(crate) use power::power;
pub use product::{Candidate, PlacedProduct, Product};
pub(crate) use registered::KERNELS;
pub use solve::Solver;
pub(crate) use solve::solve;
pub use work::Work;
