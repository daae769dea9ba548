//! Spectrograms: a recording in overlapping frames, windowed and transformed.

use super::ChainError;
use super::error::staged;
use super::spectra::Windowed;
use super::stages::ChainBuilder;
use crate::dsp::WindowFunction;
use crate::fft::{Fft, RealToComplex, RowStrides};
use crate::job::{Job, KernelInput, KernelRun};
use crate::relayout::{Relayout, RowOrigin, SourceOfWord, WORD};
use cp2_host::{Buffer, DeviceOptions};
use cp2_machine::Machine;
use cp2_reference::Figures;
use num_complex::Complex32;
use std::sync::Arc;

/// Words of a complex number.
const PARTS: u64 = 2;

/// The transform of a frame.
#[derive(Clone, Debug)]
pub enum Transform {
    /// Frames are transformed as complex numbers without imaginary parts.
    Complex(Arc<dyn Fft>),
    /// Frames are transformed as real numbers, to half a spectrum.
    Real(Arc<RealToComplex>),
}

impl Transform {
    /// Returns the length of the transform.
    fn len(&self) -> usize {
        match self {
            Self::Complex(fft) => fft.len(),
            Self::Real(fft) => fft.len(),
        }
    }

    /// Returns the machine.
    fn machine(&self) -> &Arc<Machine> {
        match self {
            Self::Complex(fft) => fft.machine(),
            Self::Real(fft) => fft.machine(),
        }
    }
}

/// A planned spectrogram: samples in, a spectrum for each frame out, in one job.
///
/// Frames of `n` samples begin every `hop` samples; the last one is filled up with zeros.
#[derive(Debug)]
pub struct Spectrogram {
    frames: Frames,
    /// Window over each frame; none where all samples weigh the same.
    window: Option<Windowed>,
    transform: Transform,
}

/// The frames of a recording, which overlap if `hop` is less than `n`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frames {
    /// Number of samples of the recording.
    pub samples: usize,
    /// Number of samples of a frame.
    pub n: usize,
    /// Number of samples from the beginning of a frame to the beginning of the next.
    pub hop: usize,
}

impl Frames {
    /// Returns the number of frames, which have every sample: `1 + ceil((samples - n) / hop)`.
    #[must_use]
    pub fn count(self) -> usize {
        match self.samples {
            0 => 0,
            samples => 1 + samples.saturating_sub(self.n).div_ceil(self.hop.max(1)),
        }
    }
}

impl Spectrogram {
    /// Plans the spectra of frames under a window, by a transform of their length.
    ///
    /// # Errors
    /// The sizes are impossible, or the machine has no kernel for them.
    pub fn new(
        frames: Frames,
        window: WindowFunction,
        transform: Transform,
    ) -> Result<Self, ChainError> {
        let Frames { samples, n, hop } = frames;
        if transform.len() != n {
            let expected = format!("those of the transform, {}", transform.len());
            return Err(ChainError::spec("points", n, expected));
        }
        if samples == 0 || hop == 0 || hop > n {
            let expected = format!("1 to {n}, and at least one sample");
            return Err(ChainError::spec("hop", hop, expected));
        }
        let coefficients = match transform {
            Transform::Real(_) => window.coefficients(n),
            Transform::Complex(_) => window.complex_coefficients(n),
        };
        let count = frames.count();
        let size = format!("{count} frames of {n} samples");
        let window = match window {
            WindowFunction::Rectangular => None,
            _ => Some(Windowed::new(
                coefficients,
                count,
                size,
                transform.machine(),
            )?),
        };
        Ok(Self {
            frames,
            window,
            transform,
        })
    }

    /// Returns the proved limit and the time of the best known program, for the transforms alone.
    #[must_use]
    pub fn figures(&self) -> Figures {
        match &self.transform {
            Transform::Complex(fft) => fft.figures(self.frames.count()),
            Transform::Real(fft) => fft.figures(self.frames.count()),
        }
    }

    /// Puts together the job that transforms a recording; nothing runs yet.
    ///
    /// # Errors
    /// There is another number of samples, or the machine has no room for them.
    pub fn job(
        &self,
        samples: &[f32],
        options: DeviceOptions,
    ) -> Result<SpectrogramJob, ChainError> {
        if samples.len() != self.frames.samples {
            return Err(ChainError::Shape {
                found: samples.len(),
                expected: format!("{} samples", self.frames.samples),
            });
        }
        let mut job = Job::new(self.transform.machine().clone(), options);
        let length = [samples.len() as u64];
        let samples = staged("frames", job.input("samples", samples, &length))?;
        let mut stages = ChainBuilder::new(job);
        let (n, count) = (self.frames.n as u64, self.frames.count() as u64);
        let parts = match &self.transform {
            Transform::Complex(_) => PARTS,
            Transform::Real(_) => 1,
        };
        let mut frames = stages.add("frames", Figures::default(), |job| {
            let frames = job.temporary::<f32>(count * n * parts)?;
            self.cut(job, samples, frames, parts)?;
            Ok::<_, crate::JobError>(frames)
        })?;
        if let Some(window) = &self.window {
            frames = window.append(&mut stages, frames)?;
        }
        let spectra = stages.add("spectra", self.figures(), |job| match &self.transform {
            Transform::Complex(fft) => {
                let rows = Buffer::from_address(frames.address(), count * n);
                let count = self.frames.count();
                fft.append_rows(
                    job,
                    KernelInput::Array(rows),
                    count,
                    RowStrides::contiguous(fft.len()),
                )
            }
            Transform::Real(fft) => fft.append(job, KernelInput::Array(frames)),
        })?;
        let row = spectra.len() / count.max(1);
        stages.job().result("spectra", spectra, &[count, row]);
        Ok(SpectrogramJob {
            stages,
            spectra,
            figures: self.figures(),
        })
    }

    /// Adds the passes that make the frames contiguous, each sample in `parts` words.
    fn cut(
        &self,
        job: &mut Job,
        samples: Buffer<f32>,
        frames: Buffer<f32>,
        parts: u64,
    ) -> Result<(), crate::JobError> {
        let Frames { n, hop, .. } = self.frames;
        let [n, hop, count] = [n, hop, self.frames.count()].map(|n| n as u64);
        let own = cp2_host::ViewRows::contiguous(1, samples.bytes());
        let all = ((count - 1) * hop + n) * WORD;
        // Zeros follow the last sample, up to a whole granule.
        let granule = job.machine().dma.granule.0.max(1);
        let total = all.max(own.bytes).next_multiple_of(granule);
        let from = job.rows_as(samples.address(), own, cp2_host::ViewRows { total, ..own })?;
        let word = |at: u64| match (at / parts, at % parts) {
            (i, 0) => SourceOfWord::Of(0, i),
            _ => SourceOfWord::Zero,
        };
        job.relayouted(&Relayout {
            name: "frames",
            from: &[RowOrigin::new(from, hop * WORD)],
            to: RowOrigin::new(frames.address(), n * parts * WORD),
            words: count * n * parts,
            word: &word,
        })?;
        Ok(())
    }
}

/// The job of a spectrogram, ready to run.
#[derive(Debug)]
pub struct SpectrogramJob {
    stages: ChainBuilder,
    spectra: Buffer<Complex32>,
    figures: Figures,
}

impl SpectrogramJob {
    /// Runs the job and returns the array of the spectra, a row for each frame.
    ///
    /// The stages are parts of the report; the figures are those of the transforms.
    ///
    /// # Errors
    /// The device refuses a command. A run that does not finish is no error: it has no output and a report
    /// that says why.
    pub fn run(self) -> Result<KernelRun<Buffer<Complex32>>, ChainError> {
        let spectra = self.spectra;
        self.stages.run(self.figures, |_| Ok(spectra))
    }
}
