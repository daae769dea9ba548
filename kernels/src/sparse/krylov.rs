//! Krylov solvers for A x = b: cg, pcg and bicgstab.
//!
//! The methods are conjugate gradients, conjugate gradients preconditioned with the diagonal, and stabilised
//! biconjugate gradients.
//!
//! An iteration consists of products and passes over vectors, between which the control CPU computes the
//! scalars in double precision. It also checks the residual as [`Watch`](cp2_problems::sparse::Watch) does,
//! and a word that it writes ends the loop. Passes that must not run after a breakdown are in a loop of at
//! most one turn, and so are those that scale b if its squares do not fit single precision.
//!
//! Passes of an iteration besides products (u.v is a dot product, d = 1/diag(A), s the shadow residual):
//!
//! * cg: p.q; r - alpha q with r.r; x + alpha p with r + beta p.
//! * pcg: p.q; r - alpha q with r.r and r.d r; x + alpha p with d r + beta p.
//! * bicgstab: s.v; r - alpha v with z = d r; t.r with t.t; x + alpha y + omega z with r - omega t,
//!   s.r and r.r; p = r + beta (p - omega v) with y = d p.

mod driver;
mod iterations;
mod rhs_scaling;

use super::vector_passes::VectorKernel;
use super::{IterationPlan, Operators, PackedFormat, PackedMatrix, Packing, SparseError};
use crate::backend::{Failure, Method, Task};
use crate::job::{Job, JobError};
use cp2_host::DeviceOptions;
use cp2_machine::{Class, Machine};
use cp2_problems::Problem;
use cp2_problems::sparse::{MethodEnd, SolveProblem, SolverMethod as Iteration};
use cp2_reference::{Figures, SparseMethod, SparseNumbers, SparseSolver};
use driver::{IterationScalars, IterationVectors, SolverJobBuilder};
use std::sync::Arc;

/// A method planned for a machine.
#[derive(Debug)]
pub struct Solver {
    problem: SolveProblem,
    machine: Arc<Machine>,
    iteration: IterationPlan,
}

/// Returns the method that solves a problem of equations; none for other problems.
pub(crate) fn solve(
    machine: &Arc<Machine>,
    problem: &dyn Problem,
) -> Option<Result<Method, Failure>> {
    let problem = problem.downcast_ref::<SolveProblem>()?;
    let plan = Solver::new(problem.clone(), machine, None);
    Some(plan.map(Solver::into_method).map_err(Into::into))
}

/// Returns the passes of an iteration besides its products.
fn kernels(method: Iteration) -> &'static [VectorKernel] {
    match method {
        Iteration::Cg => &[
            VectorKernel::DOT,
            VectorKernel::RESIDUAL,
            VectorKernel::STEP,
        ],
        Iteration::Pcg => &[
            VectorKernel::DOT,
            VectorKernel::RESIDUAL_BY,
            VectorKernel::STEP_BY,
        ],
        Iteration::Bicgstab => &[
            VectorKernel::DOT,
            VectorKernel::HALF,
            VectorKernel::TWO_DOTS,
            VectorKernel::FINISH,
            VectorKernel::DIRECTION,
        ],
    }
}

impl Solver {
    /// Packs the matrix of a problem for a machine, in a given format or in the fastest one.
    ///
    /// # Errors
    /// The machine has too little of something for a product or for a pass over vectors.
    pub fn new(
        problem: SolveProblem,
        machine: &Arc<Machine>,
        format: Option<PackedFormat>,
    ) -> Result<Self, SparseError> {
        let kernels = kernels(problem.method());
        let iteration = IterationPlan::new(problem.matrix(), kernels, machine, format)?;
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

    /// Returns bound and reference of so many iterations.
    #[must_use]
    pub fn figures(&self, iterations: usize) -> Figures {
        let matrix = self.problem.matrix();
        let method = match self.problem.method() {
            Iteration::Cg => SparseMethod::Cg,
            Iteration::Pcg => SparseMethod::Pcg,
            Iteration::Bicgstab => SparseMethod::Bicgstab,
        };
        let numbers = match matrix.is_pattern() {
            true => SparseNumbers::Ones,
            false => SparseNumbers::Real,
        };
        let found = matrix.significant();
        let entries = [found.entries, found.values];
        SparseSolver::new(method, matrix.rows(), entries, numbers, iterations)
            .figures(&self.machine)
    }

    /// Returns the least operations of each pass of one iteration, the product first.
    fn operations(&self) -> Vec<Vec<(Class, u64)>> {
        let passes = kernels(self.problem.method()).iter();
        let passes = passes.map(|&kernel| self.iteration.vectors.operations(kernel));
        [self.iteration.product.operations()]
            .into_iter()
            .chain(passes)
            .collect()
    }

    /// Returns the solver as a method of the backend, whose input is the array `b` of the problem. The input
    /// decides the number of iterations, so the figures given are those of none.
    #[must_use]
    pub fn into_method(self) -> Method {
        let costs = (self.figures(0), self.operations());
        let recipe = Some(self.iteration.recipe(&self.machine));
        let machine = self.iteration.used.clone();
        let rows = self.problem.matrix().rows();
        Method::new(&machine, recipe, costs, move |input, options| {
            Ok(self.task(input.get_sized("b", rows)?, options)?)
        })
    }

    /// Returns the job that solves the system for a right-hand side, not yet run.
    ///
    /// # Errors
    /// System memory is used up.
    pub fn task(&self, b: &[f32], options: DeviceOptions) -> Result<Task, SparseError> {
        let rows = self.problem.matrix().rows();
        let most = self.problem.most_iterations();
        let mut job = Job::new(self.iteration.used.clone(), options);
        let [own, wide] = self.iteration.vectors.rows();
        let shape = [rows as u64];
        let b = job.rows_in(("b", b.into(), &shape), own, wide)?;
        let result = job.rows_out::<f32>(("x", &shape), own, wide)?;
        let residuals = job.output::<f64>("residuals", &[most as u64 + 1])?;
        let [count, end] = ["count", "end"].map(|name| job.output::<u32>(name, &[1]));
        let diagonal = match self.problem.method() {
            Iteration::Cg => None,
            _ => Some(self.diagonal(&mut job)?),
        };
        let mut vector = || self.iteration.vectors.vector(&mut job);
        let (x, r, p, q) = (vector()?, vector()?, vector()?, vector()?);
        let (y, z, t, zeros) = (vector()?, vector()?, vector()?, vector()?);
        let shadow = match self.problem.method() {
            Iteration::Bicgstab => vector()?,
            Iteration::Cg | Iteration::Pcg => zeros,
        };
        let iterating = SolverJobBuilder {
            operators: Operators {
                product: self.iteration.product.place(&mut job)?,
                vectors: self.iteration.vectors.place(&mut job)?,
            },
            at: IterationVectors {
                b,
                x,
                r,
                p,
                q,
                y,
                z,
                t,
                d: diagonal.unwrap_or(zeros),
                shadow,
                zeros,
            },
            kept: IterationScalars {
                residuals,
                count: count?,
                end: end?,
                scale: job.temporary(1)?,
                rescale: job.temporary(1)?,
                norm: job.temporary(1)?,
                rho: job.temporary(1)?,
                alpha: job.temporary(1)?,
                omega: job.temporary(1)?,
                best: job.temporary(2)?,
                more: job.temporary(1)?,
                go: job.temporary(1)?,
            },
            solver: self,
        };
        iterating.all(&mut job, result.address)?;
        let x = job.deliver(result)?;
        let IterationScalars { count, end, .. } = iterating.kept;
        let problem = self.problem.clone();
        Ok(Task::reading(job, move |run| {
            let count = run.read(count)?.first().copied().unwrap_or_default();
            let end = run
                .read(end)?
                .first()
                .copied()
                .and_then(MethodEnd::from_number);
            let all = run.read(residuals)?;
            let made = all.get(..count as usize).unwrap_or(&all);
            Ok(problem.output(run.read(x)?, made, end.unwrap_or(MethodEnd::Breakdown)))
        }))
    }

    /// Makes the table of the preconditioner, d = 1/diag(A) for pcg and bicgstab, and returns its address;
    /// ones if there is none.
    fn diagonal(&self, job: &mut Job) -> Result<u64, JobError> {
        let rows = self.problem.matrix().rows();
        let mut diagonal = self.problem.preconditioner().unwrap_or(vec![1.0; rows]);
        diagonal.resize(self.iteration.vectors.len(), 0.0);
        Ok(job.table(&diagonal)?.address())
    }
}
