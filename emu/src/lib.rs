//! The CP2 emulator: semantics, issue timing, and an event-driven processor.
//!
//! * [`alu`], [`semantics`]: the results of every operation, without time.
//! * [`timing`]: when a word issues and what held it back, without values.
//! * [`Processor`]: CP2, DMA and system memory in one event queue.

mod account;
pub mod alu;
mod check;
mod core;
pub mod cycles;
mod engines;
mod memory;
mod processor;
pub mod semantics;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod timing;
mod transfers;

pub use account::cause::{Cause, Causes};
pub use account::counters::{Counters, WordCounters};
pub use account::work::Work;
pub use check::finding::{Finding, Objection};
pub use check::protection::{Area, Owner, PageAreas, Protection, Sliding};
pub use check::results::{Results, StoredRows};
pub use core::fault::{Fault, FaultKind};
pub use core::{ARGUMENTS, Addresses, Core, Poster};
pub use engines::choice::Engine;
pub use engines::reference::Status;
pub use memory::copy_on_write::{AddressSpans, CopyOnWrite, StoreLog};
pub use memory::{OutOfMemory, SystemRam};
pub use processor::dump::Dump;
pub use processor::observer::{CoreAccess, Observer, Unobserved};
pub use processor::{
    Course, LaunchError, NoEvent, Notice, Processor, Quiet, SubmitError, TranslationPool,
    Translations,
};
pub use transfers::TransferRecord;
