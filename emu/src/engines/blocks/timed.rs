//! The time a block takes: computed once for every state it is entered in.

use super::block::{BlockEnd, BlockNeeds, SideExit, TranslatedBlock};
use super::gates::Gate;
use super::habits::Habits;
use super::portable::WordCall;
use crate::core::Core;
use crate::semantics::action::ControlOp;
use crate::timing::{IssueOutcome, Pending, Scoreboard, Stall, penalty};
use cp2_machine::Machine;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// Issue states, numbered.
#[derive(Debug, Default)]
pub(crate) struct States {
    pending: Vec<Pending>,
    numbers: HashMap<Pending, u32>,
}

impl States {
    /// The number of a state.
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

    /// The state of a number.
    pub(crate) fn pending(&self, number: u32) -> &Pending {
        &self.pending[number as usize]
    }
}

/// Nothing known yet.
pub(crate) const UNKNOWN: u32 = u32::MAX;

/// Not the address of a word.
const NOWHERE: u32 = u32::MAX;

/// A way out of a block.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BlockExit {
    /// Times taken.
    pub count: u64,
    /// What the last word's outcome cost.
    pub lost: Stall,
    /// Cycles from the block's entry to the next word's candidate cycle.
    pub cycles: u64,
    /// Issue state there, or [`UNKNOWN`].
    pub state: u32,
    /// Where it led last time, and the node there, or [`UNKNOWN`].
    pub pc: u32,
    /// See `pc`.
    pub next: u32,
}

impl BlockExit {
    /// The edge taken `after` cycles from the entry but for what the outcome costs.
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

/// An edge that was taken, for a guess at the next.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Usual {
    pub outcome: IssueOutcome,
    pub pc: u32,
    pub next: u32,
}

/// A block entered in a state.
#[derive(Debug)]
pub(crate) struct TimedBlock {
    pub pc: u32,
    pub state: u32,
    pub block: u32,
    /// Words.
    pub len: u32,
    /// Whether it is time not to ask again for a longer block.
    pub settled: bool,
    /// Whether all of them can always run, whatever they need.
    pub plain: bool,
    /// What decides whether they can.
    pub needs: BlockNeeds,
    /// The words that do something, behind so many others; guards before them.
    steps: (Arc<[WordCall]>, usize),
    pub guards: u32,
    /// Address of the last word.
    pub end: u32,
    /// Cycle of the last word's issue, from the entry.
    pub last: u64,
    /// Cycle in which each word issues, from the entry.
    pub issue: Vec<u64>,
    /// The words that wait, and for what.
    pub waits: Vec<(usize, Stall)>,
    /// By outcome of the last word.
    pub edges: [BlockExit; 4],
    /// The edge last found out.
    pub usual: Usual,
    /// Where it has no words: the gate that stands there.
    pub gate: Option<Box<Gate>>,
    /// Where that led last: after so many cycles to an address, a node.
    pub passed: Option<((u64, u32), u32)>,
    /// By guard: where the block is left at its side.
    pub sides: Vec<(BlockExit, SideExit)>,
    /// After so many words, where somebody left there.
    pub cuts: BTreeMap<usize, BlockExit>,
}

/// All outcomes, in the order of a node's edges.
const OUTCOMES: [IssueOutcome; 4] = [
    IssueOutcome::Next,
    IssueOutcome::Taken,
    IssueOutcome::LoopSetup,
    IssueOutcome::LoopBack,
];

impl TimedBlock {
    /// Times the block's words.
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

    /// Whether it has words, all of which can run.
    #[inline]
    pub(crate) fn runs(&self, core: &Core, machine: &Machine) -> bool {
        self.plain || self.len > 0 && self.needs.met(core, machine)
    }

    /// The words that do something.
    #[inline(always)]
    pub(crate) fn steps(&self) -> &[WordCall] {
        &self.steps.0[self.steps.1..]
    }

    /// Adds what the branch at the block's end did to `habits`.
    pub(crate) fn tell(&self, block: &TranslatedBlock, habits: &mut Habits) {
        if let BlockEnd::Control(ControlOp::Branch { .. }) = block.needs.end {
            for (outcome, edge) in OUTCOMES.iter().zip(&self.edges) {
                habits.note(block.last, *outcome == IssueOutcome::Taken, edge.count);
            }
        }
    }

    /// The edge after the first `words` words, `0 < words < len`.
    pub(crate) fn cut(&mut self, block: &TranslatedBlock, words: usize) -> &mut BlockExit {
        let lost = self.inside(block, words - 1);
        let after = self.issue[words - 1] + 1;
        self.cuts
            .entry(words)
            .or_insert_with(|| BlockExit::new(after, lost))
    }

    /// What a word's outcome costs, where the word is not the last.
    pub(super) fn inside(&self, block: &TranslatedBlock, word: usize) -> Stall {
        let turns = block.turns(word);
        let outcome = if turns {
            IssueOutcome::Taken
        } else {
            IssueOutcome::Next
        };
        self.edges[outcome as usize].lost
    }

    /// The issue state after the first `words` words, in cycle `after` from the entry.
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

    /// Forgets what ran through this node.
    pub(crate) fn uncount(&mut self) {
        let sides = self.sides.iter_mut().map(|(edge, _)| edge);
        let edges = self.edges.iter_mut().chain(sides);
        let edges = edges.chain(self.cuts.values_mut());
        edges.for_each(|edge| edge.count = 0);
    }
}
