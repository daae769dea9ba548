//! Pages of four_step.s: columns of a matrix and its rows, with transfers.

use super::line_batch::{COMPLEX, LineBatch};
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::RingPages;

/// Columns of `matrices` matrices that follow each other, each `lines.len()`
/// rows of `width` numbers.
#[derive(Clone, Debug)]
pub(super) struct ColumnPages {
    pub lines: LineBatch,
    pub sections: u64,
    pub matrices: u64,
    pub width: u64,
    /// Address of the matrices.
    pub from: u64,
    /// Address of the results.
    pub to: u64,
    /// Number of consecutive matrices that share their tiles: row k1 of matrix k0 of them is row k0 + k1
    /// `tiled` of a tile. With 1 a page is a tile. None: results lie as the input does.
    pub tiled: Option<u64>,
    /// Address of the matrices' factors, if their columns are at shifted frequencies.
    pub factors: Option<u64>,
}

impl ColumnPages {
    /// Returns the columns of a page, all sections together.
    fn columns(&self) -> u64 {
        self.lines.per_section() as u64 * self.sections
    }

    fn tiles(&self) -> u64 {
        self.width / self.columns()
    }

    /// Returns the address of a page whose columns lie as in the matrix.
    fn page_address(&self, base: u64, page: u64) -> u64 {
        let (matrix, tile) = (page / self.tiles(), page % self.tiles());
        let numbers = matrix * self.lines.len() as u64 * self.width + tile * self.columns();
        base + numbers * COMPLEX
    }

    /// Makes the transfer of a page in the matrix, whose columns are dealt to the sections two adjacent ones
    /// at a time.
    fn strided(
        &self,
        make: fn(Target, u64, u32, u64) -> Descriptor,
        system: u64,
        local: u32,
    ) -> Descriptor {
        let (row, run) = (self.width * COMPLEX, self.columns() * COMPLEX);
        let own = self.lines.per_section() as u64 * COMPLEX;
        let rows = self.lines.len() as u64;
        // A page of all columns has consecutive rows.
        if run == row {
            return make(Target::Deal, system, local, rows * run);
        }
        make(Target::Deal, system, local, run).level(rows as u32, row as i64, own as i64)
    }
}

impl RingPages for ColumnPages {
    fn count(&self) -> u64 {
        self.matrices * self.tiles()
    }

    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        let matrix = page / self.tiles() % self.tiled.unwrap_or(1);
        let shift = self.factors.map(|system| {
            let each = self.lines.column_factor_bytes();
            let system = system + matrix * each;
            Descriptor::load(Target::Broadcast, system, factors, each)
        });
        let data = self.strided(Descriptor::load, self.page_address(self.from, page), local);
        shift.into_iter().chain([data]).collect()
    }

    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let run = self.columns() * COMPLEX;
        let Some(sharing) = self.tiled else {
            let at = self.page_address(self.to, page);
            if self.lines.leaves_out_of_order() {
                // The store puts the digits of the numbers in order.
                let own = self.lines.per_section() as u64 * COMPLEX;
                let store = Descriptor::store(Target::Deal, at, local, run);
                return vec![self.lines.results(store, &[self.width * COMPLEX], own)];
            }
            return vec![self.strided(Descriptor::store, at, local)];
        };
        let bytes = self.lines.page_bytes() * self.sections;
        if sharing == 1 {
            let to = self.to + page * bytes;
            return vec![Descriptor::store(Target::Deal, to, local, bytes)];
        }
        let (matrix, tile) = (page / self.tiles(), page % self.tiles());
        let first = (matrix / sharing * self.tiles() + tile) * sharing * bytes;
        let to = self.to + first + matrix % sharing * run;
        let per = self.lines.per_section() as i64 * COMPLEX as i64;
        let store = Descriptor::store(Target::Deal, to, local, run);
        vec![store.level(self.lines.len() as u32, (sharing * run) as i64, per)]
    }

    fn dmem_bytes(&self, _page: u64) -> Option<[u64; 3]> {
        let factors = self.factors.map(|_| self.lines.column_factor_bytes());
        Some([self.lines.page_bytes(), factors.unwrap_or(0), 0])
    }

    fn arithmetic_cycles(&self, _page: u64) -> u64 {
        self.lines.butterflies()
    }
}

/// Rows of tiled matrices of `height` rows; the results of each matrix lie transposed.
#[derive(Clone, Debug)]
pub(super) struct RowPages {
    pub lines: LineBatch,
    pub sections: u64,
    pub matrices: u64,
    pub height: u64,
    /// Number of matrices with rows in the same tiles.
    pub sharing: u64,
    /// Columns of a tile.
    pub tile: u64,
    /// Address of the tiles.
    pub from: u64,
    /// Address of the results.
    pub to: u64,
    /// Address of the factors of the pages of one matrix.
    pub factors: u64,
    /// Number of buffers that keep their factors, which the first page of each brings; 0 if every page brings
    /// its own.
    pub resident: u64,
}

impl RowPages {
    /// Returns the rows of a page, all sections together.
    fn rows(&self) -> u64 {
        self.lines.per_section() as u64 * self.sections
    }

    fn per_matrix(&self) -> u64 {
        self.height / self.rows()
    }

    fn matrix_bytes(&self) -> u64 {
        self.height * self.lines.len() as u64 * COMPLEX
    }

    /// Makes the load of a page's factors.
    pub(super) fn factors(&self, page: u64, local: u32) -> Descriptor {
        let each = self.lines.factor_bytes();
        let target = Target::Blocks {
            stride: each as i64,
        };
        let system = self.factors + page % self.per_matrix() * self.sections * each;
        Descriptor::load(target, system, local, each)
    }

    /// Makes the load of the factors of all pages of a matrix, one behind the other.
    pub(super) fn all_factors(&self, local: u32) -> Descriptor {
        let each = self.lines.factor_bytes();
        let pages = self.per_matrix() as u32;
        let apart = (self.sections * each) as i64;
        self.factors(0, local).level(pages, apart, each as i64)
    }
}

/// Returns the rows of section `section` in page `page`: pairs of adjacent rows are dealt to the sections in
/// turn.
pub(super) fn section_rows(
    page: usize,
    section: usize,
    sections: usize,
    per_section: usize,
) -> Vec<usize> {
    let first = page * sections * per_section + 2 * section;
    (0..per_section)
        .map(|r| first + r % 2 + r / 2 * 2 * sections)
        .collect()
}

impl RingPages for RowPages {
    fn count(&self) -> u64 {
        self.matrices * self.per_matrix()
    }

    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor> {
        let (matrix, group) = (page / self.per_matrix(), page % self.per_matrix());
        let (row, bytes) = (self.tile * COMPLEX, self.lines.len() as u64 * COMPLEX);
        let among = matrix % self.sharing;
        let tiles_at = self.from + (matrix - among) * self.matrix_bytes();
        let system = tiles_at + (among * self.height + group * self.rows()) * row;
        let couples = self.lines.per_section() as u32 / 2;
        let tiles = self.lines.len() as u64 / self.tile;
        let target = Target::Blocks {
            stride: 2 * row as i64,
        };
        let data = Descriptor::load(target, system, local, row)
            .level(2, row as i64, bytes as i64)
            .level(couples, (self.sections * 2 * row) as i64, 2 * bytes as i64)
            .level(
                tiles as u32,
                (self.sharing * self.height * row) as i64,
                row as i64,
            );
        let brings = self.resident == 0 || page < self.resident;
        let factors = brings.then(|| self.factors(page, factors));
        factors.into_iter().chain([data]).collect()
    }

    fn period(&self) -> u64 {
        self.resident.max(1)
    }

    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor> {
        let (matrix, group) = (page / self.per_matrix(), page % self.per_matrix());
        let run = self.rows() * COMPLEX;
        let system = self.to + matrix * self.matrix_bytes() + group * run;
        vec![Descriptor::store(Target::Deal, system, local, run).level(
            self.lines.len() as u32,
            (self.height * COMPLEX) as i64,
            self.lines.per_section() as i64 * COMPLEX as i64,
        )]
    }

    fn dmem_bytes(&self, _page: u64) -> Option<[u64; 3]> {
        Some([self.lines.page_bytes(), self.lines.factor_bytes(), 0])
    }

    fn arithmetic_cycles(&self, _page: u64) -> u64 {
        self.lines.shifted_issues()
    }
}
