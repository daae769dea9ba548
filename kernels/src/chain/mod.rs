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

mod error;
mod radar;
mod scene;
mod sonar;

pub use error::ChainError;
pub use radar::{Detection, Radar, RadarMap, RadarSpec, Target};
pub use sonar::{Contact, Sonar, SonarPicture, SonarSpec};

use crate::job::KernelRun;
use cp2_host::Options;
use num_complex::Complex32;

/// What one stage cost.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Stage {
    /// The stage.
    pub name: &'static str,
    /// Simulated cycles, everything included.
    pub cycles: u64,
    /// Its lower bound in cycles.
    pub bound_cycles: u64,
}

/// A chain in progress: collects what its stages cost.
#[derive(Debug)]
struct Stages {
    options: Options,
    done: Vec<Stage>,
}

impl Stages {
    fn new(options: &Options) -> Self {
        Self {
            options: options.clone(),
            done: Vec::new(),
        }
    }

    /// Options for the next stage.
    fn options(&self) -> Options {
        self.options.clone()
    }

    /// Books a stage and takes its result.
    fn take<O>(&mut self, name: &'static str, run: KernelRun<O>) -> Result<O, ChainError> {
        let report = &run.run.report;
        self.done.push(Stage {
            name,
            cycles: report.cycles,
            bound_cycles: run.bound.0,
        });
        let end = report.end.to_string();
        if !report.findings.is_empty() {
            return Err(ChainError::Findings {
                stage: name,
                findings: report.findings.len(),
            });
        }
        run.output
            .ok_or(ChainError::Unfinished { stage: name, end })
    }
}

/// Complex numbers as consecutive floats.
fn floats(z: &[Complex32]) -> Vec<f32> {
    z.iter().flat_map(|z| [z.re, z.im]).collect()
}

/// The reverse of [`floats`].
fn numbers(x: &[f32]) -> Vec<Complex32> {
    x.chunks_exact(2)
        .map(|z| Complex32::new(z[0], z[1]))
        .collect()
}

/// Adds the costs of `more` to those of `all`, stage by stage.
pub fn add_stages(all: &mut Vec<Stage>, more: &[Stage]) {
    for stage in more {
        match all.iter_mut().find(|s| s.name == stage.name) {
            Some(sum) => {
                sum.cycles += stage.cycles;
                sum.bound_cycles += stage.bound_cycles;
            }
            None => all.push(stage.clone()),
        }
    }
}
