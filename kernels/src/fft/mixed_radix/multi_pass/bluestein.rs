//! Bluestein's algorithm by long transforms, in passes over system memory.

use super::elementwise::{ElementOperation, Elementwise};
use super::slices::StridedRows;
use crate::fft::TransformDirection;
use crate::fft::error::{FftError, NoDivision};
use crate::fft::fft_trait::Fft;
use crate::fft::mixed_radix::block_fft::COMPLEX;
use crate::fft::mixed_radix::bluestein::{chirp, filter};
use crate::fft::planner::plan_radices;
use crate::job::{Job, ROOM_BESIDE};
use cp2_asm::Program;
use cp2_machine::{Class, Cycles, Machine};
use num_complex::{Complex32, Complex64};
use std::sync::Arc;

/// A planned transform of any length N by convolutions of length M >= 2 N - 1
/// that need not fit local memory: products with the chirp, a transform, products with
/// the filter, the transform back, products with the chirp.
#[derive(Debug)]
pub struct LongBluestein {
    n: usize,
    direction: TransformDirection,
    /// Transforms of length M, in the direction and the inverse of it.
    inner: [Arc<dyn Fft>; 2],
}

/// Lengths of convolutions that are tried, in eighths of the next power of two.
const TRIED_LENGTH_EIGHTHS: [usize; 3] = [8, 6, 5];

impl LongBluestein {
    /// Plans the transform of length `n` with the smallest expected time for a batch: by a convolution of a
    /// power of two, or of a shorter length, 3/4 or 5/8 of that.
    ///
    /// # Errors
    /// The machine has no transforms of at least 2 `n` - 1 numbers.
    pub fn new(
        n: usize,
        direction: TransformDirection,
        machine: &Arc<Machine>,
        batch: usize,
    ) -> Result<Self, FftError> {
        let refused = FftError::Length { n };
        let next = n.checked_mul(2).and_then(|m| m.checked_next_power_of_two());
        let (Some(next), true) = (next, n > 0) else {
            return Err(refused);
        };
        NoDivision::deal(n, machine)?;
        let lengths = TRIED_LENGTH_EIGHTHS.map(|eighths| next / 8 * eighths);
        let mut best: Option<(Cycles, Self)> = None;
        let mut refused = refused;
        for m in lengths.into_iter().filter(|&m| m + 1 >= 2 * n) {
            match Self::plan_convolution(m, n, direction, machine, batch) {
                Ok((cycles, fft)) if best.as_ref().is_none_or(|(least, _)| cycles < *least) => {
                    best = Some((cycles, fft));
                }
                Ok(_) => {}
                Err(e) if e.is_refusal() || matches!(e, FftError::Unfit(_)) => {
                    refused = refused.choose_more_specific(e);
                }
                Err(e) => return Err(e),
            }
        }
        best.map(|(_, fft)| fft).ok_or(refused)
    }

    /// Plans the transform by a convolution of length `m`, and prices a batch.
    fn plan_convolution(
        m: usize,
        n: usize,
        direction: TransformDirection,
        machine: &Arc<Machine>,
        batch: usize,
    ) -> Result<(Cycles, Self), FftError> {
        let inner = |direction| plan_radices(m, direction, machine, batch);
        let fft = Self {
            n,
            direction,
            inner: [inner(direction)?, inner(direction.reverse())?],
        };
        // Slices of a batch of one row are the longest; these must divide the row, so that products do not
        // reach into the next.
        if fft.products(1)?[1].reach() != m {
            return Err(FftError::NoRoom {
                transform: fft.recipe(),
                machine: machine.name.clone(),
            });
        }
        let most = fft.max_batch().min(batch).max(1);
        Ok((fft.estimate(most)?, fft))
    }

    /// Returns the length of the convolution.
    #[must_use]
    pub fn convolution(&self) -> usize {
        self.inner[0].len()
    }

    /// Plans the passes of products with the chirp, and with the filter.
    fn products(&self, batch: usize) -> Result<[Elementwise; 2], FftError> {
        let product = |direction, length| {
            let machine = self.machine();
            Elementwise::new(
                ElementOperation::Product(direction),
                (batch, length),
                machine,
            )
        };
        Ok([
            product(self.direction, self.n)?,
            product(self.direction, self.convolution())?,
        ])
    }

    /// Plans the pass that writes zeros behind the products with the chirp, where these do not reach the end
    /// of a row.
    fn zeros(&self, ends: &Elementwise) -> Result<Option<Elementwise>, FftError> {
        let length = self.convolution().saturating_sub(ends.reach());
        if length == 0 {
            return Ok(None);
        }
        Elementwise::new(
            ElementOperation::Zero,
            (ends.rows(), length),
            self.machine(),
        )
        .map(Some)
    }
}

/// Greatest bytes of the programs of all passes with their tables: at most seven programs, whose tables fit a
/// section beside data.
const MAX_PROGRAM_BYTES: u64 = 7 * 24_576;

/// Converts numbers to single precision, and fills them up with zeros to `len`.
fn narrow(all: &[Complex64], len: usize) -> Vec<Complex32> {
    let mut all: Vec<Complex32> = all
        .iter()
        .map(|z| Complex32::new(z.re as f32, z.im as f32))
        .collect();
    all.resize(len.max(all.len()), Complex32::default());
    all
}

impl Fft for LongBluestein {
    fn len(&self) -> usize {
        self.n
    }

    fn direction(&self) -> TransformDirection {
        self.direction
    }

    fn recipe(&self) -> String {
        let (n, direction) = (self.n, self.direction);
        format!(
            "fft {n} {direction}: bluestein by {}",
            self.inner[0].recipe()
        )
    }

    fn machine(&self) -> &Arc<Machine> {
        self.inner[0].machine()
    }

    /// Returns none: every pass has a program of its own.
    fn program(&self, _batch: usize) -> Result<Option<Arc<Program>>, FftError> {
        Ok(None)
    }

    fn source(&self, file: &str) -> Option<String> {
        self.inner[0].source(file)
    }

    /// Counts input, output, both arrays of the convolution, and the intermediate arrays of its transforms.
    fn max_batch(&self) -> usize {
        let m = self.convolution() as u64 * COMPLEX;
        // Memory for chirp, filter, the factors of long transforms, and programs.
        let beside = 6 * m + MAX_PROGRAM_BYTES + ROOM_BESIDE;
        let free = self.machine().host.memory.0.saturating_sub(beside);
        // Groups may be filled up with as many rows again.
        usize::try_from(free / (7 * m)).unwrap_or(usize::MAX)
    }

    fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        let Ok(products) = self.products(batch) else {
            return Vec::new();
        };
        let rows = products[0].rows();
        let Ok(zeros) = self.zeros(&products[0]) else {
            return Vec::new();
        };
        let zeros = zeros.iter().map(Elementwise::operations).collect();
        let [ends, middle] = products.map(|pass| vec![pass.operations()]);
        let [there, back] = self.inner.each_ref().map(|fft| fft.operations(rows));
        [zeros, ends.clone(), there, middle, back, ends].concat()
    }

    fn arrays(&self, batch: usize) -> Result<[usize; 2], FftError> {
        let [ends, _] = self.products(batch)?;
        Ok([ends.rows(), ends.reach()])
    }

    fn append(&self, job: &mut Job, batch: usize, from: u64, to: u64) -> Result<(), FftError> {
        let [ends, middle] = self.products(batch)?;
        let (rows, m) = (ends.rows(), self.convolution());
        let (outer, inner) = ((ends.reach() as u64) * COMPLEX, m as u64 * COMPLEX);
        let factors = job.table(&narrow(&chirp(self.n), ends.reach()))?.address();
        let filter = job.table(&narrow(&filter(self.n, m), m))?.address();
        let zeros = self.zeros(&ends)?;
        // Transforms may round the rows up further, and zeros may go beyond the last row.
        let mut held = rows;
        for fft in &self.inner {
            held = held.max(fft.arrays(rows)?[0]);
        }
        let numbers = held * m;
        let filled = zeros.as_ref().map_or(numbers, |zeros| {
            numbers.max(zeros.rows().max(rows) * m + zeros.reach())
        });
        let a = job.temporary::<Complex32>(filled as u64)?.address();
        let b = job.temporary::<Complex32>(numbers as u64)?.address();
        let place = |address, pitch| StridedRows { address, pitch };
        let [there, back] = &self.inner;
        if let Some(zeros) = zeros {
            // Slices of zeros may reach into the next row, whose numbers are written later.
            let granule = job.table(&[Complex32::default(); 2])?.address();
            zeros.append(job, [place(granule, 0), place(a + outer, inner)], 0)?;
        }
        ends.append(job, [place(from, outer), place(a, inner)], factors)?;
        there.append(job, rows, a, b)?;
        middle.append(job, [place(b, inner); 2], filter)?;
        back.append(job, rows, b, a)?;
        ends.append(job, [place(a, inner), place(to, outer)], factors)
    }

    fn estimate(&self, batch: usize) -> Result<Cycles, FftError> {
        let products = self.products(batch)?;
        let [ends, middle] = products.each_ref().map(|p| p.estimate(self.machine()));
        let rows = products[0].rows();
        let zeros = self.zeros(&products[0])?;
        let zeros = zeros.map_or(0.0, |pass| pass.estimate(self.machine()));
        let inner = self.inner[0].estimate(rows)?.0 + self.inner[1].estimate(rows)?.0;
        Ok(Cycles(inner + (zeros + 2.0 * ends + middle).ceil() as u64))
    }
}
