//! Processing chains: kernels one after the other on one machine.
//!
//! A chain does what a receiver does with blocks of samples.
//!
//! | chain | stages |
//! |---|---|
//! | [`RadarPlan`] | pulse compression, corner turn, Doppler window, FFT over the pulses, decibels |
//! | [`SonarPlan`] | decimating filter per hydrophone, corner turns, beamforming, window, spectra, decibels |
//! | [`Spectrogram`] | overlapping frames of a recording, window, spectra |
//!
//! The problems of radar and sonar are in [`cp2_problems::chain`]: their scenes, their definitions in double
//! precision, the accuracy of a result, and the peaks in it. A chain is one job on one device: each stage
//! reads what the stage before left in system memory, and begins when that stage is complete. The cycles and
//! causes of the stages add up to those of the run, since set-up, program loads and last stores belong to
//! stages.

mod entry;
mod error;
mod radar;
mod sonar;
mod spectra;
mod spectrogram;
mod stages;

pub use cp2_problems::chain::{
    Accuracy, Contact, Detection, ExactSpectra, RadarProblem, RadarSpec, RadarTarget,
    ReceiverProblem, SonarProblem, SonarSpec, SoundSource,
};
pub(crate) use entry::ENTRIES;
pub use error::ChainError;
pub use radar::RadarPlan;
pub use sonar::SonarPlan;
pub use spectrogram::{Frames, Spectrogram, SpectrogramJob, Transform};
pub use stages::{ChainJob, StageCost, add_stages};

use crate::conv::Convolver;
use cp2_host::DeviceOptions;
use cp2_machine::{Class, Machine};
use cp2_reference::Figures;
use num_complex::Complex32;
use std::sync::Arc;

/// A planned chain: blocks of samples in, spectra out.
pub trait Receiver {
    /// Type of the problem that the chain computes.
    type Problem: ReceiverProblem;

    /// Returns the problem that the chain was planned for.
    fn problem(&self) -> &Self::Problem;

    /// Returns the machine.
    fn machine(&self) -> &Arc<Machine>;

    /// Returns the recipes that the planner took, where a stage has several.
    fn recipe(&self) -> String;

    /// Returns the filter that samples go through first, and the name of its stage.
    fn filter(&self) -> (&'static str, &Convolver);

    /// Returns the proved limit and the time of the best known program for the whole chain.
    fn figures(&self) -> Figures;

    /// Returns for each pass of the job the least it has to issue, see
    /// [`Method::operations`](crate::Method::operations).
    fn operations(&self) -> Vec<Vec<(Class, u64)>>;

    /// Puts together the job that runs the chain on a block; nothing runs yet.
    ///
    /// # Errors
    /// The block has another size, or does not fit the machine.
    fn job(&self, block: &[Complex32], options: &DeviceOptions) -> Result<ChainJob, ChainError>;

    /// Runs the chain on a block; the spectra of the result are row after row.
    ///
    /// # Errors
    /// The block has another size, or a stage does not finish.
    fn process(
        &self,
        block: &[Complex32],
        options: &DeviceOptions,
    ) -> Result<Received, ChainError> {
        Ok(self.job(block, options)?.run()?.0)
    }
}

/// Output of a chain for a block, and the cost of its stages.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// Spectra, row after row: a [`RadarPlan`] has `ranges` rows of `pulses`, a [`SonarPlan`] `beams` x
    /// frames rows of `points`.
    pub spectra: Vec<Complex32>,
    /// Power of the spectra in dB.
    pub decibels: Vec<f32>,
    /// Cost of each stage.
    pub stages: Vec<StageCost>,
}

impl Received {
    /// Returns the errors against exact spectra of the block.
    #[must_use]
    pub fn accuracy(&self, exact: &ExactSpectra) -> Accuracy {
        exact.accuracy(&self.spectra, &self.decibels)
    }
}

/// Checks that a block has the problem's size.
fn check_block(block: &[Complex32], problem: &impl ReceiverProblem) -> Result<(), ChainError> {
    let [rows, columns] = problem.block();
    if block.len() == rows * columns {
        return Ok(());
    }
    Err(ChainError::Shape {
        found: block.len(),
        expected: format!("{rows} rows of {columns}"),
    })
}
