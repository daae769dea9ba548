//! Methods: plans of problems on a machine with CP2, and their jobs.

use crate::job::{Job, JobError, KernelRun};
use cp2_host::{Buffer, DeviceOptions, FinishedRun, HostError};
use cp2_machine::{Class, Machine};
use cp2_problems::{ArrayForm, NamedArrays};
use cp2_reference::Figures;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// The error of a kernel.
pub type Failure = Box<dyn Error + Send + Sync>;

/// Function that puts a job together for an input.
type Make = dyn Fn(&NamedArrays, DeviceOptions) -> Result<Task, Failure> + Send + Sync;
/// Function that reads the outputs of a finished run.
type Read = dyn FnOnce(&FinishedRun) -> Result<NamedArrays, HostError>;

/// A problem planned for a machine: recipe, figures, and a function that makes its jobs.
pub struct Method {
    /// Machine that the plan is for.
    pub machine: Arc<Machine>,
    /// Recipe that was chosen, in words, where a kernel has several.
    pub recipe: Option<String>,
    /// The proved limit and the time of the best known program, for the whole computation.
    pub figures: Figures,
    /// For each pass of the job, the least it has to issue: class, and number of operations of one section,
    /// added over all sections.
    ///
    /// Counted are arithmetic, and operations of the memory slot that cannot be issued along with arithmetic.
    /// The numbers are a formula of the algorithm, or of the dataflow of a generated loop, never counts of a
    /// run.
    pub operations: Vec<Vec<(Class, u64)>>,
    make: Box<Make>,
}

impl Method {
    /// Creates a method; `make` puts a job together for an input.
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

    /// Puts together the job that computes the problem on `input`, on a device with options; nothing runs
    /// yet.
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

/// A job and the function that reads its outputs.
pub struct Task {
    /// The job.
    pub job: Job,
    read: Box<Read>,
}

impl Task {
    /// Creates a task whose only output is `array`, of a name and shape.
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

    /// Creates a task whose outputs `read` makes of a finished run.
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
