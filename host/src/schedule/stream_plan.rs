//! The plan of a paging job.

use super::argument_blocks::{ArgBlock, HEADER};
use super::check::check;
use super::dmem_frame::{DmemFrame, does_not_fit};
use super::dmem_map::DmemMap;
use super::error::PlanError;
use super::estimate::{StreamEstimate, estimate};
use super::job::{BlocksPerSection, Buffering, Paging};
use super::page::{Page, StreamPages};
use super::transfer::shares;
use crate::paging::aligned;
use crate::view::TransferLimits;
use cp2_dma::{Descriptor, Direction};
use cp2_machine::{Bytes, Machine};
use serde::{Deserialize, Serialize};

/// Execution of a paging job: a plain value, independent of any device.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StreamPlan {
    job: Paging,
    degree: usize,
    map: DmemMap,
    pages: StreamPages,
    /// Page addresses of the inputs in DMEM, `[stream][buffer]`.
    inputs: Vec<Vec<u32>>,
    /// Page addresses of the outputs in DMEM, `[stream][buffer]`.
    outputs: Vec<Vec<u32>>,
    scratch: u32,
    /// DMEM addresses of the argument blocks, by buffer.
    slots: Vec<u32>,
    limits: TransferLimits,
    estimate: StreamEstimate,
    /// Bytes of DMEM that are missing for two pages of the least size, if pages come one at a time for that
    /// reason.
    short: Option<u64>,
}

/// Bytes of local memory in which two pages always have room if each fits a real one (256 MiB).
const AMPLE_DMEM_BYTES: u64 = 1 << 28;

impl StreamPlan {
    /// Plans `job` on `machine`.
    ///
    /// # Errors
    /// The job breaks a rule, the first of which is reported, or does not fit.
    pub fn new(job: Paging, machine: &Machine) -> Result<Self, PlanError> {
        check(&job, machine)?;
        let (min, max) = match job.size {
            BlocksPerSection::Fixed(n) => (n, n),
            BlocksPerSection::Range { min, max } => (min, max),
        };
        let sections = u32::try_from(machine.cp2.sections).unwrap_or(u32::MAX);
        // No page is larger than the whole job or than DMEM.
        let pitch = job
            .inputs
            .iter()
            .chain(&job.outputs)
            .map(|s| s.pitch)
            .sum::<u64>()
            .max(1);
        let most = job
            .blocks
            .div_ceil(u64::from(sections))
            .min(machine.cp2.dmem.0 / pitch);
        let most = u32::try_from(most)
            .unwrap_or(u32::MAX)
            .clamp(min, max.max(min));
        let choose = matches!(job.size, BlocksPerSection::Range { .. });

        let mut best: Option<Self> = None;
        for &degree in job.buffering.degrees() {
            for size in sizes(min, most) {
                let Some(frame) = DmemFrame::new(&job, machine, degree, size) else {
                    break;
                };
                for edge in edges(size, choose) {
                    let pages = StreamPages::new(job.blocks, sections, size, edge);
                    let Some(plan) = Self::fit_frame(&frame, &job, machine, pages) else {
                        continue;
                    };
                    if best
                        .as_ref()
                        .is_none_or(|b| plan.estimate.cycles < b.estimate.cycles)
                    {
                        best = Some(plan);
                    }
                }
            }
        }
        let mut plan = best.ok_or_else(|| does_not_fit(&job, machine, min))?;
        plan.validate(machine)?;
        plan.short = plan.missing(machine, (sections, min));
        Ok(plan)
    }

    /// Returns the plan of pages in a frame, with arguments.
    fn fit_frame(
        frame: &DmemFrame,
        job: &Paging,
        machine: &Machine,
        pages: StreamPages,
    ) -> Option<Self> {
        let mut map = frame.map.clone();
        let granule = aligned(machine);
        let words =
            3 + job.inputs.len().max(1) + job.outputs.len().max(1) - 1 + job.args.words.len();
        let bytes = (u64::from(HEADER) + 4 * words as u64).next_multiple_of(granule);
        // Argument blocks are adjacent, so those of the first pages are one transfer.
        let used = (frame.degree as u64).min(pages.len());
        let first = map.place("arguments", bytes.checked_mul(used)?, granule)?;
        let slots = (0..used)
            .map(|b| u32::try_from(first + b * bytes + u64::from(HEADER)))
            .collect::<Result<Vec<_>, _>>()
            .ok()?;
        let mut plan = Self {
            job: job.clone(),
            degree: frame.degree,
            map,
            pages,
            inputs: frame.inputs.clone(),
            outputs: frame.outputs.clone(),
            scratch: frame.scratch,
            slots,
            limits: TransferLimits::from_machine(machine),
            estimate: StreamEstimate::default(),
            short: None,
        };
        plan.estimate = estimate(&plan, machine);
        Some(plan)
    }

    /// Returns the bytes that are missing for two pages of so many blocks, if pages come one at a time though
    /// nobody asked for it.
    fn missing(&self, machine: &Machine, (sections, blocks): (u32, u32)) -> Option<u64> {
        if self.degree > 1 || self.pages.len() < 2 || self.job.buffering != Buffering::Auto {
            return None;
        }
        // The frame of two pages is laid out in a larger DMEM.
        let mut roomy = machine.clone();
        roomy.cp2.dmem = Bytes(AMPLE_DMEM_BYTES.max(4 * machine.cp2.dmem.0));
        let frame = DmemFrame::new(&self.job, &roomy, 2, blocks)?;
        let pages = StreamPages::new(self.job.blocks, sections, blocks, blocks);
        let two = Self::fit_frame(&frame, &self.job, &roomy, pages)?;
        two.map
            .used()
            .checked_sub(machine.cp2.dmem.0)
            .filter(|&bytes| bytes > 0)
    }

    /// Returns the bytes of DMEM that are missing for two pages of the least size, if pages come one at a
    /// time for that reason.
    #[must_use]
    pub fn bytes_short(&self) -> Option<u64> {
        self.short
    }

    /// Checks the transfers of the pages that differ from their neighbours.
    fn validate(&self, machine: &Machine) -> Result<(), PlanError> {
        let n = self.pages.len();
        // The kernel counts pages in a 32-bit register.
        if n > u64::from(u32::MAX) {
            return Err(PlanError::TooLarge {
                what: "number of pages".into(),
                value: n,
                limit: u32::MAX.into(),
            });
        }
        for k in [Some(0), Some(1), n.checked_sub(2), n.checked_sub(1)]
            .into_iter()
            .flatten()
        {
            let Some(page) = self.pages.get(k) else {
                continue;
            };
            let loads = self
                .loads(&page)
                .into_iter()
                .map(|(i, d)| (&self.job.inputs[i], d));
            let stores = self
                .stores(&page)
                .into_iter()
                .map(|(i, d)| (&self.job.outputs[i], d));
            for (stream, descriptor) in loads.chain(stores) {
                cp2_dma::validate(&descriptor, machine).map_err(|error| PlanError::Transfer {
                    page: k,
                    stream: stream.name.clone(),
                    error: Box::new(error),
                })?;
            }
        }
        Ok(())
    }

    /// Returns the job.
    #[must_use]
    pub fn job(&self) -> &Paging {
        &self.job
    }

    /// Returns the number of pages in DMEM at a time: 1, 2 or 3.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// Returns the map of DMEM.
    #[must_use]
    pub fn map(&self) -> &DmemMap {
        &self.map
    }

    /// Returns the pages.
    #[must_use]
    pub fn pages(&self) -> &StreamPages {
        &self.pages
    }

    /// Returns every argument block that a page finds, each once.
    #[must_use]
    pub fn args(&self) -> Vec<ArgBlock> {
        let counts = self.pages.list_block_counts();
        let buffers = 0..self.slots.len();
        buffers
            .flat_map(|b| counts.iter().map(move |&n| (b, n)))
            .map(|(buffer, count)| self.block(buffer, count))
            .collect()
    }

    /// Returns the expected time.
    #[must_use]
    pub fn estimate(&self) -> &StreamEstimate {
        &self.estimate
    }

    /// Returns the argument block of `page`.
    #[must_use]
    pub fn args_of(&self, page: &Page) -> ArgBlock {
        self.block(self.buffer(page), page.per_section)
    }

    /// Returns the argument block of page 0; those of the next pages follow it.
    #[must_use]
    pub fn first_args(&self) -> Option<ArgBlock> {
        self.pages.get(0).map(|page| self.args_of(&page))
    }

    /// Returns true if the arguments of `page` must be loaded with it: those in its buffer are for another
    /// number of blocks. The first pages' arguments are loaded before the kernel is launched.
    #[must_use]
    pub fn loads_args(&self, page: &Page) -> bool {
        self.changes_args(page.index)
    }

    /// Returns [`StreamPlan::loads_args`] of page `k`.
    pub(crate) fn changes_args(&self, k: u64) -> bool {
        let blocks = |k| self.pages.extent(k).map(|(_, blocks)| blocks);
        let before = k.checked_sub(self.degree as u64).and_then(blocks);
        before.zip(blocks(k)).is_some_and(|(before, now)| {
            self.pages.per_section(before) != self.pages.per_section(now)
        })
    }

    /// Returns the argument block in buffer `buffer` for a page of `per_section` blocks.
    fn block(&self, buffer: usize, per_section: u32) -> ArgBlock {
        let at = |table: &[Vec<u32>], index: usize| table.get(index).map_or(0, |b| b[buffer]);
        let mut words = vec![
            at(&self.inputs, 0),
            at(&self.outputs, 0),
            per_section,
            self.scratch,
        ];
        words.extend((1..self.inputs.len()).map(|i| at(&self.inputs, i)));
        words.extend((1..self.outputs.len()).map(|i| at(&self.outputs, i)));
        words.extend(&self.job.args.words);
        let next = self.slots[(buffer + 1) % self.slots.len()];
        // A plan with more pages is refused.
        let pages = u32::try_from(self.pages.len()).unwrap_or(u32::MAX);
        ArgBlock {
            address: self.slots[buffer],
            buffer,
            per_section,
            header: [next, 0, pages, 0],
            words,
        }
    }

    /// Returns the address of scratch in DMEM, if there is any.
    pub(super) fn scratch(&self) -> Option<u32> {
        let any = self.job.scratch > 0 || self.job.scratch_per_block > 0;
        any.then_some(self.scratch)
    }

    /// Returns the page addresses of all inputs, then of all outputs, by buffer.
    pub(super) fn buffers(&self) -> impl Iterator<Item = &Vec<u32>> {
        self.inputs.iter().chain(&self.outputs)
    }

    /// Returns the page buffer of `page`.
    #[must_use]
    pub fn buffer(&self, page: &Page) -> usize {
        (page.index % self.degree as u64) as usize
    }

    /// Returns the transfers that load `page`, with the index of the stream of each.
    #[must_use]
    pub fn loads(&self, page: &Page) -> Vec<(usize, Descriptor)> {
        self.resolve_views(self.transfers(Direction::Load, page))
    }

    /// Returns the transfers that store `page`, with the index of the stream of each.
    #[must_use]
    pub fn stores(&self, page: &Page) -> Vec<(usize, Descriptor)> {
        self.resolve_views(self.transfers(Direction::Store, page))
    }

    /// Replaces transfers that name views by those with the real addresses of their rows.
    pub(super) fn resolve_views(
        &self,
        transfers: Vec<(usize, Descriptor)>,
    ) -> Vec<(usize, Descriptor)> {
        let views = &self.job.views;
        if views.is_empty() {
            return transfers;
        }
        let limits = self.limits;
        let expanded = transfers.into_iter();
        expanded
            .flat_map(|(stream, d)| {
                let all = views.expand(d, limits);
                all.into_iter().map(move |d| (stream, d))
            })
            .collect()
    }

    /// Returns the transfers of a page before views are replaced.
    pub(super) fn transfers(&self, direction: Direction, page: &Page) -> Vec<(usize, Descriptor)> {
        let (streams, addresses) = match direction {
            Direction::Load => (&self.job.inputs, &self.inputs),
            Direction::Store => (&self.job.outputs, &self.outputs),
        };
        let shares = shares(direction, page);
        let mut transfers = Vec::new();
        for (index, stream) in streams.iter().enumerate() {
            let local = addresses[index][self.buffer(page)];
            for share in &shares {
                for piece in &stream.pieces {
                    let make = |d| transfers.push((index, d));
                    share
                        .describe(direction, stream, piece, local, self.limits.levels)
                        .into_iter()
                        .for_each(make);
                }
            }
        }
        transfers
    }
}

/// Returns the page sizes worth trying, ascending: all small ones, then steps of about a tenth.
fn sizes(min: u32, max: u32) -> impl Iterator<Item = u32> {
    std::iter::successors(Some(min), move |&n| {
        (n < max).then(|| n.saturating_add((n / 10).max(1)).min(max))
    })
}

/// Returns the sizes worth trying for the first and the last page.
fn edges(size: u32, choose: bool) -> impl Iterator<Item = u32> {
    let smaller = std::iter::successors((choose && size > 1).then_some(size / 2), |&n| {
        (n > 1).then_some(n / 2)
    });
    std::iter::once(size).chain(smaller)
}
