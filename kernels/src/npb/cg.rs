//! CG: inverse iterations, each of 25 steps of conjugate gradients.
//!
//! A step is a product and three passes over vectors, between which the control CPU makes the scalars in double
//! precision (u.v is a dot product):
//!
//! | pass | reads | writes |
//! |---|---|---|
//! | q = A p | the packed matrix, p | q |
//! | p.q | p, q | |
//! | r - alpha q, r.r | q, r | r |
//! | z + alpha p, r + beta p | z, p, r | z, p |
//!
//! In the first step r = p = x and z = 0: they are not copied. An iteration ends with the product q = A z, a pass
//! for the sums (x - q).(x - q), x.z and z.z, of which zeta = shift + 1 / x.z, and a pass for x = z / |z| and x.x.

use crate::backend::{Failure, Method, Task};
use crate::job::{Job, JobError};
use crate::sparse::vector_passes::VectorKernel;
use crate::sparse::{IterationPlan, Operators, PackedMatrix, Packing, SparseError, quotient};
use cp2_host::{Buffer, DeviceOptions, MemoryElement};
use cp2_machine::{Class, Cycles, Machine};
use cp2_problems::npb::Precision;
use cp2_problems::npb::cg::{CgClass, CgProblem};
use cp2_problems::{DataError, Element, NamedArrays, Problem};
use cp2_reference::{Figures, SparseMethod, SparseNumbers, SparseProduct, SparseSolver};
use std::sync::Arc;

/// The passes of which a step consists beside its product.
const STEP: [VectorKernel; 3] = [
    VectorKernel::DOT,
    VectorKernel::RESIDUAL,
    VectorKernel::STEP,
];

/// Planned inverse iterations.
#[derive(Debug)]
pub struct InverseIterations {
    problem: CgProblem,
    machine: Arc<Machine>,
    iteration: IterationPlan,
}

/// Returns the kind of numbers of a precision.
fn numbers(precision: Precision) -> SparseNumbers {
    match precision {
        Precision::Single => SparseNumbers::Real,
        Precision::DoubleSingle => SparseNumbers::DoubleSingle,
        Precision::Double => SparseNumbers::Double,
    }
}

/// CG, if it is the problem.
pub(crate) fn cg(machine: &Arc<Machine>, problem: &dyn Problem) -> Option<Result<Method, Failure>> {
    let problem = problem.downcast_ref::<CgProblem>()?;
    let plan = InverseIterations::new(problem.clone(), machine);
    Some(plan.map(InverseIterations::into_method).map_err(Into::into))
}

impl InverseIterations {
    /// Packs the matrix of a problem for a machine.
    ///
    /// # Errors
    /// The machine has too little of something for a product or for a pass over vectors.
    pub fn new(problem: CgProblem, machine: &Arc<Machine>) -> Result<Self, SparseError> {
        let iteration = IterationPlan::new(problem.matrix(), &STEP, machine, None)?;
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

    /// Cost of packing the matrix, and products without it.
    #[must_use]
    pub fn packing(&self) -> Packing {
        self.iteration.packing(self.problem.matrix(), &self.machine)
    }

    /// Bound and reference of the whole run.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let matrix = self.problem.matrix();
        let (steps, found) = (CgClass::STEPS, matrix.significant());
        SparseSolver::new(
            SparseMethod::Inverse { steps },
            matrix.rows(),
            [found.entries, found.values],
            numbers(matrix.precision()),
            self.problem.iterations(),
        )
        .figures(&self.machine)
    }

    /// Time of a product by its definition: values and vectors once.
    #[must_use]
    pub fn least_product(&self) -> Cycles {
        let matrix = self.problem.matrix();
        let found = matrix.significant();
        let sides = [matrix.rows(), found.columns];
        let numbers = numbers(matrix.precision());
        let product = SparseProduct::new(sides, found.entries, found.values, numbers, 1);
        product.figures(&self.machine).reference
    }

    /// For each pass the least it has to issue, see [`Method::operations`].
    #[must_use]
    pub fn operations(&self) -> Vec<Vec<(Class, u64)>> {
        let product = self.iteration.product.operations();
        let pass = |kernel| self.iteration.vectors.operations(kernel);
        let mut all = vec![pass(VectorKernel::SCALED)];
        for _ in 0..self.problem.iterations() {
            for step in 0..CgClass::STEPS {
                all.push(product.clone());
                let last = if step == 0 {
                    VectorKernel::FIRST_STEP
                } else {
                    VectorKernel::STEP
                };
                all.extend([VectorKernel::DOT, VectorKernel::RESIDUAL, last].map(pass));
            }
            all.push(product.clone());
            all.extend([VectorKernel::ERRORS, VectorKernel::SCALED].map(pass));
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
            Ok(match self.problem.precision() {
                Precision::Single => self.task::<f32>(input.get_sized("x", rows)?, options)?,
                Precision::DoubleSingle => {
                    self.task::<[f32; 2]>(input.get_sized("x", rows)?, options)?
                }
                Precision::Double => self.task::<f64>(input.get_sized("x", rows)?, options)?,
            })
        })
    }

    /// The iterations from a vector on, as a job; nothing of it is done yet.
    ///
    /// # Errors
    /// The vector has other numbers than the problem; system memory is used up.
    pub fn task<T: Element + MemoryElement>(
        &self,
        x: &[T],
        options: DeviceOptions,
    ) -> Result<Task, SparseError> {
        let expected = self.problem.precision().kind();
        if T::KIND != expected {
            let (name, found) = ("x", T::KIND);
            return Err(DataError::Kind {
                name,
                found,
                expected,
            }
            .into());
        }
        let (rows, count) = (self.problem.matrix().rows(), self.problem.iterations());
        let mut job = Job::new(self.iteration.used.clone(), options);
        let [own, wide] = self.iteration.vectors.rows();
        let shape = [rows as u64];
        let given = job.rows_in(("x", x.into(), &shape), own, wide)?;
        let zeta = job.output::<f64>("zeta", &[count as u64])?;
        let rnorm = job.output::<f64>("rnorm", &[count as u64])?;
        let result = job.rows_out::<T>(("x", &shape), own, wide)?;
        let mut making = CgJobBuilder {
            operators: Operators {
                product: self.iteration.product.place(&mut job)?,
                vectors: self.iteration.vectors.place(&mut job)?,
            },
            plan: self,
            x: self.iteration.vectors.vector(&mut job)?,
            z: self.iteration.vectors.vector(&mut job)?,
            r: self.iteration.vectors.vector(&mut job)?,
            p: self.iteration.vectors.vector(&mut job)?,
            q: self.iteration.vectors.vector(&mut job)?,
            square: job.temporary(1)?,
            step: job.temporary(1)?,
            job,
        };
        making.begin(given)?;
        for number in 0..count {
            for step in 0..CgClass::STEPS {
                making.step(step == 0)?;
            }
            let to = if number + 1 == count {
                result.address
            } else {
                making.x
            };
            making.end(number as u64, [zeta, rnorm], to)?;
        }
        let mut job = making.job;
        let x = job.deliver(result)?;
        Ok(Task::reading(job, move |run| {
            let data = NamedArrays::from_array("zeta", &[count], run.read(zeta)?);
            let data = data.add_array("rnorm", &[count], run.read(rnorm)?);
            Ok(data.add_array("x", &[rows], run.read(x)?))
        }))
    }
}

/// A job being put together: addresses of vectors, and scalars that are kept.
struct CgJobBuilder<'a> {
    plan: &'a InverseIterations,
    job: Job,
    operators: Operators<'a>,
    x: u64,
    z: u64,
    r: u64,
    p: u64,
    q: u64,
    /// Scalar rho = r.r.
    square: Buffer<f64>,
    /// Scalar alpha.
    step: Buffer<f64>,
}

impl CgJobBuilder<'_> {
    /// Adds the first x, a copy of the user's array, padded with zeros.
    fn begin(&mut self, given: u64) -> Result<(), JobError> {
        let Self { job, operators, .. } = self;
        operators.fill_one(job)?;
        operators.pass(job, VectorKernel::SCALED, &[given], &[self.x])?;
        self.keep_square()
    }

    /// Keeps rho = x.x, the r.r of the first step.
    fn keep_square(&mut self) -> Result<(), JobError> {
        let square = self.square;
        let Self { job, operators, .. } = self;
        operators.scalars(job, VectorKernel::SCALED, |step, [sum, ..]| {
            step.store(square, 0, sum)
        })
    }

    /// Adds a step of conjugate gradients:
    ///
    /// ```text
    /// q = A p
    /// alpha = rho / p.q
    /// r = r - alpha q
    /// rho' = r.r, beta = rho' / rho
    /// z = z + alpha p
    /// p = r + beta p
    /// ```
    fn step(&mut self, is_first: bool) -> Result<(), JobError> {
        let [z, r, p, q] = [self.z, self.r, self.p, self.q];
        let (square, step) = (self.square, self.step);
        let Self { job, operators, .. } = self;
        // Before the first step r = p = x, and z = 0.
        let [old_r, old_p] = if is_first { [self.x; 2] } else { [r, p] };
        // q = A p
        operators.product(job, old_p, q);
        // curvature = p.q
        operators.pass(job, VectorKernel::DOT, &[old_p, q], &[])?;
        operators.scalars(job, VectorKernel::DOT, |host, [curvature, ..]| {
            let square = host.load(square, 0)?;
            // alpha = rho / p.q, with rho in `square`; 0 if p.q = 0, as nothing is left to be solved.
            let alpha = quotient(host, square, curvature);
            host.store(step, 0, alpha)?;
            operators.fill(host, &[alpha])
        })?;
        // r = r - alpha q, new = r.r
        operators.pass(job, VectorKernel::RESIDUAL, &[q, old_r], &[r])?;
        operators.scalars(job, VectorKernel::RESIDUAL, |host, [new, ..]| {
            // rho' = r.r; beta = rho' / rho
            let old = host.load(square, 0)?;
            let beta = quotient(host, new, old);
            host.store(square, 0, new)?;
            let alpha = host.load(step, 0)?;
            operators.fill(host, &[alpha, beta])
        })?;
        // z = z + alpha p; p = r + beta p
        match is_first {
            true => operators.pass(job, VectorKernel::FIRST_STEP, &[old_p, r], &[z, p]),
            false => operators.pass(job, VectorKernel::STEP, &[z, p, r], &[z, p]),
        }
    }

    /// Adds the end of an iteration: zeta = shift + 1 / x.z and |x - A z|, and the next x = z / |z|.
    fn end(
        &mut self,
        number: u64,
        [zeta, rnorm]: [Buffer<f64>; 2],
        to: u64,
    ) -> Result<(), JobError> {
        let ([x, z, q], shift) = ([self.x, self.z, self.q], self.plan.problem.shift());
        let Self { job, operators, .. } = self;
        // q = A z
        operators.product(job, z, q);
        // left = (x - q).(x - q), across = x.z, square = z.z
        operators.pass(job, VectorKernel::ERRORS, &[x, q, z], &[])?;
        operators.scalars(job, VectorKernel::ERRORS, |host, [left, across, square]| {
            // rnorm = |x - A z|
            let norm = host.square_root(left);
            host.store(rnorm, number, norm)?;
            let (one, shift) = (host.constant(1.0), host.constant(shift));
            // zeta = shift + 1 / x.z
            let inverse = host.divide(one, across);
            let value = host.add(shift, inverse);
            host.store(zeta, number, value)?;
            // scale = 1 / |z|
            let length = host.square_root(square);
            let scale = host.divide(one, length);
            operators.fill(host, &[scale])
        })?;
        // x = z / |z|, with x.x
        operators.pass(job, VectorKernel::SCALED, &[z], &[to])?;
        self.keep_square()
    }
}
