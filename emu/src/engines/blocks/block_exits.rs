//! Exits of blocks: at a limit, a fault, a side exit or the end.

use super::Fast;
use super::Pause;
use super::portable;
use super::timed_block::{UNKNOWN, Usual};
use crate::account::coverage::{Account, EngineTier};
use crate::core::execute;
use crate::core::{Call, Core};
use crate::timing::IssueOutcome;
use cp2_asm::isa::Op;
use cp2_machine::Machine;

impl Fast {
    /// Runs the words of node `at` that issue by `limit` and can run whatever they compute. Returns
    /// the node after them, and why the run pauses; no reason if the block was left through a side
    /// exit before.
    #[cold]
    pub(super) fn part(
        &mut self,
        core: &mut Core,
        machine: &Machine,
        now: &mut u64,
        at: u32,
        limit: u64,
    ) -> (u32, Option<Pause>) {
        let Some(room) = limit.checked_sub(*now) else {
            return (at, Some(Pause::Limit));
        };
        let node = &self.nodes[at as usize];
        if node.len == 0 {
            return (at, Some(Pause::Step));
        }
        let block = &self.blocks[node.block as usize];
        let time = count_issued_words(&node.issue, room);
        let safe = block.safe(core, machine);
        let words = time.min(safe);
        let steps = block.part(words);
        let Some(mut guest) = core.guest() else {
            return (at, Some(Pause::Step));
        };
        let done = portable::run_words_once(steps, &mut guest);
        if Account::KEPT {
            let ran = if done < steps.len() {
                block.words_before(done)
            } else {
                words
            };
            let loops = core.loops.len();
            self.ran
                .block(&block.words()[..ran], 1, 0, EngineTier::Portable, loops);
        }
        if done < steps.len() {
            let (next, aside) = self.stop(core, machine, now, at, done);
            return (next, (!aside).then_some(Pause::Step));
        }
        // If no word is left behind them, it is not time that stopped the words.
        let late = time <= safe && time < node.issue.len();
        let pause = if late { Pause::Limit } else { Pause::Step };
        (self.cut(core, machine, now, at, words), Some(pause))
    }

    /// Leaves node `at` where step `done` did not run. Returns the next node, and true if that was
    /// a side exit: a branch that does not go the block's way.
    #[inline]
    pub(super) fn stop(
        &mut self,
        core: &mut Core,
        machine: &Machine,
        now: &mut u64,
        at: u32,
        done: usize,
    ) -> (u32, bool) {
        let node = &mut self.nodes[at as usize];
        let step = node.steps().get(done);
        let leaves = |step: &&portable::WordCall| {
            step.guard && !step.continues_for(core.scalar(step.tested()))
        };
        let Some(step) = step.filter(leaves) else {
            return (self.fault(core, machine, now, at, done), false);
        };
        if step.inst.op != Op::Nop
            && let Some(mut guest) = core.guest()
        {
            step.compute(&mut guest);
        }
        if Account::KEPT {
            let block = &self.blocks[node.block as usize];
            let word = &block.words()[block.words_before(done)];
            self.ran.word(word, EngineTier::Portable, core.loops.len());
        }
        let guard = (step.guards - node.guards) as usize;
        let (edge, side) = &mut node.sides[guard];
        if let Some(back) = side.back {
            let loops = core.loops.len();
            core.calls.push(Call { back, loops });
        }
        if side.taken {
            execute::jump(core, side.target);
        } else {
            core.pc = side.target;
        }
        edge.count += 1;
        *now += edge.cycles;
        if edge.next != UNKNOWN {
            return (edge.next, true);
        }
        (self.follow_side_exit(core, machine, at, done, guard), true)
    }

    /// Returns the node that the side exit `guard` of node `at` leads to; its branch is step
    /// `done`.
    #[cold]
    fn follow_side_exit(
        &mut self,
        core: &Core,
        machine: &Machine,
        at: u32,
        done: usize,
        guard: usize,
    ) -> u32 {
        let node = &self.nodes[at as usize];
        let block = &self.blocks[node.block as usize];
        let words = block.words_before(done) + 1;
        let cycles = node.sides[guard].0.cycles;
        let (states, scratch) = (&mut self.states, &mut self.scratch);
        let state = node.exit_state(block, words, cycles, states, scratch);
        let next = self.node(core, machine, state, None);
        self.nodes[at as usize].sides[guard].0.next = next;
        next
    }

    /// Leaves node `at` before the word of step `done`, which will fault. Returns the node there.
    #[cold]
    fn fault(
        &mut self,
        core: &mut Core,
        machine: &Machine,
        now: &mut u64,
        at: u32,
        done: usize,
    ) -> u32 {
        let node = &self.nodes[at as usize];
        let words = self.blocks[node.block as usize].words_before(done);
        self.cut(core, machine, now, at, words.min(node.len as usize - 1))
    }

    /// Returns the node that `outcome` at the end of node `at` leads to, and keeps it in the edge.
    #[cold]
    pub(super) fn follow_outcome(
        &mut self,
        core: &Core,
        machine: &Machine,
        at: u32,
        outcome: IssueOutcome,
    ) -> u32 {
        let node = &mut self.nodes[at as usize];
        let edge = &node.edges[outcome as usize];
        let (cycles, mut state) = (edge.cycles, edge.state);
        if state == UNKNOWN {
            let block = &self.blocks[node.block as usize];
            let (states, scratch) = (&mut self.states, &mut self.scratch);
            state = node.exit_state(block, block.words().len(), cycles, states, scratch);
        }
        let next = self.node(core, machine, state, None);
        let edge = &mut self.nodes[at as usize].edges[outcome as usize];
        (edge.state, edge.pc, edge.next) = (state, core.pc, next);
        self.nodes[at as usize].usual = Usual {
            outcome,
            pc: core.pc,
            next,
        };
        next
    }

    /// Leaves node `at` after `words` of its words. Returns the node there.
    fn cut(
        &mut self,
        core: &mut Core,
        machine: &Machine,
        now: &mut u64,
        at: u32,
        words: usize,
    ) -> u32 {
        if words == 0 {
            return at;
        }
        let node = &mut self.nodes[at as usize];
        let block = &self.blocks[node.block as usize];
        block.leave(core, words);
        let edge = node.cut(block, words);
        edge.count += 1;
        let cycles = edge.cycles;
        *now += cycles;
        if edge.next != UNKNOWN {
            return edge.next;
        }
        let block = &self.blocks[node.block as usize];
        let (states, scratch) = (&mut self.states, &mut self.scratch);
        let state = node.exit_state(block, words, cycles, states, scratch);
        let inside = (node.block, words);
        let next = self.node(core, machine, state, Some(inside));
        self.nodes[at as usize]
            .cut(&self.blocks[inside.0 as usize], words)
            .next = next;
        next
    }
}

/// Returns how many words issue within `room` cycles.
fn count_issued_words(issue: &[u64], room: u64) -> usize {
    // Words issue at most one a cycle, and mostly exactly so: then no search is needed.
    let most =
        usize::try_from(room).map_or(issue.len(), |room| issue.len().min(room.saturating_add(1)));
    match issue[..most].last() {
        Some(last) if *last > room => issue[..most].partition_point(|at| *at <= room),
        _ => most,
    }
}
