//! Half-spectrum rows, 512 or 1024, in eighths (half_spectrum_row_ring.s).

use super::column_and_row_ring::{self, BLOCKS, RING_BYTES};
use super::line_batch::{COMPLEX, LAST, LineBatch, root, twiddle_set};
use super::real_pages::{HALF, HalfSpectrumRowPages, HalfSpectrumRows};
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::{Ring, RingPages};
use num_complex::Complex32;

/// Bytes of the eight numbers n3.
const EIGHT: u64 = LAST as u64 * COMPLEX;
/// Bytes of one number of a pair of rows.
const QUAD: u64 = 2 * COMPLEX;

/// Pages in eighths of rows 0 to N1/2 of matrices.
#[derive(Clone, Debug)]
pub(super) struct HalfSpectrumRingPages {
    pub rows: HalfSpectrumRowPages,
}

/// Figures that depend on the length of the rows.
#[derive(Clone, Copy)]
struct HalfSpectrumRingShape {
    /// Numbers of a row.
    length: u64,
    /// Rows of a section's page.
    rows: u64,
    /// Radix of the first pass.
    first: u64,
    /// Values of digit n2; 1 for rows without that digit.
    inner: u64,
    /// Pieces in which a page comes and goes: one block each, or two blocks for rows without digit n2, since
    /// a row of a tile has two digits n1.
    pieces: u64,
    /// Bytes of the factors of a section's page; the factors of each piece are a multiple of 16 bytes.
    factors: u64,
}

impl HalfSpectrumRingShape {
    fn new(lines: &LineBatch) -> Self {
        let first = lines.radix(0) as u64;
        let inner = (lines.len() as u64 / (first * BLOCKS * LAST as u64)).max(1);
        let rows = (column_and_row_ring::PAGE / lines.len()) as u64;
        let sets = 4 * rows * (1 + first);
        Self {
            length: lines.len() as u64,
            rows,
            factors: match inner {
                1 => (sets + 3 * rows) * COMPLEX,
                _ => column_and_row_ring::factor_bytes(lines),
            },
            first,
            inner,
            pieces: BLOCKS.min(BLOCKS / 2 * inner),
        }
    }

    /// Returns the blocks of a piece.
    fn blocks(self) -> u64 {
        BLOCKS / self.pieces
    }

    /// Returns the bytes of a piece.
    fn bytes(self) -> u64 {
        self.blocks() * column_and_row_ring::BLOCK
    }

    /// Returns the bytes from a row to the next in a block.
    fn row_pitch_bytes(self) -> u64 {
        self.inner * EIGHT
    }

    /// Returns the bytes from a digit n0 to the next in a block.
    fn digit(self) -> u64 {
        column_and_row_ring::BLOCK / self.first
    }

    /// Returns the numbers that the passes before the last take in a page, and those that the last pass
    /// takes. In a matrix's `last` page the last pass takes only the first pair of rows; without digit n2 all
    /// passes do.
    fn numbers(self, last: bool) -> [u64; 2] {
        let (page, couple) = (column_and_row_ring::PAGE as u64, 2 * self.length);
        match (last, self.inner) {
            (false, _) => [page, page],
            (true, 1) => [couple, couple],
            (true, _) => [page, couple],
        }
    }

    /// Returns the butterflies of a page, and the products of its last pass; `last` says whether the page is
    /// a matrix's last.
    fn butterflies(self, last: bool) -> [u64; 2] {
        let [numbers, completed] = self.numbers(last);
        let bits = u64::from((self.length / LAST as u64).ilog2());
        let last = completed / 2 * u64::from(LAST.ilog2());
        [numbers / 2 * bits + last, completed / 2]
    }
}

impl HalfSpectrumRingPages {
    /// Makes the rows of `length` numbers on `sections` sections, a power of two; none where there is no
    /// kernel.
    pub(super) fn lines(length: usize, sections: u64) -> Option<LineBatch> {
        // A row of a tile must be whole digits n2 of a block or, without these, two digits n1.
        let takes = |lines: &LineBatch| match HalfSpectrumRingShape::new(lines).inner {
            1 => sections == 4,
            inner => sections <= 2 * inner,
        };
        LineBatch::new_half_spectrum_ring_page(length).filter(takes)
    }

    /// Returns the number of buffers of the ring.
    pub(super) fn buffers(lines: &LineBatch) -> usize {
        (RING_BYTES / HalfSpectrumRingShape::new(lines).bytes()) as usize
    }

    /// Returns the bytes of DMEM for ring, factors, conjugates and tables.
    pub(super) fn bytes(lines: &LineBatch) -> u64 {
        let shape = HalfSpectrumRingShape::new(lines);
        let steps = match shape.inner {
            1 => (32 + 8) * 16 + (4 + 8) * 8,
            _ => 16 * 8 + 4 * 8,
        };
        RING_BYTES + 2 * shape.factors + 2 * shape.length * 4 + steps
    }

    /// Makes the ring, with its argument block at `arguments`.
    pub(super) fn ring(lines: &LineBatch, arguments: u64) -> Ring {
        let bytes = HalfSpectrumRingShape::new(lines).bytes();
        Ring::new_in_place(arguments, 0, Self::buffers(lines), bytes)
    }

    /// Computes the factors of all pages and sections of a transform of `turns` numbers.
    pub(super) fn factors(rows: &HalfSpectrumRows, turns: usize) -> Vec<Complex32> {
        let lines = &rows.lines;
        let of = |rows: Vec<usize>| match HalfSpectrumRingShape::new(lines).inner {
            1 => short_factors(lines, &rows, turns),
            _ => column_and_row_ring::factors(lines, &rows, turns),
        };
        rows.list_full_pages().flat_map(of).collect()
    }

    /// Returns the issues of the rows of a matrix: butterflies, products and conjugates.
    pub(super) fn operations(rows: &HalfSpectrumRows) -> [u64; 3] {
        let shape = HalfSpectrumRingShape::new(&rows.lines);
        let [butterflies, products] =
            [0, 1].map(|i| rows.full() * shape.butterflies(false)[i] + shape.butterflies(true)[i]);
        [butterflies, products, products / 2]
    }

    fn shape(&self) -> HalfSpectrumRingShape {
        HalfSpectrumRingShape::new(&self.rows.rows.lines)
    }

    /// True if a piece is of a matrix's last page.
    fn is_last(&self, piece: u64) -> bool {
        let full = self.rows.rows.full();
        piece / self.shape().pieces % (full + 1) == full
    }

    /// Returns the number of a piece within its page, the page, and the page's matrix, number within it and
    /// rows.
    fn piece(&self, piece: u64) -> (u64, u64, (u64, u64, &LineBatch)) {
        let pieces = self.shape().pieces;
        let page = piece / pieces;
        (piece % pieces, page, self.rows.split(page))
    }

    /// Makes the stores of the results of block p1 of a page, which lie at `local`.
    fn block(
        &self,
        (matrix, page, lines): (u64, u64, &LineBatch),
        p1: u64,
        local: u64,
    ) -> Vec<Descriptor> {
        let HalfSpectrumRingShape {
            length,
            rows,
            first,
            inner,
            ..
        } = self.shape();
        let (half, last) = (LAST as u32 / 2, page == self.rows.rows.full());
        let height = self.rows.tiles.height;
        let stride = (height / (2 * self.rows.tiles.sections) * COMPLEX) as i64;
        let to = self.rows.to + matrix * self.rows.pitch;
        let (row, turn) = (page * rows, (height * COMPLEX) as i64);
        let (digit, apart) = (self.shape().digit() as i64, self.shape().row_pitch_bytes());
        // Stores pairs (their number, and bytes from one to the next in DMEM) of every number of half a row;
        // `turn` is the bytes from a number to the next in the spectrum.
        let store = |(number, local): (u64, u64), couples: (u64, i64), turn: i64| {
            let target = Target::Blocks {
                stride: stride * turn.signum(),
            };
            Descriptor::store(target, to + number * COMPLEX, local as u32, QUAD)
                .level(couples.0 as u32, QUAD as i64, couples.1)
                .level(first as u32, turn, digit)
                .level(half, turn * (length / LAST as u64) as i64, QUAD as i64)
        };
        let couples = lines.per_section() as u64 / 2;
        let couple = 2 * apart as i64;
        let each = (0..inner).flat_map(|p2| {
            let k = first * (p1 + BLOCKS * p2);
            let local = local + EIGHT * p2;
            // The last pair of the last page has no numbers of its own to store.
            let own = couples - u64::from(last);
            let lower = (own > 0).then(|| store((row + height * k, local), (own, couple), turn));
            // Conjugates of pairs from `from` on: those of the last pair come first in the spectrum.
            let from = u64::from(page == 0);
            let low = height - row - 2 * (couples - 1) + height * (length / 2 - 1 - k);
            let high = local + apart + (couples - 1) * couple as u64;
            let mirror = store((low, high), (couples - from, -couple), -turn);
            lower.into_iter().chain([mirror])
        });
        // Number N/2 comes from row 0.
        let middle = || {
            let middle = to + height * length / 2 * COMPLEX;
            Descriptor::store(Target::Section(0), middle, (local + apart) as u32, QUAD)
        };
        let is_middle = page == 0 && p1 == 0;
        each.chain(is_middle.then(middle)).collect()
    }
}

/// Computes the factors for the rows of a section's page without digit n2.
fn short_factors(lines: &LineBatch, rows: &[usize], turns: usize) -> Vec<Complex32> {
    let matrix = turns / lines.len();
    let mut factors = Vec::new();
    let mut done = 1;
    for radix in lines.in_place_radices() {
        for k in 0..done {
            for row in rows {
                factors.extend(twiddle_set(*radix, k * matrix + row, radix * done * matrix));
            }
        }
        done *= radix;
    }
    for couple in rows.chunks(2) {
        for power in [4, 2, 1] {
            factors.extend(couple.iter().map(|row| root(power * row, turns)));
        }
    }
    factors
}

impl RingPages for HalfSpectrumRingPages {
    fn count(&self) -> u64 {
        self.rows.matrices * self.period()
    }

    fn period(&self) -> u64 {
        (self.rows.rows.full() + 1) * self.shape().pieces
    }

    /// Loads a piece of the factors, then one block n1 or two: for each tile the halves of its rows, four
    /// numbers of either parity.
    fn loads(&self, piece: u64, local: u32, _factors: u32) -> Vec<Descriptor> {
        let shape = self.shape();
        let (index, all, (matrix, page, lines)) = self.piece(piece);
        let (tile, row) = (self.rows.tiles.tile(), self.rows.tiles.row());
        let sections = self.rows.tiles.sections;
        let target = |stride: u64| Target::Blocks {
            stride: stride as i64,
        };
        let (each, slice) = (shape.factors, shape.factors / shape.pieces);
        let own = Descriptor::load(
            target(each),
            self.rows.factors + page * sections * each + index * slice,
            (RING_BYTES + all % 2 * each + index * slice) as u32,
            slice,
        );
        // Digits of a row of a tile, each with four numbers of either parity, and tiles of a piece for each
        // digit n0. On four sections a row has two of four digits n2, or one digit of each of two blocks.
        let digits = row / HALF;
        let tiles = (shape.inner / digits).max(1);
        let apart = match shape.inner {
            1 => column_and_row_ring::BLOCK,
            _ => EIGHT,
        };
        let first = self.rows.from + matrix * self.rows.tiles.bytes() + page * shape.rows * row;
        let section = target(self.rows.tiles.height / (2 * sections) * row);
        let data = (0..2 * tiles).map(|i| {
            let (parity, i) = (i % 2, i / 2);
            let system = first + (2 * (index * tiles + i) + parity) * tile;
            let local = u64::from(local) + digits * apart * i + parity * HALF;
            Descriptor::load(section, system, local as u32, HALF)
                .level(digits as u32, HALF as i64, apart as i64)
                .level(
                    lines.per_section() as u32,
                    row as i64,
                    shape.row_pitch_bytes() as i64,
                )
                .level(
                    shape.first as u32,
                    (2 * shape.pieces * tiles * tile) as i64,
                    shape.digit() as i64,
                )
        });
        [own].into_iter().chain(data).collect()
    }

    fn stores(&self, piece: u64, local: u32) -> Vec<Descriptor> {
        let blocks = self.shape().blocks();
        let (index, _, page) = self.piece(piece);
        let of = |i| {
            self.block(
                page,
                index * blocks + i,
                u64::from(local) + i * column_and_row_ring::BLOCK,
            )
        };
        (0..blocks).flat_map(of).collect()
    }

    /// Counts pass 1 on a piece as it comes, pass 2 on all pieces, pass 3 on half of them, and the last pass
    /// on each, with a product for every two numbers and a conjugate for every four.
    fn arithmetic_cycles(&self, piece: u64) -> u64 {
        let HalfSpectrumRingShape {
            first,
            inner,
            pieces,
            ..
        } = self.shape();
        let [numbers, last] = self.shape().numbers(self.is_last(piece));
        let index = piece % pieces;
        let due = |every: u64, radix: u64| match index % every {
            0 => numbers / 2 * u64::from(radix.ilog2()) * every / pieces,
            _ => 0,
        };
        let last = (last / 2 * u64::from(LAST.ilog2()) + last / 2 + last / 4) / pieces;
        let head = numbers / 2 * u64::from(first.ilog2()) / pieces;
        head + due(pieces, BLOCKS) + due(pieces / 2, inner) + last
    }
}
