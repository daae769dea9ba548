//! The stages of a chain, put together to one job.

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

/// What one stage cost.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct StageCost {
    /// The stage.
    pub name: &'static str,
    /// The programs that the planner chose for it, in the order in which they run.
    pub programs: Vec<String>,
    /// Simulated cycles from the end of the stage before to its own, everything included.
    pub cycles: u64,
    /// What it should take: the price of its plan in cycles, where that is known before it runs.
    pub expected_cycles: Option<u64>,
    /// Where they went, by cause; they add up to `cycles`.
    pub causes: BTreeMap<String, u64>,
    /// The proved limit in cycles.
    pub bound_cycles: u64,
    /// The best known algorithm's time in cycles.
    pub reference_cycles: u64,
    /// What the reference is the time of.
    pub reference_method: String,
    /// Where that is published.
    pub reference_source: String,
}

/// A stage of a job.
#[derive(Debug)]
struct PlannedStage {
    name: &'static str,
    programs: Vec<String>,
    figures: Figures,
}

/// A chain being put together: a job, and what its passes belong to.
#[derive(Debug)]
pub(super) struct ChainBuilder {
    job: Job,
    planned: Vec<PlannedStage>,
}

impl ChainBuilder {
    pub(super) fn new(job: Job) -> Self {
        Self {
            job,
            planned: Vec::new(),
        }
    }

    /// The job, for what belongs to no stage.
    pub(super) fn job(&mut self) -> &mut Job {
        &mut self.job
    }

    /// Adds a stage, which leaves an array for those behind it.
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

    /// Runs the job: what `read` fetches of a run that finished.
    pub(super) fn run<O>(
        self,
        figures: Figures,
        read: impl FnOnce(&FinishedRun) -> Result<O, HostError>,
    ) -> Result<KernelRun<O>, ChainError> {
        let last = self.planned.last().map_or("", |stage| stage.name);
        staged(last, self.job.run(figures, read))
    }

    /// The chain, whose results are these arrays.
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

/// A chain on a block of samples as one job, nothing of it done yet: what a stage leaves lies in system memory for the next one.
#[derive(Debug)]
pub struct ChainJob {
    stages: ChainBuilder,
    spectra: Buffer<Complex32>,
    decibels: Buffer<f32>,
}

impl ChainJob {
    /// The job, whose outputs are arrays of this shape.
    pub(super) fn task(self, shape: &[usize]) -> Task {
        let (spectra, decibels) = (self.spectra, self.decibels);
        let shape = shape.to_vec();
        Task::reading(self.stages.job, move |run| {
            let data = NamedArrays::from_array("spectra", &shape, run.read(spectra)?);
            Ok(data.add_array("decibels", &shape, run.read(decibels)?))
        })
    }

    /// Runs it: what the chain makes of the block, and the run.
    ///
    /// # Errors
    /// A stage does not finish, or the checkers object to it.
    pub fn run(self) -> Result<(Received, FinishedRun), ChainError> {
        let (spectra, decibels) = (self.spectra, self.decibels);
        let ChainBuilder { job, planned } = self.stages;
        let last = planned.last().map_or("", |stage| stage.name);
        let prices = job.prices().unwrap_or_default();
        let read = |run: &FinishedRun| Ok((run.read(spectra)?, run.read(decibels)?));
        let KernelRun { output, run, .. } = staged(last, job.run(Figures::default(), read))?;
        if let Some(first) = run.report.findings.first() {
            return Err(ChainError::Findings {
                stage: at(&planned, &run.report, first.cycle),
                first: first.clone(),
                rest: run.report.findings.len() - 1,
            });
        }
        let Some((spectra, decibels)) = output else {
            return Err(ChainError::Unfinished {
                stage: at(&planned, &run.report, run.report.cycles),
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

/// The stage that was under way in a cycle.
fn at(planned: &[PlannedStage], report: &RunReport, cycle: u64) -> &'static str {
    let ended = report.parts.partition_point(|part| part.until <= cycle);
    let stage = planned.get(ended).or(planned.last());
    stage.map_or("", |stage| stage.name)
}

/// What the stages cost whose parts of the run have ended.
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
