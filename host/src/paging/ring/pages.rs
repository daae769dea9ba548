//! What goes through the buffers of a ring.

use cp2_dma::Descriptor;
use std::fmt;

/// Event that the DMA posts when a page is loaded.
const LOADED: u32 = 0;

/// The pages of a pass: how each is loaded and stored.
pub trait RingPages: fmt::Debug + Send + Sync {
    /// Number of pages.
    fn count(&self) -> u64;
    /// The transfers that load a page and its factors; the kernel waits for the
    /// last, or for the last early one where there are no others.
    fn loads(&self, page: u64, local: u32, factors: u32) -> Vec<Descriptor>;
    /// What of that can already be loaded with the page before.
    fn list_early_loads(&self, _page: u64, _local: u32, _factors: u32) -> Vec<Descriptor> {
        Vec::new()
    }
    /// The transfers that store a page.
    fn stores(&self, page: u64, local: u32) -> Vec<Descriptor>;
    /// Pages after which their kinds repeat.
    fn period(&self) -> u64 {
        1
    }
    /// Pages after which their transfers take as long again.
    fn cost_period(&self) -> u64 {
        self.period()
    }
    /// How many pages there are of the two kinds that the kernel takes one after the other, where it
    /// has to know.
    fn pages_of_kind(&self) -> [u64; 2] {
        [0; 2]
    }
    /// Bytes that a page has of its buffer, of its factors and of what lies beside, from its first load to
    /// its store: what a pass needs to know whose next one is begun while it ends.
    fn dmem_bytes(&self, _page: u64) -> Option<[u64; 3]> {
        None
    }
    /// Arithmetic issues of a section for a page, by which planners choose what programs to make. What a page takes is
    /// counted from the program.
    fn arithmetic_cycles(&self, page: u64) -> u64;
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
