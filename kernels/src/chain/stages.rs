//! The stages of a chain in progress.

use super::ChainError;
use crate::job::KernelRun;
use cp2_host::{Options, Run};
use std::error::Error;
use std::fmt;

/// Is shown the name and the run of every stage that has finished.
pub type Seen<'a> = &'a mut dyn FnMut(&'static str, &Run);

/// What one stage cost.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Stage {
    /// The stage.
    pub name: &'static str,
    /// The programs that the planner chose for it.
    pub programs: Vec<String>,
    /// Simulated cycles, everything included.
    pub cycles: u64,
    /// The proved limit in cycles.
    pub bound_cycles: u64,
    /// The best known algorithm's time in cycles.
    pub reference_cycles: u64,
    /// What the reference is the time of.
    pub reference_method: String,
    /// Where that is published.
    pub reference_source: String,
}

/// A chain in progress: collects what its stages cost.
pub(super) struct Stages<'a> {
    options: Options,
    seen: Seen<'a>,
    pub(super) done: Vec<Stage>,
}

impl fmt::Debug for Stages<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(&self.done).finish()
    }
}

impl<'a> Stages<'a> {
    pub(super) fn new(options: &Options, seen: Seen<'a>) -> Self {
        Self {
            options: options.clone(),
            seen,
            done: Vec::new(),
        }
    }

    /// Runs a stage, books it and takes its result.
    pub(super) fn run<O, E: Error + Send + Sync + 'static>(
        &mut self,
        name: &'static str,
        stage: impl FnOnce(Options) -> Result<KernelRun<O>, E>,
    ) -> Result<O, ChainError> {
        let run = stage(self.options.clone()).map_err(|cause| ChainError::Stage {
            stage: name,
            cause: cause.into(),
        })?;
        if run.run.report.end.is_finished() {
            (self.seen)(name, &run.run);
        }
        let report = run.run.report;
        let mut programs: Vec<String> = Vec::new();
        for pass in &run.passes {
            let program = &pass.program().name;
            if !programs.contains(program) {
                programs.push(program.clone());
            }
        }
        self.done.push(Stage {
            name,
            programs,
            cycles: report.cycles,
            bound_cycles: run.figures.bound.0,
            reference_cycles: run.figures.reference.0,
            reference_method: run.figures.method,
            reference_source: run.figures.source,
        });
        let rest = report.findings.len().saturating_sub(1);
        if let Some(first) = report.findings.into_iter().next() {
            return Err(ChainError::Findings {
                stage: name,
                first,
                rest,
            });
        }
        run.output.ok_or(ChainError::Unfinished {
            stage: name,
            end: report.end,
        })
    }
}

/// Adds the costs of `more` to those of `all`, stage by stage.
pub fn add_stages(all: &mut Vec<Stage>, more: &[Stage]) {
    for stage in more {
        match all.iter_mut().find(|s| s.name == stage.name) {
            Some(sum) => {
                sum.cycles += stage.cycles;
                sum.bound_cycles += stage.bound_cycles;
                sum.reference_cycles += stage.reference_cycles;
            }
            None => all.push(stage.clone()),
        }
    }
}
