//! A pass of a job: its program, its pages and their transfers.

use super::messages::MessageItem;
use cp2_dma::{Descriptor, Direction};
use cp2_host::nest::{GridPlan, NestArguments, SharedNest};
use cp2_host::paging::{ListedPass, RingPass};
use cp2_host::{
    Device, Event, HostError, PageArguments, PageKernel, PageMessage, PlacedProgram, StreamPlan,
    TransferLimits, Views,
};
use std::sync::Arc;

/// A pass of a job over its arrays.
#[derive(Debug)]
pub struct Pass {
    pub(super) placed: PlacedProgram,
    pub(super) entry: u32,
    pub(super) name: String,
    pub(super) work: PassPaging,
    /// Transfers that fill words of the program's data when the pass begins, with the labels of the words.
    pub(super) fills: Vec<(String, Descriptor)>,
    /// Loads of the part of its program that the pass needs; none if the whole program is loaded.
    pub(super) part: Option<Vec<Descriptor>>,
    /// Views: places of rows that transfers name by addresses beyond system memory.
    pub(super) views: Views,
    /// Limits of the machine's DMA, by which transfers of views are split.
    pub(super) limits: TransferLimits,
    /// True if the pass computes nothing, but puts an array into another layout.
    pub(super) relayout: bool,
    /// Name in the report.
    pub(super) called: Option<Arc<str>>,
    /// Sends, and the pages behind whose stores they leave; for passes over a grid.
    pub(super) sends: Vec<(u64, MessageItem)>,
}

/// The way in which the pages of a pass are moved.
#[derive(Debug)]
pub(super) enum PassPaging {
    /// By the host's scheduler of streams.
    Paged(Box<StreamPlan>, PageArguments),
    /// Block by block through windows of a grid.
    Nest(Arc<SharedNest>, NestArguments),
    /// Around a ring of buffers; the descriptor loads its argument block.
    Ring(Box<RingPass>, Descriptor),
    /// Page by page as listed.
    Listed(Box<ListedPass>),
}

impl Pass {
    /// Returns the plan of the host's stream scheduler, if the pass is paged by it.
    #[must_use]
    pub fn plan(&self) -> Option<&StreamPlan> {
        match &self.work {
            PassPaging::Paged(plan, _) => Some(plan),
            PassPaging::Nest(..) | PassPaging::Ring(..) | PassPaging::Listed(..) => None,
        }
    }

    /// Returns the grid's plan, if the pass sweeps a grid.
    #[must_use]
    pub fn nest(&self) -> Option<&GridPlan> {
        match &self.work {
            PassPaging::Nest(nest, _) => Some(nest),
            _ => None,
        }
    }

    /// Returns the name in the report, if the pass has one.
    #[must_use]
    pub fn called(&self) -> Option<&str> {
        self.called.as_deref()
    }

    /// Returns the program.
    #[must_use]
    pub fn program(&self) -> &PlacedProgram {
        &self.placed
    }

    /// Returns the transfer that loads the argument block, if that happens while the pass before ends.
    fn informed(&self) -> Option<&Descriptor> {
        match &self.work {
            PassPaging::Ring(ring, arguments) if ring.args_early() => Some(arguments),
            _ => None,
        }
    }

    /// Returns the bytes of the program that are loaded before the pass, and those loaded while it runs for
    /// the pass behind it.
    pub(crate) fn program_bytes(&self) -> [u64; 2] {
        let all = self.placed.bytes;
        let Some(part) = &self.part else {
            return [all, 0];
        };
        let own = part.iter().map(|load| load.run).sum::<u64>();
        [own, all.saturating_sub(own)]
    }

    /// Returns true if the first pages are loaded while the pass before ends.
    pub(crate) fn is_begun(&self) -> bool {
        matches!(&self.work, PassPaging::Ring(ring, _) if ring.starts_early())
    }

    /// Returns how many pages of the pass behind are loaded before this pass's first page is done.
    pub(crate) fn next_at_once(&self) -> u64 {
        match &self.work {
            PassPaging::Paged(..) | PassPaging::Nest(..) | PassPaging::Listed(..) => 0,
            PassPaging::Ring(ring, _) => ring.count_immediate_loads(),
        }
    }

    /// Returns the number of pages.
    #[must_use]
    pub fn pages(&self) -> u64 {
        match &self.work {
            PassPaging::Paged(plan, _) => plan.pages().len(),
            PassPaging::Nest(nest, _) => nest.len(),
            PassPaging::Ring(ring, _) => ring.count(),
            PassPaging::Listed(listed) => listed.pages.len() as u64,
        }
    }

    /// Returns the number of page buffers in DMEM.
    #[must_use]
    pub fn buffers(&self) -> usize {
        match &self.work {
            PassPaging::Paged(plan, _) => plan.degree(),
            PassPaging::Nest(nest, _) => nest.degree(),
            PassPaging::Ring(ring, _) => ring.buffers(),
            PassPaging::Listed(listed) => listed.buffers,
        }
    }

    /// Returns the block slots of all sections, idle ones included, and the blocks there are.
    ///
    /// The two differ where pages have fewer blocks than sections or an uneven share.
    pub(crate) fn rounds(&self, sections: u64) -> Option<(u64, u64)> {
        let pages = self.plan()?.pages();
        let rounds = (0..pages.len()).filter_map(|p| pages.get(p));
        let rounds: u64 = rounds.map(|page| u64::from(page.per_section)).sum();
        Some((rounds.saturating_mul(sections), pages.blocks()))
    }

    /// Returns the transfers that load page `page`.
    #[must_use]
    pub fn loads(&self, page: u64) -> Vec<Descriptor> {
        match &self.work {
            PassPaging::Paged(plan, _) => transfers(plan.pages().get(page).map(|p| plan.loads(&p))),
            PassPaging::Nest(nest, _) => transfers(Some(nest.transfers(Direction::Load, page))),
            PassPaging::Ring(ring, _) => self.lying(ring.loads(page, self.limits.levels)),
            PassPaging::Listed(listed) => listed.loads(page),
        }
    }

    /// Returns the transfers that store page `page`.
    #[must_use]
    pub fn stores(&self, page: u64) -> Vec<Descriptor> {
        match &self.work {
            PassPaging::Paged(plan, _) => {
                transfers(plan.pages().get(page).map(|p| plan.stores(&p)))
            }
            PassPaging::Nest(nest, _) => transfers(Some(nest.transfers(Direction::Store, page))),
            PassPaging::Ring(ring, _) => self.lying(ring.stores(page, self.limits.levels)),
            PassPaging::Listed(listed) => listed.stores(page),
        }
    }

    /// Replaces transfers of views by transfers to where the rows lie.
    fn lying(&self, transfers: Vec<Descriptor>) -> Vec<Descriptor> {
        if self.views.is_empty() {
            return transfers;
        }
        let all = transfers.into_iter();
        all.flat_map(|d| self.views.expand(d, self.limits))
            .collect()
    }

    /// Returns true if the pass computes nothing, but puts an array into another layout.
    #[must_use]
    pub fn is_relayout(&self) -> bool {
        self.relayout
    }

    /// Gives the commands of the pass, which wait for `after`; its program is loaded.
    ///
    /// Returns the events that the `next` pass waits for.
    pub(super) fn submit(
        &self,
        device: &mut Device,
        after: &[Event],
        next: Option<&Self>,
        messages: &[PageMessage],
    ) -> Result<Vec<Event>, HostError> {
        let mut filled = after.to_vec();
        for (name, fill) in &self.fills {
            filled.push(device.dma(name, fill.clone(), after)?);
        }
        let after = &filled;
        let kernel = PageKernel {
            name: self.name.clone(),
            entry: self.entry,
        };
        Ok(match &self.work {
            PassPaging::Paged(plan, arguments) => {
                let pages = device.pages(plan, &kernel, arguments, after)?;
                pages.events().to_vec()
            }
            PassPaging::Nest(nest, arguments) => {
                let pages = device.sweeps(nest, &kernel, arguments, after, messages)?;
                pages.events().to_vec()
            }
            PassPaging::Ring(ring, arguments) => {
                let mut after = after.to_vec();
                if !ring.args_early() {
                    after.push(device.dma("arguments", arguments.clone(), &after)?);
                }
                let next = next.and_then(Self::informed);
                let ends = ring.submit(device, &kernel, &after, next, &self.views)?;
                ends.to_vec()
            }
            PassPaging::Listed(listed) => listed.submit(device, &kernel, after)?.to_vec(),
        })
    }
}

fn transfers(numbered: Option<Vec<(usize, Descriptor)>>) -> Vec<Descriptor> {
    let numbered = numbered.unwrap_or_default();
    numbered.into_iter().map(|(_, d)| d).collect()
}
