//! Event words: `wait` and `signal`, which deal with the outside.
//!
//! They end blocks, and the engine's step carries them out one at a time. Their issue cycle and
//! successor are functions of the issue state that they are entered in, as a block's are, and are
//! kept here.

use super::Fast;
use super::portable::WordCall;
use super::timed_block::States;
use crate::core::Core;
use crate::core::decoded::{Decoded, decode};
use crate::core::execute::{self, SectionFault};
use crate::semantics::action::{Action, ControlOp};
use crate::timing::{IssueOutcome, Scoreboard, Stall};
use cp2_machine::Machine;

/// A `wait` or `signal` that is entered in an issue state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventWord {
    pub decoded: Decoded,
    /// Step that runs the word's arithmetic.
    pub step: WordCall,
    /// Cycles until the word issues, if only registers and units delay it.
    pub first: u64,
    /// Cause of that delay.
    pub wait: Stall,
}

impl EventWord {
    /// Returns the gate that the core stands at, if its word is one and cannot fault.
    pub(super) fn find(
        core: &Core,
        machine: &Machine,
        state: u32,
        states: &States,
        board: &mut Scoreboard,
    ) -> Option<Box<Self>> {
        let pc = core.pc as usize;
        let bits = core.program.get(pc).filter(|_| core.loaded.is(pc))?;
        let decoded = decode(*bits, machine).ok()?;
        let (Action::Control(ControlOp::Wait { event })
        | Action::Control(ControlOp::Signal { event })) = decoded.action
        else {
            return None;
        };
        if event as usize >= core.events.len() || !core.is_one_group() {
            return None;
        }
        board.resume(states.pending(state), 0);
        let (first, wait) = board.earliest(&decoded.timing, 0);
        Some(Box::new(Self {
            step: WordCall::new(&decoded, 0, 0),
            decoded,
            first,
            wait: wait.into(),
        }))
    }

    /// Executes the word, and moves the core to the next one.
    pub(crate) fn pass(
        &self,
        core: &mut Core,
        machine: &Machine,
    ) -> Result<IssueOutcome, SectionFault> {
        if self.decoded.computes
            && let Some(mut guest) = core.guest()
        {
            self.step.compute(&mut guest);
        }
        match self.decoded.action {
            Action::Control(op) => execute::control(core, machine, op).map_err(|kind| (None, kind)),
            _ => Ok(IssueOutcome::Next),
        }
    }
}

impl Fast {
    /// Returns the gate that the core stands at, if it stands at one.
    pub(crate) fn gate(&self) -> Option<EventWord> {
        let node = &self.nodes[self.at? as usize];
        node.gate.as_deref().copied()
    }

    /// Moves on after the core has passed the gate that it stood at in cycle `since`. The gate
    /// issued in cycle `at`, and the next word may issue from `now` on.
    pub(crate) fn passed(&mut self, core: &Core, machine: &Machine, since: u64, at: u64, now: u64) {
        let Some(from) = self.at else { return };
        let (issue, way) = (at - since, (now - since, core.pc));
        let node = &self.nodes[from as usize];
        if let Some((_, next)) = node.passed.filter(|(same, _)| *same == way) {
            self.at = Some(next);
            return;
        }
        let Some(gate) = node.gate.as_deref() else {
            return;
        };
        let board = &mut self.scratch;
        board.resume(self.states.pending(node.state), 0);
        board.issue(&gate.decoded.timing, issue);
        let state = self.states.number(board.relative(way.0));
        let next = self.node(core, machine, state, None);
        self.nodes[from as usize].passed = Some((way, next));
        self.at = Some(next);
    }
}
