//! A pass of a persistent kernel over a ring of page buffers.
//!
//! Page `k` is loaded into buffer `k` and its result goes to the buffer before
//! it, that of page `k - 1`, which the kernel no longer needs; when the result
//! has been stored, page `k + n - 1` is loaded there. So `n` buffers keep `n - 1`
//! pages under way: one computes while one is stored and the next loaded.
//! A kernel that works in place leaves the result in buffer `k`, which is page
//! `k + n`'s next: all `n` are under way.

use cp2_dma::{Descriptor, Target};
use cp2_host::{Action, Command, Device, Event, HostError, Turns};
use cp2_machine::Machine;
use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;

mod dealt;
mod price;

pub(crate) use dealt::Dealt;
pub(crate) use price::Expected;

/// Event that the DMA posts when a page is loaded.
const LOADED: u32 = 0;
/// Event that the kernel signals when a page is done.
const DONE: u32 = 1;

/// The pages of a pass: how each is loaded and stored, and what it costs.
pub(crate) trait Pages: fmt::Debug + Send + Sync {
    /// Number of pages.
    fn count(&self) -> u64;
    /// The transfers that load a page and its factors; the kernel waits for the
    /// last, or for the last early one where there are no others.
    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor>;
    /// What of that can already be loaded with the page before.
    fn early(&self, _page: u64, _local: u32, _factors: u32) -> Vec<Descriptor> {
        Vec::new()
    }
    /// The transfers that store a page.
    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor>;
    /// Pages after which their kinds repeat.
    fn period(&self) -> u64 {
        1
    }
    /// How many pages there are of the two kinds that the kernel takes one after the other, where it
    /// has to know.
    fn counts(&self) -> [u64; 2] {
        [0; 2]
    }
    /// Arithmetic issues of a section for a page.
    fn issues(&self, page: u64) -> u64;
    /// Cycles of a page beside them.
    fn overhead(&self, page: u64) -> u64;
    /// How many of both come after the page has been signalled to be done.
    fn after(&self, _page: u64) -> u64 {
        0
    }
    /// Pages that belong together: none of them is done before all have been loaded.
    fn group(&self) -> u64 {
        1
    }
    /// Cycles of such a page that need no other.
    fn head(&self, _page: u64) -> u64 {
        0
    }
    /// The event that the DMA posts when a page is loaded: those of each event are
    /// loaded in the order of the pages.
    fn event(&self, _page: u64) -> u32 {
        LOADED
    }
    /// The pages whose turn to be loaded comes when `page` is stored, or, without one, before
    /// the first is; `ahead` as the ring has it. What is no page counts for nothing.
    fn next(&self, page: Option<u64>, ahead: u64) -> Vec<u64> {
        match page {
            None => (0..ahead).collect(),
            Some(page) => vec![page + ahead],
        }
    }
}

/// Where the buffers of a pass are in DMEM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Ring {
    /// Address of the argument block.
    pub arguments: u32,
    /// Page buffers.
    pub pages: Vec<u32>,
    /// A buffer of factors for each.
    pub factors: Vec<u32>,
    /// Another address for each; what it is the kernel knows.
    pub beside: Vec<u32>,
    /// How many buffers before a page's own its result lies: 0, 1, or as many as a page has pieces.
    pub behind: usize,
    /// Pages that are loaded before the first is stored.
    pub ahead: usize,
}

/// A pass: buffers and the pages that go through them.
#[derive(Debug)]
pub(crate) struct RingPass {
    ring: Ring,
    work: Box<dyn Pages>,
}

impl Ring {
    /// `buffers` buffers from `first` on; the argument block lies at `arguments`.
    pub(crate) fn new(arguments: u64, first: u64, buffers: usize, page: u64, factors: u64) -> Self {
        // Inside DMEM, whose addresses are u32: the plan has checked the end.
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

    /// The same for a kernel in place, without factors.
    pub(crate) fn in_place(arguments: u64, first: u64, buffers: usize, page: u64) -> Self {
        Self {
            behind: 0,
            ahead: buffers,
            ..Self::new(arguments, first, buffers, page, 0)
        }
    }

    /// The same with this address for every page besides.
    pub(crate) fn beside(mut self, address: u64) -> Self {
        self.beside.fill(u32::try_from(address).unwrap_or(u32::MAX));
        self
    }

    /// `buffers` buffers for pages of which each comes and goes in `pieces`, every piece a page of the
    /// pass; without factors.
    pub(crate) fn in_pieces(
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

    /// Bytes of the argument block of so many buffers.
    pub(crate) fn argument_bytes(buffers: usize) -> u64 {
        16 + 16 * buffers as u64
    }

    /// Where the result of a page lies.
    fn result(&self, page: u64) -> u32 {
        let n = self.pages.len() as u64;
        self.pages[((page + n - self.behind as u64) % n) as usize]
    }

    /// The words of the argument block for a job of `pages` pages, of which so many are of two kinds.
    pub(crate) fn arguments(&self, pages: u64, counts: [u64; 2]) -> Vec<u32> {
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
    /// `work` through the buffers of `ring`.
    pub(crate) fn new(ring: Ring, work: impl Pages + 'static) -> Self {
        Self {
            ring,
            work: Box::new(work),
        }
    }

    /// Number of pages.
    pub(crate) fn count(&self) -> u64 {
        self.work.count()
    }

    /// The transfers of the first pages, of every kind, and of the argument block.
    pub(crate) fn first_transfers(&self, machine: &Machine) -> Vec<Descriptor> {
        let pages = 0..self.work.period().min(self.count());
        let moved = pages.flat_map(|page| [self.loads(page), self.stores(page)]);
        let arguments = self.argument_load(0, self.padded(machine).len() as u64 * 4);
        moved.flatten().chain([arguments]).collect()
    }

    /// The words of the argument block, as many as the DMA's granules hold.
    fn padded(&self, machine: &Machine) -> Vec<u32> {
        let mut words = self.ring.arguments(self.count(), self.work.counts());
        let granule = (machine.dma.granule.0 / 4).max(1) as usize;
        words.resize(words.len().next_multiple_of(granule), 0);
        words
    }

    fn argument_load(&self, system: u64, bytes: u64) -> Descriptor {
        Descriptor::load(Target::Broadcast, system, self.ring.arguments, bytes)
    }

    /// Number of page buffers.
    pub(crate) fn buffers(&self) -> usize {
        self.ring.ahead + self.ring.behind
    }

    /// The transfers that load a page.
    pub(crate) fn loads(&self, page: u64) -> Vec<Descriptor> {
        let (own, next) = self.shares(page);
        own.into_iter().chain(next).collect()
    }

    /// The same apart: what the page waits for that is not there yet, and what the next already has.
    fn shares(&self, page: u64) -> (Vec<Descriptor>, Vec<Descriptor>) {
        let at = |page: u64| {
            let slot = (page % self.ring.pages.len() as u64) as usize;
            (page, self.ring.pages[slot], self.ring.factors[slot])
        };
        let own = |(page, local, factors)| self.work.loads(page, local, factors);
        let early = |(page, local, factors)| self.work.early(page, local, factors);
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
        // Where there is nothing else, the next waits for the last of these.
        let last = own(next).is_empty();
        (first, if last { posted(page + 1, loads) } else { loads })
    }

    /// The transfers that store a page.
    pub(crate) fn stores(&self, page: u64) -> Vec<Descriptor> {
        self.work.stores(page, self.ring.result(page))
    }

    /// The transfer that loads the argument block, whose words it puts in system memory.
    pub(crate) fn place(&self, device: &mut Device) -> Result<Descriptor, HostError> {
        let words = self.padded(device.machine());
        let words = device.alloc_from(&words)?;
        Ok(self.argument_load(words.address(), words.bytes()))
    }

    /// Gives the commands of the pass, which wait for `after`. Returns the last
    /// store and the end of the kernel.
    pub(crate) fn give(
        &self,
        device: &mut Device,
        (name, entry): (&str, u32),
        after: &[Event],
    ) -> Result<[Event; 2], HostError> {
        let source = |first| Source::new(self, (name, entry), first, after);
        let (_, source) = device.stream_turns(source)?;
        Ok([source.stored.unwrap_or(source.launch), source.launch])
    }

    /// The pages that are loaded when `page` is stored, or before the first is.
    fn next(&self, page: Option<u64>) -> impl Iterator<Item = u64> + use<> {
        let next = self.work.next(page, self.ring.ahead as u64);
        let count = self.count();
        next.into_iter().filter(move |&page| page < count)
    }
}

/// The commands of a pass, made as the device asks for them: the loads of the
/// pages ahead and the launch, then for each page the wait for its end, its
/// stores, and the loads of the pages that take its buffer.
#[derive(Clone)]
struct Source<'a> {
    pass: &'a RingPass,
    names: [Arc<str>; 3],
    launch: Event,
    /// Number of the next command made.
    next: Event,
    /// Made and not yet given.
    ready: VecDeque<Command>,
    /// The page whose turn it is.
    page: u64,
    /// The last store so far.
    stored: Option<Event>,
}

impl<'a> Source<'a> {
    fn new(pass: &'a RingPass, (name, entry): (&str, u32), first: Event, after: &[Event]) -> Self {
        let mut source = Self {
            pass,
            names: ["load", "done", "store"].map(Arc::from),
            launch: first,
            next: first,
            ready: VecDeque::new(),
            page: 0,
            stored: None,
        };
        for page in pass.next(None) {
            source.load(page, after);
        }
        let args = pass.ring.arguments;
        let action = Action::Launch { entry, args };
        source.launch = source.make(Command::new(name, action).after(after));
        source
    }

    fn give(&mut self, name: usize, page: u64, action: Action, after: &[Event]) -> Event {
        self.make(Command {
            name: self.names[name].clone(),
            page: Some(page),
            action,
            after: after.into(),
        })
    }

    fn make(&mut self, command: Command) -> Event {
        self.ready.push_back(command);
        let made = self.next;
        self.next = made.following();
        made
    }

    fn load(&mut self, page: u64, after: &[Event]) {
        for descriptor in self.pass.loads(page) {
            self.give(0, page, Action::Dma(descriptor), after);
        }
    }
}

impl Iterator for Source<'_> {
    type Item = Command;

    fn next(&mut self) -> Option<Command> {
        if self.ready.is_empty() && self.page < self.pass.count() {
            let page = self.page;
            self.page += 1;
            let wait = Action::WaitSignal { event: DONE };
            let done = self.give(1, page, wait, &[]);
            // What takes its place waits for its store, which waits for its end.
            let mut free = done;
            for store in self.pass.stores(page) {
                free = self.give(2, page, Action::Dma(store), &[done]);
                self.stored = Some(free);
            }
            for next in self.pass.next(Some(page)) {
                self.load(next, &[free]);
            }
        }
        self.ready.pop_front()
    }
}

/// Of the same pass: where it stands.
impl PartialEq for Source<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.pass, other.pass)
            && (self.launch, self.next, self.page, self.stored)
                == (other.launch, other.next, other.page, other.stored)
            && self.ready == other.ready
    }
}

impl Turns for Source<'_> {
    fn turns(&self) -> u64 {
        self.pass.count()
    }

    fn turn(&self) -> Option<u64> {
        self.ready.is_empty().then_some(self.page)
    }

    fn period(&self) -> u64 {
        let (mut a, mut b) = (self.pass.ring.pages.len() as u64, self.pass.work.period());
        let both = a.saturating_mul(b);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        both / a.max(1)
    }

    fn leave_out(&mut self, turns: u64, commands: u64) {
        self.page += turns;
        self.next = self.next.later(commands);
        self.stored = self.stored.map(|last| last.later(commands));
    }
}
