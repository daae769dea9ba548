//! Jobs that are carried out again and again.

use super::{Job, JobError};
use cp2_host::emit::EmittedArray;
use cp2_host::{Buffer, MemoryElement, RunReport};

/// A job whose device, programs and arrays stay from run to run. Each is a run
/// of its own, from cycle 0, with the report that a new job's would be; what the
/// host engine has learnt about the programs it knows the next time.
///
/// Inputs and outputs go by the names that the job gave them; an input that is not written again
/// is what it was. System memory stays as it is between runs: a job that reads what it never
/// wrote may find what the run before left.
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
    /// The user's arrays that are written, in the order in which the job takes them.
    #[must_use]
    pub fn inputs(&self) -> &[EmittedArray] {
        &self.job.inputs
    }

    /// The results.
    #[must_use]
    pub fn outputs(&self) -> &[EmittedArray] {
        &self.job.outputs
    }

    /// Replaces an input, all of it.
    ///
    /// # Errors
    /// No input of that name, or one of another type or length.
    pub fn write<I: MemoryElement>(&mut self, name: &str, values: &[I]) -> Result<(), JobError> {
        let array = whole(&self.job.inputs, "input", name, values)?;
        Ok(self.job.device.write(array, values)?)
    }

    /// Replaces some values of an input, from value `from` on.
    ///
    /// # Errors
    /// No input of that name, one of another type, or one that ends before.
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

    /// Fetches an output, all of it.
    ///
    /// # Errors
    /// No output of that name, or one of another type or length.
    pub fn read<O: MemoryElement>(&self, name: &str, values: &mut [O]) -> Result<(), JobError> {
        let array = whole(&self.job.outputs, "output", name, values)?;
        Ok(self.job.device.fetch(array, values)?)
    }

    /// Fetches some values of an output, from value `from` on.
    ///
    /// # Errors
    /// No output of that name, one of another type, or one that ends before.
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

/// The array of that name, which is as long as the values.
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

/// As many values of the array of that name.
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

/// The array of that name and type.
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
