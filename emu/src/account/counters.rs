//! Counters of a core: words, operations, bytes and cycles by cause.
//!
//! They count in total and per program word.

use crate::account::cause::{Cause, Causes};
use crate::account::work::Work;
use serde::{Deserialize, Serialize};

/// Counters of one program word.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WordCounters {
    /// Times the word issued.
    pub words: u64,
    /// Cycles charged to the word, issue included.
    pub causes: Causes,
}

/// Counters of a core. `causes` covers the time inside kernels, from first issue to stop; the host
/// accounts for the rest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Sections that flops and bytes are summed over.
    pub sections: usize,
    /// Words issued.
    pub words: u64,
    /// Operations, flops and bytes.
    #[serde(flatten)]
    pub work: Work,
    /// Cycles by cause.
    pub causes: Causes,
    /// Kernels that ran to their `stop`.
    pub kernels: u64,
    /// Counters of each program word, by its word address.
    pub per_word: Vec<WordCounters>,
}

impl Counters {
    /// Returns zeroed counters of the same core, with room for as many words.
    pub(crate) fn fresh(&self) -> Self {
        Self {
            sections: self.sections,
            per_word: Vec::with_capacity(self.per_word.capacity()),
            ..Self::default()
        }
    }

    /// Charges cycles to a cause and to the word at `pc`.
    pub(crate) fn charge(&mut self, pc: u32, cause: Cause, cycles: u64) {
        if cycles > 0 {
            self.causes.add(cause, cycles);
            self.word(pc).causes.add(cause, cycles);
        }
    }

    /// Books `times` issues of each of the words at `places`; their [`Work`] is booked apart.
    #[inline]
    pub(crate) fn issued(&mut self, places: impl ExactSizeIterator<Item = u32>, times: u64) {
        let words = times * places.len() as u64;
        self.words += words;
        self.causes.add(Cause::Issue, words);
        for pc in places {
            let word = self.word(pc);
            word.words += times;
            word.causes.add(Cause::Issue, times);
        }
    }

    /// Adds the counts of `other`, which are of the same core.
    pub fn merge(&mut self, other: &Self) {
        self.words += other.words;
        self.work.add(&other.work, 1);
        self.causes.merge(&other.causes);
        self.kernels += other.kernels;
        if self.per_word.len() < other.per_word.len() {
            let words = other.per_word.len();
            self.per_word.resize_with(words, WordCounters::default);
        }
        for (word, more) in self.per_word.iter_mut().zip(&other.per_word) {
            word.words += more.words;
            word.causes.merge(&more.causes);
        }
    }

    /// Sets all counts to zero and keeps the allocation.
    pub(crate) fn clear(&mut self) {
        let mut per_word = std::mem::take(&mut self.per_word);
        per_word.clear();
        *self = Self {
            sections: self.sections,
            per_word,
            ..Self::default()
        };
    }

    /// Makes room for the counters of the first `words` words.
    pub(crate) fn reserve(&mut self, words: usize) {
        let more = words.saturating_sub(self.per_word.len());
        self.per_word.reserve_exact(more);
    }

    /// Returns the counters of the word at `pc`; the table grows as far as programs reach.
    #[inline]
    pub(crate) fn word(&mut self, pc: u32) -> &mut WordCounters {
        let pc = pc as usize;
        if pc >= self.per_word.len() {
            self.per_word.resize_with(pc + 1, WordCounters::default);
        }
        &mut self.per_word[pc]
    }
}
