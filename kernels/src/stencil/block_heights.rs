//! The height of blocks, and the memory that their pages keep.

use super::blocking::filled_row;
use super::pages::StencilPages;
use super::row_dataflow::BlockRow;
use cp2_host::nest::{BoundaryRule, GridPass, GridPlan, PageCycles};
use cp2_host::{Buffering, Reserved};
use cp2_machine::Machine;
use cp2_problems::stencil::StencilProblem;

/// Number of block heights that are compared.
const HEIGHTS: usize = 3;

/// Cost of the loops of a block.
#[derive(Clone, Copy, Debug)]
/// Cycles of the loops.
pub(super) struct BlockLoops {
    pub(super) cycles: u64,
    /// Bytes of their tables.
    pub(super) data: u64,
    /// Bytes of the sums that rows keep for later rows.
    pub(super) kept: u64,
}

/// Returns the pages whose blocks have the height with the least expected time. `heights` gives the numbers
/// of rows, up to its argument, that loops can be made for, and `of` the cost of the loops for so many rows.
pub(super) fn highest(
    problem: &StencilProblem,
    machine: &Machine,
    (row, steps): (&BlockRow<'_>, usize),
    heights: &dyn Fn(usize) -> Vec<usize>,
    of: &dyn Fn(usize) -> Option<BlockLoops>,
) -> Option<(f64, StencilPages)> {
    let [_, all_rows, _] = problem.extents();
    let sections = machine.cp2.sections.max(1);
    let mut best: Option<(f64, StencilPages)> = None;
    for buffering in [Buffering::Double, Buffering::Single] {
        for apart in [false, true] {
            let (mut found, mut height) = (0, usize::MAX);
            for turns in 1..=all_rows {
                let least = all_rows.div_ceil(sections * turns);
                if least == height {
                    continue;
                }
                height = least;
                let mut fits = false;
                for rows in heights(least) {
                    // Blocks that exceed local memory need no loop, whose text may be as long as the block
                    // has rows.
                    let bytes = (rows as u64).saturating_mul(row.pitch()[0].unsigned_abs());
                    if bytes > machine.cp2.dmem.0 {
                        continue;
                    }
                    let Some(work) = of(rows) else {
                        continue;
                    };
                    let pages = StencilPages {
                        block: [1, rows as u64, row.width as u64],
                        whole: row.whole,
                        steps,
                        buffering,
                        apart,
                        kept: work.kept,
                    };
                    if let Some(cost) = expected(problem, machine, (row, pages), work) {
                        if best.is_none_or(|(least, _)| cost < least) {
                            best = Some((cost, pages));
                        }
                        fits = true;
                    }
                }
                found += usize::from(fits);
                if found == HEIGHTS || least == 1 {
                    break;
                }
            }
        }
        if best.is_some() {
            break;
        }
    }
    best
}

/// Returns the pages over arrays with padded rows whose addresses do not matter.
pub(super) fn anywhere(
    problem: &StencilProblem,
    machine: &Machine,
    pages: &StencilPages,
) -> GridPass {
    let columns = filled_row(problem.extents()[2], machine) as u64;
    let mut input = pages.input(problem, 0, columns);
    if !pages.whole {
        // With parts of rows, other passes handle the edges.
        input.edge = BoundaryRule::Zero;
    }
    let own = problem
        .is_per_element()
        .then(|| pages.coefficient_field(problem, 0, columns));
    let inputs = [Some(input), own].into_iter().flatten().collect();
    let output = pages.output(problem, 0, columns);
    let zeros = (0, machine.cp2.dmem.0 / 4);
    pages.sweep((problem, machine), inputs, output, (zeros, 0))
}

/// Returns the cycles of a pass with blocks of so many rows; none if they do not fit.
fn expected(
    problem: &StencilProblem,
    machine: &Machine,
    (row, pages): (&BlockRow<'_>, StencilPages),
    BlockLoops { cycles, data, .. }: BlockLoops,
) -> Option<f64> {
    let sweep = GridPass {
        cycles: Some(PageCycles {
            block: cycles,
            page: 0,
        }),
        reserved: vec![Reserved {
            name: "constants".to_owned(),
            address: 0,
            bytes: data.max(16),
        }],
        ..anywhere(problem, machine, &pages)
    };
    let nest = GridPlan::new(sweep, machine).ok()?;
    let marches = nest.len() / nest.digits()[0].max(1);
    let between = match (problem.shape().len(), pages.apart) {
        // Nothing is computed while the first window of a march is loaded.
        (3, true) => window(row, pages, machine) * marches.saturating_sub(1) as f64,
        _ => 0.0,
    };
    Some(nest.expected() + between)
}

/// Returns the cycles of the channel for a window of all sections.
fn window(row: &BlockRow<'_>, pages: StencilPages, machine: &Machine) -> f64 {
    let rows = pages.block[1] + 2 * pages.steps as u64;
    let bytes = 3 * rows * row.pitch()[0].unsigned_abs();
    let bandwidth = machine.dma.bandwidth;
    let bytes = bytes * machine.cp2.sections as u64 * bandwidth.den;
    bytes as f64 / bandwidth.num.max(1) as f64
}
