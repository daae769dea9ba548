//! Radar and sonar in the registry of kernels.

use super::{ChainError, Radar, RadarProblem, Receiver, ReceiverProblem as _, Sonar, SonarProblem};
use crate::backend::{Failure, Method};
use crate::registry::{Entry, Parameter};
use cp2_machine::Machine;
use cp2_problems::Problem;
use std::sync::Arc;

/// Whole receivers.
pub(crate) const KERNELS: [Entry; 2] = [
    Entry {
        name: "radar",
        summary: "pulse-Doppler radar: pulse compression, corner turn, window, FFT over the pulses, decibels",
        sources: &[],
        parameters: &[
            Parameter::new("pulses", 128, "pulses that are processed together: even"),
            Parameter::new("ranges", 1024, "range cells: even"),
            Parameter::new("chirp", 64, "samples of the chirp that is sent"),
        ],
        sizes: &["32 128 32", "64 256 32", "128 1024 64"],
        below: None,
        problem: |_, size| Ok(Arc::new(RadarProblem::of_size(size)?)),
        plan: radar,
    },
    Entry {
        name: "sonar",
        summary: "passive sonar: decimating filters, corner turns, beamforming, window, FFT, decibels",
        sources: &[],
        parameters: &[
            Parameter::new("hydrophones", 32, "hydrophones: even"),
            Parameter::new("beams", 32, "beams: even"),
            Parameter::new("samples", 16_384, "samples of each hydrophone"),
            Parameter::new("decimate", 4, "samples for one of the filtered signal"),
            Parameter::new("taps", 64, "taps of the filter"),
            Parameter::new("points", 256, "points of a spectrum: even"),
        ],
        sizes: &[
            "8 8 512 4 64 64",
            "16 16 2048 4 64 128",
            "32 32 16384 4 64 256",
        ],
        below: None,
        problem: |_, size| Ok(Arc::new(SonarProblem::of_size(size)?)),
        plan: sonar,
    },
];

/// What is made of a problem, if it is of the type that a function knows.
type Made = Option<Result<Method, Failure>>;

/// The stages of a radar.
pub(crate) fn radar(machine: &Arc<Machine>, problem: &dyn Problem) -> Made {
    let problem = problem.downcast_ref::<RadarProblem>()?;
    Some(method(Radar::new(problem.clone(), machine)))
}

/// The stages of a sonar.
pub(crate) fn sonar(machine: &Arc<Machine>, problem: &dyn Problem) -> Made {
    let problem = problem.downcast_ref::<SonarProblem>()?;
    Some(method(Sonar::new(problem.clone(), machine)))
}

fn method<R>(plan: Result<R, ChainError>) -> Result<Method, Failure>
where
    R: Receiver + Send + Sync + 'static,
{
    let plan = plan?;
    let costs = (plan.figures(), plan.operations());
    let (machine, recipe) = (plan.machine().clone(), Some(plan.recipe()));
    let [rows, samples] = plan.problem().block();
    let shape = plan.problem().spectra();
    Ok(Method::new(
        &machine,
        recipe,
        costs,
        move |input, options| {
            let job = plan.job(input.sized("x", rows * samples)?, &options)?;
            Ok(job.task(&shape))
        },
    ))
}
