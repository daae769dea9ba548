//! The CP2 emulator: semantics, issue timing, and a processor that advances
//! event by event.
//!
//! * [`alu`], [`semantics`]: what every operation computes, without time.
//! * [`timing`]: when a word issues and what held it back, without values.
//! * [`Processor`]: CP2, DMA and system memory in one event queue.

mod account;
pub mod alu;
mod apart;
mod cause;
mod check;
mod choice;
mod core;
pub mod count;
mod counters;
mod decoded;
mod dump;
mod engine;
mod execute;
mod fast;
mod fault;
mod finding;
mod footprint;
#[cfg_attr(not(target_arch = "x86_64"), path = "hot/absent.rs")]
mod hot;
mod interleave;
mod layout;
mod loaded;
mod local;
mod loops;
mod memory;
mod observer;
mod origins;
mod pages;
mod port;
mod processor;
mod programs;
mod protection;
mod results;
pub mod semantics;
mod simd;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod timing;
mod transfers;
mod turned;
mod waited;
mod work;

pub use apart::{Apart, Spans, Stores};
pub use cause::{Cause, Causes};
pub use choice::Engine;
pub use core::{ARGUMENTS, Addresses, Core, Poster};
pub use counters::{Counters, WordCounters};
pub use dump::Dump;
pub use engine::Status;
pub use fault::{Fault, FaultKind};
pub use finding::{Finding, Objection};
pub use memory::{OutOfMemory, SystemMemory};
pub use observer::{Access, Observer, Unobserved};
pub use processor::{Course, LaunchError, NoEvent, Notice, Processor, Quiet, SubmitError};
pub use protection::{Area, Owner, PageAreas, Protection, Sliding};
pub use results::{Results, StoredRows};
pub use transfers::TransferRecord;
pub use work::Work;
