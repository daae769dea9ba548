//! Input data for whole transforms, with checks as it is read.

use crate::io::{FileError, FileValues, FramedRecording, Kind, Npy};
use crate::outcome::CommandFailure;
use crate::picture::{HeatMap, PlotAxis};
use cp2_host::{SourceError, ValueSource};
use num_complex::Complex32;
use std::path::{Path, PathBuf};

/// Origin of a signal, with the data that its picture needs.
#[derive(Clone, Debug)]
pub(crate) enum SignalOrigin {
    /// Random numbers from this seed.
    Seed(u64),
    /// Array in this file.
    Array(PathBuf),
    /// Recording in a file.
    Sound {
        /// Path of the file.
        path: PathBuf,
        /// Samples per second.
        rate: u32,
        /// Samples from the start of one frame to the next.
        hop: usize,
        /// Number of zeros added to fill the last frame.
        frames_padded: usize,
        /// Warning about the file.
        warning: Option<String>,
    },
}

impl SignalOrigin {
    /// Returns the path of the file, if there is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        match self {
            Self::Seed(_) => None,
            Self::Array(path) | Self::Sound { path, .. } => Some(path),
        }
    }

    /// Returns the seed, if the signal is generated.
    pub(crate) fn seed(&self) -> Option<u64> {
        if let Self::Seed(seed) = self {
            Some(*seed)
        } else {
            None
        }
    }
}

/// Property that is checked while numbers are read.
#[derive(Debug)]
enum Watched {
    Nothing,
    /// No number may have an imaginary part.
    Imaginary,
    /// Imaginary parts that the half spectrum of this many real numbers cannot have. For number 0 and for the
    /// last number of a row: the row with the largest imaginary part, and its value.
    Ends(usize, [Option<(usize, f32)>; 2]),
}

/// Input data for whole transforms: a source that makes or reads numbers on demand, transform after
/// transform, including numbers between transforms.
#[derive(Debug)]
pub(crate) struct Signal {
    /// Origin of the signal.
    pub(crate) origin: SignalOrigin,
    /// Shape of the output.
    pub(crate) shape: Vec<usize>,
    /// Points of a transform.
    pub(crate) n: usize,
    /// Count of numbers from the start of one transform to the next.
    pub(crate) stride: usize,
    values: FileValues,
    /// Count of all numbers, and of those already given.
    numbers: usize,
    given: usize,
    /// Count of numbers to leave out after every transform.
    gap: usize,
    watched: Watched,
}

impl ValueSource<Complex32> for Signal {
    fn count(&self) -> u64 {
        (self.numbers - self.given) as u64
    }

    fn fill_values(&mut self, values: &mut [Complex32]) -> Result<(), SourceError> {
        if self.gap == 0 {
            self.values.fill_values(values)?;
        } else {
            self.read_rows(values)?;
        }
        self.watch(values)?;
        self.given += values.len();
        Ok(())
    }
}

impl Signal {
    /// Makes a signal of consecutive transforms of `n` numbers.
    pub(super) fn new(
        origin: SignalOrigin,
        shape: Vec<usize>,
        n: usize,
        values: FileValues,
    ) -> Self {
        Self {
            numbers: shape.iter().product(),
            origin,
            shape,
            n,
            stride: n,
            values,
            given: 0,
            gap: 0,
            watched: Watched::Nothing,
        }
    }

    /// Opens an array as transforms of `n` numbers every `stride` numbers.
    pub(super) fn read_spectra(
        path: &Path,
        n: usize,
        stride: usize,
        array: Npy,
    ) -> Result<Self, CommandFailure> {
        if n == 0 || stride < n {
            return Err(CommandFailure::input(format!(
                "--stride {stride}: expected {} at least, the numbers of a transform",
                n.max(1)
            )));
        }
        let numbers = array.elements();
        let batch = numbers.div_ceil(stride);
        let last = numbers - batch.saturating_sub(1) * stride;
        if last < n {
            let found = format!(
                "{numbers} numbers, of which {last} are left for the last transform of {n}"
            );
            let expected = "whole transforms: choose another --stride, or pad the array";
            return Err(FileError::format(path, found, expected).into());
        }
        let origin = SignalOrigin::Array(path.to_owned());
        Ok(Self {
            stride,
            numbers,
            ..Self::new(origin, vec![batch, n], n, FileValues::Array(array))
        })
    }

    /// Returns the number of transforms.
    pub(crate) fn batch(&self) -> usize {
        self.numbers.div_ceil(self.stride.max(1))
    }

    /// True if real numbers of a file are converted to complex ones.
    pub(crate) fn is_widened(&self) -> bool {
        matches!(&self.values, FileValues::Array(array) if array.kind == Kind::Float32)
    }

    /// Returns the recording, if the signal is one.
    pub(crate) fn recording(&self) -> Option<&FramedRecording> {
        match &self.values {
            FileValues::Recording(recording) => Some(recording),
            _ => None,
        }
    }

    /// Drops the numbers between transforms from now on.
    pub(crate) fn close_row_gaps(&mut self) {
        if self.n < self.stride {
            self.numbers = self.batch() * self.n;
            self.gap = self.stride - self.n;
            self.stride = self.n;
        }
    }

    /// Reads the next numbers of transforms and skips the numbers between them.
    fn read_rows(&mut self, values: &mut [Complex32]) -> Result<(), FileError> {
        let mut skipped = vec![Complex32::default(); self.gap.min(1 << 12)];
        let mut done = 0;
        while done < values.len() {
            let place = self.given + done;
            if place.is_multiple_of(self.n) && place > 0 {
                let mut gap = self.gap;
                while gap > 0 {
                    let part = gap.min(skipped.len());
                    self.values.fill_values(&mut skipped[..part])?;
                    gap -= part;
                }
            }
            let part = (values.len() - done).min(self.n - place % self.n);
            self.values.fill_values(&mut values[done..done + part])?;
            done += part;
        }
        Ok(())
    }

    fn watch(&mut self, values: &[Complex32]) -> Result<(), SourceError> {
        match &mut self.watched {
            Watched::Nothing => {}
            Watched::Imaginary => {
                if values.iter().any(|z| z.im != 0.0) {
                    return Err("--real: the input has imaginary parts that are not 0; expected real numbers (float32), or leave --real out".into());
                }
            }
            Watched::Ends(n, largest) => {
                for (i, z) in values.iter().enumerate() {
                    let (row, k) = ((self.given + i) / self.n, (self.given + i) % self.n);
                    let end = match k {
                        0 => 0,
                        k if 2 * k == *n => 1,
                        _ => continue,
                    };
                    largest[end] = larger(largest[end], (row, z.im));
                }
            }
        }
        Ok(())
    }

    /// Refuses numbers of a file that are not real.
    pub(crate) fn expect_real(&mut self) {
        self.watched = Watched::Imaginary;
    }

    /// Watches the imaginary parts that half spectra of `n` real numbers cannot have: of number 0 of each row
    /// and, for even `n`, of the last one. A file may have some there, for example after a product of
    /// spectra: they count as 0, and [`Signal::warnings`] reports them.
    pub(crate) fn watch_ends(&mut self, n: usize) {
        self.watched = Watched::Ends(n, [None; 2]);
    }

    /// Returns the warnings about the input, once it has been read.
    pub(crate) fn warnings(&self) -> String {
        let file = match &self.origin {
            SignalOrigin::Sound { warning, .. } => warning.clone(),
            _ => None,
        };
        file.into_iter().chain(self.ignored()).collect()
    }

    /// Returns the warning about imaginary parts that count as 0, if there were any.
    fn ignored(&self) -> Option<String> {
        let Watched::Ends(n, [first, last]) = self.watched else {
            return None;
        };
        let of = |k: usize, found: Option<(usize, f32)>| found.map(|(row, im)| (row, k, im));
        let (row, k, im) = match (of(0, first), of(n / 2, last)) {
            (Some(a), Some(b)) if is_larger(a.2, b.2) => b,
            (a, b) => a.or(b)?,
        };
        Some(format!(
            "warning: --real --inverse: imaginary parts where the spectrum of {n} real numbers has none count as 0; the largest is {im}, of row {row}, number {k}\n"
        ))
    }

    /// Makes a picture of the spectra. A recording is shown over time and frequency without the negative
    /// frequencies, which mirror the positive ones.
    pub(crate) fn picture(&self, spectrum: impl FnMut(usize) -> Vec<Complex32>) -> HeatMap {
        let (bins, x, y) = match &self.origin {
            SignalOrigin::Sound { rate, hop, .. } => {
                let rate = f64::from(*rate);
                let end = self.batch() as f64 * *hop as f64 / rate;
                (
                    self.n / 2,
                    PlotAxis::new("time", "s", 0.0, end),
                    PlotAxis::new("frequency", "kHz", 0.0, rate / 2000.0),
                )
            }
            _ => {
                let x = PlotAxis::new("transform", "", 0.0, self.batch() as f64);
                (self.n, x, PlotAxis::new("bin", "", 0.0, self.n as f64))
            }
        };
        let name = self
            .origin
            .path()
            .and_then(Path::file_name)
            .map_or("random numbers".to_owned(), |f| {
                f.to_string_lossy().into_owned()
            });
        HeatMap::spectra(
            spectrum,
            [self.batch(), bins],
            format!("{name}: {} spectra of {} points", self.batch(), self.n),
            x,
            y,
        )
    }
}

/// Returns the larger of two imaginary parts; 0 is left out, and a NaN exceeds every number.
fn larger(known: Option<(usize, f32)>, (row, im): (usize, f32)) -> Option<(usize, f32)> {
    let larger = known.is_none_or(|(_, most)| is_larger(most, im));
    if im != 0.0 && larger {
        Some((row, im))
    } else {
        known
    }
}

fn is_larger(most: f32, im: f32) -> bool {
    im.is_nan() || im.abs() > most.abs()
}
