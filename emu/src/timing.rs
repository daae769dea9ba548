//! Issue timing that depends on outcomes of words: penalties and stalls.
//!
//! Registers and units follow the rule that the assembler's warnings share ([`cp2_asm::issue`]).
//! Effects of values enter as [`IssueOutcome`].

use crate::account::cause::Cause;
pub use cp2_asm::issue::{Pending, Scoreboard, Wait, WaitOn, WordTiming};
use cp2_machine::Cp2;

/// Outcome of a word that decides the cycles lost after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IssueOutcome {
    /// The next word follows.
    Next,
    /// A branch, call or return was taken, or an empty loop skipped.
    Taken,
    /// A hardware loop was set up.
    LoopSetup,
    /// The last word of a loop body was issued and the body starts again.
    LoopBack,
}

/// Cycles that a word waited, and their cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stall {
    /// Cause of the wait that ended last.
    pub cause: Cause,
    /// Number of cycles, possibly zero.
    pub cycles: u64,
}

impl From<Wait> for Stall {
    fn from(wait: Wait) -> Self {
        let cause = match wait.on {
            None => Cause::Issue,
            Some(WaitOn::Operand { producer, .. }) => Cause::Operand(producer),
            Some(WaitOn::Unit(_)) => Cause::UnitBusy,
        };
        Self {
            cause,
            cycles: wait.cycles,
        }
    }
}

/// Returns the cycles lost after a word with an outcome, and their cause.
#[must_use]
pub fn penalty(outcome: IssueOutcome, cp2: &Cp2) -> Stall {
    let (cause, cycles) = match outcome {
        IssueOutcome::Next => (Cause::Issue, 0),
        IssueOutcome::Taken => (Cause::Branch, cp2.branch_penalty.0),
        IssueOutcome::LoopSetup => (Cause::Loop, cp2.loop_setup.0),
        IssueOutcome::LoopBack => (Cause::Loop, cp2.loop_back.0),
    };
    Stall { cause, cycles }
}
