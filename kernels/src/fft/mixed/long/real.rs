//! Transforms of real numbers around any complex transform.

use super::elements::{Element, Elementwise};
use super::half::{Half, LEAST};
use super::slices::Place;
use crate::fft::Direction;
use crate::fft::error::FftError;
use crate::fft::mixed::plan::COMPLEX;
use crate::fft::transform::{Fft, place};
use crate::job::{Job, Least};
use cp2_host::{Buffer, Element as HostElement, Options};
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
    /// By that of N complex numbers, whose imaginary parts are 0; back, by that of
    /// the numbers of one half of the spectrum, doubled, whose real parts are the result.
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

/// A job in the making: its arrays, and numbers from a row to the next in input and output.
type Made<O> = (Job, Buffer<O>, usize);

impl LongReal {
    /// The transform around one of half the length, if there is such a thing.
    pub(in crate::fft) fn halves(inner: Arc<dyn Fft>) -> Option<Self> {
        let m = inner.len();
        (m >= LEAST && m % 2 == 0).then_some(Self::Halves(inner))
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
        self.inner().max_batch() / 2
    }

    /// The least of the transform: half of the complex one's arithmetic of twice the
    /// length, or that of half the length and two butterflies for two numbers of
    /// the spectrum; the bytes of half the length.
    pub(in crate::fft) fn least(&self, batch: usize) -> Least {
        let inner = self.inner().least(batch);
        let numbers = (batch * self.len()) as u128;
        match self {
            Self::Halves(_) => Least {
                issues: inner.issues + numbers / 2,
                ..inner
            },
            Self::Whole(_) => Least {
                butterflies: inner.butterflies / 2,
                issues: inner.issues / 2,
                bytes: inner.bytes / 2,
            },
        }
    }

    /// See [`Fft::operations`].
    pub(in crate::fft) fn operations(&self, batch: usize) -> Vec<Vec<(Class, u64)>> {
        let inner = self.inner().operations(batch);
        let Ok((around, _)) = self.around(batch) else {
            return Vec::new();
        };
        let (before, behind) = match (around, self.direction()) {
            (Around::Half(split), Direction::Forward) => (vec![], vec![split.operations()]),
            (Around::Half(join), Direction::Inverse) => (vec![join.operations()], vec![]),
            (Around::Widen(widen), _) => (vec![widen.operations()], vec![]),
            (Around::Narrow { double, narrow }, _) => {
                (vec![double.operations()], vec![narrow.operations()])
            }
        };
        [before, inner, behind].concat()
    }

    /// Numbers from a row of half spectra to the next in system memory: whole
    /// granules, and one behind the end.
    fn spectrum_pitch(&self) -> usize {
        (self.len() / 2 + 1).next_multiple_of(GRANULE)
    }

    /// The passes between real numbers and the transform, and the elements of its arrays.
    fn around(&self, batch: usize) -> Result<(Around, [usize; 2]), FftError> {
        let [rows, pitch] = self.inner().arrays(batch)?;
        let machine = self.machine();
        let all = (1, rows * pitch);
        let around = match (self, self.direction()) {
            (Self::Halves(inner), direction) => {
                Around::Half(Half::new(direction, (rows, inner.len()), machine)?)
            }
            (Self::Whole(_), Direction::Forward) => {
                Around::Widen(Elementwise::new(Element::Widen, all, machine)?)
            }
            (Self::Whole(_), Direction::Inverse) => {
                // A row need not be a whole number of granules, but all of them are taken as one.
                let product = Element::Product(Direction::Forward);
                Around::Narrow {
                    double: Elementwise::new(product, all, machine)?,
                    narrow: Elementwise::new(Element::Narrow, all, machine)?,
                }
            }
        };
        Ok((around, [rows, pitch]))
    }

    /// The job that transforms real numbers, and where the half spectra will be.
    pub(in crate::fft) fn forward(
        &self,
        input: &[f32],
        batch: usize,
        options: Options,
    ) -> Result<Made<Complex32>, FftError> {
        let (around, [rows, pitch]) = self.around(batch)?;
        let mut job = Job::new(self.machine().clone(), options);
        let row = pitch as u64 * COMPLEX;
        let inner = self.inner();
        match around {
            Around::Half(half) => {
                let x = place(&mut job, input, self.len(), [rows, PARTS * pitch])?;
                let z = job.temporary::<Complex32>((rows * pitch + GRANULE) as u64)?;
                let out = self.spectrum_pitch();
                let y = job.output("y", &[rows as u64, out as u64])?;
                inner.append(&mut job, batch, x.address(), z.address())?;
                let places = [(z.address(), row), (y.address(), out as u64 * COMPLEX)];
                half.append(&mut job, places.map(Place::from))?;
                Ok((job, y, out))
            }
            Around::Widen(widen) => {
                let filled = spread_to(input, self.len(), [rows, pitch], widen.reach());
                let x = job.input(&filled)?;
                let z = job.temporary::<Complex32>(widen.reach() as u64)?;
                let y = job.output("y", &[rows as u64, pitch as u64])?;
                widen.append(&mut job, [x.address(), z.address()].map(Place::single), 0)?;
                inner.append(&mut job, batch, z.address(), y.address())?;
                Ok((job, y, pitch))
            }
            Around::Narrow { .. } => Err(self.refused()),
        }
    }

    /// The job that transforms half spectra, and where the real numbers will be.
    pub(in crate::fft) fn inverse(
        &self,
        input: &[Complex32],
        batch: usize,
        options: Options,
    ) -> Result<Made<f32>, FftError> {
        let (around, [rows, pitch]) = self.around(batch)?;
        let mut job = Job::new(self.machine().clone(), options);
        let row = pitch as u64 * COMPLEX;
        let (inner, half_row) = (self.inner(), self.len() / 2 + 1);
        match around {
            Around::Half(half) => {
                let from = self.spectrum_pitch();
                let x = place(&mut job, input, half_row, [rows, from])?;
                let z = job.temporary::<Complex32>((rows * pitch) as u64)?;
                let y = job.output("y", &[rows as u64, (PARTS * pitch) as u64])?;
                let places = [(x.address(), from as u64 * COMPLEX), (z.address(), row)];
                half.append(&mut job, places.map(Place::from))?;
                inner.append(&mut job, batch, z.address(), y.address())?;
                Ok((job, y, PARTS * pitch))
            }
            Around::Narrow { double, narrow } => {
                let reach = double.reach();
                let x = job.input(&spread_to(input, half_row, [rows, pitch], reach))?;
                let doubled = job.temporary::<Complex32>(reach as u64)?;
                let z = job.temporary::<Complex32>(narrow.reach().max(rows * pitch) as u64)?;
                let y = job.output("y", &[narrow.reach() as u64])?;
                let factors = job.input(&self.doubles(pitch, reach))?;
                let places = [x.address(), doubled.address()].map(Place::single);
                double.append(&mut job, places, factors.address())?;
                inner.append(&mut job, batch, doubled.address(), z.address())?;
                narrow.append(&mut job, [z.address(), y.address()].map(Place::single), 0)?;
                Ok((job, y, pitch))
            }
            Around::Widen(_) => Err(self.refused()),
        }
    }

    /// The factors of all rows: 1 for what has no conjugate, 2 for half of what has
    /// one, 0 for the other half.
    fn doubles(&self, pitch: usize, reach: usize) -> Vec<Complex32> {
        let n = self.len();
        let factor = |i: usize| match i % pitch {
            0 => 1.0,
            k if 2 * k == n => 1.0,
            k if 2 * k < n => 2.0,
            _ => 0.0,
        };
        (0..reach).map(|i| factor(i).into()).collect()
    }

    fn refused(&self) -> FftError {
        FftError::OtherProblem {
            plan: self.to_string(),
        }
    }

    /// Expected cycles of a batch.
    pub(in crate::fft) fn expected(&self, batch: usize) -> Result<Cycles, FftError> {
        let (around, _) = self.around(batch)?;
        let machine = self.machine();
        let passes = match around {
            Around::Half(half) => half.expected(machine),
            Around::Widen(widen) => widen.expected(machine),
            Around::Narrow { double, narrow, .. } => {
                double.expected(machine) + narrow.expected(machine)
            }
        };
        Ok(Cycles(
            self.inner().expected(batch)?.0 + passes.ceil() as u64,
        ))
    }
}

/// The passes between real numbers and a transform.
#[derive(Debug)]
enum Around {
    /// Separates or joins spectra.
    Half(Half),
    /// Before a transform of real numbers.
    Widen(Elementwise),
    /// Around a transform of half spectra.
    Narrow {
        double: Elementwise,
        narrow: Elementwise,
    },
}

impl Place {
    /// One row.
    fn single(address: u64) -> Self {
        Self { address, pitch: 0 }
    }
}

impl From<(u64, u64)> for Place {
    fn from((address, pitch): (u64, u64)) -> Self {
        Self { address, pitch }
    }
}

/// Rows of `n` values as rows of another pitch, filled up with zeros to `least` numbers in all.
fn spread_to<T: HostElement + Default>(
    values: &[T],
    n: usize,
    shape: [usize; 2],
    least: usize,
) -> Vec<T> {
    let mut all = crate::fft::transform::spread(values, n, shape);
    all.resize(least.max(all.len()), T::default());
    all
}
