use super::error::FftError;
use super::plan::Fft;
use super::recipe::{Direction, Recipe};
use cp2_machine::Machine;
use std::collections::HashMap;
use std::sync::Arc;

/// Makes FFTs for a machine and remembers them.
///
/// ```
/// use cp2_kernels::fft::FftPlanner;
/// use cp2_machine::Machine;
/// use num_complex::Complex32;
/// use std::sync::Arc;
///
/// let vm7 = Arc::new(Machine::builtin("vm7").unwrap());
/// let fft = FftPlanner::new(vm7).plan_forward(64)?;
/// // Three transforms of a tone.
/// let tone = |j: usize| Complex32::from_polar(1.0, std::f32::consts::TAU * 5.0 * j as f32 / 64.0);
/// let x: Vec<Complex32> = (0..3 * 64).map(tone).collect();
/// let done = fft.process(&x)?;
/// let y = done.output.unwrap();
/// assert!((y[64 + 5].re - 64.0).abs() < 1e-4);
/// assert!(done.run.report.cycles > 0);
/// # Ok::<(), cp2_kernels::fft::FftError>(())
/// ```
#[derive(Debug)]
pub struct FftPlanner {
    machine: Arc<Machine>,
    made: HashMap<(usize, Direction), Arc<Fft>>,
}

impl FftPlanner {
    /// A planner for `machine`.
    #[must_use]
    pub fn new(machine: Arc<Machine>) -> Self {
        Self {
            machine,
            made: HashMap::new(),
        }
    }

    /// The FFT of length `n` in a direction.
    ///
    /// # Errors
    /// There is no kernel for that length, or it does not fit the machine.
    pub fn plan(&mut self, n: usize, direction: Direction) -> Result<Arc<Fft>, FftError> {
        if let Some(fft) = self.made.get(&(n, direction)) {
            return Ok(fft.clone());
        }
        let fft = Arc::new(Fft::new(Recipe::new(n, direction)?, self.machine.clone())?);
        self.made.insert((n, direction), fft.clone());
        Ok(fft)
    }

    /// The FFT with exp(-2 pi i jk/n).
    ///
    /// # Errors
    /// See [`FftPlanner::plan`].
    pub fn plan_forward(&mut self, n: usize) -> Result<Arc<Fft>, FftError> {
        self.plan(n, Direction::Forward)
    }

    /// The FFT with exp(+2 pi i jk/n), not scaled.
    ///
    /// # Errors
    /// See [`FftPlanner::plan`].
    pub fn plan_inverse(&mut self, n: usize) -> Result<Arc<Fft>, FftError> {
        self.plan(n, Direction::Inverse)
    }
}
