//! System memory of the control CPU, allocated on the host as it is touched.
//!
//! The memory is a list of regions. The written beginning of each is contiguous on the host, so that a
//! transfer works on host slices. Hosts provide memory lazily: pages that were never written cost
//! nothing, so a region grows in few large steps.

pub(crate) mod copy_on_write;
pub(crate) mod interleave;
pub(crate) mod loaded_words;
pub(crate) mod transpose;
pub(crate) mod zero_pages;
use crate::memory::copy_on_write::CopyOnWrite;
use crate::memory::zero_pages::ZeroedBytes;
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Bytes of a region. Like all constants here it is no property of the machine.
const REGION: u64 = 1 << 28;

/// First size of a region in bytes, and the factor of each step of growth.
const FIRST: usize = 1 << 16;
const GROWTH: usize = 16;

/// Bytes from which on a step of growth is taken only if the host has `SPARE` bytes more.
const SPARING: usize = 1 << 25;
const SPARE: usize = 1 << 31;

/// Bytes of a page in a file; pages of zeros are left out.
const PAGE: usize = 1 << 16;

/// Bytes of a cache line of the host. A store across two lines costs as much as several others.
const HOST_LINE: usize = 64;

/// The beginning of a region; all bytes behind it are zero.
#[derive(Debug, Default)]
struct HostRegion {
    /// Host memory. It never grows in place, so that its host address stays.
    room: ZeroedBytes,
    /// Offset in `room` where the region begins, at a cache line of the host.
    start: usize,
    /// Number of bytes behind which nothing was written.
    used: usize,
}

impl HostRegion {
    /// Makes room for the first `end` bytes, and marks them as written.
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
        // Large steps are for hosts with enough addresses: their unused part would be missed
        // elsewhere.
        if size < SPARING || ZeroedBytes::zeros(SPARE).is_some() {
            return self.resize(size).or_else(|_| self.resize(end));
        }
        let twice = (2 * self.bytes().len()).min(REGION as usize);
        self.resize(end.max(twice)).or_else(|_| self.resize(end))
    }

    fn resize(&mut self, size: usize) -> Result<(), OutOfMemory> {
        // The host provides zeros without writing them.
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

    /// Returns all bytes that there is room for.
    fn bytes(&self) -> &[u8] {
        let end = self.room.len().saturating_sub(HOST_LINE - self.start);
        &self.room[self.start..end]
    }

    /// Returns all bytes that there is room for, to be written.
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
            // Any clone without enough memory ends so.
            std::alloc::handle_alloc_error(std::alloc::Layout::for_value(self.written()));
        }
        clone.bytes_mut()[..self.used].copy_from_slice(self.written());
        clone
    }
}

/// Reason why an access to system memory cannot be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
pub enum OutOfMemory {
    /// The access leaves the machine's system memory.
    #[error(
        "system memory ends at {size:#x}: {bytes} bytes at {address:#x} lie outside; \
         use a smaller problem or a machine with more memory"
    )]
    Outside {
        /// First byte of the access.
        address: u64,
        /// Length of the access.
        bytes: u64,
        /// Size of the memory.
        size: u64,
    },
    /// The computer that simulates has no room for the bytes to be written.
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
    /// Written beginnings of the regions.
    regions: Vec<HostRegion>,
    /// Shared memory to read from, and own stores kept apart, while the memory is shared.
    apart: Option<Box<CopyOnWrite>>,
}

/// Compares the bytes that can be read.
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

/// File format: size, and number and bytes of each page that is not zero.
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
            // Bytes outside the memory are ignored.
            if let Some(address) = number.checked_mul(PAGE as u64) {
                let _ = memory.write(address, &bytes);
            }
        }
        memory
    }
}

impl SystemRam {
    /// Creates an empty memory of `size` bytes; nothing is allocated yet.
    #[must_use]
    pub fn new(size: u64) -> Self {
        Self {
            size,
            regions: Vec::new(),
            apart: None,
        }
    }

    /// Begins to share another memory's bytes.
    pub fn begin_sharing(&mut self, apart: CopyOnWrite) {
        self.apart = Some(Box::new(apart));
    }

    pub(crate) fn copy_on_write_mut(&mut self) -> Option<&mut CopyOnWrite> {
        self.apart.as_deref_mut()
    }

    /// Ends the sharing; returns the accesses that were kept apart.
    pub fn end_sharing(&mut self) -> Option<CopyOnWrite> {
        self.apart.take().map(|apart| *apart)
    }

    /// Returns the size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Allocates host memory for everything below `end` now, and not as it is written, so that it
    /// is copied least.
    ///
    /// # Errors
    /// The host has not so much.
    pub fn reserve(&mut self, end: u64) -> Result<(), OutOfMemory> {
        self.visit_regions(end, |region, bytes| match region.bytes().len() < bytes {
            true => region.resize(bytes),
            false => Ok(()),
        })
    }

    /// Allocates host memory below `end` in few large steps, for memory that will grow further.
    ///
    /// # Errors
    /// The host has not so much.
    pub fn provide(&mut self, end: u64) -> Result<(), OutOfMemory> {
        self.visit_regions(end, HostRegion::extend)
    }

    /// Calls `take` with each region below `end` and the number of its bytes there.
    fn visit_regions(
        &mut self,
        end: u64,
        mut take: impl FnMut(&mut HostRegion, usize) -> Result<(), OutOfMemory>,
    ) -> Result<(), OutOfMemory> {
        let end = end.min(self.size);
        let taken: usize = self.regions.iter().map(|region| region.bytes().len()).sum();
        let missing = end.saturating_sub(taken as u64);
        if missing > REGION {
            // A host may promise for single regions what it does not have for all together.
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

    /// Returns bytes as one host slice, if they are contiguous on the host.
    pub(crate) fn span(&self, address: u64, bytes: u64) -> Option<&[u8]> {
        if let Some(apart) = &self.apart {
            return apart.base().span(address, bytes);
        }
        let (region, place) = self.place(address, bytes)?;
        self.regions.get(region)?.bytes().get(place)
    }

    /// Returns bytes as one host slice to be written, if they are contiguous on the host.
    pub(crate) fn span_mut(&mut self, address: u64, bytes: u64) -> Option<&mut [u8]> {
        if self.apart.is_some() {
            return None;
        }
        let (region, place) = self.place(address, bytes)?;
        let region = self.region(region).ok()?;
        region.grow(place.end).ok()?;
        region.bytes_mut().get_mut(place)
    }

    /// Returns the region and the range in it, if the bytes lie in one region.
    fn place(&self, address: u64, bytes: u64) -> Option<(usize, Range<usize>)> {
        self.check(address, bytes).ok()?;
        let first = address % REGION;
        let end = first + bytes;
        (end <= REGION).then_some(((address / REGION) as usize, first as usize..end as usize))
    }

    fn region(&mut self, number: usize) -> Result<&mut HostRegion, OutOfMemory> {
        let more = (number + 1).saturating_sub(self.regions.len());
        if more > 0 {
            // A list of many regions takes much memory by itself, so its allocation may fail too.
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

/// Splits a range of addresses. Calls `part` with region, range in the region, and range in the
/// caller's buffer.
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
