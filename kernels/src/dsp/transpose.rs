//! The transpose of a complex matrix: rows of runs in, runs of columns out.
//!
//! A block is a band of rows times a few columns. The load brings its rows;
//! CP2 moves every number from its row to its column; the store writes a
//! run for each column. No arithmetic: the bound is the DMA's.

use super::error::DspError;
use super::kernel::{Kernel, Recipe, pointer};
use super::ops::Ops;
use super::plan::{Planned, padded_rows};
use crate::job::{Job, KernelRun, Least};
use crate::pipeline::Reg;
use cp2_dma::Level;
use cp2_host::{Buffer, Options, Paging, Piece, Stream};
use cp2_machine::{Class, Cycles, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// Bytes of a complex number.
const COMPLEX: u64 = 8;
/// Cycles of two columns of a block beside those of their numbers: a pipeline that
/// fills and drains, four pointers.
const COLUMN_PAIR: u128 = 20;
/// Rows of a band and columns of a block at most, but for blocks of whole rows.
const MOST: usize = 64;

/// A planned transposition.
pub type Transposition = Planned<Tiles>;

/// Sides of a matrix and of its blocks.
#[derive(Debug)]
pub struct Tiles {
    /// Rows and columns.
    sides: [usize; 2],
    /// Filled up to whole blocks.
    rows: usize,
    columns: usize,
    band: usize,
    strip: usize,
}

impl Transposition {
    /// Plans the transposition of a matrix of `rows` x `columns`, stored row by row.
    ///
    /// # Errors
    /// Sides that are zero.
    pub fn new(rows: usize, columns: usize, machine: Arc<Machine>) -> Result<Self, DspError> {
        let sides = [rows, columns];
        for side in sides {
            if side == 0 || side >= usize::MAX / 2 {
                return Err(DspError::Size {
                    what: "a side of the matrix",
                    found: side,
                    expected: "a positive number of rows and columns that memory can hold"
                        .to_owned(),
                });
            }
        }
        let (band, strip) = cut(sides, &machine);
        let rows = rows.next_multiple_of(band);
        let columns = columns.next_multiple_of(strip);
        let kernel = build(band, strip, &machine)?;
        let shape = Tiles {
            sides,
            rows,
            columns,
            band,
            strip,
        };
        Ok(Self::of("transpose", shape, machine, vec![kernel]))
    }

    /// What any program must move.
    #[must_use]
    pub fn least(&self) -> Least {
        let [rows, columns] = self.shape.sides;
        Least {
            bytes: 2 * u128::from(COMPLEX) * rows as u128 * columns as u128,
            ..Least::default()
        }
    }

    /// Lower bound of the time.
    #[must_use]
    pub fn bound(&self) -> Cycles {
        self.least().cycles(self.machine())
    }

    /// The transpose of `matrix`.
    ///
    /// # Errors
    /// A matrix of another size, or that does not fit the machine.
    pub fn process(&self, matrix: &[Complex32]) -> Result<KernelRun<Vec<Complex32>>, DspError> {
        self.process_with(matrix, Options::default())
    }

    /// The same on a device with options.
    ///
    /// # Errors
    /// See [`Transposition::process`].
    pub fn process_with(
        &self,
        matrix: &[Complex32],
        options: Options,
    ) -> Result<KernelRun<Vec<Complex32>>, DspError> {
        let (job, y) = self.job(matrix, options)?;
        let ([rows, columns], wide) = (self.shape.sides, self.shape.rows);
        Ok(job.run(self.bound(), |run| {
            let all = run.read(y)?;
            if [rows, columns] == [wide, self.shape.columns] {
                return Ok(all);
            }
            let own = all.chunks(wide).take(columns);
            Ok(own.flat_map(|row| &row[..rows]).copied().collect())
        })?)
    }

    pub(super) fn job(
        &self,
        matrix: &[Complex32],
        options: Options,
    ) -> Result<(Job, Buffer<Complex32>), DspError> {
        let [rows, columns] = self.shape.sides;
        if Some(matrix.len()) != rows.checked_mul(columns) {
            return Err(DspError::Length {
                what: "the matrix",
                found: matrix.len(),
                expected: format!("{rows} x {columns}"),
            });
        }
        self.check()?;
        let mut x = padded_rows(matrix, columns, self.shape.columns);
        x.resize(self.shape.rows * self.shape.columns, Complex32::default());
        let output = [self.shape.columns as u64, self.shape.rows as u64];
        self.passes(options, (&[x], &output), self.strips(), |pass, x, y| {
            self.paging(pass, x[0], y)
        })
    }

    /// Whether the blocks of a pass follow one another along a row of the
    /// matrix: the longer the pass, the less its first load and last store weigh.
    fn along_rows(&self) -> bool {
        self.shape.columns / self.shape.strip > self.shape.rows / self.shape.band
    }

    fn strips(&self) -> usize {
        let (bands, strips) = (
            self.shape.rows / self.shape.band,
            self.shape.columns / self.shape.strip,
        );
        bands.min(strips)
    }

    /// One strip of columns, band by band; or one band of rows, strip by strip.
    fn paging(&self, pass: usize, x: u64, y: u64) -> Paging {
        let [rows, columns, band, strip, pass] = [
            self.shape.rows,
            self.shape.columns,
            self.shape.band,
            self.shape.strip,
            pass,
        ]
        .map(|n| n as u64);
        let level = |count, system: u64, local: u64| Level {
            count: count as u32,
            system_stride: (system * COMPLEX) as i64,
            local_stride: (local * COMPLEX) as i64,
        };
        let load = Piece::new(strip * COMPLEX, vec![level(band, columns, strip)]);
        let store = Piece::new(band * COMPLEX, vec![level(strip, rows, band)]);
        // Numbers from a band to the next and from a strip to the next, in x and in y.
        let (down, across) = ((band * columns, band), (strip, strip * rows));
        let (next, start, blocks) = if self.along_rows() {
            (across, down, columns / strip)
        } else {
            (down, across, rows / band)
        };
        let stream = |name, at, start: u64, next: u64, piece| {
            let block = band * strip * COMPLEX;
            let first = at + pass * start * COMPLEX;
            Stream::strided(name, first, next * COMPLEX, block, vec![piece])
        };
        let x = stream("x", x, start.0, next.0, load);
        let y = stream("y", y, start.1, next.1, store);
        Paging::new(blocks, vec![x], vec![y])
    }

    /// Refuses matrices that do not fit system memory.
    pub(super) fn check(&self) -> Result<(), DspError> {
        let numbers = self.shape.rows as u128 * self.shape.columns as u128;
        self.fits(2 * u128::from(COMPLEX) * numbers)
    }

    /// No arithmetic in any pass.
    pub(super) fn operations(&self) -> Vec<Vec<(Class, u64)>> {
        vec![Vec::new(); self.strips()]
    }
}

/// Rows and columns of a block: those of the least time by the machine's data. All
/// bytes and runs go over the channel; what stands alone at both ends of a pass, does so
/// for each.
fn cut([rows, columns]: [usize; 2], machine: &Machine) -> (usize, usize) {
    let (dma, host) = (&machine.dma, &machine.host);
    let ends = host.launch.0 + 2 * (host.completion.0 + host.descriptor.0 + dma.setup_idle.0);
    let sections = machine.cp2.sections as u128;
    let ends = u128::from(ends);
    let time = |(band, strip): (usize, usize)| {
        let (bands, strips) = (rows.div_ceil(band), columns.div_ceil(strip));
        let [bands, strips, band, strip] = [bands, strips, band, strip].map(|n| n as u128);
        let blocks = bands * strips;
        let numbers = blocks.saturating_mul(band * strip);
        let bytes = numbers.saturating_mul(2 * u128::from(COMPLEX));
        let (bytes_of, cycles) = (dma.bandwidth.num.max(1), dma.bandwidth.den);
        let moved = bytes.saturating_mul(cycles.into()) / u128::from(bytes_of);
        let runs = |whole: bool, each| {
            if whole {
                1
            } else {
                blocks.saturating_mul(each)
            }
        };
        let runs = runs(strips == 1, band).saturating_add(runs(bands == 1, strip));
        let runs = runs.saturating_mul(dma.run.0.into());
        let block = strip / 2 * (band + COLUMN_PAIR);
        let computed = blocks.div_ceil(sections).saturating_mul(block);
        let passes = bands.min(strips);
        // Without two whole rounds there is too little to move while a block is computed.
        let alone = if blocks / passes < 2 * sections {
            block
        } else {
            0
        };
        let busy = moved.saturating_add(runs).max(computed);
        busy.saturating_add(passes.saturating_mul(ends + alone))
    };
    // Two pages in and out, and as much again as a block for arguments.
    let fits = |band: usize, strip: usize| {
        5 * band as u64 * strip as u64 * COMPLEX <= machine.cp2.dmem.0 || band * strip == 4
    };
    let sides = |side: usize| {
        let even = (2..=MOST.min(side + 1)).step_by(2);
        even.chain((side < 4 * MOST).then(|| side.next_multiple_of(2)))
    };
    let all = sides(rows).flat_map(|band| sides(columns).map(move |strip| (band, strip)));
    let all = all.filter(|&(band, strip)| fits(band, strip));
    all.min_by_key(|&cut| time(cut)).unwrap_or((2, 2))
}

/// Two rows and two columns in an iteration, down the columns.
fn build(band: usize, strip: usize, machine: &Machine) -> Result<Kernel, DspError> {
    let mut ops = Ops::new(&[]);
    let row = (strip as u64 * COMPLEX) as i64;
    let column = (band as u64 * COMPLEX) as i64;
    let from = [0, 2].map(|register| pointer(&mut ops.body, register, 2 * row));
    let to = [1, 3].map(|register| pointer(&mut ops.body, register, 16));
    let rows = from.map(|from| {
        let value = ops.body.quad();
        ops.body.load(Reg::Whole(value), from, 0);
        Reg::Whole(value)
    });
    for (name, to) in ["trnlo", "trnhi"].into_iter().zip(to) {
        let moved = ops.q(name, &rows);
        ops.body.store(moved, to, 0);
    }
    // Behind a pair of columns: back to the first row two columns on, and
    // over the second of the two columns that were written. Behind the block:
    // from the end of its first row to that of its last.
    let back = 16 - (band as i64) * row;
    let after = format!(
        "    movi s0, {back}\n    add a0, a0, s0\n    add a2, a2, s0\n    \
         movi s1, {column}\n    add a1, a1, s1\n    add a3, a3, s1\n"
    );
    let down = (band as i64 - 1) * row;
    let pages = (
        vec![(from[0], 0, 0), (from[1], 0, row)],
        vec![(to[0], 0, 0), (to[1], 0, column)],
    );
    Recipe {
        turns: strip as u64 / 2,
        after,
        next: format!("    movi s2, {down}\n    add a0, a0, s2\n    add a2, a2, s2\n"),
        ..Recipe::streaming("transpose", ops, pages, band / 2)
    }
    .build(machine)
}
