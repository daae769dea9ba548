//! The Himeno benchmark: one pass over memory for each iteration.

mod divided;

pub(crate) use divided::DividedHimeno;

use crate::backend::GpuProblem;
use crate::buffer::GpuBuffer;
use crate::device::GpuDevice;
use crate::error::GpuError;
use crate::program::{Dispatch, Shader, read, write};
use crate::session::Session;
use cp2_problems::Problem;
use cp2_problems::himeno::{HimenoArrays, HimenoProblem};
use std::ops::Range;
use std::sync::Arc;

/// An iteration on some chunks of planes.
pub(crate) const ITERATION: Shader = Shader {
    name: "himeno/iteration",
    parts: &[include_str!("himeno/iteration.wgsl")],
};

/// Points of a row and rows of a workgroup.
const TILE: [usize; 2] = [64, 4];

/// Threads that keep a device busy, about; with more of them, each computes several planes.
const BUSY: usize = 1 << 18;

/// Most planes of a chunk.
const MARCH: usize = 16;

/// Names of all arrays but p.
const CONSTANTS: [&str; 12] = [
    "the coefficients a0",
    "the coefficients a1",
    "the coefficients a2",
    "the coefficients a3",
    "the coefficients b0",
    "the coefficients b1",
    "the coefficients b2",
    "the coefficients c0",
    "the coefficients c1",
    "the coefficients c2",
    "the source",
    "the mask",
];

/// Prepares the benchmark.
pub(crate) fn himeno(
    device: &Arc<GpuDevice>,
    problem: &dyn Problem,
) -> Option<Result<GpuProblem, GpuError>> {
    let problem = problem.downcast_ref::<HimenoProblem>()?.clone();
    Some(prepare(device, problem))
}

fn prepare(device: &Arc<GpuDevice>, problem: HimenoProblem) -> Result<GpuProblem, GpuError> {
    let parts = HimenoParts::new(&problem);
    let share = HimenoShare::new(device, &problem, 0..parts.chunks)?;
    let recipe = format!("one pass an iteration, {} planes a thread", parts.march);
    Ok(GpuProblem::new(device, recipe, move |session, input| {
        share.upload(&problem.arrays(input)?)?;
        let iterations = 0..problem.iterations();
        session.execute(iterations.flat_map(|i| share.inner[i % 2].iter()))?;
        let gosa = add_squares(&share.read_sums(session)?);
        let p = session.read(&share.p[problem.iterations() % 2])?;
        Ok(problem.wrap_results(p, gosa))
    }))
}

/// Adds up the sums of all workgroups, in the order of their chunks and tiles.
fn add_squares(sums: &[f32]) -> f64 {
    sums.iter().map(|&sum| f64::from(sum)).sum()
}

/// Division of the box into parts whose squares are added up in single precision. It does not depend on the device, so
/// that sums of any division among devices are equal.
#[derive(Clone, Copy, Debug)]
struct HimenoParts {
    /// Planes of a chunk.
    march: usize,
    chunks: usize,
    /// Tiles of a plane, and sums of a chunk.
    tiles: usize,
}

impl HimenoParts {
    fn new(problem: &HimenoProblem) -> Self {
        let [planes, rows, columns] = problem.shape();
        let march = (problem.count() / BUSY).clamp(1, MARCH);
        let [width, height] = TILE;
        Self {
            march,
            chunks: planes.div_ceil(march),
            tiles: columns.div_ceil(width) * rows.div_ceil(height),
        }
    }
}

/// Chunks of planes that a device computes, with the planes beside them, which belong to neighbours.
#[derive(Debug)]
struct HimenoShare {
    device: Arc<GpuDevice>,
    parts: HimenoParts,
    chunks: Range<usize>,
    /// Planes of the box that the arrays have.
    held: Range<usize>,
    /// Planes of the box that are computed.
    own: Range<usize>,
    /// Points of a plane.
    plane: usize,
    /// The pressure before and after an iteration.
    p: [GpuBuffer<f32>; 2],
    constants: Vec<GpuBuffer<f32>>,
    sums: GpuBuffer<f32>,
    /// Chunks with planes that neighbours need, in an iteration from each of the two arrays of the pressure.
    outer: [Vec<Dispatch>; 2],
    /// All other chunks.
    inner: [Option<Dispatch>; 2],
}

impl HimenoShare {
    fn new(
        device: &Arc<GpuDevice>,
        problem: &HimenoProblem,
        chunks: Range<usize>,
    ) -> Result<Self, GpuError> {
        let ([planes, rows, columns], parts) = (problem.shape(), HimenoParts::new(problem));
        let own = chunks.start * parts.march..planes.min(chunks.end * parts.march);
        let held = own.start.saturating_sub(1)..planes.min(own.end + 1);
        let count = held.len() * rows * columns;
        let constants = CONSTANTS.map(|what| GpuBuffer::new(device, what, count));
        let mut share = Self {
            device: device.clone(),
            parts,
            chunks: chunks.clone(),
            held,
            own,
            plane: rows * columns,
            constants: constants.into_iter().collect::<Result<_, _>>()?,
            p: [
                GpuBuffer::new(device, "the pressure", count)?,
                GpuBuffer::new(device, "the next pressure", count)?,
            ],
            sums: GpuBuffer::new(device, "the sums of squares", parts.chunks * parts.tiles)?,
            outer: [Vec::new(), Vec::new()],
            inner: [None, None],
        };
        let mut inner = chunks.clone();
        let mut outer = Vec::new();
        if chunks.start > 0 {
            outer.push(inner.start);
            inner.start += 1;
        }
        if chunks.end < parts.chunks && !inner.is_empty() {
            inner.end -= 1;
            outer.push(inner.end);
        }
        for from in 0..2 {
            let step = |chunks| share.step([rows, columns], from, chunks);
            let steps = outer.iter().map(|&chunk| step(chunk..chunk + 1));
            let outer = steps.collect::<Result<_, _>>()?;
            let inner = match inner.is_empty() {
                true => None,
                false => Some(step(inner.clone())?),
            };
            (share.outer[from], share.inner[from]) = (outer, inner);
        }
        Ok(share)
    }

    /// Makes an iteration of some chunks, from one of the two arrays of the pressure to the other one.
    fn step(
        &self,
        [rows, columns]: [usize; 2],
        from: usize,
        chunks: Range<usize>,
    ) -> Result<Dispatch, GpuError> {
        let constants = [
            ("PLANES", self.held.len() as f64),
            ("ROWS", rows as f64),
            ("COLUMNS", columns as f64),
            ("MARCH", self.parts.march as f64),
            ("FIRST", chunks.start as f64),
            ("END", chunks.end as f64),
            ("ORIGIN", -(self.held.start as f64)),
            ("OMEGA", HimenoProblem::OMEGA.into()),
        ];
        let mut arrays = vec![
            read(&self.p[from]),
            write(&self.p[1 - from]),
            write(&self.sums),
        ];
        arrays.extend(self.constants.iter().map(read));
        let groups = chunks.len() * self.parts.tiles;
        self.device.step(&ITERATION, &constants, &arrays, groups)
    }

    /// Writes the planes of an input that the share holds.
    fn upload(&self, input: &HimenoArrays<'_>) -> Result<(), GpuError> {
        let held = self.held.start * self.plane..self.held.end * self.plane;
        let part =
            |all: &[f32], to: &GpuBuffer<f32>| to.write(all.get(held.clone()).unwrap_or_default());
        part(input.p, &self.p[0])?;
        let constants = input.constants();
        let mut pairs = self.constants.iter().zip(constants);
        pairs.try_for_each(|(buffer, values)| part(values, buffer))
    }

    /// Reads the sums of the share's own chunks.
    fn read_sums(&self, session: &mut Session) -> Result<Vec<f32>, GpuError> {
        let sums = session.read(&self.sums)?;
        let own = self.chunks.start * self.parts.tiles..self.chunks.end * self.parts.tiles;
        Ok(sums.get(own).unwrap_or_default().to_vec())
    }
}
