//! The issue rule: when a word may issue, and what it waits for.
//!
//! The rule is a pure function: [`Scoreboard::earliest`] depends only on the differences between the
//! scoreboard's cycles and the candidate cycle, so that a block's timing can be computed once per entry state
//! (see [`Scoreboard::relative`]). The emulator's clock and the assembler's warnings both follow it.

use crate::isa::{Inst, Op, Reg, RegSet, Word};
use cp2_machine::{Class, ClassMap, Cp2};
use serde::{Deserialize, Serialize};

/// Number of registers that the scoreboard tracks: section registers, then shared scalars.
pub(crate) const REGISTERS: usize = 128;

/// Number of producers in one word: the arithmetic result, the memory slot's result, the address update.
const WRITES: usize = 3;

/// Timing of a word: its register sets, latencies and intervals, without semantics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordTiming {
    reads: RegSet,
    /// Registers written, with the class and the latency in cycles of each producer.
    writes: [(RegSet, Class, u64); WRITES],
    /// Class and interval of each slot's unit, where the interval is longer than one cycle.
    intervals: [Option<(Class, u64)>; 2],
    /// True if the word uses the CP2 port of DMEM.
    pub uses_dmem: bool,
}

/// Duration and cause of a word's wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// Number of cycles, possibly zero.
    pub cycles: u64,
    /// Cause that is resolved last; `None` if the word does not wait.
    pub on: Option<WaitOn>,
}

/// Cause of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitOn {
    /// The result of an earlier word.
    Operand {
        /// Register that the result is written to.
        reg: Reg,
        /// Unit that produces the result.
        producer: Class,
    },
    /// A unit that is busy, since it accepts an operation only every few cycles.
    Unit(Class),
}

/// Cycles in which results become ready and units become free, absolute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Scoreboard {
    ready: Vec<u64>,
    producer: Vec<Class>,
    /// First cycle in which each unit accepts an operation.
    free: ClassMap<u64>,
    /// First cycle in which no result is pending.
    settled: u64,
}

impl Default for Scoreboard {
    fn default() -> Self {
        Self {
            ready: vec![0; REGISTERS],
            producer: vec![Class::Control; REGISTERS],
            free: ClassMap::default(),
            settled: 0,
        }
    }
}

impl WordTiming {
    /// Computes the timing of a word on a machine.
    #[must_use]
    pub fn new(word: &Word, cp2: &Cp2) -> Self {
        let mut writes = [(RegSet::EMPTY, Class::Control, 0); WRITES];
        let mut next = writes.iter_mut();
        let mut push = |set: RegSet, class: Class, latency: u64| {
            // A place is taken only by what is written: a word has more kinds of results than places.
            if set.is_empty() {
                return;
            }
            if let Some(entry) = next.next() {
                *entry = (set, class, latency);
            }
        };
        for inst in [&word.arith, &word.mem] {
            push(inst.writes(), inst.row().class, inst.latency(cp2));
            let update = cp2.latency[Class::Scalar].0.max(1);
            push(inst.address_write(), Class::Scalar, update);
        }
        let interval = |inst: &Inst| {
            let class = inst.row().class;
            let cycles = cp2.interval[class].0;
            let idle = matches!(inst.op, Op::Nop | Op::MemNop);
            (cycles > 1 && !idle).then_some((class, cycles))
        };
        Self {
            reads: word.arith.reads() | word.mem.reads(),
            writes,
            intervals: [interval(&word.arith), interval(&word.mem)],
            uses_dmem: word.mem.has_address(),
        }
    }
}

impl WordTiming {
    /// Returns the cycles by which a word that comes later in the program has to issue after this one, so that it reads
    /// what this one writes, and leaves what this one reads; none if the words have no register in common.
    pub(crate) fn distance_to(&self, later: &Self) -> Option<u64> {
        let mut distance = None;
        let mut at_least = |cycles: u64| distance = distance.max(Some(cycles));
        for &(written, _, latency) in &self.writes {
            if !(written & later.reads).is_empty() {
                at_least(latency);
            }
            for &(again, _, own) in &later.writes {
                if !(written & again).is_empty() {
                    at_least((latency + 1).saturating_sub(own).max(1));
                }
            }
        }
        if self.reads_of(later) {
            at_least(0);
        }
        distance
    }

    /// Returns the registers that the word reads.
    pub(crate) const fn reads(&self) -> RegSet {
        self.reads
    }

    /// Returns the registers that the word writes.
    pub(crate) fn written(&self) -> RegSet {
        let sets = self.writes.iter().map(|(set, ..)| *set);
        sets.fold(RegSet::EMPTY, |all, set| all | set)
    }

    /// Returns true if the word reads a register that another one writes.
    pub(crate) fn reads_of(&self, other: &Self) -> bool {
        let mut written = other.writes.iter();
        written.any(|&(set, ..)| !(set & self.reads).is_empty())
    }

    /// Returns the units that take no operation for some cycles after the word, and those cycles.
    pub(crate) fn units(&self) -> impl Iterator<Item = (Class, u64)> {
        self.intervals.into_iter().flatten()
    }
}

impl Scoreboard {
    /// Returns the first cycle at or after `now` in which registers and units let the word issue, and what it
    /// waits for.
    #[must_use]
    pub fn earliest(&self, word: &WordTiming, now: u64) -> (u64, Wait) {
        let mut at = now;
        let mut operand: Option<(Reg, Class)> = None;
        // The register that becomes ready last determines the wait; of several in one cycle, the one with the
        // lowest producer class.
        let mut wait = |reg: Reg, cycle: u64| {
            let producer = self.producer[usize::from(reg.0)];
            let first = operand.is_some_and(|(_, other)| producer < other);
            if cycle > at || cycle == at && first {
                at = cycle;
                operand = Some((reg, producer));
            }
        };
        if self.settled > now {
            for reg in word.reads.iter() {
                wait(reg, self.ready[usize::from(reg.0)]);
            }
            // Results land in program order: a shorter operation may not
            // overtake a longer one into the same register.
            for &(set, _, latency) in &word.writes {
                for reg in set.iter() {
                    let ready = self.ready[usize::from(reg.0)];
                    wait(reg, (ready + 1).saturating_sub(latency));
                }
            }
        }
        let mut on = operand.map(|(reg, producer)| WaitOn::Operand { reg, producer });
        for (class, _) in word.intervals.into_iter().flatten() {
            if self.free[class] > at {
                at = self.free[class];
                on = Some(WaitOn::Unit(class));
            }
        }
        (
            at,
            Wait {
                cycles: at - now,
                on,
            },
        )
    }

    /// Records that the word issued in cycle `at`.
    pub fn issue(&mut self, word: &WordTiming, at: u64) {
        for &(set, class, latency) in &word.writes {
            for reg in set.iter() {
                self.ready[usize::from(reg.0)] = at + latency;
                self.producer[usize::from(reg.0)] = class;
            }
            self.settled = self.settled.max(at + latency);
        }
        for (class, interval) in word.intervals.into_iter().flatten() {
            self.free[class] = at + interval;
        }
    }

    /// Returns the first cycle in which every result has landed.
    #[must_use]
    pub fn settled(&self) -> u64 {
        self.settled
    }

    /// Returns the first cycle in which every result has landed and every unit takes an operation.
    pub(crate) fn idle(&self) -> u64 {
        self.free
            .iter()
            .fold(self.settled, |idle, (_, &at)| idle.max(at))
    }

    /// Returns what is still pending at `now`, in cycles from `now`: the key under which a block's timing may
    /// be remembered. Two scoreboards with equal keys give equal timings for all words that follow.
    #[must_use]
    pub fn relative(&self, now: u64) -> Pending {
        let ready = self.ready.iter().zip(&self.producer).enumerate();
        Pending {
            registers: ready
                .filter(|(_, (r, _))| **r > now)
                .map(|(i, (r, c))| (i as u8, r - now, *c))
                .collect(),
            units: ClassMap::from_fn(|class| self.free[class].saturating_sub(now)),
        }
    }
}

impl Scoreboard {
    /// Sets the scoreboard to the state `pending`, as seen from cycle `now`.
    pub fn resume(&mut self, pending: &Pending, now: u64) {
        self.ready.fill(0);
        self.producer.fill(Class::Control);
        self.settled = now;
        for &(register, cycles, class) in &pending.registers {
            self.ready[usize::from(register)] = now + cycles;
            self.producer[usize::from(register)] = class;
            self.settled = self.settled.max(now + cycles);
        }
        self.free = ClassMap::from_fn(|class| now + pending.units[class]);
    }
}

/// State of a scoreboard relative to one cycle: pending results and busy units only.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pending {
    /// Register, cycles until its result is ready, producing class.
    pub registers: Vec<(u8, u64, Class)>,
    /// Cycles until each unit accepts an operation.
    pub units: ClassMap<u64>,
}
