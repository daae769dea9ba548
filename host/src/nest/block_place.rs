//! The page and the section of a block.

use super::field::AXES;
use super::grid_plan::GridPlan;
use super::page_cuts::Cuts;

/// Place of a block in a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPlace {
    /// Number of its page.
    pub page: u64,
    /// Section that has it.
    pub section: u64,
    /// Number among the blocks of its section in its page.
    pub number: u64,
}

impl GridPlan {
    /// Returns the place of a block by its position in the grid, slowest axis first.
    #[must_use]
    pub fn find_block(&self, block: [u64; AXES]) -> BlockPlace {
        let (digits, section, number) = self.cuts.find(block);
        BlockPlace {
            page: self.number(digits),
            section,
            number,
        }
    }
}

impl Cuts {
    /// Returns the digits of a block's page, its section, and its number among the blocks of its section there.
    fn find(&self, block: [u64; AXES]) -> ([u64; AXES], u64, u64) {
        let mut digits = block;
        let at = block[self.deal];
        if self.shares {
            let pages = self.digits()[self.deal].max(1);
            digits[self.deal] = at % pages;
            return (digits, at / pages, 0);
        }
        let cut = self.cuts.iter().rev().find(|cut| cut.block <= at);
        let (first, page, each) = cut.map_or((0, 0, 1), |cut| {
            (cut.block, cut.page, cut.per_section.max(1))
        });
        let in_cut = at - first;
        digits[self.deal] = page + in_cut / (each * self.sections);
        (digits, in_cut / each % self.sections, in_cut % each)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Every page finds the blocks that it has.
        #[test]
        fn blocks_are_found_where_pages_have_them(
            (blocks, sections) in (1u64..100, 1u64..6), size in 1u64..9, first in 1u64..9, shares: bool,
        ) {
            let (size, first) = if shares { (1, 1) } else { (size, first.min(size)) };
            let cuts = Cuts::new([3, blocks, 2], 1, sections, size, first).shared(shares);
            let [planes, pages, columns] = cuts.digits();
            for digits in (0..planes).flat_map(|p| (0..pages).flat_map(move |r| (0..columns).map(move |c| [p, r, c]))) {
                for section in 0..sections {
                    for number in 0..cuts.per_section(digits) {
                        let mut block = cuts.first(digits, section);
                        block[1] += number;
                        prop_assert_eq!(cuts.find(block), (digits, section, number));
                    }
                }
            }
        }
    }
}
