//! Software pipelining: from the dataflow of one iteration to a whole loop.
//!
//! A [`Body`] is the dataflow of one iteration: operations on values, loads and stores through pointers that
//! step once per iteration. [`Body::schedule`] finds a modulo schedule for a machine: every `interval` cycles
//! an iteration begins, each slot of the word is used at most once per cycle of the interval, and no
//! operation waits for its operands. Values that live longer than the interval get several registers in turn,
//! and the loop is unrolled as often. [`Schedule::emit`] writes the assembly: fill, hardware loop, drain.
//!
//! The interval is at least `max(arithmetic, memory)`, the larger number of operations of a slot in an
//! iteration; the search begins there. Where latencies keep more values waiting than there are registers,
//! [`Body::schedule_or_stretch`] makes the interval longer.

mod body;
mod emit;
mod greedy;
mod operations;
mod ops;
mod registers;
mod schedule;
mod search;
mod swing;
#[cfg(test)]
mod tests;

pub(crate) use body::{Body, Pointer, Reg, Step, Value};
pub(crate) use emit::{Emitted, Setup};
pub(crate) use operations::Operations;
pub(crate) use ops::{Ops, half};
pub(crate) use schedule::Schedule;
pub use search::Unschedulable;
