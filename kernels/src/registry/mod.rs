//! Every kernel of the library, as the performance model and the tables see
//! it: sizes, what it must compute and move at least, and a job that measures it.
//!
//! A kernel that is not in [`all`] fails a test, and so does one whose
//! measured cycles the model does not explain.

mod entry;
mod procedure;
mod size;

pub use entry::Entry;
pub(crate) use entry::Request;
pub use procedure::procedure;
pub use size::{Parameter, Size, SizeError};

use crate::job::{Job, JobError, KernelRun};
use cp2_emu::Engine;
use cp2_host::Options;
use cp2_machine::{Class, Machine};
use cp2_model::{Estimate, ModelError, Procedure, System, estimate};
use cp2_reference::Figures;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Every kernel, in the order of the tables.
#[must_use]
pub fn all() -> Vec<&'static dyn Kernel> {
    use crate::{conv, dsp, fft};
    let entries = fft::KERNELS.iter().chain(&conv::KERNELS);
    let entries = entries.chain(&dsp::KERNELS);
    entries.map(|k| k as &dyn Kernel).collect()
}

/// The kernel of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static dyn Kernel> {
    all().into_iter().find(|k| k.name() == name)
}

/// A kernel of the library.
pub trait Kernel: Sync {
    /// Its name on the command line and in tables.
    fn name(&self) -> &'static str;

    /// What it computes, in one line.
    fn summary(&self) -> &'static str;

    /// Its assembly files, relative to `kernels/src`.
    fn sources(&self) -> &'static [&'static str];

    /// What a size of it consists of.
    fn parameters(&self) -> &'static [Parameter];

    /// The sizes of the tables.
    fn sizes(&self) -> Vec<Size>;

    /// Puts a job of that size together, on reproducible random data; nothing runs.
    ///
    /// # Errors
    /// A size the kernel does not have, or that does not fit the machine.
    fn prepare(
        &self,
        size: &Size,
        machine: &Arc<Machine>,
        options: Options,
    ) -> Result<Prepared, KernelError> {
        Ok(self.prepare_seeded(size, machine, options, 1)?.prepared)
    }

    /// The same on the random data of a seed, and these as the user has them.
    ///
    /// # Errors
    /// See [`Kernel::prepare`].
    fn prepare_seeded(
        &self,
        size: &Size,
        machine: &Arc<Machine>,
        options: Options,
        seed: u64,
    ) -> Result<Seeded, KernelError>;
}

/// Why a kernel of the registry could not be prepared or measured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum KernelError {
    /// The size is not one of the kernel's.
    #[error(transparent)]
    Size(#[from] SizeError),
    /// The kernel's own refusal.
    #[error("{kernel}: {source}")]
    Kernel {
        /// The kernel.
        kernel: &'static str,
        /// Why.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The job could not be carried out.
    #[error(transparent)]
    Job(#[from] JobError),
    /// The model does not know something that the kernel asks for.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The run did not finish.
    #[error("{kernel}, {size}: {end}")]
    Unfinished {
        /// The kernel.
        kernel: &'static str,
        /// The size.
        size: String,
        /// How it ended.
        end: String,
    },
}

impl KernelError {
    /// Wraps a kernel's own error.
    pub fn of(
        kernel: &'static str,
        source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
    ) -> Self {
        Self::Kernel {
            kernel,
            source: source.into(),
        }
    }
}

/// A job that is ready to run, and what its algorithm asks for.
#[derive(Debug)]
pub struct Prepared {
    /// The job.
    pub job: Job,
    /// What was chosen for it, in words, where a kernel has several ways.
    pub recipe: Option<String>,
    /// What any program and the best known one take for the whole computation.
    pub figures: Figures,
    /// For each pass of the job, the least it has to issue: class, and number of
    /// operations of one section, all sections together; arithmetic, and of the memory
    /// slot what no arithmetic goes along with. A formula of the algorithm, or of
    /// the dataflow of a generated loop, never a count of a run.
    pub operations: Vec<Vec<(Class, u64)>>,
}

impl Prepared {
    /// The job as a procedure of the model.
    #[must_use]
    pub fn procedure(&self, name: &str) -> Procedure {
        procedure(name, &self.job, &self.operations)
    }

    /// What the model expects of it.
    ///
    /// # Errors
    /// The machine lacks something the procedure asks for.
    pub fn estimate(&self, name: &str) -> Result<Estimate, ModelError> {
        estimate(&self.procedure(name), &System::of(self.job.machine()))
    }

    /// Runs it.
    ///
    /// # Errors
    /// The device refuses a command.
    pub fn run(self) -> Result<KernelRun<()>, JobError> {
        self.job.run(self.figures, |_| Ok(()))
    }
}

/// A job on the data of a seed.
#[derive(Debug)]
pub struct Seeded {
    /// The job.
    pub prepared: Prepared,
    /// The bytes of the user's arrays, in the order in which the kernel takes them.
    pub data: Vec<Vec<u8>>,
}

/// A row of the performance table.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Row {
    /// Kernel.
    pub kernel: &'static str,
    /// Size.
    pub size: String,
    /// The same as numbers by name.
    pub parameters: BTreeMap<&'static str, u64>,
    /// Machine.
    pub machine: String,
    /// Hash of its parameters.
    pub machine_hash: String,
    /// Engine that emulated it.
    pub engine: Engine,
    /// Passes among those of the job that put the user's arrays into the kernels' layout, or results into his.
    pub relayouts: usize,
    /// What the model expects, in cycles.
    pub expected_cycles: f64,
    /// What the emulator measures, in cycles.
    pub emulated_cycles: u64,
    /// Expected / emulated: at most 1.
    pub ratio: f64,
    /// The term that limits the expected time.
    pub limit: String,
    /// The proved limit and the best known algorithm's time, in cycles: `bound_cycles`, `reference_cycles` and whose it is.
    #[serde(flatten)]
    pub figures: Figures,
    /// Reference / emulated: at most 1.
    pub efficiency: f64,
}

/// Expects and measures one size of a kernel.
///
/// # Errors
/// The kernel does not have the size, or the run does not finish.
pub fn measure(
    kernel: &dyn Kernel,
    size: &Size,
    machine: &Arc<Machine>,
    options: Options,
) -> Result<Row, KernelError> {
    let engine = options.engine.on(machine);
    let prepared = kernel.prepare(size, machine, options)?;
    let expected = prepared.estimate(kernel.name())?;
    let run = prepared.run()?;
    let report = &run.run.report;
    if !report.end.is_finished() {
        return Err(KernelError::Unfinished {
            kernel: kernel.name(),
            size: size.to_string(),
            end: report.end.to_string(),
        });
    }
    let expected_cycles = System::of(machine).cycles(expected.seconds);
    Ok(Row {
        kernel: kernel.name(),
        size: size.to_string(),
        parameters: size.iter().collect(),
        machine: machine.name.clone(),
        machine_hash: machine.hash.clone(),
        engine,
        relayouts: run.passes.iter().filter(|pass| pass.is_relayout()).count(),
        expected_cycles,
        emulated_cycles: report.cycles,
        ratio: expected_cycles / report.cycles.max(1) as f64,
        limit: expected.limit,
        efficiency: run.efficiency(),
        figures: run.figures,
    })
}
