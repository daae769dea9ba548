//! The kernel library: algorithms for CP2 in hand-written assembly, and what
//! they are checked against.
//!
//! A *problem* ([`Problem`]) says what is to be computed: its inputs, its
//! reference in double precision and how large an error may be. It knows no
//! machine. A *plan* ([`Plan`]) computes it on some machine; this crate's plans
//! page the data through an emulated CP2: each describes a [`Job`]. Builds for other machines implement
//! the same trait and are judged by the same problems.

mod assembly;
mod backend;
pub mod bench;
pub mod chain;
pub mod conv;
pub mod dsp;
pub mod fft;
pub mod job;
mod judging;
pub mod map;
mod pipeline;
mod random;
pub mod registry;
mod relayout;
mod ring;

pub use assembly::{Lack, Unfit};
pub use backend::{Part, Plan, Problem, Tally, Verdict};
pub use job::{Job, JobError, KernelRun, PreparedJob};
pub use judging::judged;
pub use pipeline::Unschedulable;
pub use random::Random;
