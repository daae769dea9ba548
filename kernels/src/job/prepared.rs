//! Jobs that are carried out again and again.

use super::{Job, JobError};
use cp2_host::{Buffer, Element, RunReport};

/// A job whose device, programs and arrays stay from run to run. Each is a run
/// of its own, from cycle 0, with the report that a new job's would be; what the
/// host engine has learnt about the programs it knows the next time.
///
/// System memory stays as it is between runs, but for the input that is written:
/// a job that reads what it never wrote may find what the run before left.
#[derive(Debug)]
pub struct PreparedJob<O> {
    pub(super) job: Job,
    pub(super) output: Buffer<O>,
}

impl<O: Element> PreparedJob<O> {
    /// Replaces the job's first input, from its start.
    ///
    /// # Errors
    /// More values than it has.
    pub fn write<I: Element>(&mut self, input: &[I]) -> Result<(), JobError> {
        let first = self.job.inputs.first().map(|x| (x.address, x.bytes));
        let (address, bytes) = first.unwrap_or_default();
        let first = Buffer::at(address, bytes / I::BYTES.max(1) as u64);
        Ok(self.job.device.write(first, input)?)
    }

    /// Runs the job on the input that is there. A run that does not finish is
    /// no error: its report says why.
    ///
    /// # Errors
    /// The device refuses a command.
    pub fn run(&mut self) -> Result<RunReport, JobError> {
        self.job.give()?;
        Ok(self.job.device.finish_and_restart()?)
    }

    /// Fetches the output, from its start.
    ///
    /// # Errors
    /// More values than it has.
    pub fn read(&self, output: &mut [O]) -> Result<(), JobError> {
        Ok(self.job.device.fetch(self.output, output)?)
    }
}
