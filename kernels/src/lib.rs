//! The kernel library: problems computed on an emulated CP2 coprocessor.
//!
//! A *problem* of `cp2_problems` says what is computed: its inputs, its reference in double precision and how
//! large an error may be. A problem knows no machine. This crate computes problems by kernels in hand-written
//! or generated assembly: [`Cp2Backend`] is a backend, and its [`Method`] for a problem describes a [`Job`]
//! that pages the data through the machine. Builds for other machines implement the same traits and are
//! judged by the same problems.

mod assembly;
mod backend;
pub mod bench;
mod catalogue;
pub mod chain;
pub mod conv;
pub mod dsp;
pub mod fft;
pub mod job;
pub mod map;
pub mod npb;
mod pipeline;
pub mod registry;
mod relayout;
mod sections;
pub mod sparse;
pub mod stencil;

pub use assembly::{Lack, Unfit};
pub use backend::{Cp2Backend, Cp2Report, Failure, Method, REFUSED_KINDS, Task};
pub use cp2_asm::schedule::Unschedulable;
pub use cp2_problems::{PartVerdict, Random, Tally, Verdict, judged};
pub use job::{
    EndedJobs, ExchangeError, Job, JobCommunicator, JobError, JobPart, JobProgram, KernelRun,
    MessageRequest, Pass, PreparedJob, ProcessorRun, RegionHandle, price_jobs, run_job_programs,
    run_jobs,
};
