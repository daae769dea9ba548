//! System memory: the control CPU's, allocated page by page as it is touched.

use serde::{Deserialize, Serialize};

/// Bytes per page of the lazy allocation. Not a property of the machine.
const PAGE: u64 = 64 * 1024;

/// Pages of a directory: 64 MiB of memory.
const PAGES: u64 = 1024;

/// Pages that were written; the others are zero.
type Directory = Vec<Option<Box<[u8]>>>;

/// An access outside the machine's system memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[error(
    "system memory ends at {size:#x}: {bytes} bytes at {address:#x} lie outside; \
     use a smaller problem or a machine with more memory"
)]
pub struct OutOfMemory {
    /// First byte of the access.
    pub address: u64,
    /// Its length.
    pub bytes: u64,
    /// Size of the memory.
    pub size: u64,
}

/// Byte-addressed system memory; bytes never written read as zero.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Contents", into = "Contents")]
pub struct SystemMemory {
    size: u64,
    /// As far as memory was written.
    directories: Vec<Option<Directory>>,
    allocated: u64,
}

/// Size, number and bytes of the pages that were written: the form in files.
#[derive(Serialize, Deserialize)]
struct Contents {
    size: u64,
    pages: Vec<(u64, Box<[u8]>)>,
}

impl From<SystemMemory> for Contents {
    fn from(memory: SystemMemory) -> Self {
        let directories = (0..).zip(memory.directories);
        let pages = directories.flat_map(|(d, directory)| {
            let pages = (d * PAGES..).zip(directory.into_iter().flatten());
            pages.filter_map(|(number, page)| Some((number, page?)))
        });
        Self {
            size: memory.size,
            pages: pages.collect(),
        }
    }
}

impl From<Contents> for SystemMemory {
    fn from(contents: Contents) -> Self {
        let mut memory = Self::new(contents.size);
        for (number, bytes) in contents.pages {
            // What lies outside the memory, or is no page, is no contents.
            if let Some(address) = number.checked_mul(PAGE) {
                let _ = memory.write(address, &bytes);
            }
        }
        memory
    }
}

impl SystemMemory {
    /// An empty memory of `size` bytes; nothing is allocated yet.
    #[must_use]
    pub fn new(size: u64) -> Self {
        Self {
            size,
            directories: Vec::new(),
            allocated: 0,
        }
    }

    /// Size in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Bytes of host memory held.
    #[must_use]
    pub fn allocated(&self) -> u64 {
        self.allocated * PAGE
    }

    /// Copies out `out.len()` bytes from `address`.
    ///
    /// # Errors
    /// The range leaves the memory; nothing is copied.
    pub fn read(&self, address: u64, out: &mut [u8]) -> Result<(), OutOfMemory> {
        self.check(address, out.len() as u64)?;
        for_each_page(address, out.len(), |page, offset, range| {
            let part = &mut out[range];
            match self.page(page) {
                Some(bytes) => part.copy_from_slice(&bytes[offset..offset + part.len()]),
                None => part.fill(0),
            }
        });
        Ok(())
    }

    /// Copies `bytes` to `address`.
    ///
    /// # Errors
    /// The range leaves the memory; nothing is written.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), OutOfMemory> {
        self.check(address, bytes.len() as u64)?;
        for_each_page(address, bytes.len(), |page, offset, range| {
            let part = &bytes[range];
            let page = self.page_mut(page);
            page[offset..offset + part.len()].copy_from_slice(part);
        });
        Ok(())
    }

    fn page(&self, number: u64) -> Option<&[u8]> {
        let directory = self.directories.get((number / PAGES) as usize)?.as_ref()?;
        directory.get((number % PAGES) as usize)?.as_deref()
    }

    /// The page, made where it was not written before.
    fn page_mut(&mut self, number: u64) -> &mut [u8] {
        let (d, p) = ((number / PAGES) as usize, (number % PAGES) as usize);
        if self.directories.len() <= d {
            self.directories.resize(d + 1, None);
        }
        let directory = self.directories[d].get_or_insert_with(|| vec![None; PAGES as usize]);
        let allocated = &mut self.allocated;
        directory[p].get_or_insert_with(|| {
            *allocated += 1;
            vec![0; PAGE as usize].into()
        })
    }

    fn check(&self, address: u64, bytes: u64) -> Result<(), OutOfMemory> {
        match address.checked_add(bytes) {
            Some(end) if end <= self.size => Ok(()),
            _ => Err(OutOfMemory {
                address,
                bytes,
                size: self.size,
            }),
        }
    }
}

/// Splits a range into page number, offset in the page, and range of the caller's buffer.
fn for_each_page(
    address: u64,
    len: usize,
    mut part: impl FnMut(u64, usize, std::ops::Range<usize>),
) {
    let mut done = 0;
    while done < len {
        let at = address + done as u64;
        let offset = (at % PAGE) as usize;
        let n = (PAGE as usize - offset).min(len - done);
        part(at / PAGE, offset, done..done + n);
        done += n;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_was_written_across_pages_and_zero_elsewhere() {
        let mut memory = SystemMemory::new(1 << 30);
        let data: Vec<u8> = (0..200_000u32).map(|i| (i * 7) as u8).collect();
        memory.write(PAGE - 5, &data).unwrap();
        let mut back = vec![1; data.len() + 2];
        memory.read(PAGE - 6, &mut back).unwrap();
        assert_eq!((back[0], back[back.len() - 1]), (0, 0));
        assert_eq!(&back[1..=data.len()], &data[..]);
        assert_eq!(memory.allocated(), 5 * PAGE);
    }

    #[test]
    fn refuses_ranges_that_leave_the_memory() {
        let mut memory = SystemMemory::new(100);
        assert!(memory.write(100, &[]).is_ok());
        assert_eq!(
            memory.write(97, &[0; 4]),
            Err(OutOfMemory {
                address: 97,
                bytes: 4,
                size: 100
            })
        );
        assert!(memory.read(u64::MAX, &mut [0; 2]).is_err());
    }
}
