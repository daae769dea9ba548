//! Power iteration, with Rayleigh quotient and residual.
//!
//! An iteration is a product and passes over vectors; u.v is a dot product.
//!
//! | pass | reads | writes |
//! |---|---|---|
//! | q = A x | the packed matrix, x | q |
//! | q.x and q.q, for value = q.x / x.x | x, q | |
//! | q - value x and its square | x, q | residual vector |
//! | x = q / \|q\| and x.x | q | x |
//!
//! After the last iteration the product is computed once more, so that value and residual are those of the
//! final x.

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

/// Passes of an iteration besides its product.
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

/// Returns the method of power iterations; none for other problems.
pub(crate) fn power(
    machine: &Arc<Machine>,
    problem: &dyn Problem,
) -> Option<Result<Method, Failure>> {
    let problem = problem.downcast_ref::<PowerProblem>()?;
    let plan = PowerIterations::new(problem.clone(), machine, None);
    Some(plan.map(PowerIterations::into_method).map_err(Into::into))
}

impl PowerIterations {
    /// Packs the matrix of a problem for a machine, in a given format or in the fastest one.
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

    /// Returns the packed matrix.
    #[must_use]
    pub fn product(&self) -> &PackedMatrix {
        &self.iteration.product
    }

    /// Returns the cost of packing the matrix, and of products without it.
    #[must_use]
    pub fn packing(&self) -> Packing {
        self.iteration.packing(self.problem.matrix(), &self.machine)
    }

    /// Returns bound and reference of the whole run.
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

    /// Returns the least operations of each pass, see [`Method::operations`].
    fn operations(&self) -> Vec<Vec<(Class, u64)>> {
        let pass = |kernel| self.iteration.vectors.operations(kernel);
        let mut all = vec![pass(VectorKernel::SCALED); 2];
        for _ in 0..=self.problem.iterations() {
            all.push(self.iteration.product.operations());
            all.extend(PASSES.map(pass));
        }
        all
    }

    /// Returns the iterations as a method, whose input is the array `x` of the problem.
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

    /// Returns the job of the iterations from a vector on, not yet run.
    ///
    /// # Errors
    /// System memory is used up.
    pub fn task(&self, x: &[f32], options: DeviceOptions) -> Result<Task, SparseError> {
        let (rows, count) = (self.problem.matrix().rows(), self.problem.iterations());
        let mut job = Job::new(self.iteration.used.clone(), options);
        let [own, wide] = self.iteration.vectors.rows();
        let shape = [rows as u64];
        let given = job.rows_in(("x", x.into(), &shape), own, wide)?;
        // A replay of a recording that names no output takes the first one.
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

/// Builds the job of the iterations: addresses of vectors, and scalars that are kept.
struct PowerJobBuilder<'a> {
    operators: Operators<'a>,
    x: u64,
    q: u64,
    /// Vector q - value x.
    left: u64,
    values: Buffer<f64>,
    residuals: Buffer<f64>,
    /// Scalar x.x.
    square: Buffer<f64>,
    /// Scalar |q|.
    norm: Buffer<f64>,
}

/// Returns the inverse of a length, or 0 if the length is 0.
fn inverse(step: &mut HostStep, length: StepScalar) -> StepScalar {
    let one = step.constant(1.0);
    quotient(step, one, length)
}

impl PowerJobBuilder<'_> {
    /// Adds x = x0 / |x0| for the user's x0.
    fn begin(&self, job: &mut Job, given: u64) -> Result<(), JobError> {
        let operators = &self.operators;
        // q = x0, with the sum x0.x0
        operators.fill_one(job)?;
        operators.pass(job, VectorKernel::SCALED, &[given], &[self.q])?;
        operators.scalars(job, VectorKernel::SCALED, |step, [square, ..]| {
            // scale = 1 / |x0|
            let length = step.square_root(square);
            let scale = inverse(step, length);
            operators.fill(step, &[scale])
        })?;
        self.scale(job, self.x)
    }

    /// Adds x = scale q, with the scalar of the step before, and keeps x.x.
    fn scale(&self, job: &mut Job, to: u64) -> Result<(), JobError> {
        let operators = &self.operators;
        operators.pass(job, VectorKernel::SCALED, &[self.q], &[to])?;
        operators.scalars(job, VectorKernel::SCALED, |step, [square, ..]| {
            step.store(self.square, 0, square)
        })
    }

    /// Adds q = A x; value = q.x / x.x, the Rayleigh quotient; residual = |q - value x| / |q|; and the scalar
    /// 1 / |q| for the next x.
    fn quotient(&self, job: &mut Job, number: u64) -> Result<(), JobError> {
        let operators = &self.operators;
        let Self { x, q, left, .. } = *self;
        // q = A x
        operators.product(job, x, q);
        // across = q.x, size = q.q
        operators.pass(job, VectorKernel::TWO_DOTS, &[q, x], &[])?;
        operators.scalars(job, VectorKernel::TWO_DOTS, |step, [across, size, _]| {
            let square = step.load(self.square, 0)?;
            // value = q.x / x.x
            let value = quotient(step, across, square);
            step.store(self.values, number, value)?;
            // |q| = sqrt(q.q)
            let norm = step.square_root(size);
            step.store(self.norm, 0, norm)?;
            operators.fill(step, &[value])
        })?;
        // left = q - value x, size = left.left
        operators.pass(job, VectorKernel::RESIDUAL, &[x, q], &[left])?;
        operators.scalars(job, VectorKernel::RESIDUAL, |step, [size, ..]| {
            let norm = step.load(self.norm, 0)?;
            // residual = |q - value x| / |q|
            let length = step.square_root(size);
            let residual = quotient(step, length, norm);
            step.store(self.residuals, number, residual)?;
            // scale = 1 / |q|, for x = q / |q|
            let scale = inverse(step, norm);
            operators.fill(step, &[scale])
        })
    }

    /// Adds the copy of x after the last iteration into the user's array.
    fn end(&self, job: &mut Job, to: u64) -> Result<(), JobError> {
        self.operators.fill_one(job)?;
        self.operators
            .pass(job, VectorKernel::SCALED, &[self.x], &[to])
    }
}
