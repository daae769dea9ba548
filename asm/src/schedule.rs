//! Software pipelining: from the dataflow of one iteration to a whole loop.
//!
//! A [`Dataflow`] is one iteration: operations on values, loads and stores through pointers that step once per
//! iteration. [`Dataflow::schedule`] finds a modulo schedule for a machine: every `interval` cycles an iteration
//! begins, each slot of the word is used at most once per cycle of the interval, and no operation waits for its
//! operands. Values that live longer than the interval get several registers in turn, and the loop is unrolled as
//! often. [`ModuloSchedule::emit`] writes the assembly: fill, hardware loop, drain.
//!
//! The interval is at least `max(arithmetic, memory)`, the larger number of operations of a slot in an iteration; the
//! search begins there. Where latencies keep more values waiting than there are registers,
//! [`Dataflow::schedule_or_stretch`] makes the interval longer.
//!
//! [`Dataflow::schedule_best`] searches further: it knows values of earlier iterations and orders of accesses, tries
//! iterative modulo scheduling from several starts beside the older orders, and reports the bound and what was tried.
//! [`Dataflow::schedule_straight`] does the same for what is carried out once.
//!
//! This module is the one part of the assembler that knows time: it reads latencies and unit intervals from the
//! machine's tables.

mod best;
mod cache;
mod check;
mod dataflow;
mod dependence;
mod distances;
mod emit;
mod greedy;
mod iterative;
mod placement;
mod registers;
mod report;
mod scalars;
mod search;
mod starts;
mod swing;
#[cfg(test)]
mod tests;
mod tighten;

pub(crate) use cache::KeptSchedule;
pub use cache::ScheduleCache;
pub use dataflow::{DataImmediate, DataOperand, DataPointer, DataValue, Dataflow, PointerStep};
pub(crate) use emit::{LoopLine, LoopText, LoopTurns, LoopWord, MAX_LOOP_COUNT, PointerSetup};
pub use placement::ModuloSchedule;
pub use registers::FreeRegisters;
pub use report::{
    IntervalRefusal, Iterations, RefusedInterval, ScheduleBound, ScheduleLimit, ScheduleReport,
    ScheduleRequest,
};
pub(crate) use scalars::ScalarUse;
pub use search::Unschedulable;
