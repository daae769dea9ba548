//! Processing chains: kernels of the library one after the other on one
//! machine, as a receiver would run them.
//!
//! | chain | stages |
//! |---|---|
//! | [`RadarPlan`] | pulse compression, corner turn, Doppler window, FFT over the pulses, decibels |
//! | [`SonarPlan`] | decimating filter per hydrophone, corner turns, beamforming, window, spectra, decibels |
//! | [`Spectrogram`] | overlapping frames of a recording, window, spectra |
//!
//! What radar and sonar compute are problems of [`cp2_problems::chain`]: their scenes, their definitions in double precision, how exact
//! a result is, and what stands out of it. A chain is one job on one device: what a stage leaves in system memory the next one reads there. A stage begins when the one
//! before is complete. The cycles and causes of the stages add up to those of the run, set-up, program loads and
//! last stores of each included.

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
    /// What it computes.
    type Problem: ReceiverProblem;

    /// What it was planned for.
    fn problem(&self) -> &Self::Problem;

    /// The machine.
    fn machine(&self) -> &Arc<Machine>;

    /// The ways that the planner took, where there are several.
    fn recipe(&self) -> String;

    /// The filter that its samples go through first, and the stage that it is.
    fn filter(&self) -> (&'static str, &Convolver);

    /// What any program and the best known one take for the whole chain.
    fn figures(&self) -> Figures;

    /// For each pass of the job the least it has to issue, see [`Method::operations`](crate::Method::operations).
    fn operations(&self) -> Vec<Vec<(Class, u64)>>;

    /// The chain on a block as a job, nothing of it done yet.
    ///
    /// # Errors
    /// A block of another size, or one that does not fit the machine.
    fn job(&self, block: &[Complex32], options: &DeviceOptions) -> Result<ChainJob, ChainError>;

    /// The spectra of a block, row after row.
    ///
    /// # Errors
    /// A block of another size, or a stage that does not finish.
    fn process(
        &self,
        block: &[Complex32],
        options: &DeviceOptions,
    ) -> Result<Received, ChainError> {
        Ok(self.job(block, options)?.run()?.0)
    }
}

/// What a chain makes of a block.
#[derive(Clone, Debug, Default)]
pub struct Received {
    /// Spectra: of a [`RadarPlan`] `ranges` rows of `pulses`, of a [`SonarPlan`]
    /// `beams` x frames rows of `points`.
    pub spectra: Vec<Complex32>,
    /// Their power in dB.
    pub decibels: Vec<f32>,
    /// What each stage cost.
    pub stages: Vec<StageCost>,
}

impl Received {
    /// How far it is from what the block's spectra are.
    #[must_use]
    pub fn accuracy(&self, exact: &ExactSpectra) -> Accuracy {
        exact.accuracy(&self.spectra, &self.decibels)
    }
}

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
