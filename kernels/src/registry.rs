//! The registry of kernels, as the performance model and the tables see them.
//!
//! A kernel has sizes, a problem, the least that it must compute and move, and a job that measures it.
//!
//! Every run is judged by the kernel's problem, so there are no cycles of a wrong result.
//!
//! A test fails if a kernel is not in [`all`], and so does one if the model does not explain the measured
//! cycles of a kernel.

mod entry;
mod prepared;
mod procedure;
mod rivals;

pub use cp2_problems::{Size, SizeError, SizeParameter, SizeValue};
pub use entry::Entry;
pub use prepared::{Computed, PreparedRow};
pub use procedure::procedure;
pub use rivals::find_rival;

use crate::backend::Method;
use crate::catalogue::CATALOGUE;
use crate::job::JobError;
use cp2_emu::Engine;
use cp2_host::DeviceOptions;
use cp2_machine::{Extensions, Machine};
use cp2_model::{Estimate, ModelError, System, cp2};
use cp2_problems::{Case, Problem, Verdict};
use cp2_reference::Figures;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Returns every kernel, in the order of the tables.
#[must_use]
pub fn all() -> Vec<&'static dyn Kernel> {
    entries().map(|k| k as &dyn Kernel).collect()
}

/// Iterates over the entries of all folders.
fn entries() -> impl Iterator<Item = &'static Entry> {
    CATALOGUE.iter().flat_map(|folder| folder.entries)
}

/// Finds the kernel of a name.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Kernel> {
    all().into_iter().find(|k| k.name() == name)
}

/// The efficiency below which the table gives a reason for a row.
pub const LOW: f64 = 0.3;

/// A kernel of the library.
pub trait Kernel: Sync {
    /// Returns the name on the command line and in tables.
    fn name(&self) -> &'static str;

    /// Returns a description of what the kernel computes, in one line.
    fn summary(&self) -> &'static str;

    /// Returns the paths of the assembly files, relative to `kernels/src`.
    fn sources(&self) -> &'static [&'static str];

    /// Returns the parameters that make up a size.
    fn parameters(&self) -> &'static [SizeParameter];

    /// Returns the sizes in the tables.
    fn sizes(&self) -> Vec<Size>;

    /// Returns the reason why rows of the table have an efficiency below [`LOW`], if there are such rows.
    fn explain_low_efficiency(&self) -> Option<&'static str>;

    /// Returns the extensions that plans of the kernel, or its references, may make use of. A machine with others
    /// besides has the same plans, at the same price.
    fn extensions(&self) -> Extensions;

    /// Returns the problem that the kernel computes at a size.
    ///
    /// # Errors
    /// A size the kernel does not have.
    fn problem(&self, size: &Size) -> Result<Arc<dyn Problem>, KernelError>;

    /// Plans a problem on a machine; no input is made yet.
    ///
    /// # Errors
    /// Another problem than the kernel's, or one that does not fit the machine.
    fn method(&self, problem: &dyn Problem, machine: &Arc<Machine>) -> Result<Method, KernelError>;

    /// Puts a job of that size together, on a random input; nothing runs.
    ///
    /// # Errors
    /// A size the kernel does not have, or that does not fit the machine.
    fn prepare(
        &self,
        size: &Size,
        machine: &Arc<Machine>,
        options: DeviceOptions,
    ) -> Result<PreparedRow, KernelError> {
        self.prepare_input(size, machine, options, (Case::Random, 1))
    }

    /// Puts a job of a size together, on the input of a case and seed; nothing runs.
    ///
    /// # Errors
    /// See [`Kernel::prepare`].
    fn prepare_input(
        &self,
        size: &Size,
        machine: &Arc<Machine>,
        options: DeviceOptions,
        (case, seed): (Case, u64),
    ) -> Result<PreparedRow, KernelError> {
        let problem = self.problem(size)?;
        let method = self.method(&*problem, machine)?;
        let input = problem.input(case, seed);
        let task = method.task(&input, options);
        let task = task.map_err(|e| KernelError::wrap_error(self.name(), e))?;
        Ok(PreparedRow {
            kernel: self.name(),
            task,
            problem,
            input,
            recipe: method.recipe,
            figures: method.figures,
            operations: method.operations,
        })
    }
}

/// Why a kernel of the registry could not be prepared or measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The size is not one of the kernel's.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// The kernel refuses the problem.
    #[error("{kernel}: {source}")]
    Kernel {
        /// Name of the kernel.
        kernel: &'static str,
        /// Error of the kernel.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The job could not be carried out.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The model does not know something that the kernel asks for.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The problem given is not of the kernel's type.
    #[error("{kernel} computes no `{problem}`")]
    OtherProblem {
        /// Name of the kernel.
        kernel: &'static str,
        /// The kind of problem it was given.
        problem: &'static str,
    },
    /// The result is wrong.
    #[error(
        "{kernel}, {problem}{}: the result is wrong: its error is {} times what is allowed, relative RMS {:.2e}",
        recipe.as_ref().map_or_else(String::new, |recipe| format!(", by {recipe}")), verdict.worst, verdict.rms
    )]
    Wrong {
        /// Name of the kernel.
        kernel: &'static str,
        /// Title of the problem.
        problem: String,
        /// Recipe that was chosen, where the kernel has several.
        recipe: Option<String>,
        /// Judgement of the result, with its errors.
        verdict: Verdict,
    },
    /// The run did not finish.
    #[error("{kernel}, {size}: {end}")]
    Unfinished {
        /// Name of the kernel.
        kernel: &'static str,
        /// The size.
        size: String,
        /// Reason for which the run ended.
        end: String,
    },
}

impl KernelError {
    /// Wraps a kernel's own error.
    pub fn wrap_error(
        kernel: &'static str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Kernel {
            kernel,
            source: source.into(),
        }
    }
}

/// A row of the performance table.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct PerformanceRow {
    /// Name of the kernel.
    pub kernel: &'static str,
    /// Size, as text.
    pub size: String,
    /// Parameters of the size by name.
    pub parameters: BTreeMap<&'static str, SizeValue>,
    /// Name of the machine.
    pub machine: String,
    /// Hash of the machine's parameters.
    pub machine_hash: String,
    /// Engine that emulated it.
    pub engine: Engine,
    /// Number of passes of the job that put the user's arrays into the kernels' layouts, or results into his.
    pub relayouts: usize,
    /// Price of the job's plan, in cycles: what it should take.
    pub expected_cycles: Option<u64>,
    /// Cycles that the model expects by formula.
    pub model_cycles: f64,
    /// Cycles that the emulator measures.
    pub emulated_cycles: u64,
    /// Model cycles / emulated cycles: at most 1.
    pub ratio: f64,
    /// Term of the model that limits the expected time.
    pub limit: String,
    /// Busy time of the DMA channel / busy time of the computing unit that is busiest, as the model expects: at
    /// most 1 is balanced. None if nothing computes.
    pub balance: Option<f64>,
    /// The proved limit and the time of the best known algorithm, in cycles: `bound_cycles`,
    /// `reference_cycles` and its name.
    #[serde(flatten)]
    pub figures: Figures,
    /// Reference cycles / emulated cycles: at most 1.
    pub efficiency: f64,
}

/// A row that is priced and not run: nothing judges its result.
#[derive(Clone, Debug, PartialEq)]
pub struct PricedRow {
    /// Price of the job's plan, in cycles: what it should take.
    pub cycles: u64,
    /// Term of the model that limits the expected time.
    pub limit: String,
    /// See [`PerformanceRow::balance`].
    pub balance: Option<f64>,
    /// The proved limit and the time of the best known algorithm.
    pub figures: Figures,
}

/// Prices one size of a kernel; none if the job's time depends on what it computes.
///
/// # Errors
/// The kernel does not have the size, or it does not fit the machine.
pub fn price(
    kernel: &dyn Kernel,
    size: &Size,
    machine: &Arc<Machine>,
) -> Result<Option<PricedRow>, KernelError> {
    let prepared = kernel.prepare(size, machine, DeviceOptions::default())?;
    let Some(cycles) = prepared.task.job.expected() else {
        return Ok(None);
    };
    let expected = prepared.estimate(kernel.name())?;
    Ok(Some(PricedRow {
        cycles: cycles.get(),
        balance: channel_balance(&expected),
        limit: expected.limit,
        figures: prepared.figures,
    }))
}

/// Returns the balance of the DMA channel in an estimate, see [`PerformanceRow::balance`].
fn channel_balance(expected: &Estimate) -> Option<f64> {
    let channel = expected.balance.iter().find(|one| one.channel == cp2::DMA);
    channel.and_then(|balance| balance.factor)
}

/// Estimates and measures one size of a kernel, and judges its result.
///
/// # Errors
/// The kernel does not have the size, the run does not finish, or its result is wrong.
pub fn measure(
    kernel: &dyn Kernel,
    size: &Size,
    machine: &Arc<Machine>,
    options: DeviceOptions,
) -> Result<PerformanceRow, KernelError> {
    let engine = options.engine.resolve_engine(machine);
    let prepared = kernel.prepare(size, machine, options)?;
    let expected = prepared.estimate(kernel.name())?;
    let run = prepared.run()?;
    let report = &run.run.report;
    if run.output.is_none() {
        return Err(KernelError::Unfinished {
            kernel: kernel.name(),
            size: size.to_string(),
            end: report.end.to_string(),
        });
    }
    let model_cycles = System::from_machine(machine).cycles(expected.seconds);
    Ok(PerformanceRow {
        kernel: kernel.name(),
        size: size.to_string(),
        parameters: size.iter().map(|(n, v)| (n, v.clone())).collect(),
        machine: machine.name.clone(),
        machine_hash: machine.hash.clone(),
        engine,
        relayouts: run.passes.iter().filter(|pass| pass.is_relayout()).count(),
        expected_cycles: run.expected.map(|price| price.0),
        model_cycles,
        emulated_cycles: report.cycles,
        ratio: model_cycles / report.cycles.max(1) as f64,
        balance: channel_balance(&expected),
        limit: expected.limit,
        efficiency: run.efficiency(),
        figures: run.figures,
    })
}
