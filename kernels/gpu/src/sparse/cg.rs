//! The benchmark CG: inverse iterations by conjugate gradients.

use super::krylov::{FactorStep, Updater, VectorUpdate, dots};
use super::matrix::DeviceMatrix;
use crate::backend::GpuProblem;
use crate::buffer::GpuBuffer;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::program::Dispatch;
use crate::session::Session;
use crate::vector::reductions::PartialSums;
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

/// Steps of conjugate gradients for A z = x from z = 0, and of what is computed of z.
#[derive(Debug)]
struct InverseSteps {
    begin: [Dispatch; 3],
    times_p: Dispatch,
    add_z: FactorStep,
    add_r: FactorStep,
    direct_p: FactorStep,
    times_z: Dispatch,
    copy_left: Dispatch,
    add_left: FactorStep,
    scale_x: FactorStep,
    rr: PartialSums,
    pq: PartialSums,
    left: PartialSums,
    xz: PartialSums,
    zz: PartialSums,
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
        let copy = |from, to| {
            vectors
                .update(VectorUpdate::Copy, from, to)
                .map(|made| made.step)
        };
        let clear_z = vectors.update(VectorUpdate::Clear, x, &z)?.step;
        Ok(Self {
            begin: [clear_z, copy(x, &r)?, copy(x, &p)?],
            times_p: matrix.product(&p.memory, &q.memory)?,
            add_z: vectors.update(VectorUpdate::Add, &p, &z)?,
            add_r: vectors.update(VectorUpdate::Add, &q, &r)?,
            direct_p: vectors.update(VectorUpdate::Direct, &r, &p)?,
            times_z: matrix.product(&z.memory, &q.memory)?,
            copy_left: copy(x, &p)?,
            add_left: vectors.update(VectorUpdate::Add, &q, &p)?,
            scale_x: vectors.update(VectorUpdate::Scale, &z, x)?,
            rr: vectors.dot(&r, &r)?,
            pq: vectors.dot(&p, &q)?,
            left: vectors.dot(&p, &p)?,
            xz: vectors.dot(x, &z)?,
            zz: vectors.dot(&z, &z)?,
        })
    }

    /// Runs one inverse iteration, and returns x . z and |x - A z|.
    fn iterate(&self, session: &mut Session) -> Result<[f64; 2], GpuError> {
        let begin = self.begin.each_ref();
        let [mut rho] = dots(session, &begin, [&self.rr])?;
        for _ in 0..CgClass::STEPS {
            let [pq] = dots(session, &[&self.times_p], [&self.pq])?;
            let alpha = rho / pq;
            let updates = [self.add_z.set(alpha)?, self.add_r.set(-alpha)?];
            let [next] = dots(session, &updates, [&self.rr])?;
            session.execute([self.direct_p.set(next / rho)?])?;
            rho = next;
        }
        // p is free for the difference.
        let left = [&self.times_z, &self.copy_left, self.add_left.set(-1.0)?];
        let [square, xz, zz] = dots(session, &left, [&self.left, &self.xz, &self.zz])?;
        session.execute([self.scale_x.set(1.0 / zz.sqrt())?])?;
        Ok([xz, square.sqrt()])
    }
}

fn prepare(device: &Arc<GpuDevice>, problem: CgProblem) -> Result<GpuProblem, GpuError> {
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
