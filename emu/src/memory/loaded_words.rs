//! Words of program memory that were ever loaded.

use serde::{Deserialize, Serialize};

/// A flag for each word of program memory: true once loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<bool>", into = "Vec<bool>")]
pub(crate) struct LoadedWords {
    words: Vec<bool>,
    /// No word from here on was loaded. Most programs are far shorter than program memory.
    end: usize,
}

impl From<Vec<bool>> for LoadedWords {
    fn from(words: Vec<bool>) -> Self {
        let end = words.iter().rposition(|loaded| *loaded);
        Self {
            end: end.map_or(0, |last| last + 1),
            words,
        }
    }
}

impl From<LoadedWords> for Vec<bool> {
    fn from(loaded: LoadedWords) -> Self {
        loaded.words
    }
}

impl LoadedWords {
    /// Creates flags of `words` words, none of them loaded.
    pub(crate) fn new_unloaded(words: usize) -> Self {
        vec![false; words].into()
    }

    /// True if a word was loaded.
    #[inline]
    pub(crate) fn is(&self, word: usize) -> bool {
        self.words.get(word).is_some_and(|loaded| *loaded)
    }

    /// Returns the flags of all words up to the last loaded one.
    pub(crate) fn all(&self) -> &[bool] {
        &self.words[..self.end]
    }

    /// Returns `program` up to the last loaded word.
    pub(crate) fn loaded_prefix<'a>(&self, program: &'a [u64]) -> &'a [u64] {
        program.get(..self.end).unwrap_or(program)
    }

    /// Marks the words from `first` to `end`, all of which exist, as loaded.
    pub(crate) fn load(&mut self, first: usize, end: usize) {
        self.words[first..end].fill(true);
        if first < end {
            self.end = self.end.max(end);
        }
    }

    /// Marks all words as not loaded.
    pub(crate) fn clear(&mut self) {
        self.words[..self.end].fill(false);
        self.end = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_flags_are_equal_however_they_came() {
        let mut loaded = LoadedWords::new_unloaded(8);
        loaded.load(2, 5);
        loaded.load(1, 1);
        assert_eq!(loaded.all().len(), 5);
        assert_eq!(loaded.loaded_prefix(&[7; 8]).len(), 5);
        assert!(!loaded.is(1) && loaded.is(4) && !loaded.is(9));
        assert_eq!(LoadedWords::from(Vec::from(loaded.clone())), loaded);
        loaded.clear();
        assert_eq!(loaded, LoadedWords::new_unloaded(8));
    }
}
