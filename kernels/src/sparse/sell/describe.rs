//! A packed matrix in words.

use super::Sell;
use super::rows::SellTile;
use crate::sparse::MatrixRegion;

impl Sell {
    /// Says how the matrix is packed.
    #[must_use]
    pub fn recipe(&self) -> String {
        let slices: usize = self.tiles().map(|tile| tile.slices.len()).sum();
        format!(
            "{slices} slices of sorted rows at addresses of each section, {} pages, the vector in {}",
            self.pages(),
            match self.segments() {
                1 => "one piece".to_owned(),
                pieces => format!("{pieces} pieces"),
            }
        )
    }

    /// Returns the parts that are multiplied with one piece of the vector at a time: names of the kinds, and
    /// rows, columns and kind of each part.
    #[must_use]
    pub fn regions(&self) -> (Vec<String>, Vec<MatrixRegion>) {
        let kinds = [
            "rows and columns that are multiplied with a piece of the vector",
            "the next ones",
        ];
        let part = |(number, tile): (usize, &SellTile)| {
            let sections = self.shape.sections;
            let rows = tile.own.start * sections..tile.own.end * sections;
            (rows, tile.columns.clone(), number % 2)
        };
        let parts = self.tiles().enumerate().map(part);
        (kinds.map(str::to_owned).to_vec(), parts.collect())
    }
}
