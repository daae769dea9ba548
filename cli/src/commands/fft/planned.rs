//! The transform a command line asks for, complex or real.

use crate::io::{Kind, Recording};
use crate::outcome::Failure;
use cp2_host::{Buffer, HostError, Options, Run, Source, SourceError};
use cp2_kernels::chain::{Spectrogram, Transform};
use cp2_kernels::fft::{
    ComplexToReal, Direction, Exact, Fft, FftError, FftNd, FftPlanner, FftProblem, RealToComplex,
    Rows, hermitian,
};
use cp2_kernels::{KernelRun, Verdict, judged};
use cp2_machine::{Cycles, Machine};
use cp2_reference::Figures;
use num_complex::Complex32;
use std::borrow::Cow;
use std::sync::Arc;

/// A plan. Real numbers are held as complex ones, whose imaginary parts are 0.
#[derive(Clone, Debug)]
pub(crate) enum Planned {
    /// Complex numbers to complex numbers.
    Complex(Arc<dyn Fft>),
    /// The same over all axes of an array.
    Array(Arc<FftNd>),
    /// Real numbers to half spectra.
    Forward(Arc<RealToComplex>),
    /// Half spectra to real numbers.
    Inverse(Arc<ComplexToReal>),
}

/// Calls a method that all plans have.
macro_rules! each {
    ($self:expr, $fft:ident => $value:expr) => {
        match $self {
            Planned::Complex($fft) => $value,
            Planned::Array($fft) => $value,
            Planned::Forward($fft) => $value,
            Planned::Inverse($fft) => $value,
        }
    };
}

impl Planned {
    /// The cheapest plan for `batch` transforms of `n` numbers, real ones or complex ones.
    pub(crate) fn new(
        machine: &Arc<Machine>,
        n: usize,
        direction: Direction,
        real: bool,
        batch: usize,
    ) -> Result<Self, Failure> {
        let mut planner = FftPlanner::for_batch(machine.clone(), batch);
        let plan = match (real, direction) {
            (false, _) => planner.plan(n, direction).map(Self::Complex),
            (true, Direction::Forward) => planner.plan_real_forward(n).map(Self::Forward),
            (true, Direction::Inverse) => planner.plan_real_inverse(n).map(Self::Inverse),
        };
        plan.map_err(Failure::input)
    }

    /// All plans for `batch` transforms of `n` real numbers, the cheapest first.
    pub(crate) fn all_real(
        machine: &Arc<Machine>,
        n: usize,
        direction: Direction,
        batch: usize,
    ) -> Result<Vec<Self>, Failure> {
        let planner = FftPlanner::for_batch(machine.clone(), batch);
        let plans = match direction {
            Direction::Forward => {
                let all = planner.real_forward_candidates(n);
                all.map(|all| all.into_iter().map(Self::Forward).collect())
            }
            Direction::Inverse => {
                let all = planner.real_inverse_candidates(n);
                all.map(|all| all.into_iter().map(Self::Inverse).collect())
            }
        };
        plans.map_err(Failure::input)
    }

    /// The plans for arrays of a shape, the one to take first.
    pub(crate) fn arrays(
        machine: &Arc<Machine>,
        shape: &[usize],
        direction: Direction,
        batch: usize,
    ) -> Result<Vec<Self>, Failure> {
        let fft = FftNd::new(shape, direction, machine.clone());
        let plans = fft.and_then(|fft| fft.plans(batch));
        let plans = plans.map_err(Failure::input)?.into_iter();
        Ok(plans.map(|fft| Self::Array(Arc::new(fft))).collect())
    }

    /// The plan for arrays of a shape.
    pub(crate) fn array(
        machine: &Arc<Machine>,
        shape: &[usize],
        direction: Direction,
        batch: usize,
    ) -> Result<Self, Failure> {
        let plans = Self::arrays(machine, shape, direction, batch)?;
        let none = || Failure::input("no way to transform arrays of this shape");
        plans.into_iter().next().ok_or_else(none)
    }

    /// Length of the transform.
    pub(crate) fn len(&self) -> usize {
        each!(self, fft => fft.len())
    }

    /// Numbers in a row of the input.
    pub(crate) fn row(&self) -> usize {
        match self {
            Self::Inverse(fft) => fft.len() / 2 + 1,
            _ => self.len(),
        }
    }

    /// Numbers in a row of the output.
    pub(crate) fn output_row(&self) -> usize {
        match self {
            Self::Forward(fft) => fft.len() / 2 + 1,
            _ => self.len(),
        }
    }

    pub(crate) fn is_real(&self) -> bool {
        matches!(self, Self::Forward(_) | Self::Inverse(_))
    }

    pub(crate) fn direction(&self) -> Direction {
        match self {
            Self::Complex(fft) => fft.direction(),
            Self::Array(fft) => fft.direction(),
            Self::Forward(_) => Direction::Forward,
            Self::Inverse(_) => Direction::Inverse,
        }
    }

    pub(crate) fn max_batch(&self) -> usize {
        each!(self, fft => fft.max_batch())
    }

    pub(crate) fn figures(&self, batch: usize) -> Figures {
        each!(self, fft => fft.figures(batch))
    }

    /// The least cycles of the recipe itself, and the formula.
    pub(crate) fn recipe_floor(&self, batch: usize) -> Option<(f64, &'static str)> {
        match self {
            Self::Complex(fft) => fft.recipe_floor(batch),
            Self::Array(_) => None,
            Self::Forward(fft) => fft.recipe_floor(batch),
            Self::Inverse(fft) => fft.recipe_floor(batch),
        }
    }

    pub(crate) fn expected(&self, batch: usize) -> Result<Cycles, Failure> {
        each!(self, fft => fft.expected(batch)).map_err(Failure::input)
    }

    /// What a batch is transformed by.
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

    /// Transforms rows; complex ones may lie apart, one every `stride` numbers. Of real ones the real parts count.
    pub(crate) fn process(
        &self,
        input: &mut dyn Source<Complex32>,
        stride: usize,
        options: Options,
    ) -> Result<KernelRun<Numbers>, FftError> {
        let rows = Rows {
            input: stride,
            output: self.len(),
        };
        match self {
            Self::Complex(fft) => fft.process_from(input, rows, options)?.with_output(complex),
            Self::Array(fft) => fft.process_from(input, rows, options)?.with_output(complex),
            Self::Forward(fft) => fft
                .process_from(&mut RealParts(input, Vec::new()), options)?
                .with_output(complex),
            Self::Inverse(fft) => fft
                .process_from(input, options)?
                .with_output(|y, _| Ok(Numbers::Real(y))),
        }
    }

    /// Cuts a recording into frames, weights and transforms them, in one job.
    pub(crate) fn process_recording(
        &self,
        recording: &Recording,
        options: Options,
    ) -> Result<KernelRun<Numbers>, Failure> {
        let transform = match self {
            Self::Complex(fft) => Transform::Complex(fft.clone()),
            Self::Forward(fft) => Transform::Real(fft.clone()),
            Self::Array(_) | Self::Inverse(_) => {
                let message = "the frames of a recording are rows of samples: leave --shape and --inverse of --real out";
                return Err(Failure::input(message));
            }
        };
        let window = recording.window.of_kernels();
        let plan = Spectrogram::new(recording.frames, window, transform)?;
        let done = plan.job(&recording.samples, options)?.run()?;
        done.with_output(complex).map_err(Failure::input)
    }

    /// The input of a run of [`Planned::process`] in system memory.
    pub(crate) fn input(&self, run: &KernelRun<Numbers>) -> Option<Numbers> {
        let x = run.inputs.first()?;
        Some(match self {
            Self::Forward(_) => Numbers::Real(Buffer::at(x.address, x.bytes / 4)),
            _ => Numbers::Complex(Buffer::at(x.address, x.bytes / 8)),
        })
    }

    /// Compares the results of a run with the reference in double precision, on so many host threads; `fetch` gives the
    /// rows that were transformed. None where one is not finite.
    pub(crate) fn judge(
        &self,
        problem: &FftProblem,
        (run, output): (&KernelRun<Numbers>, Numbers),
        fetch: impl Fn(usize, &mut [Complex32]) -> Result<(), HostError> + Sync,
        threads: usize,
    ) -> Result<Option<Verdict>, Failure> {
        let shape = match self {
            Self::Array(fft) => fft.shape(),
            _ => &[self.len()],
        };
        let run = &run.run;
        let [row, output_row] = [self.row(), self.output_row()];
        let judge = || {
            let mut exact = Exact::new(shape, self.direction());
            let [mut x, mut y] = [row, output_row].map(|n| vec![Complex32::default(); n]);
            let fetch = &fetch;
            move |b: usize| {
                fetch(b, &mut x)?;
                if !x.iter().all(|z| z.is_finite()) {
                    return Ok(None);
                }
                output.fetch(run, b * output_row, &mut y)?;
                let exact = exact.of(&self.whole(&x, row));
                let part = problem.part(exact, &self.whole(&y, output_row));
                Ok::<_, HostError>(Some(part))
            }
        };
        let (tally, parts) = judged(problem.batch(), threads, judge).map_err(Failure::input)?;
        Ok((parts == problem.batch()).then(|| tally.verdict()))
    }

    /// Rows of input or output as the rows of the complex transform of the same length.
    pub(crate) fn whole<'a>(&self, rows: &'a [Complex32], row: usize) -> Cow<'a, [Complex32]> {
        match row == self.len() {
            true => rows.into(),
            false => hermitian(rows, self.len()).into(),
        }
    }
}

fn complex(y: Buffer<Complex32>, _: &Run) -> Result<Numbers, FftError> {
    Ok(Numbers::Complex(y))
}

/// Numbers in system memory.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Numbers {
    /// Real ones.
    Real(Buffer<f32>),
    /// Complex ones.
    Complex(Buffer<Complex32>),
}

impl Numbers {
    /// The type of an array of them.
    pub(crate) fn kind(self) -> Kind {
        match self {
            Self::Real(_) => Kind::Float32,
            Self::Complex(_) => Kind::Complex64,
        }
    }

    /// Where they lie: address and bytes.
    pub(crate) fn place(self) -> (u64, u64) {
        match self {
            Self::Real(buffer) => (buffer.address(), buffer.bytes()),
            Self::Complex(buffer) => (buffer.address(), buffer.bytes()),
        }
    }

    /// Fills `out` from number `first` on, with real ones as complex ones.
    pub(crate) fn fetch(
        self,
        run: &Run,
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

/// The real parts of complex numbers.
struct RealParts<'a>(&'a mut dyn Source<Complex32>, Vec<Complex32>);

impl Source<f32> for RealParts<'_> {
    fn count(&self) -> u64 {
        self.0.count()
    }

    fn give(&mut self, values: &mut [f32]) -> Result<(), SourceError> {
        self.1.resize(values.len(), Complex32::default());
        self.0.give(&mut self.1)?;
        for (re, z) in values.iter_mut().zip(&self.1) {
            *re = z.re;
        }
        Ok(())
    }
}
