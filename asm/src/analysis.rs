//! How fast the loops of a program are, and how fast their operations could be.
//!
//! A loop without branches, calls and events inside reaches a steady state: from some iteration on, its words
//! issue in the same cycles, again and again. The *interval* is the number of cycles of an iteration in that
//! state, by the issue rule ([`crate::issue`]). It is the rule's alone: no data, no `wait`, no transfer that
//! uses a DMEM port.
//!
//! The *bound* is the number of cycles that no order of the loop's own operations can go below ([`LoopBound`]).
//! Software pipelining may come down to it; to go further, other operations are necessary.
//!
//! ```
//! use cp2_asm::analysis::{CycleRatio, LoopBody, LoopLimit, analyze_loops};
//! use cp2_asm::{Options, Source, assemble};
//! use cp2_machine::Machine;
//!
//! let machine = Machine::load("vm7").unwrap();
//! let text = ".program\nloop 100 {\nldq q0, [a0]+16\nadd q1, q0, q2\nstq q1, [a1]+16\n}\nstop\n";
//! let program = assemble(&Source::new("a.s", text), &Options::default()).unwrap().program;
//! let loops = analyze_loops(&program, &machine)?;
//! let LoopBody::Steady(steady) = &loops[0].body else { panic!() };
//! // The add waits for the load, and the store for the add: one iteration after the other.
//! assert!(steady.interval > steady.bound.cycles);
//! // Two operations of the memory slot need two cycles.
//! assert_eq!(steady.bound.limit(), &LoopLimit::Memory);
//! assert_eq!(steady.bound.cycles, CycleRatio::whole(2));
//! # Ok::<(), cp2_asm::flow::FlowError>(())
//! ```

mod bound;
mod cycle_ratio;
mod dependence;
mod liveness;
mod loops;
mod registers;
mod steady;

pub use bound::{LoopBound, LoopLimit};
pub use cycle_ratio::CycleRatio;
pub(crate) use dependence::{Dependence, find_largest_ratio};
pub(crate) use liveness::list_live_registers;
pub use loops::{
    BranchingReason, LoopAnalysis, LoopBody, LoopCloser, ProgramLoop, analyze_loops, find_loops,
};
pub(crate) use registers::find_flaws;
pub use registers::{RegisterFinding, RegisterFlaw, check_registers};
pub use steady::{LostCycles, SteadyLoop, WordIssue};

#[cfg(test)]
mod tests;
