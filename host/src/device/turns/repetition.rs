//! Detection of a pass that repeats itself.

use super::super::engine::DeviceEngine;
use cp2_emu::Course;
use cp2_machine::Ticks;
use std::collections::VecDeque;

/// Longest repetition that is looked for, in turns.
const LONGEST: usize = 48;

/// Number of turns that must at least have repeated themselves.
const SEEN: usize = 8;

/// Progress of a run in one repetition.
#[derive(Clone, Debug)]
pub(super) struct RepetitionRate {
    /// Turns of the repetition.
    pub turns: u64,
    pub cycles: u64,
    pub commands: u64,
    /// Bytes stored.
    pub stored: u64,
    /// Change of the scalars and loop counters that count.
    pub steps: Course,
}

/// State at the beginning of a turn.
#[derive(Debug)]
struct TurnStart {
    now: u64,
    given: u64,
    stored: u64,
    /// Present of the processor, relative to that of the CPU.
    phase: u64,
    course: Course,
}

/// Detects repetitions by the beginnings of the latest turns.
#[derive(Debug)]
pub(super) struct TurnPace {
    period: usize,
    marks: VecDeque<TurnStart>,
    rate: Option<RepetitionRate>,
}

impl TurnPace {
    pub(super) fn new(period: u64) -> Self {
        Self {
            period: usize::try_from(period).unwrap_or(usize::MAX).max(1),
            marks: VecDeque::new(),
            rate: None,
        }
    }

    /// Forgets all turns and the rate.
    pub(super) fn forget(&mut self) {
        self.marks.clear();
        self.rate = None;
    }

    /// Notes the beginning of a turn. A known rate stays until it is forgotten.
    pub(super) fn note(&mut self, engine: &DeviceEngine) {
        if self.rate.is_some() {
            return;
        }
        let Ticks(present) = engine.processor.now();
        let Ticks(cpu) = engine.ticks(engine.state.now);
        if self.marks.len() > 2 * LONGEST {
            self.marks.pop_front();
        }
        self.marks.push_back(TurnStart {
            now: engine.state.now,
            given: engine.state.progress.next_number(),
            stored: engine.dma.stored,
            phase: present.wrapping_sub(cpu),
            course: engine.processor.course(),
        });
        let mut turns = (self.period..=LONGEST).step_by(self.period);
        self.rate = turns.find_map(|turns| self.repeats(turns));
    }

    /// Returns the repetition of the pass, if there is one.
    pub(super) fn rate(&self) -> Option<&RepetitionRate> {
        self.rate.as_ref()
    }

    fn repeats(&self, turns: usize) -> Option<RepetitionRate> {
        let since = |end: usize| {
            let end = self.marks.len().checked_sub(end + 1)?;
            let (now, before) = (
                self.marks.get(end)?,
                self.marks.get(end.checked_sub(turns)?)?,
            );
            let moved = (now.now - before.now, now.given - before.given);
            (now.phase == before.phase).then_some((moved, now, before))
        };
        let ((cycles, commands), now, before) = since(0)?;
        let same = |end| since(end).is_some_and(|(moved, ..)| moved == (cycles, commands));
        let steady = cycles > 0 && commands > 0 && (1..turns.max(SEEN)).all(same);
        steady.then(|| RepetitionRate {
            turns: turns as u64,
            cycles,
            commands,
            stored: now.stored - before.stored,
            steps: now.course.elapsed_since(&before.course),
        })
    }
}
