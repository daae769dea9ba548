//! A pass over a ring as a source of pages for the engine.

use super::{DONE, RingPass};
use crate::paging::{CommandSink, Launch, PageSource};
use crate::{Event, TransferLimits, Views};
use cp2_dma::Descriptor;
use std::sync::Arc;

/// Pages of a ring's pass, on a machine with the given limits.
#[derive(Clone)]
pub(super) struct RingWork<'a> {
    pass: &'a RingPass,
    names: [Arc<str>; 3],
    /// Views of arrays that transfers name by addresses beyond system memory.
    views: &'a Views,
    limits: TransferLimits,
    /// Load of the next pass's argument block, if it comes while this pass ends.
    following: Option<&'a Descriptor>,
}

impl<'a> RingWork<'a> {
    pub(super) fn new(
        pass: &'a RingPass,
        following: Option<&'a Descriptor>,
        (views, limits): (&'a Views, TransferLimits),
    ) -> Self {
        Self {
            pass,
            names: ["load", "store", "program"].map(Arc::from),
            views,
            limits,
            following,
        }
    }

    /// Gives a transfer, or those that replace it if it names a view.
    fn submit_transfer(
        &self,
        name: usize,
        page: Option<u64>,
        transfer: Descriptor,
        to: &mut CommandSink<'_>,
    ) {
        let name = &self.names[name];
        if !self.views.contains_address(transfer.system) {
            to.dma(name, page, transfer);
            return;
        }
        for transfer in self.views.expand(transfer, self.limits) {
            to.dma(name, page, transfer);
        }
    }
}

/// Compares by identity of the pass.
impl PartialEq for RingWork<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.pass, other.pass)
    }
}

impl PageSource for RingWork<'_> {
    fn pages(&self) -> u64 {
        self.pass.count()
    }

    fn period(&self) -> Option<u64> {
        let (mut a, mut b) = (self.pass.ring.pages.len() as u64, self.pass.work.period());
        let both = a.saturating_mul(b);
        while b > 0 {
            (a, b) = (b, a % b);
        }
        Some(both / a.max(1))
    }

    fn next(&self, page: Option<u64>) -> Vec<u64> {
        // The pass before may have given the first loads.
        match (page, self.pass.begun) {
            (None, true) => Vec::new(),
            _ => self.pass.next(page).collect(),
        }
    }

    fn launch(&self) -> Option<Launch> {
        Some(Launch {
            arguments: None,
            address: self.pass.ring.arguments,
            protection: self.pass.protection.clone(),
            loads_first: true,
        })
    }

    fn load(&mut self, page: u64, to: &mut CommandSink<'_>) {
        for transfer in self.pass.loads(page, self.limits.levels) {
            self.submit_transfer(0, Some(page), transfer, to);
        }
    }

    fn store(&mut self, page: u64, to: &mut CommandSink<'_>) {
        for transfer in self.pass.stores(page, self.limits.levels) {
            self.submit_transfer(1, Some(page), transfer, to);
        }
    }

    fn signal(&self) -> u32 {
        DONE
    }

    fn load_next_pass(&mut self, page: Option<u64>, to: &mut CommandSink<'_>) -> Option<Event> {
        let all = &self.pass.ahead;
        let mut begun = None;
        if Some(page) == all.first().map(|ahead| ahead.behind)
            && let Some(arguments) = self.following
        {
            to.dma(&self.names[0], Some(page.unwrap_or(0)), arguments.clone());
            begun = to.last();
        }
        for ahead in all.iter().filter(|ahead| ahead.behind == page) {
            match ahead.page {
                Some(page) => self.submit_transfer(0, Some(page), ahead.load.clone(), to),
                None => {
                    to.dma(&self.names[2], None, ahead.load.clone());
                    begun = to.last();
                }
            }
        }
        begun
    }
}
