//! A recording cut into overlapping frames, each under a window and transformed.

use super::ChainError;
use super::error::{check_count, planned, staged};
use super::spectra::Windowed;
use super::stages::{Stage, Stages};
use crate::dsp::Window;
use crate::fft::{Fft, FftPlanner, RealToComplex, Rows};
use crate::job::{Given, Job};
use crate::relayout::{Place, Relayout, WORD, Word};
use cp2_host::{Buffer, Options, Run};
use cp2_machine::Machine;
use cp2_reference::Figures;
use num_complex::Complex32;
use std::sync::Arc;

/// Words of a complex number.
const PARTS: u64 = 2;

/// How a frame is transformed.
#[derive(Debug)]
enum Transform {
    /// As complex numbers without imaginary parts.
    Complex(Arc<dyn Fft>),
    /// As real numbers, to half a spectrum.
    Real(Arc<RealToComplex>),
}

/// Planned spectra of the frames of a recording: samples in, a spectrum for each frame out, in one job.
///
/// Frames of `n` samples begin every `hop` samples; the last one is filled up with zeros.
#[derive(Debug)]
pub struct Spectrogram {
    samples: usize,
    n: usize,
    hop: usize,
    /// None where all samples weigh the same.
    window: Option<Windowed>,
    transform: Transform,
    machine: Arc<Machine>,
}

/// The frames of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frames {
    /// Samples of the recording.
    pub samples: usize,
    /// Samples of a frame.
    pub n: usize,
    /// Samples from the beginning of a frame to that of the next.
    pub hop: usize,
}

impl Frames {
    /// How many there are: every sample is in one.
    #[must_use]
    pub fn count(self) -> usize {
        match self.samples {
            0 => 0,
            samples => 1 + samples.saturating_sub(self.n).div_ceil(self.hop.max(1)),
        }
    }
}

impl Spectrogram {
    /// Plans the spectra of such frames under a window: `real` to n / 2 + 1 numbers each, else to n.
    ///
    /// # Errors
    /// Sizes that make no sense or for which a stage has no kernel.
    pub fn new(
        frames: Frames,
        window: Window,
        real: bool,
        machine: &Arc<Machine>,
    ) -> Result<Self, ChainError> {
        let Frames { samples, n, hop } = frames;
        check_count("points", n, 1, false)?;
        if samples == 0 || hop == 0 || hop > n {
            let expected = format!("1 to {n}, and at least one sample");
            return Err(ChainError::spec("hop", hop, expected));
        }
        let count = frames.count();
        let mut planner = FftPlanner::for_batch(machine.clone(), count);
        let size = || format!("{count} frames of {n} samples");
        let transform = match real {
            true => planned("spectra", size(), planner.plan_real_forward(n)).map(Transform::Real),
            false => planned("spectra", size(), planner.plan_forward(n)).map(Transform::Complex),
        };
        let coefficients = match real {
            true => window.coefficients(n),
            false => window.complex_coefficients(n),
        };
        let window = match window {
            Window::Rectangular => None,
            _ => Some(Windowed::new(coefficients, count, size(), machine)?),
        };
        Ok(Self {
            samples,
            n,
            hop,
            window,
            transform: transform?,
            machine: machine.clone(),
        })
    }

    /// Number of frames.
    #[must_use]
    pub fn frames(&self) -> usize {
        let (samples, n, hop) = (self.samples, self.n, self.hop);
        Frames { samples, n, hop }.count()
    }

    /// What any program and the best known one take for the transforms alone.
    #[must_use]
    pub fn figures(&self) -> Figures {
        match &self.transform {
            Transform::Complex(fft) => fft.figures(self.frames()),
            Transform::Real(fft) => fft.figures(self.frames()),
        }
    }

    /// What it does with a recording as a job, nothing of it done yet.
    ///
    /// # Errors
    /// Another number of samples, or more than the machine has room for.
    pub fn job(&self, samples: &[f32], options: Options) -> Result<SpectrogramJob, ChainError> {
        if samples.len() != self.samples {
            return Err(ChainError::Shape {
                found: samples.len(),
                expected: format!("{} samples", self.samples),
            });
        }
        let mut job = Job::new(self.machine.clone(), options);
        let length = [samples.len() as u64];
        let samples = staged("frames", job.input("samples", samples, &length))?;
        let mut stages = Stages::new(job);
        let (n, count) = (self.n as u64, self.frames() as u64);
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
                let rows = Buffer::at(frames.address(), count * n);
                fft.append_rows(job, Given::Array(rows), self.frames(), Rows::of(self.n))
            }
            Transform::Real(fft) => fft.append(job, Given::Array(frames)),
        })?;
        let row = spectra.len() / count.max(1);
        stages.job().result("spectra", spectra, &[count, row]);
        Ok(SpectrogramJob { stages, spectra })
    }

    /// The passes that put the frames one behind the other, each sample in `parts` words.
    fn cut(
        &self,
        job: &mut Job,
        samples: Buffer<f32>,
        frames: Buffer<f32>,
        parts: u64,
    ) -> Result<(), crate::JobError> {
        let [n, hop, count] = [self.n, self.hop, self.frames()].map(|n| n as u64);
        let own = cp2_host::Rows::contiguous(1, samples.bytes());
        let all = ((count - 1) * hop + n) * WORD;
        // Behind the last sample there is 0, in whole granules.
        let granule = job.machine().dma.granule.0.max(1);
        let total = all.max(own.bytes).next_multiple_of(granule);
        let from = job.rows_as(samples.address(), own, cp2_host::Rows { total, ..own })?;
        let word = |at: u64| match (at / parts, at % parts) {
            (i, 0) => Word::Of(0, i),
            _ => Word::Zero,
        };
        job.relayouted(&Relayout {
            name: "frames",
            from: &[Place::new(from, hop * WORD)],
            to: Place::new(frames.address(), n * parts * WORD),
            words: count * n * parts,
            word: &word,
        })?;
        Ok(())
    }
}

/// The spectra of a recording as one job, nothing of it done yet.
#[derive(Debug)]
pub struct SpectrogramJob {
    stages: Stages,
    spectra: Buffer<Complex32>,
}

impl SpectrogramJob {
    /// Runs it: a row for each frame, what the stages cost, and the run.
    ///
    /// # Errors
    /// A stage does not finish, or the checkers object to it.
    pub fn run(self) -> Result<(Vec<Complex32>, Vec<Stage>, Run), ChainError> {
        let spectra = self.spectra;
        self.stages.run(|run| run.read(spectra))
    }
}
