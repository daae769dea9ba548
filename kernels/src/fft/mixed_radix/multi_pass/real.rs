//! Transforms of real numbers around any complex transform.

use super::real_split_merge::{MIN_COMPLEX_LENGTH, RealSplitMergePass};
use super::slices::StridedRows;
use crate::fft::TransformDirection;
use crate::fft::error::FftError;
use crate::fft::fft_trait::Fft;
use crate::fft::mixed_radix::block_fft::COMPLEX;
use crate::job::{Job, relayout_cycles};
use cp2_host::paging::QUAD;
use cp2_machine::{Class, Cycles, Machine};
use num_complex::Complex32;
use std::fmt;
use std::sync::Arc;

/// Complex numbers of a quad.
const COUPLE: usize = (QUAD / COMPLEX) as usize;

/// A transform of N real numbers by passes over system memory.
#[derive(Clone, Debug)]
pub(in crate::fft) enum LongReal {
    /// By the transform of N/2 complex numbers, which are the real ones as they lie, and a split or merge
    /// pass.
    Halves(Arc<dyn Fft>),
    /// By the transform of N complex numbers in system memory. Forward, their imaginary parts are 0; inverse,
    /// they are whole spectra, and the result is the real parts.
    Whole(Arc<dyn Fft>),
}

impl fmt::Display for LongReal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, direction) = (self.len(), self.direction());
        write!(f, "real fft {n} {direction}: ")?;
        match (self, direction) {
            (Self::Halves(inner), TransformDirection::Forward) => {
                write!(f, "{}, then split", inner.recipe())
            }
            (Self::Halves(inner), TransformDirection::Inverse) => {
                write!(f, "join, then {}", inner.recipe())
            }
            (Self::Whole(inner), _) => write!(f, "{} of complex numbers", inner.recipe()),
        }
    }
}

impl LongReal {
    /// True if there is a pass that splits or merges for a transform of `m` complex numbers.
    pub(in crate::fft) fn has_halves(m: usize) -> bool {
        m >= MIN_COMPLEX_LENGTH && m.is_multiple_of(2)
    }

    fn inner(&self) -> &Arc<dyn Fft> {
        match self {
            Self::Halves(inner) | Self::Whole(inner) => inner,
        }
    }

    /// Returns the real numbers of a transform.
    pub(in crate::fft) fn len(&self) -> usize {
        match self {
            Self::Halves(inner) => 2 * inner.len(),
            Self::Whole(inner) => inner.len(),
        }
    }

    pub(in crate::fft) fn direction(&self) -> TransformDirection {
        self.inner().direction()
    }

    pub(in crate::fft) fn machine(&self) -> &Arc<Machine> {
        self.inner().machine()
    }

    pub(in crate::fft) fn source(&self, file: &str) -> Option<String> {
        self.inner().source(file)
    }

    /// Returns the largest batch: that of the complex transform, halved where the arrays around it take as
    /// much memory again.
    pub(in crate::fft) fn max_batch(&self) -> usize {
        match self {
            Self::Halves(inner) => inner.max_batch() / 2,
            Self::Whole(inner) => inner.max_batch(),
        }
    }

    /// Returns the least arithmetic of each pass, see [`Fft::operations`].
    pub(in crate::fft) fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        let inner = self.inner().operations(batch);
        let Self::Halves(_) = self else {
            return inner;
        };
        let Ok(half) = self.half(batch) else {
            return Vec::new();
        };
        let half = vec![half.operations()];
        match self.direction() {
            TransformDirection::Forward => [inner, half].concat(),
            TransformDirection::Inverse => [half, inner].concat(),
        }
    }

    /// Returns the numbers from a half spectrum to the next in system memory: N/2 + 1, rounded up to whole
    /// granules.
    fn spectrum_pitch(&self) -> usize {
        (self.len() / 2 + 1).next_multiple_of(COUPLE)
    }

    /// Plans the pass that splits or merges, for the transform of half the length.
    fn half(&self, batch: usize) -> Result<RealSplitMergePass, FftError> {
        let inner = self.inner();
        let [rows, _] = inner.arrays(batch)?;
        RealSplitMergePass::new(inner.direction(), (rows, inner.len()), inner.machine())
    }

    /// Returns the complex transform of N numbers, for which real numbers or half spectra are converted
    /// first, if that is the plan.
    pub(in crate::fft) fn full_complex_transform(&self) -> Option<&Arc<dyn Fft>> {
        match self {
            Self::Whole(inner) => Some(inner),
            Self::Halves(_) => None,
        }
    }

    /// Returns the rows of a batch, filled up; the pitch of rows of real numbers, in complex numbers of two
    /// each; and the pitch of half spectra.
    pub(in crate::fft) fn arrays(&self, batch: usize) -> Result<(usize, [usize; 2]), FftError> {
        let [rows, pitch] = self.inner().arrays(batch)?;
        Ok((rows, [pitch, self.spectrum_pitch()]))
    }

    /// Adds the transform of half the length and the split or merge over a batch, from one address to
    /// another, to a job.
    pub(in crate::fft) fn append(
        &self,
        job: &mut Job,
        batch: usize,
        [from, to]: [u64; 2],
    ) -> Result<(), FftError> {
        let (rows, [pitch, spectrum]) = self.arrays(batch)?;
        let half = self.half(batch)?;
        let (row, spectrum) = (pitch as u64 * COMPLEX, spectrum as u64 * COMPLEX);
        let z = job.temporary::<Complex32>((rows * pitch + COUPLE) as u64)?;
        let z = z.address();
        match self.direction() {
            TransformDirection::Forward => {
                self.inner().append(job, batch, from, z)?;
                half.append(job, [(z, row), (to, spectrum)].map(StridedRows::from))
            }
            TransformDirection::Inverse => {
                half.append(job, [(from, spectrum), (z, row)].map(StridedRows::from))?;
                self.inner().append(job, batch, z, to)
            }
        }
    }

    /// Estimates the cycles of a batch.
    pub(in crate::fft) fn estimate(&self, batch: usize) -> Result<Cycles, FftError> {
        let inner = self.inner().estimate(batch)?;
        if let Self::Whole(_) = self {
            // Real numbers are widened or spectra completed before, and results extracted after.
            let moved = batch as u64 * self.len() as u64 * COMPLEX * 3 / 2;
            let around = 2.0 * relayout_cycles(moved, self.machine());
            return Ok(Cycles(inner.0 + around.ceil() as u64));
        }
        let half = self.half(batch)?.estimate(self.machine());
        Ok(Cycles(inner.0 + half.ceil() as u64))
    }
}

impl From<(u64, u64)> for StridedRows {
    fn from((address, pitch): (u64, u64)) -> Self {
        Self { address, pitch }
    }
}
