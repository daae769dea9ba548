//! The loops of a program, each with its steady state where it has one.

use super::liveness::Liveness;
use super::steady::SteadyLoop;
use crate::flow::{Flow, FlowError, Trips, Way};
use crate::isa::Word;
use crate::program::Program;
use cp2_machine::Machine;
use std::ops::RangeInclusive;

/// The word that closes a loop, or sets it up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopCloser {
    /// A hardware loop.
    Hardware {
        /// Number of iterations.
        trips: Trips,
    },
    /// A branch backwards.
    Branch,
}

/// Reason why a loop has no interval.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BranchingReason {
    /// Other loops lie inside.
    #[error("there are loops inside")]
    Loops,
    /// Branches or calls lie inside: iterations differ.
    #[error("there are branches or calls inside")]
    Branches,
    /// The loop waits for events, or signals them: its time is that of others too.
    #[error("there are events inside")]
    Events,
    /// The issue of its words does not repeat within a million words.
    #[error("the issue of its words does not repeat soon")]
    Unsettled,
}

/// Time of a loop body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoopBody {
    /// Words that are executed one after the other, always all of them.
    Steady(Box<SteadyLoop>),
    /// Anything else.
    Branching {
        /// Reason why there is no interval.
        reason: BranchingReason,
        /// Words of the body outside the loops inside it.
        around: usize,
    },
}

/// A loop of a program on a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoopAnalysis {
    /// Program address of the word that sets a hardware loop up, or of the branch that closes a loop.
    pub pc: usize,
    /// Program addresses of the body.
    pub words: RangeInclusive<usize>,
    /// How it is repeated.
    pub closer: LoopCloser,
    /// Number of loops around it in its function.
    pub outside: usize,
    /// Most section registers, as pairs, that hold needed values at once in the body.
    pub registers: usize,
    /// Its time.
    pub body: LoopBody,
}

impl LoopAnalysis {
    /// Returns the number of iterations of a hardware loop, if it stands in its word.
    #[must_use]
    pub fn constant_trips(&self) -> Option<u32> {
        match &self.closer {
            LoopCloser::Hardware {
                trips: Trips::Constant(trips),
            } => Some(*trips),
            _ => None,
        }
    }
}

/// A loop as the control flow has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramLoop {
    /// Program address of the word that sets a hardware loop up, or of the branch that closes a loop.
    pub pc: usize,
    /// Program addresses of the body.
    pub words: RangeInclusive<usize>,
    /// How it is repeated.
    pub closer: LoopCloser,
}

impl ProgramLoop {
    /// Returns the address of the last word, which issues once in an iteration: no loop inside ends with it.
    #[must_use]
    pub fn last(&self) -> usize {
        *self.words.end()
    }

    /// Returns the cycles that a machine loses when the body starts again.
    fn back(&self, machine: &Machine) -> u64 {
        match self.closer {
            LoopCloser::Hardware { .. } => machine.cp2.loop_back.0,
            LoopCloser::Branch => machine.cp2.branch_penalty.0,
        }
    }
}

/// Returns the hardware loops and the branches backwards of a control flow, in the order of their words: outer
/// loops before inner ones.
#[must_use]
pub fn find_loops(flow: &Flow) -> Vec<ProgramLoop> {
    let hardware = flow.loops().iter().map(|l| ProgramLoop {
        pc: l.setup,
        words: l.first..=l.last,
        closer: LoopCloser::Hardware {
            trips: l.trips.clone(),
        },
    });
    let mut found: Vec<_> = hardware.collect();
    for block in flow.blocks() {
        let last = block.words.end - 1;
        let backwards = block
            .next
            .iter()
            .filter(|(way, to)| *way == Way::Taken && *to <= last);
        found.extend(backwards.map(|&(_, to)| ProgramLoop {
            pc: last,
            words: to..=last,
            closer: LoopCloser::Branch,
        }));
    }
    // Outer loops come before inner ones.
    found.sort_by_key(|l| (*l.words.start(), std::cmp::Reverse(*l.words.end())));
    found
}

/// Analyses the loops that are reached from a program's entry, in the order of their words: outer loops before
/// inner ones.
///
/// # Errors
/// The program has no control flow graph.
pub fn analyze_loops(program: &Program, machine: &Machine) -> Result<Vec<LoopAnalysis>, FlowError> {
    let flow = Flow::of_program(program)?;
    let words = program
        .decode()
        .map_err(|(pc, source)| FlowError::Word { pc, source })?;
    let liveness = Liveness::new(&words, &flow);
    let found = find_loops(&flow);
    let contains = |outer: &ProgramLoop, inner: &ProgramLoop| {
        outer.pc != inner.pc
            && outer.words.contains(inner.words.start())
            && outer.words.contains(inner.words.end())
    };
    let analyse = |l: &ProgramLoop| LoopAnalysis {
        pc: l.pc,
        words: l.words.clone(),
        closer: l.closer.clone(),
        outside: found.iter().filter(|outer| contains(outer, l)).count(),
        registers: liveness.count_most_pairs(&words, l.words.clone()),
        body: analyse_body(l, &found, &flow, &words, machine),
    };
    Ok(found.iter().map(analyse).collect())
}

fn analyse_body(
    own: &ProgramLoop,
    all: &[ProgramLoop],
    flow: &Flow,
    words: &[Word],
    machine: &Machine,
) -> LoopBody {
    let (first, last) = (*own.words.start(), *own.words.end());
    let block = flow.block_of(first).map(|at| &flow.blocks()[at]);
    let is_whole = block.is_some_and(|block| block.words == (first..last + 1));
    if is_whole {
        let body = &words[first..=last];
        return match SteadyLoop::new(body, first, own.back(machine), &machine.cp2) {
            Some(steady) => LoopBody::Steady(Box::new(steady)),
            None => LoopBody::Branching {
                reason: BranchingReason::Unsettled,
                around: body.len(),
            },
        };
    }
    let inner = |pc: usize| {
        let mut others = all
            .iter()
            .filter(|l| l.pc != own.pc && own.words.contains(l.words.end()));
        others.any(|l| l.words.contains(&pc) && own.words.contains(l.words.start()))
    };
    let around = own.words.clone().filter(|&pc| !inner(pc)).count();
    let mnemonic = |pc: usize| words[pc].mem.row().mnemonic;
    let mut own_words = own.words.clone();
    let reason = if around < last - first + 1 {
        BranchingReason::Loops
    } else if own_words.any(|pc| matches!(mnemonic(pc), "wait" | "signal")) {
        BranchingReason::Events
    } else {
        BranchingReason::Branches
    };
    LoopBody::Branching { reason, around }
}
