//! Rows that are divided among adapters.

use super::{SpeedError, SpeedFigures, SpeedPlan, SpeedRow};
use crate::error::GpuError;
use crate::group::GpuGroup;
use crate::himeno::DividedHimeno;
use cp2_problems::himeno::{HimenoData, HimenoProblem};
use cp2_problems::{Case, Problem};

/// Iterations of a run, which begins and ends with all adapters idle.
const ITERATIONS: usize = 16;

impl GpuGroup {
    /// Measures an iteration of a row by the host's clock. The output is compared to the bit with that of one adapter.
    ///
    /// # Errors
    /// The row is not divided among adapters, or a device fails.
    pub fn measure_row(
        &self,
        row: &SpeedRow,
        plan: &SpeedPlan,
    ) -> Result<SpeedFigures, SpeedError> {
        let made = row.make(plan.bytes)?;
        let problem: &dyn Problem = &*made.problem;
        let unfit = || GpuError::Unfit {
            what: format!("`{}` is not divided among adapters", row.name),
            instead: "take one adapter for it",
        };
        let problem = problem.downcast_ref::<HimenoProblem>().ok_or_else(unfit)?;
        let problem = HimenoProblem::new(problem.shape(), ITERATIONS, HimenoData::Random)?;
        let input = problem.input(Case::Random, plan.seed);
        let devices = self.devices();
        let divided = DividedHimeno::new(&devices, &problem)?;
        let mut sessions = divided.sessions()?;
        let output = divided.compute(&mut sessions, &input)?;
        let runs = 0..plan.repetitions.max(1);
        let seconds = runs.map(|_| Ok(divided.iterate(&sessions, ITERATIONS)? / ITERATIONS as f64));
        let seconds: Vec<f64> = seconds.collect::<Result<_, GpuError>>()?;
        let recipe = divided.describe();
        drop(divided);
        let first = devices.get(..1).unwrap_or_default();
        let alone = DividedHimeno::new(first, &problem)?;
        let expected = alone.compute(&mut alone.sessions()?, &input)?;
        let worst = if output.equal_bits(&expected) {
            0.0
        } else {
            f64::INFINITY
        };
        Ok(SpeedFigures::of(&made, recipe, seconds, worst))
    }
}
