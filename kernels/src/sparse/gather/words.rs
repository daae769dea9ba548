//! Operations in order, joined to words.
//!
//! Operations of each slot keep their order; an operation joins the next word in which what it reads is there and what it
//! replaces has been read. The times are those of the machine's issue rule, so that a word that waits for something
//! leaves no hole behind it that another word could have filled.

use cp2_asm::isa::{Inst, Op, Slot, Word};
use cp2_machine::Cp2;

/// Registers that the issue rule knows: of a section and shared.
const REGISTERS: usize = 128;

/// An operation that waits for its word.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    inst: Inst,
    /// How many operations of the other slot come in earlier words.
    behind: usize,
    /// How many of them come no later than its own.
    beside: usize,
}

/// What is known of a register: operations of each slot, counted from 1 on.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    written: [usize; 2],
    read: [usize; 2],
}

/// Operations that become words.
#[derive(Clone, Debug)]
pub(super) struct Operations {
    queues: [Vec<Waiting>; 2],
    used: Vec<Used>,
}

impl Default for Operations {
    fn default() -> Self {
        Self {
            queues: [Vec::new(), Vec::new()],
            used: vec![Used::default(); REGISTERS],
        }
    }
}

impl Operations {
    /// Another operation, behind all so far.
    pub(super) fn push(&mut self, inst: Inst) {
        let own = usize::from(inst.row().slot() == Slot::Mem);
        let other = 1 - own;
        let (mut behind, mut beside) = (0, 0);
        let (reads, writes) = (inst.reads(), inst.writes() | inst.address_write());
        for reg in reads.iter() {
            behind = behind.max(self.used[usize::from(reg.0)].written[other]);
        }
        for reg in writes.iter() {
            let used = &self.used[usize::from(reg.0)];
            behind = behind.max(used.written[other]);
            beside = beside.max(used.read[other]);
        }
        self.queues[own].push(Waiting {
            inst,
            behind,
            beside,
        });
        let number = self.queues[own].len();
        for reg in reads.iter() {
            self.used[usize::from(reg.0)].read[own] = number;
        }
        for reg in writes.iter() {
            self.used[usize::from(reg.0)].written[own] = number;
        }
    }

    /// How many words they make at least.
    pub(super) fn len(&self) -> usize {
        let [arithmetic, memory] = &self.queues;
        arithmetic.len().max(memory.len())
    }

    /// How many operations the arithmetic slot and the memory slot have so far.
    pub(super) fn counts(&self) -> [usize; 2] {
        [0, 1].map(|slot: usize| self.queues[slot].len())
    }

    /// The words, and behind them as many empty ones as the last results need to land.
    pub(super) fn words(self, cp2: &Cp2) -> Vec<Word> {
        let mut ready = [0u64; REGISTERS];
        let mut words = Vec::with_capacity(self.len());
        let (mut next, mut now) = ([0usize; 2], 0u64);
        let latency = |inst: &Inst| cp2.latency[inst.row().class].0.max(1);
        let is_ready = |inst: &Inst, ready: &[u64; REGISTERS], now: u64| {
            inst.reads()
                .iter()
                .all(|reg| ready[usize::from(reg.0)] <= now)
                && inst
                    .writes()
                    .iter()
                    .all(|reg| ready[usize::from(reg.0)] < now + latency(inst))
        };
        let [arithmetic, memory] = &self.queues;
        while next[0] < arithmetic.len() || next[1] < memory.len() {
            let of = |slot: usize| {
                self.queues[slot]
                    .get(next[slot])
                    .filter(|op| op.behind <= next[1 - slot] && is_ready(&op.inst, &ready, now))
            };
            let (mut a, mut m) = (of(0), of(1));
            // What must not come before the other's comes with it or not at all.
            let joins = |op: &Waiting, slot: usize, other: bool| {
                op.beside <= next[1 - slot] + usize::from(other)
            };
            if a.is_some_and(|op| !joins(op, 0, m.is_some())) {
                a = None;
            }
            if m.is_some_and(|op| !joins(op, 1, a.is_some())) {
                m = None;
                a = a.filter(|op| joins(op, 0, false));
            }
            let none = |op: Op| Inst::new(op);
            if a.is_some() || m.is_some() {
                words.push(Word {
                    arith: a.map_or(none(Op::Nop), |op| op.inst),
                    mem: m.map_or(none(Op::MemNop), |op| op.inst),
                });
                for (slot, op) in [a, m].into_iter().enumerate() {
                    let Some(op) = op else { continue };
                    for reg in op.inst.writes().iter() {
                        ready[usize::from(reg.0)] = now + latency(&op.inst);
                    }
                    for reg in op.inst.address_write().iter() {
                        ready[usize::from(reg.0)] = now + 1;
                    }
                    next[slot] += 1;
                }
            }
            now += 1;
        }
        let landed = ready.iter().copied().max().unwrap_or(0);
        let empty = Word {
            arith: Inst::new(Op::Nop),
            mem: Inst::new(Op::MemNop),
        };
        words.extend((now..landed).map(|_| empty));
        words
    }
}
