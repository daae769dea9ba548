//! Transforms of real numbers around any complex transform.

use super::half::{Half, LEAST};
use super::slices::Place;
use crate::fft::Direction;
use crate::fft::definition::hermitian;
use crate::fft::error::FftError;
use crate::fft::mixed::plan::COMPLEX;
use crate::fft::mixed::real_way::Made;
use crate::fft::transform::{Fft, place};
use crate::job::Job;
use cp2_host::Options;
use cp2_machine::{Class, Cycles, Machine};
use num_complex::Complex32;
use std::fmt;
use std::sync::Arc;

/// Real numbers in a complex one.
const PARTS: usize = 2;
/// Numbers of a DMA granule.
const GRANULE: usize = 2;

/// A transform of N real numbers by passes over system memory.
#[derive(Clone, Debug)]
pub(in crate::fft) enum LongReal {
    /// By that of N/2 complex numbers, which are the real ones as they lie.
    Halves(Arc<dyn Fft>),
    /// By that of N complex numbers, which lie in memory as such: their imaginary parts are 0; back,
    /// whole spectra, of whose transforms the real parts are the result.
    Whole(Arc<dyn Fft>),
}

impl fmt::Display for LongReal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (n, direction) = (self.len(), self.direction());
        write!(f, "real fft {n} {direction}: ")?;
        match (self, direction) {
            (Self::Halves(inner), Direction::Forward) => {
                write!(f, "{}, then split", inner.recipe())
            }
            (Self::Halves(inner), Direction::Inverse) => write!(f, "join, then {}", inner.recipe()),
            (Self::Whole(inner), _) => write!(f, "{} of complex numbers", inner.recipe()),
        }
    }
}

impl LongReal {
    /// Whether there is a pass that separates or joins beside a transform of `m` numbers.
    pub(in crate::fft) fn has_halves(m: usize) -> bool {
        m >= LEAST && m.is_multiple_of(2)
    }

    fn inner(&self) -> &Arc<dyn Fft> {
        match self {
            Self::Halves(inner) | Self::Whole(inner) => inner,
        }
    }

    /// Real numbers of a transform.
    pub(in crate::fft) fn len(&self) -> usize {
        match self {
            Self::Halves(inner) => 2 * inner.len(),
            Self::Whole(inner) => inner.len(),
        }
    }

    pub(in crate::fft) fn direction(&self) -> Direction {
        self.inner().direction()
    }

    pub(in crate::fft) fn machine(&self) -> &Arc<Machine> {
        self.inner().machine()
    }

    pub(in crate::fft) fn source(&self, file: &str) -> Option<String> {
        self.inner().source(file)
    }

    /// What the complex transform takes, and as much again for the arrays around it.
    pub(in crate::fft) fn max_batch(&self) -> usize {
        match self {
            Self::Halves(inner) => inner.max_batch() / 2,
            Self::Whole(inner) => inner.max_batch(),
        }
    }

    /// See [`Fft::operations`].
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
            Direction::Forward => [inner, half].concat(),
            Direction::Inverse => [half, inner].concat(),
        }
    }

    /// Numbers from a row of half spectra to the next in system memory: whole
    /// granules, and one behind the end.
    fn spectrum_pitch(&self) -> usize {
        (self.len() / 2 + 1).next_multiple_of(GRANULE)
    }

    /// The pass that separates or joins, beside the transform of half the length.
    fn half(&self, batch: usize) -> Result<Half, FftError> {
        let inner = self.inner();
        let [rows, _] = inner.arrays(batch)?;
        Half::new(inner.direction(), (rows, inner.len()), inner.machine())
    }

    /// The job that transforms real numbers, and where the half spectra will be.
    pub(in crate::fft) fn forward(
        &self,
        input: &[f32],
        batch: usize,
        options: Options,
    ) -> Result<Made<Complex32>, FftError> {
        self.expect_direction(Direction::Forward)?;
        let inner = self.inner();
        let [rows, pitch] = inner.arrays(batch)?;
        let mut job = Job::new(self.machine().clone(), options);
        if let Self::Whole(_) = self {
            let wide: Vec<Complex32> = input.iter().map(|&x| x.into()).collect();
            let x = place(&mut job, &wide, self.len(), [rows, pitch])?;
            let y = job.output("y", &[rows as u64, pitch as u64])?;
            inner.append(&mut job, batch, x.address(), y.address())?;
            return Ok(Made::rows((job, y, pitch)));
        }
        let half = self.half(batch)?;
        let (row, out) = (pitch as u64 * COMPLEX, self.spectrum_pitch());
        let x = place(&mut job, input, self.len(), [rows, PARTS * pitch])?;
        let z = job.temporary::<Complex32>((rows * pitch + GRANULE) as u64)?;
        let y = job.output("y", &[rows as u64, out as u64])?;
        inner.append(&mut job, batch, x.address(), z.address())?;
        let places = [(z.address(), row), (y.address(), out as u64 * COMPLEX)];
        half.append(&mut job, places.map(Place::from))?;
        Ok(Made::rows((job, y, out)))
    }

    /// The job that transforms half spectra, and where the real numbers will be.
    pub(in crate::fft) fn inverse(
        &self,
        input: &[Complex32],
        batch: usize,
        options: Options,
    ) -> Result<Made<f32>, FftError> {
        self.expect_direction(Direction::Inverse)?;
        let inner = self.inner();
        let [rows, pitch] = inner.arrays(batch)?;
        let mut job = Job::new(self.machine().clone(), options);
        if let Self::Whole(_) = self {
            let whole = hermitian(input, self.len());
            let x = place(&mut job, &whole, self.len(), [rows, pitch])?;
            let output = job.output("y", &[rows as u64, pitch as u64, PARTS as u64])?;
            inner.append(&mut job, batch, x.address(), output.address())?;
            return Ok(Made {
                job,
                output,
                pitch: PARTS * pitch,
                step: PARTS,
            });
        }
        let half = self.half(batch)?;
        let (row, from) = (pitch as u64 * COMPLEX, self.spectrum_pitch());
        let x = place(&mut job, input, self.len() / 2 + 1, [rows, from])?;
        let z = job.temporary::<Complex32>((rows * pitch) as u64)?;
        let y = job.output("y", &[rows as u64, (PARTS * pitch) as u64])?;
        let places = [(x.address(), from as u64 * COMPLEX), (z.address(), row)];
        half.append(&mut job, places.map(Place::from))?;
        inner.append(&mut job, batch, z.address(), y.address())?;
        Ok(Made::rows((job, y, PARTS * pitch)))
    }

    fn expect_direction(&self, direction: Direction) -> Result<(), FftError> {
        let same = self.direction() == direction;
        same.then_some(()).ok_or_else(|| FftError::OtherProblem {
            plan: self.to_string(),
        })
    }

    /// Expected cycles of a batch.
    pub(in crate::fft) fn expected(&self, batch: usize) -> Result<Cycles, FftError> {
        let inner = self.inner().expected(batch)?;
        let Self::Halves(_) = self else {
            return Ok(inner);
        };
        let half = self.half(batch)?.expected(self.machine());
        Ok(Cycles(inner.0 + half.ceil() as u64))
    }
}

impl From<(u64, u64)> for Place {
    fn from((address, pitch): (u64, u64)) -> Self {
        Self { address, pitch }
    }
}
