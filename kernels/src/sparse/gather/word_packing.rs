//! Operations in order, packed into words.
//!
//! Operations of each slot keep their order. An operation joins the next word in which the registers that it
//! reads are ready and those that it overwrites have been read. Times are those of the machine's issue rule,
//! so that a word that waits leaves no gap that another word could have filled.

use crate::sparse::work::PackingWork;
use cp2_asm::isa::{Inst, Op, Reg, Slot, Word};
use cp2_machine::Cp2;

/// Number of registers that the issue rule knows: those of a section and shared ones.
const ISSUE_REGISTERS: usize = 128;

/// Work to append an operation to its queue: eight fields of it and of its dependences are written; for each
/// of up to four operands, its kind, its registers, and whether it is read or written.
const PUSH_OPERATIONS: u64 = 8 + 4 * 6;
/// Work for a register that it reads: three to find it in the set; its last use is loaded and compared;
/// stored.
const READ_OPERATIONS: u64 = 6;
/// Work for a register that it writes: its last write and its last read are checked.
const WRITE_OPERATIONS: u64 = 8;
/// Work to look at the next operation of a slot for a word: its dependences are loaded and compared.
const LOOK_OPERATIONS: u64 = 4;
/// Work for the sets of registers of an operation whose dependences are met: for each of up to four operands
/// as in [`PUSH_OPERATIONS`].
const REGISTER_SET_OPERATIONS: u64 = 4 * 6;
/// Work for a register of such an operation: three to find it in the set; the time when it is ready is loaded
/// and compared.
const READY_CHECK_OPERATIONS: u64 = 5;
/// Work for an operation that joins a word: six words of it are moved.
const JOIN_OPERATIONS: u64 = 12;
/// Work for a register that it writes: three to find it in the set; the time when it is ready is added up and
/// stored.
const LANDING_OPERATIONS: u64 = 5;

/// An operation that waits for its word.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    inst: Inst,
    /// Number of operations of the other slot that must be in earlier words.
    behind: usize,
    /// Number of operations of the other slot that must be in the same or an earlier word.
    beside: usize,
}

/// Last uses of a register: operations of each slot, counted from 1.
#[derive(Clone, Copy, Debug, Default)]
struct Used {
    written: [usize; 2],
    read: [usize; 2],
}

/// Operations that become words.
#[derive(Clone, Debug)]
pub(super) struct WordOperations {
    queues: [Vec<Waiting>; 2],
    used: Vec<Used>,
    /// Work done to append them.
    work: u64,
}

impl Default for WordOperations {
    fn default() -> Self {
        Self {
            queues: [Vec::new(), Vec::new()],
            used: vec![Used::default(); ISSUE_REGISTERS],
            work: 0,
        }
    }
}

impl WordOperations {
    /// Appends an operation.
    pub(super) fn push(&mut self, inst: Inst) {
        let own = usize::from(inst.row().slot() == Slot::Mem);
        let other = 1 - own;
        let (mut behind, mut beside) = (0, 0);
        let (reads, writes) = (inst.reads(), inst.writes() | inst.address_write());
        self.work += PUSH_OPERATIONS
            + READ_OPERATIONS * reads.len() as u64
            + WRITE_OPERATIONS * writes.len() as u64;
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

    /// Returns the least number of words for the operations.
    pub(super) fn len(&self) -> usize {
        let [arithmetic, memory] = &self.queues;
        arithmetic.len().max(memory.len())
    }

    /// Returns the operations of the arithmetic slot and of the memory slot so far.
    pub(super) fn counts(&self) -> [usize; 2] {
        [0, 1].map(|slot: usize| self.queues[slot].len())
    }

    /// Packs the operations into words, followed by as many empty ones as the last results take to be ready.
    pub(super) fn words(self, cp2: &Cp2, work: &PackingWork) -> Vec<Word> {
        work.add(1, self.work);
        let mut ready = [0u64; ISSUE_REGISTERS];
        let mut words = Vec::with_capacity(self.len());
        let (mut next, mut now) = ([0usize; 2], 0u64);
        let latency = |inst: &Inst| cp2.latency[inst.row().class].0.max(1);
        let is_ready = |inst: &Inst, ready: &[u64; ISSUE_REGISTERS], now: u64| {
            work.add(1, REGISTER_SET_OPERATIONS);
            let at = |reg: Reg| {
                work.add(1, READY_CHECK_OPERATIONS);
                ready[usize::from(reg.0)]
            };
            inst.reads().iter().all(|reg| at(reg) <= now)
                && (inst.writes().iter()).all(|reg| at(reg) < now + latency(inst))
        };
        let [arithmetic, memory] = &self.queues;
        while next[0] < arithmetic.len() || next[1] < memory.len() {
            let of = |slot: usize| {
                let op = self.queues[slot].get(next[slot])?;
                work.add(1, LOOK_OPERATIONS);
                let ready = op.behind <= next[1 - slot] && is_ready(&op.inst, &ready, now);
                ready.then_some(op)
            };
            let (mut a, mut m) = (of(0), of(1));
            // An operation that must not precede the other one can only share its word.
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
                    work.add(1, JOIN_OPERATIONS);
                    work.add(op.inst.writes().len(), LANDING_OPERATIONS);
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
