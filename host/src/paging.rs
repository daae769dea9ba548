//! The paging engine moves the pages of a pass through DMEM around its kernel.
//!
//! A pass consists of pages, buffers and a kernel that is launched once. It is described by blocks in a row
//! ([`StreamPlan`]), by blocks of arrays ([`GridPlan`]), by [`RingPages`] around a [`Ring`] of buffers, or by
//! a list of pages ([`ListedPass`]). The engine sees each as a [`PageSource`]: the number of pages, the loads
//! and stores of each, and the page to load when another is stored. The latter is the buffers' policy:
//!
//! | buffers | loaded before the first page is stored | loaded behind the stores of page *k* |
//! |---|---|---|
//! | *n* inputs and *n* outputs of their own, or in place | 0 .. *n* | *k* + *n* |
//! | a ring of *n*, a result in the buffer of the page before | 0 .. *n* - 1 | *k* + *n* - 1 |
//! | pieces of a page, each a page of the pass | as many pieces | the piece that takes its place |
//!
//! [`Commands`] turns the source into commands for the device, one at a time:
//!
//! ```text
//! load .. load   launch   | page 0 is done   its stores   loads of the pages that take their places
//!                         | page 1 is done   ...
//! ```
//!
//! A load's last transfer posts the event for which the kernel waits; the kernel signals that a page is done,
//! and the control CPU, which waits for that, has it stored. A load waits for the last store before it: the
//! DMA works in order, so a page that is there has a place for its result, and the kernel waits for nothing
//! but loads.
//!
//! The time of a pass is simulated in the same order, with kernels that are counted from their programs:
//! [`RingPass::expect`], [`StreamPlan::estimate`].
//!
//! [`StreamPlan`]: crate::StreamPlan
//! [`StreamPlan::estimate`]: crate::StreamPlan::estimate
//! [`GridPlan`]: crate::nest::GridPlan

mod commands;
mod kernel_cycles;
mod listed;
pub(crate) mod price;
mod ring;
#[cfg(test)]
mod tests;

pub use commands::{CommandSink, Commands, Launch, PageSource, ReductionEnd};
pub use kernel_cycles::{CountedKernelPages, KernelEntryPoint, data_end, priced};
pub use listed::{ListedPage, ListedPass};
pub use ring::{
    OverlapBound, PassEstimate, QUAD, Ring, RingPages, RingPass, SectionBlocks, aligned,
    deals_quads, expect_all, overlap_pair, overlap_passes,
};

use crate::device::{Event, HostAction, MessageRegion};
use std::sync::Arc;

/// The event by which a loaded page is announced to a page kernel, and the signal
/// by which it gives the page back (`page.s`).
pub const PAGE_EVENT: u32 = 0;

/// A message that leaves a processor while a pass runs: when a page is stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageMessage {
    /// The page behind whose stores it leaves.
    pub page: u64,
    /// Name on the timeline.
    pub name: Arc<str>,
    /// Number by which the program waits for it.
    pub request: u64,
    /// Processor that it goes to.
    pub to: u64,
    /// Tag by which receives tell messages apart.
    pub tag: u32,
    /// Memory that holds it, read when the page is stored.
    pub region: MessageRegion,
}

impl PageMessage {
    /// Returns the action of the command that sends it.
    pub(crate) fn action(&self) -> HostAction {
        HostAction::Send {
            request: self.request,
            to: self.to,
            tag: self.tag,
            region: self.region,
        }
    }
}

/// The kernel of a paged run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageKernel {
    /// Name on the timeline.
    pub name: String,
    /// Word address of its first word.
    pub entry: u32,
}

/// Events of the pages that a device has been given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paged {
    /// The last store.
    pub stored: Event,
    /// The end of the kernel.
    pub stopped: Event,
}

impl Paged {
    /// Returns the events to wait for before memory and CP2 are as the pages leave them.
    #[must_use]
    pub fn events(self) -> [Event; 2] {
        [self.stored, self.stopped]
    }
}
