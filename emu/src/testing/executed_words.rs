//! Record of the tier of an engine that ran each word.

use super::Coverage;
use crate::account::coverage::EngineTier;
use crate::core::decoded::Decoded;

/// Number of hardware loops around a word up to which depths are counted apart.
const DEEPEST: usize = 3;

/// Words that an engine ran.
#[derive(Clone, Debug, Default)]
pub struct ExecutedWords {
    /// Words run by the reference engine's step.
    pub step: Coverage,
    /// Words run by the portable tier.
    pub portable: Coverage,
    /// Words run by emitted code.
    pub emitted: Coverage,
    /// Words of blocks by the number of hardware loops around them; 3 and more come last.
    pub nested: [u64; DEEPEST + 1],
}

impl ExecutedWords {
    /// True if the record keeps anything.
    pub(crate) const KEPT: bool = true;

    /// Returns the number of words in blocks, on any tier: all but those of the reference step.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.nested.iter().sum()
    }

    /// Returns the number of all words.
    #[must_use]
    pub fn words(&self) -> u64 {
        self.step.words() + self.blocks()
    }

    /// Books `passes` runs of all words and one run of the first `rest`, inside `loops` loops.
    pub(crate) fn block(
        &mut self,
        words: &[Decoded],
        passes: u64,
        rest: usize,
        by: EngineTier,
        loops: usize,
    ) {
        for (i, word) in words.iter().enumerate() {
            self.times(word, passes + u64::from(i < rest), by, loops);
        }
    }

    /// Books a word inside `loops` loops.
    pub(crate) fn word(&mut self, word: &Decoded, by: EngineTier, loops: usize) {
        self.times(word, 1, by, loops);
    }

    /// Moves an issue of a word from emitted code to the portable tier, which ran it on the code's
    /// behalf.
    pub(crate) fn not_emitted(&mut self, word: &Decoded) {
        self.portable.add(&word.word, 1);
        self.emitted.remove(&word.word, 1);
    }

    /// Takes over the counts of another record, which becomes empty.
    pub(crate) fn take(&mut self, other: &mut Self) {
        self.merge(other);
        *other = Self::default();
    }

    /// Adds the counts of another record.
    pub fn merge(&mut self, other: &Self) {
        self.step.merge(&other.step);
        self.portable.merge(&other.portable);
        self.emitted.merge(&other.emitted);
        for (all, more) in self.nested.iter_mut().zip(other.nested) {
            *all += more;
        }
    }

    fn times(&mut self, word: &Decoded, times: u64, by: EngineTier, loops: usize) {
        let rows = match by {
            EngineTier::Step => &mut self.step,
            EngineTier::Portable => &mut self.portable,
            EngineTier::Emitted => &mut self.emitted,
        };
        rows.add(&word.word, times);
        if by != EngineTier::Step {
            self.nested[loops.min(DEEPEST)] += times;
        }
    }
}
