//! Iterative methods for A x = b: vectors on the device, scalars on the host.

use super::krylov::{FactorStep, Updater, VectorUpdate, dots};
use super::matrix::DeviceMatrix;
use crate::backend::GpuProblem;
use crate::buffer::GpuBuffer;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::program::Dispatch;
use crate::session::Session;
use crate::vector::reductions::PartialSums;
use cp2_problems::Problem;
use cp2_problems::sparse::{MethodEnd, SolveProblem, SolverMethod};
use std::sync::Arc;

/// Prepares the solution of a system of equations.
pub(crate) fn solve(
    device: &Arc<GpuDevice>,
    problem: &dyn Problem,
) -> Option<Result<GpuProblem, GpuError>> {
    let problem = problem.downcast_ref::<SolveProblem>()?.clone();
    Some(prepare(device, problem))
}

/// Takes a residual and says whether the method has ended.
type NoteFn<'a> = dyn FnMut(f64) -> Option<MethodEnd> + 'a;

/// The steps of a method.
#[derive(Debug)]
enum MethodSteps {
    Gradients(Box<GradientSteps>),
    Stabilised(Box<StabilisedSteps>),
}

/// Steps of conjugate gradients.
#[derive(Debug)]
struct GradientSteps {
    begin: [Dispatch; 2],
    times: Dispatch,
    add_x: FactorStep,
    add_r: FactorStep,
    divide: Dispatch,
    direct: FactorStep,
    rr: PartialSums,
    rz: PartialSums,
    pq: PartialSums,
}

impl GradientSteps {
    fn new(
        vectors: &Updater,
        matrix: &DeviceMatrix,
        inverse: Option<&GpuBuffer<f32>>,
        [x, r]: [&GpuBuffer<f32>; 2],
    ) -> Result<Self, GpuError> {
        let [z, p, q] = [
            vectors.vector("z")?,
            vectors.vector("p")?,
            vectors.vector("q")?,
        ];
        let divide = vectors.divide(inverse, r, &z)?;
        Ok(Self {
            begin: [divide.clone(), vectors.divide(None, &z, &p)?],
            times: matrix.product(&p.memory, &q.memory)?,
            add_x: vectors.update(VectorUpdate::Add, &p, x)?,
            add_r: vectors.update(VectorUpdate::Add, &q, r)?,
            divide,
            direct: vectors.update(VectorUpdate::Direct, &z, &p)?,
            rr: vectors.dot(r, r)?,
            rz: vectors.dot(r, &z)?,
            pq: vectors.dot(&p, &q)?,
        })
    }

    fn run(&self, session: &mut Session, note: &mut NoteFn<'_>) -> Result<MethodEnd, GpuError> {
        let begin = self.begin.each_ref();
        let [square, mut rho] = dots(session, &begin, [&self.rr, &self.rz])?;
        if let Some(end) = note(square.sqrt()) {
            return Ok(end);
        }
        loop {
            let [curvature] = dots(session, &[&self.times], [&self.pq])?;
            if !curvature.is_finite() {
                return Ok(MethodEnd::Diverged);
            }
            if curvature <= 0.0 {
                return Ok(MethodEnd::Breakdown);
            }
            let alpha = rho / curvature;
            let steps = [
                self.add_x.set(alpha)?,
                self.add_r.set(-alpha)?,
                &self.divide,
            ];
            let [square, next] = dots(session, &steps, [&self.rr, &self.rz])?;
            if let Some(end) = note(square.sqrt()) {
                return Ok(end);
            }
            if next == 0.0 {
                return Ok(MethodEnd::Breakdown);
            }
            session.execute([self.direct.set(next / rho)?])?;
            rho = next;
        }
    }
}

/// Steps of stabilised biconjugate gradients.
#[derive(Debug)]
struct StabilisedSteps {
    begin: [Dispatch; 2],
    first: [Dispatch; 2],
    add_x_y: FactorStep,
    add_r_v: FactorStep,
    second: [Dispatch; 2],
    add_x_z: FactorStep,
    add_r_t: FactorStep,
    add_p_v: FactorStep,
    direct: FactorStep,
    rr: PartialSums,
    shadow_r: PartialSums,
    shadow_v: PartialSums,
    tt: PartialSums,
    tr: PartialSums,
}

impl StabilisedSteps {
    fn new(
        vectors: &Updater,
        matrix: &DeviceMatrix,
        inverse: Option<&GpuBuffer<f32>>,
        [x, r]: [&GpuBuffer<f32>; 2],
    ) -> Result<Self, GpuError> {
        let [shadow, p, y] = [
            vectors.vector("shadow")?,
            vectors.vector("p")?,
            vectors.vector("y")?,
        ];
        let [v, z, t] = [
            vectors.vector("v")?,
            vectors.vector("z")?,
            vectors.vector("t")?,
        ];
        let add = |from, to| vectors.update(VectorUpdate::Add, from, to);
        Ok(Self {
            begin: [
                vectors.divide(None, r, &shadow)?,
                vectors.divide(None, r, &p)?,
            ],
            first: [
                vectors.divide(inverse, &p, &y)?,
                matrix.product(&y.memory, &v.memory)?,
            ],
            add_x_y: add(&y, x)?,
            add_r_v: add(&v, r)?,
            second: [
                vectors.divide(inverse, r, &z)?,
                matrix.product(&z.memory, &t.memory)?,
            ],
            add_x_z: add(&z, x)?,
            add_r_t: add(&t, r)?,
            add_p_v: add(&v, &p)?,
            direct: vectors.update(VectorUpdate::Direct, r, &p)?,
            rr: vectors.dot(r, r)?,
            shadow_r: vectors.dot(&shadow, r)?,
            shadow_v: vectors.dot(&shadow, &v)?,
            tt: vectors.dot(&t, &t)?,
            tr: vectors.dot(&t, r)?,
        })
    }

    fn run(&self, session: &mut Session, note: &mut NoteFn<'_>) -> Result<MethodEnd, GpuError> {
        let begin = self.begin.each_ref();
        let [square, mut rho] = dots(session, &begin, [&self.rr, &self.shadow_r])?;
        if let Some(end) = note(square.sqrt()) {
            return Ok(end);
        }
        loop {
            let [across] = dots(session, &self.first.each_ref(), [&self.shadow_v])?;
            if !across.is_finite() {
                return Ok(MethodEnd::Diverged);
            }
            if across == 0.0 {
                return Ok(MethodEnd::Breakdown);
            }
            let alpha = rho / across;
            let [divide, times] = self.second.each_ref();
            let steps = [
                self.add_x_y.set(alpha)?,
                self.add_r_v.set(-alpha)?,
                divide,
                times,
            ];
            let [size, overlap] = dots(session, &steps, [&self.tt, &self.tr])?;
            // If t is 0, then so is r, or r cannot be reduced in this direction.
            let omega = if size == 0.0 { 0.0 } else { overlap / size };
            let steps = [self.add_x_z.set(omega)?, self.add_r_t.set(-omega)?];
            let [square, next] = dots(session, &steps, [&self.rr, &self.shadow_r])?;
            if let Some(end) = note(square.sqrt()) {
                return Ok(end);
            }
            if omega == 0.0 || next == 0.0 {
                return Ok(MethodEnd::Breakdown);
            }
            let beta = next / rho * (alpha / omega);
            session.execute([self.add_p_v.set(-omega)?, self.direct.set(beta)?])?;
            rho = next;
        }
    }
}

fn prepare(device: &Arc<GpuDevice>, problem: SolveProblem) -> Result<GpuProblem, GpuError> {
    let rows = problem.matrix().rows();
    let matrix = DeviceMatrix::new(device, problem.matrix(), 1)?;
    let vectors = Updater::new(device, rows)?;
    let (x, r) = (vectors.vector("x")?, vectors.vector("the residual")?);
    let inverse = problem.preconditioner();
    let inverse = inverse.map(|inverse| GpuBuffer::from_slice(device, "the diagonal", &inverse));
    let inverse = inverse.transpose()?;
    let steps = match problem.method() {
        SolverMethod::Cg | SolverMethod::Pcg => MethodSteps::Gradients(Box::new(
            GradientSteps::new(&vectors, &matrix, inverse.as_ref(), [&x, &r])?,
        )),
        SolverMethod::Bicgstab => MethodSteps::Stabilised(Box::new(StabilisedSteps::new(
            &vectors,
            &matrix,
            inverse.as_ref(),
            [&x, &r],
        )?)),
    };
    Ok(GpuProblem::new(
        device,
        matrix.recipe.clone(),
        move |session, input| {
            let b: &[f32] = input.get_sized("b", rows)?;
            let square: f64 = b.iter().map(|&b| f64::from(b) * f64::from(b)).sum();
            // Vectors of norm 0, or with a NaN or an infinity, are not scaled.
            let exponent = match square.is_normal() {
                true => -libm::ilogb(square) / 2,
                false => 0,
            };
            let scaled = |numbers: &[f32], exponent: i32| -> Vec<f32> {
                let scaled = numbers
                    .iter()
                    .map(|&x| libm::ldexp(x.into(), exponent) as f32);
                scaled.collect()
            };
            let b = scaled(b, exponent);
            let square: f64 = b.iter().map(|&b| f64::from(b) * f64::from(b)).sum();
            let norm = square.sqrt();
            let mut watch = problem.watch();
            r.write(&b)?;
            session.clear(&x)?;
            let end = if norm == 0.0 {
                watch.note(0.0).unwrap_or(MethodEnd::Converged)
            } else {
                let mut note = |residual: f64| watch.note(residual / norm);
                match &steps {
                    MethodSteps::Gradients(steps) => steps.run(session, &mut note)?,
                    MethodSteps::Stabilised(steps) => steps.run(session, &mut note)?,
                }
            };
            let x = scaled(&session.read(&x)?, -exponent);
            Ok(problem.output(x, watch.residuals(), end))
        },
    ))
}
