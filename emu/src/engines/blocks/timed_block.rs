//! Nodes: blocks with their time, computed once for every entry state.

use super::branch_history::BranchHistory;
use super::event_words::EventWord;
use super::portable::WordCall;
use super::translated_block::{BlockEnd, BlockNeeds, SideExit, TranslatedBlock};
use crate::core::Core;
use crate::semantics::action::ControlOp;
use crate::timing::{IssueOutcome, Pending, Scoreboard, Stall, penalty};
use cp2_machine::Machine;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Issue states and their numbers.
#[derive(Debug, Default)]
pub(crate) struct States {
    pending: Vec<Pending>,
    numbers: HashMap<Pending, u32>,
}

impl States {
    /// Returns the number of a state, a new one if the state is new.
    pub(crate) fn number(&mut self, pending: Pending) -> u32 {
        let next = self.pending.len() as u32;
        match self.numbers.entry(pending) {
            std::collections::hash_map::Entry::Occupied(known) => *known.get(),
            std::collections::hash_map::Entry::Vacant(new) => {
                self.pending.push(new.key().clone());
                *new.insert(next)
            }
        }
    }

    /// Returns the state with a number.
    pub(crate) fn pending(&self, number: u32) -> &Pending {
        &self.pending[number as usize]
    }
}

/// Number of a node or state that is not known yet.
pub(crate) const UNKNOWN: u32 = u32::MAX;

/// A value that is no word's address.
const NOWHERE: u32 = u32::MAX;

/// An edge: one way out of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockExit {
    /// Times taken.
    pub count: u64,
    /// Cycles that the last word's outcome costs, and their cause.
    pub lost: Stall,
    /// Cycles from the block's entry to the first cycle in which the next word may issue.
    pub cycles: u64,
    /// Issue state behind the exit, or [`UNKNOWN`].
    pub state: u32,
    /// Word address that it led to last.
    pub pc: u32,
    /// Node at that address, or [`UNKNOWN`].
    pub next: u32,
}

impl BlockExit {
    /// Creates an edge that is taken `after` cycles from the entry, before the cost of the outcome.
    const fn new(after: u64, lost: Stall) -> Self {
        Self {
            count: 0,
            lost,
            cycles: after + lost.cycles,
            state: UNKNOWN,
            pc: 0,
            next: UNKNOWN,
        }
    }
}

/// The edge that was resolved last, as a guess at the next one.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usual {
    pub outcome: IssueOutcome,
    pub pc: u32,
    pub next: u32,
}

/// A node: a block entered in an issue state.
#[derive(Debug)]
pub(crate) struct TimedBlock {
    pub pc: u32,
    pub state: u32,
    pub block: u32,
    /// Number of words.
    pub len: u32,
    /// True if no longer block should be asked for.
    pub settled: bool,
    /// True if all words can always run, whatever the core's stacks hold.
    pub plain: bool,
    /// Conditions under which all words can run.
    pub needs: BlockNeeds,
    /// Steps of the block's text, and the index of the block's first step.
    steps: (Arc<[WordCall]>, usize),
    /// Number of guards of the text before the block.
    pub guards: u32,
    /// Address of the last word.
    pub end: u32,
    /// Cycle of the last word's issue, from the entry.
    pub last: u64,
    /// Cycle in which each word issues, from the entry.
    pub issue: Vec<u64>,
    /// Words that stall, and for how long and why.
    pub waits: Vec<(usize, Stall)>,
    /// Edges by outcome of the last word.
    pub edges: [BlockExit; 4],
    /// Edge that was resolved last.
    pub usual: Usual,
    /// Gate at the node's address, if the block is empty because of one.
    pub gate: Option<Box<EventWord>>,
    /// Last way through the gate (cycles and next address), and the node there.
    pub passed: Option<((u64, u32), u32)>,
    /// Side exits in the order of the guards.
    pub sides: Vec<(BlockExit, SideExit)>,
    /// Edges by the number of words run, where a run was cut short.
    pub cuts: BTreeMap<usize, BlockExit>,
}

/// Outcomes in the order of a node's edges.
const OUTCOMES: [IssueOutcome; 4] = [
    IssueOutcome::Next,
    IssueOutcome::Taken,
    IssueOutcome::LoopSetup,
    IssueOutcome::LoopBack,
];

impl TimedBlock {
    /// Computes the issue cycles of the block's words.
    pub(crate) fn new(
        (pc, state): (u32, u32),
        (number, block): (u32, &TranslatedBlock),
        states: &States,
        board: &mut Scoreboard,
        machine: &Machine,
    ) -> Self {
        board.resume(states.pending(state), 0);
        let mut issue = Vec::with_capacity(block.words().len());
        let mut waits = Vec::new();
        let mut now = 0;
        for (i, word) in block.words().iter().enumerate() {
            let (at, wait) = board.earliest(&word.timing, now);
            board.issue(&word.timing, at);
            issue.push(at);
            if wait.cycles > 0 {
                waits.push((i, Stall::from(wait)));
            }
            now = at + 1;
            if block.turns(i) {
                now += penalty(IssueOutcome::Taken, &machine.cp2).cycles;
            }
        }
        let side = |side: SideExit| {
            let outcome = if side.taken {
                IssueOutcome::Taken
            } else {
                IssueOutcome::Next
            };
            let edge = BlockExit::new(issue[side.word] + 1, penalty(outcome, &machine.cp2));
            (edge, side)
        };
        Self {
            sides: block.sides().map(side).collect(),
            pc,
            state,
            block: number,
            len: issue.len() as u32,
            settled: !matches!(block.needs.end, BlockEnd::Control(ControlOp::Branch { .. })),
            plain: block.plain(),
            needs: block.needs,
            guards: block.steps().first().map_or(0, |step| step.guards),
            steps: block.shared(),
            end: block.last,
            last: issue.last().copied().unwrap_or(0),
            issue,
            waits,
            edges: OUTCOMES.map(|outcome| BlockExit::new(now, penalty(outcome, &machine.cp2))),
            gate: None,
            passed: None,
            usual: Usual {
                outcome: IssueOutcome::Next,
                pc: NOWHERE,
                next: UNKNOWN,
            },
            cuts: BTreeMap::new(),
        }
    }

    /// True if the node has words and all of them can run.
    #[inline]
    pub(crate) fn runs(&self, core: &Core, machine: &Machine) -> bool {
        self.plain || self.len > 0 && self.needs.are_met(core, machine)
    }

    /// Returns the steps of the node's block.
    #[inline(always)]
    pub(crate) fn steps(&self) -> &[WordCall] {
        &self.steps.0[self.steps.1..]
    }

    /// Adds the counts of the branch at the block's end to `habits`.
    pub(crate) fn tell(&self, block: &TranslatedBlock, habits: &mut BranchHistory) {
        if let BlockEnd::Control(ControlOp::Branch { .. }) = block.needs.end {
            for (outcome, edge) in OUTCOMES.iter().zip(&self.edges) {
                habits.note(block.last, *outcome == IssueOutcome::Taken, edge.count);
            }
        }
    }

    /// Returns the edge after the first `words` words, `0 < words < len`.
    pub(crate) fn cut(&mut self, block: &TranslatedBlock, words: usize) -> &mut BlockExit {
        let lost = self.inner_word_cost(block, words - 1);
        let after = self.issue[words - 1] + 1;
        self.cuts
            .entry(words)
            .or_insert_with(|| BlockExit::new(after, lost))
    }

    /// Returns the cost of the outcome of a word that is not the last.
    pub(super) fn inner_word_cost(&self, block: &TranslatedBlock, word: usize) -> Stall {
        let turns = block.turns(word);
        let outcome = if turns {
            IssueOutcome::Taken
        } else {
            IssueOutcome::Next
        };
        self.edges[outcome as usize].lost
    }

    /// Returns the issue state after the first `words` words, in cycle `after` from the entry.
    pub(crate) fn exit_state(
        &self,
        block: &TranslatedBlock,
        words: usize,
        after: u64,
        states: &mut States,
        board: &mut Scoreboard,
    ) -> u32 {
        board.resume(states.pending(self.state), 0);
        for (word, at) in block.words()[..words].iter().zip(&self.issue) {
            board.issue(&word.timing, *at);
        }
        states.number(board.relative(after))
    }

    /// Sets all counts of the node to zero.
    pub(crate) fn uncount(&mut self) {
        let sides = self.sides.iter_mut().map(|(edge, _)| edge);
        let edges = self.edges.iter_mut().chain(sides);
        let edges = edges.chain(self.cuts.values_mut());
        edges.for_each(|edge| edge.count = 0);
    }
}
