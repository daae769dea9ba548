//! Joins the words of a chain: the end of a block overlaps the next one's begin.

use super::block_words::ParsedWord;
use super::placed_block::IssueState;
use super::region::{LoadsBehind, Region, Surroundings};
use crate::issue::WordTiming;
use crate::linear::ChainOverlap;
use cp2_machine::{Cp2, Machine};

/// A block of a chain, or words between two, as they would stand alone.
#[derive(Debug)]
pub(super) struct ChainWords {
    pub(super) words: Vec<ParsedWord>,
    /// True for a block.
    is_block: bool,
    /// Number of iterations before the end of the block before, in which it stores what the first iteration loads.
    behind: Option<u64>,
    /// True if other words of the program go on behind the last word: nothing passes this place.
    ends_apart: bool,
}

impl ChainWords {
    /// Makes an item of words between blocks.
    pub(super) const fn plain(words: Vec<ParsedWord>) -> Self {
        Self {
            words,
            is_block: false,
            behind: None,
            ends_apart: false,
        }
    }

    /// Makes an item of a block.
    pub(super) const fn block(
        words: Vec<ParsedWord>,
        behind: Option<u64>,
        ends_apart: bool,
    ) -> Self {
        Self {
            words,
            is_block: true,
            behind,
            ends_apart,
        }
    }
}

/// The words of a chain in the order of the program, item by item.
#[derive(Debug)]
pub(super) struct JoinedWords {
    pub(super) items: Vec<Vec<ParsedWord>>,
    /// The overlap of every item with those before.
    pub(super) overlaps: Vec<Option<ChainOverlap>>,
}

/// A part of a chain.
enum Part {
    /// Words whose operations may change their places.
    Region {
        region: Region,
        /// The words as they were written, each with its item.
        words: Vec<(ParsedWord, usize)>,
        /// True if operations have been moved into the region or out of it.
        moved: bool,
    },
    /// A hardware loop with the word that begins it, or a branch, of an item.
    Fixed { words: Vec<ParsedWord>, item: usize },
}

impl Part {
    /// Returns true for a hardware loop.
    fn is_loop(&self) -> bool {
        match self {
            Self::Fixed { words, .. } => words.first().is_some_and(|word| word.opens),
            Self::Region { .. } => false,
        }
    }
}

/// Cuts the words of a chain at its loops and branches.
fn cut(items: &[ChainWords], cp2: &Cp2) -> Vec<Part> {
    let blocks: Vec<usize> = (0..items.len())
        .filter(|&item| items.get(item).is_some_and(|own| own.is_block))
        .collect();
    let following = blocks.iter().zip(blocks.iter().skip(1));
    let behind: Vec<LoadsBehind> = following
        .filter_map(|(&before, &item)| {
            Some(LoadsBehind {
                item,
                before,
                iterations: items.get(item)?.behind?,
            })
        })
        .collect();
    let new = || Part::Region {
        region: Region::new(behind.clone()),
        words: Vec::new(),
        moved: false,
    };
    let mut parts = vec![new()];
    for (item, own) in items.iter().enumerate() {
        let (mut looped, mut cycle) = (false, 0);
        for word in &own.words {
            if let (true, Some(Part::Fixed { words, .. })) = (looped, parts.last_mut()) {
                words.push(word.clone());
            } else if word.opens || word.target.is_some() {
                let words = vec![word.clone()];
                parts.push(Part::Fixed { words, item });
            } else if let Some(Part::Region { region, words, .. }) = parts.last_mut() {
                region.push_word(word, (item, cycle), cp2);
                words.push((word.clone(), item));
                cycle += 1;
            }
            looped = (looped || word.opens) && !word.closes;
            if !looped && !matches!(parts.last(), Some(Part::Region { .. })) {
                parts.push(new());
                cycle = 0;
            }
        }
        if own.ends_apart {
            parts.push(new());
        }
    }
    parts
}

/// Returns the words behind a part: those of a loop or a branch, each with the cycles to it.
fn list_next(part: Option<&Part>, cp2: &Cp2) -> Vec<(u64, WordTiming)> {
    let Some(Part::Fixed { words, .. }) = part else {
        return Vec::new();
    };
    let mut cycles = 0;
    let mut next = Vec::with_capacity(words.len());
    for word in words {
        next.push((cycles, word.timing(cp2)));
        cycles += 1;
        if word.opens {
            cycles += cp2.loop_setup.0;
        }
    }
    next
}

/// Issues a word after others.
fn issue(word: &ParsedWord, state: &mut IssueState, cp2: &Cp2) {
    let timing = word.timing(cp2);
    let (at, _) = state.board.earliest(&timing, state.now);
    state.board.issue(&timing, at);
    state.now = at + 1;
    if word.opens {
        state.now += cp2.loop_setup.0;
    }
}

/// Most operations of a region that are tried before the loop before it.
const MOST_MOVES: usize = 64;

/// Moves operations over the loop before them where that takes no cycle more: what sets a block up goes where slots
/// are free.
fn hoist(parts: &mut [Part], machine: &Machine) {
    let cp2 = &machine.cp2;
    for place in (2..parts.len()).rev() {
        let [.., above, over, below] = parts.get_mut(..=place).unwrap_or_default() else {
            continue;
        };
        if !over.is_loop() {
            continue;
        }
        let next = list_next(Some(over), cp2);
        let (
            Part::Region {
                region: above,
                moved: into,
                ..
            },
            Part::Region {
                region: below,
                moved: out,
                ..
            },
        ) = (above, below)
        else {
            continue;
        };
        let state = IssueState::default();
        let around = Surroundings {
            cp2,
            state: &state,
            next: &next,
        };
        let (Some(mut best), Some(_)) = (above.schedule(&around), below.schedule(&around)) else {
            continue;
        };
        let (mut index, mut tries) = (0, 0);
        while let Some(own) = below.operations.get(index).filter(|_| tries < MOST_MOVES) {
            let earlier = below.operations.iter().take(index);
            let loop_words = next.iter().map(|(_, timing)| timing);
            let movable = own.leaves_memory()
                && own.is_apart_from(earlier.map(|own| own.timing()).chain(loop_words));
            if movable {
                tries += 1;
                above.operations.push(own.clone());
                match above.schedule(&around) {
                    Some(longer) if longer.length <= best.length => {
                        best = longer;
                        (*into, *out) = (true, true);
                        below.operations.remove(index);
                        continue;
                    }
                    _ => {
                        above.operations.pop();
                    }
                }
            }
            index += 1;
        }
    }
}

/// Joins the words of the items of a chain.
pub(super) fn join_words(items: &[ChainWords], machine: &Machine) -> JoinedWords {
    let cp2 = &machine.cp2;
    let mut parts = cut(items, cp2);
    hoist(&mut parts, machine);
    let mut joined = JoinedWords {
        items: vec![Vec::new(); items.len()],
        overlaps: vec![None; items.len()],
    };
    let mut state = IssueState::default();
    for (place, part) in parts.iter().enumerate() {
        let next = parts.get(place + 1);
        let words = match part {
            Part::Fixed { words, item } => words.iter().map(|word| (word.clone(), *item)).collect(),
            Part::Region {
                region,
                words,
                moved,
            } => {
                let around = Surroundings {
                    cp2,
                    state: &state,
                    next: &list_next(next, cp2),
                };
                let written = WrittenRegion {
                    words,
                    moved: *moved,
                    items,
                };
                let mut joined_region = join_region(region, &written, &around);
                if let Some((item, overlap)) = joined_region.overlap
                    && let Some(own) = joined.overlaps.get_mut(item)
                {
                    own.get_or_insert_default().add(overlap);
                }
                // A block that begins a loop has all words up to it.
                if let Some(Part::Fixed { item: last, .. }) = next {
                    for (_, item) in &mut joined_region.words {
                        *item = (*last).min(*item);
                    }
                }
                joined_region.words
            }
        };
        for (word, item) in words {
            issue(&word, &mut state, cp2);
            if let Some(own) = joined.items.get_mut(item) {
                own.push(word);
            }
        }
    }
    joined
}

/// The words of a region, joined.
struct JoinedRegion {
    /// The words, each with its item.
    words: Vec<(ParsedWord, usize)>,
    /// The last item, and what it overlaps.
    overlap: Option<(usize, ChainOverlap)>,
}

/// The words of a region as they were written.
struct WrittenRegion<'a> {
    /// The words, each with its item.
    words: &'a [(ParsedWord, usize)],
    /// True if operations have been moved into the region or out of it.
    moved: bool,
    items: &'a [ChainWords],
}

impl WrittenRegion<'_> {
    /// Iterates over the blocks of the words.
    fn list_blocks(&self) -> impl Iterator<Item = usize> {
        let is_block = |item: &usize| self.items.get(*item).is_some_and(|own| own.is_block);
        self.words.iter().map(|(_, item)| *item).filter(is_block)
    }

    /// Returns the last block of the region, if another one ends in it.
    fn find_overlapping(&self) -> Option<usize> {
        let last = self.list_blocks().max();
        last.filter(|_| self.list_blocks().min() != last)
    }
}

/// Joins the words of a region.
fn join_region(
    region: &Region,
    written: &WrittenRegion<'_>,
    around: &Surroundings<'_>,
) -> JoinedRegion {
    let unchanged = || JoinedRegion {
        words: written.words.to_vec(),
        overlap: None,
    };
    let items = || written.words.iter().map(|(_, item)| item);
    if !written.moved && items().min() == items().max() {
        return unchanged();
    }
    let Some(schedule) = region.schedule(around) else {
        let unmoved = region.operations.len() as u64;
        let overlap = ChainOverlap {
            unmoved,
            ..ChainOverlap::default()
        };
        return JoinedRegion {
            overlap: written.list_blocks().max().map(|item| (item, overlap)),
            ..unchanged()
        };
    };
    let words = written.words.iter().map(|(word, _)| word);
    let in_order = region.count_in_order(words, around);
    if !written.moved && in_order < schedule.length {
        return unchanged();
    }
    let overlap = written.find_overlapping().map(|item| {
        let [memory, registers] = region.count_prevented(around, schedule.length);
        let cycles = in_order.saturating_sub(schedule.length);
        let overlap = ChainOverlap {
            cycles,
            memory,
            registers,
            unmoved: 0,
        };
        (item, overlap)
    });
    let mut words: Vec<(ParsedWord, usize)> = region.compose(&schedule);
    // A word belongs to the first item that has not ended.
    let mut first = usize::MAX;
    for (_, item) in words.iter_mut().rev() {
        first = first.min(*item);
        *item = first;
    }
    JoinedRegion { words, overlap }
}
