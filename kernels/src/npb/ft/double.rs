//! The transforms of the benchmark FT in double precision.
//!
//! Each is a pass along every axis: forward along x, y and z, back along z, with the factors of the step, y
//! and x.

use crate::fft::{DoubleAxisPass, DoubleWeights, FftError, TransformDirection};
use crate::job::Job;
use cp2_machine::{Class, Machine};

/// Transforms of a field of binary64 numbers, forward, and back with weights.
#[derive(Debug)]
pub(super) struct DoubleField {
    /// Passes along z, y and x.
    forward: [DoubleAxisPass; 3],
    back: [DoubleAxisPass; 3],
}

impl DoubleField {
    /// Plans the transforms of fields of a shape (z, y, x).
    ///
    /// # Errors
    /// The field is too narrow for the machine's sections, or the machine lacks something.
    pub(super) fn new(shape: [usize; 3], machine: &Machine) -> Result<Self, FftError> {
        let plan = |direction, weighed| {
            let [z, y, x] = [0, 1, 2].map(|axis| {
                DoubleAxisPass::new(shape, axis, direction, weighed && axis == 0, machine)
            });
            Ok::<_, FftError>([z?, y?, x?])
        };
        Ok(Self {
            forward: plan(TransformDirection::Forward, false)?,
            back: plan(TransformDirection::Inverse, true)?,
        })
    }

    /// Returns the price of the forward transform and of so many steps.
    pub(super) fn price(&self, steps: usize, machine: &Machine) -> u64 {
        let [forward, back] = [&self.forward, &self.back].map(|passes| {
            let prices = passes.iter().map(|pass| pass.price(machine));
            prices.sum::<f64>()
        });
        (forward + steps as f64 * back) as u64
    }

    /// Describes the passes in words.
    pub(super) fn recipe(&self) -> String {
        let [z, y, x] = [0, 1, 2].map(|axis| self.back[axis].recipe());
        format!("binary64 lines: z {z}, y {y}, x {x}; weights before the lines along z")
    }

    /// Returns the operations of the forward transform, pass by pass.
    pub(super) fn forward_operations(&self) -> Vec<Vec<(Class, u64)>> {
        let passes = self.forward.iter().rev();
        passes.map(DoubleAxisPass::operations).collect()
    }

    /// Returns the operations of the inverse transform with its weights, pass by pass.
    pub(super) fn back_operations(&self) -> Vec<Vec<(Class, u64)>> {
        self.back.iter().map(DoubleAxisPass::operations).collect()
    }

    /// Adds the forward transform from the first of `arrays` to the second to a job.
    pub(super) fn add_forward(&self, job: &mut Job, [from, to]: [u64; 2]) -> Result<(), FftError> {
        let [z, y, x] = &self.forward;
        x.add(job, [from, to], None)?;
        y.add(job, [to; 2], None)?;
        z.add(job, [to; 2], None)
    }

    /// Adds the inverse transform of the numbers at `from`, multiplied by weights along z, y and x, to a job.
    pub(super) fn add_inverse(
        &self,
        job: &mut Job,
        weights: &[Vec<f64>; 3],
        [from, to]: [u64; 2],
    ) -> Result<(), FftError> {
        let weights = DoubleWeights::new(job, weights)?;
        let [z, y, x] = &self.back;
        z.add(job, [from, to], Some(&weights))?;
        y.add(job, [to; 2], None)?;
        x.add(job, [to; 2], None)
    }
}
