//! The plans of a batch of real FFTs, of which a planner takes one.

use super::block_kernels::BlockKernels;
use super::multi_pass::LongReal;
use super::real_recipe::RealRecipe;
use crate::fft::error::FftError;
use crate::fft::fft_trait::price_or_estimate;
use crate::fft::four_step::FourStepReal;
use crate::fft::mixed_radix::block_fft::COMPLEX;
use crate::fft::planner::TYPICAL_BATCH;
use crate::fft::ring4096_real::Ring4096RealFft;
use crate::fft::{Fft, TransformDirection};
use crate::job::{Job, KernelInput, relayout_expected, rows};
use crate::relayout::SourceOfWord;
use cp2_asm::Program;
use cp2_host::{Buffer, DeviceOptions, SourceError, ValueSource, ViewRows};
use cp2_machine::{Class, Cycles, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// A job that transforms real numbers, and the buffer of its output.
pub(in crate::fft) type RealFftJob<O> = (Job, Buffer<O>);

/// 4-byte words of a complex number.
const COMPLEX_WORDS: u64 = 2;

/// Bytes of DMEM for each real number of a transform below which a transform by columns is considered. A
/// higher limit only prices more plans.
const BY_COLUMNS_BYTES_PER_NUMBER: u64 = 36;

/// A real transform in local memory, and the kernels of its blocks.
#[derive(Debug)]
pub(in crate::fft) struct LocalReal {
    recipe: RealRecipe,
    blocks: BlockKernels,
}

/// A plan to transform real numbers, forward or inverse.
#[derive(Debug)]
pub(in crate::fft) enum RealFftPlan {
    /// In local memory, through Stockham passes.
    Local(LocalReal),
    /// In local memory, 8192 real numbers in place in a ring.
    Ring(Box<Ring4096RealFft>),
    /// In two passes over system memory.
    Large(Box<FourStepReal>),
    /// Passes over system memory around a complex transform.
    Long(LongReal),
}

impl RealFftPlan {
    /// Plans the transforms in local memory: the halves of a quad are two transforms or, for long ones, also
    /// two columns.
    pub(in crate::fft) fn locals(
        n: usize,
        direction: TransformDirection,
        machine: &Arc<Machine>,
    ) -> Vec<Result<Self, FftError>> {
        let mut all = vec![Self::transforms(n, direction, machine)];
        // Two pages of two transforms each, in and out, and tables may not fit DMEM.
        if BY_COLUMNS_BYTES_PER_NUMBER.saturating_mul(n as u64) > machine.cp2.dmem.0 {
            all.push(Self::columns(n, direction, machine));
        }
        all
    }

    fn transforms(
        n: usize,
        direction: TransformDirection,
        machine: &Arc<Machine>,
    ) -> Result<Self, FftError> {
        let recipe = RealRecipe::new(n, direction, machine)?;
        let name = recipe.to_string();
        let (own, made_for) = (recipe.clone(), machine.clone());
        let make = move |pairs| own.kernel(pairs, &made_for);
        let blocks = BlockKernels::new(name, machine.clone(), recipe.bytes(), make)?;
        Ok(Self::Local(LocalReal { recipe, blocks }))
    }

    fn columns(
        n: usize,
        direction: TransformDirection,
        machine: &Arc<Machine>,
    ) -> Result<Self, FftError> {
        let mut best: Option<(Cycles, LocalReal)> = None;
        let mut refused = FftError::RealLength { n };
        for (recipe, made) in RealRecipe::columns(n, direction, machine)? {
            let blocks =
                BlockKernels::single(recipe.to_string(), machine.clone(), recipe.bytes(), made);
            let priced = blocks.and_then(|blocks| Ok((blocks.estimate(TYPICAL_BATCH)?, blocks)));
            match priced {
                Ok((cycles, blocks)) if best.as_ref().is_none_or(|(least, _)| cycles < *least) => {
                    best = Some((cycles, LocalReal { recipe, blocks }));
                }
                Ok(_) => {}
                Err(e) if e.is_refusal() => refused = e,
                // A local memory larger than the built-in machines' may hold rows that no address offset
                // reaches.
                Err(FftError::Unfit(_)) => {}
                Err(e) => return Err(e),
            }
        }
        best.map(|(_, local)| Self::Local(local)).ok_or(refused)
    }

    pub(in crate::fft) fn len(&self) -> usize {
        match self {
            Self::Local(LocalReal { recipe, .. }) => recipe.n,
            Self::Ring(real) => real.len(),
            Self::Large(real) => real.len(),
            Self::Long(real) => real.len(),
        }
    }

    pub(in crate::fft) fn recipe(&self) -> String {
        match self {
            Self::Local(LocalReal { recipe, .. }) => recipe.to_string(),
            Self::Ring(real) => real.recipe(),
            Self::Large(real) => real.recipe(),
            Self::Long(real) => real.to_string(),
        }
    }

    /// Describes the plan of a batch.
    pub(in crate::fft) fn recipe_for(&self, batch: usize) -> String {
        match self {
            Self::Large(real) => real.recipe_for(batch),
            _ => self.recipe(),
        }
    }

    pub(in crate::fft) fn machine(&self) -> &Arc<Machine> {
        match self {
            Self::Local(LocalReal { blocks, .. }) => blocks.machine(),
            Self::Ring(real) => real.machine(),
            Self::Large(real) => real.machine(),
            Self::Long(real) => real.machine(),
        }
    }

    pub(in crate::fft) fn program(&self, batch: usize) -> Result<Option<Arc<Program>>, FftError> {
        match self {
            Self::Local(LocalReal { blocks, .. }) => blocks.program(batch).map(Some),
            Self::Ring(real) => Ok(Some(real.program().clone())),
            Self::Large(real) => Ok(Some(real.program(batch).clone())),
            Self::Long(_) => Ok(None),
        }
    }

    pub(in crate::fft) fn source(&self, file: &str) -> Option<String> {
        match self {
            Self::Local(LocalReal { blocks, .. }) => blocks.source(file),
            Self::Ring(real) => real.source(file),
            Self::Large(real) => real.source(file),
            Self::Long(real) => real.source(file),
        }
    }

    pub(in crate::fft) fn max_batch(&self) -> usize {
        match self {
            Self::Local(LocalReal { blocks, .. }) => blocks.max_batch(),
            Self::Ring(real) => real.max_batch(),
            Self::Large(real) => real.max_batch(),
            Self::Long(real) => real.max_batch(),
        }
    }

    pub(in crate::fft) fn estimate(&self, batch: usize) -> Result<Cycles, FftError> {
        let kernels = match self {
            Self::Local(LocalReal { blocks, .. }) => blocks.estimate(batch)?,
            Self::Ring(real) => real.estimate(batch),
            Self::Large(real) => real.estimate(batch),
            Self::Long(real) => real.estimate(batch)?,
        };
        if self.full_complex_transform().is_some() {
            return Ok(kernels);
        }
        let own = self.user_row_strides(batch);
        let moved = own.into_iter().zip(self.rows(batch)?);
        let moved = moved.map(|(own, kernel)| relayout_expected(own, kernel, self.machine()));
        Ok(Cycles(kernels.0 + moved.sum::<f64>().ceil() as u64))
    }

    pub(in crate::fft) fn recipe_floor(&self, batch: usize) -> Option<(f64, &'static str)> {
        match self {
            Self::Large(real) => Some(real.recipe_floor(batch)),
            Self::Local(_) | Self::Ring(_) | Self::Long(_) => None,
        }
    }

    pub(in crate::fft) fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        match self {
            Self::Local(LocalReal { blocks, .. }) => vec![blocks.operations(batch)],
            Self::Ring(real) => real.operations(batch),
            Self::Large(real) => real.operations(batch),
            Self::Long(real) => real.operations(batch),
        }
    }

    /// Returns the complex transform for which real numbers or whole spectra are converted to complex rows,
    /// if that is the plan.
    fn full_complex_transform(&self) -> Option<&Arc<dyn Fft>> {
        match self {
            Self::Long(real) => real.full_complex_transform(),
            _ => None,
        }
    }

    /// Returns the user's rows: real numbers, and half spectra.
    fn user_row_strides(&self, batch: usize) -> [ViewRows; 2] {
        let n = self.len();
        let real = ViewRows::contiguous(batch as u64, 4 * n as u64);
        let spectra = ViewRows::contiguous(batch as u64, COMPLEX * (n / 2 + 1) as u64);
        [real, spectra]
    }

    /// Returns the rows of real numbers and of half spectra as the kernels need them.
    fn rows(&self, batch: usize) -> Result<[ViewRows; 2], FftError> {
        let n = self.len();
        // Rows of N real numbers have N/2 complex ones, so that `LongReal` gives pitches in complex numbers.
        let (filled, [real, spectrum]) = match self {
            Self::Local(LocalReal { recipe, blocks }) => (
                blocks.padded(batch)?,
                [4 * n as u64, COMPLEX * recipe.spectrum() as u64],
            ),
            Self::Ring(real) => (batch, [4 * n as u64, COMPLEX * real.pitch() as u64]),
            Self::Large(real) => (batch, [4 * n as u64, COMPLEX * real.pitch(batch) as u64]),
            Self::Long(real) => {
                let (filled, pitches) = real.arrays(batch)?;
                (filled, pitches.map(|numbers| COMPLEX * numbers as u64))
            }
        };
        let [own, spectra] = self.user_row_strides(batch);
        Ok([
            rows(batch, own.bytes, (filled, real)),
            rows(batch, spectra.bytes, (filled, spectrum)),
        ])
    }

    /// Adds the passes over a batch, from one address in system memory to another, to a job.
    fn append(&self, job: &mut Job, batch: usize, places: [u64; 2]) -> Result<(), FftError> {
        match self {
            Self::Local(LocalReal { blocks, .. }) => {
                blocks.append(job, batch, (places[0], places[1]))
            }
            Self::Ring(real) => real.append(job, batch, places),
            Self::Large(real) => real.append(job, batch, places),
            Self::Long(real) => real.append(job, batch, places),
        }
    }

    pub(in crate::fft) fn forward(
        &self,
        input: &mut dyn ValueSource<f32>,
        batch: usize,
        options: DeviceOptions,
    ) -> Result<RealFftJob<Complex32>, FftError> {
        let mut job = Job::new(self.machine().clone(), options);
        let x = job.input_of("x", input, &[batch, self.len()].map(|d| d as u64))?;
        let y = self.append_forward(&mut job, x.into(), batch)?;
        Ok((job, y))
    }

    /// Adds the forward transforms to a job.
    pub(in crate::fft) fn append_forward(
        &self,
        job: &mut Job,
        input: KernelInput<'_, f32>,
        batch: usize,
    ) -> Result<Buffer<Complex32>, FftError> {
        let n = self.len();
        let shape = [batch, n].map(|d| d as u64);
        let spectra = [batch, n / 2 + 1].map(|d| d as u64);
        let (x, y) = (("x", input, &shape[..]), ("y", &spectra[..]));
        let stored = if let Some(inner) = self.full_complex_transform() {
            let [filled, pitch] = inner.arrays(batch)?.map(|numbers| numbers as u64);
            let (wide, own) = (COMPLEX_WORDS * pitch, n as u64);
            let bytes = filled * pitch * COMPLEX;
            let word = |at: u64| match (at / COMPLEX_WORDS < own, at % COMPLEX_WORDS) {
                (true, 0) => SourceOfWord::Of(0, at / COMPLEX_WORDS),
                _ => SourceOfWord::Zero,
            };
            let words = batch as u64 * wide;
            let from = job.words_in(x, bytes, (words, own, wide), &word)?;
            // Imaginary parts that are 0 by definition are set to 0: the complex transform leaves rounding
            // errors in them.
            let row = COMPLEX_WORDS * spectra[1];
            let word = |at: u64| match is_end(at, n) {
                true => SourceOfWord::Zero,
                false => SourceOfWord::Of(0, at),
            };
            let words = batch as u64 * row;
            let stored = job.words_out(y, bytes, (words, wide, row), &word)?;
            inner.append(job, batch, from, stored.address)?;
            stored
        } else {
            let ([own, own_spectra], [real, spectra]) =
                (self.user_row_strides(batch), self.rows(batch)?);
            let from = job.rows_in(x, own, real)?;
            let stored = job.rows_out(y, own_spectra, spectra)?;
            self.append(job, batch, [from, stored.address])?;
            stored
        };
        Ok(job.deliver(stored)?)
    }

    pub(in crate::fft) fn inverse(
        &self,
        input: &mut dyn ValueSource<Complex32>,
        batch: usize,
        options: DeviceOptions,
    ) -> Result<RealFftJob<f32>, FftError> {
        let n = self.len();
        let mut input = HermitianSource {
            spectra: input,
            n,
            at: 0,
        };
        let mut job = Job::new(self.machine().clone(), options);
        let shape = [batch, n / 2 + 1].map(|d| d as u64);
        let x = job.input_of("x", &mut input, &shape)?;
        let y = self.append_inverse(&mut job, x, batch)?;
        Ok((job, y))
    }

    /// Adds the inverse transforms of spectra whose ends are real to a job.
    fn append_inverse(
        &self,
        job: &mut Job,
        x: Buffer<Complex32>,
        batch: usize,
    ) -> Result<Buffer<f32>, FftError> {
        let n = self.len();
        let shape = [batch, n / 2 + 1].map(|d| d as u64);
        let real = [batch, n].map(|d| d as u64);
        let (x, y) = (("x", x.into(), &shape[..]), ("y", &real[..]));
        let stored = if let Some(inner) = self.full_complex_transform() {
            let [filled, pitch] = inner.arrays(batch)?.map(|numbers| numbers as u64);
            let (wide, own) = (COMPLEX_WORDS * pitch, n as u64);
            let bytes = filled * pitch * COMPLEX;
            let word = |at: u64| match (at / COMPLEX_WORDS, at % COMPLEX_WORDS) {
                (k, _) if k >= own => SourceOfWord::Zero,
                _ if is_end(at, n) => SourceOfWord::Zero,
                (k, _) if k <= own / 2 => SourceOfWord::Of(0, at),
                (k, 0) => SourceOfWord::Of(0, COMPLEX_WORDS * (own - k)),
                (k, _) => SourceOfWord::Minus(0, COMPLEX_WORDS * (own - k) + 1),
            };
            let words = batch as u64 * wide;
            let row = COMPLEX_WORDS * shape[1];
            let from = job.words_in(x, bytes, (words, row, wide), &word)?;
            let word = |at: u64| SourceOfWord::Of(0, COMPLEX_WORDS * at);
            let words = batch as u64 * own;
            let stored = job.words_out(y, bytes, (words, wide, own), &word)?;
            inner.append(job, batch, from, stored.address)?;
            stored
        } else {
            let ([own, own_spectra], [real, spectra]) =
                (self.user_row_strides(batch), self.rows(batch)?);
            let from = job.rows_in(x, own_spectra, spectra)?;
            let stored = job.rows_out(y, own, real)?;
            self.append(job, batch, [from, stored.address])?;
            stored
        };
        Ok(job.deliver(stored)?)
    }

    /// Returns the cycles of a batch, forward or inverse: the price of its job.
    pub(in crate::fft) fn expected(&self, inverse: bool, batch: usize) -> Result<Cycles, FftError> {
        let mut job = Job::new(self.machine().clone(), DeviceOptions::default());
        let rows = |row: usize| batch.saturating_mul(row) as u64;
        if inverse {
            let x = job.temporary(rows(self.len() / 2 + 1))?;
            self.append_inverse(&mut job, x, batch)?;
        } else {
            let x = job.temporary::<f32>(rows(self.len()))?;
            self.append_forward(&mut job, x.into(), batch)?;
        }
        price_or_estimate(&job, || self.estimate(batch))
    }
}

/// True for the word of a spectrum of N real numbers that is an imaginary part and 0 by definition.
fn is_end(word: u64, n: usize) -> bool {
    word == 1 || (n.is_multiple_of(2) && word == n as u64 + 1)
}

/// A source of half spectra that sets the imaginary parts of numbers that are their own conjugates to 0.
struct HermitianSource<'a> {
    spectra: &'a mut dyn ValueSource<Complex32>,
    n: usize,
    /// Index of the next number in its row.
    at: usize,
}

impl ValueSource<Complex32> for HermitianSource<'_> {
    fn count(&self) -> u64 {
        self.spectra.count()
    }

    fn fill_values(&mut self, values: &mut [Complex32]) -> Result<(), SourceError> {
        self.spectra.fill_values(values)?;
        for z in values {
            if is_end(COMPLEX_WORDS * self.at as u64 + 1, self.n) {
                z.im = 0.0;
            }
            self.at = (self.at + 1) % (self.n / 2 + 1);
        }
        Ok(())
    }
}
