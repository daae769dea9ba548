//! A kernel's job on an input of its problem, ready to run and be judged.

use super::{KernelError, procedure};
use crate::backend::Task;
use crate::job::KernelRun;
use cp2_machine::Class;
use cp2_model::{Estimate, ModelError, Procedure, System, estimate};
use cp2_problems::{NamedArrays, Problem, Verdict};
use cp2_reference::Figures;
use std::sync::Arc;

/// A job that is ready to run, with what its algorithm must issue and how its result is judged.
#[derive(Debug)]
pub struct PreparedRow {
    pub(super) kernel: &'static str,
    pub(super) task: Task,
    /// The problem that the job computes.
    pub problem: Arc<dyn Problem>,
    /// The input that the job computes on.
    pub input: NamedArrays,
    /// Recipe that was chosen, in words, where a kernel has several.
    pub recipe: Option<String>,
    /// The proved limit and the time of the best known program, for the whole computation.
    pub figures: Figures,
    /// See [`Method::operations`](crate::Method::operations).
    pub operations: Vec<Vec<(Class, u64)>>,
}

impl PreparedRow {
    /// Returns the job as a procedure of the model.
    #[must_use]
    pub fn procedure(&self, name: &str) -> Procedure {
        procedure(name, &self.task.job, &self.operations)
    }

    /// Returns the model's estimate of the job's time.
    ///
    /// # Errors
    /// The machine lacks something the procedure asks for.
    pub fn estimate(&self, name: &str) -> Result<Estimate, ModelError> {
        let system = System::from_machine(self.task.job.machine());
        estimate(&self.procedure(name), &system)
    }

    /// Runs the job and judges the result.
    ///
    /// # Errors
    /// The device refuses a command, or the result is wrong. A run that does not finish is no error:
    /// it has no output and a report that says why.
    pub fn run(self) -> Result<KernelRun<Computed>, KernelError> {
        let done = self.task.run(self.figures)?;
        done.with_output(|output, _| {
            let verdict = self.problem.judge(&self.input, &output);
            if verdict.is_within_tolerance() {
                return Ok(Computed { output, verdict });
            }
            Err(KernelError::Wrong {
                kernel: self.kernel,
                problem: self.problem.title(),
                recipe: self.recipe,
                verdict,
            })
        })
    }
}

/// A result that was judged to be right.
#[derive(Clone, Debug, PartialEq)]
pub struct Computed {
    /// The result.
    pub output: NamedArrays,
    /// Judgement of the result, with its errors.
    pub verdict: Verdict,
}
