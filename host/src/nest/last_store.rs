//! The last page that stores a part of an output.

use super::field::AXES;
use super::grid_plan::GridPlan;
use std::ops::Range;

impl GridPlan {
    /// Returns the last page that stores elements of a box of planes and rows of an output, both counted from the
    /// array's first ones; none if no page does.
    #[must_use]
    pub fn find_last_store(&self, output: usize, lines: [Range<u64>; 2]) -> Option<u64> {
        (0..self.len())
            .rev()
            .find(|&page| self.stores_lines(page, output, &lines))
    }

    /// Returns true if a page stores elements of a box of planes and rows of an output.
    fn stores_lines(&self, page: u64, output: usize, lines: &[Range<u64>; 2]) -> bool {
        let Some(field) = self.sweep.outputs.get(output) else {
            return false;
        };
        let digits = self.place(page);
        (0..self.cuts.sections).any(|section| {
            let first = self.cuts.first(digits, section);
            let mut count = [1; AXES];
            count[self.cuts.deal] = self.cuts.per_section(digits);
            lines.iter().enumerate().all(|(axis, lines)| {
                let block = field.block[axis];
                let begin = (first[axis] * block) as i64 + field.offset[axis];
                let end = begin + (count[axis] * block) as i64;
                // Elements beyond the array are not stored.
                let last = lines.end.min(field.shape[axis]) as i64;
                begin.max(lines.start as i64) < end.min(last)
            })
        })
    }
}
