//! Finds the words that set the counts of hardware loops.

use super::{Flow, Trips, Way};
use crate::isa::{Op, Reg, Scalar, Word};
use std::collections::{BTreeMap, BTreeSet};

/// Words that may be executed right before the first word of each block, by its address.
pub(crate) struct Predecessors(BTreeMap<usize, Vec<usize>>);

impl Flow {
    /// Fills in the words that may have written the count of each loop whose count is a register.
    pub(super) fn trips(&mut self, words: &[Word]) {
        let before = self.predecessors(words);
        let found: Vec<_> = self
            .loops
            .iter()
            .map(|l| match &l.trips {
                Trips::Constant(_) => Vec::new(),
                Trips::Register { register, .. } => {
                    self.find_writers(words, &before, l.setup, register.reg())
                }
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
        self.find_writers(words, &self.predecessors(words), pc, register.reg())
    }

    /// Returns the words that may have been the last to write `reg` before the word at `pc`, as
    /// [`Flow::writers`] does.
    pub(crate) fn find_writers(
        &self,
        words: &[Word],
        before: &Predecessors,
        pc: usize,
        reg: Reg,
    ) -> Vec<Option<usize>> {
        let mut found = BTreeSet::new();
        let mut seen = BTreeSet::new();
        let mut open = vec![pc];
        while let Some(pc) = open.pop() {
            if self.entries.contains(&pc) {
                found.insert(None);
            }
            let previous = pc.checked_sub(1).filter(|_| self.is_inside_block(pc));
            let ways: &[usize] = match previous {
                Some(_) => &[],
                None => before.0.get(&pc).map_or(&[], Vec::as_slice),
            };
            for before in ways.iter().copied().chain(previous) {
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

    /// True if the word before the one at `pc` lies in its block.
    fn is_inside_block(&self, pc: usize) -> bool {
        let block = self.block_of(pc).and_then(|at| self.blocks.get(at));
        block.is_some_and(|block| block.words.start < pc)
    }

    /// Returns the words that may be executed right before the first word of each block.
    pub(crate) fn predecessors(&self, words: &[Word]) -> Predecessors {
        let mut before: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut returns: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for block in &self.blocks {
            let last = block.words.end - 1;
            for &(way, to) in &block.next {
                // The word after a call follows the `ret` of the function.
                let called = words.get(last).filter(|word| word.mem.op == Op::Call);
                let before = before.entry(to).or_default();
                match called {
                    Some(word) if way == Way::Next => {
                        let entry = usize::from(word.mem.target);
                        let known = returns.entry(entry);
                        before.extend(known.or_insert_with(|| self.returns(words, entry)).iter());
                    }
                    _ => before.push(last),
                }
            }
        }
        Predecessors(before)
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
