//! What a job leaves.

use super::Pass;
use cp2_host::{Buffer, FinishedRun, HostError, Imprint, MemoryElement};
use cp2_machine::Cycles;
use cp2_reference::Figures;

/// A job that has been run.
#[derive(Debug)]
pub struct KernelRun<O> {
    /// The result; none if the run did not finish.
    pub output: Option<O>,
    /// The inputs of the user: where they lie in system memory.
    pub inputs: Vec<Imprint>,
    /// How each pass was paged.
    pub passes: Vec<Pass>,
    /// How many turns each loop took, in the order in which they ended.
    pub turns: Vec<u64>,
    /// The proved limit of its time and that of the best known algorithm.
    pub figures: Figures,
    /// What it should have taken, the price of its plan: none where what was computed decided how often something was done.
    pub expected: Option<Cycles>,
    /// What was measured; its report has cycles and causes.
    pub run: FinishedRun,
}

impl<O> KernelRun<O> {
    /// Reference / measured cycles of the whole run, everything included.
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        self.figures.efficiency(self.run.report.cycles)
    }

    /// Whether every input of the user is still what it was when time began: a result is judged by what is there.
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

    /// The same run with another form of its output.
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
    /// The run with its result as values of the host, all of them at once.
    ///
    /// # Errors
    /// This computer cannot hold them.
    pub fn read(self) -> Result<KernelRun<Vec<T>>, HostError> {
        self.with_output(|y, run| run.read(y))
    }
}
