//! The benchmark CG: inverse iterations by conjugate gradients.

use super::SCALARS;
use super::krylov::{FactorStep, Updater, VectorUpdate, dots};
use super::matrix::DeviceMatrix;
use crate::backend::GpuProblem;
use crate::buffer::GpuBuffer;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::program::{Dispatch, read, write};
use crate::session::Session;
use crate::vector::reductions::PartialSums;
use cp2_problems::npb::Precision;
use cp2_problems::npb::cg::{CgClass, CgProblem};
use cp2_problems::{NamedArrays, Problem};
use std::sync::Arc;

/// Prepares the benchmark CG.
pub(crate) fn inverse_iterations(
    device: &Arc<GpuDevice>,
    problem: &dyn Problem,
) -> Option<Result<GpuProblem, GpuError>> {
    let problem = problem.downcast_ref::<CgProblem>()?.clone();
    Some(prepare(device, problem))
}

/// Steps of an inverse iteration: conjugate gradients for A z = x from z = 0, then the residual x - A z.
#[derive(Debug)]
struct InverseSteps {
    solve: Vec<Dispatch>,
    add_left: FactorStep,
    scale_x: FactorStep,
    left: PartialSums,
    xz: PartialSums,
    zz: PartialSums,
}

/// Results of a step that computes scalars from an inner product.
#[derive(Clone, Copy, Debug)]
enum ScalarStage {
    /// The first r . r.
    Begin,
    /// The factor of p and q, and its opposite.
    Alpha,
    /// The factor of the next direction.
    Beta,
}

impl InverseSteps {
    fn new(
        device: &Arc<GpuDevice>,
        matrix: &DeviceMatrix,
        x: &GpuBuffer<f32>,
    ) -> Result<Self, GpuError> {
        let vectors = Updater::new(device, x.len())?;
        let [z, r, p, q] = [
            vectors.vector("z")?,
            vectors.vector("r")?,
            vectors.vector("p")?,
            vectors.vector("q")?,
        ];
        let [rho, alpha, opposite, beta] = [
            vectors.scalar()?,
            vectors.scalar()?,
            vectors.scalar()?,
            vectors.scalar()?,
        ];
        let (rr, pq) = (vectors.dot(&r, &r)?, vectors.dot(&p, &q)?);
        let scalars = |stage: ScalarStage, sums: &PartialSums, factor: &GpuBuffer<f32>| {
            let number = match stage {
                ScalarStage::Begin => 0.0,
                ScalarStage::Alpha => 1.0,
                ScalarStage::Beta => 2.0,
            };
            let parts = sums.parts();
            let constants = [("COUNT", parts.len() as f64), ("STAGE", number)];
            let arrays = [read(parts), write(&rho), write(factor), write(&opposite)];
            device.step(&SCALARS, &constants, &arrays, 1)
        };
        let copy = |from, to| vectors.update_by(VectorUpdate::Copy, from, to, &alpha);
        let step = [
            matrix.product(&p.memory, &q.memory)?,
            pq.step().clone(),
            scalars(ScalarStage::Alpha, &pq, &alpha)?,
            vectors.update_by(VectorUpdate::Add, &p, &z, &alpha)?,
            vectors.update_by(VectorUpdate::Add, &q, &r, &opposite)?,
            rr.step().clone(),
            scalars(ScalarStage::Beta, &rr, &beta)?,
            vectors.update_by(VectorUpdate::Direct, &r, &p, &beta)?,
        ];
        let mut solve = vec![
            vectors.update_by(VectorUpdate::Clear, x, &z, &alpha)?,
            copy(x, &r)?,
            copy(x, &p)?,
            rr.step().clone(),
            scalars(ScalarStage::Begin, &rr, &beta)?,
        ];
        let steps = (0..CgClass::STEPS).flat_map(|_| step.iter().cloned());
        solve.extend(steps);
        // Now p is free for the residual.
        solve.extend([matrix.product(&z.memory, &q.memory)?, copy(x, &p)?]);
        Ok(Self {
            solve,
            add_left: vectors.update(VectorUpdate::Add, &q, &p)?,
            scale_x: vectors.update(VectorUpdate::Scale, &z, x)?,
            left: vectors.dot(&p, &p)?,
            xz: vectors.dot(x, &z)?,
            zz: vectors.dot(&z, &z)?,
        })
    }

    /// Runs one inverse iteration, and returns x . z and |x - A z|.
    fn iterate(&self, session: &mut Session) -> Result<[f64; 2], GpuError> {
        session.execute(&self.solve)?;
        let left = [self.add_left.set(-1.0)?];
        let [square, xz, zz] = dots(session, &left, [&self.left, &self.xz, &self.zz])?;
        session.execute([self.scale_x.set(1.0 / zz.sqrt())?])?;
        Ok([xz, square.sqrt()])
    }
}

fn prepare(device: &Arc<GpuDevice>, problem: CgProblem) -> Result<GpuProblem, GpuError> {
    let precision = problem.precision();
    if precision != Precision::Single {
        return Err(GpuError::Precision {
            precision: precision.name(),
        });
    }
    let rows = problem.matrix().rows();
    let matrix = DeviceMatrix::new(device, problem.matrix(), 1)?;
    let x: GpuBuffer<f32> = GpuBuffer::new(device, "x", rows)?;
    let steps = InverseSteps::new(device, &matrix, &x)?;
    let recipe = matrix.recipe.clone();
    Ok(GpuProblem::new(device, recipe, move |session, input| {
        x.write(input.get_sized("x", rows)?)?;
        let (mut zeta, mut rnorm) = (Vec::new(), Vec::new());
        for _ in 0..problem.iterations() {
            let [xz, left] = steps.iterate(session)?;
            zeta.push(problem.shift() + 1.0 / xz);
            rnorm.push(left);
        }
        let count = problem.iterations();
        let output = NamedArrays::from_array("zeta", &[count], zeta);
        let output = output.add_array("rnorm", &[count], rnorm);
        Ok(output.add_array("x", &[rows], session.read(&x)?))
    }))
}
