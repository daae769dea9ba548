//! The stages of a chain: put together as one job, with the cost of each.

use super::error::staged;
use super::{ChainError, Received};
use crate::backend::Task;
use crate::job::{Job, KernelRun};
use cp2_host::{Buffer, FinishedRun, HostError, MemoryElement, RunPart, RunReport};
use cp2_problems::NamedArrays;
use cp2_reference::Figures;
use num_complex::Complex32;
use std::collections::BTreeMap;
use std::error::Error;

/// Cost of one stage.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct StageCost {
    /// Name of the stage.
    pub name: &'static str,
    /// Programs that the planner chose for the stage, in the order in which they first run.
    pub programs: Vec<String>,
    /// Simulated cycles from the end of the stage before to the end of this one, everything included.
    pub cycles: u64,
    /// Price of the stage's plan in cycles, where it is known before the run.
    pub expected_cycles: Option<u64>,
    /// Cycles by cause; they add up to `cycles`.
    pub causes: BTreeMap<String, u64>,
    /// Proved limit in cycles.
    pub bound_cycles: u64,
    /// Time of the best known algorithm in cycles.
    pub reference_cycles: u64,
    /// Name of the algorithm that the reference is the time of.
    pub reference_method: String,
    /// Publication of that algorithm.
    pub reference_source: String,
}

/// A stage of a job with its programs and figures.
#[derive(Debug)]
struct PlannedStage {
    name: &'static str,
    programs: Vec<String>,
    figures: Figures,
}

/// A chain being put together: a job, and the stages that its passes belong to.
#[derive(Debug)]
pub(super) struct ChainBuilder {
    job: Job,
    planned: Vec<PlannedStage>,
}

impl ChainBuilder {
    /// Begins a chain in a job.
    pub(super) fn new(job: Job) -> Self {
        Self {
            job,
            planned: Vec::new(),
        }
    }

    /// Returns the job, for arrays that belong to no stage.
    pub(super) fn job(&mut self) -> &mut Job {
        &mut self.job
    }

    /// Adds a stage, which leaves an array for the stages behind it.
    pub(super) fn add<O: MemoryElement, E: Error + Send + Sync + 'static>(
        &mut self,
        name: &'static str,
        figures: Figures,
        append: impl FnOnce(&mut Job) -> Result<Buffer<O>, E>,
    ) -> Result<Buffer<O>, ChainError> {
        let before = self.job.passes().len();
        let left = staged(name, append(&mut self.job))?;
        self.job.hand_on(left);
        self.job.mark(name);
        let mut programs: Vec<String> = Vec::new();
        for pass in self.job.passes().iter().skip(before) {
            let program = &pass.program().name;
            if !programs.contains(program) {
                programs.push(program.clone());
            }
        }
        self.planned.push(PlannedStage {
            name,
            programs,
            figures,
        });
        Ok(left)
    }

    /// Runs the job; `read` fetches the output of a run that finished.
    pub(super) fn run<O>(
        self,
        figures: Figures,
        read: impl FnOnce(&FinishedRun) -> Result<O, HostError>,
    ) -> Result<KernelRun<O>, ChainError> {
        let last = self.planned.last().map_or("", |stage| stage.name);
        staged(last, self.job.run(figures, read))
    }

    /// Ends the chain: these arrays are its results.
    pub(super) fn ending(
        mut self,
        spectra: Buffer<Complex32>,
        decibels: Buffer<f32>,
        shape: &[u64],
    ) -> ChainJob {
        self.job.result("spectra", spectra, shape);
        self.job.result("decibels", decibels, shape);
        ChainJob {
            stages: self,
            spectra,
            decibels,
        }
    }
}

/// The job of a chain on a block of samples, ready to run.
#[derive(Debug)]
pub struct ChainJob {
    stages: ChainBuilder,
    spectra: Buffer<Complex32>,
    decibels: Buffer<f32>,
}

impl ChainJob {
    /// Turns the chain into a task of the backend; its outputs have this shape.
    pub(super) fn task(self, shape: &[usize]) -> Task {
        let (spectra, decibels) = (self.spectra, self.decibels);
        let shape = shape.to_vec();
        Task::reading(self.stages.job, move |run| {
            let data = NamedArrays::from_array("spectra", &shape, run.read(spectra)?);
            Ok(data.add_array("decibels", &shape, run.read(decibels)?))
        })
    }

    /// Runs the job; returns the spectra with the cost of all stages, and the run.
    ///
    /// # Errors
    /// A stage does not finish, or the checkers find something in it.
    pub fn run(self) -> Result<(Received, FinishedRun), ChainError> {
        let (spectra, decibels) = (self.spectra, self.decibels);
        let ChainBuilder { job, planned } = self.stages;
        let last = planned.last().map_or("", |stage| stage.name);
        let prices = job.prices().unwrap_or_default();
        let read = |run: &FinishedRun| Ok((run.read(spectra)?, run.read(decibels)?));
        let KernelRun { output, run, .. } = staged(last, job.run(Figures::default(), read))?;
        if let Some(first) = run.report.findings.first() {
            return Err(ChainError::Findings {
                stage: find_running_stage(&planned, &run.report, first.cycle),
                first: first.clone(),
                rest: run.report.findings.len() - 1,
            });
        }
        let Some((spectra, decibels)) = output else {
            return Err(ChainError::Unfinished {
                stage: find_running_stage(&planned, &run.report, run.report.cycles),
                end: run.report.end,
            });
        };
        let received = Received {
            spectra,
            decibels,
            stages: costs(&planned, &run.report.parts, &prices),
        };
        Ok((received, run))
    }
}

/// Returns the name of the stage that was running in a cycle.
fn find_running_stage(planned: &[PlannedStage], report: &RunReport, cycle: u64) -> &'static str {
    let ended = report.parts.partition_point(|part| part.until <= cycle);
    let stage = planned.get(ended).or(planned.last());
    stage.map_or("", |stage| stage.name)
}

/// Returns the costs of the stages that have ended.
fn costs(planned: &[PlannedStage], parts: &[RunPart], prices: &[u64]) -> Vec<StageCost> {
    let stages = planned.iter().zip(parts).enumerate();
    let until = |stage: usize| prices.get(stage).copied();
    let price = |stage: usize| {
        let begin = stage.checked_sub(1).map_or(Some(0), until)?;
        Some(until(stage)? - begin)
    };
    stages
        .map(|(number, (stage, part))| StageCost {
            name: stage.name,
            programs: stage.programs.clone(),
            cycles: part.cycles,
            expected_cycles: price(number),
            causes: part.causes.to_map(),
            bound_cycles: stage.figures.bound.0,
            reference_cycles: stage.figures.reference.0,
            reference_method: stage.figures.method.clone(),
            reference_source: stage.figures.source.clone(),
        })
        .collect()
}

/// Adds the costs of `more` to those of `all`, stage by stage.
pub fn add_stages(all: &mut Vec<StageCost>, more: &[StageCost]) {
    for stage in more {
        match all.iter_mut().find(|s| s.name == stage.name) {
            Some(sum) => {
                sum.cycles += stage.cycles;
                let both = sum.expected_cycles.zip(stage.expected_cycles);
                sum.expected_cycles = both.map(|(a, b)| a + b);
                sum.bound_cycles += stage.bound_cycles;
                sum.reference_cycles += stage.reference_cycles;
                for (cause, cycles) in &stage.causes {
                    *sum.causes.entry(cause.clone()).or_default() += cycles;
                }
            }
            None => all.push(stage.clone()),
        }
    }
}
