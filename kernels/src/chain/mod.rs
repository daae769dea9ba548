//! Processing chains: kernels of the library one after the other on one
//! machine, as a receiver would run them.
//!
//! | chain | stages |
//! |---|---|
//! | [`Radar`] | pulse compression, corner turn, Doppler window, FFT over the pulses, decibels |
//! | [`Sonar`] | decimating filter per hydrophone, corner turns, beamforming, window, spectra, decibels |
//!
//! A stage begins when the one before is complete; its data stay in system
//! memory. The time of a chain is the sum of its stages' times, set-up,
//! program loads and last stores of each included.

mod accuracy;
mod error;
mod peaks;
mod radar;
mod scene;
mod sonar;
mod spectra;
mod stages;

pub use accuracy::Accuracy;
pub use error::ChainError;
pub use radar::{Detection, Radar, RadarSpec, Target};
pub use sonar::{Contact, Sonar, SonarSpec, Source};
pub use stages::{Seen, Stage, add_stages};

use cp2_host::Options;
use num_complex::{Complex32, Complex64};

/// A planned chain: blocks of samples in, spectra out.
pub trait Receiver {
    /// Rows of a block, and samples in each.
    fn block(&self) -> (usize, usize);

    /// The spectra of a block, row after row.
    ///
    /// # Errors
    /// A block of another size, or a stage that does not finish.
    fn process(&self, block: &[Complex32], options: &Options) -> Result<Received, ChainError> {
        self.process_seen(block, options, &mut |_, _| ())
    }

    /// The same, showing the run of every stage, in their order.
    ///
    /// # Errors
    /// See [`Receiver::process`].
    fn process_seen(
        &self,
        block: &[Complex32],
        options: &Options,
        seen: Seen<'_>,
    ) -> Result<Received, ChainError>;

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
