//! Numbers as they come: from files, recordings and seeds, a part at a time.

use super::{FileError, FramedRecording, Npy};
use cp2_host::{SourceError, ValueSource};
use cp2_kernels::Random;
use num_complex::Complex32;
use std::time::Instant;

/// Where numbers come from while they are asked for.
#[derive(Debug)]
pub(crate) enum FileValues {
    /// Generated complex numbers.
    Complex(Random),
    /// Generated real numbers.
    Real(Random),
    /// An array.
    Array(Npy),
    /// A recording, whose frames the machine cuts.
    Recording(FramedRecording),
}

impl FileValues {
    /// The next numbers, real ones as complex ones.
    pub(crate) fn fill_values(&mut self, values: &mut [Complex32]) -> Result<(), FileError> {
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
                self.fill_values(&mut numbers)?;
                for (re, z) in values.iter_mut().zip(numbers) {
                    *re = z.re;
                }
            }
        }
        Ok(())
    }
}

/// A source, and when it gave its last values: making and reading them is no simulation.
pub(crate) struct TimedSource<'a, T> {
    source: &'a mut dyn ValueSource<T>,
    last: Instant,
}

impl<'a, T> TimedSource<'a, T> {
    pub(crate) fn new(source: &'a mut dyn ValueSource<T>) -> Self {
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

impl<T> ValueSource<T> for TimedSource<'_, T> {
    fn count(&self) -> u64 {
        self.source.count()
    }

    fn fill_values(&mut self, values: &mut [T]) -> Result<(), SourceError> {
        self.source.fill_values(values)?;
        self.last = Instant::now();
        Ok(())
    }
}
