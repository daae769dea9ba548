//! Sources of commands in repeating turns, run on several host threads.
//!
//! Nothing is assumed about kernels. A pass that has been seen to repeat itself is cut into segments. For
//! each segment but the first, a thread guesses the state of the device a few turns before the segment: the
//! present state, moved on by so many turns ([`DeviceEngine::moved`]). From there it runs the source's own
//! commands, which replace what was guessed wrong, records the state in which it begins its segment, and runs
//! the segment. If the segment before ends in exactly the recorded state, both are one run, because two runs
//! in equal states go on alike. If not, the segment is thrown away. So a guess affects the host time, but
//! never the results.
//!
//! States are compared as a whole and with absolute times: registers, memories, issue state, transfers,
//! events, the CPU's commands and the events they wait for. Sums (counters, bytes, cycles by cause) begin
//! anew with a segment and are added up. Stores are kept apart and carried out in order afterwards; a segment
//! is also thrown away if it loads an address that it or an earlier segment stores to.

mod repetition;
mod repetition_shift;
mod segment;
mod wave;

pub(super) use segment::Helper;

use super::command::{Command, HostAction};
use super::engine::DeviceEngine;
use super::error::HostError;
use super::report::RunEnd;
use repetition::TurnPace;
use wave::Wave;

/// Turns after which segments are tried again when one was thrown away; the number doubles each time.
const REST: u64 = 64;

/// Commands in turns that repeat themselves, except for addresses in system memory.
///
/// A turn is usually a page: the wait for its end, its store, and the load of the page that takes its buffer.
/// The first turn may have commands before it. The methods of a source affect how fast it runs on several
/// threads, and no results.
pub trait Turns: Iterator<Item = Command> + Clone + PartialEq + Send {
    /// Returns the number of turns.
    fn turns(&self) -> u64;
    /// Returns the turn that begins with the next command, if one does.
    fn turn(&self) -> Option<u64>;
    /// Returns the number of turns after which the commands repeat themselves, at least 1: usually the number
    /// of buffers.
    fn period(&self) -> u64;
    /// Skips `turns` turns, which have `commands` commands, at the beginning of a turn.
    fn leave_out(&mut self, turns: u64, commands: u64);
}

/// The commands of a source before a turn.
struct TurnPrefix<'a, S> {
    source: &'a mut S,
    turn: u64,
    /// True if a launch was among the commands.
    launched: bool,
}

impl<'a, S> TurnPrefix<'a, S> {
    fn new(source: &'a mut S, turn: u64) -> Self {
        Self {
            source,
            turn,
            launched: false,
        }
    }
}

impl<S: Turns> Iterator for TurnPrefix<'_, S> {
    type Item = Command;

    fn next(&mut self) -> Option<Command> {
        if self.source.turn().is_some_and(|turn| turn >= self.turn) {
            return None;
        }
        let command = self.source.next()?;
        self.launched |= matches!(command.action, HostAction::Launch { .. });
        Some(command)
    }
}

/// Gives `queued` and then all of `source`, on as many threads as the options allow.
pub(super) fn run<S: Turns>(
    engine: &mut DeviceEngine,
    helpers: &mut Vec<Helper>,
    queued: Vec<Command>,
    source: &mut S,
) -> Result<Option<RunEnd>, HostError> {
    let mut threads = engine.options.threads;
    let mut queued = queued.into_iter();
    if threads < 2 || engine.options.check || !Wave::may_fit(source, threads) {
        return engine.run(&mut queued.chain(source), false);
    }
    let mut pace = TurnPace::new(source.period());
    let (mut care, mut rest, mut until) = (1, REST, 0);
    engine.wake();
    loop {
        let next = source.turn().map_or(0, |turn| turn + 1);
        let mut part = queued.by_ref().chain(TurnPrefix::new(source, next));
        if let Some(end) = engine.go_on(&mut part, false)? {
            return Ok(Some(end));
        }
        let Some(at) = source.turn().filter(|turn| *turn < source.turns()) else {
            return Ok(None);
        };
        pace.note(engine);
        while let Some(wave) = pace.rate().and_then(|rate| {
            let at = source.turn().filter(|turn| *turn >= until && threads > 1)?;
            let care = (source.period() * care, engine.state.under_way());
            Wave::new((at, source.turns()), care, threads, rate)
        }) {
            let (taken, started) = wave.run(engine, helpers, source)?;
            if started < threads {
                // The host cannot start more threads.
                threads = started;
            }
            if taken < threads {
                // The pace here must be measured again by the next turns.
                pace.forget();
                until = source.turn().unwrap_or(at) + rest;
                (care, rest) = (care * 2, rest * 2);
            }
        }
    }
}
