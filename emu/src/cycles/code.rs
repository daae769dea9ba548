//! Blocks of a program with their effects on scalars and their times.

use super::Uncounted;
use super::passes::PassEffects;
use crate::core::decoded::decode;
use crate::core::fault::FaultKind;
use crate::semantics::action::{Action, ControlOp, MemoryOp, ScalarOp, VoteOp};
use crate::timing::{Pending, Scoreboard, WordTiming};
use cp2_asm::flow::Flow;
use cp2_machine::Machine;
use std::collections::HashMap;

/// Effect of a word on scalars or known DMEM.
#[derive(Clone, Copy, Debug)]
pub(super) enum Effect {
    /// Computes.
    Scalar(ScalarOp),
    /// Loads scalars, stores, or changes an address register.
    Memory(MemoryOp),
    /// Makes a scalar from data.
    Vote(VoteOp),
}

/// Words that are executed one after the other.
#[derive(Debug)]
pub(super) struct BasicBlock {
    /// Address of the last word.
    pub last: u32,
    pub effects: Vec<Effect>,
    /// Control operation of the last word, if it has one.
    pub control: Option<ControlOp>,
    /// The effects as those of a pass, if the block may be the body of a hardware loop whose passes are alike.
    pub pass: Option<PassEffects>,
    timings: Vec<WordTiming>,
    accesses: u64,
}

/// Time of a block.
#[derive(Clone, Copy, Debug)]
pub(super) struct Time {
    /// Cycles from the block's beginning until its last word issues.
    pub issued: u64,
    /// Cycles after the last word until all results have landed.
    pub drain: u64,
    pub accesses: u64,
    /// Number of the issue state behind the block.
    pub pending: u32,
}

/// Blocks of a program, and the times known so far.
#[derive(Debug)]
pub(super) struct CountedCode {
    blocks: Vec<BasicBlock>,
    starts: HashMap<u32, u32>,
    /// Issue states met so far, relative to the next word.
    pendings: Vec<Pending>,
    numbers: HashMap<Pending, u32>,
    /// Times by block, number of the issue state at its beginning, and cycles lost after its last
    /// word.
    times: HashMap<(u32, u32, u64), Time>,
    board: Scoreboard,
}

impl CountedCode {
    pub(super) fn new(words: &[u64], flow: &Flow, machine: &Machine) -> Result<Self, Uncounted> {
        let mut code = Self {
            blocks: Vec::with_capacity(flow.blocks().len()),
            starts: HashMap::with_capacity(flow.blocks().len()),
            pendings: Vec::new(),
            numbers: HashMap::new(),
            times: HashMap::new(),
            board: Scoreboard::default(),
        };
        for (number, block) in flow.blocks().iter().enumerate() {
            let mut made = BasicBlock {
                last: block.words.end as u32 - 1,
                effects: Vec::new(),
                control: None,
                pass: None,
                timings: Vec::with_capacity(block.words.len()),
                accesses: 0,
            };
            for pc in block.words.clone() {
                let bits = words.get(pc).copied().unwrap_or_default();
                let decoded = decode(bits, machine);
                let decoded = decoded.map_err(|kind| Uncounted::Fault {
                    pc: pc as u32,
                    kind,
                })?;
                made.timings.push(decoded.timing);
                made.accesses += u64::from(decoded.timing.uses_dmem);
                match decoded.action {
                    // Registers of sections are not known, nor is what depends on them.
                    Action::Exchange(_) | Action::Mask(_) | Action::Nop => {}
                    Action::Vote(op) => made.effects.push(Effect::Vote(op)),
                    Action::Scalar(op) => made.effects.push(Effect::Scalar(op)),
                    Action::Memory(op) => {
                        let moves = op.place.updates();
                        if moves || !op.data.is_section_load() {
                            made.effects.push(Effect::Memory(op));
                        }
                    }
                    Action::Control(op) => made.control = Some(op),
                }
            }
            if made.control.is_none() {
                made.pass = PassEffects::of(&made.effects);
            }
            code.starts.insert(block.words.start as u32, number as u32);
            code.blocks.push(made);
        }
        Ok(code)
    }

    /// Returns the number of the block that begins with the word at `pc`.
    pub(super) fn find_block(&self, pc: u32) -> Result<u32, Uncounted> {
        let found = self.starts.get(&pc).copied();
        found.ok_or(Uncounted::Fault {
            pc,
            kind: FaultKind::NoProgram,
        })
    }

    pub(super) fn block(&self, number: u32) -> &BasicBlock {
        &self.blocks[number as usize]
    }

    /// Returns the number of the issue state in which nothing is pending.
    pub(super) fn nothing(&mut self) -> u32 {
        let nothing = Scoreboard::default().relative(0);
        self.number(nothing)
    }

    fn number(&mut self, pending: Pending) -> u32 {
        if let Some(&number) = self.numbers.get(&pending) {
            return number;
        }
        let number = self.pendings.len() as u32;
        self.pendings.push(pending.clone());
        self.numbers.insert(pending, number);
        number
    }

    /// Returns the time of a block that begins in issue state `pending`, with `lost` cycles lost
    /// after its last word.
    pub(super) fn time(&mut self, block: u32, pending: u32, lost: u64) -> Time {
        let key = (block, pending, lost);
        if let Some(&time) = self.times.get(&key) {
            return time;
        }
        self.board.resume(&self.pendings[pending as usize], 0);
        let words = &self.blocks[block as usize];
        let mut now = 0;
        for timing in &words.timings {
            let (at, _) = self.board.earliest(timing, now);
            self.board.issue(timing, at);
            now = at + 1;
        }
        let accesses = words.accesses;
        let behind = self.board.relative(now + lost);
        let time = Time {
            issued: now.saturating_sub(1),
            drain: self.board.settled().saturating_sub(now),
            accesses,
            pending: self.number(behind),
        };
        self.times.insert(key, time);
        time
    }
}
