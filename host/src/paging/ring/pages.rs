//! Description of the pages that go through a ring of buffers.

use cp2_dma::Descriptor;
use std::fmt;

/// Event that the DMA posts when a page is loaded.
const LOADED: u32 = 0;

/// The pages of a pass, with the loads and stores of each.
pub trait RingPages: fmt::Debug + Send + Sync {
    /// Returns the number of pages.
    fn count(&self) -> u64;
    /// Returns the transfers that load a page and its factors. The kernel waits for the last, or for the last
    /// early one if there are no others.
    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor>;
    /// Returns loads of the page that can already be given with the page before.
    fn list_early_loads(&self, _page: u64, _local: u32, _factors: u32) -> Vec<Descriptor> {
        Vec::new()
    }
    /// Returns the transfers that store a page.
    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor>;
    /// Returns the number of pages after which their kinds repeat.
    fn period(&self) -> u64 {
        1
    }
    /// Returns the number of pages after which transfers take equally long again.
    fn cost_period(&self) -> u64 {
        self.period()
    }
    /// Returns the numbers of pages of the two kinds that the kernel processes one after the other, if it
    /// must know them.
    fn pages_of_kind(&self) -> [u64; 2] {
        [0; 2]
    }
    /// Returns the bytes that a page uses of its buffer, of its factors, and at its extra address, from its
    /// first load to its store. A pass needs them if the next one is begun while it ends.
    fn dmem_bytes(&self, _page: u64) -> Option<[u64; 3]> {
        None
    }
    /// Returns the arithmetic issues of a section for a page, by which planners choose which programs to
    /// make. The time of a page is counted from the program.
    fn arithmetic_cycles(&self, page: u64) -> u64;
    /// Returns the event that the DMA posts when a page is loaded; the pages of each event are loaded in
    /// order.
    fn event(&self, _page: u64) -> u32 {
        LOADED
    }
    /// Returns the pages to load when `page` is stored, or, without one, before the first is; `ahead` is that
    /// of the ring. Numbers beyond the last page are ignored.
    fn next(&self, page: Option<u64>, ahead: u64) -> Vec<u64> {
        match page {
            None => (0..ahead).collect(),
            Some(page) => vec![page + ahead],
        }
    }
}
