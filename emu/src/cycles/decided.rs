//! Decisions that a kernel's control flow makes on its argument words.
//!
//! Most argument words are addresses, and control flow does not depend on where arrays lie. While a
//! kernel is followed, a number that is an argument word plus constants carries that word's index.
//! Where a branch needs such a number, or anything but a sum is computed from it, this is recorded
//! as a question about the word. Arguments that give the same answers to the same questions lead to
//! the same flow, as long as no store overwrites known DMEM.

use super::Counted;
use super::Uncounted;
use super::memory;
use super::partial::KnownNumber;
use cp2_machine::LANE_BYTES;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// Questions that are compared before a question is looked up among all that were asked.
const RECENT: usize = 8;

/// A question about argument words that decides the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Question {
    /// Value of a word.
    Word(u16),
    /// Difference of two words: the first less the second.
    Distance(u16, u16),
}

impl Question {
    fn answer(self, words: &[u32]) -> u32 {
        let word = |i: u16| words.get(usize::from(i)).copied().unwrap_or_default();
        match self {
            Self::Word(i) => word(i),
            Self::Distance(i, j) => word(i).wrapping_sub(word(j)),
        }
    }
}

/// Questions asked about arguments so far.
#[derive(Debug, Default)]
pub(super) struct ArgumentDecisions {
    words: Vec<u32>,
    /// Distinct questions in the order in which they were first asked.
    questions: Vec<Question>,
    asked: HashSet<Question>,
    /// `[word]`: true once its value was asked for.
    known: Vec<bool>,
    /// `[word]`: hull of the bytes stored to through the word, relative to its value.
    stores: Vec<Option<Range<i64>>>,
}

impl ArgumentDecisions {
    pub(super) fn new(words: &[u32]) -> Self {
        Self {
            words: words.to_vec(),
            known: vec![false; words.len()],
            stores: vec![None; words.len()],
            ..Self::default()
        }
    }

    /// Describes the questions, whatever their order, and the stores.
    #[cfg(test)]
    pub(super) fn describe(&self) -> String {
        let mut questions: Vec<String> = self.questions.iter().map(|q| format!("{q:?}")).collect();
        questions.sort();
        format!("{questions:?}, {:?}, {:?}", self.known, self.stores)
    }

    /// Returns the index of an argument word, if it is one.
    pub(super) fn named(&self, word: usize) -> Option<u16> {
        let known = word < self.words.len();
        u16::try_from(word).ok().filter(|_| known)
    }

    /// Records that the distance between two argument words decides the flow.
    pub(super) fn distance(&mut self, from: u16, to: u16) {
        let question = Question::Distance(from, to);
        // Pointers that go round ask the same few questions in every access.
        let recent = self.questions.iter().rev().take(RECENT);
        if from == to || recent.into_iter().any(|asked| *asked == question) {
            return;
        }
        if self.asked.insert(question) {
            self.questions.push(question);
        }
    }

    /// Records that the value of an argument word decides the flow.
    pub(super) fn word(&mut self, word: u16) {
        if let Some(known) = self.known.get_mut(usize::from(word))
            && !std::mem::replace(known, true)
        {
            self.questions.push(Question::Word(word));
        }
    }

    /// Records that the value of a number decides the flow.
    pub(super) fn exactly(&mut self, number: KnownNumber) {
        if let Some(word) = number.word {
            self.word(word);
        }
    }

    /// Records a store of `bytes` bytes at `address`, which is an argument word plus a constant.
    pub(super) fn stores(&mut self, word: u16, address: u32, bytes: usize) {
        let base = Question::Word(word).answer(&self.words);
        let first = i64::from(address) - i64::from(base);
        let range = first..first + bytes as i64;
        if let Some(hull) = self.stores.get_mut(usize::from(word)) {
            *hull = Some(match hull {
                Some(hull) => hull.start.min(range.start)..hull.end.max(range.end),
                None => range,
            });
        }
    }
}

/// Finished counts in a tree of questions, with a branch for each answer.
#[derive(Debug, Default)]
pub(super) struct CountsByAnswer(Option<Tree>);

#[derive(Debug)]
enum Tree {
    /// Next question, and the subtree of each answer.
    Ask(Question, HashMap<u32, Tree>),
    /// Leaf: no more questions.
    End {
        counted: Result<Arc<Counted>, Uncounted>,
        stores: Vec<Option<Range<i64>>>,
    },
}

impl CountsByAnswer {
    /// Returns the count for arguments whose answers lead to a leaf, unless a store of that count
    /// would overwrite the known words.
    pub(super) fn find(
        &self,
        data: &[(u32, Vec<u32>)],
        block: (u32, &[u32]),
    ) -> Option<&Result<Arc<Counted>, Uncounted>> {
        let (_, words) = block;
        let mut tree = self.0.as_ref()?;
        loop {
            match tree {
                Tree::Ask(question, answers) => tree = answers.get(&question.answer(words))?,
                Tree::End { counted, stores } => {
                    let met = words.iter().zip(stores).any(|(word, hull)| {
                        let Some(hull) = hull else { return false };
                        let base = i64::from(*word);
                        let hull = base + hull.start..base + hull.end;
                        // An address range that wraps around may overlap anything.
                        let outside = hull.start < 0 || hull.end > i64::from(u32::MAX);
                        outside
                            || memory(data, block)
                                .any(|(at, words)| overlaps_words(&hull, at, words))
                    });
                    return (!met).then_some(counted);
                }
            }
        }
    }

    /// Keeps a count under the answers that led to it.
    pub(super) fn store_count(
        &mut self,
        decided: ArgumentDecisions,
        counted: Result<Arc<Counted>, Uncounted>,
    ) {
        let ArgumentDecisions {
            words,
            questions,
            stores,
            ..
        } = decided;
        let tree = &mut self.0;
        let mut left = &mut HashMap::new();
        let mut answer = 0;
        for (i, question) in questions.iter().enumerate() {
            let here = if i == 0 {
                tree.get_or_insert_with(|| Tree::Ask(*question, HashMap::new()))
            } else {
                left.entry(answer)
                    .or_insert_with(|| Tree::Ask(*question, HashMap::new()))
            };
            // Equal answers lead to equal questions unless a store overwrote known words. Such a
            // count is not kept where another question already stands.
            let answers = match here {
                Tree::Ask(asked, answers) if asked == question => answers,
                _ => return,
            };
            answer = question.answer(&words);
            left = answers;
        }
        let end = Tree::End { counted, stores };
        if questions.is_empty() {
            tree.get_or_insert(end);
        } else {
            left.entry(answer).or_insert(end);
        }
    }
}

/// True if a range of bytes overlaps the words that begin at address `at`.
fn overlaps_words(bytes: &Range<i64>, at: u32, words: &[u32]) -> bool {
    let first = i64::from(at);
    let last = first + (words.len() * LANE_BYTES) as i64;
    bytes.start < last && first < bytes.end
}
