//! Words of each page: the first is small, then they grow.
//!
//! With little data loaded there is little to wait for: the first page is small, and each is larger than the
//! one before. Where the channel is slower than the words, it must never wait, and little should be left to
//! be multiplied behind the last load: pages become smaller towards the end.

use super::pages::PAGE_BUFFERS;

/// Words of the first page and most words of a page, and the ratio of a page to the one before.
const FIRST_AND_MOST_PAGE_WORDS: [usize; 2] = [64, 2048];
const PAGE_GROWTH_RATIO: [usize; 2] = [4, 3];

/// Words of the second page where the channel is slower than the words: smaller ones gain nothing then.
const SECOND_PAGE_WORDS: usize = 256;

/// Least words of the last pages.
const MIN_LAST_PAGE_WORDS: usize = 128;

/// Least and most pages that the rest makes, where the channel is slower.
const REMAINING_PAGES: [f64; 2] = [3.0, 6.0];
/// Pages that the rest makes where the channel is faster by more than the uncertainty of the balance.
const REMAINING_PAGES_FAST_CHANNEL: f64 = 2.0;
/// Balance above which the channel is certainly faster than the words.
const FAST_CHANNEL_BALANCE: f64 = 1.05;

/// Words of pages, one after the other.
#[derive(Debug)]
pub(super) struct WordCounts {
    /// Words of the next page.
    pub(super) target: usize,
    /// Entries that are in operations so far.
    pub(super) entries: usize,
    /// Words of the next page if the rest were endless.
    grown: usize,
    /// Ratio of the cycles that words take to those of their transfer.
    balance: f64,
    /// Words of the pages so far, and number of these pages.
    words: usize,
    pages: usize,
    /// Number of all entries.
    all: usize,
}

impl WordCounts {
    /// Begins with the first page of a matrix of `all` entries, whose words take `balance` times the time of
    /// their loads.
    pub(super) fn new(balance: f64, all: usize) -> Self {
        Self {
            target: FIRST_AND_MOST_PAGE_WORDS[0],
            entries: 0,
            grown: FIRST_AND_MOST_PAGE_WORDS[0],
            balance,
            words: 0,
            pages: 0,
            all,
        }
    }

    /// Records a page of `words` words in which `shifted` columns are shifted, and chooses the words of the
    /// next.
    pub(super) fn page(&mut self, words: usize, shifted: usize) {
        if self.pages == 0 {
            self.grown = self.second_page_words(shifted);
        }
        self.words += words;
        self.pages += 1;
        self.grown = (self.grown * PAGE_GROWTH_RATIO[0] / PAGE_GROWTH_RATIO[1])
            .min(FIRST_AND_MOST_PAGE_WORDS[1]);
        self.target = self.grown.min(self.share());
    }

    /// Returns the words of the second page: while the first makes the shifted vector, two columns a cycle,
    /// the others are loaded.
    fn second_page_words(&self, shifted: usize) -> usize {
        let shift = shifted as f64 / 2.0 * self.balance.min(1.0);
        let words = (shift / (PAGE_BUFFERS - 1) as f64) as usize;
        let least = if self.balance < 1.0 {
            SECOND_PAGE_WORDS
        } else {
            FIRST_AND_MOST_PAGE_WORDS[0]
        };
        words.clamp(least, FIRST_AND_MOST_PAGE_WORDS[1])
    }

    /// Returns the most words of the next page. If words take the part b of the time of their loads, a page
    /// of (1 - b) / b of the rest is done when all others are loaded.
    fn share(&self) -> usize {
        let left = self.all.saturating_sub(self.entries);
        let words = self.words as f64 * left as f64 / self.entries.max(1) as f64;
        let pages = match self.balance {
            b if b < 1.0 => (b / (1.0 - b)).clamp(REMAINING_PAGES[0], REMAINING_PAGES[1]),
            b if b < FAST_CHANNEL_BALANCE => REMAINING_PAGES[1],
            _ => REMAINING_PAGES_FAST_CHANNEL,
        };
        ((words / pages) as usize).max(MIN_LAST_PAGE_WORDS)
    }
}
