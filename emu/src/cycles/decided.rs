//! What of a kernel's arguments decides its way.
//!
//! Most argument words are addresses, and the way of a kernel is the same wherever its arrays lie. While a kernel is
//! followed, every number that comes from an argument word by adding constants is known as such; where anything else is
//! made of it, or a branch asks for it, the word has been asked for. Arguments that give the same answers to the same
//! questions lead the same way, as long as no store meets what is known of DMEM.

use super::Counted;
use super::Uncounted;
use super::memory;
use super::partial::KnownNumber;
use cp2_machine::LANE_BYTES;
use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::sync::Arc;

/// What is asked of argument words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Question {
    /// What a word is.
    Word(u16),
    /// The first word less the second.
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

/// What has been asked of arguments so far.
#[derive(Debug, Default)]
pub(super) struct ArgumentDecisions {
    words: Vec<u32>,
    /// In the order in which it was asked first.
    questions: Vec<Question>,
    asked: HashSet<Question>,
    /// Words that have been asked for, by their names.
    known: Vec<bool>,
    /// By the names of words: bytes from what a word says on that were stored to, as one range.
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

    /// The name of an argument word, if it is one.
    pub(super) fn named(&self, word: usize) -> Option<u16> {
        let known = word < self.words.len();
        u16::try_from(word).ok().filter(|_| known)
    }

    /// How far a word is from another decides the way.
    pub(super) fn distance(&mut self, from: u16, to: u16) {
        let question = Question::Distance(from, to);
        if from != to && self.asked.insert(question) {
            self.questions.push(question);
        }
    }

    /// What a word is decides the way.
    pub(super) fn word(&mut self, word: u16) {
        if let Some(known) = self.known.get_mut(usize::from(word))
            && !std::mem::replace(known, true)
        {
            self.questions.push(Question::Word(word));
        }
    }

    /// The way depends on what the number is.
    pub(super) fn exactly(&mut self, number: KnownNumber) {
        if let Some(word) = number.word {
            self.word(word);
        }
    }

    /// Bytes from `address` on were stored to, which differs from an argument word by a constant.
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

/// Counts by the answers that lead to them.
#[derive(Debug, Default)]
pub(super) struct CountsByAnswer(Option<Tree>);

#[derive(Debug)]
enum Tree {
    /// What is asked next, and what follows by the answers.
    Ask(Question, HashMap<u32, Tree>),
    /// Nothing is asked any more.
    End {
        counted: Result<Arc<Counted>, Uncounted>,
        stores: Vec<Option<Range<i64>>>,
    },
}

impl CountsByAnswer {
    /// The count of arguments that lead a way which has been followed, where no store meets the words that are known.
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
                        // An address that wraps around may be anywhere.
                        let outside = hull.start < 0 || hull.end > i64::from(u32::MAX);
                        outside || memory(data, block).any(|(at, words)| meets(&hull, at, words))
                    });
                    return (!met).then_some(counted);
                }
            }
        }
    }

    /// Keeps a count with what was asked on the way to it.
    pub(super) fn keep(
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
            // The same answers lead to the same question, unless a store met what is known: such a count is not kept where
            // one without is.
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

/// Whether bytes are among those of words from an address on.
fn meets(bytes: &Range<i64>, at: u32, words: &[u32]) -> bool {
    let first = i64::from(at);
    let last = first + (words.len() * LANE_BYTES) as i64;
    bytes.start < last && first < bytes.end
}
