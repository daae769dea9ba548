//! Ranks of MPI as a transport between processors.
//!
//! MPI stands in for the links between processors only as far as host programs are concerned: what a message takes
//! in simulated time is computed by [`cp2_network`], equal on all ranks. Without the feature `mpi` the crate is empty,
//! so that a workspace without an MPI library builds, tests and lints.

#[cfg(feature = "mpi")]
mod transport;

#[cfg(feature = "mpi")]
pub use transport::{MpiTransport, abort_ranks};
