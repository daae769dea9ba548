//! Pages of four_step_ring.s: columns and rows in eighths through a DMEM ring.
//!
//! Lines have 2048 or 1024 numbers. With digits n = L/4 n0 + L/32 n1 + 8 n2 + n3, k = p0 + 4 p1 + 32 p2 + L/8
//! p3, block n1 of the input becomes block p1 of the result (`docs/fft-large.md`).

use super::column_and_row_pages::section_rows;
use super::line_batch::{COMPLEX, LineBatch, root, twiddle_set};
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::{Ring, RingPages};
use num_complex::Complex32;

/// Numbers of a section's page.
pub(super) const PAGE: usize = 4096;
/// Greatest number of pairs of lines in a section's page.
pub(super) const MOST_COUPLES: usize = 2;
/// Radix of the last pass.
const LAST: u64 = 8;
/// Blocks of a page.
pub(super) const BLOCKS: u64 = 8;
/// Blocks in the ring, which begins at address 0.
pub(super) const RING: usize = 12;
/// Bytes of a block.
pub(super) const BLOCK: u64 = PAGE as u64 * COMPLEX / BLOCKS;
/// Returns the bytes of one row of a pair of lines in every section.
const fn quads(sections: u64) -> u64 {
    2 * sections * COMPLEX
}

/// Bytes of the ring. Behind it come the factors of two pages of rows, then tables.
pub(super) const RING_BYTES: u64 = RING as u64 * BLOCK;

/// Returns the pairs of lines in a section's page.
const fn couples(lines: &LineBatch) -> u64 {
    lines.per_section() as u64 / 2
}

/// Returns the bytes of an eighth of the factors for a section's page of rows.
const fn slice(lines: &LineBatch) -> u64 {
    256 + 48 * couples(lines)
}

/// Returns the bytes of the factors for a section's page of rows.
pub(super) const fn factor_bytes(lines: &LineBatch) -> u64 {
    BLOCKS * slice(lines)
}

/// Bytes of the twiddle sets of the last pass of rows.
pub(super) const LAST_SETS: u64 = 32 * 256;

/// Returns the bytes of DMEM for ring, factors and tables.
pub(super) const fn bytes(lines: &LineBatch, rows: bool) -> u64 {
    // Columns have two ones, and twiddle sets of 32 bytes for passes 2 to 4.
    let tables = match rows {
        true => LAST_SETS + 2 * factor_bytes(lines),
        false => 16 + 32 * (4 + 32 + 256) / couples(lines) + 64 * (couples(lines) - 1),
    };
    let steps = 64 * 8 + 8 * 16;
    RING_BYTES + tables + steps
}

/// Makes the ring, with its argument block at `arguments`.
pub(super) fn ring(arguments: u64) -> Ring {
    Ring::new_in_place(arguments, 0, RING, BLOCK)
}

/// Returns the butterflies of pass `i` over a section's page.
pub(super) fn pass(lines: &LineBatch, i: usize) -> u64 {
    PAGE as u64 / 2 * u64::from(lines.radices()[i].ilog2())
}

/// Returns the issues between the completion of the block before and of `block`: an eighth of pass 1, pass 2
/// for all blocks before the first, half of pass 3 before the first and the fifth, and an eighth of the last
/// pass, whose issues are `last`.
pub(super) fn issues(lines: &LineBatch, block: u64, last: u64) -> u64 {
    let due = |every: u64, cycles: u64| {
        if block.is_multiple_of(every) {
            cycles
        } else {
            0
        }
    };
    let (across, half) = (
        due(BLOCKS, pass(lines, 1)),
        due(BLOCKS / 2, pass(lines, 2) / 2),
    );
    pass(lines, 0) / BLOCKS + across + half + last / BLOCKS
}

/// Returns those issues for columns.
pub(super) fn column_issues(lines: &LineBatch, block: u64) -> u64 {
    issues(lines, block, pass(lines, 3))
}

/// Returns the issues of pass 1 on a block of columns, which begin as soon as the block has come.
pub(super) fn column_head(lines: &LineBatch) -> u64 {
    pass(lines, 0) / BLOCKS
}

/// True if rows of `length` numbers can be loaded from tiles of `width` columns: the length/32 numbers of a
/// block for each digit n0 are whole tiles, and a tile has whole digits n3.
pub(super) fn takes_tiles(length: usize, width: usize) -> bool {
    width.is_multiple_of(LAST as usize) && width <= length / 32
}

/// Columns of consecutive matrices with rows of `width` numbers, stored as tiles or in place.
#[derive(Clone, Debug)]
pub(super) struct ColumnRingPages {
    pub lines: LineBatch,
    /// Sections of the machine: a power of two.
    pub sections: u64,
    pub matrices: u64,
    pub width: u64,
    /// Address of the matrices.
    pub from: u64,
    /// Address of the results.
    pub to: u64,
    /// True if the results of a page are a tile; else they lie as the input does.
    pub tiled: bool,
}

impl ColumnRingPages {
    /// Returns the bytes of a row of a tile.
    fn run(&self) -> u64 {
        couples(&self.lines) * quads(self.sections)
    }

    fn tiles(&self) -> u64 {
        self.width * COMPLEX / self.run()
    }

    /// Returns the bytes from the first matrix to row `row` of a page whose columns lie as in the matrix.
    fn row_offset_bytes(&self, page: u64, row: u64) -> u64 {
        let (matrix, tile) = (page / self.tiles(), page % self.tiles());
        (matrix * self.lines.len() as u64 + row) * self.width * COMPLEX + tile * self.run()
    }
}

impl RingPages for ColumnRingPages {
    fn count(&self) -> u64 {
        self.matrices * self.tiles() * BLOCKS
    }

    /// Loads block n1: rows n2, n3 of each n0.
    fn loads(&self, block: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        let (page, n1) = (block / BLOCKS, block % BLOCKS);
        let (row, length) = (self.width * COMPLEX, self.lines.len() as u64);
        let from = self.from + self.row_offset_bytes(page, length / 32 * n1);
        let share = (self.run() / self.sections) as i64;
        let load = Descriptor::load(Target::Deal, from, local, self.run())
            .level((length / 32) as u32, row as i64, share)
            .level(4, (length / 4 * row) as i64, 1024);
        vec![load]
    }

    /// Stores block p1: results p0, p2, p3.
    fn stores(&self, block: u64, local: u32) -> Vec<Descriptor> {
        let (page, p1) = (block / BLOCKS, block % BLOCKS);
        let (run, couples) = (self.run(), couples(&self.lines) as i64);
        let (to, row) = match self.tiled {
            true => ((page * self.lines.len() as u64 + 4 * p1) * run, run),
            false => (self.row_offset_bytes(page, 4 * p1), self.width * COMPLEX),
        };
        let row = row as i64;
        let store = Descriptor::store(Target::Deal, self.to + to, local, run)
            .level(4, row, 1024)
            .level(8 / couples as u32, 32 * row, 128 * couples)
            .level(8, 256 / couples * row, 16 * couples);
        vec![store]
    }

    fn period(&self) -> u64 {
        BLOCKS
    }

    fn arithmetic_cycles(&self, block: u64) -> u64 {
        column_issues(&self.lines, block)
    }
}

/// Rows of tiled matrices of `height` rows; the results lie transposed.
#[derive(Clone, Debug)]
pub(super) struct RowRingPages {
    pub lines: LineBatch,
    /// Sections of the machine: a power of two.
    pub sections: u64,
    pub matrices: u64,
    pub height: u64,
    /// Columns of a tile.
    pub tile: u64,
    /// Address of the tiles.
    pub from: u64,
    /// Address of the results.
    pub to: u64,
    /// Address of the factors of the pages of one matrix.
    pub factors: u64,
}

impl RowRingPages {
    fn per_matrix(&self) -> u64 {
        self.height / (self.lines.per_section() as u64 * self.sections)
    }

    fn matrix_bytes(&self) -> u64 {
        self.height * self.lines.len() as u64 * COMPLEX
    }

    /// Makes the load of an eighth of a page's factors; the two factor buffers begin at `buffers` in DMEM.
    pub(super) fn factor_load(&self, block: u64, buffers: u64) -> Descriptor {
        let (page, n1) = (block / BLOCKS, block % BLOCKS);
        let (each, slice) = (factor_bytes(&self.lines), slice(&self.lines));
        let local = buffers + page % 2 * each + n1 * slice;
        let target = Target::Blocks {
            stride: each as i64,
        };
        let first = page % self.per_matrix() * self.sections * each + n1 * slice;
        Descriptor::load(target, self.factors + first, local as u32, slice)
    }
}

impl RingPages for RowRingPages {
    fn count(&self) -> u64 {
        self.matrices * self.per_matrix() * BLOCKS
    }

    /// Loads an eighth of the factors, then block n1: for each pair of rows the tiles of each n0, one
    /// transfer for each tile where tiles are wider than a digit n3.
    fn loads(&self, block: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        let (page, n1) = (block / BLOCKS, block % BLOCKS);
        let (matrix, group) = (page / self.per_matrix(), page % self.per_matrix());
        let couples = couples(&self.lines);
        let mut loads = vec![self.factor_load(block, RING_BYTES)];
        let (row, piece) = (self.tile * COMPLEX, LAST * COMPLEX);
        let tile = self.height * row;
        // Tiles of a block for each n0, and digits n2 of a tile.
        let tiles = self.lines.len() as u64 / 32 / self.tile;
        let wide = self.tile / LAST;
        let first = self.from + matrix * self.matrix_bytes() + n1 * tiles * tile;
        let target = Target::Blocks {
            stride: 2 * row as i64,
        };
        let n0 = (8 * tiles * tile) as i64;
        for couple in 0..couples {
            let rows = first + (group * couples + couple) * self.sections * 2 * row;
            let local = local + 512 * couple as u32;
            if wide == 1 {
                let load = Descriptor::load(target, rows, local, piece)
                    .level(2, row as i64, 64)
                    .level(tiles as u32, tile as i64, 128);
                loads.push(load.level(4, n0, 1024));
                continue;
            }
            loads.extend((0..tiles).map(|i| {
                let local = local + (128 * wide * i) as u32;
                Descriptor::load(target, rows + i * tile, local, piece)
                    .level(wide as u32, piece as i64, 128)
                    .level(2, row as i64, 64)
                    .level(4, n0, 1024)
            }));
        }
        loads
    }

    /// Stores block p1: quads of adjacent rows; where a page has two pairs of rows, one transfer for each p2.
    fn stores(&self, block: u64, local: u32) -> Vec<Descriptor> {
        let (page, p1) = (block / BLOCKS, block % BLOCKS);
        let (matrix, group) = (page / self.per_matrix(), page % self.per_matrix());
        let (row, couples) = (self.height * COMPLEX, couples(&self.lines));
        let quads = quads(self.sections);
        let to = self.to + matrix * self.matrix_bytes() + group * couples * quads + 4 * p1 * row;
        let store = |to, local| Descriptor::store(Target::Deal, to, local, quads);
        let (step, last) = (row as i64, (256 / couples * row) as i64);
        if couples == 1 {
            let all = store(to, local).level(4, step, 1024);
            return vec![all.level(8, 32 * step, 128).level(8, last, 16)];
        }
        let of = |p2: u32| {
            store(to + 32 * u64::from(p2) * row, local + 128 * p2)
                .level(couples as u32, quads as i64, 512)
                .level(4, step, 1024)
                .level(8, last, 16)
        };
        (0..8 / couples as u32).map(of).collect()
    }

    fn period(&self) -> u64 {
        BLOCKS
    }

    /// Counts a product for every two numbers of the last pass, beside the butterflies.
    fn arithmetic_cycles(&self, block: u64) -> u64 {
        issues(&self.lines, block, pass(&self.lines, 3) + PAGE as u64 / 2)
    }
}

/// Computes the factors for the rows of a section's page, in a transform of `turns` numbers.
pub(super) fn factors(lines: &LineBatch, rows: &[usize], turns: usize) -> Vec<Complex32> {
    let matrix = turns / lines.len();
    let numbers = (factor_bytes(lines) / COMPLEX) as usize;
    let mut factors = Vec::with_capacity(numbers);
    // Powers w^power of both rows of a pair, w = exp(-2 pi i (k + row/matrix) / length).
    let powers =
        |all: &mut Vec<Complex32>, of: &[usize], couple: &[usize], k: usize, length: usize| {
            for power in of {
                let each = couple.iter().map(|row| power * (k * matrix + row));
                all.extend(each.map(|turn| root(turn, length * matrix)));
            }
        };
    for couple in rows.chunks(2) {
        powers(&mut factors, &[2, 1], couple, 0, 4);
    }
    let eights = |all: &mut Vec<Complex32>, k: usize, length: usize| {
        for row in rows {
            all.extend(twiddle_set(8, k * matrix + row, length * matrix));
        }
    };
    for k in 0..4 {
        eights(&mut factors, k, 32);
    }
    for k in 0..32 {
        if lines.radix(2) == 8 {
            eights(&mut factors, k, 256);
            continue;
        }
        for couple in rows.chunks(2) {
            powers(&mut factors, &[2, 1], couple, k, 128);
        }
    }
    for couple in rows.chunks(2) {
        powers(&mut factors, &[4, 2, 1], couple, 0, lines.len());
    }
    factors.resize(numbers, Complex32::default());
    factors
}

/// Computes the factors for all pages of `height` rows, in the order of pages and sections.
pub(super) fn all_factors(
    lines: &LineBatch,
    height: usize,
    turns: usize,
    sections: usize,
) -> Vec<Complex32> {
    let per = lines.per_section();
    let of = |i: usize| section_rows(i / sections, i % sections, sections, per);
    (0..height / per)
        .flat_map(|i| factors(lines, &of(i), turns))
        .collect()
}
