//! System memory that several processors read, each keeping its stores apart.
//!
//! The stores are carried out when nobody reads any more.

use crate::memory::{OutOfMemory, SystemRam};
use cp2_dma::{Combine, Direction, Places, Transfer};
use cp2_machine::Machine;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

/// Maximum number of ranges that are told apart.
const MOST: usize = 64;

/// Least size of the buffer for stores, in bytes.
const ROOM: usize = 1 << 16;

/// Ranges of addresses. If there are too many, the gap between the two nearest ranges is included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddressSpans(Vec<Range<u64>>);

impl AddressSpans {
    /// Adds a range.
    pub fn insert(&mut self, range: Range<u64>) {
        if range.is_empty() {
            return;
        }
        // Ranges that the new one touches are joined with it.
        let first = self.0.partition_point(|r| r.end < range.start);
        let end = first + self.0[first..].partition_point(|r| r.start <= range.end);
        let joined = self.0[first..end]
            .iter()
            .fold(range, |sum, r| sum.start.min(r.start)..sum.end.max(r.end));
        self.0.splice(first..end, [joined]);
        if self.0.len() > MOST {
            let gap = |i: &usize| self.0[i + 1].start - self.0[*i].end;
            let nearest = (0..self.0.len() - 1).min_by_key(gap).unwrap_or(0);
            self.0[nearest].end = self.0.remove(nearest + 1).end;
        }
    }

    /// Adds all ranges of `other`.
    pub fn extend(&mut self, other: &Self) {
        other.0.iter().for_each(|range| self.insert(range.clone()));
    }

    /// Returns the range from the first address to the last.
    fn bounds(&self) -> Option<Range<u64>> {
        Some(self.0.first()?.start..self.0.last()?.end)
    }

    /// True if any address is in both.
    #[must_use]
    pub fn intersects(&self, other: &Self) -> bool {
        let meets = |range: &Range<u64>| {
            let at = other.0.partition_point(|r| r.end <= range.start);
            other.0.get(at).is_some_and(|r| r.start < range.end)
        };
        self.0.iter().any(meets)
    }
}

/// Stores in their order, with the bytes that they move.
#[derive(Clone, Debug, Default)]
pub struct StoreLog {
    /// Places of each store, the index in `bytes` of its first byte, and what becomes of the bytes
    /// that are there; its runs follow one another.
    transfers: Vec<(Places, usize, Combine)>,
    /// Bytes of all stores; the allocation may be larger than `used`.
    bytes: Vec<u8>,
    used: usize,
    spans: AddressSpans,
}

impl StoreLog {
    /// Returns the addresses stored to.
    #[must_use]
    pub fn spans(&self) -> &AddressSpans {
        &self.spans
    }

    /// Calls `put` with the address and the bytes of every run and its effect, in order.
    fn for_each_run<E>(
        &self,
        mut put: impl FnMut(u64, &[u8], Combine) -> Result<(), E>,
    ) -> Result<(), E> {
        for (places, first, combine) in &self.transfers {
            let mut at = *first;
            places.for_each(|address, len| {
                let from = at;
                at += len;
                let bytes = self.bytes.get(from..at).unwrap_or_default();
                put(address, bytes, *combine)
            })?;
        }
        Ok(())
    }

    /// Writes the stores to `part`, which begins at address `start` and contains all of them.
    fn apply_stores(&self, start: u64, part: &mut [u8]) {
        let _ = self.for_each_run(|address, bytes, combine| {
            let at = (address - start) as usize;
            if let Some(room) = part.get_mut(at..at + bytes.len()) {
                combine.apply(room, bytes);
            }
            Ok::<(), ()>(())
        });
    }

    /// Forgets all stores, but keeps the buffer on the host.
    pub fn clear(&mut self) {
        self.transfers.clear();
        self.spans = AddressSpans::default();
        self.used = 0;
    }

    /// Adds a store to `span`. Returns the buffer for its runs, `bytes` bytes together, or `None`
    /// if the host has no room.
    fn push(
        &mut self,
        places: Places,
        span: Range<u64>,
        bytes: usize,
        combine: Combine,
    ) -> Option<&mut [u8]> {
        let (first, end) = (self.used, self.used + bytes);
        if end > self.bytes.len() {
            let size = end.max(2 * self.bytes.len()).max(ROOM);
            self.bytes.try_reserve_exact(size - self.bytes.len()).ok()?;
            self.bytes.resize(size, 0);
        }
        self.transfers.push((places, first, combine));
        self.spans.insert(span);
        self.used = end;
        self.bytes.get_mut(first..end)
    }
}

/// Bytes of a sum that are carried out at a time.
const PIECE: usize = 4096;

/// Accesses of a processor to memory that it shares.
#[derive(Clone, Debug)]
pub struct CopyOnWrite {
    base: Arc<SystemRam>,
    /// Addresses read.
    pub loaded: AddressSpans,
    /// Stores that were not carried out. Loads do not see them.
    pub stores: StoreLog,
}

impl CopyOnWrite {
    /// Forgets all accesses.
    pub fn clear(&mut self) {
        self.loaded = AddressSpans::default();
        self.stores.clear();
    }

    pub(crate) fn base(&self) -> &SystemRam {
        &self.base
    }

    /// Notes a valid transfer. Returns the buffer for the runs of a store.
    pub(crate) fn transfer(
        &mut self,
        transfer: &impl Transfer,
        machine: &Machine,
    ) -> Option<&mut [u8]> {
        let span = transfer.bounds(machine).system;
        match transfer.direction() {
            Direction::Load => {
                self.loaded.insert(span);
                None
            }
            Direction::Store => {
                let places = transfer.places(machine);
                let bytes = usize::try_from(places.bytes()).ok()?;
                self.stores.push(places, span, bytes, transfer.combine())
            }
        }
    }

    /// Notes bytes that the caller writes.
    pub(crate) fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), OutOfMemory> {
        let len = bytes.len() as u64;
        let places = [(address, len)].into_iter().collect();
        let room = self.stores.push(
            places,
            address..address + len,
            bytes.len(),
            Combine::Replace,
        );
        room.ok_or(OutOfMemory::Host { bytes: len })?
            .copy_from_slice(bytes);
        Ok(())
    }
}

impl SystemRam {
    /// Creates a memory that reads from `base`, which others may read too, and that keeps its own
    /// writes apart, in the buffer of `stores`.
    #[must_use]
    pub fn sharing(base: Arc<Self>, mut stores: StoreLog) -> Self {
        stores.clear();
        let mut memory = Self::new(base.size());
        memory.begin_sharing(CopyOnWrite {
            base,
            loaded: AddressSpans::default(),
            stores,
        });
        memory
    }

    /// Carries out the stores that several processors kept apart, one log after the other. Logs
    /// with disjoint address bounds are carried out in parallel, on as many host threads as can be
    /// started.
    ///
    /// # Errors
    /// A store leaves the memory.
    pub fn carry_out(&mut self, all: &[&StoreLog]) -> Result<(), OutOfMemory> {
        if all.len() > 1
            && let Some(parts) = self.parts(all)
        {
            let helpers = parts.len() - 1;
            let parts = Mutex::new(parts.into_iter());
            let next = || parts.lock().unwrap_or_else(PoisonError::into_inner).next();
            let work = || {
                while let Some((start, bytes, stores)) = next() {
                    stores.apply_stores(start, bytes);
                }
            };
            thread::scope(|scope| {
                for _ in 0..helpers {
                    // A thread that cannot be started leaves its part to the others.
                    let _ = thread::Builder::new().spawn_scoped(scope, work);
                }
                work();
            });
            return Ok(());
        }
        all.iter().try_for_each(|stores| {
            stores.for_each_run(|address, bytes, combine| match combine {
                Combine::Replace => self.write(address, bytes),
                combine => {
                    let mut room = [0; PIECE];
                    let places = (address..).step_by(PIECE);
                    places
                        .zip(bytes.chunks(PIECE))
                        .try_for_each(|(address, bytes)| {
                            let kept = &mut room[..bytes.len()];
                            self.read(address, kept)?;
                            combine.apply(kept, bytes);
                            self.write(address, kept)
                        })
                }
            })
        })
    }

    /// Returns, for each log, the bytes between the first and the last that it writes, and their
    /// address; `None` unless these ranges are disjoint and contiguous on the host.
    fn parts<'a>(&mut self, all: &[&'a StoreLog]) -> Option<Vec<(u64, &mut [u8], &'a StoreLog)>> {
        let bounds = |stores: &&'a StoreLog| Some((stores.spans.bounds()?, *stores));
        let mut bounds: Vec<_> = all.iter().filter_map(bounds).collect();
        bounds.sort_by_key(|(range, _)| range.start);
        let apart = bounds.windows(2).all(|w| w[0].0.end <= w[1].0.start);
        let (first, last) = (&bounds.first()?.0, &bounds.last()?.0);
        let (mut at, end) = (first.start, last.end);
        let mut rest = self.span_mut(at, end.checked_sub(at)?).filter(|_| apart)?;
        let mut parts = Vec::new();
        for (range, stores) in bounds {
            let (_, behind) = rest.split_at_mut((range.start - at) as usize);
            let (part, behind) = behind.split_at_mut((range.end - range.start) as usize);
            (rest, at) = (behind, range.end);
            parts.push((range.start, part, stores));
        }
        Some(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn ranges_hold_what_was_inserted(
            ranges in prop::collection::vec((0u64..200, 0u64..9), 0..60),
            others in prop::collection::vec((0u64..200, 0u64..9), 0..4),
        ) {
            let of = |ranges: &[(u64, u64)]| {
                let mut spans = AddressSpans::default();
                ranges.iter().for_each(|&(at, n)| spans.insert(at..at + n));
                spans
            };
            let bytes = |ranges: &[(u64, u64)]| -> Vec<u64> {
                ranges.iter().flat_map(|&(at, n)| at..at + n).collect()
            };
            let (spans, other) = (of(&ranges), of(&others));
            prop_assert!(spans.0.windows(2).all(|w| w[0].end < w[1].start));
            let (all, theirs) = (bytes(&ranges), bytes(&others));
            let held: u64 = spans.0.iter().map(|r| r.end - r.start).sum();
            let mut distinct = all.clone();
            distinct.sort_unstable();
            distinct.dedup();
            prop_assert_eq!(held, distinct.len() as u64);
            prop_assert_eq!(spans.intersects(&other), theirs.iter().any(|b| all.contains(b)));
            prop_assert_eq!(spans.intersects(&other), other.intersects(&spans));
            let mut both = spans.clone();
            both.extend(&other);
            prop_assert_eq!(both, of(&[ranges, others].concat()));
        }
    }

    #[test]
    fn many_ranges_are_held_in_few() {
        let mut spans = AddressSpans::default();
        (0..1000).for_each(|i| spans.insert(100 * i..100 * i + 10));
        assert_eq!(spans.0.len(), MOST);
        for i in 0..1000 {
            let mut one = AddressSpans::default();
            one.insert(100 * i + 9..100 * i + 10);
            assert!(spans.intersects(&one));
        }
    }

    #[test]
    fn what_is_kept_apart_is_carried_out_later() {
        let mut base = SystemRam::new(1 << 20);
        base.write(0, &[1; 64]).unwrap();
        let mut base = Arc::new(base);
        let mut apart = SystemRam::sharing(base.clone(), StoreLog::default());
        apart.write(16, &[2; 32]).unwrap();
        apart.write(32, &[3; 32]).unwrap();
        let mut seen = [0; 64];
        apart.read(0, &mut seen).unwrap();
        assert_eq!(seen, [1; 64]);
        let stores = apart.end_sharing().unwrap().stores;
        let base = Arc::get_mut(&mut base).unwrap();
        base.carry_out(&[&stores]).unwrap();
        base.read(0, &mut seen).unwrap();
        assert_eq!(seen[..16], [1; 16]);
        assert_eq!(seen[16..32], [2; 16]);
        assert_eq!(seen[32..], [3; 32]);
    }

    proptest! {
        /// In parallel or in turn: the last log that writes an address determines its value.
        #[test]
        fn several_are_carried_out_in_their_order(
            writes in prop::collection::vec(
                prop::collection::vec((0u64..3, 0u64..40, 1usize..20, any::<u8>()), 0..6), 0..5),
            far in any::<bool>(),
        ) {
            let base = Arc::new(SystemRam::new(1 << 20));
            let mut expected = SystemRam::new(1 << 20);
            let mut all = Vec::new();
            for (number, writes) in (0..).zip(&writes) {
                let mut apart = SystemRam::sharing(base.clone(), StoreLog::default());
                for &(block, at, len, value) in writes {
                    let own = if far { 1000 * number } else { 0 };
                    let (address, bytes) = (16 * (own + 7 * block) + at, vec![value; len]);
                    apart.write(address, &bytes).unwrap();
                    expected.write(address, &bytes).unwrap();
                }
                all.push(apart.end_sharing().unwrap().stores);
            }
            let all: Vec<&StoreLog> = all.iter().collect();
            let mut memory = SystemRam::new(1 << 20);
            memory.carry_out(&all).unwrap();
            prop_assert_eq!(memory, expected);
        }
    }
}
