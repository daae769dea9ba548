//! Areas of DMEM that the kernel of a ring's pass may access.

use super::{DONE, Ring, RingPass};
use crate::Reserved;
use cp2_emu::{Area, Protection};
use std::sync::Arc;

impl RingPass {
    /// Restricts the kernel to the buffers of the ring, its argument block and the `data` of its program, if
    /// the contents of pages are known. Pages share the buffers, because a kernel may begin with the loaded
    /// part of the next page.
    pub fn protected(mut self, data: &[Reserved]) -> Self {
        let pages = 0..self.count().min(self.work.period().max(1) * 2);
        let held: Option<Vec<[u64; 3]>> = pages.map(|page| self.work.dmem_bytes(page)).collect();
        let Some(held) = held.filter(|held| !held.is_empty()) else {
            return self;
        };
        let most = |part: usize| held.iter().map(|held| held[part]).max().unwrap_or(0);
        let area = |address: u32, bytes: u64| Area {
            address,
            bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
        };
        let ring = &self.ring;
        let parts = [&ring.pages, &ring.factors, &ring.beside].into_iter();
        let buffers = parts.enumerate().flat_map(|(part, places)| {
            let bytes = most(part);
            let places = places.iter().filter(move |_| bytes > 0);
            places.map(move |&at| area(at, bytes))
        });
        let data = data.iter().map(|data| {
            let at = u32::try_from(data.address).unwrap_or(u32::MAX);
            area(at, data.bytes)
        });
        let mut own: Vec<Area> = buffers.chain(data).collect();
        own.sort_unstable_by_key(|area| (area.address, area.bytes));
        own.dedup();
        let bytes = Ring::argument_bytes(ring.pages.len());
        self.protection = Some(Arc::new(Protection {
            signal: DONE,
            own,
            arguments: vec![area(ring.arguments, bytes)],
            ..Protection::default()
        }));
        self
    }
}
