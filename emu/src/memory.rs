//! System memory: the control CPU's, allocated as it is touched.
//!
//! It is a list of regions, each contiguous on the host as far as it has been
//! written, so that a transfer works on host slices. Hosts give memory that was never
//! written for nothing, so a region grows in few large steps.

pub(crate) mod copy_on_write;
pub(crate) mod interleave;
pub(crate) mod loaded_words;
pub(crate) mod transpose;
pub(crate) mod zero_pages;
use crate::memory::copy_on_write::CopyOnWrite;
use crate::memory::zero_pages::ZeroedBytes;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Bytes of a region. Not a property of the machine, like all constants here.
const REGION: u64 = 1 << 28;

/// What a region has at first, and how many times as much at each step.
const FIRST: usize = 1 << 16;
const GROWTH: usize = 16;

/// Bytes of a step that is taken only where the host has so many more.
const SPARING: usize = 1 << 25;
const SPARE: usize = 1 << 31;

/// Bytes that are written to a file together, or left out where all are zero.
const PAGE: usize = 1 << 16;

/// Bytes of a line of the host's cache. A store across two of them costs several others.
const HOST_LINE: usize = 64;

/// The start of a region; behind it all is zero.
#[derive(Debug, Default)]
struct HostRegion {
    /// Never grows in place, so that it stays where it is on the host.
    room: ZeroedBytes,
    /// Where the region begins in `room`: with a line of the host's cache.
    start: usize,
    /// Behind this many nothing was written.
    used: usize,
}

impl HostRegion {
    /// Makes room for the first `end` bytes, of which the last will be written.
    fn grow(&mut self, end: usize) -> Result<(), OutOfMemory> {
        self.extend(end)?;
        self.used = self.used.max(end);
        Ok(())
    }

    /// Makes room for the first `end` bytes, and for more where the host has it.
    fn extend(&mut self, end: usize) -> Result<(), OutOfMemory> {
        let mut size = self.bytes().len();
        if end <= size {
            return Ok(());
        }
        size = size.max(FIRST);
        while size < end {
            size = size.saturating_mul(GROWTH);
        }
        let size = size.min(REGION as usize);
        // Large steps are for hosts with addresses to spare: what is not used of them would be missed elsewhere.
        if size < SPARING || ZeroedBytes::zeros(SPARE).is_some() {
            return self.resize(size).or_else(|_| self.resize(end));
        }
        let twice = (2 * self.bytes().len()).min(REGION as usize);
        self.resize(end.max(twice)).or_else(|_| self.resize(end))
    }

    fn resize(&mut self, size: usize) -> Result<(), OutOfMemory> {
        // Zeros that the host need not write.
        let none = OutOfMemory::Host { bytes: size as u64 };
        let room = ZeroedBytes::zeros(size + HOST_LINE).ok_or(none)?;
        let mut new = Self {
            start: room.as_ptr().align_offset(HOST_LINE).min(HOST_LINE),
            room,
            used: self.used,
        };
        new.bytes_mut()[..self.used].copy_from_slice(self.written());
        *self = new;
        Ok(())
    }

    /// All bytes that there is room for.
    fn bytes(&self) -> &[u8] {
        let end = self.room.len().saturating_sub(HOST_LINE - self.start);
        &self.room[self.start..end]
    }

    /// The same to be written.
    fn bytes_mut(&mut self) -> &mut [u8] {
        let end = self.room.len().saturating_sub(HOST_LINE - self.start);
        &mut self.room[self.start..end]
    }

    fn written(&self) -> &[u8] {
        &self.bytes()[..self.used]
    }
}

impl Clone for HostRegion {
    fn clone(&self) -> Self {
        let mut clone = Self::default();
        if clone.grow(self.used).is_err() {
            // As any clone ends for which there is no room.
            std::alloc::handle_alloc_error(std::alloc::Layout::for_value(self.written()));
        }
        clone.bytes_mut()[..self.used].copy_from_slice(self.written());
        clone
    }
}

/// What keeps an access to system memory from being carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum OutOfMemory {
    /// It leaves the machine's system memory.
    #[error(
        "system memory ends at {size:#x}: {bytes} bytes at {address:#x} lie outside; \
         use a smaller problem or a machine with more memory"
    )]
    Outside {
        /// First byte of the access.
        address: u64,
        /// Its length.
        bytes: u64,
        /// Size of the memory.
        size: u64,
    },
    /// The computer that simulates has no room for what would be written.
    #[error(
        "this computer has not the memory for the simulated system memory: {bytes} B in one piece were asked for; \
         use a smaller problem, or let the program have more memory (`ulimit -v`, other programs)"
    )]
    Host {
        /// Bytes that were asked for.
        bytes: u64,
    },
}

/// Byte-addressed system memory; bytes never written read as zero.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(from = "SavedPages", into = "SavedPages")]
pub struct SystemRam {
    size: u64,
    /// As far as memory was written.
    regions: Vec<HostRegion>,
    /// Where it shares another's bytes: the other, and what it would write.
    apart: Option<Box<CopyOnWrite>>,
}

/// Equality of what can be read.
impl PartialEq for SystemRam {
    fn eq(&self, other: &Self) -> bool {
        let count = self.regions.len().max(other.regions.len());
        let same = |i| {
            let (a, b) = (self.written(i), other.written(i));
            let both = a.len().min(b.len());
            let zeros = |rest: &[u8]| rest.iter().all(|byte| *byte == 0);
            a[..both] == b[..both] && zeros(&a[both..]) && zeros(&b[both..])
        };
        self.size == other.size && (0..count).all(same)
    }
}

impl Eq for SystemRam {}

/// Size, number and bytes of the pages that are not zero: the form in files.
#[derive(Serialize, Deserialize)]
struct SavedPages {
    size: u64,
    pages: Vec<(u64, Box<[u8]>)>,
}

impl From<SystemRam> for SavedPages {
    fn from(memory: SystemRam) -> Self {
        let regions = (0..).zip(&memory.regions);
        let pages = regions.flat_map(|(r, region)| {
            let first = r * (REGION / PAGE as u64);
            (first..).zip(region.written().chunks(PAGE))
        });
        let filled = pages.filter(|(_, page)| page.iter().any(|byte| *byte != 0));
        Self {
            size: memory.size,
            pages: filled.map(|(number, page)| (number, page.into())).collect(),
        }
    }
}

impl From<SavedPages> for SystemRam {
    fn from(contents: SavedPages) -> Self {
        let mut memory = Self::new(contents.size);
        for (number, bytes) in contents.pages {
            // What lies outside the memory, or is no page, is no contents.
            if let Some(address) = number.checked_mul(PAGE as u64) {
                let _ = memory.write(address, &bytes);
            }
        }
        memory
    }
}

impl SystemRam {
    /// An empty memory of `size` bytes; nothing is allocated yet.
    #[must_use]
    pub fn new(size: u64) -> Self {
        Self {
            size,
            regions: Vec::new(),
            apart: None,
        }
    }

    /// Begins to share another's bytes.
    pub fn begin_sharing(&mut self, apart: CopyOnWrite) {
        self.apart = Some(Box::new(apart));
    }

    pub(crate) fn apart_mut(&mut self) -> Option<&mut CopyOnWrite> {
        self.apart.as_deref_mut()
    }

    /// Ends the sharing: what was kept apart.
    pub fn end_sharing(&mut self) -> Option<CopyOnWrite> {
        self.apart.take().map(|apart| *apart)
    }

    /// Size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Takes the host memory for everything below `end` now, rather than as it is
    /// written: then it is moved least.
    ///
    /// # Errors
    /// The host has not so much.
    pub fn reserve(&mut self, end: u64) -> Result<(), OutOfMemory> {
        self.take(end, |region, bytes| match region.bytes().len() < bytes {
            true => region.resize(bytes),
            false => Ok(()),
        })
    }

    /// The same where more will follow: takes it in few large steps.
    ///
    /// # Errors
    /// The host has not so much.
    pub fn provide(&mut self, end: u64) -> Result<(), OutOfMemory> {
        self.take(end, HostRegion::extend)
    }

    /// Has `take` see to so many bytes of each region below `end`.
    fn take(
        &mut self,
        end: u64,
        mut take: impl FnMut(&mut HostRegion, usize) -> Result<(), OutOfMemory>,
    ) -> Result<(), OutOfMemory> {
        let end = end.min(self.size);
        let taken: usize = self.regions.iter().map(|region| region.bytes().len()).sum();
        let missing = end.saturating_sub(taken as u64);
        if missing > REGION {
            // A host may promise, region by region, what it does not have together.
            let none = OutOfMemory::Host { bytes: missing };
            let bytes = usize::try_from(missing).map_err(|_| none)?;
            ZeroedBytes::zeros(bytes).ok_or(none)?;
        }
        for number in 0..end.div_ceil(REGION) {
            let bytes = (end - number * REGION).min(REGION) as usize;
            take(self.region(number as usize)?, bytes)?;
        }
        Ok(())
    }

    /// Copies out `out.len()` bytes from `address`.
    ///
    /// # Errors
    /// The range leaves the memory; nothing is copied.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), OutOfMemory> {
        if let Some(apart) = &self.apart {
            return apart.base().read(address, out);
        }
        self.check(address, out.len() as u64)?;
        for_each_region(address, out.len(), |region, place, range| {
            let out = &mut out[range];
            let bytes = self.written(region).get(place.start..).unwrap_or_default();
            let known = bytes.len().min(out.len());
            out[..known].copy_from_slice(&bytes[..known]);
            out[known..].fill(0);
        });
        Ok(())
    }

    /// Copies `bytes` to `address`.
    ///
    /// # Errors
    /// The range leaves the memory, or the host has no room for it; nothing is written.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), OutOfMemory> {
        self.check(address, bytes.len() as u64)?;
        if let Some(apart) = &mut self.apart {
            return apart.write(address, bytes);
        }
        let mut grown = Ok(());
        for_each_region(address, bytes.len(), |region, place, _| {
            let grow = |region: &mut HostRegion| region.grow(place.end);
            grown = grown.and_then(|()| self.region(region).and_then(grow));
        });
        grown?;
        for_each_region(address, bytes.len(), |region, place, range| {
            self.regions[region].bytes_mut()[place].copy_from_slice(&bytes[range]);
        });
        Ok(())
    }

    /// Bytes that lie together on the host, if these do.
    pub(crate) fn span(&self, address: u64, bytes: u64) -> Option<&[u8]> {
        if let Some(apart) = &self.apart {
            return apart.base().span(address, bytes);
        }
        let (region, place) = self.place(address, bytes)?;
        self.regions.get(region)?.bytes().get(place)
    }

    /// The same to be written.
    pub(crate) fn span_mut(&mut self, address: u64, bytes: u64) -> Option<&mut [u8]> {
        if self.apart.is_some() {
            return None;
        }
        let (region, place) = self.place(address, bytes)?;
        let region = self.region(region).ok()?;
        region.grow(place.end).ok()?;
        region.bytes_mut().get_mut(place)
    }

    /// Region and range in it, where it is one region.
    fn place(&self, address: u64, bytes: u64) -> Option<(usize, Range<usize>)> {
        self.check(address, bytes).ok()?;
        let first = address % REGION;
        let end = first + bytes;
        (end <= REGION).then_some(((address / REGION) as usize, first as usize..end as usize))
    }

    fn region(&mut self, number: usize) -> Result<&mut HostRegion, OutOfMemory> {
        let more = (number + 1).saturating_sub(self.regions.len());
        if more > 0 {
            // Where they are many it is memory of its own.
            let bytes = (more as u64).saturating_mul(size_of::<HostRegion>() as u64);
            let none = |_| OutOfMemory::Host { bytes };
            self.regions.try_reserve(more).map_err(none)?;
            self.regions.resize_with(number + 1, HostRegion::default);
        }
        Ok(&mut self.regions[number])
    }

    fn written(&self, region: usize) -> &[u8] {
        self.regions.get(region).map_or(&[], HostRegion::written)
    }

    fn check(&self, address: u64, bytes: u64) -> Result<(), OutOfMemory> {
        match address.checked_add(bytes) {
            Some(end) if end <= self.size => Ok(()),
            _ => Err(OutOfMemory::Outside {
                address,
                bytes,
                size: self.size,
            }),
        }
    }
}

/// Splits a range into region, range in the region, and range of the caller's buffer.
fn for_each_region(
    address: u64,
    len: usize,
    mut part: impl FnMut(usize, Range<usize>, Range<usize>),
) {
    let mut done = 0;
    while done < len {
        let at = address + done as u64;
        let first = (at % REGION) as usize;
        let n = (REGION as usize - first).min(len - done);
        part((at / REGION) as usize, first..first + n, done..done + n);
        done += n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_was_written_across_regions_and_zero_elsewhere() {
        let mut memory = SystemRam::new(1 << 30);
        let data: Vec<u8> = (0..200_000u32).map(|i| (i * 7) as u8).collect();
        for at in [PAGE as u64 - 5, REGION - 100_000] {
            memory.write(at, &data).unwrap();
            let mut back = vec![1; data.len() + 2];
            memory.read(at - 1, &mut back).unwrap();
            assert_eq!((back[0], back[back.len() - 1]), (0, 0));
            assert_eq!(&back[1..=data.len()], &data[..]);
        }
        let span = memory.span(PAGE as u64 - 5, 200_000).unwrap();
        assert_eq!(span, &data[..]);
        assert_eq!((span.as_ptr() as usize + 5) % HOST_LINE, 0);
        assert_eq!(memory.span(REGION - 1, 2), None);
        assert_eq!(memory.span_mut(5 * REGION, 1), None);
    }

    #[test]
    fn equal_is_what_reads_alike() {
        let written = |at: u64, value: u8| {
            let mut memory = SystemRam::new(1 << 30);
            memory.write(at, &[value; 3]).unwrap();
            memory
        };
        let empty = SystemRam::new(1 << 30);
        assert_eq!(written(70_000, 0), empty);
        assert_eq!(written(3 * REGION - 1, 0), empty);
        assert_ne!(written(70_000, 1), empty);
        let mut reserved = written(70_000, 1);
        reserved.reserve(2_000_000).unwrap();
        assert_eq!(reserved, written(70_000, 1));
        let text = serde_json::to_string(&reserved).unwrap();
        assert_eq!(serde_json::from_str::<SystemRam>(&text).unwrap(), reserved);
        assert_eq!(reserved.clone(), reserved);
    }

    #[test]
    fn refuses_ranges_that_leave_the_memory() {
        let mut memory = SystemRam::new(100);
        assert!(memory.write(100, &[]).is_ok());
        assert_eq!(
            memory.write(97, &[0; 4]),
            Err(OutOfMemory::Outside {
                address: 97,
                bytes: 4,
                size: 100
            })
        );
        assert!(memory.read(u64::MAX, &mut [0; 2]).is_err());
    }

    #[test]
    fn what_the_host_has_not_is_refused() {
        let size = 1 << 62;
        let mut memory = SystemRam::new(size);
        let none = |done| matches!(done, Err(OutOfMemory::Host { .. }));
        for end in [1 << 57, size] {
            assert!(none(memory.reserve(end)) && none(memory.provide(end)));
        }
        assert!(none(memory.write(size - 1, &[1])));
        assert_eq!(memory.span_mut(size - 1, 1), None);
        assert_eq!(memory, SystemRam::new(size));
    }
}
