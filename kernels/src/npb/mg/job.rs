//! Puts together the job of V-cycles: arrays, programs, passes and norms.

use super::MultigridError;
use super::decomposition::{Division, NormSum};
use super::plan::{MultigridPlan, OperatorPages, PlacedArray, PlannedOperator};
use super::rows::{MultigridOperator, QUAD};
use super::steps::{ArrayName, MultigridStep};
use crate::backend::Task;
use crate::job::{Job, JobError};
use cp2_host::{
    Buffer, DeviceOptions, FinishedRun, HostError, HostStep, MemoryElement,
    PlacedProgram as Program, StepScalar,
};
use cp2_problems::npb::Precision;
use cp2_problems::{Element, NamedArrays};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::ops::Range;

/// Number of values of an array that one step of the control CPU adds up.
const TERMS: u64 = 1024;

/// A job being put together, and the arrays and programs that it has so far.
pub(super) struct MultigridJobBuilder<'a> {
    pub(super) plan: &'a MultigridPlan,
    pub(super) job: Job,
    /// Coordinates of the processor among the parts of planes and rows.
    pub(super) place: [u64; 2],
    /// Addresses of the arrays that have been placed.
    arrays: HashMap<ArrayName, u64>,
    /// Addresses of the rows that blocks hand over, for each operator on a level.
    handed: HashMap<(MultigridOperator, u32), u64>,
    /// Programs that have been placed.
    programs: HashMap<(MultigridOperator, u32), Program>,
    pub(super) norms: Buffer<f64>,
    /// Sums of squares of the processor's own part, where several processors have parts.
    pub(super) parts: Option<Buffer<f64>>,
    /// Sums of squares of each page, in quads, of both norms, where the first processor adds up those of all.
    pub(super) sums: [Option<PageSums>; 2],
}

/// Sums of squares in system memory: a quad for each, whose first number is the sum.
#[derive(Clone, Copy, Debug)]
pub(super) struct SumQuads {
    quads: Buffer<u8>,
    precision: Precision,
}

impl SumQuads {
    /// Allocates room for so many sums in numbers of a precision.
    pub(super) fn allocate(
        job: &mut Job,
        precision: Precision,
        count: u64,
    ) -> Result<Self, JobError> {
        Ok(Self {
            quads: job.temporary(QUAD as u64 * count)?,
            precision,
        })
    }

    /// Returns the address of the first sum, and the bytes of all.
    pub(super) fn memory(self) -> (u64, u64) {
        (self.quads.address(), self.quads.bytes())
    }

    /// Loads a sum in a step of the control CPU.
    fn load(self, step: &mut HostStep, index: u64) -> Result<StepScalar, HostError> {
        let address = self.memory().0 + QUAD as u64 * index;
        match self.precision {
            Precision::Single => step.load(Buffer::<f32>::from_address(address, 1), 0),
            Precision::DoubleSingle => {
                let parts = Buffer::<f32>::from_address(address, 2);
                let [high, low] = [step.load(parts, 0)?, step.load(parts, 1)?];
                Ok(step.add(high, low))
            }
            Precision::Double => step.load(Buffer::<f64>::from_address(address, 1), 0),
        }
    }
}

/// Sums of squares of the pages of a pass, plane by plane.
#[derive(Clone, Copy, Debug)]
pub(super) struct PageSums {
    pub(super) quads: SumQuads,
    /// Number of planes, and of blocks of rows in each.
    pub(super) blocks: [u64; 2],
}

/// Results of the job of a processor, in numbers of the problem's precision.
#[derive(Clone, Copy, Debug)]
pub struct MultigridOutput<T> {
    /// The processor's planes and rows of u, with ghosts.
    u: Buffer<T>,
    /// Norms of v and of v - A u; of several processors the first one has them.
    norms: Buffer<f64>,
    division: Division,
}

impl MultigridPlan {
    /// Puts together the job of the cycles for a right-hand side, x fastest; nothing runs yet.
    ///
    /// # Errors
    /// The right-hand side has another length or precision than the problem, or system memory is used up.
    pub fn task<T: MemoryElement + Element>(
        &self,
        v: &[T],
        options: DeviceOptions,
    ) -> Result<Task, MultigridError> {
        let (job, output) = self.processor_job(0, v, options)?;
        let sides = self.problem().shape();
        Ok(Task::reading(job, move |run| {
            let data = NamedArrays::from_array("u", &sides, run.read(output.u)?);
            Ok(data.add_array("norms", &[2], run.read(output.norms)?))
        }))
    }

    /// Puts together the job of one of several processors for a right-hand side, of which it takes its planes and rows.
    ///
    /// # Errors
    /// See [`MultigridPlan::task`].
    pub fn processor_job<T: MemoryElement + Element>(
        &self,
        processor: usize,
        v: &[T],
        options: DeviceOptions,
    ) -> Result<(Job, MultigridOutput<T>), MultigridError> {
        let (count, expected) = (self.problem().count(), self.problem().precision().kind());
        if T::KIND != expected {
            return Err(MultigridError::Kind {
                found: T::KIND,
                expected,
            });
        }
        if v.len() != count {
            return Err(MultigridError::Length {
                found: v.len(),
                expected: count,
            });
        }
        let division = self.divided.division;
        let finest = division.finest();
        let [planes, rows] = division.memory(finest);
        let shape = [planes, rows, 1 << finest];
        let mut job = Job::new(self.used.clone(), options);
        let own = self.own_values(processor, v);
        let given = job.input("v", own.as_deref().unwrap_or(v), &shape)?;
        let u = job.output::<T>("u", &shape)?;
        let norms = job.output::<f64>("norms", &[2])?;
        let parts = match division.processors() {
            1 => None,
            _ => Some(job.temporary::<f64>(2)?),
        };
        let mut making = MultigridJobBuilder {
            plan: self,
            job,
            place: division.place(processor as u64),
            arrays: HashMap::from([
                (ArrayName::Given, given.address()),
                (ArrayName::Result, u.address()),
            ]),
            handed: HashMap::new(),
            programs: HashMap::new(),
            norms,
            parts,
            sums: [None; 2],
        };
        for (step, planned) in &self.steps {
            match (step, planned) {
                (MultigridStep::Pass(_, _, inputs, output), Some(planned)) => {
                    let output = making.place(*output)?;
                    making.pass(planned, inputs, output)?;
                }
                (MultigridStep::SendingPass(_, _, inputs, output, ghosts), Some(planned)) => {
                    making.sending_pass(planned, inputs, *output, *ghosts)?;
                }
                (MultigridStep::Norm(_, of, number), Some(planned)) => {
                    making.norm(planned, of, *number)?;
                }
                (MultigridStep::Halo(array, ghosts), _) => {
                    making.exchange_ghosts(*array, *ghosts)?;
                }
                (MultigridStep::Gather(array), _) => making.gather(*array)?,
                (
                    MultigridStep::Pass(..)
                    | MultigridStep::SendingPass(..)
                    | MultigridStep::Norm(..),
                    None,
                ) => {}
            }
        }
        making.reduce_norms()?;
        let output = MultigridOutput { u, norms, division };
        Ok((making.job, output))
    }

    /// Puts the planes and rows of a processor, as [`MultigridOutput::read_own`] gives them, into the whole array of u.
    pub fn place_own<T: Copy>(&self, processor: usize, own: &[T], u: &mut [T]) {
        let division = self.divided.division;
        let columns = 1usize << division.finest();
        let mut rest = own;
        for (whole, _) in division.copied_rows(processor, columns) {
            let (Some(to), Some((from, more))) =
                (u.get_mut(whole.clone()), rest.split_at_checked(whole.len()))
            else {
                return;
            };
            to.copy_from_slice(from);
            rest = more;
        }
    }

    /// Returns the number of elements of u that each processor has.
    #[must_use]
    pub fn own_elements(&self) -> usize {
        let division = self.divided.division;
        let own = division.own(division.finest());
        (own.iter().product::<u64>() << division.finest()) as usize
    }

    /// Returns the planes and rows of a processor with room for ghosts, which are 0; none if it has all.
    fn own_values<T: Element>(&self, processor: usize, v: &[T]) -> Option<Vec<T>> {
        let division = self.divided.division;
        if division.processors() == 1 {
            return None;
        }
        let [planes, rows] = division.memory(division.finest());
        let columns = 1usize << division.finest();
        let mut own = vec![T::default(); (planes * rows) as usize * columns];
        for (whole, memory) in division.copied_rows(processor, columns) {
            if let (Some(from), Some(to)) = (v.get(whole), own.get_mut(memory)) {
                to.copy_from_slice(from);
            }
        }
        Some(own)
    }
}

impl<T: MemoryElement> MultigridOutput<T> {
    /// Returns the processor's planes and rows of u, without ghosts: x fastest, then rows, then planes.
    ///
    /// # Errors
    /// The run has no such memory.
    pub fn read_own(&self, run: &FinishedRun) -> Result<Vec<T>, HostError> {
        let all = run.read(self.u)?;
        let columns = 1usize << self.division.finest();
        let rows = self.division.copied_rows(0, columns);
        let own = rows.filter_map(|(_, memory)| all.get(memory));
        Ok(own.flatten().copied().collect())
    }

    /// Returns the norms of v and of v - A u, which the first processor has.
    ///
    /// # Errors
    /// The run has no such memory.
    pub fn read_norms(&self, run: &FinishedRun) -> Result<Vec<f64>, HostError> {
        run.read(self.norms)
    }
}

impl Division {
    /// Returns the elements of each plane of a processor in the whole array and in its memory, with ghosts; both have
    /// `columns` columns.
    fn copied_rows(
        &self,
        processor: usize,
        columns: usize,
    ) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
        let finest = self.finest();
        let place = self.place(processor as u64);
        let [own, whole, memory, ghosts] = [
            self.own(finest),
            self.extents(finest),
            self.memory(finest),
            self.ghosts(finest),
        ];
        let elements = own[1] as usize * columns;
        (0..own[0]).map(move |plane| {
            let element = |plane: u64, rows: u64, row: u64| (plane * rows + row) as usize * columns;
            let from = element(place[0] * own[0] + plane, whole[1], place[1] * own[1]);
            let to = element(ghosts[0] + plane, memory[1], ghosts[1]);
            (from..from + elements, to..to + elements)
        })
    }
}

impl MultigridJobBuilder<'_> {
    /// Returns the place of an array; an array that no pass has named yet is allocated.
    pub(super) fn place(&mut self, name: ArrayName) -> Result<PlacedArray, JobError> {
        let division = &self.plan.divided.division;
        let apart = name.plane_spacing(division.finest());
        if let Some(&at) = self.arrays.get(&name) {
            return Ok(PlacedArray { at, apart });
        }
        if let Some((whole, from)) = name.find_containing_array(division) {
            let at = self.place(whole)?.at + from;
            return Ok(PlacedArray { at, apart });
        }
        let bytes = name.bytes(division);
        let at = self.job.temporary::<u8>(bytes)?.address();
        self.arrays.insert(name, at);
        Ok(PlacedArray { at, apart })
    }

    /// Adds the pass of an operator whose result goes to the neighbours while it runs, and marks pass and exchange as
    /// parts of the run.
    fn sending_pass(
        &mut self,
        planned: &PlannedOperator,
        inputs: &[ArrayName],
        output: ArrayName,
        ghosts: [u64; 2],
    ) -> Result<(), MultigridError> {
        let division = self.plan.divided.division;
        let level = output.level(division.finest());
        let messages = division.face_messages(self.place, level, ghosts);
        let requests = self.post_faces(output, &messages)?;
        let placed = self.place(output)?;
        self.add_pass(planned, inputs, placed)?;
        self.send_faces(output, planned, &messages, requests)
    }

    /// Adds the pass of an operator and marks it as a part of the run.
    fn pass(
        &mut self,
        planned: &PlannedOperator,
        inputs: &[ArrayName],
        output: PlacedArray,
    ) -> Result<(), MultigridError> {
        self.add_pass(planned, inputs, output)?;
        self.job.mark(&planned.shape.name());
        Ok(())
    }

    /// Adds the pass of an operator.
    fn add_pass(
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
        let sweep = planned.shape.sweep(arrays, handed, self.place);
        self.job.sweep(program, entry, sweep)?;
        Ok(())
    }

    /// Adds the pass that leaves sums of squares, and the steps of the control CPU that compute
    /// `norms[number] = sqrt(sum / points)`, or the part of the sum that this processor has.
    fn norm(
        &mut self,
        planned: &PlannedOperator,
        of: &[ArrayName],
        number: u64,
    ) -> Result<(), MultigridError> {
        let count = planned.shape.sums();
        let precision = self.plan.problem().precision();
        let sums = SumQuads::allocate(&mut self.job, precision, count)?;
        let output = PlacedArray {
            at: sums.memory().0,
            apart: 1,
        };
        let total = self.job.temporary::<f64>(1)?;
        self.pass(planned, of, output)?;
        match (self.parts, self.plan.sum) {
            (None, _) => self.add_up_norm(sums, (count, total), number),
            (Some(parts), NormSum::Tree) => {
                let store = |step: &mut HostStep, sum: StepScalar| step.store(parts, number, sum);
                self.add_up(sums, (count, total), store)
            }
            (Some(_), NormSum::Ordered) => {
                if let Some(own) = self.sums.get_mut(number as usize) {
                    *own = Some(PageSums {
                        quads: sums,
                        blocks: planned.shape.page_grid(),
                    });
                }
                Ok(())
            }
        }
    }

    /// Adds the steps of the control CPU that add up the sums of all points in order and compute
    /// `norms[number] = sqrt(sum / points)`.
    pub(super) fn add_up_norm(
        &mut self,
        sums: SumQuads,
        (count, total): (u64, Buffer<f64>),
        number: u64,
    ) -> Result<(), MultigridError> {
        let (norms, points) = (self.norms, self.plan.problem().count());
        self.add_up(sums, (count, total), |step, sum| {
            store_norm(step, sum, points, (norms, number))
        })
    }

    /// Adds the steps of the control CPU that add up sums in order, and hands the last one the sum.
    fn add_up(
        &mut self,
        sums: SumQuads,
        (count, total): (u64, Buffer<f64>),
        end: impl FnOnce(&mut HostStep, StepScalar) -> Result<(), HostError>,
    ) -> Result<(), MultigridError> {
        let mut end = Some(end);
        let mut begin = 0;
        while begin < count {
            let last = (begin + TERMS).min(count);
            let mut step = HostStep::new();
            let mut sum = match begin {
                0 => sums.load(&mut step, 0)?,
                _ => step.load(total, 0)?,
            };
            for i in begin.max(1)..last {
                let term = sums.load(&mut step, i)?;
                sum = step.add(sum, term);
            }
            match end.take_if(|_| last == count) {
                Some(end) => end(&mut step, sum)?,
                None => step.store(total, 0, sum)?,
            }
            self.job.host_step("norm", step);
            begin = last;
        }
        Ok(())
    }
}

/// Adds the operations that store the norm of a sum of squares over so many points, `sqrt(sum / points)`.
pub(super) fn store_norm(
    step: &mut HostStep,
    sum: StepScalar,
    points: usize,
    (norms, number): (Buffer<f64>, u64),
) -> Result<(), HostError> {
    let points = step.constant(points as f64);
    let mean = step.divide(sum, points);
    let root = step.square_root(mean);
    step.store(norms, number, root)
}
