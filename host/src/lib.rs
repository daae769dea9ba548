//! The host side of CP2.
//!
//! * [`Device`]: asynchronous commands with event dependencies, in simulated time.
//! * [`paging`]: the engine that moves the pages of a pass.
//! * [`schedule`]: blocks in a row, dealt to pages; a [`StreamPlan`] is a value.
//! * [`nest`]: arrays of one to three dimensions in blocks with halos; pages are data.
//! * [`step`]: computations of the control CPU between passes.
//! * [`OperationsBound`]: the cycles that no run of the same operations goes below.
//! * [`profile`]: cycles and causes beside each source line of a kernel.
//! * [`timeline`]: times of all activities, for Perfetto and as a picture.
//! * [`emit`]: a run as a directory, and its replay.
//! * [`files`]: files written whole or not at all.
//! * `testing` (feature `testing`): shared parts of property tests of kernels;
//!   `cp2_kernels::map::check_kernel` tests one.

mod device;
pub mod emit;
pub mod files;
pub mod nest;
mod operations_bound;
pub mod paging;
pub mod profile;
pub mod schedule;
pub mod step;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod timeline;
mod view;

pub use device::{
    After, Buffer, Command, CommandError, Decided, Device, DeviceOptions, DmaReport, Event,
    FinishedRun, HostAction, HostError, HostReport, Imprint, KernelSteps, MemoryElement,
    MessageArrival, MessageOperation, MessageRecord, MessageRegion, PlacedProgram, ProgramStage,
    RunEnd, RunPart, RunReport, SingleBuffered, SourceError, StageReport, Trace, Turns,
    ValueSource, WINDOW,
};
pub use operations_bound::{OperationsBound, OperationsLimit};
pub use paging::{PAGE_EVENT, PageKernel, PageMessage, Paged};
pub use schedule::{
    BlockPiece, BlocksPerSection, Buffering, PageArgs, PageArguments, Paging, PlanError, Reserved,
    Stream, StreamPlan,
};
pub use step::{HostStep, StepNumber, StepScalar};
pub use view::{Gap, TransferLimits, ViewRows, Views};

#[cfg(test)]
pub(crate) fn test_machine() -> cp2_machine::Machine {
    cp2_machine::Machine::builtin("vm7").expect("vm7 is built in")
}
