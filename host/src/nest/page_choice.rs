//! Choice of the pages that a sweep is cut into.

use super::NestError;
use super::field::AXES;
use super::grid_pass::{GridPass, PageCycles};
use super::grid_plan::{BlockTransfer, GridPlan, PageSize};
use crate::schedule::{BlocksPerSection, Buffering};
use cp2_dma::transfer_time;
use cp2_machine::{Bytes, Machine};
use std::collections::VecDeque;

/// Cycles per page in which the DMA idles between the end of a page and the loads that wait for it, with one,
/// two and three buffers. Rounded by hand; they rank numbers of buffers and sizes of pages.
const IDLE_CYCLES_PER_PAGE: [f64; 3] = [200.0, 60.0, 10.0];

/// Returns the cheapest nest of the sizes that fit.
pub(super) fn choose(sweep: &GridPass, machine: &Machine) -> Result<GridPlan, NestError> {
    let (min, max) = match sweep.size {
        BlocksPerSection::Fixed(n) => (n, n),
        BlocksPerSection::Range { min, max } => (min, max),
    };
    let (min, max) = (u64::from(min.max(1)), u64::from(max.max(1)));
    let (grid, sections) = (sweep.grid(), machine.cp2.sections.max(1) as u64);
    let chooses = matches!(sweep.size, BlocksPerSection::Range { .. });
    let (mut best, mut refused): (Option<(f64, GridPlan)>, Option<NestError>) = (None, None);
    let mut take = |size: PageSize| -> Result<bool, NestError> {
        let nest = match GridPlan::cut_pages(sweep, machine, size) {
            Ok(Some(nest)) => nest,
            Ok(None) => return Ok(false),
            // If the sweep is dealt along another axis, its windows may end where the array does.
            Err(e @ NestError::Unaligned { .. }) => {
                refused = Some(e);
                return Ok(false);
            }
            Err(e) => return Err(e),
        };
        // A kernel that may be slower than the DMA waits longer for the ends, so they count twice.
        let cost = nest.expected
            + match sweep.cycles {
                Some(_) => 0.0,
                None => ends(&nest, machine),
            };
        if best.as_ref().is_none_or(|(least, _)| cost < *least) {
            best = Some((cost, nest));
        }
        Ok(true)
    };
    // All sections are at the same position of a march. An axis of one block cannot be dealt, unless there is
    // no other.
    let free = |axis: &usize| sweep.march.is_none_or(|march| march.axis() != *axis);
    let single = (0..AXES).filter(free).all(|axis| grid[axis] == 1);
    let axes = (0..AXES)
        .filter(free)
        .filter(|&axis| single || grid[axis] > 1);
    // Shares are rows.
    let axes = axes.filter(|&axis| !sweep.shares || axis == 1);
    for deal in axes {
        let most = grid[deal].div_ceil(sections).clamp(min, max.max(min));
        for &degree in sweep.buffering.degrees() {
            let mut blocks = min;
            loop {
                if !take(PageSize {
                    deal,
                    blocks,
                    first: blocks,
                    degree,
                })? {
                    break;
                }
                let mut first = blocks / 2;
                while chooses && first > 0 && first >= min {
                    take(PageSize {
                        deal,
                        blocks,
                        first,
                        degree,
                    })?;
                    first /= 2;
                }
                if blocks >= most {
                    break;
                }
                blocks = (blocks + (blocks / 8).max(1)).min(most);
            }
        }
    }
    if let (None, Some(e)) = (&best, refused) {
        return Err(e);
    }
    let best = best.map(|(_, nest)| GridPlan {
        short: short(&nest, machine, min),
        ..nest
    });
    best.ok_or_else(|| {
        let streams = sweep.inputs.iter().chain(&sweep.outputs);
        let streams = streams.filter(|field| field.within.is_none());
        let windows = streams.map(|field| field.window().saturating_mul(min));
        let tables = sweep.tables.iter().map(|table| table.bytes);
        let scratch = sweep
            .scratch
            .saturating_add(sweep.scratch_per_block.saturating_mul(min));
        let own = windows
            .chain(tables)
            .chain([scratch])
            .fold(0, u64::saturating_add);
        let reserved = sweep.reserved.iter().map(|r| r.bytes).sum();
        NestError::DoesNotFit {
            needed: own.saturating_add(reserved),
            dmem: machine.cp2.dmem.0,
            reserved,
        }
    })
}

/// Returns the bytes that are missing for two pages of so many blocks, if the nest takes its pages one at a
/// time though nobody asked for it.
fn short(nest: &GridPlan, machine: &Machine, blocks: u64) -> Option<u64> {
    if nest.degree() > 1 || nest.len() < 2 || nest.sweep.buffering != Buffering::Auto {
        return None;
    }
    let two = PageSize {
        deal: nest.cuts.deal,
        blocks,
        first: blocks,
        degree: 2,
    };
    // The two pages are laid out in a larger DMEM.
    let mut roomy = machine.clone();
    roomy.cp2.dmem = Bytes(AMPLE_DMEM_BYTES.max(4 * machine.cp2.dmem.0));
    let two = GridPlan::cut_pages(&nest.sweep, &roomy, two).ok()??;
    two.map
        .used()
        .checked_sub(machine.cp2.dmem.0)
        .filter(|&bytes| bytes > 0)
}

/// Bytes of local memory in which two pages always have room if each fits a real one (256 MiB).
const AMPLE_DMEM_BYTES: u64 = 1 << 28;

/// Returns the cycles of the transfers of a kind's page.
fn count_transfer_cycles(moves: &[BlockTransfer], machine: &Machine) -> f64 {
    let tick = machine.time_base();
    let setup = tick.cycles(machine.dma.setup_queued).0;
    let body = |one: &BlockTransfer| transfer_time(&one.descriptor, machine).body.0 + setup;
    let ticks: u64 = moves.iter().map(body).sum();
    ticks as f64 / tick.ticks_per_cycle.max(1) as f64
}

/// Returns the cycles of the first load, and of the last page's kernel and store, which overlap nothing else.
fn ends(nest: &GridPlan, machine: &Machine) -> f64 {
    let first = nest.kinds().first();
    let first = first.map_or(0.0, |kind| count_transfer_cycles(&kind.loads, machine));
    let last = nest.kinds().last().map_or(0.0, |kind| {
        count_transfer_cycles(&kind.loads, machine)
            + 2.0 * count_transfer_cycles(&kind.stores, machine)
    });
    first + last
}

/// Returns the expected cycles of a nest with its kernel, or, if that is not known, with one as fast as the
/// DMA.
pub(super) fn expected(nest: &GridPlan, machine: &Machine) -> f64 {
    if let Some(cycles) = nest.sweep().cycles {
        return follow_pages(nest, cycles, machine);
    }
    let build = machine.host.descriptor.0 as f64;
    let (mut channel, mut descriptors) = (0.0, 0.0);
    for kind in nest.kinds() {
        let pages = kind.pages() as f64;
        channel += pages
            * (count_transfer_cycles(&kind.loads, machine)
                + count_transfer_cycles(&kind.stores, machine));
        descriptors += pages * (kind.loads.len() + kind.stores.len() + 1) as f64;
    }
    let gap = IDLE_CYCLES_PER_PAGE[nest.degree().clamp(1, 3) - 1];
    let steady = channel.max(descriptors * build) + nest.len() as f64 * gap;
    match nest.degree() {
        1 => steady + channel,
        _ => steady + ends(nest, machine),
    }
}

/// Number of pages of each kind that are followed; others go on at the pace of the last ones.
const FOLLOWED_PAGES: u64 = 8;

/// Cost of a page in cycles.
#[derive(Clone, Copy)]
struct PageCost {
    load: f64,
    kernel: f64,
    store: f64,
    /// Number of equal pages behind it that are not followed.
    more: f64,
}

/// Returns the cycles with a kernel of known cost, its pages followed one by one, kind by kind.
fn follow_pages(nest: &GridPlan, cycles: PageCycles, machine: &Machine) -> f64 {
    let host = &machine.host;
    let [build, see] = [host.descriptor.0, host.completion.0].map(|cycles| cycles as f64);
    let given = |moves: &[BlockTransfer]| {
        count_transfer_cycles(moves, machine).max(moves.len() as f64 * build)
    };
    let mut pages = Vec::new();
    for kind in nest.kinds() {
        let own = kind.pages().min(FOLLOWED_PAGES);
        for k in 0..own {
            let more = if k + 1 == own { kind.pages() - own } else { 0 };
            pages.push(PageCost {
                load: given(&kind.loads),
                kernel: (cycles.block * u64::from(kind.blocks) + cycles.page) as f64,
                store: given(&kind.stores),
                more: more as f64,
            });
        }
    }
    let degree = nest.degree().max(1);
    let (mut channel, mut kernel) = (0.0f64, 0.0f64);
    let mut loaded = VecDeque::with_capacity(degree);
    for page in pages.iter().take(degree) {
        channel += page.load;
        loaded.push_back(channel);
    }
    let mut ends: [f64; 2] = [0.0; 2];
    for (k, page) in pages.iter().enumerate() {
        kernel = loaded.pop_front().unwrap_or(channel).max(kernel) + page.kernel;
        // A load into the page's place waits for the store of the page, which waits for the page's end.
        channel = channel.max(kernel + see + build) + page.store;
        if let Some(next) = pages.get(k + degree) {
            channel += next.load;
            loaded.push_back(channel);
        }
        // The pace is measured over two pages, because each of two buffers has its own.
        let skipped = page.more * (kernel - ends[0]).max(0.0) / 2.0;
        ends = [ends[1], kernel];
        if skipped > 0.0 {
            channel += skipped;
            kernel += skipped;
            loaded.iter_mut().for_each(|loaded| *loaded += skipped);
            ends = [ends[0] + skipped, kernel];
        }
    }
    channel + see
}
