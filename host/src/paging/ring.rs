//! A pass of a persistent kernel over a ring of page buffers.
//!
//! Page `k` is loaded into buffer `k` modulo `n`, and its result goes to the buffer of page `k - 1`, which
//! the kernel no longer needs. When the result has been stored, page `k + n - 1` is loaded there. So `n`
//! buffers keep `n - 1` pages under way: one computes while one is stored and the next is loaded. A kernel
//! that works in place leaves the result in its own buffer, where page `k + n` is loaded next: all `n` are
//! under way.

use crate::{Device, Event, HostError, PageKernel, TransferLimits, Views};
use cp2_dma::{Descriptor, Target};
use cp2_emu::Protection;
use cp2_machine::Machine;
use std::sync::Arc;

mod early_load;
mod overlap_bound;
mod page_source;
mod pages;
mod price;
mod protection;
mod section_blocks;

use crate::paging::KernelEntryPoint;
pub(crate) use early_load::EarlyLoad;
pub use early_load::{overlap_pair, overlap_passes};
use page_source::RingWork;

pub use overlap_bound::OverlapBound;
pub use pages::RingPages;
pub use price::{PassEstimate, expect_all};
pub use section_blocks::{QUAD, SectionBlocks, aligned, deals_quads};

/// Event that the kernel signals when a page is done.
const DONE: u32 = 1;

/// DMEM addresses of the buffers of a pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ring {
    /// Address of the argument block.
    pub arguments: u32,
    /// Addresses of the page buffers.
    pub pages: Vec<u32>,
    /// Address of a buffer of factors for each page buffer.
    pub factors: Vec<u32>,
    /// Another address for each page buffer, whose meaning only the kernel knows.
    pub beside: Vec<u32>,
    /// Number of buffers that a page's result lies before its own buffer: 0, 1, or the number of pieces of a
    /// page.
    pub behind: usize,
    /// Number of pages that are loaded before the first is stored.
    pub ahead: usize,
}

/// A pass: buffers and the pages that go through them.
#[derive(Debug)]
pub struct RingPass {
    ring: Ring,
    work: Box<dyn RingPages>,
    /// Kernel by which the pass is priced.
    kernel: Option<KernelEntryPoint>,
    /// Loads of the next pass that are given while this one ends.
    ahead: Vec<EarlyLoad>,
    /// True if the first pages are loaded while the pass before ends.
    begun: bool,
    /// True if the argument block is loaded while the pass before ends.
    informed: bool,
    /// True if loads of the next pass need not wait for the first store of this one.
    at_once: bool,
    /// Areas of DMEM that belong to the kernel, where they are known.
    protection: Option<Arc<Protection>>,
}

impl Ring {
    /// Creates a ring of `buffers` buffers from `first` on; the argument block lies at `arguments`.
    pub fn new(arguments: u64, first: u64, buffers: usize, page: u64, factors: u64) -> Self {
        // The addresses lie inside DMEM and are u32: the plan has checked the end.
        let at = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        let n = buffers as u64;
        Self {
            arguments: at(arguments),
            pages: (0..n).map(|i| at(first + i * page)).collect(),
            factors: (0..n).map(|i| at(first + n * page + i * factors)).collect(),
            beside: vec![0; buffers],
            behind: 1,
            ahead: buffers - 1,
        }
    }

    /// Creates a ring for a kernel in place, without factors.
    pub fn new_in_place(arguments: u64, first: u64, buffers: usize, page: u64) -> Self {
        Self::new(arguments, first, buffers, page, 0).store_in_place()
    }

    /// Changes the ring to that of a kernel in place.
    pub fn store_in_place(self) -> Self {
        Self {
            behind: 0,
            ahead: self.pages.len(),
            ..self
        }
    }

    /// Sets the extra address of every page buffer.
    pub fn with_extra_address(mut self, address: u64) -> Self {
        self.beside.fill(u32::try_from(address).unwrap_or(u32::MAX));
        self
    }

    /// Creates a ring of `buffers` buffers without factors, for pages that are loaded and stored in `pieces`;
    /// every piece is a page of the pass.
    pub fn new_in_pieces(
        (arguments, first): (u64, u64),
        (buffers, pieces): (usize, usize),
        page: u64,
    ) -> Self {
        let piece = page / pieces as u64;
        Self {
            behind: pieces,
            ahead: (buffers - 1) * pieces,
            ..Self::new(arguments, first, buffers * pieces, piece, 0)
        }
    }

    /// Moves all addresses up by `by` bytes.
    pub fn shift_addresses(mut self, by: u64) -> Self {
        let by = u32::try_from(by).unwrap_or(u32::MAX);
        let all = [&mut self.pages, &mut self.factors, &mut self.beside];
        for place in all.into_iter().flatten().chain([&mut self.arguments]) {
            *place = place.saturating_add(by);
        }
        self
    }

    /// Returns the end of the ring's memory, with `bytes` for each page, its factors, and its extra address.
    pub fn end(&self, bytes: [u64; 3]) -> u64 {
        let arguments = u64::from(self.arguments) + Self::argument_bytes(self.pages.len());
        let places = [&self.pages, &self.factors, &self.beside];
        let used = places
            .into_iter()
            .zip(bytes)
            .filter(|(_, bytes)| *bytes > 0);
        let ends = used
            .flat_map(|(places, bytes)| places.iter().map(move |&place| u64::from(place) + bytes));
        ends.chain([arguments]).max().unwrap_or(arguments)
    }

    /// Returns the bytes of the argument block for `buffers` buffers.
    pub fn argument_bytes(buffers: usize) -> u64 {
        16 + 16 * buffers as u64
    }

    /// Returns the address of a page's result.
    fn result(&self, page: u64) -> u32 {
        let n = self.pages.len() as u64;
        self.pages[((page + n - self.behind as u64) % n) as usize]
    }

    /// Returns the words of the argument block for a job of `pages` pages; `counts` are the numbers of pages
    /// of two kinds.
    pub fn arguments(&self, pages: u64, counts: [u64; 2]) -> Vec<u32> {
        let n = self.pages.len();
        let [pages, first, second] =
            [pages, counts[0], counts[1]].map(|count| u32::try_from(count).unwrap_or(u32::MAX));
        let mut words = vec![pages, 16 * n as u32, first, second];
        let places = self.pages.iter().zip(&self.factors).zip(&self.beside);
        for (k, ((&page, &factors), &beside)) in places.enumerate() {
            words.extend([page, self.result(k as u64), factors, beside]);
        }
        words
    }
}

impl RingPass {
    /// Creates a pass of `work` through the buffers of `ring`.
    pub fn new(ring: Ring, work: impl RingPages + 'static) -> Self {
        Self {
            ring,
            work: Box::new(work),
            kernel: None,
            ahead: Vec::new(),
            begun: false,
            informed: false,
            at_once: false,
            protection: None,
        }
    }

    /// Returns the number of pages.
    pub fn count(&self) -> u64 {
        self.work.count()
    }

    /// Returns the transfers of the first pages, of every kind, and of the argument block.
    pub fn first_transfers(&self, machine: &Machine) -> Vec<Descriptor> {
        let (pages, levels) = (0..self.work.period().min(self.count()), machine.dma.levels);
        let moved = pages.flat_map(|page| [self.loads(page, levels), self.stores(page, levels)]);
        let arguments = self.argument_load(0, self.padded(machine).len() as u64 * 4);
        moved.flatten().chain([arguments]).collect()
    }

    /// Returns the words of the argument block, padded to whole granules of the DMA.
    fn padded(&self, machine: &Machine) -> Vec<u32> {
        let mut words = self.ring.arguments(self.count(), self.work.pages_of_kind());
        let granule = (machine.dma.granule.0 / 4).max(1) as usize;
        words.resize(words.len().next_multiple_of(granule), 0);
        words
    }

    fn argument_load(&self, system: u64, bytes: u64) -> Descriptor {
        Descriptor::load(Target::Broadcast, system, self.ring.arguments, bytes)
    }

    /// Returns the end of the pass's local memory, if the contents of pages are known.
    pub fn end(&self) -> Option<u64> {
        let held = self.work.dmem_bytes(0)?;
        Some(self.ring.end(held).next_multiple_of(QUAD))
    }

    /// Returns the number of page buffers.
    pub fn buffers(&self) -> usize {
        self.ring.ahead + self.ring.behind
    }

    /// Returns the transfers that load a page, with at most `levels` levels each.
    pub fn loads(&self, page: u64, levels: usize) -> Vec<Descriptor> {
        let (own, next) = self.shares(page, levels);
        own.into_iter().chain(next).collect()
    }

    /// Returns the loads of a page in two parts: those that it waits for and that did not come with the page
    /// before, and the early ones of the next page.
    fn shares(&self, page: u64, levels: usize) -> (Vec<Descriptor>, Vec<Descriptor>) {
        let at = |page: u64| {
            let slot = (page % self.ring.pages.len() as u64) as usize;
            (page, self.ring.pages[slot], self.ring.factors[slot])
        };
        let own =
            |(page, local, factors)| split_levels(self.work.loads(page, local, factors), levels);
        let early = |(page, local, factors)| {
            split_levels(self.work.list_early_loads(page, local, factors), levels)
        };
        let posted = |page: u64, mut loads: Vec<Descriptor>| {
            if let Some(last) = loads.last_mut() {
                last.event = Some(self.work.event(page));
            }
            loads
        };
        let mut first = if page == 0 { early(at(0)) } else { Vec::new() };
        first.extend(own(at(page)));
        let first = posted(page, first);
        if page + 1 >= self.count() {
            return (first, Vec::new());
        }
        let next = at(page + 1);
        let loads = early(next);
        // If there is nothing else to load, the next page waits for the last of these.
        let last = own(next).is_empty();
        (first, if last { posted(page + 1, loads) } else { loads })
    }

    /// Returns the transfers that store a page, with at most `levels` levels each.
    pub fn stores(&self, page: u64, levels: usize) -> Vec<Descriptor> {
        split_levels(self.work.stores(page, self.ring.result(page)), levels)
    }

    /// Writes the words of the argument block to system memory, and returns the transfer that loads it.
    pub fn place(&self, device: &mut Device) -> Result<Descriptor, HostError> {
        let words = self.padded(device.machine());
        let words = device.alloc_from(&words)?;
        Ok(self.argument_load(words.address(), words.bytes()))
    }

    /// Returns true if the first pages are loaded while the pass before ends.
    pub fn starts_early(&self) -> bool {
        self.begun
    }

    /// Returns true if the argument block is loaded while the pass before ends.
    pub fn args_early(&self) -> bool {
        self.informed
    }

    /// Gives the commands of the pass, which wait for `after`. If the next pass's argument block is loaded
    /// while this one ends, `following` loads it. Returns the events that the next pass waits for: that load,
    /// or else the last store, and the end of the kernel.
    pub fn submit(
        &self,
        device: &mut Device,
        kernel: &PageKernel,
        after: &[Event],
        following: Option<&Descriptor>,
        views: &Views,
    ) -> Result<[Event; 2], HostError> {
        let views = (views, TransferLimits::from_machine(device.machine()));
        let work = RingWork::new(self, following, views);
        let (last, commands) = device.work(work, kernel, after)?;
        let launched = commands.launched().unwrap_or(last);
        let beside = commands.last_early_load().or(commands.stored());
        Ok([beside.unwrap_or(launched), launched])
    }

    /// Returns the pages that are loaded when `page` is stored, or before the first is.
    fn next(&self, page: Option<u64>) -> impl Iterator<Item = u64> + use<> {
        let next = self.work.next(page, self.ring.ahead as u64);
        let count = self.count();
        next.into_iter().filter(move |&page| page < count)
    }
}

/// Splits transfers until each has at most `levels` levels.
fn split_levels(transfers: Vec<Descriptor>, levels: usize) -> Vec<Descriptor> {
    if transfers.iter().all(|d| d.levels.len() <= levels) {
        return transfers;
    }
    transfers.iter().flat_map(|d| d.within(levels)).collect()
}
