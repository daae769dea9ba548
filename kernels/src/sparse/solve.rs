//! Systems of equations: conjugate gradients, the same preconditioned with the diagonal, and stabilised biconjugate gradients.
//!
//! An iteration is products and passes over vectors, between which the control CPU makes scalars in double precision; it also watches the
//! residual as [`Watch`](cp2_problems::sparse::Watch) does, and its word ends the loop. What depends on whether a method has broken down is a loop of one turn at most.
//!
//! | | passes beside products |
//! |---|---|
//! | cg, pcg | p q; r - alpha q with r r (and r d r); x + alpha p with (d) r + beta p |
//! | bicgstab | s v; r - alpha v with d r; t r with t t; x + alpha y + omega z with r - omega t, s r and r r; r + beta (p - omega v) with d p |

use super::vectors::{Kernel, Vectors};
use super::{Operators, Product, SparseError};
use crate::backend::{Failure, Method, Task};
use crate::job::{Job, JobError};
use cp2_host::{Buffer, HostError, HostStep, Options, Scalar};
use cp2_machine::{Class, Machine};
use cp2_problems::Problem;
use cp2_problems::sparse::{End, Method as Iteration, SolveProblem};
use cp2_reference::{Figures, SparseMethod, SparseNumbers, SparseSolver};
use std::sync::Arc;

/// A method planned for a machine.
#[derive(Debug)]
pub struct Solver {
    problem: SolveProblem,
    machine: Arc<Machine>,
    product: Product,
    vectors: Vectors,
}

/// The solution of a system, if it is the problem.
pub(crate) fn solve(
    machine: &Arc<Machine>,
    problem: &dyn Problem,
) -> Option<Result<Method, Failure>> {
    let problem = problem.downcast_ref::<SolveProblem>()?;
    let plan = Solver::new(problem.clone(), machine);
    Some(plan.map(Solver::into_method).map_err(Into::into))
}

/// The passes of an iteration.
fn kernels(method: Iteration) -> &'static [Kernel] {
    match method {
        Iteration::Cg => &[Kernel::DOT, Kernel::RESIDUAL, Kernel::STEP],
        Iteration::Pcg => &[Kernel::DOT, Kernel::RESIDUAL_BY, Kernel::STEP_BY],
        Iteration::Bicgstab => &[
            Kernel::DOT,
            Kernel::HALF,
            Kernel::TWO_DOTS,
            Kernel::FINISH,
            Kernel::DIRECTION,
        ],
    }
}

impl Solver {
    /// Packs the matrix of a problem for a machine.
    ///
    /// # Errors
    /// The machine has too little of something for a product or for a pass over vectors.
    pub fn new(problem: SolveProblem, machine: &Arc<Machine>) -> Result<Self, SparseError> {
        let product = Product::new(problem.matrix(), machine, None)?;
        let kernels = kernels(problem.method());
        let vectors = Vectors::new(problem.matrix().rows(), kernels, machine)?;
        Ok(Self {
            problem,
            machine: machine.clone(),
            product,
            vectors,
        })
    }

    /// The packed matrix.
    #[must_use]
    pub fn product(&self) -> &Product {
        &self.product
    }

    /// Bound and reference of so many iterations.
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
        let entries = [matrix.nnz(), matrix.triangle_nnz()];
        SparseSolver::new(method, matrix.rows(), entries, numbers, iterations)
            .figures(&self.machine)
    }

    /// What each pass of one iteration has to issue at least, products first.
    fn operations(&self) -> Vec<Vec<(Class, u64)>> {
        let passes = kernels(self.problem.method()).iter();
        let passes = passes.map(|&kernel| self.vectors.operations(kernel));
        [self.product.operations()]
            .into_iter()
            .chain(passes)
            .collect()
    }

    /// The method as one of the backend, whose input is the array `b` of the problem. How many iterations it makes its input decides: its figures are those of
    /// one.
    #[must_use]
    pub fn into_method(self) -> Method {
        let costs = (self.figures(1), self.operations());
        let recipe = Some(self.product.recipe());
        let machine = self.machine.clone();
        let rows = self.problem.matrix().rows();
        Method::new(&machine, recipe, costs, move |input, options| {
            Ok(self.task(input.sized("b", rows)?, options)?)
        })
    }

    /// The iterations for a right-hand side as a job; nothing of it is done yet.
    ///
    /// # Errors
    /// System memory is used up.
    pub fn task(&self, b: &[f32], options: Options) -> Result<Task, SparseError> {
        let rows = self.problem.matrix().rows();
        let most = self.problem.most_iterations();
        let mut job = Job::new(self.machine.clone(), options);
        let [own, wide] = self.vectors.rows();
        let shape = [rows as u64];
        let b = job.rows_in(("b", b.into(), &shape), own, wide)?;
        let result = job.rows_out::<f32>(("x", &shape), own, wide)?;
        let residuals = job.output::<f64>("residuals", &[most as u64 + 1])?;
        let [count, end] = ["count", "end"].map(|name| job.output::<u32>(name, &[1]));
        let diagonal = match self.problem.method() {
            Iteration::Cg => None,
            _ => Some(self.diagonal(&mut job)?),
        };
        let mut vector = || self.vectors.vector(&mut job);
        let (x, r, p, q) = (vector()?, vector()?, vector()?, vector()?);
        let (y, z, t, zeros) = (vector()?, vector()?, vector()?, vector()?);
        let iterating = Iterating {
            operators: Operators {
                product: self.product.place(&mut job)?,
                vectors: self.vectors.place(&mut job)?,
            },
            at: Arrays {
                b,
                x,
                r,
                p,
                q,
                y,
                z,
                t,
                d: diagonal.unwrap_or(zeros),
                zeros,
            },
            kept: Kept {
                residuals,
                count: count?,
                end: end?,
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
        let Kept { count, end, .. } = iterating.kept;
        let problem = self.problem.clone();
        Ok(Task::reading(job, move |run| {
            let count = run.read(count)?.first().copied().unwrap_or_default();
            let end = run.read(end)?.first().copied().and_then(End::of);
            let all = run.read(residuals)?;
            let made = all.get(..count as usize).unwrap_or(&all);
            Ok(problem.output(run.read(x)?, made, end.unwrap_or(End::Breakdown)))
        }))
    }

    /// What residuals are multiplied by: ones where there is no preconditioner.
    fn diagonal(&self, job: &mut Job) -> Result<u64, JobError> {
        let rows = self.problem.matrix().rows();
        let mut diagonal = self.problem.preconditioner().unwrap_or(vec![1.0; rows]);
        diagonal.resize(self.vectors.len(), 0.0);
        Ok(job.table(&diagonal)?.address())
    }
}

/// Addresses of vectors.
#[derive(Clone, Copy, Debug)]
struct Arrays {
    b: u64,
    x: u64,
    r: u64,
    p: u64,
    /// The product with p, or with y.
    q: u64,
    y: u64,
    z: u64,
    t: u64,
    d: u64,
    zeros: u64,
}

/// Numbers that steps leave for later ones, and the outputs.
#[derive(Clone, Copy, Debug)]
struct Kept {
    residuals: Buffer<f64>,
    /// How many residuals there are.
    count: Buffer<u32>,
    end: Buffer<u32>,
    /// |b|.
    norm: Buffer<f64>,
    rho: Buffer<f64>,
    alpha: Buffer<f64>,
    omega: Buffer<f64>,
    /// The smallest residual that counts as progress, and behind which iteration.
    best: Buffer<f64>,
    /// Whether another iteration comes, and whether the rest of this one does.
    more: Buffer<u32>,
    go: Buffer<u32>,
}

/// A job being put together.
struct Iterating<'a> {
    solver: &'a Solver,
    operators: Operators<'a>,
    at: Arrays,
    kept: Kept,
}

/// 1 if a number is 0, else 0.
fn not(step: &mut HostStep, number: Scalar) -> Scalar {
    let [zero, one] = [0.0, 1.0].map(|n| step.constant(n));
    step.select(number, zero, one)
}

/// 1 if a number is one and not infinite.
fn finite(step: &mut HostStep, number: Scalar) -> Scalar {
    let (size, infinity) = (step.magnitude(number), step.constant(f64::INFINITY));
    step.less(size, infinity)
}

/// The number of an end, of which there is none yet: one more than all.
fn end(step: &mut HostStep, end: Option<End>) -> Scalar {
    let number = end.map_or(End::ALL.len() as u32, End::number);
    step.constant(number.into())
}

impl Iterating<'_> {
    fn all(&self, job: &mut Job, to: u64) -> Result<(), JobError> {
        self.begin(job)?;
        let most = self.solver.problem.most_iterations() as u64;
        let is_stabilised = self.solver.problem.method() == Iteration::Bicgstab;
        job.repeat(
            "has it ended",
            self.kept.more,
            most,
            |job| match is_stabilised {
                true => self.stabilised(job),
                false => self.gradients(job),
            },
        )?;
        self.operators.fill_one(job)?;
        self.operators
            .pass(job, Kernel::SCALED, &[self.at.x], &[to])
    }

    /// x = 0, r = p = b (or p = d b), and the first residual.
    fn begin(&self, job: &mut Job) -> Result<(), JobError> {
        let Arrays {
            b,
            x,
            r,
            p,
            y,
            d,
            zeros,
            ..
        } = self.at;
        self.operators.fill_one(job)?;
        self.operators.pass(job, Kernel::SCALED, &[zeros], &[x])?;
        let first = match self.solver.problem.method() {
            Iteration::Cg => {
                self.operators.pass(job, Kernel::SCALED, &[b], &[p])?;
                self.operators.pass(job, Kernel::SCALED, &[b], &[r])?;
                Kernel::SCALED
            }
            Iteration::Pcg => {
                self.operators.pass(job, Kernel::BEGIN, &[b, d], &[r, p])?;
                Kernel::BEGIN
            }
            Iteration::Bicgstab => {
                self.operators.pass(job, Kernel::SCALED, &[b], &[p])?;
                self.operators.pass(job, Kernel::BEGIN, &[b, d], &[r, y])?;
                Kernel::BEGIN
            }
        };
        let (kept, is_preconditioned) = (self.kept, self.solver.problem.method() == Iteration::Pcg);
        self.operators
            .scalars(job, first, |step, [square, across, _]| {
                let norm = step.square_root(square);
                let finite = finite(step, norm);
                let [zero, one] = [0.0, 1.0].map(|n| step.constant(n));
                let is_none = not(step, norm);
                let residual = step.select(is_none, zero, one);
                step.store(kept.residuals, 0, residual)?;
                step.store(kept.count, 0, finite)?;
                step.store(kept.norm, 0, norm)?;
                step.store(kept.rho, 0, if is_preconditioned { across } else { square })?;
                step.store(kept.best, 0, one)?;
                step.store(kept.best, 1, zero)?;
                let [converged, diverged, none] =
                    [Some(End::Converged), Some(End::Diverged), None].map(|known| end(step, known));
                let found = step.select(is_none, converged, none);
                let found = step.select(finite, found, diverged);
                step.store(kept.end, 0, found)?;
                let begun = not(step, is_none);
                let more = step.both(finite, begun);
                step.store(kept.more, 0, more)
            })
    }

    /// alpha = rho / `by` if that can be divided by; else the end.
    fn divide(&self, step: &mut HostStep, by: Scalar, is_positive: bool) -> Result<(), HostError> {
        let kept = self.kept;
        let finite = finite(step, by);
        let zero = step.constant(0.0);
        let mut usable = step.less(zero, by);
        if !is_positive {
            let negative = step.less(by, zero);
            usable = step.either(usable, negative);
        }
        let go = step.both(finite, usable);
        let [broken, diverged, none] =
            [Some(End::Breakdown), Some(End::Diverged), None].map(|known| end(step, known));
        let found = step.select(finite, broken, diverged);
        let found = step.select(go, none, found);
        step.store(kept.end, 0, found)?;
        step.store(kept.more, 0, go)?;
        step.store(kept.go, 0, go)?;
        let rho = step.load(kept.rho, 0)?;
        let alpha = step.divide(rho, by);
        step.store(kept.alpha, 0, alpha)?;
        self.operators.fill(step, &[alpha])
    }

    /// Takes note of a residual as a `Watch` does. If it goes on, and `broken` is not 0, it has broken down.
    fn note(&self, step: &mut HostStep, square: Scalar, broken: Scalar) -> Result<(), HostError> {
        let (kept, problem) = (self.kept, &self.solver.problem);
        let norm = step.load(kept.norm, 0)?;
        let root = step.square_root(square);
        let residual = step.divide(root, norm);
        let finite = finite(step, residual);
        // The first residual is that of no iteration.
        let count = step.load(kept.count, 0)?;
        let nowhere = step.constant(f64::INFINITY);
        let place = step.select(finite, count, nowhere);
        step.put(kept.residuals, place, residual)?;
        let next = step.add(count, finite);
        step.store(kept.count, 0, next)?;

        let [best, best_at] = [step.load(kept.best, 0)?, step.load(kept.best, 1)?];
        let share = step.constant(SolveProblem::PROGRESS);
        let least = step.multiply(share, best);
        let progress = step.less(residual, least);
        let best = step.select(progress, residual, best);
        let best_at = step.select(progress, count, best_at);
        step.store(kept.best, 0, best)?;
        step.store(kept.best, 1, best_at)?;

        let stalled = step.subtract(count, best_at);
        let limits = [
            problem.tolerance(),
            SolveProblem::DIVERGED,
            problem.most_iterations() as f64,
            problem.patience() as f64,
        ];
        let [tolerance, far, most, patience] = limits.map(|limit| step.constant(limit));
        let large = step.less(tolerance, residual);
        let near = step.less(residual, far);
        let early = step.less(count, most);
        let moving = step.less(stalled, patience);
        let [none, broke, stagnated, limit, diverged, converged] = [
            None,
            Some(End::Breakdown),
            Some(End::Stagnated),
            Some(End::Limit),
            Some(End::Diverged),
            Some(End::Converged),
        ]
        .map(|known| end(step, known));
        // The last that holds is the first that is asked for.
        let found = step.select(broken, broke, none);
        let found = step.select(moving, found, stagnated);
        let found = step.select(early, found, limit);
        let found = step.select(near, found, diverged);
        let found = step.select(large, found, converged);
        let found = step.select(finite, found, diverged);
        step.store(kept.end, 0, found)?;
        let more = step.subtract(none, found);
        let goes_on = not(step, more);
        step.store(kept.more, 0, goes_on)
    }

    /// An iteration of conjugate gradients.
    fn gradients(&self, job: &mut Job) -> Result<(), JobError> {
        let Arrays { x, r, p, q, d, .. } = self.at;
        let kept = self.kept;
        self.operators.product(job, p, q);
        self.operators.pass(job, Kernel::DOT, &[p, q], &[])?;
        self.operators
            .scalars(job, Kernel::DOT, |step, [curvature, ..]| {
                self.divide(step, curvature, true)
            })?;
        let is_preconditioned = self.solver.problem.method() == Iteration::Pcg;
        job.repeat("can it go on", kept.go, 1, |job| {
            let residual = match is_preconditioned {
                true => Kernel::RESIDUAL_BY,
                false => Kernel::RESIDUAL,
            };
            match is_preconditioned {
                true => self.operators.pass(job, residual, &[q, r, d], &[r])?,
                false => self.operators.pass(job, residual, &[q, r], &[r])?,
            }
            self.operators
                .scalars(job, residual, |step, [square, across, _]| {
                    let new = if is_preconditioned { across } else { square };
                    let broken = not(step, new);
                    self.note(step, square, broken)?;
                    let old = step.load(kept.rho, 0)?;
                    let beta = step.divide(new, old);
                    step.store(kept.rho, 0, new)?;
                    let alpha = step.load(kept.alpha, 0)?;
                    self.operators.fill(step, &[alpha, beta])
                })?;
            match is_preconditioned {
                true => self
                    .operators
                    .pass(job, Kernel::STEP_BY, &[x, p, r, d], &[x, p]),
                false => self.operators.pass(job, Kernel::STEP, &[x, p, r], &[x, p]),
            }
        })
    }

    /// An iteration of stabilised biconjugate gradients; the shadow of the residual is b.
    fn stabilised(&self, job: &mut Job) -> Result<(), JobError> {
        let Arrays {
            b,
            x,
            r,
            p,
            q: v,
            y,
            z,
            t,
            d,
            ..
        } = self.at;
        let kept = self.kept;
        self.operators.product(job, y, v);
        self.operators.pass(job, Kernel::DOT, &[b, v], &[])?;
        self.operators
            .scalars(job, Kernel::DOT, |step, [across, ..]| {
                self.divide(step, across, false)
            })?;
        job.repeat("can it go on", kept.go, 1, |job| {
            self.operators
                .pass(job, Kernel::HALF, &[r, v, d], &[r, z])?;
            self.operators.product(job, z, t);
            self.operators.pass(job, Kernel::TWO_DOTS, &[t, r], &[])?;
            self.operators
                .scalars(job, Kernel::TWO_DOTS, |step, [across, size, _]| {
                    // Where nothing is left of t nothing is left of r, or it cannot be made smaller that way.
                    let (zero, quotient) = (step.constant(0.0), step.divide(across, size));
                    let omega = step.select(size, quotient, zero);
                    step.store(kept.omega, 0, omega)?;
                    let alpha = step.load(kept.alpha, 0)?;
                    self.operators.fill(step, &[alpha, omega])
                })?;
            self.operators
                .pass(job, Kernel::FINISH, &[x, y, z, r, t, b], &[x, r])?;
            self.operators
                .scalars(job, Kernel::FINISH, |step, [new, square, _]| {
                    let omega = step.load(kept.omega, 0)?;
                    let usable = step.both(omega, new);
                    let broken = not(step, usable);
                    self.note(step, square, broken)?;
                    let (old, alpha) = (step.load(kept.rho, 0)?, step.load(kept.alpha, 0)?);
                    let [share, ratio] = [step.divide(new, old), step.divide(alpha, omega)];
                    let beta = step.multiply(share, ratio);
                    step.store(kept.rho, 0, new)?;
                    self.operators.fill(step, &[beta, omega])
                })?;
            self.operators
                .pass(job, Kernel::DIRECTION, &[r, p, v, d], &[p, y])
        })
    }
}
