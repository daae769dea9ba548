//! The results of a column of a power of two.

use super::dft::{Column, LANES};
use crate::pipeline::{Body, Value};

/// The last level of a power of two.
pub(super) struct Last<'a> {
    column: &'a Column<'a>,
    pub(super) results: Vec<Value>,
}

impl<'a> Last<'a> {
    pub(super) fn new(column: &'a Column<'a>, body: &mut Body, radix: usize) -> Self {
        // Each of its own, where they are not across the lanes, is known when it is computed.
        let count = if column.across { radix } else { 0 };
        let results = (0..count).map(|_| body.quad()).collect();
        Self { column, results }
    }

    /// A butterfly, whose results are those of two rows.
    pub(super) fn level(
        &mut self,
        body: &mut Body,
        pair: (Value, Value),
        (index, turned): (usize, bool),
        rows: [usize; 2],
    ) {
        let (column, scale) = (self.column, self.column.scale);
        if column.across {
            let half = self.results.len() / 2;
            let at = |lane: usize, m: usize| LANES[m % 2](self.results[lane * half + m / 2]);
            let to = rows.map(|m| [at(0, m), at(1, m)]);
            return column.butterfly_to(body, pair, column.factor(index, scale), turned, to);
        }
        let (x, y) = column.level(body, pair, index, turned, scale);
        let last = rows[1].max(rows[0]) + 1;
        if self.results.len() < last {
            self.results.resize(last, x);
        }
        (self.results[rows[0]], self.results[rows[1]]) = (x, y);
    }
}
