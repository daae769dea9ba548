//! The reference engine: one word at a time, nothing clever.
//!
//! [`Coprocessor`] is the coprocessor as a component of the processor's event queue:
//! it advances to a given cycle and reports what stopped it.

mod state;
mod time_shift;

use crate::account::cause::Cause;
use crate::account::counters::Counters;
use crate::account::waits::Waited;
use crate::core::decoded::Decoded;
use crate::core::execute;
use crate::core::fault::{Fault, FaultKind};
use crate::core::{Core, Poster};
use crate::engines::blocks::Pause;
use crate::engines::choice::Engine;
use crate::processor::observer::{Observer, Unobserved};
use crate::processor::port::Port;
use crate::processor::programs::Programs;
use crate::semantics::action::{Action, ControlOp};
use crate::timing::{Scoreboard, Stall, penalty};
use cp2_dma::Direction;
use cp2_machine::Machine;
use serde::{Deserialize, Serialize};
use state::CoprocessorState;
use std::collections::VecDeque;

/// State of the coprocessor as seen from outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Status {
    /// No kernel.
    Idle,
    /// A kernel runs.
    Running,
    /// A kernel waits for an event nobody has posted yet.
    Waiting {
        /// The event.
        event: u32,
        /// Cycle since which it waits.
        since: u64,
    },
    /// A kernel faulted; a launch starts afresh.
    Faulted,
}

/// Reason why [`Coprocessor::run`] returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// The next word issues beyond the limit, or waits for an event, or no kernel runs.
    Limit,
    /// `stop` has issued; the last result landed by the end of cycle `end - 1`.
    Stopped { end: u64 },
    /// `signal` has issued in this cycle.
    Signal { event: u32, cycle: u64 },
    /// The kernel cannot go on.
    Fault(Fault),
}

/// The coprocessor: architectural state, issue state, counters.
#[derive(Debug, Serialize, Deserialize)]
#[serde(from = "CoprocessorState", into = "CoprocessorState")]
pub(crate) struct Coprocessor {
    pub core: Core,
    pub status: Status,
    pub port: Port,
    pub engine: Engine,
    /// Counts that have been booked; those of the blocks in `programs` have not.
    counters: Counters,
    /// Issue state; stale while `programs` holds it.
    board: Scoreboard,
    /// Account of the `wait` at the program counter.
    waited: Waited,
    /// First cycle in which the next word could issue.
    now: u64,
    /// Decoded words and translated blocks.
    programs: Programs,
}

impl Coprocessor {
    pub(crate) fn new(machine: &Machine) -> Self {
        Self::of_core(machine, Core::new(machine))
    }

    /// Creates a coprocessor in the state after reset, of a core in that state.
    pub(crate) fn of_core(machine: &Machine, core: Core) -> Self {
        Self {
            core,
            status: Status::Idle,
            port: Port::default(),
            engine: Engine::default(),
            counters: Counters {
                sections: machine.cp2.sections,
                ..Counters::default()
            },
            board: Scoreboard::default(),
            waited: Waited::default(),
            now: 0,
            programs: Programs::default(),
        }
    }

    /// Returns the counters, with what blocks have run.
    pub(crate) fn counters(&self) -> Counters {
        let mut counters = self.counters.clone();
        self.programs.fast().tally(&mut counters);
        counters
    }

    /// Returns the record of the tier that ran each word.
    #[cfg(any(test, feature = "testing"))]
    pub(crate) fn ran(&self) -> crate::testing::ExecutedWords {
        self.programs.ran()
    }

    /// Returns the counters and sets them to zero.
    pub(crate) fn take_counters(&mut self) -> Counters {
        self.book();
        let fresh = self.counters.fresh();
        std::mem::replace(&mut self.counters, fresh)
    }

    /// Returns the scoreboard without past entries, on which nothing depends.
    fn board(&self) -> Scoreboard {
        let mut board = Scoreboard::default();
        match self.programs.fast().pending() {
            Some(pending) => board.resume(pending, self.now),
            None => board.resume(&self.board.relative(self.now), self.now),
        }
        board
    }

    /// Starts a kernel whose first word may issue in cycle `at`.
    pub(crate) fn launch(&mut self, entry: u32, args: u32, at: u64) {
        self.programs.fast_mut().leave(&mut self.board, self.now);
        self.core.launch(entry, args);
        self.now = at;
        self.status = Status::Running;
    }

    /// Accounts for a transfer that ran from cycle `start` to `end`: a waiting kernel has waited
    /// for it.
    pub(crate) fn account_transfer(&mut self, direction: Direction, start: u64, end: u64) {
        if let Status::Waiting { since, .. } = self.status {
            self.waited.account_transfer(since, direction, start, end);
        }
    }

    /// Forgets decoded words after program memory changed.
    pub(crate) fn program_changed(&mut self) {
        self.book();
        self.programs.changed();
    }

    /// Exchanges the translations for others, whose counts are zero. What has run stays counted here.
    pub(crate) fn swap_programs(&mut self, other: &mut Programs) {
        self.book();
        self.programs.swap(other);
    }

    /// Adds the counts of blocks to the counters, and takes the issue state back.
    fn book(&mut self) {
        let fast = self.programs.fast_mut();
        fast.leave(&mut self.board, self.now);
        fast.tally(&mut self.counters);
        fast.uncount();
    }

    /// Returns to the state after reset. Translations of programs are kept for when these are
    /// loaded again.
    pub(crate) fn reset(&mut self) {
        self.programs.fast_mut().uncount();
        self.programs.changed();
        self.core.reset();
        self.status = Status::Idle;
        self.port = Port::default();
        self.counters.clear();
        self.board = Scoreboard::default();
        self.waited = Waited::default();
        self.now = 0;
    }

    /// Runs every word whose issue cycle is at most `limit` on the chosen engine.
    pub(crate) fn run(&mut self, machine: &Machine, limit: u64) -> Exit {
        match self.engine {
            Engine::Reference => self.run_observed(machine, limit, &mut Unobserved),
            Engine::Portable | Engine::Avx2 | Engine::Fast => {
                let fast = |cp2: &mut Self| cp2.blocks(machine, limit);
                self.run_with(machine, limit, &mut Unobserved, fast)
            }
        }
    }

    /// Runs every word whose issue cycle is at most `limit` on the reference engine, and tells the
    /// observer of each.
    pub(crate) fn run_observed<O: Observer>(
        &mut self,
        machine: &Machine,
        limit: u64,
        observer: &mut O,
    ) -> Exit {
        self.run_with(machine, limit, observer, |_| Pause::Step)
    }

    /// Runs words in blocks, up to the next one that is for the reference engine's step.
    fn blocks(&mut self, machine: &Machine, limit: u64) -> Pause {
        // Blocks write all lanes.
        if self.status != Status::Running || !self.port.idle() || !self.core.mask.is_full() {
            return Pause::Step;
        }
        if self.programs.fast().full() {
            self.book();
            self.programs.clear();
        }
        self.programs.select_translation(&self.core);
        let (core, now) = (&mut self.core, &mut self.now);
        let simd = self.engine.simd();
        let fast = self.programs.fast_mut();
        fast.run(core, machine, &self.board, now, limit, simd)
    }

    /// Runs every word whose issue cycle is at most `limit`: step by step, where each step is
    /// preceded by the words that `ahead` runs.
    fn run_with<O: Observer>(
        &mut self,
        machine: &Machine,
        limit: u64,
        observer: &mut O,
        ahead: impl Fn(&mut Self) -> Pause,
    ) -> Exit {
        while matches!(self.status, Status::Running | Status::Waiting { .. }) {
            if ahead(self) == Pause::Limit {
                return Exit::Limit;
            }
            match self.step(machine, limit, observer) {
                Ok(None) => {}
                Ok(Some(exit)) => return exit,
                Err((section, kind)) => {
                    self.status = Status::Faulted;
                    return Exit::Fault(Fault {
                        pc: self.core.pc,
                        cycle: self.now,
                        section,
                        kind,
                    });
                }
            }
        }
        Exit::Limit
    }

    /// Runs one word, unless it would issue beyond `limit`.
    fn step<O: Observer>(
        &mut self,
        machine: &Machine,
        limit: u64,
        observer: &mut O,
    ) -> Result<Option<Exit>, (Option<usize>, FaultKind)> {
        // A word that may not issue yet is not even fetched: a transfer may still be loading it.
        if self.now > limit {
            return Ok(Some(Exit::Limit));
        }
        let pc = self.core.pc;
        // The block engine knows the issue cycle of most waits and signals.
        let gate = match self.engine {
            Engine::Reference => None,
            _ => self.programs.fast().gate(),
        };
        let (decoded, mut at, wait) = match &gate {
            Some(gate) => (gate.decoded, self.now + gate.first, gate.wait),
            None => {
                self.programs.fast_mut().leave(&mut self.board, self.now);
                let fetched = self.programs.fetch(&self.core, machine);
                let decoded = fetched.map_err(|kind| (None, kind))?;
                let (at, wait) = self.board.earliest(&decoded.timing, self.now);
                (decoded, at, wait.into())
            }
        };
        let mut stalls = [
            wait,
            Stall {
                cause: Cause::MemoryPort,
                cycles: 0,
            },
        ];
        let mut waits = None;
        // A `wait` for an event the machine lacks faults when it executes.
        if let Some((event, posts)) = self.awaited_event(decoded.action) {
            let Some(&(poster, seen)) = posts.front() else {
                self.status = Status::Waiting { event, since: at };
                return Ok(Some(Exit::Limit));
            };
            let cause = match poster {
                Poster::Load => Cause::WaitLoad,
                Poster::Store => Cause::WaitStore,
                Poster::Host => Cause::WaitHost,
            };
            waits = Some(self.waited.causes(at, seen, cause));
            at = at.max(seen);
        }
        if decoded.timing.uses_dmem && at <= limit {
            stalls[1].cycles = self.port.delay(at);
            at += stalls[1].cycles;
        }
        if at > limit {
            return Ok(Some(Exit::Limit));
        }
        self.status = Status::Running;

        observer.word(pc, at, decoded.reads, decoded.writes);
        for stall in stalls {
            self.counters.charge(pc, stall.cause, stall.cycles);
        }
        for (cause, cycles) in waits.into_iter().flatten() {
            self.counters.charge(pc, cause, cycles);
            self.waited = Waited::default();
        }
        let since = std::mem::replace(&mut self.now, at);
        let outcome = match &gate {
            Some(gate) => gate.pass(&mut self.core, machine),
            None => execute::word(&mut self.core, machine, &decoded, at, observer),
        }?;
        if gate.is_none() {
            self.board.issue(&decoded.timing, at);
        }
        self.account(pc, &decoded, at);
        let exit = self.control(decoded.action, at);

        let lost = penalty(outcome, &machine.cp2);
        self.counters.charge(pc, lost.cause, lost.cycles);
        self.now = at + 1 + lost.cycles;
        if gate.is_some() {
            let fast = self.programs.fast_mut();
            fast.passed(&self.core, machine, since, at, self.now);
        }
        if let Some(Exit::Stopped { end }) = &exit {
            self.counters.charge(pc, Cause::Drain, end - self.now);
            self.counters.kernels += 1;
            self.status = Status::Idle;
            self.now = *end;
        }
        Ok(exit)
    }

    /// Returns the event that a `wait` asks for, and its posts.
    fn awaited_event(&mut self, action: Action) -> Option<(u32, &mut VecDeque<(Poster, u64)>)> {
        let Action::Control(ControlOp::Wait { event }) = action else {
            return None;
        };
        let posts = self.core.events.get_mut(event as usize)?;
        Some((event, posts))
    }

    /// Returns the first cycle in which a word may still issue; DMEM is unused until then.
    pub(crate) fn next_issue(&self, after: u64) -> u64 {
        match self.status {
            Status::Running => self.now.min(after),
            _ => after,
        }
    }

    /// Carries out the effects of the word that concern the outside.
    fn control(&mut self, action: Action, at: u64) -> Option<Exit> {
        let Action::Control(op) = action else {
            return None;
        };
        match op {
            ControlOp::Stop => Some(Exit::Stopped {
                end: self.board.settled().max(at + 1),
            }),
            ControlOp::Signal { event } => Some(Exit::Signal { event, cycle: at }),
            ControlOp::Wait { .. } => {
                if let Some((_, posts)) = self.awaited_event(action) {
                    posts.pop_front();
                }
                None
            }
            ControlOp::Return
            | ControlOp::Call { .. }
            | ControlOp::Jump { .. }
            | ControlOp::Branch { .. }
            | ControlOp::Loop { .. } => None,
        }
    }

    /// Books the word's issue and its operations.
    fn account(&mut self, pc: u32, decoded: &Decoded, at: u64) {
        let loops = self.core.loops.len();
        self.programs.fast_mut().record_step(decoded, loops);
        if decoded.timing.uses_dmem {
            self.port.commit(at);
        }
        self.counters.work.issued(&decoded.amount);
        self.counters.issued(std::iter::once(pc), 1);
    }
}
