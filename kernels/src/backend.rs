//! The emulated CP2 as one of the backends that compute problems.

mod method;

pub use method::{Failure, Method, Task};

use crate::catalogue::CATALOGUE;
use cp2_host::{DeviceOptions, RunReport};
use cp2_machine::Machine;
use cp2_problems::{
    Backend, Clock, NamedArrays, Outcome, Prepared, Problem, Refusal, Report, RunError,
};
use cp2_reference::Figures;
use std::sync::Arc;

/// Function that plans a problem, if it is of the type that the function recognises.
pub(crate) type PlanProblem = fn(&Arc<Machine>, &dyn Problem) -> Option<Result<Method, Failure>>;

/// Kinds of problems in the table of [`KINDS`](cp2_problems::KINDS) that no kernel computes, each with the reason.
pub const REFUSED_KINDS: &[(&str, &str)] = &[(
    "himeno",
    "no kernel pages its fourteen arrays; take --backend native or gpu for it",
)];

/// A backend of an emulated machine with CP2, which computes every problem by the library's fastest method.
///
/// ```
/// use cp2_kernels::{Cp2Backend, Cp2Report};
/// use cp2_machine::Machine;
/// use cp2_problems::fft::{TransformDirection, FftProblem};
/// use cp2_problems::{Backend, Case, Clock, Problem, run_judged};
///
/// let vm7 = Cp2Backend::new(Machine::builtin("vm7").unwrap().into());
/// let fft = FftProblem::new(128, TransformDirection::Forward, 5)?;
/// let mut prepared = vm7.prepare(&fft)?;
/// // A result that is wrong is an error.
/// let judged = run_judged(&mut *prepared, &fft, &fft.input(Case::Random, 42))?;
/// assert_eq!(judged.outcome.clock, Clock::Simulated);
/// let report = judged.outcome.report.unwrap();
/// let report = report.downcast_ref::<Cp2Report>().unwrap();
/// assert!(report.figures.bound.get() <= report.run.cycles);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Cp2Backend {
    machine: Arc<Machine>,
    options: DeviceOptions,
}

impl Cp2Backend {
    /// Creates a backend of a machine, with default options.
    #[must_use]
    pub fn new(machine: Arc<Machine>) -> Self {
        Self::with_options(machine, DeviceOptions::default())
    }

    /// Creates a backend of a machine whose devices run with options.
    #[must_use]
    pub fn with_options(machine: Arc<Machine>, options: DeviceOptions) -> Self {
        Self { machine, options }
    }

    /// Plans how `problem` is computed.
    ///
    /// # Errors
    /// See [`Backend::prepare`].
    pub fn method(&self, problem: &dyn Problem) -> Result<Method, Refusal> {
        let mut planners = CATALOGUE.iter().flat_map(|folder| folder.planners);
        let planned = planners.find_map(|plan| plan(&self.machine, problem));
        let planned = planned.ok_or_else(|| self.refuse(problem))?;
        planned.map_err(|source| Refusal::Unfit {
            backend: self.name(),
            problem: problem.title(),
            source,
        })
    }

    /// Says why no kernel computes a problem.
    fn refuse(&self, problem: &dyn Problem) -> Refusal {
        let mut listed = REFUSED_KINDS.iter();
        match listed.find(|(kind, _)| *kind == problem.name()) {
            Some(&(_, reason)) => Refusal::Unfit {
                backend: self.name(),
                problem: problem.title(),
                source: reason.into(),
            },
            None => Refusal::Unknown {
                backend: self.name(),
                problem: problem.name(),
            },
        }
    }
}

impl Backend for Cp2Backend {
    fn name(&self) -> String {
        self.machine.name.clone()
    }

    fn prepare(&self, problem: &dyn Problem) -> Result<Box<dyn Prepared>, Refusal> {
        Ok(Box::new(PlannedProblem {
            method: self.method(problem)?,
            options: self.options.clone(),
        }))
    }
}

/// A problem planned on a machine, ready for inputs.
#[derive(Debug)]
struct PlannedProblem {
    method: Method,
    options: DeviceOptions,
}

impl Prepared for PlannedProblem {
    fn recipe(&self) -> Option<String> {
        self.method.recipe.clone()
    }

    fn run(&mut self, input: &NamedArrays) -> Result<Outcome, RunError> {
        let task = self.method.task(input, self.options.clone());
        let done = task.map_err(RunError::Backend)?;
        let figures = self.method.figures.clone();
        let done = done.run(figures.clone());
        let done = done.map_err(|e| RunError::Backend(e.into()))?;
        let run = done.run.report;
        let output = done.output.ok_or_else(|| RunError::Unfinished {
            end: run.end.to_string(),
        })?;
        Ok(Outcome {
            output,
            seconds: run.seconds_simulated,
            clock: Clock::Simulated,
            report: Some(Box::new(Cp2Report { run, figures })),
        })
    }
}

/// Report of a run on an emulated CP2.
#[derive(Debug)]
pub struct Cp2Report {
    /// Cycles and their causes.
    pub run: RunReport,
    /// The proved limit and the time of the best known program.
    pub figures: Figures,
}

impl Report for Cp2Report {
    fn text(&self) -> String {
        format!("{} cycles, {}", self.run.cycles, self.figures.text())
    }
}
