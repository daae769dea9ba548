//! The last level of butterflies of an even radix, which stores results.

use super::butterflies::{ColumnDft, LANES};
use super::radix_constants::RadixConstant;
use crate::pipeline::{BlockBody, BodyOperand, BodyValue};

/// The last level of butterflies of a column of an even radix.
pub(super) struct LastButterflyLevel<'a> {
    column: &'a ColumnDft<'a>,
    pub(super) results: Vec<BodyValue>,
}

impl<'a> LastButterflyLevel<'a> {
    pub(super) fn new(column: &'a ColumnDft<'a>, body: &mut BlockBody, radix: usize) -> Self {
        // Results across the lanes need their registers before; others get theirs when they are computed.
        let count = if column.across { radix } else { 0 };
        let results = (0..count).map(|_| body.quad()).collect();
        Self { column, results }
    }

    /// Computes a butterfly whose results are those of two rows.
    pub(super) fn level(
        &mut self,
        body: &mut BlockBody,
        pair: (BodyValue, BodyValue),
        (index, turned): (usize, bool),
        rows: [usize; 2],
    ) {
        let (column, scale) = (self.column, self.column.scale);
        if column.across {
            let to = self.row_result_registers(rows);
            return column.butterfly_to(body, pair, column.factor(index, scale), turned, to);
        }
        let results = column.level(body, pair, index, turned, scale);
        self.keep_results(results, rows);
    }

    /// Computes a butterfly with a factor or none, whose results are those of two rows.
    pub(super) fn butterfly(
        &mut self,
        body: &mut BlockBody,
        pair: (BodyValue, BodyValue),
        factor: Option<[BodyOperand; 2]>,
        rows: [usize; 2],
    ) {
        let column = self.column;
        if column.across {
            let one = || [column.constants.operand(RadixConstant::Complex(1.0)); 2];
            let to = self.row_result_registers(rows);
            return column.butterfly_to(body, pair, factor.unwrap_or_else(one), false, to);
        }
        let results = match factor {
            Some(w) => column.butterfly(body, pair, w, false),
            None => ColumnDft::sum(body, pair),
        };
        self.keep_results(results, rows);
    }

    /// Returns the registers of the results of both lanes for two rows; a quad has two rows of one lane.
    fn row_result_registers(&self, rows: [usize; 2]) -> [[BodyOperand; 2]; 2] {
        let half = self.results.len() / 2;
        let at = |lane: usize, m: usize| LANES[m % 2](self.results[lane * half + m / 2]);
        rows.map(|m| [at(0, m), at(1, m)])
    }

    fn keep_results(&mut self, (x, y): (BodyValue, BodyValue), rows: [usize; 2]) {
        let last = rows[1].max(rows[0]) + 1;
        if self.results.len() < last {
            self.results.resize(last, x);
        }
        (self.results[rows[0]], self.results[rows[1]]) = (x, y);
    }
}
