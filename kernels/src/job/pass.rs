//! A pass of a job.

use cp2_dma::{Descriptor, Direction};
use cp2_host::nest::{GridPlan, NestArguments};
use cp2_host::paging::{ListedPass, RingPass};
use cp2_host::{
    Device, Event, HostError, PageArguments, PageKernel, PlacedProgram, StreamPlan, TransferLimits,
    Views,
};
use std::sync::Arc;

/// A pass of a job over its arrays.
#[derive(Debug)]
pub struct Pass {
    pub(super) placed: PlacedProgram,
    pub(super) entry: u32,
    pub(super) name: String,
    pub(super) work: PassPaging,
    /// What fills words of its program's data when it begins: names and transfers.
    pub(super) fills: Vec<(String, Descriptor)>,
    /// What of its program is loaded before it if that is not there, if not all.
    pub(super) part: Option<Vec<Descriptor>>,
    /// Where rows lie that it names by addresses beyond system memory, for a machine of such limits.
    pub(super) views: Views,
    pub(super) limits: TransferLimits,
    /// Whether it computes nothing, but puts an array into another layout.
    pub(super) relayout: bool,
    /// What the report calls it.
    pub(super) called: Option<Arc<str>>,
}

/// How the pages of a pass are moved.
#[derive(Debug)]
pub(super) enum PassPaging {
    /// By the host's scheduler.
    Paged(Box<StreamPlan>, PageArguments),
    /// Block by block through windows.
    Nest(Box<GridPlan>, NestArguments),
    /// Around a ring of buffers; the descriptor loads its argument block.
    Ring(Box<RingPass>, Descriptor),
    /// Page by page as a list has them.
    Listed(Box<ListedPass>),
}

impl Pass {
    /// How the host's scheduler pages it, if it does.
    #[must_use]
    pub fn plan(&self) -> Option<&StreamPlan> {
        match &self.work {
            PassPaging::Paged(plan, _) => Some(plan),
            PassPaging::Nest(..) | PassPaging::Ring(..) | PassPaging::Listed(..) => None,
        }
    }

    /// Its pages as data, if they are.
    #[must_use]
    pub fn nest(&self) -> Option<&GridPlan> {
        match &self.work {
            PassPaging::Nest(nest, _) => Some(nest),
            _ => None,
        }
    }

    /// What the report calls it, if it has a name there.
    #[must_use]
    pub fn called(&self) -> Option<&str> {
        self.called.as_deref()
    }

    /// The program.
    #[must_use]
    pub fn program(&self) -> &PlacedProgram {
        &self.placed
    }

    /// What loads its argument block while the pass before it ends, if that is so.
    fn informed(&self) -> Option<&Descriptor> {
        match &self.work {
            PassPaging::Ring(ring, arguments) if ring.args_early() => Some(arguments),
            _ => None,
        }
    }

    /// Bytes of its program that are loaded before it if that is not there, and while it runs, for the pass behind it.
    pub(crate) fn program_bytes(&self) -> [u64; 2] {
        let all = self.placed.bytes;
        let Some(part) = &self.part else {
            return [all, 0];
        };
        let own = part.iter().map(|load| load.run).sum::<u64>();
        [own, all.saturating_sub(own)]
    }

    /// Whether its first pages are loaded while the pass before it ends.
    pub(crate) fn is_begun(&self) -> bool {
        matches!(&self.work, PassPaging::Ring(ring, _) if ring.starts_early())
    }

    /// How many pages of the pass behind it are loaded before its own first one is done.
    pub(crate) fn next_at_once(&self) -> u64 {
        match &self.work {
            PassPaging::Paged(..) | PassPaging::Nest(..) | PassPaging::Listed(..) => 0,
            PassPaging::Ring(ring, _) => ring.count_immediate_loads(),
        }
    }

    /// Number of pages.
    #[must_use]
    pub fn pages(&self) -> u64 {
        match &self.work {
            PassPaging::Paged(plan, _) => plan.pages().len(),
            PassPaging::Nest(nest, _) => nest.len(),
            PassPaging::Ring(ring, _) => ring.count(),
            PassPaging::Listed(listed) => listed.pages.len() as u64,
        }
    }

    /// Pages in DMEM at a time.
    #[must_use]
    pub fn buffers(&self) -> usize {
        match &self.work {
            PassPaging::Paged(plan, _) => plan.degree(),
            PassPaging::Nest(nest, _) => nest.degree(),
            PassPaging::Ring(ring, _) => ring.buffers(),
            PassPaging::Listed(listed) => listed.buffers,
        }
    }

    /// Blocks that `sections` sections compute, and blocks there are: the same, but for pages
    /// with fewer blocks than sections or an uneven share.
    pub(crate) fn rounds(&self, sections: u64) -> Option<(u64, u64)> {
        let pages = self.plan()?.pages();
        let rounds = (0..pages.len()).filter_map(|p| pages.get(p));
        let rounds: u64 = rounds.map(|page| u64::from(page.per_section)).sum();
        Some((rounds.saturating_mul(sections), pages.blocks()))
    }

    /// The transfers that load page `page`.
    #[must_use]
    pub fn loads(&self, page: u64) -> Vec<Descriptor> {
        match &self.work {
            PassPaging::Paged(plan, _) => transfers(plan.pages().get(page).map(|p| plan.loads(&p))),
            PassPaging::Nest(nest, _) => transfers(Some(nest.transfers(Direction::Load, page))),
            PassPaging::Ring(ring, _) => self.lying(ring.loads(page, self.limits.levels)),
            PassPaging::Listed(listed) => listed.loads(page),
        }
    }

    /// The transfers that store page `page`.
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

    /// The same transfers where the rows of views lie.
    fn lying(&self, transfers: Vec<Descriptor>) -> Vec<Descriptor> {
        if self.views.is_empty() {
            return transfers;
        }
        let all = transfers.into_iter();
        all.flat_map(|d| self.views.expand(d, self.limits))
            .collect()
    }

    /// Whether it computes nothing, but puts an array into another layout.
    #[must_use]
    pub fn is_relayout(&self) -> bool {
        self.relayout
    }

    /// Gives its commands, which wait for `after`; the program is loaded.
    /// Returns what the `next` pass waits for.
    pub(super) fn submit(
        &self,
        device: &mut Device,
        after: &[Event],
        next: Option<&Self>,
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
                let pages = device.sweeps(nest, &kernel, arguments, after)?;
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
