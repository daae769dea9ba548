//! The fast engine: the reference engine's results, block by block.
//!
//! The machine has no cache, so the cycles of a straight-line block are a function of the block and
//! of the results pending when it is entered. Both are numbered; a [`TimedBlock`] (a node) is a
//! pair of them, with everything about time computed once. Running a node then is: run its words,
//! add a constant to the clock, add one to a counter, follow an edge. Counters by word and cause
//! are expanded from the nodes' counters on demand.
//!
//! Rare events are left to the reference engine's step: stops, words that fault, votes, words
//! that set a mask and those that one hinders from writing all lanes, machines or
//! moments where the DMA delays CP2. Waits and signals run there too, but their times are known
//! here ([`event_words`]). `docs/engine.md` has the reasons and the measurements.

mod avx;
mod block_exits;
mod branch_history;
mod counter_expansion;
mod event_words;
mod operand_rows;
pub(crate) mod portable;
mod section_lanes;
mod timed_block;
mod trace_extension;
mod trace_words;
mod translated_block;
mod word_functions;

use crate::account::coverage::{Account, EngineTier};
use crate::core::Core;
use crate::core::decoded::Decoded;
use crate::core::execute;
use crate::core::loops::advance;
use crate::core::simd::Simd;
use crate::engines::jit::CodeFrame;
use crate::timing::{IssueOutcome, Pending, Scoreboard};
use cp2_machine::Machine;
use event_words::EventWord;
use std::collections::HashMap;
use timed_block::{States, TimedBlock, UNKNOWN};
use trace_extension::WARM;
use trace_words::LoopEndMap;
pub(crate) use trace_words::sets_up;
use translated_block::{BlockEnd, TranslatedBlock};

/// Fewest words in a run for which entering emitted code pays.
const ENTRY: u64 = 8;

/// Maximum number of words of all nodes that are kept. A program that needs more starts afresh when they are
/// reached.
const WORDS: usize = 1 << 22;

/// Reason why [`Fast::run`] returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Pause {
    /// The next word issues beyond the limit.
    Limit,
    /// The next word is for the reference engine.
    Step,
}

/// Translated blocks and their times.
#[derive(Debug, Default)]
pub(crate) struct Fast {
    ends: Option<LoopEndMap>,
    blocks: Vec<TranslatedBlock>,
    /// True if anything was counted since all counts were zero.
    counted: bool,
    /// Length of a tally: one count for each word of every text, and one behind each text.
    counts: usize,
    /// Block by the word address at which it begins.
    block_at: HashMap<u32, u32>,
    nodes: Vec<TimedBlock>,
    /// Words of all nodes, and one for each node.
    words: usize,
    /// Node by word address and issue state.
    node_at: HashMap<(u32, u32), u32>,
    states: States,
    /// Node that the core stands at. It holds the issue state; the scoreboard is then stale.
    at: Option<u32>,
    scratch: Scoreboard,
    /// Constants and spill slots of emitted code.
    frame: Box<CodeFrame>,
    /// Record of the tier that ran each word, for tests.
    pub(crate) ran: Account,
}

impl Fast {
    /// True if so much was translated that all of it should be discarded.
    pub(crate) fn full(&self) -> bool {
        self.words >= WORDS
    }

    /// Returns the number of words translated, counted once per node, plus one per node.
    pub(crate) fn words(&self) -> usize {
        self.words
    }

    /// Returns the number of blocks that became host code.
    pub(crate) fn compiled(&self) -> usize {
        self.frame.compiled()
    }

    /// True if nothing was translated.
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Forgets where the core stands, and all counts, but keeps the translations.
    pub(crate) fn uncount(&mut self) {
        self.at = None;
        if !std::mem::take(&mut self.counted) {
            return;
        }
        self.nodes.iter_mut().for_each(TimedBlock::uncount);
    }

    /// Brings `board` up to date, for the reference step to work with.
    pub(crate) fn leave(&mut self, board: &mut Scoreboard, now: u64) {
        if let Some(pending) = self.pending() {
            board.resume(pending, now);
            self.at = None;
        }
    }

    /// Records that the reference step has run a word, inside `loops` hardware loops.
    pub(crate) fn record_step(&mut self, word: &Decoded, loops: usize) {
        self.ran.word(word, EngineTier::Step, loops);
    }

    /// Returns the issue state if it is held by a node, so that the scoreboard is stale.
    pub(crate) fn pending(&self) -> Option<&Pending> {
        let at = self.at?;
        Some(self.states.pending(self.nodes[at as usize].state))
    }

    /// Runs words whose issue cycle is at most `limit`, as far as it can. Until then only words may
    /// delay a word. Blocks that run often become host code where `simd` allows it.
    pub(crate) fn run(
        &mut self,
        core: &mut Core,
        machine: &Machine,
        board: &Scoreboard,
        now: &mut u64,
        limit: u64,
        simd: Simd,
    ) -> Pause {
        self.frame.simd = simd;
        self.counted = true;
        let emit = simd != Simd::None;
        let mut at = match self.at {
            Some(at) => at,
            None => {
                let state = self.states.number(board.relative(*now));
                self.node(core, machine, state, None)
            }
        };
        let pause = loop {
            let node = &mut self.nodes[at as usize];
            let in_time = limit.checked_sub(*now + node.last);
            let Some(slack) = in_time.filter(|_| node.runs(core, machine)) else {
                let (next, pause) = self.part(core, machine, now, at, limit);
                at = next;
                match pause {
                    Some(pause) => break pause,
                    None => continue,
                }
            };
            let (backs, ends) = passes(core, node, at, slack);
            let times = backs + u64::from(ends);
            let Some(mut guest) = core.guest() else {
                break Pause::Step;
            };
            let emitted = if emit && times.saturating_mul(node.len.into()) >= ENTRY {
                let block = &mut self.blocks[node.block as usize];
                block.emitted(&mut guest, &mut self.frame, times, &mut self.ran)
            } else {
                None
            };
            let by = emitted.map_or(EngineTier::Portable, |_| EngineTier::Emitted);
            let (whole, done) = match emitted {
                Some(ran) => ran,
                None => portable::run(node.steps(), &mut guest, times),
            };
            if Account::KEPT {
                let block = &self.blocks[node.block as usize];
                let rest = if whole < times {
                    block.words_before(done)
                } else {
                    0
                };
                let loops = core.loops.len();
                self.ran.block(block.words(), whole, rest, by, loops);
            }
            if backs > 0 {
                let backs = whole.min(backs);
                let back = &mut node.edges[IssueOutcome::LoopBack as usize];
                back.count += backs;
                *now += backs * back.cycles;
                if let Some(top) = core.loops.last_mut() {
                    top.left -= backs as u32;
                }
            }
            if whole < times {
                let (next, aside) = self.stop(core, machine, now, at, done);
                at = next;
                if aside {
                    continue;
                }
                break Pause::Step;
            }
            if !ends {
                continue;
            }
            core.pc = node.end;
            let outcome = match node.needs.end {
                BlockEnd::Falls => {
                    core.pc += 1;
                    IssueOutcome::Next
                }
                BlockEnd::Body => advance(core, core.pc),
                // `node.runs` has refused whatever could fault here.
                BlockEnd::Control(op) => {
                    execute::control(core, machine, op).unwrap_or(IssueOutcome::Next)
                }
            };
            let edge = &mut node.edges[outcome as usize];
            edge.count += 1;
            *now += edge.cycles;
            let warm = edge.count == WARM && !node.settled;
            let from = at;
            // The usual successor is compared first, apart from the edges: the next node then
            // depends on a branch that the host predicts, not on data that the block has computed.
            at = if node.usual.outcome == outcome && node.usual.pc == core.pc {
                node.usual.next
            } else if edge.pc == core.pc && edge.next != UNKNOWN {
                edge.next
            } else {
                self.follow_outcome(core, machine, at, outcome)
            };
            if warm {
                self.extend(core, machine, from);
            }
        };
        self.at = Some(at);
        pause
    }

    /// Returns the node at the core's word address in an issue state. `inside` names a block that
    /// contains the address, and the number of its words before it.
    fn node(
        &mut self,
        core: &Core,
        machine: &Machine,
        state: u32,
        inside: Option<(u32, usize)>,
    ) -> u32 {
        let pc = core.pc;
        if let Some(node) = self.node_at.get(&(pc, state)) {
            return *node;
        }
        let block = match self.block_at.get(&pc) {
            Some(block) => *block,
            None => {
                let ends = self.ends.get_or_insert_with(|| LoopEndMap::find(core));
                let suffix =
                    inside.and_then(|(block, words)| self.blocks[block as usize].suffix(words));
                let block = suffix
                    .unwrap_or_else(|| TranslatedBlock::translate(core, machine, ends, None, pc));
                self.add_block(pc, block)
            }
        };
        let number = self.nodes.len() as u32;
        let mut node = self.make_node((pc, state), block, machine);
        if node.len == 0 {
            node.gate = EventWord::find(core, machine, state, &self.states, &mut self.scratch);
        }
        self.nodes.push(node);
        self.node_at.insert((pc, state), number);
        number
    }

    /// Adds a block, which becomes the one at `pc`, and returns its number.
    fn add_block(&mut self, pc: u32, mut block: TranslatedBlock) -> u32 {
        if block.is_whole() {
            block.counts = self.counts;
            self.counts += block.words().len() + 1;
        }
        let number = self.blocks.len() as u32;
        self.blocks.push(block);
        self.block_at.insert(pc, number);
        number
    }

    /// Makes the node of a block that is entered at a word in a state, and counts its words.
    fn make_node(&mut self, entry: (u32, u32), block: u32, machine: &Machine) -> TimedBlock {
        let block = (block, &self.blocks[block as usize]);
        let node = TimedBlock::new(entry, block, &self.states, &mut self.scratch, machine);
        self.words += 1 + node.len as usize;
        node
    }
}

/// Returns how often the block runs and comes back to its own node, and whether it runs once more
/// and then leaves. The last word of every pass issues within `slack` cycles of the first pass's. A
/// block whose back edge is not known yet leaves at once.
#[inline]
fn passes(core: &Core, node: &TimedBlock, at: u32, slack: u64) -> (u64, bool) {
    let back = &node.edges[IssueOutcome::LoopBack as usize];
    if node.needs.end != BlockEnd::Body || back.next != at {
        return (0, true);
    }
    let outer = core.callers_loops();
    match core.loops[outer..].last() {
        Some(top) if top.end == node.end && top.start == node.pc && top.left > 1 => {
            let most = u64::from(top.left - 1);
            // The division is slow and seldom needed.
            if most.saturating_mul(back.cycles) <= slack {
                (most, true)
            } else {
                (most.min(slack / back.cycles + 1), false)
            }
        }
        _ => (0, true),
    }
}
