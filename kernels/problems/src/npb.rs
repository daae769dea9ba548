//! The NAS Parallel Benchmarks (NPB 3.4): what they compute, their inputs and their official values.
//!
//! A class is a letter that stands for a size. A benchmark is a [`Problem`](crate::Problem) of that size or of
//! any other; what its official value is compared with is part of its class.

pub mod cg;
mod class;
pub mod ft;
mod generator;
pub mod mg;

pub use class::{NpbClass, UnknownClass};
pub use ft::FtProblem;
pub use generator::Generator;
