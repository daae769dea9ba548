//! A pass whose pages are listed, each with transfers of its own.
//!
//! A [`Ring`](super::Ring) or a [`GridPlan`](crate::nest::GridPlan) cannot describe pages that have nothing
//! in common. Pages of a packed matrix, for example, differ in size, loads and stores, and some of them load
//! words of the running program.

use super::{CommandSink, Launch, PageSource};
use crate::{Device, Event, HostError, PAGE_EVENT, PageKernel};
use cp2_dma::Descriptor;
use cp2_emu::Protection;
use cp2_emu::cycles::KernelInterval;
use std::sync::Arc;

/// Event that the kernel signals when a page is done.
const DONE: u32 = 1;

/// The transfers of a page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ListedPage {
    /// Loads of the page, in this order, behind its [early loads](ListedPage::early); the kernel waits for
    /// the last of them.
    pub loads: Vec<Descriptor>,
    /// Loads that are given as soon as the page's buffer is free, even if the page or one before it
    /// [replaces](ListedPage::replaces) memory that is in use for longer. A page with early loads has others
    /// too, so that pages become ready in order.
    pub early: Vec<Descriptor>,
    /// Stores of the page, when the kernel is done with it.
    pub stores: Vec<Descriptor>,
    /// True if the loads replace memory that the page before uses to its end: they, and those of the
    /// following pages, are given when that page is done.
    pub replaces: bool,
}

/// A pass of listed pages.
///
/// The kernel waits for [`PAGE_EVENT`] before each page and signals event 1 behind it. A page takes the place
/// of the page `buffers` pages before it and is loaded when that one is stored, or later if a page
/// [replaces](ListedPage::replaces) memory of the one before it.
#[derive(Clone, Debug)]
pub struct ListedPass {
    /// Pages in order.
    pub pages: Vec<ListedPage>,
    /// Number of pages that are in DMEM, and in program memory, at a time.
    pub buffers: usize,
    /// Address of the argument block, which the kernel gets in `a15`.
    pub address: u32,
    /// Steps of the kernel from its launch to its end.
    pub steps: Arc<Vec<KernelInterval>>,
    /// Areas of DMEM that belong to the kernel.
    pub protection: Option<Arc<Protection>>,
}

impl ListedPass {
    /// Returns the transfers that load a page when its turn comes; the last posts the event that the kernel
    /// waits for.
    #[must_use]
    pub fn loads(&self, page: u64) -> Vec<Descriptor> {
        let own = self.page(page);
        let mut loads = match self.waits_for_turn(page) {
            true => Vec::new(),
            false => own.early.clone(),
        };
        loads.extend_from_slice(&own.loads);
        if let Some(last) = loads.last_mut() {
            last.event = Some(PAGE_EVENT);
        }
        loads
    }

    /// Returns the transfers that store a page.
    #[must_use]
    pub fn stores(&self, page: u64) -> Vec<Descriptor> {
        self.page(page).stores.clone()
    }

    fn page(&self, page: u64) -> &ListedPage {
        static NONE: ListedPage = ListedPage {
            loads: Vec::new(),
            early: Vec::new(),
            stores: Vec::new(),
            replaces: false,
        };
        let at = usize::try_from(page).unwrap_or(usize::MAX);
        self.pages.get(at).unwrap_or(&NONE)
    }

    /// Returns the page behind whose stores a page is loaded, or nothing if it is loaded before the first
    /// page is done.
    fn find_preceding_page(&self, page: u64) -> Option<u64> {
        let freed = page.checked_sub(self.buffers as u64);
        let first = freed.map_or(0, |freed| freed + 1);
        let replacing = (first..=page).rev().find(|&page| self.page(page).replaces);
        replacing.and_then(|page| page.checked_sub(1)).max(freed)
    }

    /// Returns true if a page is loaded later than its buffer is free.
    #[must_use]
    pub fn waits_for_turn(&self, page: u64) -> bool {
        let freed = page.checked_sub(self.buffers as u64);
        freed.is_some() && self.find_preceding_page(page) != freed
    }

    /// Gives the commands of the pass, which wait for `after`. Returns the events that the next pass waits
    /// for: the last store, and the end of the kernel.
    ///
    /// # Errors
    /// A command can never be carried out.
    pub fn submit(
        &self,
        device: &mut Device,
        kernel: &PageKernel,
        after: &[Event],
    ) -> Result<[Event; 2], HostError> {
        let work = ListedWork {
            pass: self,
            names: ["load", "store"].map(Arc::from),
        };
        let (last, commands) = device.work(work, kernel, after)?;
        let launched = commands.launched().unwrap_or(last);
        Ok([commands.stored().unwrap_or(launched), launched])
    }
}

/// A listed pass as the engine sees it.
#[derive(Clone)]
struct ListedWork<'a> {
    pass: &'a ListedPass,
    names: [Arc<str>; 2],
}

/// Compares by identity of the pass.
impl PartialEq for ListedWork<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.pass, other.pass)
    }
}

impl ListedWork<'_> {
    /// Gives the early loads of the page that takes the place of `done`, if its other loads come later.
    fn load_early(&self, done: u64, to: &mut CommandSink<'_>) {
        let next = done + self.pass.buffers as u64;
        if self.pass.waits_for_turn(next) {
            for transfer in self.pass.page(next).early.clone() {
                to.dma(&self.names[0], Some(next), transfer);
            }
        }
    }
}

impl PageSource for ListedWork<'_> {
    fn pages(&self) -> u64 {
        self.pass.pages.len() as u64
    }

    fn period(&self) -> Option<u64> {
        None
    }

    fn next(&self, page: Option<u64>) -> Vec<u64> {
        let (first, behind) = match page {
            None => (0, None),
            Some(page) => (page + 1, Some(page)),
        };
        let end = (first + self.pass.buffers as u64).min(self.pages());
        let turn = |&next: &u64| self.pass.find_preceding_page(next) == behind;
        (first..end).filter(turn).collect()
    }

    fn launch(&self) -> Option<Launch> {
        Some(Launch {
            arguments: None,
            address: self.pass.address,
            protection: self.pass.protection.clone(),
            loads_first: true,
        })
    }

    fn load(&mut self, page: u64, to: &mut CommandSink<'_>) {
        for transfer in self.pass.loads(page) {
            to.dma(&self.names[0], Some(page), transfer);
        }
        if self.pass.page(page).loads.is_empty() {
            // The kernel waits for every page, even for one that needs no loads.
            to.announce(&self.names[0], page, PAGE_EVENT);
        }
        if let Some(done) = page
            .checked_sub(1)
            .filter(|_| self.pass.page(page).replaces)
        {
            self.load_early(done, to);
        }
    }

    fn store(&mut self, page: u64, to: &mut CommandSink<'_>) {
        for transfer in self.pass.stores(page) {
            to.dma(&self.names[1], Some(page), transfer);
        }
        // The kernel waits for the next page in program words of this one. If that page has yet to be loaded,
        // these words must not be replaced before.
        if !self.pass.page(page + 1).replaces {
            self.load_early(page, to);
        }
    }

    fn signal(&self) -> u32 {
        DONE
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pages that replace memory of the page before are loaded behind it, and no page overtakes them.
    #[test]
    fn pages_are_loaded_in_order_and_not_too_early() {
        let page = |replaces| ListedPage {
            replaces,
            ..ListedPage::default()
        };
        let pass = ListedPass {
            pages: [false, false, false, true, false, false, true, true, false]
                .map(page)
                .to_vec(),
            buffers: 3,
            address: 0,
            steps: Arc::default(),
            protection: None,
        };
        let work = ListedWork {
            pass: &pass,
            names: ["load", "store"].map(Arc::from),
        };
        assert_eq!(work.next(None), [0, 1, 2]);
        let next: Vec<Vec<u64>> = (0..9).map(|page| work.next(Some(page))).collect();
        let expected: [&[u64]; 9] = [&[], &[], &[3, 4, 5], &[], &[], &[6], &[7, 8], &[], &[]];
        assert_eq!(next, expected);
        let early: Vec<u64> = (0..9).filter(|&page| pass.waits_for_turn(page)).collect();
        assert_eq!(early, [3, 4, 6, 7, 8]);
    }

    /// Returns the numbers of the loads in the order in which they are given, and true for each that posts an
    /// event. Page k has the early load 10 k and the load 10 k + 1.
    fn list_given_loads(pages: u64, replaces: fn(u64) -> bool) -> Vec<(u64, bool)> {
        let load = |number: u64| Descriptor::load(cp2_dma::Target::Broadcast, 16 * number, 0, 16);
        let page = |number: u64| ListedPage {
            early: vec![load(10 * number)],
            loads: vec![load(10 * number + 1)],
            replaces: replaces(number),
            ..ListedPage::default()
        };
        let pass = ListedPass {
            pages: (0..pages).map(page).collect(),
            buffers: 3,
            address: 0,
            steps: Arc::default(),
            protection: None,
        };
        let kernel = PageKernel {
            name: "test".to_owned(),
            entry: 0,
        };
        let work = ListedWork {
            pass: &pass,
            names: ["load", "store"].map(Arc::from),
        };
        let commands = super::super::Commands::new(work, &kernel, Event(1), &[]);
        let given = commands.filter_map(|command| match command.action {
            crate::HostAction::Dma(cp2_dma::Movement::Strided(transfer)) => {
                Some((transfer.system / 16, transfer.event.is_some()))
            }
            _ => None,
        });
        given.collect()
    }

    /// A kernel waits for its next page in words of the page before. These words are in place until the next
    /// page is loaded, even if several pages in a row replace memory in use.
    #[test]
    fn words_in_which_the_kernel_waits_are_kept() {
        let given = list_given_loads(8, |page| page > 0);
        let given: Vec<u64> = given.into_iter().map(|(load, _)| load).collect();
        let expected = [0, 1, 10, 11, 30, 20, 21, 40, 31, 50, 41, 60, 51, 70, 61, 71];
        assert_eq!(given, expected);
    }

    /// Early loads are given when the buffer is free, and only once.
    #[test]
    fn buffers_are_filled_while_pages_wait_for_their_turn() {
        let both = |page: u64| [(10 * page, false), (10 * page + 1, true)];
        let mut expected = [0, 1, 2].map(both).concat();
        expected.extend([(30, false), (40, false), (31, true), (41, true)]);
        expected.extend([5, 6].map(both).concat());
        assert_eq!(list_given_loads(7, |page| page == 3), expected);
    }
}
