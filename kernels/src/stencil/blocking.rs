//! The choice of steps per pass and of the width of blocks.

use super::block_heights::{BlockLoops, anywhere, highest};
use super::error::StencilError;
use super::page_kernel::StencilPageKernel;
use super::pages::StencilPages;
use super::row_dataflow::BlockRow;
use super::row_loop::{LoopNames, RowLoop};
use super::row_schedules::Scheduled;
use super::temporal_blocking::{Fused, HANDED, share};
use crate::job::Job;
use cp2_host::DeviceOptions;
use cp2_host::paging::aligned;
use cp2_machine::Machine;
use cp2_problems::stencil::{self, StencilProblem, StencilShape};
use std::sync::Arc;

/// Elements of the longest rows that are treated as a whole.
const WHOLE: usize = 1024;
/// Widths of blocks that are parts of rows.
const WIDTHS: [usize; 6] = [256, 128, 64, 32, 16, 8];
/// Cycles of a page in addition to its rows, for each step.
const PAGE: u64 = 80;

/// Steps of passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PassSteps {
    /// One step or two, whichever has the lower price.
    ByPrice,
    /// One step.
    One,
    /// Two steps, where passes of two can be planned.
    Two,
}

/// Pages and their kernel.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub(super) pages: StencilPages,
    pub(super) kernel: StencilPageKernel,
    /// Expected cycles of a pass.
    cost: f64,
}

/// Chooses the passes of a problem: of one step each, or of two steps as long as two are left.
pub(super) fn choose(
    problem: &StencilProblem,
    machine: &Arc<Machine>,
    passes: PassSteps,
) -> Result<Vec<Chosen>, StencilError> {
    let single = single(problem, machine)?;
    let steps = problem.steps();
    let marches = problem.shape().len() == 3 && !problem.is_per_element();
    let fuses = passes != PassSteps::One && marches && single.pages.whole;
    let two = match steps > 1 && fuses {
        // If passes of two steps cannot be planned, passes of one step are taken.
        true => double(problem, machine).ok().flatten(),
        false => None,
    };
    let price = |chosen: &Chosen| chosen.price(problem, machine);
    let two = two.filter(|two| match (passes, price(two), price(&single)) {
        (PassSteps::Two, ..) => true,
        (_, Some(two), Some(one)) => two < 2 * one,
        (..) => false,
    });
    Ok(match two {
        Some(two) => {
            let odd = (!steps.is_multiple_of(2)).then_some(single);
            [Some(two), odd].into_iter().flatten().collect()
        }
        None => vec![single],
    })
}

impl Chosen {
    /// Returns the price of a pass over arrays whose addresses do not matter.
    pub(super) fn price(&self, problem: &StencilProblem, machine: &Arc<Machine>) -> Option<u64> {
        let mut job = Job::new(machine.clone(), DeviceOptions::default());
        let program = job.program("stencil", &self.kernel.program).ok()?;
        let sweep = anywhere(problem, machine, &self.pages);
        let entry = self.kernel.program.entry.into();
        job.sweep(&program, entry, sweep).ok()?;
        Some(job.expected()?.get())
    }
}

/// Returns the numbers of a row that is padded to whole quads, and to whole granules of the DMA if these are
/// larger.
pub(super) fn filled_row(columns: usize, machine: &Machine) -> usize {
    let granule = usize::try_from(machine.dma.granule.0 / 4).unwrap_or(1);
    columns.next_multiple_of(granule.max(4))
}

/// Describes a row of blocks of so many columns.
fn row<'a>(
    problem: &'a StencilProblem,
    machine: &Machine,
    width: usize,
    whole: bool,
) -> BlockRow<'a> {
    let [_, rows, columns] = problem.extents();
    BlockRow {
        stencil: problem.stencil(),
        merged: true,
        per_element: problem.is_per_element(),
        edge: problem.edge(),
        columns,
        rows,
        width,
        whole,
        margin: i64::try_from(aligned(machine)).unwrap_or(i64::MAX),
    }
}

/// Returns the pages of one step with the least expected time: as wide as the array, or else of the widest
/// blocks that a kernel can be made for.
pub(super) fn single(problem: &StencilProblem, machine: &Machine) -> Result<Chosen, StencilError> {
    let [_, _, columns] = problem.extents();
    let wide = filled_row(columns, machine);
    // Parts begin and end at granules of the DMA.
    let granule = machine.dma.granule.0;
    let parts = WIDTHS
        .into_iter()
        .filter(|&width| width < wide && (4 * width as u64).is_multiple_of(granule.max(1)));
    let rows = [row(problem, machine, wide, true)]
        .into_iter()
        .filter(|_| wide <= WHOLE)
        .chain(parts.map(|width| row(problem, machine, width, false)));
    // Over planes whole rows are the cheapest. Over rows alone narrower blocks can be higher; they are
    // compared if they need no passes that change the layout.
    let alike = columns == wide && problem.edge() != stencil::Edge::Mirrored;
    let compared = problem.shape().len() == 2 && alike;
    let (mut best, mut refused): (Option<Chosen>, _) = (None, None);
    for row in rows {
        match of_width(problem, machine, &row) {
            Ok(Some(chosen)) if best.as_ref().is_none_or(|best| chosen.cost < best.cost) => {
                best = Some(chosen);
            }
            Ok(_) => {}
            Err(e) => refused = refused.or(Some(e)),
        }
        if best.is_some() && !compared {
            break;
        }
    }
    best.ok_or_else(|| {
        refused.unwrap_or_else(|| StencilError::NoBlock {
            points: problem.stencil().points().len(),
            machine: machine.name.clone(),
            dmem: machine.cp2.dmem.0,
            granule,
        })
    })
}

/// Returns the pages with the best height of blocks of a width, if any fits.
fn of_width(
    problem: &StencilProblem,
    machine: &Machine,
    row: &BlockRow<'_>,
) -> Result<Option<Chosen>, StencilError> {
    let scheduled = row.schedules(machine)?;
    let of = |rows: usize| {
        let one = Scheduled::fastest(&scheduled, rows, 1)?;
        Some(BlockLoops {
            cycles: one.cycles(rows) + PAGE,
            data: one.data(),
            kept: one.kept(rows),
        })
    };
    let heights = |rows: usize| Scheduled::heights(&scheduled, rows);
    let Some((cost, pages)) = highest(problem, machine, (row, 1), &heights, &of) else {
        return Ok(None);
    };
    let rows = pages.block[1] as usize;
    let Some(one) = Scheduled::fastest(&scheduled, rows, 1) else {
        return Ok(None);
    };
    let planes = (problem.shape().len() == 3).then(|| problem.extents()[0]);
    let rows = RowLoop {
        row,
        scheduled: one,
        rows,
        planes,
        names: LoopNames::new(""),
        from: [0, 0],
    };
    Ok(Some(Chosen {
        pages,
        kernel: StencilPageKernel::single(&rows, machine)?,
        cost,
    }))
}

/// Returns the pages of two steps, if any fit.
pub(super) fn double(
    problem: &StencilProblem,
    machine: &Machine,
) -> Result<Option<Chosen>, StencilError> {
    let [planes, _, columns] = problem.extents();
    let stencils = scaled(problem);
    let own = row(problem, machine, filled_row(columns, machine), true);
    let [first, second] = [0, 1].map(|step| BlockRow {
        stencil: stencils.get(step).unwrap_or(own.stencil),
        ..own.clone()
    });
    let scheduled = [first.schedules(machine)?, second.schedules(machine)?];
    let fastest = |rows: usize| {
        let of = |step: usize, rows: usize| Scheduled::fastest(&scheduled[step], rows, 2);
        Some([of(0, rows)?, of(1, rows)?, of(0, HANDED)?])
    };
    let of = |rows: usize| {
        let [first, second, opening] = fastest(rows)?;
        // The first block of a share takes longer: it computes the rows before its own too.
        let more = opening.cycles(HANDED) + PAGE;
        let more = more / share(own.rows, rows, machine).max(1) as u64;
        let kept = [first.kept(rows), second.kept(rows), opening.kept(HANDED)];
        Some(BlockLoops {
            cycles: first.cycles(rows) + second.cycles(rows) + 2 * PAGE + more,
            data: first.data() + second.data() + opening.data(),
            kept: kept.into_iter().max().unwrap_or(0),
        })
    };
    let heights = |rows: usize| {
        let both = scheduled.iter().map(|all| Scheduled::heights(all, rows));
        let mut both: Vec<usize> = both.flatten().collect();
        both.sort_unstable();
        both.dedup();
        both
    };
    let Some((cost, pages)) = highest(problem, machine, (&own, 2), &heights, &of) else {
        return Ok(None);
    };
    let rows = pages.block[1] as usize;
    let Some([one, two, three]) = fastest(rows) else {
        return Ok(None);
    };
    let of = |row, scheduled, rows, label, from| RowLoop {
        row,
        scheduled,
        rows,
        planes: Some(planes),
        names: LoopNames::new(label),
        from,
    };
    let fused = Fused {
        hands: share(own.rows, rows, machine) > 1,
        loops: [
            of(&first, one, rows, "1", [0, 1]),
            of(&second, two, rows, "2", [-1, 0]),
        ],
        opening: of(&first, three, HANDED, "3", [0, -1]),
    };
    Ok(Some(Chosen {
        pages,
        kernel: fused.kernel(machine)?,
        cost,
    }))
}

/// Range of the unit that the first of two steps leaves out. Values between the steps are at most 8 times as
/// large or as small as they would be, so little is lost at the ends of the range of single precision.
const NEAR: std::ops::RangeInclusive<f32> = 0.125..=8.0;

/// Least coefficient other than 0 for which a unit is left out: divided by the unit or multiplied with it, it
/// stays far from the numbers that single precision holds with fewer digits.
const LEAST: f32 = 1e-30;

/// Returns the stencils of two steps with a unit left out: the first step has the coefficients c / unit, so
/// that one of its products is a sum, and the second has c unit. None if the values between the steps are
/// kept by a fixed edge, or would be far from what they are.
fn scaled(problem: &StencilProblem) -> Vec<StencilShape> {
    let stencil = problem.stencil();
    let largest = |a: f32, b: f32| if b.abs() > a.abs() { b } else { a };
    let unit = stencil
        .points()
        .iter()
        .map(|point| point.coefficient)
        .fold(0.0, largest);
    let lost = |point: &stencil::StencilPoint| {
        let size = point.coefficient.abs();
        size > 0.0 && size < LEAST
    };
    let far = !NEAR.contains(&unit.abs()) || stencil.points().iter().any(lost);
    if problem.edge() == stencil::Edge::Fixed || far {
        return Vec::new();
    }
    let by = |of: &dyn Fn(f32) -> f32| {
        let points = stencil.points().iter().map(|point| stencil::StencilPoint {
            coefficient: of(point.coefficient),
            ..*point
        });
        StencilShape::new(stencil.axes(), points.collect()).ok()
    };
    let both = [by(&|c| c / unit), by(&|c| c * unit)];
    both.into_iter().collect::<Option<_>>().unwrap_or_default()
}
