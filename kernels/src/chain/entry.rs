//! Registry entries of radar and sonar, and their planners for the backend.

use super::{
    ChainError, RadarPlan, RadarProblem, Receiver, ReceiverProblem as _, SonarPlan, SonarProblem,
};
use crate::backend::{Failure, Method};
use crate::catalogue::KernelFolder;
use crate::registry::{Entry, SizeParameter};
use cp2_machine::{Extensions, Machine};
use cp2_problems::Problem;
use std::sync::Arc;

/// Planners and registry entries of this folder.
pub(crate) const ENTRIES: KernelFolder = KernelFolder {
    planners: &[radar, sonar],
    entries: &KERNELS,
};

/// Registry entries of whole receivers.
const KERNELS: [Entry; 2] = [
    Entry {
        name: "radar",
        summary: "pulse-Doppler radar: pulse compression, corner turn, window, FFT over the pulses, decibels",
        sources: &[],
        parameters: &[
            SizeParameter::new("pulses", 128, "pulses that are processed together: even"),
            SizeParameter::new("ranges", 1024, "range cells: even"),
            SizeParameter::new("chirp", 64, "samples of the chirp that is sent"),
        ],
        sizes: &["32 128 32", "64 256 32", "128 1024 64"],
        below: None,
        extensions: Extensions::EXCHANGE,
        problem: |_, size| Ok(Arc::new(RadarProblem::from_size(size)?)),
        plan: radar,
    },
    Entry {
        name: "sonar",
        summary: "passive sonar: decimating filters, corner turns, beamforming, window, FFT, decibels",
        sources: &[],
        parameters: &[
            SizeParameter::new("hydrophones", 32, "hydrophones: even"),
            SizeParameter::new("beams", 32, "beams: even"),
            SizeParameter::new("samples", 16_384, "samples of each hydrophone"),
            SizeParameter::new("decimate", 4, "samples for one of the filtered signal"),
            SizeParameter::new("taps", 64, "taps of the filter"),
            SizeParameter::new("points", 256, "points of a spectrum: even"),
        ],
        sizes: &[
            "8 8 512 4 64 64",
            "16 16 2048 4 64 128",
            "32 32 16384 4 64 256",
        ],
        below: None,
        extensions: Extensions::EXCHANGE,
        problem: |_, size| Ok(Arc::new(SonarProblem::from_size(size)?)),
        plan: sonar,
    },
];

/// A planned problem; none if the problem is not of the planner's type.
type ChainMethod = Option<Result<Method, Failure>>;

/// Plans a radar, if the problem is one.
pub(crate) fn radar(machine: &Arc<Machine>, problem: &dyn Problem) -> ChainMethod {
    let problem = problem.downcast_ref::<RadarProblem>()?;
    Some(method(RadarPlan::new(problem.clone(), machine)))
}

/// Plans a sonar, if the problem is one.
pub(crate) fn sonar(machine: &Arc<Machine>, problem: &dyn Problem) -> ChainMethod {
    let problem = problem.downcast_ref::<SonarProblem>()?;
    Some(method(SonarPlan::new(problem.clone(), machine)))
}

/// Makes a method of a planned receiver.
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
            let job = plan.job(input.get_sized("x", rows * samples)?, &options)?;
            Ok(job.task(&shape))
        },
    ))
}
