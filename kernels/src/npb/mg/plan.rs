//! The plan of V-cycles: passes, their kernels, and the pages of each.

use super::MultigridError;
use super::kernel_choice::{PlannedKernels, fused, kernel};
use super::kernels::{OperatorBlock, tile};
use super::page::MultigridPageKernel;
use super::rows::{MultigridOperator, QUAD};
use super::steps::{ArrayName, FusedOperators, MultigridStep, steps};
use crate::job::Job;
use crate::pipeline::Operations;
use crate::sections::{choose_sections, describe_idle};
use cp2_host::nest::{BoundaryRule, FirstLoad, GridField, GridPass, March};
use cp2_host::{BlocksPerSection, DeviceOptions};
use cp2_machine::{Class, Cycles, Machine};
use cp2_problems::npb::mg::MgProblem;
use cp2_reference::Figures;
use std::sync::Arc;

/// V-cycles planned for a machine.
#[derive(Debug)]
pub struct MultigridPlan {
    pub(super) problem: MgProblem,
    pub(super) machine: Arc<Machine>,
    /// The machine, with only the sections that the plan uses.
    pub(super) used: Arc<Machine>,
    /// Steps in order, each with its kernel.
    pub(super) steps: Vec<(MultigridStep, Arc<PlannedOperator>)>,
}

/// An operator on a level, planned: its kernel, and the pages of a pass.
#[derive(Clone, Debug)]
pub(super) struct PlannedOperator {
    pub(super) kernel: MultigridPageKernel,
    pub(super) shape: OperatorPages,
    /// Cycles that a pass should take by estimate.
    pub(super) expected: f64,
    /// Number of pages of all sections in a pass; each issues the kernel's `operations`.
    pub(super) pages: u64,
    /// Number of these pages to which no rows are handed over; each issues the kernel's `opening` besides.
    pub(super) openings: u64,
}

/// The pages of an operator on a level.
#[derive(Clone, Copy, Debug)]
pub(super) struct OperatorPages {
    pub(super) operator: MultigridOperator,
    pub(super) level: u32,
    pub(super) block: OperatorBlock,
}

/// Returns the number of points along an axis of a level.
pub(super) fn points(level: u32) -> u64 {
    1 << level
}

/// Returns the number of quads of a row; rows of two points are stored twice.
pub(super) fn quads(level: u32) -> u64 {
    (points(level) / 4).max(1)
}

impl MultigridPlan {
    /// Plans the cycles of a problem, with the number of sections that takes the fewest cycles.
    ///
    /// # Errors
    /// The machine has too few registers, too little memory or too coarse a granule for a kernel.
    pub fn new(problem: MgProblem, machine: &Arc<Machine>) -> Result<Self, MultigridError> {
        let plan = |used: &Arc<Machine>| {
            Self::plan_with_kernels(problem.clone(), &mut PlannedKernels::new(), (machine, used))
        };
        choose_sections(machine, plan, Self::price)
    }

    /// Returns the cycles of all passes, one after the other.
    fn price(&self) -> Option<u64> {
        let passes = self.steps.iter();
        passes
            .map(|(_, planned)| planned.price(&self.used).ok())
            .sum()
    }

    /// Describes the sections that the plan uses, where others are left idle.
    pub(super) fn recipe(&self) -> Option<String> {
        describe_idle(&self.machine, &self.used)
    }

    /// Plans the cycles with known kernels, planning the missing ones; operators are fused where that has the
    /// lower price.
    pub(super) fn plan_with_kernels(
        problem: MgProblem,
        known: &mut PlannedKernels,
        (machine, used): (&Arc<Machine>, &Arc<Machine>),
    ) -> Result<Self, MultigridError> {
        let fused = fused(&problem, known, used);
        Self::plan_with_fusions(problem, &fused, known, (machine, used))
    }

    /// Plans the cycles with given fusions and known kernels, planning the missing ones.
    pub(super) fn plan_with_fusions(
        problem: MgProblem,
        fused: &FusedOperators,
        known: &mut PlannedKernels,
        (machine, used): (&Arc<Machine>, &Arc<Machine>),
    ) -> Result<Self, MultigridError> {
        let finest = problem.n().trailing_zeros();
        let all = steps(&problem, fused).into_iter().map(|step| {
            let kernel = kernel(&problem, step.key(finest), known, used);
            let kernel = kernel.map_err(|refused| refused.rephrase_for_cube(machine))?;
            Ok((step, kernel))
        });
        Ok(Self {
            steps: all.collect::<Result<_, MultigridError>>()?,
            problem,
            machine: machine.clone(),
            used: used.clone(),
        })
    }

    /// Returns the problem.
    #[must_use]
    pub fn problem(&self) -> &MgProblem {
        &self.problem
    }

    /// Returns the proved limit and the reference of the whole run.
    #[must_use]
    pub fn figures(&self) -> Figures {
        cp2_reference::Multigrid::new(self.problem.n(), self.problem.cycles())
            .figures(&self.machine)
    }

    /// Returns for each pass the least it has to issue, see
    /// [`Method::operations`](crate::Method::operations).
    #[must_use]
    pub fn operations(&self) -> Vec<Vec<(Class, u64)>> {
        let kernels = self.steps.iter().map(|(_, kernel)| kernel);
        kernels
            .map(|planned| {
                let mut all = Operations::default();
                all.join(&planned.kernel.operations, planned.pages);
                all.join(&planned.kernel.opening.0, planned.openings);
                all.times(1)
            })
            .collect()
    }

    /// Returns the names of the parts of a run with the reference cycles of each: an operator, and the points
    /// along an axis of the finer of its levels.
    #[must_use]
    pub fn operators(&self) -> Vec<(String, Cycles)> {
        let of = |(_, planned): &(MultigridStep, Arc<PlannedOperator>)| {
            let OperatorPages {
                operator, level, ..
            } = planned.shape;
            let least = operator.pass().cycles(points(level), &self.machine);
            (planned.shape.name(), least)
        };
        let mut all: Vec<_> = self.steps.iter().map(of).collect();
        all.sort();
        all.dedup();
        all
    }
}

/// The address of an array, and the distance of its planes as a multiple of a plane's size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PlacedArray {
    pub(super) at: u64,
    pub(super) apart: u64,
}

impl PlannedOperator {
    /// Returns the price of a pass in cycles.
    pub(super) fn price(&self, machine: &Arc<Machine>) -> Result<u64, MultigridError> {
        let mut job = Job::new(machine.clone(), DeviceOptions::default());
        let name = self.shape.operator.name();
        let program = job.program(name, &self.kernel.program)?;
        let entry = self.kernel.program.entry.into();
        job.sweep(&program, entry, self.shape.make_unplaced_pass())?;
        let estimate = Cycles(self.expected as u64);
        Ok(job.expected().unwrap_or(estimate).get())
    }
}

impl MultigridOperator {
    /// Returns the number of planes before the array, and behind it, that a fused pass loads: the planes of
    /// the periodic continuation.
    fn halo_planes(self) -> u64 {
        match self {
            Self::ResidualSquares | Self::Begin | Self::Finish => 1,
            _ => 2,
        }
    }
}

/// Distance in planes from the plane that a fused pass loads to the plane whose residual it has measured.
const MEASURED: i64 = 1;
/// Distance in planes from the plane that a fused pass loads to the plane that it has smoothed.
const SMOOTHED: i64 = 2;
/// Distance in planes from the plane that is loaded to the first of the three planes of residuals that make a
/// coarser plane.
const PROJECTED: i64 = 3;
/// Distance in planes from the plane that is loaded to the first of the three loaded planes that make a
/// coarser plane.
const PROJECTED_AT_ONCE: i64 = 2;

impl OperatorPages {
    /// Returns the name of the part of a run.
    pub(super) fn name(&self) -> String {
        format!("{} {}", self.operator.name(), points(self.level))
    }

    /// Returns the pages of a pass over arrays whose addresses do not matter.
    pub(super) fn make_unplaced_pass(&self) -> GridPass {
        self.sweep([PlacedArray { at: 0, apart: 1 }; 4], 0)
    }

    /// Returns the pages of a pass over arrays.
    ///
    /// `arrays` are the inputs, then the additional outputs, and last the output, or the sums of a pass with
    /// sums; `handed` is the address of the rows that are handed over.
    pub(super) fn sweep(&self, arrays: [PlacedArray; 4], handed: u64) -> GridPass {
        let (operator, level) = (self.operator, self.level);
        let OperatorBlock {
            rows,
            handed: hands,
        } = self.block;
        let fine = [2, 2 * rows];
        let own = [1, rows];
        let half = [1, rows / 2];
        let (n, below) = (points(level), level.saturating_sub(1));
        let [first, second, third, output] = arrays;
        let lines = |field: GridField, halo: u64| field.halo([0, halo, 0], BoundaryRule::Periodic);
        let around = |field: GridField| field.halo([1, 1, 0], BoundaryRule::Periodic);
        let ahead = operator.halo_planes() as i64;
        let early = |field: GridField| field.offset([-ahead, 0, 0]);
        let planes_of = |name: &str, at: PlacedArray, block: [u64; 2]| {
            let shape = [n, points(below), quads(below)];
            GridField::new(
                name,
                at.at,
                QUAD as u64,
                shape,
                [block[0], block[1], quads(below)],
            )
        };
        // Rows that a block needs only for what is otherwise handed over to it are not loaded by later blocks
        // of its section.
        let opens = |field: GridField, rows: u64| match hands {
            true => field.opening(FirstLoad::Further(rows)),
            false => field,
        };
        let correction = |at: PlacedArray| {
            let field = lines(planes_of("correction", at, half), 2);
            early(opens(field, 1))
        };
        let v = |at: PlacedArray| early(opens(lines(array("v", at, level, own), 1), 2));
        let u = |at: PlacedArray| early(opens(lines(array("u", at, level, own), 2), 2));
        let mut inputs = match operator {
            MultigridOperator::Residual => vec![
                around(array("u", first, level, own)),
                array("v", second, level, own),
            ],
            MultigridOperator::Smooth { add } => {
                let mut inputs = vec![around(array("r", first, level, own))];
                inputs.extend(add.then(|| array("u", second, level, own)));
                inputs
            }
            MultigridOperator::Project => vec![around(array("r", first, level, fine))],
            MultigridOperator::Interpolate { add } => {
                let mut inputs = vec![around(array("coarse", first, below, own))];
                inputs.extend(add.then(|| array("u", second, level, fine)));
                inputs
            }
            MultigridOperator::Ascend { add: true } => vec![u(first), v(second), correction(third)],
            MultigridOperator::Ascend { add: false } => vec![correction(first), v(second)],
            MultigridOperator::Descend => vec![u(first), v(second)],
            MultigridOperator::ResidualSquares | MultigridOperator::Finish => {
                let u = lines(array("u", first, level, own), 1);
                vec![early(u), early(array("v", second, level, own))]
            }
            MultigridOperator::Expand => {
                vec![array("coarse", first, below, own).halo([1, 0, 0], BoundaryRule::Periodic)]
            }
            MultigridOperator::Begin => vec![early(lines(array("x", first, level, own), 1))],
            MultigridOperator::Lift | MultigridOperator::Lower => {
                vec![array("x", first, level, own)]
            }
        };
        let sums = |at: PlacedArray| {
            let sums = [n, n.div_ceil(rows), 1];
            GridField::new("sums", at.at, QUAD as u64, sums, [1, 1, 1])
        };
        let late = |field: GridField, planes: i64| field.offset([-ahead - planes, 0, 0]);
        let beside = match operator {
            MultigridOperator::Lift => vec![sums(output)],
            // The row behind the block is lifted for the projection and not stored.
            MultigridOperator::Begin => vec![
                late(lines(array("y", second, level, own), 1), 0),
                late(sums(output), 0),
            ],
            MultigridOperator::Finish => vec![late(array("y", third, level, own), 0)],
            _ => Vec::new(),
        };
        let output = match operator {
            MultigridOperator::Project => array("coarse", output, below, own),
            MultigridOperator::Interpolate { .. } => array("u", output, level, fine),
            MultigridOperator::Ascend { .. } => late(array("u", output, level, own), SMOOTHED),
            MultigridOperator::Descend => late(planes_of("coarse", output, half), PROJECTED),
            MultigridOperator::Begin => late(planes_of("coarse", third, half), PROJECTED_AT_ONCE),
            MultigridOperator::Expand => array("planes", output, below, own),
            MultigridOperator::ResidualSquares | MultigridOperator::Finish => {
                late(sums(output), MEASURED)
            }
            MultigridOperator::Lift => array("y", second, level, own),
            _ => array("y", output, level, own),
        };
        let marches = !matches!(operator, MultigridOperator::Lift | MultigridOperator::Lower);
        let scratch = tile(operator, level, self.block).bytes(operator);
        // Results take the place of the values that they are added to, which leaves room for larger blocks.
        let output = match operator {
            MultigridOperator::Ascend { add: true } => output.place_in_input(0, [0, 0]),
            MultigridOperator::Residual
            | MultigridOperator::Smooth { add: true }
            | MultigridOperator::Interpolate { add: true } => output.place_in_input(1, [0, 0]),
            _ => output,
        };
        let mut outputs = vec![output];
        outputs.extend(beside);
        if hands {
            let [given, taken] = self.handed_fields(handed);
            inputs.push(taken);
            outputs.push(given);
        }
        GridPass {
            march: marches.then_some(March::Planes),
            // Windows hold the planes of one march only, and the next march waits for its end: this also
            // leaves room for larger blocks.
            marches_apart: marches && !operator.keeps_planes(),
            shares: hands,
            grid: operator
                .keeps_planes()
                .then(|| [n + 2 * operator.halo_planes(), n.div_ceil(rows), 1]),
            scratch: scratch.unsigned_abs(),
            size: BlocksPerSection::Fixed(1),
            ..GridPass::new(inputs, outputs)
        }
    }

    /// Returns the number of blocks of a plane.
    fn blocks(&self) -> u64 {
        points(self.level).div_ceil(self.block.rows)
    }

    /// Returns the bytes of the rows that blocks hand over.
    pub(super) fn handed_bytes(&self) -> u64 {
        let planes = points(self.level) + 2 * self.operator.halo_planes();
        let rows = self.operator.handed_rows() * self.blocks();
        planes * rows * quads(self.level) * QUAD as u64
    }

    /// Returns the rows of the residual that a block leaves, and those that it finds.
    ///
    /// It leaves the last rows that it computes, and finds the rows before its own: both where the residual
    /// is, in the place of v.
    fn handed_fields(&self, at: u64) -> [GridField; 2] {
        let (operator, level) = (self.operator, self.level);
        let (hands, row) = (operator.handed_rows(), quads(level));
        let planes = points(level) + 2 * operator.halo_planes();
        let shape = [planes, hands * self.blocks(), row];
        let field = GridField::new("rows handed over", at, QUAD as u64, shape, [1, hands, row]);
        let tile = tile(operator, level, self.block);
        let first = -tile.before;
        let last = first + tile.residuals() - hands as i64;
        let given = field.clone().place_in_input(1, [0, last]);
        let taken = field
            .place_in_input(1, [0, first])
            .offset([0, -(hands as i64), 0]);
        [given, taken.opening(FirstLoad::Nothing)]
    }

    /// Returns the number of partial sums of a pass with sums of squares: one for each block of each plane.
    pub(super) fn sums(&self) -> u64 {
        let n = points(self.level);
        n * n.div_ceil(self.block.rows)
    }
}

/// Returns the field of an array of a level, in blocks of planes and rows.
fn array(name: &str, placed: PlacedArray, level: u32, [planes, rows]: [u64; 2]) -> GridField {
    let (n, row) = (points(level), quads(level));
    let shape = [n, n, row];
    let mut field = GridField::new(name, placed.at, QUAD as u64, shape, [planes, rows, row]);
    for strip in &mut field.strips {
        strip.plane *= placed.apart;
    }
    field
}

impl ArrayName {
    /// Returns the distance of the array's planes as a multiple of a plane's size.
    ///
    /// A fused pass of the finest level leaves a coarser plane for each of its planes, of which every second
    /// one counts; and between the planes of a correction there is room for the interpolated planes.
    pub(super) fn plane_spacing(self, finest: u32) -> u64 {
        match self {
            Self::R(level) if level + 1 == finest => 2,
            Self::U(level) if level < finest => 2,
            Self::Between(_) => 2,
            _ => 1,
        }
    }

    /// Returns the array that this one is a part of, and the byte at which it begins there, for corrections
    /// and the planes between theirs.
    pub(super) fn find_containing_array(self, finest: u32) -> Option<(Self, u64)> {
        match self {
            Self::U(level) if level < finest => {
                let plane = points(level) * quads(level) * QUAD as u64;
                Some((Self::Planes(level + 1), plane))
            }
            Self::Between(level) => Some((Self::Planes(level), 0)),
            _ => None,
        }
    }

    /// Returns the bytes of the array, in a problem whose finest level is `finest`.
    pub(super) fn bytes(self, finest: u32) -> u64 {
        let of = |level: u32| points(level).pow(2) * quads(level) * QUAD as u64;
        match self {
            Self::Given | Self::Result | Self::V | Self::Other => of(finest),
            Self::U(level) | Self::R(level) => of(level) * self.plane_spacing(finest),
            Self::Planes(level) | Self::Between(level) => 2 * of(level - 1),
        }
    }
}
