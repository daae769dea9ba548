//! The plan of a transform from the command line, complex or real.

use crate::io::{FramedRecording, Kind};
use crate::outcome::CommandFailure;
use cp2_host::{Buffer, DeviceOptions, FinishedRun, HostError, SourceError, ValueSource};
use cp2_kernels::chain::{Spectrogram, Transform};
use cp2_kernels::fft::{
    ComplexToReal, ExactTransform, Fft, FftError, FftNd, FftPlanner, FftProblem, RealToComplex,
    RowStrides, TransformDirection, hermitian,
};
use cp2_kernels::{KernelRun, Verdict, judged};
use cp2_machine::{Cycles, Machine};
use cp2_reference::Figures;
use num_complex::Complex32;
use std::borrow::Cow;
use std::sync::Arc;

/// Plan of a transform. Real numbers are passed as complex ones with imaginary parts of 0.
#[derive(Clone, Debug)]
pub(crate) enum FftPlan {
    /// Transforms of complex numbers along one axis.
    Complex(Arc<dyn Fft>),
    /// Transforms of complex arrays over all their axes.
    Array(Arc<FftNd>),
    /// Transforms of real numbers to half spectra.
    Forward(Arc<RealToComplex>),
    /// Transforms of half spectra to real numbers.
    Inverse(Arc<ComplexToReal>),
}

/// Calls a method that all plans have.
macro_rules! each {
    ($self:expr, $fft:ident => $value:expr) => {
        match $self {
            FftPlan::Complex($fft) => $value,
            FftPlan::Array($fft) => $value,
            FftPlan::Forward($fft) => $value,
            FftPlan::Inverse($fft) => $value,
        }
    };
}

impl FftPlan {
    /// Makes the cheapest plan for `batch` transforms of `n` numbers, real or complex.
    pub(crate) fn new(
        machine: &Arc<Machine>,
        n: usize,
        direction: TransformDirection,
        real: bool,
        batch: usize,
    ) -> Result<Self, CommandFailure> {
        let mut planner = FftPlanner::with_batch(machine.clone(), batch);
        let plan = match (real, direction) {
            (false, _) => planner.plan(n, direction).map(Self::Complex),
            (true, TransformDirection::Forward) => planner.plan_real_forward(n).map(Self::Forward),
            (true, TransformDirection::Inverse) => planner.plan_real_inverse(n).map(Self::Inverse),
        };
        plan.map_err(CommandFailure::input)
    }

    /// Makes all plans for `batch` transforms of `n` real numbers, the cheapest first.
    pub(crate) fn all_real(
        machine: &Arc<Machine>,
        n: usize,
        direction: TransformDirection,
        batch: usize,
    ) -> Result<Vec<Self>, CommandFailure> {
        let planner = FftPlanner::with_batch(machine.clone(), batch);
        let plans = match direction {
            TransformDirection::Forward => {
                let all = planner.real_forward_candidates(n);
                all.map(|all| all.into_iter().map(Self::Forward).collect())
            }
            TransformDirection::Inverse => {
                let all = planner.real_inverse_candidates(n);
                all.map(|all| all.into_iter().map(Self::Inverse).collect())
            }
        };
        plans.map_err(CommandFailure::input)
    }

    /// Makes the plans for arrays of a shape, the preferred one first.
    pub(crate) fn arrays(
        machine: &Arc<Machine>,
        shape: &[usize],
        direction: TransformDirection,
        batch: usize,
    ) -> Result<Vec<Self>, CommandFailure> {
        let fft = FftNd::new(shape, direction, machine.clone());
        let plans = fft.and_then(|fft| fft.plans(batch));
        let plans = plans.map_err(CommandFailure::input)?.into_iter();
        Ok(plans.map(|fft| Self::Array(Arc::new(fft))).collect())
    }

    /// Makes the preferred plan for arrays of a shape.
    pub(crate) fn array(
        machine: &Arc<Machine>,
        shape: &[usize],
        direction: TransformDirection,
        batch: usize,
    ) -> Result<Self, CommandFailure> {
        let plans = Self::arrays(machine, shape, direction, batch)?;
        let none = || CommandFailure::input("no way to transform arrays of this shape");
        plans.into_iter().next().ok_or_else(none)
    }

    /// Returns the length of the transform.
    pub(crate) fn len(&self) -> usize {
        each!(self, fft => fft.len())
    }

    /// Returns the count of numbers in a row of the input.
    pub(crate) fn row(&self) -> usize {
        match self {
            Self::Inverse(fft) => fft.len() / 2 + 1,
            _ => self.len(),
        }
    }

    /// Returns the count of numbers in a row of the output.
    pub(crate) fn output_row(&self) -> usize {
        match self {
            Self::Forward(fft) => fft.len() / 2 + 1,
            _ => self.len(),
        }
    }

    pub(crate) fn is_real(&self) -> bool {
        matches!(self, Self::Forward(_) | Self::Inverse(_))
    }

    pub(crate) fn direction(&self) -> TransformDirection {
        match self {
            Self::Complex(fft) => fft.direction(),
            Self::Array(fft) => fft.direction(),
            Self::Forward(_) => TransformDirection::Forward,
            Self::Inverse(_) => TransformDirection::Inverse,
        }
    }

    pub(crate) fn max_batch(&self) -> usize {
        each!(self, fft => fft.max_batch())
    }

    pub(crate) fn figures(&self, batch: usize) -> Figures {
        each!(self, fft => fft.figures(batch))
    }

    /// Returns the lower bound of the recipe itself in cycles, with its formula.
    pub(crate) fn recipe_floor(&self, batch: usize) -> Option<(f64, &'static str)> {
        match self {
            Self::Complex(fft) => fft.recipe_floor(batch),
            Self::Array(_) => None,
            Self::Forward(fft) => fft.recipe_floor(batch),
            Self::Inverse(fft) => fft.recipe_floor(batch),
        }
    }

    pub(crate) fn expected(&self, batch: usize) -> Result<Cycles, CommandFailure> {
        each!(self, fft => fft.expected(batch)).map_err(CommandFailure::input)
    }

    /// Returns the description of the recipe for a batch.
    pub(crate) fn recipe(&self, batch: usize) -> String {
        match self {
            Self::Complex(fft) => fft.recipe(),
            Self::Array(fft) => fft.recipe(),
            Self::Forward(fft) => fft.recipe_for(batch),
            Self::Inverse(fft) => fft.recipe_for(batch),
        }
    }

    pub(crate) fn source(&self, file: &str) -> Option<String> {
        each!(self, fft => fft.source(file))
    }

    /// Transforms rows. Complex rows may be `stride` numbers apart; of real rows only the real parts are
    /// used.
    pub(crate) fn process(
        &self,
        input: &mut dyn ValueSource<Complex32>,
        stride: usize,
        options: DeviceOptions,
    ) -> Result<KernelRun<NumberArray>, FftError> {
        let rows = RowStrides {
            input: stride,
            output: self.len(),
        };
        match self {
            Self::Complex(fft) => fft.process_from(input, rows, options)?.with_output(complex),
            Self::Array(fft) => fft.process_from(input, rows, options)?.with_output(complex),
            Self::Forward(fft) => fft
                .process_from(&mut RealPartSource(input, Vec::new()), options)?
                .with_output(complex),
            Self::Inverse(fft) => fft
                .process_from(input, options)?
                .with_output(|y, _| Ok(NumberArray::Real(y))),
        }
    }

    /// Cuts a recording into frames, weights and transforms them in one job.
    pub(crate) fn process_recording(
        &self,
        recording: &FramedRecording,
        options: DeviceOptions,
    ) -> Result<KernelRun<NumberArray>, CommandFailure> {
        let transform = match self {
            Self::Complex(fft) => Transform::Complex(fft.clone()),
            Self::Forward(fft) => Transform::Real(fft.clone()),
            Self::Array(_) | Self::Inverse(_) => {
                let message = "the frames of a recording are rows of samples: leave --shape and --inverse of --real out";
                return Err(CommandFailure::input(message));
            }
        };
        let window = recording.window.kernel_window();
        let plan = Spectrogram::new(recording.frames, window, transform)?;
        let done = plan.job(&recording.samples, options)?.run()?;
        done.with_output(complex).map_err(CommandFailure::input)
    }

    /// Returns the input array of a run of [`FftPlan::process`] in system memory.
    pub(crate) fn input(&self, run: &KernelRun<NumberArray>) -> Option<NumberArray> {
        let x = run.inputs.first()?;
        Some(match self {
            Self::Forward(_) => NumberArray::Real(Buffer::from_address(x.address, x.bytes / 4)),
            _ => NumberArray::Complex(Buffer::from_address(x.address, x.bytes / 8)),
        })
    }

    /// Compares the results of a run with the reference in double precision, on the given number of host
    /// threads. `fetch` returns the rows that were transformed. Returns `None` if a row is not finite.
    pub(crate) fn judge(
        &self,
        problem: &FftProblem,
        (run, output): (&KernelRun<NumberArray>, NumberArray),
        fetch: impl Fn(usize, &mut [Complex32]) -> Result<(), HostError> + Sync,
        threads: usize,
    ) -> Result<Option<Verdict>, CommandFailure> {
        let shape = match self {
            Self::Array(fft) => fft.shape(),
            _ => &[self.len()],
        };
        let run = &run.run;
        let [row, output_row] = [self.row(), self.output_row()];
        let judge = || {
            let mut exact = ExactTransform::new(shape, self.direction());
            let [mut x, mut y] = [row, output_row].map(|n| vec![Complex32::default(); n]);
            let fetch = &fetch;
            move |b: usize| {
                fetch(b, &mut x)?;
                if !x.iter().all(|z| z.is_finite()) {
                    return Ok(None);
                }
                output.fetch(run, b * output_row, &mut y)?;
                let exact = exact.transform(&self.expand_rows(&x, row));
                let part = problem.part(exact, &self.expand_rows(&y, output_row));
                Ok::<_, HostError>(Some(part))
            }
        };
        let (tally, parts) =
            judged(problem.batch(), threads, judge).map_err(CommandFailure::input)?;
        Ok((parts == problem.batch()).then(|| tally.verdict()))
    }

    /// Expands rows of input or output to rows of the complex transform of the same length.
    pub(crate) fn expand_rows<'a>(
        &self,
        rows: &'a [Complex32],
        row: usize,
    ) -> Cow<'a, [Complex32]> {
        match row == self.len() {
            true => rows.into(),
            false => hermitian(rows, self.len()).into(),
        }
    }
}

fn complex(y: Buffer<Complex32>, _: &FinishedRun) -> Result<NumberArray, FftError> {
    Ok(NumberArray::Complex(y))
}

/// Array of numbers in system memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NumberArray {
    /// Array of real numbers.
    Real(Buffer<f32>),
    /// Array of complex numbers.
    Complex(Buffer<Complex32>),
}

impl NumberArray {
    /// Returns the element type of the array.
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Real(_) => Kind::Float32,
            Self::Complex(_) => Kind::Complex64,
        }
    }

    /// Returns the array's byte address and its length in bytes.
    pub(crate) fn place(self) -> (u64, u64) {
        match self {
            Self::Real(buffer) => (buffer.address(), buffer.bytes()),
            Self::Complex(buffer) => (buffer.address(), buffer.bytes()),
        }
    }

    /// Fills `out` with the numbers from index `first`; real numbers become complex.
    pub(crate) fn fetch(
        self,
        run: &FinishedRun,
        first: usize,
        out: &mut [Complex32],
    ) -> Result<(), HostError> {
        let (first, count) = (first as u64, out.len() as u64);
        match self {
            Self::Complex(buffer) => run.fetch(buffer.part(first, count), out),
            Self::Real(buffer) => {
                let mut parts = vec![0.0; out.len()];
                run.fetch(buffer.part(first, count), &mut parts)?;
                for (z, re) in out.iter_mut().zip(parts) {
                    *z = re.into();
                }
                Ok(())
            }
        }
    }
}

/// Source of the real parts of complex numbers.
struct RealPartSource<'a>(&'a mut dyn ValueSource<Complex32>, Vec<Complex32>);

impl ValueSource<f32> for RealPartSource<'_> {
    fn count(&self) -> u64 {
        self.0.count()
    }

    fn fill_values(&mut self, values: &mut [f32]) -> Result<(), SourceError> {
        self.1.resize(values.len(), Complex32::default());
        self.0.fill_values(&mut self.1)?;
        for (re, z) in values.iter_mut().zip(&self.1) {
            *re = z.re;
        }
        Ok(())
    }
}
