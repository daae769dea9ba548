//! Tests of the `cp2` command as a process: its output and its files.
#![allow(
    clippy::disallowed_methods,
    reason = "oracles may use the host's functions"
)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "helpers of tests")]

mod analyze;
mod attacks;
mod backends;
mod bench;
mod bounds;
mod checks;
mod crosscheck;
mod emitted;
mod fft;
mod fft_refused;
mod figures;
mod filters;
mod jobs;
mod kernels;
mod listings;
mod measure;
#[cfg(target_os = "linux")]
mod memory;
#[cfg(target_os = "linux")]
mod memory_limits;
mod multigrid_processors;
mod network;
mod npb;
mod npb_tables;
mod packing;
mod pipelines;
mod places;
mod processors;
mod readers;
mod readme;
mod schedule;
mod solve;
#[cfg(feature = "gpu")]
mod speeds;
mod spmv;
mod stencil;
#[cfg(target_os = "linux")]
mod threads;
mod transforms;
mod whatif;
mod words;
