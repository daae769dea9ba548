//! Processing chains: kernels of the library one after the other on one
//! machine, as a receiver would run them.
//!
//! | chain | stages |
//! |---|---|
//! | [`Radar`] | pulse compression, corner turn, Doppler window, FFT over the pulses, decibels |
//! | [`Sonar`] | decimating filter per hydrophone, corner turns, beamforming, window, spectra, decibels |
//! | [`Spectrogram`] | overlapping frames of a recording, window, spectra |
//!
//! A chain is one job on one device: what a stage leaves in system memory the next one reads there. A stage begins when the one
//! before is complete. The cycles and causes of the stages add up to those of the run, set-up, program loads and
//! last stores of each included.

mod accuracy;
mod error;
mod peaks;
mod radar;
mod scene;
mod sonar;
mod spectra;
mod spectrogram;
mod stages;

pub use accuracy::Accuracy;
pub use error::ChainError;
pub use radar::{Detection, Radar, RadarSpec, Target};
pub use sonar::{Contact, Sonar, SonarSpec, Source};
pub use spectrogram::{Frames, Spectrogram, SpectrogramJob, Transform};
pub use stages::{ChainJob, Stage, add_stages};

use cp2_host::Options;
use num_complex::{Complex32, Complex64};

/// A planned chain: blocks of samples in, spectra out.
pub trait Receiver {
    /// Rows of a block, and samples in each.
    fn block(&self) -> (usize, usize);

    /// The chain on a block as a job, nothing of it done yet.
    ///
    /// # Errors
    /// A block of another size, or one that does not fit the machine.
    fn job(&self, block: &[Complex32], options: &Options) -> Result<ChainJob, ChainError>;

    /// The spectra of a block, row after row.
    ///
    /// # Errors
    /// A block of another size, or a stage that does not finish.
    fn process(&self, block: &[Complex32], options: &Options) -> Result<Received, ChainError> {
        Ok(self.job(block, options)?.run()?.0)
    }

    /// The same spectra in double precision, from the definitions.
    fn reference(&self, block: &[Complex32]) -> Vec<Complex64>;
}

/// What a chain makes of a block.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// Spectra: of a [`Radar`] `ranges` rows of `pulses`, of a [`Sonar`]
    /// `beams` x frames rows of `points`.
    pub spectra: Vec<Complex32>,
    /// Their power in dB.
    pub decibels: Vec<f32>,
    /// What each stage cost.
    pub stages: Vec<Stage>,
}

fn check_block(block: &[Complex32], (rows, columns): (usize, usize)) -> Result<(), ChainError> {
    if block.len() == rows * columns {
        return Ok(());
    }
    Err(ChainError::Shape {
        found: block.len(),
        expected: format!("{rows} rows of {columns}"),
    })
}

fn wide(z: &Complex32) -> Complex64 {
    Complex64::new(z.re.into(), z.im.into())
}
