//! Overlap-save with blocks beyond local memory: N = 64 x n numbers as 64 rows.
//!
//! Three passes over system memory for every block: two passes of radix 8 down the
//! columns, 16 columns a page; the rows, each transformed, multiplied and
//! transformed back as a block of local memory is; the columns back. The rows'
//! forward factors begin where the columns' end, and the columns' factors back
//! depend on the column: both are streamed, and nothing is multiplied by a
//! factor of its own.

use super::error::ConvError;
use super::filter::{COMPLEX, Filter};
use super::overlap::{Digits, digits, frequency, issues, kernel_of, response};
use crate::job::{Job, JobError};
use cp2_asm::Program;
use cp2_dma::Level;
use cp2_host::{BlocksPerSection, Buffer, Paging, Piece, Plan, PlanError, Stream};
use cp2_machine::{Class, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// Rows of a block.
pub(super) const ROWS: usize = 64;
/// Columns of a page: runs of 128 bytes.
const COLUMNS: usize = 16;
/// Passes of radix 8 down the columns.
const PASSES: u32 = 2;

/// Lengths of a row.
pub(super) const ROW_LENGTHS: std::ops::RangeInclusive<u32> = 5..=10;

/// Most taps: all rows but one may overlap.
pub(super) const MOST_TAPS: usize = (ROWS - 1) * (1 << 10) + 1;

/// What the passes of a block need.
#[derive(Debug)]
pub(super) struct Long {
    machine: Arc<Machine>,
    row: usize,
    /// Rows of a block that are no outputs.
    skip: usize,
    forward: Arc<Program>,
    rows: Arc<Program>,
    back: Arc<Program>,
    taps: Vec<Complex32>,
    row_factors: Vec<Complex32>,
    column_factors: Vec<Complex32>,
}

/// Addresses of a block's arrays.
#[derive(Clone, Copy)]
struct Addresses {
    x: u64,
    between: u64,
    taps: u64,
    row_factors: u64,
    column_factors: u64,
    y: u64,
}

/// The filter whose blocks have rows of `row` numbers.
pub(super) fn filter(
    taps: &[Complex32],
    row: usize,
    machine: &Arc<Machine>,
) -> Result<Filter, ConvError> {
    let n = ROWS * row;
    let skip = (taps.len() - 1).div_ceil(row);
    let lead = skip * row;
    let part = |n, part| Ok::<_, ConvError>(Arc::new(kernel_of(n, part, machine)?));
    let response = response(taps, n);
    let by_row = (0..ROWS).flat_map(|r| (0..row).map(move |place| (r, place)));
    let long = Long {
        machine: machine.clone(),
        row,
        skip,
        forward: part(ROWS * COLUMNS, 1)?,
        rows: part(row, 2)?,
        back: part(ROWS * COLUMNS, 3)?,
        taps: by_row
            .map(|(r, place)| response[prefix(r) + ROWS * frequency(place, row)])
            .collect(),
        row_factors: (0..ROWS)
            .flat_map(|r| row_factors(prefix(r), row))
            .collect(),
        column_factors: (0..row / COLUMNS)
            .flat_map(|g| column_factors(g, row))
            .collect(),
    };
    Ok(Filter {
        title: format!("overlap-save {n} by rows of {row}"),
        program: long.rows.clone(),
        machine: machine.clone(),
        lead,
        window: n,
        hop: n - lead,
        out: n - lead,
        skip: 0,
        first: 0,
        in_place: true,
        fixed: true,
        operations: Vec::new(),
        cycles_per_block: 0,
        cycles_per_page: 0,
        long: Some(Arc::new(long)),
    })
}

/// The frequency that row r begins with: its digits in reverse order.
fn prefix(r: usize) -> usize {
    reversed(r, PASSES)
}

fn reversed(i: usize, digits: u32) -> usize {
    (0..digits).fold(0, |k, d| 8 * k + (i >> (3 * d)) % 8)
}

/// exp(-2 pi i num/den), rounded once.
fn cis(num: usize, den: usize) -> Complex32 {
    let (sin, cos) = (-std::f64::consts::TAU * (num % den) as f64 / den as f64).sin_cos();
    Complex32::new(cos as f32, sin as f32)
}

/// Factors of a radix-8 butterfly: w^4, w^2, w, w W8 for w = exp(-2 pi i k/den).
fn four(k: usize, den: usize) -> [Complex32; 4] {
    [4 * k, 2 * k, k, k + den / 8].map(|k| cis(k, den))
}

/// Of the forward passes and the middle one of a row that begins with frequency k.
fn row_factors(k: usize, row: usize) -> Vec<Complex32> {
    let Digits { outer, middle } = digits(row);
    let mut factors = Vec::new();
    for pass in 0..outer {
        for i in 0..1usize << (3 * pass) {
            factors.extend(four(k + ROWS * reversed(i, pass), (8 * ROWS) << (3 * pass)));
        }
    }
    let den = ROWS << (3 * outer);
    for group in 0..row / middle {
        let k = k + ROWS * reversed(group, outer);
        for level in 0..middle.ilog2() {
            for b in 0..((1usize << level) / 2).max(1) {
                let place = if level == 0 {
                    0
                } else {
                    (2 * b).reverse_bits() >> (usize::BITS - level)
                };
                factors.push(cis(k + den * place, den * (2 << level)));
            }
        }
    }
    factors
}

/// Of the passes back of a group of columns, both columns of a pair side by side.
fn column_factors(group: usize, row: usize) -> Vec<Complex32> {
    let mut factors = Vec::new();
    for pass in 0..PASSES {
        let length = row << (3 * pass);
        for pair in 0..(COLUMNS << (3 * pass)) / 2 {
            let of = |column: usize| {
                let k = group * COLUMNS + column % COLUMNS + row * (column / COLUMNS);
                four(k, 8 * length)
            };
            let (a, b) = (of(2 * pair), of(2 * pair + 1));
            factors.extend(a.iter().zip(b).flat_map(|(&a, b)| [a, b]));
        }
    }
    factors
}

impl Long {
    /// The three passes of a block.
    fn passes(&self, at: Addresses) -> [(&'static str, &Arc<Program>, Paging); 3] {
        let bytes = |n: usize| n as u64 * COMPLEX;
        let groups = (self.row / COLUMNS) as u64;
        let run = bytes(COLUMNS);
        let columns = |name, system, from: usize| {
            let down = Level {
                count: (ROWS - from) as u32,
                system_stride: bytes(self.row) as i64,
                local_stride: run as i64,
            };
            let mut piece = Piece::new(run, vec![down]);
            piece.local = (from * COLUMNS) as i64 * COMPLEX as i64;
            Stream::strided(name, system, run, bytes(ROWS * COLUMNS), vec![piece])
        };
        let even = |name, system, all: &[Complex32], blocks: usize| {
            Stream::contiguous(name, system, bytes(all.len() / blocks))
        };
        let down = Paging {
            in_place: true,
            cycles_per_block: Some(self.down()),
            cycles_per_page: 90,
            ..Paging::new(
                groups,
                vec![columns("x", at.x, 0)],
                vec![columns("columns", at.between, 0)],
            )
        };
        let rows = |name| Stream::contiguous(name, at.between, bytes(self.row));
        let across = Paging {
            in_place: true,
            size: BlocksPerSection::Fixed(1),
            cycles_per_block: Some(issues(self.row)),
            cycles_per_page: 240,
            ..Paging::new(
                ROWS as u64,
                vec![
                    rows("columns"),
                    even("taps", at.taps, &self.taps, ROWS),
                    even("factors", at.row_factors, &self.row_factors, ROWS),
                ],
                vec![rows("rows")],
            )
        };
        let back = Paging {
            in_place: true,
            size: BlocksPerSection::Fixed(1),
            cycles_per_block: Some(self.down()),
            cycles_per_page: 90,
            ..Paging::new(
                groups,
                vec![
                    columns("rows", at.between, 0),
                    even(
                        "factors",
                        at.column_factors,
                        &self.column_factors,
                        self.row / COLUMNS,
                    ),
                ],
                vec![columns("y", at.y, self.skip)],
            )
        };
        [
            ("columns forward", &self.forward, down),
            ("rows", &self.rows, across),
            ("columns back", &self.back, back),
        ]
    }

    /// Butterflies of a page of columns in one direction.
    fn down(&self) -> u64 {
        (ROWS * COLUMNS / 2) as u64 * u64::from(3 * PASSES)
    }

    /// The passes of `blocks` blocks from `x` to `y`.
    pub(super) fn append(
        &self,
        job: &mut Job,
        x: Buffer<Complex32>,
        y: Buffer<Complex32>,
        blocks: usize,
    ) -> Result<(), JobError> {
        let mut at = Addresses {
            x: x.address(),
            between: job
                .temporary::<Complex32>((ROWS * self.row) as u64)?
                .address(),
            taps: job.input(&self.taps)?.address(),
            row_factors: job.input(&self.row_factors)?.address(),
            column_factors: job.input(&self.column_factors)?.address(),
            y: y.address(),
        };
        let hop = ((ROWS - self.skip) * self.row) as u64 * COMPLEX;
        let placed = [
            job.program("columns forward", &self.forward)?,
            job.program("rows", &self.rows)?,
            job.program("columns back", &self.back)?,
        ];
        for _ in 0..blocks {
            for ((_, program, paging), placed) in self.passes(at).into_iter().zip(&placed) {
                job.pass(placed, program.entry.into(), paging)?;
            }
            at.x += hop;
            at.y += hop;
        }
        Ok(())
    }

    /// Expected cycles of a block.
    pub(super) fn estimate(&self) -> Result<f64, PlanError> {
        // Any addresses that do not overlap.
        let step = (8 * ROWS * self.row) as u64 * COMPLEX;
        let at = |i: u64| i * step;
        let at = Addresses {
            x: at(0),
            between: at(1),
            taps: at(2),
            row_factors: at(3),
            column_factors: at(4),
            y: at(5),
        };
        let mut cycles = 0.0;
        for (_, program, mut paging) in self.passes(at) {
            paging.reserved.extend(super::filter::reserved(program));
            cycles += Plan::new(paging, &self.machine)?.estimate().cycles;
        }
        Ok(cycles)
    }

    /// Arithmetic of the three passes of a block.
    pub(super) fn operations(&self) -> [Vec<(Class, u64)>; 3] {
        let groups = (self.row / COLUMNS) as u64;
        let row = self.row as u64;
        let rows = ROWS as u64;
        let columns = || vec![(Class::Butterfly, groups * self.down())];
        let across = vec![
            (Class::Butterfly, rows * row * u64::from(self.row.ilog2())),
            (Class::Madd, rows * row / 2),
        ];
        [columns(), across, columns()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_the_size_that_the_kernel_expects() {
        for b in ROW_LENGTHS {
            let row = 1usize << b;
            let passes = digits(row).outer;
            let radix8: usize = (0..passes).map(|p| 4 << (3 * p)).sum();
            assert_eq!(row_factors(9, row).len(), radix8 + row / 2);
        }
        assert_eq!(column_factors(1, 64).len(), 4 * 16 + 4 * 128);
    }

    #[test]
    fn rows_begin_with_reversed_digits() {
        assert_eq!((prefix(1), prefix(8), prefix(63)), (8, 1, 63));
    }
}
