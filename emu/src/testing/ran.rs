//! Which part of an engine ran which words.

use super::Coverage;
use crate::account::coverage::EngineTier;
use crate::core::decoded::Decoded;

/// Hardware loops around a word that are told apart; more count as so many.
const DEEPEST: usize = 3;

/// The words an engine ran.
#[derive(Clone, Debug, Default)]
pub struct ExecutedWords {
    /// By the reference engine's step.
    pub step: Coverage,
    /// By the portable tier.
    pub portable: Coverage,
    /// By emitted code.
    pub emitted: Coverage,
    /// Words of blocks by how many hardware loops ran around them, 3 and more last.
    pub nested: [u64; DEEPEST + 1],
}

impl ExecutedWords {
    /// Whether there is anything to tell.
    pub(crate) const KEPT: bool = true;

    /// Words of blocks, whoever ran them: all that the engine adds to the reference step.
    #[must_use]
    pub fn blocks(&self) -> u64 {
        self.nested.iter().sum()
    }

    /// All words.
    #[must_use]
    pub fn words(&self) -> u64 {
        self.step.words() + self.blocks()
    }

    /// Books `passes` runs of all words and one of the first `rest`, inside `loops` loops.
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

    /// A word inside emitted code was the portable tier's after all.
    pub(crate) fn not_emitted(&mut self, word: &Decoded) {
        self.portable.add(&word.word, 1);
        self.emitted.remove(&word.word, 1);
    }

    /// Takes what another account holds.
    pub(crate) fn take(&mut self, other: &mut Self) {
        self.merge(other);
        *other = Self::default();
    }

    /// Adds another account to this one.
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
