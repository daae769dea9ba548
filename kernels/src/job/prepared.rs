//! Jobs that are carried out again and again.

use super::{Job, JobError};
use cp2_host::emit::EmittedArray;
use cp2_host::{Buffer, MemoryElement, RunReport};

/// A job whose device, programs and arrays stay from run to run.
///
/// Each run begins at cycle 0 and has the report that a new job's run would have. The host engine keeps what
/// it has learnt about the programs.
///
/// Inputs and outputs go by the names that the job gave them; an input that is not written again stays as it
/// was. System memory is not cleared between runs: a job that reads what it never wrote may find values of
/// the run before.
///
/// ```
/// use cp2_host::DeviceOptions;
/// use cp2_kernels::dsp::{ElementwisePlan, MapOp};
/// use cp2_machine::Machine;
///
/// let vm7 = Machine::builtin("vm7").unwrap();
/// let product = ElementwisePlan::new(MapOp::Multiply, 64, vm7.into())?;
/// let (job, _) = product.job(&[&[1.0; 64], &[2.0; 64]], DeviceOptions::default())?;
/// let mut job = job.prepare();
/// let first = job.run()?;
/// // The second factor alone is another one.
/// job.write("y", &[3.0f32; 64])?;
/// assert_eq!(job.run()?.cycles, first.cycles);
/// let mut products = [0.0f32; 64];
/// job.read("y", &mut products)?;
/// assert_eq!(products, [3.0; 64]);
/// // There is no third.
/// assert!(job.write("z", &[3.0f32; 64]).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct PreparedJob {
    pub(super) job: Job,
}

impl PreparedJob {
    /// Returns the user's arrays that are read, in the order in which they were added to the job.
    #[must_use]
    pub fn inputs(&self) -> &[EmittedArray] {
        &self.job.inputs
    }

    /// Returns the results.
    #[must_use]
    pub fn outputs(&self) -> &[EmittedArray] {
        &self.job.outputs
    }

    /// Replaces all values of an input.
    ///
    /// # Errors
    /// There is no input of that name, or it has another type or length.
    pub fn write<I: MemoryElement>(&mut self, name: &str, values: &[I]) -> Result<(), JobError> {
        let array = whole(&self.job.inputs, "input", name, values)?;
        Ok(self.job.device.write(array, values)?)
    }

    /// Replaces some values of an input, from value `from` on.
    ///
    /// # Errors
    /// There is no input of that name, it has another type, or it ends before the last value.
    pub fn write_part<I: MemoryElement>(
        &mut self,
        name: &str,
        from: u64,
        values: &[I],
    ) -> Result<(), JobError> {
        let array = part(&self.job.inputs, "input", name, (from, values))?;
        Ok(self.job.device.write(array, values)?)
    }

    /// Runs the job on the inputs that are there. A run that does not finish is
    /// no error: its report says why.
    ///
    /// # Errors
    /// The device refuses a command.
    pub fn run(&mut self) -> Result<RunReport, JobError> {
        self.job.submit_all()?;
        Ok(self.job.device.finish_and_restart()?)
    }

    /// Fetches all values of an output.
    ///
    /// # Errors
    /// There is no output of that name, or it has another type or length.
    pub fn read<O: MemoryElement>(&self, name: &str, values: &mut [O]) -> Result<(), JobError> {
        let array = whole(&self.job.outputs, "output", name, values)?;
        Ok(self.job.device.fetch(array, values)?)
    }

    /// Fetches some values of an output, from value `from` on.
    ///
    /// # Errors
    /// There is no output of that name, it has another type, or it ends before the last value.
    pub fn read_part<O: MemoryElement>(
        &self,
        name: &str,
        from: u64,
        values: &mut [O],
    ) -> Result<(), JobError> {
        let array = part(&self.job.outputs, "output", name, (from, values))?;
        Ok(self.job.device.fetch(array, values)?)
    }
}

/// Finds the array of a name, which must be as long as the values.
fn whole<T: MemoryElement>(
    arrays: &[EmittedArray],
    kind: &'static str,
    name: &str,
    values: &[T],
) -> Result<Buffer<T>, JobError> {
    let array = part(arrays, kind, name, (0, values))?;
    let len = found::<T>(arrays, kind, name)?.len();
    if len == values.len() as u64 {
        return Ok(array);
    }
    Err(JobError::Length {
        kind,
        name: name.to_owned(),
        values: values.len() as u64,
        from: 0,
        len,
    })
}

/// Finds the values from `from` on in the array of a name, as many as are given.
fn part<T: MemoryElement>(
    arrays: &[EmittedArray],
    kind: &'static str,
    name: &str,
    (from, values): (u64, &[T]),
) -> Result<Buffer<T>, JobError> {
    let array = found::<T>(arrays, kind, name)?;
    let (count, len) = (values.len() as u64, array.len());
    if from.checked_add(count).is_some_and(|end| end <= len) {
        return Ok(Buffer::from_address(
            array.address() + from * T::BYTES as u64,
            count,
        ));
    }
    Err(JobError::Length {
        kind,
        name: name.to_owned(),
        values: count,
        from,
        len,
    })
}

/// Finds the array of a name and type.
fn found<T: MemoryElement>(
    arrays: &[EmittedArray],
    kind: &'static str,
    name: &str,
) -> Result<Buffer<T>, JobError> {
    let Some(array) = arrays.iter().find(|array| array.name == name) else {
        return Err(JobError::Unnamed {
            kind,
            name: name.to_owned(),
            known: arrays.iter().map(|array| array.name.clone()).collect(),
        });
    };
    let bytes = T::BYTES.max(1) as u64;
    if array.element != T::SCALAR || !array.bytes.is_multiple_of(bytes) {
        return Err(JobError::Element {
            kind,
            name: name.to_owned(),
            found: T::SCALAR,
            expected: array.element.clone(),
        });
    }
    Ok(Buffer::from_address(array.address, array.bytes / bytes))
}
