//! The steady state of a loop under the issue rule.

use super::bound::LoopBound;
use super::{CycleRatio, LoopLimit};
use crate::isa::{Op, Word};
use crate::issue::{Pending, Scoreboard, WaitOn, WordTiming};
use cp2_machine::{Class, ClassMap, Cp2};
use std::collections::{BTreeMap, HashMap};

/// Most words that are issued in search of the steady state.
const MOST_WORDS: usize = 1 << 20;

/// A word in the steady state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordIssue {
    /// Program address of the word.
    pub pc: usize,
    /// First cycle in which it could issue by its place, from the begin of the shown iterations on.
    pub begin: u64,
    /// Cycle in which it issues.
    pub at: u64,
    /// Reason of its wait, if `at` is later than `begin`.
    pub on: Option<WaitOn>,
}

/// Cycles that a word of a loop waits in the steady state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LostCycles {
    /// Program address of the word that waits.
    pub pc: usize,
    /// Cycles of an iteration.
    pub cycles: CycleRatio,
    /// Reason of the wait.
    pub on: WaitOn,
    /// Program address of the word that made the result, or that keeps the unit busy.
    pub producer: usize,
}

/// The steady state of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SteadyLoop {
    /// Cycles of an iteration.
    pub interval: CycleRatio,
    /// Iterations after which the steady state repeats: a multiple of those of the interval.
    pub period: u64,
    /// Cycles that no order of the operations goes below.
    pub bound: LoopBound,
    /// Cycles of an iteration that are lost when the body starts again.
    pub back: u64,
    /// Waits, in the order of the words, the longest of a word first.
    pub lost: Vec<LostCycles>,
    /// Words of two iterations of the steady state.
    pub shown: Vec<WordIssue>,
}

impl SteadyLoop {
    /// Follows a body until its state repeats. `first` is the program address of its first word, and `back` the
    /// cycles that are lost when it starts again. There is no result if the state does not repeat soon.
    pub(super) fn new(body: &[Word], first: usize, back: u64, cp2: &Cp2) -> Option<Self> {
        let bound = LoopBound::new(body, first, back, cp2);
        let timings: Vec<_> = body.iter().map(|word| WordTiming::new(word, cp2)).collect();
        let mut run = Follower {
            body,
            timings: &timings,
            board: Scoreboard::default(),
            now: 0,
            back,
            writers: vec![0; 128],
            users: ClassMap::from_fn(|_| 0),
        };
        let mut seen: HashMap<Pending, (u64, u64)> = HashMap::new();
        let most = (MOST_WORDS / body.len().max(1)).max(16) as u64;
        for iteration in 0..most {
            let state = (iteration, run.now);
            if let Some((before, then)) = seen.insert(run.board.relative(run.now), state) {
                let period = iteration - before;
                let interval = CycleRatio::new(run.now - then, period);
                let mut lost = BTreeMap::new();
                let begin = run.now;
                let mut shown = Vec::new();
                for turn in 0..period.max(2) {
                    for issue in run.follow_iteration() {
                        let (word, producer) = (issue.pc, issue.producer);
                        if let Some(on) = issue.on.filter(|_| turn < period) {
                            let key = (word, producer, LostKey::from(on));
                            lost.entry(key).or_insert((0, on)).0 += issue.at - issue.begin;
                        }
                        if turn < 2 {
                            shown.push(WordIssue {
                                pc: first + word,
                                begin: issue.begin - begin,
                                at: issue.at - begin,
                                on: issue.on,
                            });
                        }
                    }
                }
                let lost = lost
                    .into_iter()
                    .map(|((word, producer, _), (cycles, on))| LostCycles {
                        pc: first + word,
                        cycles: CycleRatio::new(cycles, period),
                        on,
                        producer: first + producer,
                    });
                return Some(Self {
                    interval,
                    period,
                    bound,
                    back,
                    lost: lost.collect(),
                    shown,
                });
            }
            run.follow_iteration();
        }
        None
    }

    /// True if no order of the loop's operations is faster.
    #[must_use]
    pub fn is_at_bound(&self) -> bool {
        self.interval == self.bound.cycles
    }

    /// Returns the term of the bound.
    #[must_use]
    pub fn limit(&self) -> &LoopLimit {
        self.bound.limit()
    }
}

/// Waits of a word for one producer are added up by their reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum LostKey {
    Operand(Class),
    Unit(Class),
}

impl From<WaitOn> for LostKey {
    fn from(on: WaitOn) -> Self {
        match on {
            WaitOn::Operand { producer, .. } => Self::Operand(producer),
            WaitOn::Unit(class) => Self::Unit(class),
        }
    }
}

/// A word that was issued: `pc` and `producer` are places in the body.
struct FollowedWord {
    pc: usize,
    begin: u64,
    at: u64,
    on: Option<WaitOn>,
    producer: usize,
}

/// Issues the words of a body, iteration by iteration.
struct Follower<'a> {
    body: &'a [Word],
    timings: &'a [WordTiming],
    board: Scoreboard,
    /// First cycle in which the next word may issue.
    now: u64,
    back: u64,
    /// Word of the body that wrote each register last, and that used each unit last.
    writers: Vec<usize>,
    users: ClassMap<usize>,
}

impl Follower<'_> {
    fn follow_iteration(&mut self) -> Vec<FollowedWord> {
        let mut issued = Vec::with_capacity(self.body.len());
        for (pc, (word, timing)) in self.body.iter().zip(self.timings).enumerate() {
            let (at, wait) = self.board.earliest(timing, self.now);
            let producer = match wait.on {
                Some(WaitOn::Operand { reg, .. }) => self.writers[usize::from(reg.0)],
                Some(WaitOn::Unit(class)) => self.users[class],
                None => pc,
            };
            issued.push(FollowedWord {
                pc,
                begin: self.now,
                at,
                on: wait.on,
                producer,
            });
            self.board.issue(timing, at);
            for inst in [&word.arith, &word.mem] {
                for reg in (inst.writes() | inst.address_write()).iter() {
                    self.writers[usize::from(reg.0)] = pc;
                }
                if !matches!(inst.op, Op::Nop | Op::MemNop) {
                    self.users[inst.row().class] = pc;
                }
            }
            self.now = at + 1;
        }
        self.now += self.back;
        issued
    }
}
