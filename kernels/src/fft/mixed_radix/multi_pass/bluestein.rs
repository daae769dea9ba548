//! Bluestein's algorithm by long transforms: passes over system memory.

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
    /// The transforms of length M in the direction and back.
    inner: [Arc<dyn Fft>; 2],
}

/// Lengths of convolutions, in eighths of the next power of two.
const LENGTHS: [usize; 3] = [8, 6, 5];

impl LongBluestein {
    /// The transform of length `n` that should be the fastest for a batch: by a power of two, or a shorter length
    /// with another factor.
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
        let lengths = LENGTHS.map(|eighths| next / 8 * eighths);
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

    /// The same by a convolution of length `m`, and what a batch should take.
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
        // Slices of one row are the longest; products reach into no other row.
        if fft.products(1)?[1].reach() != m {
            return Err(FftError::NoRoom {
                transform: fft.recipe(),
                machine: machine.name.clone(),
            });
        }
        let most = fft.max_batch().min(batch).max(1);
        Ok((fft.estimate(most)?, fft))
    }

    /// Length of the convolution.
    #[must_use]
    pub fn convolution(&self) -> usize {
        self.inner[0].len()
    }

    /// The products with the chirp, with the filter.
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

    /// Zeros behind the products with the chirp, where these do not reach the end of a row.
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

/// Bytes of the programs of all passes, their tables included: there are seven at most, each with tables that fit
/// a section beside data.
const PROGRAMS: u64 = 7 * 24_576;

/// Numbers in single precision, filled up with zeros.
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

    /// None: every pass has its own.
    fn program(&self, _batch: usize) -> Result<Option<Arc<Program>>, FftError> {
        Ok(None)
    }

    fn source(&self, file: &str) -> Option<String> {
        self.inner[0].source(file)
    }

    /// Input, output, both arrays of the convolution, and what its transforms take.
    fn max_batch(&self) -> usize {
        let m = self.convolution() as u64 * COMPLEX;
        // Chirp, filter, and the factors of long transforms; programs.
        let beside = 6 * m + PROGRAMS + ROOM_BESIDE;
        let free = self.machine().host.memory.0.saturating_sub(beside);
        // As many rows again may fill up groups.
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
        // Transforms may take more rows at a time, and zeros may go beyond the last row.
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
            // Slices may reach into the next row, whose numbers come later.
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
