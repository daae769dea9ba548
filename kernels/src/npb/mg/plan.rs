//! The plan of V-cycles: passes, their kernels, and the pages of each.

use super::MultigridError;
use super::decomposition::{
    ArrayExtents, DividedProblem, Division, MultigridSplit, NormSum, points,
};
use super::kernel_choice::{PlannedKernels, attempt, fused, kernel};
use super::kernels::{OperatorBlock, tile};
use super::messages::ArrayBox;
use super::page::MultigridPageKernel;
use super::rows::{MultigridOperator, QUAD};
use super::split_choice::find_early_faces;
use super::steps::{ArrayName, FusedOperators, MultigridStep, steps};
use crate::npb::{needed_extensions, number_format};
use crate::pipeline::Operations;
use crate::sections::{choose_sections, describe_idle};
use cp2_host::BlocksPerSection;
use cp2_host::nest::{BoundaryRule, FirstLoad, GridField, GridPass, GridPlan, March};
use cp2_machine::{Class, Cycles, Machine};
use cp2_problems::npb::mg::MgProblem;
use cp2_reference::Figures;
use std::ops::Range;
use std::sync::Arc;

/// V-cycles planned for a machine.
#[derive(Debug)]
pub struct MultigridPlan {
    pub(super) divided: DividedProblem,
    pub(super) machine: Arc<Machine>,
    /// The machine, with only the sections that the plan uses.
    pub(super) used: Arc<Machine>,
    /// Order in which several processors add up the sums of norms.
    pub(super) sum: NormSum,
    /// Operators that are fused.
    pub(super) fused: FusedOperators,
    /// Steps in order; passes and norms with their kernels.
    pub(super) steps: Vec<(MultigridStep, Option<Arc<PlannedOperator>>)>,
    /// Kernels of these passes, and of those that were compared with them.
    pub(super) known: PlannedKernels,
}

/// An operator on a level, planned: its kernel, and the pages of a pass.
#[derive(Clone, Debug)]
pub(super) struct PlannedOperator {
    pub(super) kernel: Arc<MultigridPageKernel>,
    pub(super) shape: OperatorPages,
    /// Pages of a pass over arrays at any address.
    pub(super) nest: Arc<GridPlan>,
    /// Cycles that a pass should take.
    pub(super) price: u64,
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
    pub(super) division: Division,
}

/// Planes and rows of the arrays of a pass: all that its pages depend on of a division.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PassExtents {
    /// The level of the pass, and the one below it.
    levels: [ArrayExtents; 2],
    /// Planes and rows that a pass with ghosts works on.
    worked_on: [[u64; 2]; 2],
    divided: bool,
}

impl MultigridPlan {
    /// Plans the cycles of a problem, with the number of sections that takes the fewest cycles.
    ///
    /// # Errors
    /// The machine has too few registers, too little memory or too coarse a granule for a kernel, or does not compute
    /// in the precision of the problem.
    pub fn new(problem: MgProblem, machine: &Arc<Machine>) -> Result<Self, MultigridError> {
        let precision = problem.precision();
        if !machine
            .cp2
            .extensions
            .contains(needed_extensions(precision))
        {
            return Err(MultigridError::LacksPrecision {
                machine: machine.name.clone(),
                precision,
            });
        }
        let divided = DividedProblem::whole(problem);
        let plan = |used: &Arc<Machine>| {
            Self::plan_with_kernels(divided.clone(), PlannedKernels::default(), (machine, used))
        };
        choose_sections(machine, plan, |plan| Some(plan.price()))
    }

    /// Plans these cycles for the processors of a split: operators are fused as on one processor, so that results
    /// have its bits.
    ///
    /// # Errors
    /// The split does not fit the problem, or a machine has too little of something for a block.
    pub fn split(&self, split: MultigridSplit, sum: NormSum) -> Result<Self, MultigridError> {
        self.split_with_kernels(split, sum, &self.known)
    }

    /// Plans these cycles for the processors of a split with known kernels, planning the missing ones.
    pub(super) fn split_with_kernels(
        &self,
        split: MultigridSplit,
        sum: NormSum,
        known: &PlannedKernels,
    ) -> Result<Self, MultigridError> {
        let division = self.divided.division.split(split)?;
        let early = find_early_faces(&division, &self.used);
        let division = division.with_early_faces(early);
        let divided = DividedProblem {
            problem: self.problem().clone(),
            division,
        };
        let mut known = known.clone();
        for planned in self.passes_in_order() {
            let OperatorPages {
                operator,
                level,
                block,
                ..
            } = planned.shape;
            let is_divided = division.is_divided(planned.shape.pass_level());
            if !(is_divided && operator.sums() && sum == NormSum::Ordered) {
                continue;
            }
            if !division.own(level)[1].is_multiple_of(block.rows) {
                return Err(MultigridError::Split {
                    reason: format!(
                        "pages of one processor have {} rows, and a processor has {}: their sums are others; expected fewer parts of rows, or `--sum tree`",
                        block.rows,
                        division.own(level)[1]
                    ),
                });
            }
            let planned = attempt(&divided, (operator, level), block, &mut known, &self.used)?;
            known.insert(Arc::new(planned));
        }
        let machines = (&self.machine, &self.used);
        let plan = Self::plan_with_fusions(divided, &self.fused, known, machines)?;
        Ok(Self { sum, ..plan })
    }

    /// Returns the cycles of all passes, one after the other.
    pub(super) fn price(&self) -> u64 {
        let passes = self.passes_in_order();
        passes.map(|planned| planned.price).sum()
    }

    /// Returns the passes in order, those of norms included.
    pub(super) fn passes_in_order(&self) -> impl Iterator<Item = &Arc<PlannedOperator>> {
        self.steps
            .iter()
            .filter_map(|(_, planned)| planned.as_ref())
    }

    /// Describes the sections that the plan uses, where others are left idle.
    #[must_use]
    pub fn recipe(&self) -> Option<String> {
        describe_idle(&self.machine, &self.used)
    }

    /// Plans the cycles with known kernels, planning the missing ones; operators are fused where that has the
    /// lower price.
    pub(super) fn plan_with_kernels(
        divided: DividedProblem,
        mut known: PlannedKernels,
        (machine, used): (&Arc<Machine>, &Arc<Machine>),
    ) -> Result<Self, MultigridError> {
        let fused = fused(&divided, &mut known, used);
        Self::plan_with_fusions(divided, &fused, known, (machine, used))
    }

    /// Plans the cycles with given fusions and known kernels, planning the missing ones.
    pub(super) fn plan_with_fusions(
        divided: DividedProblem,
        fused: &FusedOperators,
        mut known: PlannedKernels,
        (machine, used): (&Arc<Machine>, &Arc<Machine>),
    ) -> Result<Self, MultigridError> {
        let finest = divided.division.finest();
        let all = steps(&divided, fused).into_iter().map(|step| {
            let Some(key) = step.key(finest) else {
                return Ok((step, None));
            };
            let kernel = kernel(&divided, key, &mut known, used);
            let kernel = kernel.map_err(|refused| refused.rephrase_for_cube(machine))?;
            Ok((step, Some(kernel)))
        });
        let steps = all.collect::<Result<_, MultigridError>>()?;
        Ok(Self {
            fused: fused.clone(),
            sum: NormSum::default(),
            steps,
            known,
            divided,
            machine: machine.clone(),
            used: used.clone(),
        })
    }

    /// Returns how planes and rows are divided; none on one processor.
    #[must_use]
    pub fn division(&self) -> Option<MultigridSplit> {
        let division = self.divided.division;
        (division.processors() > 1).then(|| MultigridSplit {
            parts: division.parts().map(|parts| parts as usize),
            gather: 1 << division.gathered(),
        })
    }

    /// Returns the number of processors.
    #[must_use]
    pub fn processors(&self) -> usize {
        self.divided.division.processors() as usize
    }

    /// Returns the problem.
    #[must_use]
    pub fn problem(&self) -> &MgProblem {
        &self.divided.problem
    }

    /// Returns the proved limit and the reference of the whole run.
    #[must_use]
    pub fn figures(&self) -> Figures {
        let problem = &self.divided.problem;
        let format = number_format(problem.precision());
        let whole = cp2_reference::Multigrid::new(problem.shape(), problem.cycles(), format);
        whole
            .figures(&self.machine)
            .shared(self.divided.division.processors())
    }

    /// Returns for each pass the least it has to issue, see
    /// [`Method::operations`](crate::Method::operations).
    #[must_use]
    pub fn operations(&self) -> Vec<Vec<(Class, u64)>> {
        self.passes_in_order()
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
        let of = |planned: &Arc<PlannedOperator>| {
            let OperatorPages {
                operator, level, ..
            } = planned.shape;
            let [planes, rows] = self.divided.division.extents(level);
            let count = planes * rows * points(level);
            let format = number_format(self.problem().precision());
            let least = operator.pass().cycles(count, format, &self.machine);
            let share = match self.divided.division.is_divided(planned.shape.pass_level()) {
                true => self.divided.division.processors(),
                false => 1,
            };
            (planned.shape.name(), Cycles(least.0.div_ceil(share)))
        };
        let mut all: Vec<_> = self.passes_in_order().map(of).collect();
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
        self.sweep([PlacedArray { at: 0, apart: 1 }; 4], 0, [0; 2])
    }

    /// Returns all that the pages depend on of the division.
    pub(super) fn pass_extents(&self) -> PassExtents {
        let levels = [self.level, self.level.saturating_sub(1)];
        let (planes, before) = self.worked_on();
        PassExtents {
            levels: levels.map(|level| self.extents(level, [0; 2])),
            worked_on: [planes, before],
            divided: self.division.is_divided(self.pass_level()),
        }
    }

    /// Returns the planes and rows of an array of a level that the pass works on, on a processor.
    fn extents(&self, level: u32, place: [u64; 2]) -> ArrayExtents {
        self.division.array(level, self.pass_level(), place)
    }

    /// Returns the level whose division is that of the pass.
    fn pass_level(&self) -> u32 {
        match self.operator {
            // A level is expanded where it is: all of it, if every processor has all of it.
            MultigridOperator::Expand => self.level.saturating_sub(1),
            _ => self.level,
        }
    }

    /// Returns the planes and rows of the grid of blocks, and those by which it begins before the own ones.
    fn worked_on(&self) -> ([u64; 2], [u64; 2]) {
        let level = self.operator.result_level(self.level);
        let own = self.extents(level, [0; 2]).own;
        match self.operator {
            // The next pass needs planes before and behind the own ones, and ghost rows of all.
            MultigridOperator::Expand => {
                let ghosts = self.division.ghosts(level);
                let before = [ghosts[0] / 2, ghosts[1]];
                ([0, 1].map(|axis| own[axis] + 2 * before[axis]), before)
            }
            _ => (own, [0; 2]),
        }
    }

    /// Returns the number of rows that blocks are made of.
    pub(super) fn rows(&self) -> u64 {
        self.worked_on().0[1]
    }

    /// Returns the pages of a pass over arrays of the processor at `place`.
    ///
    /// `arrays` are the inputs, then the additional outputs, and last the output, or the sums of a pass with
    /// sums; `handed` is the address of the rows that are handed over.
    pub(super) fn sweep(&self, arrays: [PlacedArray; 4], handed: u64, place: [u64; 2]) -> GridPass {
        let (operator, level) = (self.operator, self.level);
        let OperatorBlock {
            rows,
            handed: hands,
        } = self.block;
        let fine = [2, 2 * rows];
        let own = [1, rows];
        let half = [1, rows / 2];
        let below = level.saturating_sub(1);
        let [first, second, third, output] = arrays;
        let ([planes, all_rows], before) = self.worked_on();
        let array = |name: &str, at: PlacedArray, of: u32, block: [u64; 2]| {
            input_field(
                name,
                at,
                (self.extents(of, place), self.division.quads(of)),
                block,
            )
        };
        let stored = |name: &str, at: PlacedArray, of: u32, block: [u64; 2]| {
            output_field(
                name,
                at,
                (self.extents(of, place), self.division.quads(of)),
                block,
            )
        };
        let lines = |field: GridField, halo: u64| field.halo([0, halo, 0], BoundaryRule::Periodic);
        let around = |field: GridField| field.halo([1, 1, 0], BoundaryRule::Periodic);
        let ahead = operator.halo_planes() as i64;
        let early = |field: GridField| shift_planes(field, -ahead);
        // Planes of this level with the rows of the level below: two for each of its planes.
        let coarse_rows = || {
            let mut extents = self.extents(below, place);
            for planes in [
                &mut extents.memory[0],
                &mut extents.origin[0],
                &mut extents.own[0],
            ] {
                *planes *= 2;
            }
            (extents, self.division.quads(below))
        };
        let near = |at: PlacedArray| PlacedArray { apart: 1, ..at };
        // Rows that a block needs only for what is otherwise handed over to it are not loaded by later blocks
        // of its section.
        let opens = |field: GridField, rows: u64| match hands {
            true => field.opening(FirstLoad::Further(rows)),
            false => field,
        };
        let correction = |at: PlacedArray| {
            let field = input_field("correction", near(at), coarse_rows(), half);
            early(opens(lines(field, 2), 1))
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
                let coarse = array("coarse", first, below, own);
                let [planes, rows] = before.map(|lines| -(lines as i64));
                let coarse = shift_rows(shift_planes(coarse, planes), rows);
                vec![coarse.halo([1, 0, 0], BoundaryRule::Periodic)]
            }
            MultigridOperator::Begin => vec![early(lines(array("x", first, level, own), 1))],
            MultigridOperator::Lift | MultigridOperator::Lower => {
                vec![array("x", first, level, own)]
            }
        };
        let sums = |at: PlacedArray| {
            let sums = [planes, all_rows.div_ceil(rows), 1];
            GridField::new("sums", at.at, QUAD as u64, sums, [1, 1, 1])
        };
        let late = |field: GridField, planes: i64| shift_planes(field, -ahead - planes);
        let beside = match operator {
            MultigridOperator::Lift => vec![sums(output)],
            // The row behind the block is lifted for the projection and not stored.
            MultigridOperator::Begin => vec![
                late(lines(stored("y", second, level, own), 1), 0),
                late(sums(output), 0),
            ],
            MultigridOperator::Finish => vec![late(stored("y", third, level, own), 0)],
            _ => Vec::new(),
        };
        let output = match operator {
            MultigridOperator::Project => stored("coarse", output, below, own),
            MultigridOperator::Interpolate { .. } => stored("u", output, level, fine),
            MultigridOperator::Ascend { .. } => late(stored("u", output, level, own), SMOOTHED),
            MultigridOperator::Descend => {
                let coarse = output_field("coarse", near(output), coarse_rows(), half);
                late(coarse, PROJECTED)
            }
            MultigridOperator::Begin => {
                let coarse = output_field("coarse", near(third), coarse_rows(), half);
                late(coarse, PROJECTED_AT_ONCE)
            }
            MultigridOperator::Expand => {
                let mut extents = self.extents(below, place);
                for (axis, before) in before.into_iter().enumerate() {
                    extents.origin[axis] -= before;
                    extents.own[axis] += 2 * before;
                }
                output_field("planes", output, (extents, self.division.quads(below)), own)
            }
            MultigridOperator::ResidualSquares | MultigridOperator::Finish => {
                late(sums(output), MEASURED)
            }
            MultigridOperator::Lift => stored("y", second, level, own),
            _ => stored("y", output, level, own),
        };
        let marches = !matches!(operator, MultigridOperator::Lift | MultigridOperator::Lower);
        let scratch =
            tile(self.division.precision(), (operator, level), self.block).bytes(operator);
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
            grid: match operator.keeps_planes() {
                true => Some([
                    planes + 2 * operator.halo_planes(),
                    all_rows.div_ceil(rows),
                    1,
                ]),
                // Blocks of arrays without ghosts are all blocks.
                false if !self.division.is_divided(self.pass_level()) => None,
                false => Some([planes, all_rows.div_ceil(rows), 1]),
            },
            scratch: scratch.unsigned_abs(),
            size: BlocksPerSection::Fixed(1),
            ..GridPass::new(inputs, outputs)
        }
    }

    /// Returns the number of blocks of a plane.
    fn blocks(&self) -> u64 {
        self.rows().div_ceil(self.block.rows)
    }

    /// Returns the bytes of the rows that blocks hand over.
    pub(super) fn handed_bytes(&self) -> u64 {
        let planes = self.worked_on().0[0] + 2 * self.operator.halo_planes();
        let rows = self.operator.handed_rows() * self.blocks();
        planes * rows * self.division.row_bytes(self.level)
    }

    /// Returns the rows of the residual that a block leaves, and those that it finds.
    ///
    /// It leaves the last rows that it computes, and finds the rows before its own: both where the residual
    /// is, in the place of v.
    fn handed_fields(&self, at: u64) -> [GridField; 2] {
        let (operator, level) = (self.operator, self.level);
        let (hands, row) = (operator.handed_rows(), self.division.quads(level));
        let planes = self.worked_on().0[0] + 2 * operator.halo_planes();
        let shape = [planes, hands * self.blocks(), row];
        let field = GridField::new("rows handed over", at, QUAD as u64, shape, [1, hands, row]);
        let tile = tile(self.division.precision(), (operator, level), self.block);
        let first = -tile.before;
        let last = first + tile.residuals() - hands as i64;
        let given = field.clone().place_in_input(1, [0, last]);
        let taken = field
            .place_in_input(1, [0, first])
            .offset([0, -(hands as i64), 0]);
        [given, taken.opening(FirstLoad::Nothing)]
    }

    /// Returns the planes and rows of the pass's result that are a box of its array, which has ghosts.
    pub(super) fn stored_lines(&self, part: ArrayBox, ghosts: [u64; 2]) -> [Range<u64>; 2] {
        // Every second plane that is stored counts.
        let twice = matches!(self.operator, MultigridOperator::Descend);
        let times = if twice { [2, 1] } else { [1, 1] };
        [0, 1].map(|axis| {
            let first = part.first[axis] - ghosts[axis];
            let lines = first..first + part.count[axis];
            lines.start * times[axis]..(lines.end - 1) * times[axis] + 1
        })
    }

    /// Returns the planes, and the blocks of each, of a pass with sums of squares: each leaves one.
    pub(super) fn page_grid(&self) -> [u64; 2] {
        [self.worked_on().0[0], self.blocks()]
    }

    /// Returns the number of partial sums of a pass with sums of squares: one for each block of each plane.
    pub(super) fn sums(&self) -> u64 {
        self.page_grid().iter().product()
    }
}

/// Returns the field of an array that a pass reads, in blocks of planes and rows: all of its memory, beginning with
/// the own planes and rows.
fn input_field(
    name: &str,
    placed: PlacedArray,
    (extents, quads): (ArrayExtents, u64),
    [planes, rows]: [u64; 2],
) -> GridField {
    let [all_planes, all_rows] = extents.memory;
    let shape = [all_planes, all_rows, quads];
    let field = GridField::new(name, placed.at, QUAD as u64, shape, [planes, rows, quads]);
    let [plane, row] = extents.origin.map(|lines| lines as i64);
    space_planes(field.offset([plane, row, 0]), all_rows, placed.apart)
}

/// Returns the field of an array that a pass stores, in blocks of planes and rows: its own planes and rows alone.
fn output_field(
    name: &str,
    placed: PlacedArray,
    (extents, quads): (ArrayExtents, u64),
    [planes, rows]: [u64; 2],
) -> GridField {
    let [_, all_rows] = extents.memory;
    let [plane, row] = extents.origin;
    let first = (plane * placed.apart * all_rows + row) * quads * QUAD as u64;
    let [own_planes, own_rows] = extents.own;
    let shape = [own_planes, own_rows, quads];
    let at = placed.at + first;
    let field = GridField::new(name, at, QUAD as u64, shape, [planes, rows, quads]);
    space_planes(field, all_rows, placed.apart)
}

/// Sets the distance of planes: so many rows, `apart` times.
fn space_planes(mut field: GridField, rows: u64, apart: u64) -> GridField {
    for strip in &mut field.strips {
        strip.plane = strip.row * rows * apart;
    }
    field
}

/// Lets a field begin some planes further on.
fn shift_planes(mut field: GridField, planes: i64) -> GridField {
    field.offset[0] += planes;
    field
}

/// Lets a field begin some rows further on.
fn shift_rows(mut field: GridField, rows: i64) -> GridField {
    field.offset[1] += rows;
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
    pub(super) fn find_containing_array(self, division: &Division) -> Option<(Self, u64)> {
        match self {
            Self::U(level) if level < division.finest() => {
                Some((Self::Planes(level + 1), plane_bytes(division, level)))
            }
            Self::Between(level) => Some((Self::Planes(level), 0)),
            _ => None,
        }
    }

    /// Returns the level whose planes and rows the array has.
    pub(super) fn level(self, finest: u32) -> u32 {
        match self {
            Self::Given | Self::Result | Self::V | Self::Other => finest,
            Self::U(level) | Self::R(level) => level,
            Self::Planes(level) | Self::Between(level) => level.saturating_sub(1),
        }
    }

    /// Returns the bytes of the array, ghosts included.
    pub(super) fn bytes(self, division: &Division) -> u64 {
        let finest = division.finest();
        let level = self.level(finest);
        let spacing = match self {
            Self::Planes(_) | Self::Between(_) => 2,
            _ => self.plane_spacing(finest),
        };
        division.memory(level)[0] * plane_bytes(division, level) * spacing
    }
}

/// Returns the bytes of a plane of an array of a level, ghost rows included.
pub(super) fn plane_bytes(division: &Division, level: u32) -> u64 {
    division.memory(level)[1] * division.row_bytes(level)
}
