//! Power iterations: products, each followed by passes for the Rayleigh quotient, for what is left of it, and for the next x.
//!
//! | pass | reads | writes |
//! |---|---|---|
//! | q = A x | the packed matrix, x | q |
//! | x q, q q | x, q | |
//! | q - value x, with its square | x, q | what is left |
//! | x = q / \|q\|, x x | q | x |
//!
//! Behind the last iteration the product comes once more, so that value and residual are those of the x that is the result.

use super::vector_passes::VectorKernel;
use super::{IterationPlan, Operators, PackedFormat, PackedMatrix, Packing, SparseError, quotient};
use crate::backend::{Failure, Method, Task};
use crate::job::{Job, JobError};
use cp2_host::{Buffer, DeviceOptions, HostStep, StepScalar};
use cp2_machine::{Class, Machine};
use cp2_problems::Problem;
use cp2_problems::sparse::PowerProblem;
use cp2_reference::{Figures, SparseMethod, SparseNumbers, SparseSolver};
use std::sync::Arc;

/// The passes of an iteration beside its product.
const PASSES: [VectorKernel; 3] = [
    VectorKernel::TWO_DOTS,
    VectorKernel::RESIDUAL,
    VectorKernel::SCALED,
];

/// Power iterations planned for a machine.
#[derive(Debug)]
pub struct PowerIterations {
    problem: PowerProblem,
    machine: Arc<Machine>,
    iteration: IterationPlan,
}

/// Power iterations, if they are the problem.
pub(crate) fn power(
    machine: &Arc<Machine>,
    problem: &dyn Problem,
) -> Option<Result<Method, Failure>> {
    let problem = problem.downcast_ref::<PowerProblem>()?;
    let plan = PowerIterations::new(problem.clone(), machine, None);
    Some(plan.map(PowerIterations::into_method).map_err(Into::into))
}

impl PowerIterations {
    /// Packs the matrix of a problem for a machine, in a format or in the one that is the fastest.
    ///
    /// # Errors
    /// The machine has too little of something for a product or for a pass over vectors.
    pub fn new(
        problem: PowerProblem,
        machine: &Arc<Machine>,
        format: Option<PackedFormat>,
    ) -> Result<Self, SparseError> {
        let iteration = IterationPlan::new(problem.matrix(), &PASSES, machine, format)?;
        Ok(Self {
            problem,
            machine: machine.clone(),
            iteration,
        })
    }

    /// The packed matrix.
    #[must_use]
    pub fn product(&self) -> &PackedMatrix {
        &self.iteration.product
    }

    /// What packing the matrix costs, and products without it.
    #[must_use]
    pub fn packing(&self) -> Packing {
        self.iteration.packing(self.problem.matrix(), &self.machine)
    }

    /// Bound and reference of the whole run.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let matrix = self.problem.matrix();
        let numbers = match matrix.is_pattern() {
            true => SparseNumbers::Ones,
            false => SparseNumbers::Real,
        };
        let found = matrix.significant();
        let entries = [found.entries, found.values];
        let (rows, iterations) = (matrix.rows(), self.problem.iterations());
        SparseSolver::new(SparseMethod::Power, rows, entries, numbers, iterations)
            .figures(&self.machine)
    }

    /// For each pass the least it has to issue, see [`Method::operations`].
    fn operations(&self) -> Vec<Vec<(Class, u64)>> {
        let pass = |kernel| self.iteration.vectors.operations(kernel);
        let mut all = vec![pass(VectorKernel::SCALED); 2];
        for _ in 0..=self.problem.iterations() {
            all.push(self.iteration.product.operations());
            all.extend(PASSES.map(pass));
        }
        all
    }

    /// The iterations as a method, whose input is the array `x` of the problem.
    #[must_use]
    pub fn into_method(self) -> Method {
        let costs = (self.figures(), self.operations());
        let recipe = Some(self.iteration.recipe(&self.machine));
        let machine = self.iteration.used.clone();
        let rows = self.problem.matrix().rows();
        Method::new(&machine, recipe, costs, move |input, options| {
            Ok(self.task(input.get_sized("x", rows)?, options)?)
        })
    }

    /// The iterations from a vector on, as a job; nothing of it is done yet.
    ///
    /// # Errors
    /// System memory is used up.
    pub fn task(&self, x: &[f32], options: DeviceOptions) -> Result<Task, SparseError> {
        let (rows, count) = (self.problem.matrix().rows(), self.problem.iterations());
        let mut job = Job::new(self.iteration.used.clone(), options);
        let [own, wide] = self.iteration.vectors.rows();
        let shape = [rows as u64];
        let given = job.rows_in(("x", x.into(), &shape), own, wide)?;
        // Who runs a recording again and names no output means the first one.
        let result = job.rows_out::<f32>(("x", &shape), own, wide)?;
        let histories = [count as u64 + 1];
        let values = job.output::<f64>("values", &histories)?;
        let residuals = job.output::<f64>("residuals", &histories)?;
        let iterating = PowerJobBuilder {
            operators: Operators {
                product: self.iteration.product.place(&mut job)?,
                vectors: self.iteration.vectors.place(&mut job)?,
            },
            x: self.iteration.vectors.vector(&mut job)?,
            q: self.iteration.vectors.vector(&mut job)?,
            left: self.iteration.vectors.vector(&mut job)?,
            values,
            residuals,
            square: job.temporary(1)?,
            norm: job.temporary(1)?,
        };
        iterating.begin(&mut job, given)?;
        for number in 0..count {
            iterating.quotient(&mut job, number as u64)?;
            iterating.scale(&mut job, iterating.x)?;
        }
        iterating.quotient(&mut job, count as u64)?;
        iterating.end(&mut job, result.address)?;
        let x = job.deliver(result)?;
        let problem = self.problem.clone();
        Ok(Task::reading(job, move |run| {
            Ok(problem.output(run.read(x)?, run.read(values)?, run.read(residuals)?))
        }))
    }
}

/// A job being put together: addresses of vectors, and scalars that are kept.
struct PowerJobBuilder<'a> {
    operators: Operators<'a>,
    x: u64,
    q: u64,
    /// What is left of q.
    left: u64,
    values: Buffer<f64>,
    residuals: Buffer<f64>,
    /// x x.
    square: Buffer<f64>,
    /// |q|.
    norm: Buffer<f64>,
}

/// The inverse of a length, or 0.
fn inverse(step: &mut HostStep, length: StepScalar) -> StepScalar {
    let one = step.constant(1.0);
    quotient(step, one, length)
}

impl PowerJobBuilder<'_> {
    /// x is the user's, divided by its length.
    fn begin(&self, job: &mut Job, given: u64) -> Result<(), JobError> {
        let operators = &self.operators;
        operators.fill_one(job)?;
        operators.pass(job, VectorKernel::SCALED, &[given], &[self.q])?;
        operators.scalars(job, VectorKernel::SCALED, |step, [square, ..]| {
            let length = step.square_root(square);
            let scale = inverse(step, length);
            operators.fill(step, &[scale])
        })?;
        self.scale(job, self.x)
    }

    /// x is q, times the scalar that is there.
    fn scale(&self, job: &mut Job, to: u64) -> Result<(), JobError> {
        let operators = &self.operators;
        operators.pass(job, VectorKernel::SCALED, &[self.q], &[to])?;
        operators.scalars(job, VectorKernel::SCALED, |step, [square, ..]| {
            step.store(self.square, 0, square)
        })
    }

    /// q = A x, and what it says of x; the scalar for the next x.
    fn quotient(&self, job: &mut Job, number: u64) -> Result<(), JobError> {
        let operators = &self.operators;
        let Self { x, q, left, .. } = *self;
        operators.product(job, x, q);
        operators.pass(job, VectorKernel::TWO_DOTS, &[q, x], &[])?;
        operators.scalars(job, VectorKernel::TWO_DOTS, |step, [across, size, _]| {
            let square = step.load(self.square, 0)?;
            let value = quotient(step, across, square);
            step.store(self.values, number, value)?;
            let norm = step.square_root(size);
            step.store(self.norm, 0, norm)?;
            operators.fill(step, &[value])
        })?;
        operators.pass(job, VectorKernel::RESIDUAL, &[x, q], &[left])?;
        operators.scalars(job, VectorKernel::RESIDUAL, |step, [size, ..]| {
            let norm = step.load(self.norm, 0)?;
            let length = step.square_root(size);
            let residual = quotient(step, length, norm);
            step.store(self.residuals, number, residual)?;
            let scale = inverse(step, norm);
            operators.fill(step, &[scale])
        })
    }

    /// x behind the last iteration, to where the user has it.
    fn end(&self, job: &mut Job, to: u64) -> Result<(), JobError> {
        self.operators.fill_one(job)?;
        self.operators
            .pass(job, VectorKernel::SCALED, &[self.x], &[to])
    }
}
