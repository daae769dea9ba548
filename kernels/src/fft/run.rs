use cp2_host::Run;
use cp2_machine::Cycles;
use num_complex::Complex32;

/// A batch of FFTs that has been run.
#[derive(Debug)]
pub struct FftRun {
    /// The transforms; none if the run did not finish.
    pub output: Option<Vec<Complex32>>,
    /// How it was paged.
    pub plan: cp2_host::Plan,
    /// The lower bound of its time, see [`super::Fft::bound`].
    pub bound: Cycles,
    /// What was measured.
    pub run: Run,
}

impl FftRun {
    /// Bound / measured cycles of the whole run, everything included.
    #[must_use]
    pub fn efficiency(&self) -> f64 {
        self.bound.0 as f64 / self.run.report.cycles.max(1) as f64
    }
}
