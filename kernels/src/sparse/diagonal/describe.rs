//! A packed matrix in words.

use super::Diagonals;
use crate::sparse::MatrixRegion;

impl Diagonals {
    /// Says how the matrix is packed.
    #[must_use]
    pub fn recipe(&self) -> String {
        format!(
            "cells of four rows along diagonals, {} pages, the vector in {} for each section",
            self.pages(),
            match self.segments() {
                1 => "one piece".to_owned(),
                pieces => format!("{pieces} pieces"),
            }
        )
    }

    /// Returns the rows of each section, over all columns: names of the kinds, and rows, columns and kind of
    /// each part.
    #[must_use]
    pub fn regions(&self) -> (Vec<String>, Vec<MatrixRegion>) {
        let kinds = (0..self.grid.sections).map(|section| format!("rows of section {section}"));
        let parts = self.parts.iter().flat_map(|part| {
            let chunk = &part.chunk;
            (0..self.grid.sections).map(move |section| {
                let first = chunk.row + section * chunk.each;
                (first..first + chunk.each, 0..usize::MAX, section)
            })
        });
        (kinds.collect(), parts.collect())
    }
}
