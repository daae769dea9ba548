//! Numbers from files, recordings and seeds, read a part at a time.

use super::{FileError, FramedRecording, Npy};
use cp2_host::{SourceError, ValueSource};
use cp2_kernels::Random;
use num_complex::Complex32;
use std::time::Instant;

/// Source that produces numbers on demand.
#[derive(Debug)]
pub(crate) enum FileValues {
    /// Generated complex numbers.
    Complex(Random),
    /// Generated real numbers.
    Real(Random),
    /// Array in a file.
    Array(Npy),
    /// Recording; the machine cuts its frames.
    Recording(FramedRecording),
}

impl FileValues {
    /// Reads the next numbers; real numbers become complex.
    pub(crate) fn fill_values(&mut self, values: &mut [Complex32]) -> Result<(), FileError> {
        match self {
            Self::Complex(random) => values.fill_with(|| random.complex()),
            Self::Real(random) => values.fill_with(|| random.uniform().into()),
            Self::Array(array) => array.read_complex(values)?,
            // A recording is given as a whole, by its samples.
            Self::Recording(_) => values.fill(Complex32::default()),
        }
        Ok(())
    }

    /// Reads the real parts of the next numbers.
    pub(crate) fn read_real(&mut self, values: &mut [f32]) -> Result<(), FileError> {
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

/// Source that records when it gave its last values, since reading and generating them is not part of the
/// simulation.
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

    /// Returns the seconds of host time since the last values were given.
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
