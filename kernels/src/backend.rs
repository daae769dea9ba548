//! What every algorithm of the library has in common, on any machine.

/// What is to be computed.
pub trait Problem {
    /// The input data.
    type Input: ?Sized;
    /// The result.
    type Output: ?Sized;
    /// An input as an owned value.
    type Data: std::borrow::Borrow<Self::Input>;

    /// One line for reports.
    fn title(&self) -> String;

    /// Reproducible random input: the same for the same seed on every host.
    fn random(&self, seed: u64) -> Self::Data;

    /// Compares a result with the reference in double precision.
    fn judge(&self, input: &Self::Input, output: &Self::Output) -> Verdict;
}

/// How a result compares with the reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// Root-mean-square error relative to the root mean square of the reference.
    pub rms: f64,
    /// The largest error in units of what the problem allows: at most 1 is right.
    pub worst: f64,
}

impl Verdict {
    /// Whether the result is within the problem's tolerance (a NaN is not).
    #[must_use]
    pub fn holds(&self) -> bool {
        self.worst <= 1.0
    }
}

/// A way to compute a problem on some machine.
pub trait Plan<P: Problem> {
    /// The result and what its computation cost.
    type Run;
    /// What can go wrong.
    type Error: std::error::Error;

    /// Computes the result for `input`.
    ///
    /// # Errors
    /// An input of the wrong shape, or a failure of the machine.
    fn run(&self, problem: &P, input: &P::Input) -> Result<Self::Run, Self::Error>;
}
