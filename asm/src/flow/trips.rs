//! Finds the words that set the counts of hardware loops.

use super::{Flow, Trips, Way};
use crate::isa::{Op, Reg, Scalar, Word};
use std::collections::BTreeSet;

impl Flow {
    /// Fills in the words that may have written the count of each loop whose count is a register.
    pub(super) fn trips(&mut self, words: &[Word]) {
        let found: Vec<_> = self
            .loops
            .iter()
            .map(|l| match &l.trips {
                Trips::Constant(_) => Vec::new(),
                Trips::Register { register, .. } => self.writers(words, l.setup, *register),
            })
            .collect();
        for (l, found) in self.loops.iter_mut().zip(found) {
            if let Trips::Register { set_by, .. } = &mut l.trips {
                *set_by = found;
            }
        }
    }

    /// Returns the words that may have been the last to write `register` before the word at `pc`; `None`
    /// among them if the register may still have its value from launch. Words of a function come between its
    /// call and the word after the call.
    #[must_use]
    pub fn writers(&self, words: &[Word], pc: usize, register: Scalar) -> Vec<Option<usize>> {
        let reg = register.reg();
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut open = vec![pc];
        while let Some(pc) = open.pop() {
            if self.entries.contains(&pc) {
                found.insert(None);
            }
            for before in self.before(words, pc) {
                if !seen.insert(before) {
                    continue;
                }
                match words.get(before) {
                    Some(word) if writes(word, reg) => {
                        found.insert(Some(before));
                    }
                    _ => open.push(before),
                }
            }
        }
        found.into_iter().collect()
    }

    /// Returns the words that may be executed right before the word at `pc`.
    fn before(&self, words: &[Word], pc: usize) -> Vec<usize> {
        let Some(block) = self.block_of(pc).and_then(|at| self.blocks.get(at)) else {
            return Vec::new();
        };
        if block.words.start < pc {
            return vec![pc - 1];
        }
        let mut before = Vec::new();
        for other in &self.blocks {
            let last = other.words.end - 1;
            for &(way, to) in &other.next {
                if to != pc {
                    continue;
                }
                // The word after a call follows the `ret` of the function.
                let called = words.get(last).filter(|word| word.mem.op == Op::Call);
                match called {
                    Some(word) if way == Way::Next => {
                        before.extend(self.returns(words, word.mem.target.into()));
                    }
                    _ => before.push(last),
                }
            }
        }
        before
    }

    /// Returns the `ret` words of a function.
    fn returns(&self, words: &[Word], entry: usize) -> Vec<usize> {
        let (mut found, mut seen, mut open) = (Vec::new(), BTreeSet::new(), vec![entry]);
        while let Some(pc) = open.pop() {
            let Some(block) = self.block_of(pc).and_then(|at| self.blocks.get(at)) else {
                continue;
            };
            if !seen.insert(block.words.start) {
                continue;
            }
            let last = block.words.end - 1;
            if words.get(last).is_some_and(|word| word.mem.op == Op::Ret) {
                found.push(last);
            }
            let own = block.next.iter().filter(|(way, _)| *way != Way::Call);
            open.extend(own.map(|&(_, to)| to));
        }
        found
    }
}

/// True if a word writes `reg` by its result or its address update.
fn writes(word: &Word, reg: Reg) -> bool {
    let set = word.mem.writes() | word.mem.address_write() | word.arith.writes();
    set.contains(reg)
}
