//! How a problem is computed on a machine with CP2.

use crate::job::{Job, JobError, KernelRun};
use cp2_host::{Buffer, DeviceOptions, FinishedRun, HostError};
use cp2_machine::{Class, Machine};
use cp2_problems::{ArrayForm, NamedArrays};
use cp2_reference::Figures;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// A kernel's own error.
pub type Failure = Box<dyn Error + Send + Sync>;

type Make = dyn Fn(&NamedArrays, DeviceOptions) -> Result<Task, Failure> + Send + Sync;
type Read = dyn FnOnce(&FinishedRun) -> Result<NamedArrays, HostError>;

/// A problem planned for a machine: what was chosen, what it should cost, and its jobs.
pub struct Method {
    /// The machine.
    pub machine: Arc<Machine>,
    /// What was chosen for it, in words, where a kernel has several ways.
    pub recipe: Option<String>,
    /// What any program and the best known one take for the whole computation.
    pub figures: Figures,
    /// For each pass of the job, the least it has to issue: class, and number of
    /// operations of one section, all sections together; arithmetic, and of the memory
    /// slot what no arithmetic goes along with. A formula of the algorithm, or of
    /// the dataflow of a generated loop, never a count of a run.
    pub operations: Vec<Vec<(Class, u64)>>,
    make: Box<Make>,
}

impl Method {
    /// A method whose jobs `make` puts together for an input.
    pub(crate) fn new(
        machine: &Arc<Machine>,
        recipe: Option<String>,
        (figures, operations): (Figures, Vec<Vec<(Class, u64)>>),
        make: impl Fn(&NamedArrays, DeviceOptions) -> Result<Task, Failure> + Send + Sync + 'static,
    ) -> Self {
        Self {
            machine: machine.clone(),
            recipe,
            figures,
            operations,
            make: Box::new(make),
        }
    }

    /// The job that computes the problem's output of `input`, on a device with options; nothing of it is done yet.
    ///
    /// # Errors
    /// An input that is not the problem's, or that does not fit the machine.
    pub fn task(&self, input: &NamedArrays, options: DeviceOptions) -> Result<Task, Failure> {
        (self.make)(input, options)
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Method")
            .field("machine", &self.machine.name)
            .field("recipe", &self.recipe)
            .finish_non_exhaustive()
    }
}

/// A job and how its output is read.
pub struct Task {
    /// The job.
    pub job: Job,
    read: Box<Read>,
}

impl Task {
    /// A job whose only output is `array`, which is of this form.
    pub(crate) fn new<T>((job, array): (Job, Buffer<T>), form: ArrayForm) -> Self
    where
        T: cp2_host::MemoryElement + cp2_problems::Element,
    {
        Self::reading(job, move |run| {
            Ok(NamedArrays::from_array(
                form.name,
                &form.shape,
                run.read(array)?,
            ))
        })
    }

    /// A job whose outputs `read` makes of a run.
    pub(crate) fn reading(
        job: Job,
        read: impl FnOnce(&FinishedRun) -> Result<NamedArrays, HostError> + 'static,
    ) -> Self {
        Self {
            job,
            read: Box::new(read),
        }
    }

    /// Carries the job out.
    ///
    /// # Errors
    /// The device refuses a command. A run that does not finish is no error: it has no output.
    pub fn run(self, figures: Figures) -> Result<KernelRun<NamedArrays>, JobError> {
        self.job.run(figures, self.read)
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Task")
            .field("job", &self.job)
            .finish_non_exhaustive()
    }
}
