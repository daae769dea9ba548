//! The page kernels of `lines2048.s`: lines of 2048 numbers, which go through DMEM in
//! eighths of a page. How each eighth is loaded and stored.

use super::lines::{COMPLEX, Lines, root, rows_of, set};
use crate::ring::{Pages, Ring};
use cp2_dma::{Descriptor, Target};
use num_complex::Complex32;

/// Length of the lines.
pub(super) const LENGTH: usize = 2048;
/// Lines of a section's page.
pub(super) const PER_SECTION: usize = 2;
/// Sections, so that a row of a tile has as many numbers as the last radix.
pub(super) const SECTIONS: u64 = 4;
/// Blocks of a page.
const BLOCKS: u64 = 8;
/// Blocks in the ring, which begins at address 0.
pub(super) const RING: usize = 12;
/// Bytes of a block.
const BLOCK: u64 = LENGTH as u64 * PER_SECTION as u64 * COMPLEX / BLOCKS;
/// Bytes of a row of a tile: the run of a couple of columns of each section.
const RUN: u64 = PER_SECTION as u64 * SECTIONS * COMPLEX;
/// Bytes of an eighth of the factors for a section's page of rows.
const SLICE: u64 = 304;
/// Bytes of these factors.
pub(super) const FACTORS: u64 = BLOCKS * SLICE;
/// Cycles of a page of columns beside its arithmetic, as the words of `lines2048.s` have it.
const COLUMN_OVERHEAD: u64 = 359;
/// ... of a page of rows.
const ROW_OVERHEAD: u64 = 371;

/// Bytes of the ring. Behind it come the factors of two pages of rows, then tables.
const RING_BYTES: u64 = RING as u64 * BLOCK;
/// DMEM for ring, factors and tables.
pub(super) const fn bytes(rows: bool) -> u64 {
    // Sets of 32 bytes of pass 4; of columns also those of passes 1 to 3.
    let sets = 32 * 256 + if rows { 0 } else { 16 + 32 * (4 + 32) };
    let steps = 64 * 8 + 8 * 16;
    RING_BYTES + sets + steps + if rows { 2 * FACTORS } else { 0 }
}

/// The ring; the argument block lies at `arguments`.
pub(super) fn ring(arguments: u64) -> Ring {
    Ring::in_place(arguments, 0, RING, BLOCK)
}

/// The strides of a block's results p0, p2, p3: `row` bytes from a result to the next in system memory.
fn results(descriptor: Descriptor, row: i64) -> Descriptor {
    descriptor
        .level(4, row, 1024)
        .level(8, 32 * row, 128)
        .level(8, 256 * row, 16)
}

/// Columns of matrices that follow each other, 2048 rows of `width` numbers, stored as tiles.
#[derive(Clone, Debug)]
pub(super) struct ColumnParts {
    pub lines: Lines,
    pub matrices: u64,
    pub width: u64,
    /// Address of the matrices.
    pub from: u64,
    /// Address of the tiles.
    pub to: u64,
}

impl ColumnParts {
    fn tiles(&self) -> u64 {
        self.width * COMPLEX / RUN
    }
}

impl Pages for ColumnParts {
    fn count(&self) -> u64 {
        self.matrices * self.tiles() * BLOCKS
    }

    /// Block n1: rows n2, n3 of each n0.
    fn loads(&self, block: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        let (page, n1) = (block / BLOCKS, block % BLOCKS);
        let (matrix, tile) = (page / self.tiles(), page % self.tiles());
        let row = self.width * COMPLEX;
        let first = matrix * LENGTH as u64 + 64 * n1;
        let from = self.from + first * row + tile * RUN;
        let row = row as i64;
        let load = Descriptor::load(Target::Deal, from, local, RUN);
        vec![load.level(64, row, 16).level(4, 512 * row, 1024)]
    }

    /// Block p1, as rows of a tile.
    fn stores(&self, block: u64, local: u32) -> Vec<Descriptor> {
        let (page, p1) = (block / BLOCKS, block % BLOCKS);
        let to = self.to + (page * LENGTH as u64 + 4 * p1) * RUN;
        let store = Descriptor::store(Target::Deal, to, local, RUN);
        vec![results(store, RUN as i64)]
    }

    fn issues(&self, _block: u64) -> u64 {
        self.lines.butterflies() / BLOCKS
    }

    fn overhead(&self, _block: u64) -> u64 {
        COLUMN_OVERHEAD / BLOCKS
    }
}

/// Rows of tiled matrices of `height` rows; the results lie transposed.
#[derive(Clone, Debug)]
pub(super) struct RowParts {
    pub lines: Lines,
    pub matrices: u64,
    pub height: u64,
    /// Address of the tiles.
    pub from: u64,
    /// Address of the results.
    pub to: u64,
    /// Address of the factors of the pages of one matrix.
    pub factors: u64,
}

impl RowParts {
    fn per_matrix(&self) -> u64 {
        self.height / (PER_SECTION as u64 * SECTIONS)
    }

    fn matrix_bytes(&self) -> u64 {
        self.height * LENGTH as u64 * COMPLEX
    }
}

impl Pages for RowParts {
    fn count(&self) -> u64 {
        self.matrices * self.per_matrix() * BLOCKS
    }

    /// An eighth of the factors, then block n1: the tiles of each n0 and n2.
    fn loads(&self, block: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        let (page, n1) = (block / BLOCKS, block % BLOCKS);
        let (matrix, group) = (page / self.per_matrix(), page % self.per_matrix());
        let buffer = RING_BYTES + page % 2 * FACTORS + n1 * SLICE;
        let target = Target::Blocks {
            stride: FACTORS as i64,
        };
        let system = self.factors + group * SECTIONS * FACTORS + n1 * SLICE;
        let slice = Descriptor::load(target, system, buffer as u32, SLICE);
        let tile = (self.height * RUN) as i64;
        let rows = self.from + matrix * self.matrix_bytes();
        let system = rows + group * SECTIONS * 2 * RUN + n1 * 8 * tile as u64;
        let target = Target::Blocks {
            stride: 2 * RUN as i64,
        };
        let data = Descriptor::load(target, system, local, 2 * RUN);
        let data = data.level(8, tile, 128).level(4, 64 * tile, 1024);
        vec![slice, data]
    }

    /// Block p1: quads of neighbouring rows.
    fn stores(&self, block: u64, local: u32) -> Vec<Descriptor> {
        let (page, p1) = (block / BLOCKS, block % BLOCKS);
        let (matrix, group) = (page / self.per_matrix(), page % self.per_matrix());
        let row = self.height * COMPLEX;
        let to = self.to + matrix * self.matrix_bytes() + group * RUN + 4 * p1 * row;
        vec![results(
            Descriptor::store(Target::Deal, to, local, RUN),
            row as i64,
        )]
    }

    fn issues(&self, _block: u64) -> u64 {
        self.lines.shifted_issues() / BLOCKS
    }

    fn overhead(&self, _block: u64) -> u64 {
        ROW_OVERHEAD / BLOCKS
    }
}

/// The factors for the rows of a section's page, in a transform of `turns` numbers.
fn factors(rows: &[usize], turns: usize) -> Vec<Complex32> {
    let matrix = turns / LENGTH;
    let mut factors = Vec::with_capacity((FACTORS / COMPLEX) as usize);
    for power in [2, 1] {
        factors.extend(rows.iter().map(|row| root(power * row, 4 * matrix)));
    }
    for (done, length) in [(4, 32), (32, 256)] {
        for k in 0..done {
            for row in rows {
                factors.extend(set(8, k * matrix + row, length * matrix));
            }
        }
    }
    for power in [4, 2, 1] {
        factors.extend(rows.iter().map(|row| root(power * row, turns)));
    }
    factors.resize((FACTORS / COMPLEX) as usize, Complex32::default());
    factors
}

/// The factors for all pages of `height` rows.
pub(super) fn all_factors(height: usize, turns: usize) -> Vec<Complex32> {
    let sections = SECTIONS as usize;
    let of = |i: usize| rows_of(i / sections, i % sections, sections, PER_SECTION);
    (0..height / PER_SECTION)
        .flat_map(|i| factors(&of(i), turns))
        .collect()
}
