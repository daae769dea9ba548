//! Bluestein's algorithm by long transforms: passes over system memory.

use super::elements::{Element, Elementwise};
use super::slices::Place;
use crate::fft::Direction;
use crate::fft::error::FftError;
use crate::fft::mixed::bluestein::{chirp, filter};
use crate::fft::mixed::plan::COMPLEX;
use crate::fft::mixed::radix::{factors_of, least_issues};
use crate::fft::planner::power_of_two;
use crate::fft::transform::Fft;
use crate::job::{Job, Least};
use cp2_asm::Program;
use cp2_machine::{Class, Cycles, Machine};
use num_complex::{Complex32, Complex64};
use std::sync::Arc;

/// A planned transform of any length N by convolutions of a power of two M >= 2 N - 1
/// that need not fit local memory: products with the chirp, a transform, products with
/// the filter, the transform back, products with the chirp.
#[derive(Debug)]
pub struct LongBluestein {
    n: usize,
    direction: Direction,
    /// The transforms of length M in the direction and back.
    inner: [Arc<dyn Fft>; 2],
}

impl LongBluestein {
    /// The transform of length `n`.
    ///
    /// # Errors
    /// The machine has no transforms of a power of two of at least 2 `n` - 1 numbers.
    pub fn new(n: usize, direction: Direction, machine: &Arc<Machine>) -> Result<Self, FftError> {
        let refused = FftError::Length { n };
        let least = n.checked_mul(2).and_then(|m| m.checked_next_power_of_two());
        let (Some(m), true) = (least, n > 0) else {
            return Err(refused);
        };
        let inner = |direction| power_of_two(m, direction, machine);
        Ok(Self {
            n,
            direction,
            inner: [inner(direction)?, inner(direction.opposite())?],
        })
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
            Elementwise::new(Element::Product(direction), (batch, length), machine)
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
        Elementwise::new(Element::Zero, (ends.rows(), length), self.machine()).map(Some)
    }

    /// Products of one transform: with the chirp, with the filter, with the chirp.
    fn multiplications(&self) -> [usize; 3] {
        [self.n, self.convolution(), self.n]
    }
}

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

    fn direction(&self) -> Direction {
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
        // Chirp, filter, and the factors of the rows of long transforms.
        let free = self
            .machine()
            .host
            .memory
            .0
            .saturating_sub(6 * m + (1 << 20));
        // As many rows again may fill up groups.
        usize::try_from(free / (7 * m)).unwrap_or(usize::MAX)
    }

    /// Two transforms of length M, into which products with the chirp and the filter could be put;
    /// of a length that the radices of passes do with fewer issues, those, and every number twice
    /// over the DMA channel.
    fn least(&self, batch: usize) -> Least {
        let inner = self.inner[0].least(batch);
        let products: usize = self.multiplications().iter().sum();
        if let Some(radices) = factors_of(self.n) {
            return Least {
                issues: batch as u128 * u128::from(least_issues(&radices)),
                bytes: batch as u128 * 2 * self.n as u128 * u128::from(COMPLEX),
                ..Least::default()
            };
        }
        Least {
            butterflies: 2 * inner.butterflies,
            issues: 2 * inner.issues + batch as u128 * products as u128,
            bytes: 2 * inner.bytes,
        }
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
        let factors = job.input(&narrow(&chirp(self.n), ends.reach()))?.address();
        let filter = job.input(&narrow(&filter(self.n, m), m))?.address();
        let zeros = self.zeros(&ends)?;
        // Zeros may go beyond the last row.
        let filled = zeros
            .as_ref()
            .map_or(rows * m, |zeros| zeros.rows().max(rows) * m + zeros.reach());
        let a = job.temporary::<Complex32>(filled as u64)?.address();
        let b = job.temporary::<Complex32>((rows * m) as u64)?.address();
        let place = |address, pitch| Place { address, pitch };
        let [there, back] = &self.inner;
        if let Some(zeros) = zeros {
            // Slices may reach into the next row, whose numbers come later.
            let granule = job.input(&[Complex32::default(); 2])?.address();
            zeros.append(job, [place(granule, 0), place(a + outer, inner)], 0)?;
        }
        ends.append(job, [place(from, outer), place(a, inner)], factors)?;
        there.append(job, rows, a, b)?;
        middle.append(job, [place(b, inner); 2], filter)?;
        back.append(job, rows, b, a)?;
        ends.append(job, [place(a, inner), place(to, outer)], factors)
    }

    fn expected(&self, batch: usize) -> Result<Cycles, FftError> {
        let products = self.products(batch)?;
        let [ends, middle] = products.each_ref().map(|p| p.expected(self.machine()));
        let rows = products[0].rows();
        let zeros = self.zeros(&products[0])?;
        let zeros = zeros.map_or(0.0, |pass| pass.expected(self.machine()));
        let inner = self.inner[0].expected(rows)?.0 + self.inner[1].expected(rows)?.0;
        Ok(Cycles(inner + (zeros + 2.0 * ends + middle).ceil() as u64))
    }
}
