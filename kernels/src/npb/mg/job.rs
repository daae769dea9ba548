//! Puts together the job of V-cycles: arrays, programs, passes and norms.

use super::MultigridError;
use super::plan::{MultigridPlan, OperatorPages, PlacedArray, PlannedOperator};
use super::rows::MultigridOperator;
use super::steps::{ArrayName, MultigridStep};
use crate::backend::Task;
use crate::job::{Job, JobError};
use cp2_host::{Buffer, DeviceOptions, HostStep, PlacedProgram as Program};
use cp2_problems::NamedArrays;
use std::collections::HashMap;
use std::collections::hash_map::Entry;

/// Number of values of an array that one step of the control CPU adds up.
const TERMS: u64 = 1024;

/// Number of values in a quad.
const LANES: u64 = 4;

/// A job being put together, and the arrays and programs that it has so far.
struct MultigridJobBuilder<'a> {
    plan: &'a MultigridPlan,
    job: Job,
    /// Addresses of the arrays that have been placed.
    arrays: HashMap<ArrayName, u64>,
    /// Addresses of the rows that blocks hand over, for each operator on a level.
    handed: HashMap<(MultigridOperator, u32), u64>,
    /// Programs that have been placed.
    programs: HashMap<(MultigridOperator, u32), Program>,
    finest: u32,
    norms: Buffer<f64>,
}

impl MultigridPlan {
    /// Puts together the job of the cycles for a right-hand side: n^3 numbers, x fastest; nothing runs yet.
    ///
    /// # Errors
    /// The right-hand side has another length than the problem, or system memory is used up.
    pub fn task(&self, v: &[f32], options: DeviceOptions) -> Result<Task, MultigridError> {
        let n = self.problem.n();
        if v.len() != n.pow(3) {
            return Err(MultigridError::Length {
                found: v.len(),
                expected: n.pow(3),
            });
        }
        let shape = [n as u64; 3];
        let mut job = Job::new(self.used.clone(), options);
        let given = job.input("v", v, &shape)?;
        let u = job.output::<f32>("u", &shape)?;
        let norms = job.output::<f64>("norms", &[2])?;
        let mut making = MultigridJobBuilder {
            plan: self,
            job,
            arrays: HashMap::from([
                (ArrayName::Given, given.address()),
                (ArrayName::Result, u.address()),
            ]),
            handed: HashMap::new(),
            programs: HashMap::new(),
            finest: n.trailing_zeros(),
            norms,
        };
        for (step, planned) in &self.steps {
            match step {
                MultigridStep::Pass(_, _, inputs, output) => {
                    let output = making.place(*output)?;
                    making.pass(planned, inputs, output)?;
                }
                MultigridStep::Norm(_, of, number) => making.norm(planned, of, *number)?,
            }
        }
        let sides = [n; 3];
        Ok(Task::reading(making.job, move |run| {
            let data = NamedArrays::from_array("u", &sides, run.read(u)?);
            Ok(data.add_array("norms", &[2], run.read(norms)?))
        }))
    }
}

impl MultigridJobBuilder<'_> {
    /// Returns the place of an array; an array that no pass has named yet is allocated.
    fn place(&mut self, name: ArrayName) -> Result<PlacedArray, JobError> {
        let apart = name.plane_spacing(self.finest);
        if let Some(&at) = self.arrays.get(&name) {
            return Ok(PlacedArray { at, apart });
        }
        if let Some((whole, from)) = name.find_containing_array(self.finest) {
            let at = self.place(whole)?.at + from;
            return Ok(PlacedArray { at, apart });
        }
        let bytes = name.bytes(self.finest);
        let at = self.job.temporary::<u8>(bytes)?.address();
        self.arrays.insert(name, at);
        Ok(PlacedArray { at, apart })
    }

    /// Adds the pass of an operator and marks it as a part of the run.
    fn pass(
        &mut self,
        planned: &PlannedOperator,
        inputs: &[ArrayName],
        output: PlacedArray,
    ) -> Result<(), MultigridError> {
        let mut arrays = [PlacedArray::default(); 4];
        for (array, name) in arrays.iter_mut().zip(inputs) {
            *array = self.place(*name)?;
        }
        arrays[3] = output;
        let OperatorPages {
            operator, level, ..
        } = planned.shape;
        let program = match self.programs.entry((operator, level)) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                place.insert(self.job.program(operator.name(), &planned.kernel.program)?)
            }
        };
        let entry = planned.kernel.program.entry.into();
        let handed = match self.handed.entry((operator, level)) {
            Entry::Occupied(known) => *known.get(),
            Entry::Vacant(_) if !planned.shape.block.handed => 0,
            Entry::Vacant(place) => {
                let rows = self.job.temporary::<u8>(planned.shape.handed_bytes())?;
                *place.insert(rows.address())
            }
        };
        self.job
            .sweep(program, entry, planned.shape.sweep(arrays, handed))?;
        self.job.mark(&planned.shape.name());
        Ok(())
    }

    /// Adds the pass that leaves sums of squares, and the steps of the control CPU that compute
    /// `norms[number] = sqrt(sum / n^3)`.
    fn norm(
        &mut self,
        planned: &PlannedOperator,
        of: &[ArrayName],
        number: u64,
    ) -> Result<(), MultigridError> {
        let count = planned.shape.sums();
        // Each sum is in all four lanes of a quad.
        let sums = self.job.temporary::<f32>(LANES * count)?;
        let total = self.job.temporary::<f64>(1)?;
        let output = PlacedArray {
            at: sums.address(),
            apart: 1,
        };
        self.pass(planned, of, output)?;
        let mut begin = 0;
        while begin < count {
            let end = (begin + TERMS).min(count);
            let mut step = HostStep::new();
            let mut sum = match begin {
                0 => step.load(sums, 0)?,
                _ => step.load(total, 0)?,
            };
            for i in begin.max(1)..end {
                let term = step.load(sums, LANES * i)?;
                sum = step.add(sum, term);
            }
            if end == count {
                let points = step.constant((self.plan.problem.n() as f64).powi(3));
                let mean = step.divide(sum, points);
                let root = step.square_root(mean);
                step.store(self.norms, number, root)?;
            } else {
                step.store(total, 0, sum)?;
            }
            self.job.host_step("norm", step);
            begin = end;
        }
        Ok(())
    }
}
