//! A packed matrix in words.

use super::{ColumnLanes, ColumnValues, Gather};
use crate::sparse::MatrixRegion;
use std::ops::Range;

/// Assumption that this format depends on and that no published text confirms.
pub(in crate::sparse) const ASSUMED: &str = "assumed (D11): the DMA writes program memory while a kernel runs; the format `diagonal` does without";

impl Gather {
    /// Returns the parts that are multiplied with one piece of the vector at a time: names of the kinds, and
    /// rows, columns and kind of each part.
    #[must_use]
    pub fn regions(&self) -> (Vec<String>, Vec<MatrixRegion>) {
        let kinds = [
            "rows and columns that are multiplied with a piece of the vector",
            "the next ones",
        ];
        let rows = |blocks: &Range<usize>| {
            let (first, end) = (
                blocks.start / self.grid.unit,
                blocks.end.div_ceil(self.grid.unit),
            );
            let row = |unit: usize| (unit * self.grid.unit_rows()).min(self.grid.rows);
            row(first)..row(end)
        };
        let mut regions: Vec<MatrixRegion> = Vec::new();
        let mut piece = 0;
        for tile in &self.tiles {
            piece += usize::from(!tile.loaded);
            regions.push((rows(&tile.blocks), tile.columns.clone(), piece % 2));
        }
        (kinds.map(str::to_owned).to_vec(), regions)
    }

    /// Says how the matrix is packed.
    #[must_use]
    pub fn recipe(&self) -> String {
        let lanes = match self.lanes {
            ColumnLanes::Own => "numbers in their own lanes",
            ColumnLanes::Either => "numbers in either lane",
            ColumnLanes::Both if self.numbers == ColumnValues::Two => "two vectors side by side",
            ColumnLanes::Both if self.numbers == ColumnValues::Double => "double precision",
            ColumnLanes::Both if self.numbers == ColumnValues::DoubleSingle => {
                "double-single precision"
            }
            ColumnLanes::Both => "complex numbers",
        };
        format!(
            "generated code, {lanes}, {} pages of {} words, the vector in {}",
            self.pages(),
            self.words(),
            match self.segments() {
                1 => "one piece".to_owned(),
                loads => format!("{loads} pieces"),
            }
        )
    }
}
