//! How wide and high blocks are.

use super::edge;
use super::error::StencilError;
use super::kernel::{Block, Kernel};
use super::row::Row;
use cp2_host::nest::{AXES, Edge, Field, March, Nest, PageCycles, Sweep};
use cp2_host::{BlocksPerSection, Buffering, Reserved};
use cp2_machine::Machine;
use cp2_problems::stencil::Edge::Mirrored;
use cp2_problems::stencil::StencilProblem;

/// Elements of the longest rows that are looked at as a whole.
const WHOLE: usize = 1024;
/// Widths of blocks that are parts of rows.
const WIDTHS: [usize; 6] = [256, 128, 64, 32, 16, 8];
/// Cycles of a page beside its rows.
const PAGE: u64 = 80;
/// Heights of blocks that are compared.
const HEIGHTS: usize = 3;

/// A block and its kernel.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    /// Planes, rows, columns.
    pub(super) block: [u64; AXES],
    /// Blocks are as wide as the array.
    pub(super) whole: bool,
    pub(super) pages: Pages,
    pub(super) kernel: Kernel,
    /// Cycles that a step should take.
    cost: f64,
}

/// How many rows a block has, and how its pages are kept.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pages {
    pub(super) rows: usize,
    pub(super) buffering: Buffering,
    /// See [`Sweep::marches_apart`].
    pub(super) apart: bool,
}

/// Elements around a block along each axis.
pub(super) fn halo(problem: &StencilProblem, whole: bool) -> [u64; AXES] {
    let planes = u64::from(problem.shape().len() == 3);
    [planes, 1, u64::from(!whole)]
}

/// The block whose pages should take the least time, of those as wide as the array or else of the widest that a kernel can be made for.
pub(super) fn choose(problem: &StencilProblem, machine: &Machine) -> Result<Chosen, StencilError> {
    let [_, all_rows, columns] = problem.extents();
    let row = |width: usize, whole: bool| Row {
        stencil: problem.stencil(),
        per_element: problem.is_per_element(),
        edge: problem.edge(),
        columns,
        rows: all_rows,
        width,
        whole,
    };
    let wide = columns.next_multiple_of(4);
    let parts = WIDTHS.into_iter().filter(|width| *width < wide);
    let rows = [row(wide, true)]
        .into_iter()
        .filter(|_| wide <= WHOLE)
        .chain(parts.map(|width| row(width, false)));
    // Of planes whole rows are the cheapest. Of rows alone blocks that are narrower are higher; where they need no other passes, they are compared.
    let alike = columns == wide && problem.edge() != Mirrored;
    let compared = problem.shape().len() == 2 && alike;
    let (mut best, mut refused): (Option<Chosen>, _) = (None, None);
    for row in rows {
        match of_width(problem, machine, row) {
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
        let (granule, row) = (machine.dma.granule.0, 4 * wide);
        let granules = (row as u64).is_multiple_of(granule.max(1));
        refused.unwrap_or_else(|| match granules {
            false => StencilError::Granule {
                row,
                machine: machine.name.clone(),
                granule,
            },
            true => StencilError::NoBlock {
                points: problem.stencil().points().len(),
                machine: machine.name.clone(),
                dmem: machine.cp2.dmem.0,
            },
        })
    })
}

/// The best height of blocks of a width, if any fits.
fn of_width(
    problem: &StencilProblem,
    machine: &Machine,
    row: Row<'_>,
) -> Result<Option<Chosen>, StencilError> {
    let [_, all_rows, _] = problem.extents();
    let sections = machine.cp2.sections.max(1);
    let planes = (problem.shape().len() == 3).then(|| problem.extents()[0]);
    let block = |rows: usize| Block {
        row: row.clone(),
        rows,
        planes,
    };
    let scheduled = row.scheduled(machine)?;
    let mut best: Option<(f64, Pages)> = None;
    for buffering in [Buffering::Double, Buffering::Single] {
        for apart in [false, true] {
            let (mut found, mut height) = (0, usize::MAX);
            for turns in 1..=all_rows {
                let rows = all_rows.div_ceil(sections * turns);
                let rows = rows.next_multiple_of(scheduled.together());
                if rows == height {
                    continue;
                }
                height = rows;
                // What local memory does not hold needs no loop, whose text may be as long as it has rows.
                let bytes = (rows as u64).saturating_mul(row.pitch()[0].unsigned_abs());
                if bytes > machine.cp2.dmem.0 {
                    continue;
                }
                let pages = Pages {
                    rows,
                    buffering,
                    apart,
                };
                let work = (scheduled.cycles(rows), scheduled.data());
                if let Some(cost) = expected(problem, machine, (&row, pages), work) {
                    if best.is_none_or(|(least, _)| cost < least) {
                        best = Some((cost, pages));
                    }
                    found += 1;
                }
                if found == HEIGHTS || rows == scheduled.together() {
                    break;
                }
            }
        }
        if best.is_some() {
            break;
        }
    }
    let Some((cost, pages)) = best else {
        return Ok(None);
    };
    Ok(Some(Chosen {
        block: [1, pages.rows as u64, row.width as u64],
        whole: row.whole,
        pages,
        kernel: block(pages.rows).kernel(&scheduled, machine)?,
        cost,
    }))
}

/// Cycles of a step with blocks of so many rows; none where they do not fit.
fn expected(
    problem: &StencilProblem,
    machine: &Machine,
    (row, pages): (&Row<'_>, Pages),
    (cycles, data): (u64, u64),
) -> Option<f64> {
    let rows = pages.rows;
    let points = problem.stencil().points().len() as u64;
    let [planes, all_rows, columns] = problem.extents().map(|n| n as u64);
    let columns = columns.next_multiple_of(4);
    let block = [1, rows as u64, row.width as u64];
    let shape = [planes, all_rows, columns];
    // Beside parts of rows other passes see to the edges.
    let edge = match row.whole {
        true => edge(problem.edge()),
        false => Edge::Zero,
    };
    let input = Field::new("u", 0, 4, shape, block).halo(halo(problem, row.whole), edge);
    let own = problem.is_per_element().then(|| {
        let shape = [planes, all_rows * points, columns];
        Field::new("c", 0, 4, shape, [1, rows as u64 * points, block[2]])
    });
    let sweep = Sweep {
        march: march(problem),
        size: BlocksPerSection::Fixed(1),
        buffering: pages.buffering,
        marches_apart: pages.apart,
        zeros: (0, machine.cp2.dmem.0 / 4),
        cycles: Some(PageCycles {
            block: cycles,
            page: PAGE,
        }),
        reserved: vec![Reserved {
            name: "constants".to_owned(),
            address: 0,
            bytes: data.max(16),
        }],
        ..Sweep::new(
            [Some(input), own].into_iter().flatten().collect(),
            vec![Field::new("v", 0, 4, shape, block)],
        )
    };
    let nest = Nest::new(sweep, machine).ok()?;
    let marches = nest.len() / nest.digits()[0].max(1);
    let between = match (problem.shape().len(), pages.apart) {
        // Nothing is computed while the first window of a march is loaded.
        (3, true) => window(row, rows, machine) * marches.saturating_sub(1) as f64,
        _ => 0.0,
    };
    Some(nest.expected() + between)
}

/// Cycles of the channel for a window of all sections.
fn window(row: &Row<'_>, rows: usize, machine: &Machine) -> f64 {
    let bytes = 3 * (rows as u64 + 2) * row.pitch()[0].unsigned_abs();
    let bandwidth = machine.dma.bandwidth;
    let bytes = bytes * machine.cp2.sections as u64 * bandwidth.den;
    bytes as f64 / bandwidth.num.max(1) as f64
}

/// The axis that pages march along.
pub(super) fn march(problem: &StencilProblem) -> Option<March> {
    (problem.shape().len() == 3).then_some(March::Planes)
}
