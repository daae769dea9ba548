//! Segments of turns that run on a copy of the device.

use super::super::command::{Command, HostAction};
use super::super::control_state::ControlCpuState;
use super::super::engine::DeviceEngine;
use super::super::progress::Completions;
use super::repetition::RepetitionRate;
use super::repetition_shift::RepetitionShift;
use super::{TurnPrefix, Turns};
use crate::device::DeviceOptions;
use crate::timeline::Timeline;
use cp2_emu::{AddressSpans, Counters, Processor, StoreLog, SystemRam};
use cp2_machine::Machine;
use std::sync::Arc;

/// A device for segments. It is kept from pass to pass, because its engine keeps translated programs.
#[derive(Debug)]
pub(in super::super) struct Helper {
    pub(super) engine: DeviceEngine,
    /// Buffer for the stores of a segment.
    pub(super) stores: StoreLog,
}

/// Turns of a segment, and the position of its guess.
pub(super) struct TurnShare<'a> {
    pub rate: &'a RepetitionRate,
    /// Turns from the present to the guessed state; 0 for the segment that begins now.
    pub ahead: u64,
    /// Turns before the guessed state whose commands may be under way there.
    pub back: u64,
    /// First turn of the segment.
    pub first: u64,
    /// First turn of the next segment.
    pub end: u64,
}

/// State that decides how a run goes on; two are compared.
#[derive(Debug, PartialEq)]
pub(super) struct RunPoint<S> {
    state: ControlCpuState,
    processor: Processor,
    source: S,
}

/// A segment that was run.
pub(super) struct TurnSegment<S> {
    /// Recorded state at its beginning, if the segment began with a guess.
    pub begin: Option<RunPoint<S>>,
    pub source: S,
    pub counters: Counters,
    pub seen: Completions,
    pub loaded: AddressSpans,
}

impl<S: Turns> TurnSegment<S> {
    /// Returns true if the segment begins in the state in which `before` ended, which is that of `engine`.
    pub(super) fn continues(&self, before: &Self, engine: &DeviceEngine) -> bool {
        self.begin.as_ref().is_some_and(|begin| {
            begin.source == before.source
                && begin.state == engine.state
                && begin.processor == engine.processor
        })
    }
}

fn launches(command: &Command) -> bool {
    matches!(command.action, HostAction::Launch { .. })
}

impl Helper {
    pub(super) fn new(machine: &Arc<Machine>, options: &DeviceOptions) -> Self {
        Self {
            engine: DeviceEngine::new(machine.clone(), options.clone()),
            stores: StoreLog::default(),
        }
    }

    /// Runs a segment of the commands that `source` gives after `from`, on `memory`. Returns nothing if the
    /// segment ends early or cannot be followed. Stores are kept apart.
    pub(super) fn run<S: Turns>(
        &mut self,
        from: &DeviceEngine,
        memory: Arc<SystemRam>,
        mut source: S,
        share: &TurnShare<'_>,
    ) -> Option<TurnSegment<S>> {
        self.follow(from);
        let stores = std::mem::take(&mut self.stores);
        *self.engine.processor.memory_mut() = SystemRam::sharing(memory, stores);
        let segment = self.segment(&mut source, share);
        let apart = self.engine.processor.memory_mut().end_sharing()?;
        self.stores = apart.stores;
        let (begin, counters, seen) = segment?;
        Some(TurnSegment {
            begin,
            source,
            counters,
            seen,
            loaded: apart.loaded,
        })
    }

    fn segment<S: Turns>(
        &mut self,
        source: &mut S,
        share: &TurnShare<'_>,
    ) -> Option<(Option<RunPoint<S>>, Counters, Completions)> {
        let mut begin = None;
        if share.ahead > 0 {
            self.guess(source, share)?;
            self.advance(source, share.first)?;
            begin = Some(self.point(source));
        }
        self.advance(source, share.end)?;
        let engine = &mut self.engine;
        let counters = engine.processor.take_counters();
        Some((begin, counters, engine.state.progress.take_seen()))
    }

    /// Copies the state of `from`, with sums that begin anew.
    fn follow(&mut self, from: &DeviceEngine) {
        let engine = &mut self.engine;
        engine.options = from.options.clone();
        engine.options.progress = None;
        // Stages are recorded by the true device alone.
        engine.options.stages = false;
        engine.options.trace.limit = from.timeline.room();
        engine.state.clone_from(&from.state);
        engine.processor.copy_state(&from.processor);
        self.begin();
    }

    /// Moves on to the state that is guessed for `share.ahead` turns later.
    fn guess<S: Turns>(&mut self, source: &mut S, share: &TurnShare<'_>) -> Option<()> {
        let rate = share.rate;
        let commands = |turns: u64| (turns / rate.turns).checked_mul(rate.commands);
        let left_out = share.ahead.checked_sub(share.back)?;
        let given = self.engine.state.progress.next_number();
        source.leave_out(left_out, commands(left_out)?);
        let there = source.turn()?.checked_add(share.back)?;
        let commands_there: Vec<Command> = TurnPrefix::new(source, there).collect();
        let on = RepetitionShift {
            rate,
            times: share.ahead / rate.turns,
            first: given.checked_add(commands(left_out)?)?,
            commands: &commands_there,
        };
        self.engine.moved(&on)
    }

    /// Runs to the beginning of a turn.
    fn advance<S: Turns>(&mut self, source: &mut S, turn: u64) -> Option<()> {
        // The account of a launch needs the completion times of earlier commands, which are not known here.
        let state = &self.engine.state;
        let busy = state.busy.iter().map(|busy| &*busy.what);
        if state
            .window
            .iter()
            .map(|given| &*given.command)
            .chain(busy)
            .any(launches)
        {
            return None;
        }
        let mut part = TurnPrefix::new(source, turn);
        let went = self.engine.go_on(&mut part, false);
        (matches!(went, Ok(None)) && !part.launched).then_some(())
    }

    /// Returns the state that decides how the run goes on; sums begin here.
    fn point<S: Turns>(&mut self, source: &S) -> RunPoint<S> {
        self.begin();
        let processor = &mut self.engine.processor;
        let apart = processor.memory_mut().end_sharing();
        let point = RunPoint {
            state: self.engine.state.clone(),
            processor: processor.clone(),
            source: source.clone(),
        };
        if let Some(mut apart) = apart {
            apart.clear();
            processor.memory_mut().begin_sharing(apart);
        }
        point
    }

    /// Begins all sums anew.
    fn begin(&mut self) {
        let engine = &mut self.engine;
        let base = engine.machine.time_base();
        engine.timeline = Timeline::new(base, engine.options.trace.clone());
        (engine.dma, engine.host) = Default::default();
        engine.processor.take_counters();
        engine.state.progress.take_seen();
    }
}
