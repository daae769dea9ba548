//! A job that has been run: its output, its passes and what was measured.

use super::Pass;
use cp2_host::{Buffer, FinishedRun, HostError, Imprint, MemoryElement};
use cp2_machine::Cycles;
use cp2_reference::Figures;

/// A job that has been run.
#[derive(Debug)]
pub struct KernelRun<O> {
    /// The result; none if the run did not finish.
    pub output: Option<O>,
    /// Checksums and addresses of the user's inputs in system memory.
    pub inputs: Vec<Imprint>,
    /// Passes with their paging.
    pub passes: Vec<Pass>,
    /// Turns of each loop, in the order in which the loops ended.
    pub turns: Vec<u64>,
    /// The proved limit of the time, and the time of the best known algorithm.
    pub figures: Figures,
    /// Cycles that the run should have taken, the price of its plan; none if computed values decided how
    /// often something was done.
    pub expected: Option<Cycles>,
    /// The finished run; its report has cycles and causes.
    pub run: FinishedRun,
}

impl<O> KernelRun<O> {
    /// Returns the efficiency: reference / measured cycles of the whole run, everything included.
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        self.figures.efficiency(self.run.report.cycles)
    }

    /// Returns true if every input of the user still has the bytes that it had when time began.
    ///
    /// Results are judged by the inputs in memory, so a kernel must not change them.
    ///
    /// # Errors
    /// The run is that of another device.
    pub fn keeps_inputs(&self) -> Result<bool, HostError> {
        for input in &self.inputs {
            if !self.run.is_kept(input)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Changes the form of the output and keeps everything else of the run.
    ///
    /// # Errors
    /// Those of `change`.
    pub fn with_output<P, E>(
        self,
        change: impl FnOnce(O, &FinishedRun) -> Result<P, E>,
    ) -> Result<KernelRun<P>, E> {
        let run = &self.run;
        Ok(KernelRun {
            output: self.output.map(|output| change(output, run)).transpose()?,
            inputs: self.inputs,
            passes: self.passes,
            turns: self.turns,
            figures: self.figures,
            expected: self.expected,
            run: self.run,
        })
    }
}

impl<T: MemoryElement> KernelRun<Buffer<T>> {
    /// Replaces the output array by its values on the host, all of them at once.
    ///
    /// # Errors
    /// This computer cannot hold them.
    pub fn read(self) -> Result<KernelRun<Vec<T>>, HostError> {
        self.with_output(|y, run| run.read(y))
    }
}
