//! The NAS Parallel Benchmarks (NPB 3.4): problems, inputs, official values.
//!
//! A class is a letter that denotes a size. A benchmark is a [`Problem`](crate::Problem) of the size of a
//! class or of any other; only a class has an official value to compare with.

pub mod cg;
mod class;
pub mod ft;
mod generator;
pub mod mg;
mod precision;

pub use class::{NpbClass, UnknownClass};
pub use ft::FtProblem;
pub use generator::Generator;
pub use precision::{Precision, UnknownPrecision};
