//! The benchmark FT: forward transform once, then a step with each inverse.
//!
//! A step multiplies the spectrum by factors of time and transforms it back.
//!
//! The transform is divided into passes as the planner of transforms does. A step is a pass along z that also
//! multiplies by the factors, so that the spectrum is only read, then passes along y and x. The control CPU
//! adds up the numbers of a checksum in double precision.

mod double;

use crate::backend::{Failure, Method, Task};
use crate::fft::{FftError, FieldFft};
use crate::job::{Job, JobError};
use crate::npb::number_format;
use crate::sections::{choose_sections, describe_idle};
use cp2_host::{Buffer, DeviceOptions, HostError, HostStep, MemoryElement, StepNumber};
use cp2_machine::{Class, Extensions, Machine};
use cp2_problems::npb::{FtProblem, Precision};
use cp2_problems::{Element, NamedArrays, Problem};
use cp2_reference::{Diffusion, Figures};
use double::DoubleField;
use num_complex::{Complex32, Complex64};
use std::sync::Arc;

/// Number of host steps that a checksum is divided into: each adds up a part of the points.
const PARTS: usize = 2;

/// Names of the parts of a run of FT, as its marks have them: the forward transform, and in each step the
/// inverse transform and the checksum.
pub const FT_OPERATORS: [&str; 3] = ["transform", "evolve", "checksum"];

/// A machine without the arithmetic of double precision.
#[derive(Debug, thiserror::Error)]
#[error(
    "FT in double precision needs the extension `double`, which {machine} does not have: take the machine {machine}+double, or single precision"
)]
struct NoDouble {
    machine: String,
}

/// A field in double-single precision, whose transforms have no kernels.
#[derive(Debug, thiserror::Error)]
#[error(
    "FT in double-single precision has no kernels: take single precision, or double precision on a machine with the extension `double`"
)]
struct NoDoubleSingle;

/// Passes of the transforms of a field.
#[derive(Debug)]
enum FieldPasses {
    Single(Box<FieldFft>),
    Double(Box<DoubleField>),
}

/// FT planned for a machine: its problem and the passes of its transforms.
#[derive(Debug)]
struct Ft {
    problem: FtProblem,
    machine: Arc<Machine>,
    /// The machine with as many sections as the passes use.
    used: Arc<Machine>,
    passes: FieldPasses,
}

/// Plans FT, if the problem is FT.
pub(crate) fn ft(machine: &Arc<Machine>, problem: &dyn Problem) -> Option<Result<Method, Failure>> {
    let problem = problem.downcast_ref::<FtProblem>()?;
    Some(method(machine, problem))
}

/// Plans the transforms and makes the method.
fn method(machine: &Arc<Machine>, problem: &FtProblem) -> Result<Method, Failure> {
    let plan = match problem.precision() {
        Precision::Single => Ft::plan_single(machine, problem)?,
        Precision::DoubleSingle => return Err(NoDoubleSingle.into()),
        Precision::Double => Ft::plan_double(machine, problem)?,
    };
    let costs = (plan.figures(), plan.operations());
    let recipe = Some(plan.recipe());
    Ok(Method::new(
        machine,
        recipe,
        costs,
        move |input, options| {
            let len = plan.problem.len();
            Ok(match plan.passes {
                FieldPasses::Single(_) => {
                    plan.task::<Complex32>(input.get_sized("x", len)?, options)?
                }
                FieldPasses::Double(_) => {
                    plan.task::<Complex64>(input.get_sized("x", len)?, options)?
                }
            })
        },
    ))
}

/// A complex number of a field.
trait FieldNumber: Element + MemoryElement {
    /// Its real and imaginary part.
    type Part: StepNumber + MemoryElement;
}

impl FieldNumber for Complex32 {
    type Part = f32;
}

impl FieldNumber for Complex64 {
    type Part = f64;
}

impl Ft {
    /// Plans FT in single precision.
    fn plan_single(machine: &Arc<Machine>, problem: &FtProblem) -> Result<Self, FftError> {
        // The smallest factor along z is that of the largest wave number in the last step.
        let [planes, ..] = problem.shape();
        let factors = FtProblem::factors(planes, problem.steps());
        let least = factors.into_iter().fold(1.0, f64::min);
        let passes = FieldFft::new(problem.shape(), least, machine)?;
        Ok(Self {
            problem: problem.clone(),
            machine: machine.clone(),
            used: machine.clone(),
            passes: FieldPasses::Single(Box::new(passes)),
        })
    }

    /// Plans FT in double precision.
    fn plan_double(machine: &Arc<Machine>, problem: &FtProblem) -> Result<Self, Failure> {
        if !machine.cp2.extensions.contains(Extensions::DOUBLE) {
            let machine = machine.name.clone();
            return Err(NoDouble { machine }.into());
        }
        let plan = |used: &Arc<Machine>| {
            let passes = DoubleField::new(problem.shape(), used)?;
            let price = passes.price(problem.steps(), used);
            let plan = Self {
                problem: problem.clone(),
                machine: machine.clone(),
                used: used.clone(),
                passes: FieldPasses::Double(Box::new(passes)),
            };
            Ok::<_, FftError>((plan, price))
        };
        Ok(choose_sections(machine, plan, |(_, price)| Some(*price))?.0)
    }

    /// Describes the passes in words.
    fn recipe(&self) -> String {
        let passes = match &self.passes {
            FieldPasses::Single(passes) => passes.recipe(),
            FieldPasses::Double(passes) => passes.recipe(),
        };
        match describe_idle(&self.machine, &self.used) {
            Some(idle) => format!("{passes}; {idle}"),
            None => passes,
        }
    }

    /// Returns the proved limit and the time of the best known program.
    fn figures(&self) -> Figures {
        let diffusion = Diffusion {
            shape: self.problem.shape(),
            steps: self.problem.steps(),
            format: number_format(self.problem.precision()),
        };
        diffusion.figures(&self.machine)
    }

    /// Returns for each pass the least it has to issue: one forward transform, then an inverse one for each
    /// step.
    fn operations(&self) -> Vec<Vec<(Class, u64)>> {
        let [mut passes, back] = match &self.passes {
            FieldPasses::Single(passes) => [passes.forward_operations(), passes.back_operations()],
            FieldPasses::Double(passes) => [passes.forward_operations(), passes.back_operations()],
        };
        for _ in 0..self.problem.steps() {
            passes.extend(back.iter().cloned());
        }
        passes
    }

    /// Puts together the job on a field.
    fn task<T: FieldNumber>(&self, x: &[T], options: DeviceOptions) -> Result<Task, FftError> {
        let [planes, rows, columns] = self.problem.shape();
        let shape = [planes, rows, columns].map(|n| n as u64);
        let steps = self.problem.steps();
        let mut job = Job::new(self.used.clone(), options);
        let x = job.input("x", x, &shape)?;
        let transform = job.temporary::<T>(x.len())?;
        let checksums = job.output::<f64>("checksums", &[steps as u64, 2])?;
        let w = job.output::<T>("w", &shape)?;
        let partial = job.temporary::<f64>(2)?;
        let [all, evolve, checksum] = FT_OPERATORS;
        let arrays = [x.address(), transform.address()];
        // The array `w` is free for the forward transform's intermediate values: no result is there yet.
        match &self.passes {
            FieldPasses::Single(passes) => passes.forward(&mut job, arrays, w.address())?,
            FieldPasses::Double(passes) => passes.add_forward(&mut job, arrays)?,
        }
        job.mark(all);
        for step in 1..=steps {
            let factors = self.problem.shape().map(|n| FtProblem::factors(n, step));
            let arrays = [transform.address(), w.address()];
            match &self.passes {
                FieldPasses::Single(passes) => {
                    let weights = passes.weights(&mut job, &factors)?;
                    passes.add_inverse(&mut job, &weights, arrays)?;
                }
                FieldPasses::Double(passes) => passes.add_inverse(&mut job, &factors, arrays)?,
            }
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
    fn checksum<T: FieldNumber>(
        &self,
        (w, partial): (Buffer<T>, Buffer<f64>),
        (checksums, number): (Buffer<f64>, usize),
        part: usize,
    ) -> Result<HostStep, HostError> {
        let parts = Buffer::<T::Part>::from_address(w.address(), 2 * w.len());
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
                let next = step.load(parts, (2 * point + i) as u64)?;
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
