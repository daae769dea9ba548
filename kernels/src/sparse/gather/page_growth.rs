//! How many words pages have.
//!
//! While little is there, little is to be waited for: the first page is small, and each is larger than the one before. Where the channel is slower than the words, what
//! counts is that it never waits, and that little is left to be multiplied behind the last load: pages become smaller towards the end.

use super::pages::BUFFERS;

/// Words of the first page, of others at most, and how much larger each is than the one before.
const WORDS: [usize; 2] = [64, 2048];
const GROWTH: [usize; 2] = [4, 3];

/// Words with which growth begins behind the first page where the channel is slower than the words: nothing is won by small ones then.
const BEGUN: usize = 256;

/// Words of the last pages at least.
const LAST: usize = 128;

/// Pages that what is left makes at least, and at most, where the channel is slower; and where it is faster by more than the balance is known to.
const LEFT: [f64; 2] = [3.0, 6.0];
const FASTER: f64 = 2.0;
const KNOWN: f64 = 1.05;

/// Words of pages, one after the other.
#[derive(Debug)]
pub(super) struct WordCounts {
    /// Words of the next page.
    pub(super) target: usize,
    /// Entries that are in operations.
    pub(super) entries: usize,
    /// Words of the next page if what is left never ended.
    grown: usize,
    /// Cycles that words take, to those of what they need over the channel.
    balance: f64,
    /// Words of the pages so far, and how many these are.
    words: usize,
    pages: usize,
    /// All entries.
    all: usize,
}

impl WordCounts {
    /// For so many entries, whose words take `balance` of the time of their loads.
    pub(super) fn new(balance: f64, all: usize) -> Self {
        Self {
            target: WORDS[0],
            entries: 0,
            grown: WORDS[0],
            balance,
            words: 0,
            pages: 0,
            all,
        }
    }

    /// Another page is made, of so many words, and in which so many columns are shifted.
    pub(super) fn page(&mut self, words: usize, shifted: usize) {
        if self.pages == 0 {
            self.grown = self.begun(shifted);
        }
        self.words += words;
        self.pages += 1;
        self.grown = (self.grown * GROWTH[0] / GROWTH[1]).min(WORDS[1]);
        self.target = self.grown.min(self.share());
    }

    /// Words of a page with which growth begins behind the first: while that one makes the shifted vector, of two columns a cycle, the others come.
    fn begun(&self, shifted: usize) -> usize {
        let shift = shifted as f64 / 2.0 * self.balance.min(1.0);
        let words = (shift / (BUFFERS - 1) as f64) as usize;
        let least = if self.balance < 1.0 { BEGUN } else { WORDS[0] };
        words.clamp(least, WORDS[1])
    }

    /// Words of the next page at most. Where words take the part b of the time of their loads, a page of (1 - b) / b of what is left is done when all others are there.
    fn share(&self) -> usize {
        let left = self.all.saturating_sub(self.entries);
        let words = self.words as f64 * left as f64 / self.entries.max(1) as f64;
        let pages = match self.balance {
            b if b < 1.0 => (b / (1.0 - b)).clamp(LEFT[0], LEFT[1]),
            b if b < KNOWN => LEFT[1],
            _ => FASTER,
        };
        ((words / pages) as usize).max(LAST)
    }
}
