//! Chooses the block of every kernel, and the operators to fuse, by price.

use super::MultigridError;
use super::decomposition::{DividedProblem, Division};
use super::kernels::{OperatorBlock, opening, parts};
use super::page::MultigridPageKernel;
use super::plan::{OperatorPages, PassExtents, PlannedOperator};
use super::rows::MultigridOperator;
use super::steps::FusedOperators;
use crate::job::{Job, data_end};
use cp2_host::nest::{GridPass, GridPlan};
use cp2_host::{DeviceOptions, Reserved, paging};
use cp2_machine::{Cycles, Machine};
use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// The kernels that have been planned so far, for one smoother and machine.
///
/// What is planned for one division serves others: neither a kernel nor its pages depend on more than the planes and
/// rows of the pass's arrays.
#[derive(Clone, Debug, Default)]
pub(super) struct PlannedKernels {
    /// Assembled kernels by operator, level and block.
    pages: HashMap<(MultigridOperator, u32, OperatorBlock), Arc<MultigridPageKernel>>,
    /// Kernels with the pages of a pass.
    operators: HashMap<(MultigridOperator, u32, PassExtents), Arc<PlannedOperator>>,
}

impl PlannedKernels {
    /// Adds the kernel that its operator has on its level from now on, wherever the arrays have the same planes and
    /// rows.
    pub(super) fn insert(&mut self, planned: Arc<PlannedOperator>) {
        let OperatorPages {
            operator,
            level,
            block,
            ..
        } = planned.shape;
        let kernel = planned.kernel.clone();
        self.pages.insert((operator, level, block), kernel);
        let extents = planned.shape.pass_extents();
        self.operators.insert((operator, level, extents), planned);
    }
}

/// Returns the kernel of an operator on a level; it is planned if it is not yet known.
pub(super) fn kernel(
    divided: &DividedProblem,
    (operator, level): (MultigridOperator, u32),
    known: &mut PlannedKernels,
    machine: &Arc<Machine>,
) -> Result<Arc<PlannedOperator>, MultigridError> {
    let division = divided.division;
    let block = OperatorBlock {
        rows: 1,
        handed: false,
    };
    let any = OperatorPages {
        operator,
        level,
        block,
        division,
    };
    let key = (operator, level, any.pass_extents());
    if let Some(kernel) = known.operators.get(&key) {
        return Ok(match kernel.shape.division == division {
            true => kernel.clone(),
            false => Arc::new(PlannedOperator {
                shape: OperatorPages {
                    division,
                    ..kernel.shape
                },
                ..PlannedOperator::clone(kernel)
            }),
        });
    }
    let planned = Arc::new(plan_cheapest(divided, (operator, level), known, machine)?);
    known.operators.insert(key, planned.clone());
    Ok(planned)
}

/// Chooses the operators that are fused: those that are faster in one pass.
pub(super) fn fused(
    divided: &DividedProblem,
    known: &mut PlannedKernels,
    machine: &Arc<Machine>,
) -> FusedOperators {
    let (problem, finest) = (&divided.problem, divided.division.finest());
    // A pass that cannot be planned is dearer than any that can.
    let mut cost = |operators: &[MultigridOperator], level: u32| {
        let costs = operators.iter().map(|&operator| {
            let planned = kernel(divided, (operator, level), known, machine).ok()?;
            Some(planned.price)
        });
        costs.sum::<Option<u64>>().unwrap_or(u64::MAX)
    };
    let passes = fusible(&divided.division).map(|level| (level, false));
    let again = (problem.cycles() > 1).then_some((finest, true));
    let ascents = passes.chain(again).filter(|&(level, add)| {
        let one = [MultigridOperator::Expand, MultigridOperator::Ascend { add }];
        let smooth = MultigridOperator::Smooth { add: true };
        let several = [
            MultigridOperator::Interpolate { add },
            MultigridOperator::Residual,
            smooth,
        ];
        cost(&one, level) < cost(&several, level)
    });
    let ascents = ascents.collect();
    let several = [MultigridOperator::Residual, MultigridOperator::Project];
    let descent = problem.cycles() > 1
        && cost(&[MultigridOperator::Descend], finest) < cost(&several, finest);
    let first = [MultigridOperator::Lift, MultigridOperator::Project];
    let first = cost(&[MultigridOperator::Begin], finest) < cost(&first, finest);
    let last = [MultigridOperator::ResidualSquares, MultigridOperator::Lower];
    let last = cost(&[MultigridOperator::Finish], finest) < cost(&last, finest);
    FusedOperators {
        ascents,
        descent,
        first,
        last,
    }
}

/// The lowest level whose operators may be fused.
const LEAST: u32 = 3;

/// Returns the levels whose operators may be fused.
pub(super) fn fusible(division: &Division) -> RangeInclusive<u32> {
    LEAST.max(division.coarsest() + 1)..=division.finest()
}

/// Number of blocks that are tried for a pass that keeps planes, those with the fewest rows in all first:
/// larger ones may leave no room for a second buffer.
const TRIED: u64 = 5;

/// Returns the blocks that may be the fastest: those that hand rows over, or those that do not.
pub(super) fn blocks(
    (operator, level): (MultigridOperator, u32),
    division: Division,
    handed: bool,
    machine: &Machine,
) -> Vec<OperatorBlock> {
    let block = |rows: u64| OperatorBlock { rows, handed };
    let n = OperatorPages {
        operator,
        level,
        block: block(1),
        division,
    }
    .rows();
    let sections = machine.cp2.sections.max(1) as u64;
    if handed && operator.handed_rows() == 0 {
        return Vec::new();
    }
    if !operator.keeps_planes() {
        let most = (n / sections).max(1);
        return (0..=most.ilog2()).map(|shift| block(1 << shift)).collect();
    }
    let share = |h: u64| n.div_ceil(h).div_ceil(sections);
    // Rows that all sections compute in a plane, with the rows that neighbours compute too.
    let rows = |h: u64| match handed {
        true => share(h) * h + operator.handed_rows(),
        false => share(h) * (h + 2),
    };
    let most = n.div_ceil(sections).next_multiple_of(2).min(n);
    let mut all: Vec<u64> = (1..=most / 2).map(|half| 2 * half).collect();
    if operator.sums() {
        // Rows beyond the last are those of the opposite side again, and would be summed twice.
        all.retain(|&h| n.is_multiple_of(h));
    }
    if handed {
        // A block that is the only one of its section has no predecessor to hand rows over.
        all.retain(|&h| share(h) > 1);
    }
    // The order of trial: the fewest rows first, then the highest blocks, which are the fewest pages.
    all.sort_by_key(|&h| (rows(h), std::cmp::Reverse(h)));
    all.into_iter().map(block).collect()
}

/// Plans the kernel of an operator on a level with a given block.
pub(super) fn attempt(
    DividedProblem { problem, division }: &DividedProblem,
    (operator, level): (MultigridOperator, u32),
    block: OperatorBlock,
    known: &mut PlannedKernels,
    machine: &Arc<Machine>,
) -> Result<PlannedOperator, MultigridError> {
    let sections = machine.cp2.sections.max(1) as u64;
    let shape = OperatorPages {
        operator,
        level,
        block,
        division: *division,
    };
    // Pages that have no room need no schedule.
    GridPlan::new(shape.make_unplaced_pass(), machine)?;
    let kernel = match known.pages.get(&(operator, level, block)) {
        Some(kernel) => kernel.clone(),
        None => {
            let (parts, frame) = parts(problem, (operator, level), block);
            let opening = opening(problem, (operator, level), block);
            let kernel = MultigridPageKernel::new(&shape.name(), &parts, &opening, frame, machine)?;
            let kernel = Arc::new(kernel);
            known.pages.insert((operator, level, block), kernel.clone());
            kernel
        }
    };
    let sweep = GridPass {
        reserved: vec![Reserved {
            name: "constants".to_owned(),
            address: 0,
            bytes: data_end(&kernel.program),
        }],
        ..shape.make_unplaced_pass()
    };
    let nest = GridPlan::new(sweep.clone(), machine)?;
    let page = paging::KernelEntryPoint::new(&kernel.program, kernel.program.entry.into());
    let cycles = page.nest_cycles([&nest, &nest], machine);
    let cycles = cycles.ok();
    let nest = GridPlan::new(GridPass { cycles, ..sweep }, machine)?;
    let openings = match block.handed {
        true => nest.digits()[0],
        false => 0,
    };
    let estimate = nest.expected() + (openings * kernel.opening.1) as f64;
    Ok(PlannedOperator {
        price: price(&kernel, &shape, machine)?.unwrap_or(estimate as u64),
        pages: nest.len() * sections,
        openings: openings * sections,
        nest: Arc::new(nest),
        kernel,
        shape,
    })
}

/// Returns the cycles of a pass of a kernel; none if they depend on what its pages compute.
fn price(
    kernel: &MultigridPageKernel,
    shape: &OperatorPages,
    machine: &Arc<Machine>,
) -> Result<Option<u64>, MultigridError> {
    let mut job = Job::new(machine.clone(), DeviceOptions::default());
    let program = job.program(shape.operator.name(), &kernel.program)?;
    let entry = kernel.program.entry.into();
    job.sweep(&program, entry, shape.make_unplaced_pass())?;
    Ok(job.expected().map(Cycles::get))
}

/// Plans the kernel of an operator on a level with the block of the lowest price.
fn plan_cheapest(
    divided: &DividedProblem,
    (operator, level): (MultigridOperator, u32),
    known: &mut PlannedKernels,
    machine: &Arc<Machine>,
) -> Result<PlannedOperator, MultigridError> {
    let mut attempt =
        |block: OperatorBlock| attempt(divided, (operator, level), block, known, machine);
    let (mut fit, mut refused) = (Vec::new(), None);
    for handed in [false, true] {
        let mut fits = 0;
        for block in blocks((operator, level), divided.division, handed, machine) {
            if operator.keeps_planes() && fits == TRIED {
                break;
            }
            match attempt(block) {
                Ok(planned) => {
                    fits += 1;
                    fit.push(planned);
                }
                Err(error) => {
                    refused.get_or_insert(error);
                }
            }
        }
    }
    // Among equal prices the first candidate wins.
    if let Some(best) = fit.into_iter().min_by_key(|planned| planned.price) {
        return Ok(best);
    }
    let one = OperatorBlock {
        rows: 1,
        handed: false,
    };
    refused.map_or_else(|| attempt(one), Err)
}
