//! A stream plan as a source of pages for the engine.

use super::{ArgBlock, PlanTransfers, Stream, StreamPlan};
use crate::device::{Buffer, Device, Event, HostError, PlacedProgram};
use crate::paging::{CommandSink, Launch, PAGE_EVENT, PageKernel, PageSource, Paged, aligned};
use cp2_dma::{Descriptor, Direction, Target};
use std::sync::Arc;

/// The argument blocks of a plan in system memory, ready to be loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageArguments {
    /// Argument blocks of the first pages, one for each buffer.
    first: Buffer<u32>,
    /// All argument blocks, by buffer and number of blocks.
    all: Vec<(usize, u32, Buffer<u32>)>,
    /// Writes of the control CPU, if time had begun.
    written: Vec<Event>,
}

/// Pages of a plan, and the transfers of each.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct PlanWork<'a> {
    plan: &'a StreamPlan,
    images: &'a PageArguments,
    made: PlanTransfers<'a>,
    names: [Vec<Arc<str>>; 2],
    arguments: Arc<str>,
    page: Arc<str>,
}

impl<'a> PlanWork<'a> {
    pub(crate) fn new(plan: &'a StreamPlan, images: &'a PageArguments) -> Self {
        let all = |streams: &[Stream]| streams.iter().map(|s| s.name.as_str().into()).collect();
        Self {
            plan,
            images,
            made: PlanTransfers::new(plan),
            names: [all(&plan.job().inputs), all(&plan.job().outputs)],
            arguments: "arguments".into(),
            page: "page".into(),
        }
    }

    /// Returns the load of arguments that comes with page `k`.
    fn arguments(&self, k: u64) -> Option<Descriptor> {
        if !self.plan.changes_args(k) {
            return None;
        }
        let block = self.plan.args_of(&self.plan.pages().get(k)?);
        Some(load(
            block.start(),
            self.images.find_argument_buffer(&block)?,
        ))
    }
}

impl PageSource for PlanWork<'_> {
    fn pages(&self) -> u64 {
        self.plan.pages().len()
    }

    fn period(&self) -> Option<u64> {
        Some(self.plan.degree() as u64)
    }

    fn next(&self, page: Option<u64>) -> Vec<u64> {
        list_pages_loaded_behind(page, self.plan.degree(), self.pages())
    }

    fn launch(&self) -> Option<Launch> {
        let block = self.plan.first_args()?;
        Some(Launch {
            arguments: Some(load(block.start(), self.images.first)),
            address: block.address,
            protection: Some(Arc::new(self.plan.protection())),
            loads_first: false,
        })
    }

    fn load(&mut self, page: u64, to: &mut CommandSink<'_>) {
        if let Some(load) = self.arguments(page) {
            to.dma(&self.arguments, Some(page), load);
        }
        for (stream, transfer) in self.made.list_page_transfers(Direction::Load, page) {
            to.dma(&self.names[0][*stream], Some(page), transfer.clone());
        }
        to.announce(&self.page, page, PAGE_EVENT);
    }

    fn store(&mut self, page: u64, to: &mut CommandSink<'_>) {
        for (stream, transfer) in self.made.list_page_transfers(Direction::Store, page) {
            to.dma(&self.names[1][*stream], Some(page), transfer.clone());
        }
    }

    fn signal(&self) -> u32 {
        PAGE_EVENT
    }
}

/// Returns the pages that are loaded behind the stores of `page`, or before the first is stored, if page `k`
/// takes the place of page `k - degree`.
pub(super) fn list_pages_loaded_behind(page: Option<u64>, degree: usize, pages: u64) -> Vec<u64> {
    let degree = degree.max(1) as u64;
    match page {
        None => (0..degree.min(pages)).collect(),
        Some(page) => Some(page.saturating_add(degree))
            .filter(|page| *page < pages)
            .into_iter()
            .collect(),
    }
}

/// Returns the transfer that brings argument blocks to all sections.
fn load(local: u32, image: Buffer<u32>) -> Descriptor {
    Descriptor::load(Target::Broadcast, image.address(), local, image.bytes())
}

impl PageArguments {
    fn find_argument_buffer(&self, block: &ArgBlock) -> Option<Buffer<u32>> {
        let key = (block.buffer, block.per_section);
        let found = self.all.iter().find(|(b, n, _)| (*b, *n) == key);
        found.map(|(_, _, image)| *image)
    }
}

impl Device {
    /// Pages an array through a kernel: loads the program `placed`, writes the
    /// argument blocks, gives the commands of `plan`.
    ///
    /// # Errors
    /// System memory is used up, or a command can never be carried out.
    pub fn page(
        &mut self,
        plan: &StreamPlan,
        placed: &PlacedProgram,
        entry: u32,
        after: &[Event],
    ) -> Result<Paged, HostError> {
        let arguments = self.page_arguments(plan)?;
        let loaded = self.load(placed, after)?;
        let kernel = PageKernel {
            name: placed.name.clone(),
            entry,
        };
        self.pages(plan, &kernel, &arguments, &[loaded])
    }

    /// Gives the commands of `plan` for a kernel that is loaded and arguments
    /// that are written, or will be when `after` is complete.
    ///
    /// # Errors
    /// A command can never be carried out.
    pub fn pages(
        &mut self,
        plan: &StreamPlan,
        kernel: &PageKernel,
        arguments: &PageArguments,
        after: &[Event],
    ) -> Result<Paged, HostError> {
        if let Some(short) = plan.bytes_short() {
            self.single_buffered(&kernel.name, short);
        }
        let after: Vec<Event> = after.iter().chain(&arguments.written).copied().collect();
        self.paged(PlanWork::new(plan, arguments), kernel, &after)
    }

    /// Writes the argument blocks of `plan` to system memory. Before time
    /// begins they are part of the memory image, like a program; after that
    /// the control CPU writes them at its own rate.
    ///
    /// # Errors
    /// System memory is used up.
    pub fn page_arguments(&mut self, plan: &StreamPlan) -> Result<PageArguments, HostError> {
        // Argument blocks are as far apart as in DMEM.
        let apart = usize::try_from(aligned(self.machine()) / 4).unwrap_or(1);
        let padded = |words: &mut Vec<u32>| words.resize(words.len().next_multiple_of(apart), 0);
        let mut written = Vec::new();
        let mut image = |device: &mut Self, words: &[u32]| {
            let buffer = device.alloc(words.len() as u64)?;
            if device.has_started() {
                written.push(device.host_write("arguments", buffer, words, &[])?);
            } else {
                device.write(buffer, words)?;
            }
            Ok::<_, HostError>(buffer)
        };
        let mut first = Vec::new();
        let mut all = Vec::new();
        let pages = plan.pages();
        for page in (0..plan.degree() as u64).filter_map(|k| pages.get(k)) {
            first.extend(plan.args_of(&page).image());
            padded(&mut first);
        }
        let first = image(self, &first)?;
        // If all pages have equal counts, the first argument blocks serve all pages.
        for block in plan
            .args()
            .into_iter()
            .filter(|_| pages.list_block_counts().len() > 1)
        {
            let mut words: Vec<u32> = block.image().collect();
            padded(&mut words);
            all.push((block.buffer, block.per_section, image(self, &words)?));
        }
        Ok(PageArguments {
            first,
            all,
            written,
        })
    }
}
