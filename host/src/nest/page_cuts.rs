//! A grid of blocks cut into pages, and the ranges of pages that are alike.

use super::field::{AXES, GridField, X};
use super::grid_pass::GridPass;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Pages with equal numbers of blocks along the axis that is dealt to the sections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PageCut {
    /// First page along that axis.
    pub(super) page: u64,
    /// Number of pages.
    pub(super) pages: u64,
    /// First block of the first page.
    pub(super) block: u64,
    /// Blocks of each section in a page.
    pub(super) per_section: u64,
}

/// A grid of blocks, cut into pages.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cuts {
    /// Number of blocks along each axis.
    pub(super) grid: [u64; AXES],
    /// Axis that is dealt to the sections.
    pub(super) deal: usize,
    pub(super) sections: u64,
    /// True if each section has a share of its own ([`GridPass::shares`]), one block a page.
    pub(super) shares: bool,
    pub(super) cuts: Vec<PageCut>,
}

impl Cuts {
    /// Cuts a grid into pages of `size` blocks for each section along axis `deal`. The first and the last
    /// page have `first` blocks; the one before the last has the remaining blocks.
    pub(super) fn new(
        grid: [u64; AXES],
        deal: usize,
        sections: u64,
        size: u64,
        first: u64,
    ) -> Self {
        let (mut cuts, mut block, mut page) = (Vec::new(), 0, 0);
        let mut take = |pages: u64, per_section: u64| {
            if pages > 0 {
                cuts.push(PageCut {
                    page,
                    pages,
                    block,
                    per_section,
                });
                block += pages * per_section * sections;
                page += pages;
            }
            block
        };
        let all = grid[deal];
        let (whole, end) = (size * sections, first * sections);
        // In a short job all pages are alike.
        let ends = first < size && all > whole + 2 * end;
        let start = if ends { take(1, first) } else { 0 };
        let middle = all - start - if ends { end } else { 0 };
        let done = take(middle / whole, size);
        let rest = start + middle - done;
        let done = take(u64::from(rest > 0), rest.div_ceil(sections));
        let left = all.saturating_sub(done);
        take(u64::from(left > 0), left.div_ceil(sections));
        Self {
            grid,
            deal,
            sections,
            shares: false,
            cuts,
        }
    }

    /// Sets whether sections have shares of their own.
    pub(super) fn shared(self, shares: bool) -> Self {
        Self { shares, ..self }
    }

    /// Returns true if the blocks of a page follow others of their section.
    pub(super) fn continues_section(&self, digits: [u64; AXES]) -> bool {
        self.shares && digits[self.deal] > 0
    }

    /// Returns the number of pages along each axis.
    pub(super) fn digits(&self) -> [u64; AXES] {
        let mut digits = self.grid;
        digits[self.deal] = self.cuts.iter().map(|cut| cut.pages).sum();
        digits
    }

    /// Returns the largest number of blocks that a section has in a page.
    pub(super) fn largest_section(&self) -> u64 {
        self.cuts
            .iter()
            .map(|cut| cut.per_section)
            .max()
            .unwrap_or(1)
    }

    fn cut(&self, digit: u64) -> PageCut {
        let found = self.cuts.iter().find(|cut| digit < cut.page + cut.pages);
        found.copied().unwrap_or(PageCut {
            page: 0,
            pages: 1,
            block: 0,
            per_section: 1,
        })
    }

    /// Returns the number of blocks of each section in a page.
    pub(super) fn per_section(&self, digits: [u64; AXES]) -> u64 {
        self.cut(digits[self.deal]).per_section
    }

    /// Returns the first block of a section in a page.
    pub(super) fn first(&self, digits: [u64; AXES], section: u64) -> [u64; AXES] {
        let cut = self.cut(digits[self.deal]);
        let mut first = digits;
        if self.shares {
            first[self.deal] += section * self.digits()[self.deal];
            return first;
        }
        first[self.deal] = cut.block
            + ((digits[self.deal] - cut.page) * self.sections + section) * cut.per_section;
        first
    }

    /// Returns the ranges of digits along each axis whose pages differ only in their addresses.
    pub(super) fn ranges(&self, sweep: &GridPass, quad: u64) -> [Vec<Range<u64>>; AXES] {
        let digits = self.digits();
        [0, 1, 2].map(|axis| {
            let count = digits[axis];
            let mut bounds = vec![0, count];
            if sweep.march.is_some_and(|march| march.axis() == axis) {
                // The first page of a march loads a whole window.
                bounds.push(1);
            }
            if self.shares && axis == self.deal {
                // The first block of a share has no block before it, so its loads may differ.
                bounds.push(1.min(count));
            }
            let cuts = if axis == self.deal {
                self.cuts.clone()
            } else {
                vec![PageCut {
                    page: 0,
                    pages: count,
                    block: 0,
                    per_section: 1,
                }]
            };
            let sections = if axis == self.deal { self.sections } else { 1 };
            for cut in cuts {
                bounds.extend([cut.page, cut.page + cut.pages]);
                let inside = |digit: u64| {
                    let (own, apart) = match self.shares && axis == self.deal {
                        true => (1, count),
                        false => (sections * cut.per_section, 0),
                    };
                    let first = match apart {
                        0 => cut.block + (digit - cut.page) * own,
                        _ => digit,
                    };
                    let streams = sweep.inputs.iter().chain(sweep.stored());
                    let shares = if apart > 0 { self.sections } else { 1 };
                    streams.into_iter().all(|field| {
                        (0..shares).all(|share| {
                            let first = first + share * apart;
                            field.contains_blocks(axis, first, first + own, quad)
                        })
                    })
                };
                // Pages inside the arrays form one range: pages are split off from either end up to the first
                // that is inside.
                let range = cut.page..cut.page + cut.pages;
                for digit in range.clone().take_while(|&d| !inside(d)) {
                    bounds.push(digit + 1);
                }
                for digit in range.rev().take_while(|&d| !inside(d)) {
                    bounds.push(digit);
                }
            }
            bounds.sort_unstable();
            bounds.dedup();
            bounds.windows(2).map(|two| two[0]..two[1]).collect()
        })
    }
}

impl GridField {
    /// Returns true if all blocks from `first` to `last` are inside the array and their windows are
    /// contiguous.
    fn contains_blocks(&self, axis: usize, first: u64, last: u64, quad: u64) -> bool {
        let (block, halo) = (self.block[axis], self.halo[axis] as i64);
        let [from, to] = [first, last].map(|n| (n * block) as i64 + self.offset[axis]);
        let shape = self.shape[axis] as i64;
        if from < 0 || to > shape {
            return false;
        }
        if axis != X {
            return from >= halo && to + halo <= shape;
        }
        let (lead, element) = (self.lead(quad) as i64, self.element as i64);
        let from = from * element - lead;
        let to = to * element + lead;
        let mut strips = self.strips.iter();
        strips.any(|strip| strip.from <= from && to <= strip.to)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every block along the dealt axis is in exactly one page, and one page more would have none.
        #[test]
        fn pages_have_all_blocks(blocks in 1u64..200, sections in 1u64..6, size in 1u64..9, first in 1u64..9, shares: bool) {
            let (size, first) = if shares { (1, 1) } else { (size, first.min(size)) };
            let cuts = Cuts::new([1, blocks, 1], 1, sections, size, first).shared(shares);
            let mut times = vec![0; blocks as usize];
            let mut last = 0;
            for digit in 0..cuts.digits()[1] {
                let digits = [0, digit, 0];
                last = 0;
                for section in 0..sections {
                    let own = cuts.first(digits, section)[1];
                    for block in (own..own + cuts.per_section(digits)).filter(|&b| b < blocks) {
                        times[block as usize] += 1;
                        last += 1;
                    }
                }
            }
            prop_assert!(times.iter().all(|&times| times == 1), "{:?}", times);
            prop_assert!(last > 0);
        }
    }
}
