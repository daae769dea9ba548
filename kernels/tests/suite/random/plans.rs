//! Checks that the planner's choice is the fastest of its candidates.

use super::trial::Ran;
use cp2_emu::Engine;
use cp2_host::DeviceOptions;
use cp2_kernels::conv::{Convolver, FilterSample};
use cp2_kernels::fft::{FftNd, FftPlanner, FftRun, TransformDirection};
use cp2_machine::Machine;
use cp2_problems::conv::{ConvProblem, OutputRate};
use num_complex::Complex32;
use std::sync::Arc;

/// Fraction by which the plan that is taken may be slower than the fastest.
const SLOWER: f64 = 0.03;

/// Most candidates of a problem that are run.
const WAYS: usize = 5;

type Failed = Box<dyn std::error::Error>;

/// Checks that no candidate of the planner is more than 3 % faster than the plan that was taken.
pub(crate) fn is_the_fastest(ran: &Ran<'_>) -> Result<(), String> {
    let taken = ran.run.run.report.cycles;
    for (way, cycles) in ways(ran).map_err(|e| format!("another way: {e}"))? {
        if taken as f64 > (1.0 + SLOWER) * cycles as f64 {
            let percent = 100.0 * (taken as f64 / cycles as f64 - 1.0);
            return Err(format!(
                "took {taken} cycles, {percent:.1} % more than {cycles} by {way}"
            ));
        }
    }
    Ok(())
}

/// Runs other plans of the problem; returns their names and cycles.
fn ways(ran: &Ran<'_>) -> Result<Vec<(String, u64)>, Failed> {
    let (name, size) = (ran.trial.subject.name(), &ran.trial.size);
    let machine = ran.trial.machine.clone();
    let direction = match size.word("direction") {
        Ok("inverse") => TransformDirection::Inverse,
        _ => TransformDirection::Forward,
    };
    if let Some(problem) = ran.problem.downcast_ref::<ConvProblem>() {
        return match (problem.rate(), problem.is_real()) {
            (OutputRate::SAME, true) => filters(&machine, problem, 0.0f32),
            (OutputRate::SAME, false) => filters(&machine, problem, Complex32::default()),
            // Filters at other rates have no list of candidates.
            _ => Ok(Vec::new()),
        };
    }
    let [n, batch] = match name {
        "fft" | "fft-real" => [size.length("n")?, size.length("batch")?],
        "fft-nd" => [1, size.length("batch")?],
        _ => return Ok(Vec::new()),
    };
    let planner = FftPlanner::with_batch(machine.clone(), batch);
    let mut ways = Vec::new();
    match name {
        "fft" => {
            for way in planner.candidates(n, direction)?.into_iter().take(WAYS) {
                if way.fft.max_batch() >= batch {
                    ways.push(run(&*way.fft, batch)?);
                }
            }
        }
        "fft-real" if direction == TransformDirection::Forward => {
            for fft in planner.real_forward_candidates(n)?.iter().take(WAYS) {
                // A plan that lacks something of the machine has no price, and is never taken.
                if fft.expected(batch).is_err() {
                    continue;
                }
                let done = fft.process_with(&vec![0.0; n * batch], options())?;
                ways.push((fft.recipe_for(batch), done.run.report.cycles));
            }
        }
        "fft-real" => {
            let input = vec![Complex32::default(); (n / 2 + 1) * batch];
            for fft in planner.real_inverse_candidates(n)?.iter().take(WAYS) {
                if fft.expected(batch).is_err() {
                    continue;
                }
                let done = fft.process_with(&input, options())?;
                ways.push((fft.recipe_for(batch), done.run.report.cycles));
            }
        }
        _ => {
            let axes = ["planes", "rows", "columns"].map(|axis| size.length(axis));
            let axes = axes.into_iter().collect::<Result<Vec<_>, _>>()?;
            let skipped = usize::from(axes[0] == 1);
            let fft = FftNd::new(&axes[skipped..], direction, machine)?;
            for way in fft.plans(batch)?.iter().take(WAYS) {
                ways.push(run(way, batch)?);
            }
        }
    }
    Ok(ways)
}

/// Returns the cycles of the kernels that a filter can take, on samples that are all `zero`.
fn filters<T: FilterSample>(
    machine: &Arc<Machine>,
    problem: &ConvProblem,
    zero: T,
) -> Result<Vec<(String, u64)>, Failed> {
    let (taps, channels, samples) = (problem.taps(), problem.channels(), problem.samples());
    let all = Convolver::plan_all::<T>(machine, taps, channels, samples, problem.mode())?;
    let input = vec![zero; channels * samples];
    let fitting = all
        .iter()
        .filter(|filter| filter.fits::<T>(input.len()).is_ok());
    let run = |filter: &Convolver| {
        let done = filter.process_with(&input, options())?;
        Ok((filter.kernel().to_owned(), done.run.report.cycles))
    };
    fitting.take(WAYS).map(run).collect()
}

/// Runs a plan on a batch of zeros: its cycles do not depend on the numbers.
fn run(fft: &dyn cp2_kernels::fft::Fft, batch: usize) -> Result<(String, u64), Failed> {
    let done: FftRun =
        fft.process_with(&vec![Complex32::default(); fft.len() * batch], options())?;
    Ok((fft.recipe(), done.run.report.cycles))
}

fn options() -> DeviceOptions {
    DeviceOptions {
        engine: Engine::Fast,
        ..DeviceOptions::default()
    }
}
