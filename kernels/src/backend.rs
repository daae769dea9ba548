//! What every algorithm of the library has in common, on any machine.

use std::borrow::Borrow;

/// What is to be computed.
pub trait Problem {
    /// The input data.
    type Input: ?Sized;
    /// The result.
    type Output: ?Sized;
    /// An input as an owned value.
    type Data: Borrow<Self::Input>;

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

impl Verdict {
    /// On a result of the wrong shape.
    pub(crate) const SHAPELESS: Self = Self {
        rms: f64::NAN,
        worst: f64::NAN,
    };
}

/// How a part of a result compares with its reference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Squared error.
    pub error: f64,
    /// Squared norm of the reference.
    pub norm: f64,
    /// The error that the part may have, not squared.
    pub allowed: f64,
}

/// A verdict in the making, from parts that are each allowed an error.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tally {
    error: f64,
    norm: f64,
    worst: f64,
}

impl Tally {
    /// Adds a part: sums are those of the parts in their order.
    pub fn add(&mut self, part: Part) {
        let Part {
            error,
            norm,
            allowed,
        } = part;
        self.error += error;
        self.norm += norm;
        let ratio = if error == 0.0 {
            0.0
        } else {
            error.sqrt() / allowed
        };
        // Not `max`: a NaN must stay.
        if ratio > self.worst || ratio.is_nan() {
            self.worst = ratio;
        }
    }

    /// All parts together.
    #[must_use]
    pub fn verdict(self) -> Verdict {
        let rms = if self.error == 0.0 {
            0.0
        } else {
            (self.error / self.norm).sqrt()
        };
        Verdict {
            rms,
            worst: self.worst,
        }
    }
}

/// A way to compute a problem on some machine.
///
/// ```
/// use cp2_kernels::fft::{Direction, FftPlanner, FftProblem};
/// use cp2_kernels::Plan;
/// use cp2_machine::Machine;
///
/// let vm7 = Machine::builtin("vm7").unwrap();
/// let fft = FftPlanner::new(vm7.into()).plan_forward(128)?;
/// let problem = FftProblem::new(128, Direction::Forward, 5)?;
/// let verdict = fft.verify(&problem, 42)?.unwrap();
/// assert!(verdict.holds());
/// # Ok::<(), cp2_kernels::fft::FftError>(())
/// ```
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

    /// The result of a run; none if the run did not finish.
    fn output(run: &Self::Run) -> Option<&P::Output>;

    /// Computes the problem on its random input and judges the result; `None`
    /// if the run did not finish.
    ///
    /// # Errors
    /// See [`Plan::run`].
    fn verify(&self, problem: &P, seed: u64) -> Result<Option<Verdict>, Self::Error> {
        let data = problem.random(seed);
        let run = self.run(problem, data.borrow())?;
        Ok(Self::output(&run).map(|output| problem.judge(data.borrow(), output)))
    }
}
