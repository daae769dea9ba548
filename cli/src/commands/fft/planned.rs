//! The transform a command line asks for, complex or real.

use crate::outcome::Failure;
use cp2_asm::Program;
use cp2_host::Options;
use cp2_kernels::fft::{
    ComplexToReal, Direction, Fft, FftError, FftNd, FftPlanner, FftProblem, FftRun, RealRun,
    RealToComplex, Rows, hermitian, reference_nd,
};
use cp2_kernels::{Problem as _, Verdict};
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

    /// The page kernel of a batch, where there is one.
    pub(crate) fn program(&self, batch: usize) -> Result<Option<Arc<Program>>, Failure> {
        match self {
            Self::Complex(fft) => fft.program(batch),
            Self::Array(fft) => fft.program(batch),
            Self::Forward(fft) => fft.program(batch),
            Self::Inverse(fft) => fft.program(batch),
        }
        .map_err(Failure::input)
    }

    /// Transforms rows; complex ones may lie apart, one every `stride` numbers.
    pub(crate) fn process(
        &self,
        input: &[Complex32],
        stride: usize,
        options: Options,
    ) -> Result<FftRun, FftError> {
        match self {
            Self::Complex(fft) if stride != fft.len() => {
                let rows = Rows {
                    input: stride,
                    output: fft.len(),
                };
                fft.process_rows(input, rows, options)
            }
            Self::Complex(fft) => fft.process_with(input, options),
            Self::Array(fft) => fft.process_with(input, options),
            Self::Forward(fft) => {
                let input: Vec<f32> = input.iter().map(|z| z.re).collect();
                fft.process_with(&input, options)
            }
            Self::Inverse(fft) => fft.process_with(input, options).map(complex),
        }
    }

    /// Compares a result with the reference in double precision.
    pub(crate) fn judge(
        &self,
        problem: &FftProblem,
        input: &[Complex32],
        output: &[Complex32],
    ) -> Verdict {
        if let Self::Array(fft) = self {
            let exact = reference_nd(input, fft.shape(), fft.direction());
            return problem.compare(&exact, output);
        }
        let (x, y) = (
            self.whole(input, self.row()),
            self.whole(output, self.output_row()),
        );
        problem.judge(&x, &y)
    }

    /// Rows of input or output as the rows of the complex transform of the same length.
    pub(crate) fn whole<'a>(&self, rows: &'a [Complex32], row: usize) -> Cow<'a, [Complex32]> {
        match row == self.len() {
            true => rows.into(),
            false => hermitian(rows, self.len()).into(),
        }
    }
}

/// A run with real numbers as complex ones.
fn complex(run: RealRun<f32>) -> FftRun {
    FftRun {
        output: run
            .output
            .map(|y| y.into_iter().map(Complex32::from).collect()),
        passes: run.passes,
        turns: run.turns,
        figures: run.figures,
        run: run.run,
    }
}
