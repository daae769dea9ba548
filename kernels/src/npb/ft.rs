//! The benchmark FT: forward transform once, then a step with each inverse.
//!
//! A step multiplies the spectrum by factors of time and transforms it back.
//!
//! The transform is divided into passes as the planner of transforms does. A step is a pass along z that also
//! multiplies by the factors, so that the spectrum is only read, then passes along y and x. The control CPU
//! adds up the numbers of a checksum in double precision.

use crate::backend::{Failure, Method, Task};
use crate::fft::{FftError, FieldFft};
use crate::job::{Job, JobError};
use cp2_host::{Buffer, DeviceOptions, HostError, HostStep};
use cp2_machine::{Class, Machine};
use cp2_problems::npb::FtProblem;
use cp2_problems::{NamedArrays, Problem};
use cp2_reference::{Diffusion, Figures};
use num_complex::Complex32;
use std::sync::Arc;

/// Number of host steps that a checksum is divided into: each adds up a part of the points.
const PARTS: usize = 2;

/// Names of the parts of a run of FT, as its marks have them: the forward transform, and in each step the
/// inverse transform and the checksum.
pub const FT_OPERATORS: [&str; 3] = ["transform", "evolve", "checksum"];

/// FT planned for a machine: its problem and the passes of its transforms.
#[derive(Debug)]
struct Ft {
    problem: FtProblem,
    machine: Arc<Machine>,
    passes: FieldFft,
}

/// Plans FT, if the problem is FT.
pub(crate) fn ft(machine: &Arc<Machine>, problem: &dyn Problem) -> Option<Result<Method, Failure>> {
    let problem = problem.downcast_ref::<FtProblem>()?;
    Some(method(machine, problem).map_err(Into::into))
}

/// Plans the transforms and makes the method.
fn method(machine: &Arc<Machine>, problem: &FtProblem) -> Result<Method, FftError> {
    // The smallest factor along z is that of the largest wave number in the last step.
    let [planes, ..] = problem.shape();
    let factors = FtProblem::factors(planes, problem.steps());
    let least = factors.into_iter().fold(1.0, f64::min);
    let plan = Ft {
        problem: problem.clone(),
        machine: machine.clone(),
        passes: FieldFft::new(problem.shape(), least, machine)?,
    };
    let costs = (plan.figures(), plan.operations());
    let recipe = Some(plan.passes.recipe());
    Ok(Method::new(
        machine,
        recipe,
        costs,
        move |input, options| {
            let x = input.get_sized("x", plan.problem.len())?;
            Ok(plan.task(x, options)?)
        },
    ))
}

impl Ft {
    /// Returns the proved limit and the time of the best known program.
    fn figures(&self) -> Figures {
        let diffusion = Diffusion {
            shape: self.problem.shape(),
            steps: self.problem.steps(),
        };
        diffusion.figures(&self.machine)
    }

    /// Returns for each pass the least it has to issue: one forward transform, then an inverse one for each
    /// step.
    fn operations(&self) -> Vec<Vec<(Class, u64)>> {
        let mut passes = self.passes.forward_operations();
        for _ in 0..self.problem.steps() {
            passes.extend(self.passes.back_operations());
        }
        passes
    }

    /// Puts together the job on a field.
    fn task(&self, x: &[Complex32], options: DeviceOptions) -> Result<Task, FftError> {
        let [planes, rows, columns] = self.problem.shape();
        let shape = [planes, rows, columns].map(|n| n as u64);
        let steps = self.problem.steps();
        let mut job = Job::new(self.machine.clone(), options);
        let x = job.input("x", x, &shape)?;
        let transform = job.temporary::<Complex32>(x.len())?;
        let checksums = job.output::<f64>("checksums", &[steps as u64, 2])?;
        let w = job.output::<Complex32>("w", &shape)?;
        let partial = job.temporary::<f64>(2)?;
        let [all, evolve, checksum] = FT_OPERATORS;
        let arrays = [x.address(), transform.address()];
        // The array `w` is free for the forward transform's intermediate values: no result is there yet.
        self.passes.forward(&mut job, arrays, w.address())?;
        job.mark(all);
        for step in 1..=steps {
            let factors = self.problem.shape().map(|n| FtProblem::factors(n, step));
            let weights = self.passes.weights(&mut job, &factors)?;
            let arrays = [transform.address(), w.address()];
            self.passes.add_inverse(&mut job, &weights, arrays)?;
            job.mark(evolve);
            for part in 0..PARTS {
                let sum = self.checksum((w, partial), (checksums, step - 1), part);
                job.host_step(checksum, sum.map_err(JobError::from)?);
            }
            job.mark(checksum);
        }
        let form = self.problem.outputs();
        Ok(Task::reading(job, move |run| {
            let shape = |i: usize| form.get(i).map_or(Vec::new(), |form| form.shape.clone());
            let sums = NamedArrays::from_array("checksums", &shape(0), run.read(checksums)?);
            Ok(sums.add_array("w", &shape(1), run.read(w)?))
        }))
    }

    /// Makes the host step for a part of a checksum of the field w, `sum(w[point]) / N`.
    ///
    /// The first part begins with its first point, the others with the sum so far; the last one divides the
    /// sum by N.
    fn checksum(
        &self,
        (w, partial): (Buffer<Complex32>, Buffer<f64>),
        (checksums, number): (Buffer<f64>, usize),
        part: usize,
    ) -> Result<HostStep, HostError> {
        let floats = Buffer::<f32>::from_address(w.address(), 2 * w.len());
        let points: Vec<usize> = self.problem.points().collect();
        let share = points.len().div_ceil(PARTS);
        let own = points.iter().skip(part * share).take(share);
        let mut step = HostStep::new();
        let mut sums = [None; 2];
        for (i, sum) in sums.iter_mut().enumerate() {
            if part > 0 {
                *sum = Some(step.load(partial, i as u64)?);
            }
            for &point in own.clone() {
                let next = step.load(floats, (2 * point + i) as u64)?;
                *sum = Some(match *sum {
                    Some(sum) => step.add(sum, next),
                    None => next,
                });
            }
        }
        let last = part + 1 == PARTS;
        let scale = step.constant(1.0 / self.problem.len() as f64);
        for (i, sum) in sums.into_iter().flatten().enumerate() {
            if last {
                let sum = step.multiply(sum, scale);
                step.store(checksums, (2 * number + i) as u64, sum)?;
            } else {
                step.store(partial, i as u64, sum)?;
            }
        }
        Ok(step)
    }
}
