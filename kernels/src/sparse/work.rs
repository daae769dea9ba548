//! How much is done to pack a matrix.
//!
//! The routines that pack count what their inner loops do, so that the time of a processor on which they never ran can be told.
//! The rule:
//!
//! * A comparison is an operation. So is a load or a store of a word, and so is an operation of arithmetic or logic; bits
//!   that are counted and divisions are one each. A word is a number of up to 64 bits, a set of places among them.
//! * Not counted: counters of loops, addresses of elements, jumps, calls, and room that lists take as they grow.
//! * Not counted: what does not depend on the matrix, as the assembly of the words that stay in program memory.
//!
//! A constant next to a loop says what a turn of it does. What a routine of the standard library does is counted as the text
//! books have it: see [`Work::sorted`], [`Work::searched`] and [`Work::looked_up`]. So the count depends on the matrix and on
//! the machine that it is packed for alone, not on the computer that packs it.

use std::cell::Cell;

/// A turn of a search: the middle, an element of the list, a comparison.
const SEARCHED: u64 = 4;

/// A comparison of two keys, which are loaded.
const COMPARED: u64 = 3;

/// A key of a word is mixed in five rounds of fourteen operations, and then looked for.
const LOOKED_UP: u64 = 80;

/// Operations, counted.
#[derive(Debug, Default)]
pub struct Work {
    operations: Cell<u64>,
}

impl Work {
    /// The operations so far.
    #[must_use]
    pub fn operations(&self) -> u64 {
        self.operations.get()
    }

    /// So many turns of a loop, each of so many operations.
    pub(super) fn add(&self, turns: usize, each: u64) {
        let more = each.saturating_mul(turns as u64);
        self.operations
            .set(self.operations.get().saturating_add(more));
    }

    /// A list of so many elements, each of so many words, is sorted by merging: n log2(n) times two elements are compared and one is moved.
    pub(super) fn sorted(&self, len: usize, words: u64) {
        let turns = len * len.next_power_of_two().trailing_zeros() as usize;
        self.add(turns, COMPARED + 2 * words);
    }

    /// An element of a sorted list of so many is searched by halves.
    pub(super) fn searched(&self, len: usize) {
        self.searched_often(1, len);
    }

    /// So many elements are.
    pub(super) fn searched_often(&self, times: usize, len: usize) {
        let turns = (usize::BITS - len.leading_zeros()) as usize;
        self.add(times * turns, SEARCHED);
    }

    /// A table of hashed keys is asked so often.
    pub(super) fn looked_up(&self, times: usize) {
        self.add(times, LOOKED_UP);
    }
}
