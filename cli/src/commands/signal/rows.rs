//! Transforms' worth of input, and what is checked of it.

use crate::io::FileError;
use crate::outcome::Failure;
use crate::picture::{Axis, Field};
use num_complex::Complex32;
use std::path::{Path, PathBuf};

/// Where a signal came from, with what its picture needs.
#[derive(Clone, Debug)]
pub(crate) enum Origin {
    /// Generated.
    Seed(u64),
    /// From an array.
    Array(PathBuf),
    /// From a recording.
    Sound {
        /// The file.
        path: PathBuf,
        /// Samples per second.
        rate: u32,
        /// Samples between frames.
        hop: usize,
        /// Zeros added to fill the last frame.
        frames_padded: usize,
    },
}

impl Origin {
    /// The file, if any.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Seed(_) => None,
            Self::Array(path) | Self::Sound { path, .. } => Some(path),
        }
    }

    /// The seed, if any.
    pub(crate) fn seed(&self) -> Option<u64> {
        if let Self::Seed(seed) = self {
            Some(*seed)
        } else {
            None
        }
    }
}

/// Transforms' worth of input.
#[derive(Clone, Debug)]
pub(crate) struct Signal {
    /// Where it came from.
    pub(crate) origin: Origin,
    /// Shape of the output.
    pub(crate) shape: Vec<usize>,
    /// Points of a transform.
    pub(crate) n: usize,
    /// Numbers from the beginning of a transform to that of the next.
    pub(crate) stride: usize,
    /// The numbers, transform after transform, and what lies between.
    pub(crate) data: Vec<Complex32>,
}

impl Signal {
    /// Transforms of `n` numbers every `stride` numbers of an array.
    pub(super) fn apart(
        path: &Path,
        n: usize,
        stride: usize,
        data: Vec<Complex32>,
    ) -> Result<Self, Failure> {
        if n == 0 || stride < n {
            return Err(Failure::input(format!(
                "--stride {stride}: expected {} at least, the numbers of a transform",
                n.max(1)
            )));
        }
        let batch = data.len().div_ceil(stride);
        let last = data.len() - batch.saturating_sub(1) * stride;
        if last < n {
            let found = format!(
                "{} numbers, of which {last} are left for the last transform of {n}",
                data.len()
            );
            let expected = "whole transforms: choose another --stride, or pad the array";
            return Err(FileError::format(path, found, expected).into());
        }
        Ok(Self {
            origin: Origin::Array(path.to_owned()),
            shape: vec![batch, n],
            n,
            stride,
            data,
        })
    }

    /// Number of transforms.
    pub(crate) fn batch(&self) -> usize {
        self.data.len().div_ceil(self.stride.max(1))
    }

    /// Leaves out what lies between the transforms.
    pub(crate) fn close_up(&mut self) {
        let (n, stride) = (self.n, self.stride.max(1));
        if n < stride {
            let rows = self.data.chunks(stride).flat_map(|row| row.iter().take(n));
            self.data = rows.copied().collect();
            self.stride = n;
        }
    }

    /// Makes half spectra those of real numbers: number 0 of a row, and of even lengths its last one, are real.
    /// What a file has there, as products of spectra do, counts as 0; a warning says so.
    pub(crate) fn real_ends(&mut self, n: usize, given: bool) -> Option<String> {
        let ends = [0].into_iter().chain(n.is_multiple_of(2).then_some(n / 2));
        let mut ignored: Option<(usize, usize, f32)> = None;
        for k in ends {
            let column = self.data.iter_mut().skip(k).step_by(n / 2 + 1);
            for (row, z) in column.enumerate() {
                let im = std::mem::take(&mut z.im);
                let larger = ignored.is_none_or(|(.., most)| im.is_nan() || im.abs() > most.abs());
                if im != 0.0 && larger {
                    ignored = Some((row, k, im));
                }
            }
        }
        let (row, k, im) = ignored.filter(|_| given)?;
        Some(format!(
            "warning: --real --inverse: imaginary parts where the spectrum of {n} real numbers has none count as 0; the largest is {im}, of row {row}, number {k}\n"
        ))
    }

    /// Makes generated numbers real, and refuses a file of others.
    pub(crate) fn check_real(&mut self, given: bool) -> Result<(), Failure> {
        if given && self.data.iter().any(|z| z.im != 0.0) {
            return Err(Failure::input(
                "--real: the input has imaginary parts that are not 0; expected real numbers (float32), or leave --real out",
            ));
        }
        self.data.iter_mut().for_each(|z| z.im = 0.0);
        Ok(())
    }

    /// A picture of its spectra: against time and frequency for a recording,
    /// of which the negative frequencies mirror the positive ones.
    pub(crate) fn picture(&self, spectra: &[Complex32]) -> Field {
        let (bins, x, y) = match &self.origin {
            Origin::Sound { rate, hop, .. } => {
                let rate = f64::from(*rate);
                let end = self.batch() as f64 * *hop as f64 / rate;
                (
                    self.n / 2,
                    Axis::new("time", "s", 0.0, end),
                    Axis::new("frequency", "kHz", 0.0, rate / 2000.0),
                )
            }
            _ => {
                let x = Axis::new("transform", "", 0.0, self.batch() as f64);
                (self.n, x, Axis::new("bin", "", 0.0, self.n as f64))
            }
        };
        let name = self
            .origin
            .path()
            .and_then(Path::file_name)
            .map_or("random numbers".to_owned(), |f| {
                f.to_string_lossy().into_owned()
            });
        Field::spectra(
            spectra,
            self.n,
            bins,
            format!("{name}: {} spectra of {} points", self.batch(), self.n),
            x,
            y,
        )
    }
}
