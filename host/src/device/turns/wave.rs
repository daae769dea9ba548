//! Waves of segments that run in parallel.

use super::super::engine::DeviceEngine;
use super::super::error::HostError;
use super::Turns;
use super::repetition::RepetitionRate;
use super::segment::{Helper, TurnSegment, TurnShare};
use cp2_emu::{AddressSpans, SystemRam};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;

/// Bytes that a segment stores, approximately; they are kept until all segments are done.
const BYTES: u64 = 8 << 20;

/// Turns that a guess runs, besides a period, until its errors are replaced.
const BESIDE: u64 = 3;

/// Least ratio of a segment's turns to those of its guess.
const WORTH: u64 = 4;

/// As many consecutive segments as threads.
pub(super) struct Wave<'a> {
    rate: &'a RepetitionRate,
    first: u64,
    /// Turns of a segment, a multiple of the repetition.
    turns: u64,
    /// Turns that a guess runs before its segment, a multiple of the repetition.
    warm: u64,
    /// Turns whose commands may be under way, a multiple of the repetition.
    back: u64,
    threads: usize,
}

impl<'a> Wave<'a> {
    /// Returns true if a source may have enough turns.
    pub(super) fn may_fit<S: Turns>(source: &S, threads: usize) -> bool {
        let least = (source.period() + BESIDE).saturating_mul(WORTH);
        source.turns() / threads as u64 >= least
    }

    /// Cuts the turns `first .. end` into segments, or returns nothing if they would be too short. A guess
    /// runs for `care` turns and a few more. `under_way` commands have been given since the oldest that is
    /// not complete.
    pub(super) fn new(
        (first, end): (u64, u64),
        (care, under_way): (u64, u64),
        threads: usize,
        rate: &'a RepetitionRate,
    ) -> Option<Self> {
        let whole = |turns: u64| turns.checked_next_multiple_of(rate.turns);
        let warm = whole(care.checked_add(BESIDE)?)?;
        let back = under_way.div_ceil(rate.commands).checked_mul(rate.turns)?;
        let least = whole((back.checked_add(warm)?).max(warm.checked_mul(WORTH)?))?;
        let most = BYTES / rate.stored.max(1) * rate.turns;
        let all = (end - first) / threads as u64 / rate.turns * rate.turns;
        // Commands under way must belong to turns, not to the commands before them.
        (all >= least && first >= back).then(|| Self {
            rate,
            first,
            turns: all.min(most.max(least)),
            warm,
            back,
            threads,
        })
    }

    fn share(&self, number: usize) -> TurnShare<'a> {
        let before = number as u64 * self.turns;
        let first = self.first + before;
        TurnShare {
            rate: self.rate,
            ahead: before.saturating_sub(self.warm),
            back: self.back,
            first,
            end: first + self.turns,
        }
    }

    /// Runs the segments, and takes over those that continue the present run. Returns their number, and the
    /// number of segments that had a thread.
    pub(super) fn run<S: Turns>(
        &self,
        engine: &mut DeviceEngine,
        helpers: &mut Vec<Helper>,
        source: &mut S,
    ) -> Result<(usize, usize), HostError> {
        while helpers.len() < self.threads {
            helpers.push(Helper::new(&engine.machine, &engine.options));
        }
        let size = engine.processor.memory().size();
        let memory = engine.processor.memory_mut();
        let memory = Arc::new(std::mem::replace(memory, SystemRam::new(size)));
        let segments = self.segments(engine, helpers, &memory, source);
        *engine.processor.memory_mut() = Arc::unwrap_or_clone(memory);
        let (taken, started) = (follow_each_other(&segments, helpers), segments.len());
        let mut segments: Vec<TurnSegment<S>> = segments.into_iter().flatten().collect();
        segments.truncate(taken);
        take_over(engine, helpers, segments, source)?;
        if let Some(count) = &engine.options.taken_over {
            // The first segment would have been run in any case.
            count.fetch_add(taken.saturating_sub(1) as u64, Ordering::Relaxed);
        }
        if let Some(progress) = &engine.options.progress {
            progress.store(engine.current_cycle(), Ordering::Relaxed);
        }
        Ok((taken, started))
    }

    /// Runs the first segment on this thread and each of the others on its own thread. If a thread cannot be
    /// started, that segment and all after it are missing.
    fn segments<S: Turns>(
        &self,
        engine: &DeviceEngine,
        helpers: &mut [Helper],
        memory: &Arc<SystemRam>,
        source: &S,
    ) -> Vec<Option<TurnSegment<S>>> {
        thread::scope(|scope| {
            let mut segments = helpers.iter_mut().enumerate().take(self.threads);
            let mut segments = segments.by_ref().map(|(number, helper)| {
                let (share, memory, source) = (self.share(number), memory.clone(), source.clone());
                move || helper.run(engine, memory, source, &share)
            });
            let Some(first) = segments.next() else {
                return Vec::new();
            };
            let begin = |segment| thread::Builder::new().spawn_scoped(scope, segment).ok();
            let running: Vec<_> = segments.map_while(begin).collect();
            let first = [first()].into_iter();
            let others = running.into_iter();
            first
                .chain(others.map(|thread| thread.join().ok().flatten()))
                .collect()
        })
    }
}

/// Returns the number of segments, from the first on, that are one run and load nothing that they store.
fn follow_each_other<S: Turns>(segments: &[Option<TurnSegment<S>>], helpers: &[Helper]) -> usize {
    let mut stored = AddressSpans::default();
    let mut before: Option<(&TurnSegment<S>, &Helper)> = None;
    for (number, (segment, helper)) in segments.iter().zip(helpers).enumerate() {
        let Some(segment) = segment else {
            return number;
        };
        let continues =
            before.is_none_or(|(before, helper)| segment.continues(before, &helper.engine));
        stored.extend(helper.stores.spans());
        if !continues || stored.intersects(&segment.loaded) {
            return number;
        }
        before = Some((segment, helper));
    }
    segments.len()
}

/// Moves the device on to the end of `segments`.
fn take_over<S: Turns>(
    engine: &mut DeviceEngine,
    helpers: &mut [Helper],
    segments: Vec<TurnSegment<S>>,
    source: &mut S,
) -> Result<(), HostError> {
    let Some(last) = segments.len().checked_sub(1) else {
        return Ok(());
    };
    let mut counters = engine.processor.take_counters();
    let running = engine.state.kernel.as_ref().map(|kernel| kernel.command);
    // Turns belong to the pass whose kernel runs.
    let stage = running.and_then(|command| engine.stages.find_stage(command));
    let taken = helpers.iter().take(segments.len());
    let stores: Vec<_> = taken.map(|helper| &helper.stores).collect();
    let memory = engine.processor.memory_mut();
    memory.carry_out(&stores)?;
    for (segment, helper) in segments.into_iter().zip(helpers.iter_mut()) {
        counters.merge(&segment.counters);
        engine.state.progress.add_seen(segment.seen);
        let theirs = &mut helper.engine;
        engine.timeline.append(&mut theirs.timeline);
        engine.dma.add(&theirs.dma);
        if let Some(dma) = engine.stages.moved(stage) {
            dma.add(&theirs.dma);
        }
        engine.host.add(&theirs.host);
        *source = segment.source;
    }
    let theirs = &mut helpers[last].engine;
    let seen = engine.state.progress.take_seen();
    std::mem::swap(&mut engine.state, &mut theirs.state);
    engine.state.progress.add_seen(seen);
    // Translated programs are swapped as well; system memory stays with the device.
    std::mem::swap(&mut engine.processor, &mut theirs.processor);
    std::mem::swap(engine.processor.memory_mut(), theirs.processor.memory_mut());
    engine.processor.count(&counters);
    if let Some(command) = running.filter(|_| engine.state.kernel.is_none()) {
        engine.kernel_counted(command);
    }
    Ok(())
}
