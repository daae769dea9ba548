//! The pages of rows of half a spectrum of 1024 or of 512 numbers (`real_parts.s`), which go through DMEM in eighths.

use super::column_and_row_ring::{self, BLOCKS, RING_BYTES};
use super::line_batch::{COMPLEX, LAST, LineBatch, root, set};
use super::real_pages::{HALF, HalfSpectrumRowPages, HalfSpectrumRows};
use cp2_dma::{Descriptor, Target};
use cp2_host::paging::{Ring, RingPages};
use num_complex::Complex32;

/// Bytes from a digit n3 to the next, eight numbers.
const EIGHT: u64 = LAST as u64 * COMPLEX;
/// Bytes of a couple's number.
const QUAD: u64 = 2 * COMPLEX;

/// Rows 0 to N1/2 of matrices, a page of them in each section.
#[derive(Clone, Debug)]
pub(super) struct HalfSpectrumRingPages {
    pub rows: HalfSpectrumRowPages,
}

/// What depends on the length of the rows.
#[derive(Clone, Copy)]
struct HalfSpectrumRingShape {
    /// Numbers of a row, and rows of a section's page.
    length: u64,
    rows: u64,
    /// Radix of the first pass, and digits n2.
    first: u64,
    inner: u64,
    /// Pieces in which a page comes and goes: blocks, or of rows without n2 two of these, because a row of a tile is two
    /// digits n1.
    pieces: u64,
    /// Bytes of the factors of a section's page, in pieces that are multiples of 16 bytes.
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

    /// Blocks of a piece, and bytes.
    fn blocks(self) -> u64 {
        BLOCKS / self.pieces
    }

    fn bytes(self) -> u64 {
        self.blocks() * column_and_row_ring::BLOCK
    }

    /// Bytes from a row to the next in a block, and from a digit n0 to the next.
    fn row_pitch_bytes(self) -> u64 {
        self.inner * EIGHT
    }

    fn digit(self) -> u64 {
        column_and_row_ring::BLOCK / self.first
    }

    /// Numbers that the first passes and the last one take: of a matrix' last page the last pass takes the first couple alone, and
    /// without n2 all do.
    fn numbers(self, last: bool) -> [u64; 2] {
        let (page, couple) = (column_and_row_ring::PAGE as u64, 2 * self.length);
        match (last, self.inner) {
            (false, _) => [page, page],
            (true, 1) => [couple, couple],
            (true, _) => [page, couple],
        }
    }

    /// Butterflies of such a page, and products of its last pass.
    fn butterflies(self, last: bool) -> [u64; 2] {
        let [numbers, completed] = self.numbers(last);
        let bits = u64::from((self.length / LAST as u64).ilog2());
        let last = completed / 2 * u64::from(LAST.ilog2());
        [numbers / 2 * bits + last, completed / 2]
    }
}

impl HalfSpectrumRingPages {
    /// Rows of `length` numbers on so many sections, a power of two; none where there is no kernel.
    pub(super) fn lines(length: usize, sections: u64) -> Option<LineBatch> {
        // A row of a tile is digits n2 of a block, or without these two digits n1.
        let takes = |lines: &LineBatch| match HalfSpectrumRingShape::new(lines).inner {
            1 => sections == 4,
            inner => sections <= 2 * inner,
        };
        LineBatch::new_half_spectrum_ring_page(length).filter(takes)
    }

    /// Buffers of the ring.
    pub(super) fn buffers(lines: &LineBatch) -> usize {
        (RING_BYTES / HalfSpectrumRingShape::new(lines).bytes()) as usize
    }

    /// DMEM for ring, factors, conjugates and tables.
    pub(super) fn bytes(lines: &LineBatch) -> u64 {
        let shape = HalfSpectrumRingShape::new(lines);
        let steps = match shape.inner {
            1 => (32 + 8) * 16 + (4 + 8) * 8,
            _ => 16 * 8 + 4 * 8,
        };
        RING_BYTES + 2 * shape.factors + 2 * shape.length * 4 + steps
    }

    /// The ring; the argument block lies at `arguments`.
    pub(super) fn ring(lines: &LineBatch, arguments: u64) -> Ring {
        let bytes = HalfSpectrumRingShape::new(lines).bytes();
        Ring::new_in_place(arguments, 0, Self::buffers(lines), bytes)
    }

    /// The factors of all pages and sections of a transform of `turns` numbers.
    pub(super) fn factors(rows: &HalfSpectrumRows, turns: usize) -> Vec<Complex32> {
        let lines = &rows.lines;
        let of = |rows: Vec<usize>| match HalfSpectrumRingShape::new(lines).inner {
            1 => short_factors(lines, &rows, turns),
            _ => column_and_row_ring::factors(lines, &rows, turns),
        };
        rows.wholes().flat_map(of).collect()
    }

    /// Arithmetic of the rows of a matrix: butterflies, products and conjugates.
    pub(super) fn operations(rows: &HalfSpectrumRows) -> [u64; 3] {
        let shape = HalfSpectrumRingShape::new(&rows.lines);
        let [butterflies, products] =
            [0, 1].map(|i| rows.full() * shape.butterflies(false)[i] + shape.butterflies(true)[i]);
        [butterflies, products, products / 2]
    }

    fn shape(&self) -> HalfSpectrumRingShape {
        HalfSpectrumRingShape::new(&self.rows.rows.lines)
    }

    /// Whether a piece is of a matrix' last page.
    fn is_last(&self, piece: u64) -> bool {
        let full = self.rows.rows.full();
        piece / self.shape().pieces % (full + 1) == full
    }

    /// The piece of a page, its page, and of its matrix which page it is and its rows.
    fn piece(&self, piece: u64) -> (u64, u64, (u64, u64, &LineBatch)) {
        let pieces = self.shape().pieces;
        let page = piece / pieces;
        (piece % pieces, page, self.rows.split(page))
    }

    /// The results of block p1 of a page at `local`.
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
        // Couples, of every number k of an eighth; `turn` is from a number to the next in the spectrum.
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
            // Of the last page's couples the last has no numbers of its own.
            let own = couples - u64::from(last);
            let lower = (own > 0).then(|| store((row + height * k, local), (own, couple), turn));
            // The conjugates of couples from `from` on: the last couple's come first.
            let from = u64::from(page == 0);
            let low = height - row - 2 * (couples - 1) + height * (length / 2 - 1 - k);
            let high = local + apart + (couples - 1) * couple as u64;
            let mirror = store((low, high), (couples - from, -couple), -turn);
            lower.into_iter().chain([mirror])
        });
        // Number N/2 comes from the first row of all.
        let middle = || {
            let middle = to + height * length / 2 * COMPLEX;
            Descriptor::store(Target::Section(0), middle, (local + apart) as u32, QUAD)
        };
        let is_middle = page == 0 && p1 == 0;
        each.chain(is_middle.then(middle)).collect()
    }
}

/// The factors for the rows of a section's page without digit n2.
fn short_factors(lines: &LineBatch, rows: &[usize], turns: usize) -> Vec<Complex32> {
    let matrix = turns / lines.len();
    let mut factors = Vec::new();
    let mut done = 1;
    for radix in lines.in_place_radices() {
        for k in 0..done {
            for row in rows {
                factors.extend(set(*radix, k * matrix + row, radix * done * matrix));
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

    /// A piece of the factors, then block n1 or two: of each tile the halves of its rows, four numbers of either parity.
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
        // Digits of a row of a tile, of which each has four numbers of either parity, and tiles of a piece for each digit n0: on four
        // sections two of four digits n2 or one of two blocks.
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

    /// Pass 1 on a piece as it comes, pass 2 on all, pass 3 on half of them and the last one by one: with a product for every two
    /// numbers and a conjugate for every four.
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
