//! Warnings about words that wait for a register or a unit.
//!
//! The program is read from the first word to the last with the issue rule of the emulator. The result is
//! exact where execution is a straight line from an idle machine. A loop's body is read a second time from
//! its end, to account for results that are pending at the back edge. Behind an unconditional branch no
//! result is pending and no unit is busy.

use super::state::Assembler;
use crate::diag::{Fail, Problem};
use crate::isa::Word;
use crate::issue::{Scoreboard, WaitOn, WordTiming};
use crate::structure::{ends_flow, is_loop};
use cp2_machine::Machine;

/// Warns of every stall that is not allowed on its line.
pub(super) fn warn(asm: &mut Assembler<'_>, machine: &Machine, words: &[Word]) {
    let timing = words
        .iter()
        .map(|w| WordTiming::new(w, &machine.cp2))
        .collect();
    let mut walk = Walk {
        budget: BUDGET,
        machine,
        words,
        timing,
        board: Scoreboard::default(),
        now: 0,
        warned: vec![false; words.len()],
    };
    walk.run(asm, 0, words.len(), false);
}

/// Most words that are issued: each level of nested loops doubles the work.
const BUDGET: u32 = 1 << 22;

struct Walk<'a> {
    budget: u32,
    machine: &'a Machine,
    words: &'a [Word],
    timing: Vec<WordTiming>,
    board: Scoreboard,
    now: u64,
    warned: Vec<bool>,
}

impl Walk<'_> {
    /// Issues the words of `from..to`; `again` marks a loop's second reading.
    fn run(&mut self, asm: &mut Assembler<'_>, from: usize, to: usize, again: bool) {
        let mut pc = from;
        while pc < to && self.budget > 0 {
            self.budget -= 1;
            let (Some(word), Some(timing)) = (self.words.get(pc), self.timing.get(pc)) else {
                return;
            };
            let (at, wait) = self.board.earliest(timing, self.now);
            if let Some(on) = wait.on {
                self.report(asm, pc, wait.cycles, on, again);
            }
            if let Some(timing) = self.timing.get(pc) {
                self.board.issue(timing, at);
            }
            self.now = at + 1;
            pc += 1;
            if is_loop(&word.mem) {
                self.now += self.machine.cp2.loop_setup.0;
                let end = (pc + usize::from(word.mem.target)).min(to);
                self.run(asm, pc, end, again);
                self.now += self.machine.cp2.loop_back.0;
                self.run(asm, pc, end, true);
                pc = end;
            } else if ends_flow(&word.mem) {
                self.board = Scoreboard::default();
            }
        }
    }

    fn report(&mut self, asm: &mut Assembler<'_>, pc: usize, cycles: u64, on: WaitOn, again: bool) {
        let Some(pending) = asm.words.get(pc).filter(|w| !w.allowed.stall) else {
            return;
        };
        // The second reading of a body meets the stalls of the first again: each word is reported once.
        if self
            .warned
            .get_mut(pc)
            .is_none_or(|w| std::mem::replace(w, true))
        {
            return;
        }
        let back = if again { "in the iteration before" } else { "" };
        let problem = match on {
            WaitOn::Operand { reg, producer } => Problem::Stall {
                cycles,
                register: reg.to_string(),
                class: producer,
                back,
            },
            WaitOn::Unit(class) => Problem::UnitBusy { cycles, class },
        };
        let (at, chain) = (pending.at, pending.chain);
        asm.sink.warn(Fail::new(problem, at), chain);
    }
}
