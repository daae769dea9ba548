//! Numbers as they come: from files, recordings and seeds, a part at a time.

use super::{FileError, Npy, Recording};
use cp2_host::{Source, SourceError};
use cp2_kernels::Random;
use num_complex::Complex32;
use std::time::Instant;

/// Where numbers come from while they are asked for.
#[derive(Debug)]
pub(crate) enum Values {
    /// Generated complex numbers.
    Complex(Random),
    /// Generated real numbers.
    Real(Random),
    /// An array.
    Array(Npy),
    /// A recording, whose frames the machine cuts.
    Recording(Recording),
}

impl Values {
    /// The next numbers, real ones as complex ones.
    pub(crate) fn give(&mut self, values: &mut [Complex32]) -> Result<(), FileError> {
        match self {
            Self::Complex(random) => values.fill_with(|| random.complex()),
            Self::Real(random) => values.fill_with(|| random.uniform().into()),
            Self::Array(array) => array.read_complex(values)?,
            // It is given as a whole, by its samples.
            Self::Recording(_) => values.fill(Complex32::default()),
        }
        Ok(())
    }

    /// The next numbers, of which the real parts count.
    pub(crate) fn give_real(&mut self, values: &mut [f32]) -> Result<(), FileError> {
        match self {
            Self::Real(random) => values.fill_with(|| random.uniform()),
            Self::Array(array) => array.read_real(values)?,
            _ => {
                let mut numbers = vec![Complex32::default(); values.len()];
                self.give(&mut numbers)?;
                for (re, z) in values.iter_mut().zip(numbers) {
                    *re = z.re;
                }
            }
        }
        Ok(())
    }
}

/// A source, and when it gave its last values: making and reading them is no simulation.
pub(crate) struct Timed<'a, T> {
    source: &'a mut dyn Source<T>,
    last: Instant,
}

impl<'a, T> Timed<'a, T> {
    pub(crate) fn new(source: &'a mut dyn Source<T>) -> Self {
        Self {
            source,
            last: Instant::now(),
        }
    }

    /// Seconds of real time since the last values were given.
    pub(crate) fn seconds(&self) -> f64 {
        self.last.elapsed().as_secs_f64()
    }
}

impl<T> Source<T> for Timed<'_, T> {
    fn count(&self) -> u64 {
        self.source.count()
    }

    fn give(&mut self, values: &mut [T]) -> Result<(), SourceError> {
        self.source.give(values)?;
        self.last = Instant::now();
        Ok(())
    }
}
