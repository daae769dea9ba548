//! Zeroed host memory that costs nothing before it is touched.

use memmap2::MmapMut;
use std::ops::{Deref, DerefMut};

/// Size in bytes from which memory is mapped.
const MAPPED: usize = 1 << 18;

/// Size in bytes from which memory is mapped in huge pages, if the host has them: its kernel then
/// has 512 times fewer page faults to serve. Touched memory is rounded up to 2 MiB, which is little
/// at this size.
const LARGE: usize = 1 << 25;

/// Bytes that are all zero at first.
#[derive(Debug)]
pub(crate) enum ZeroedBytes {
    Allocated(Vec<u8>),
    Mapped(MmapMut),
}

impl ZeroedBytes {
    /// Returns `bytes` zeros; `None` if the host has no room for them.
    pub(crate) fn zeros(bytes: usize) -> Option<Self> {
        if bytes < MAPPED {
            let mut zeros = Vec::new();
            zeros.try_reserve_exact(bytes).ok()?;
            zeros.resize(bytes, 0);
            return Some(Self::Allocated(zeros));
        }
        let mapped = MmapMut::map_anon(bytes).ok()?;
        // A host without huge pages uses its normal pages.
        #[cfg(target_os = "linux")]
        if bytes >= LARGE {
            let _ = mapped.advise(memmap2::Advice::HugePage);
        }
        Some(Self::Mapped(mapped))
    }
}

impl Default for ZeroedBytes {
    fn default() -> Self {
        Self::Allocated(Vec::new())
    }
}

impl Deref for ZeroedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Allocated(bytes) => bytes,
            Self::Mapped(bytes) => bytes,
        }
    }
}

impl DerefMut for ZeroedBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Allocated(bytes) => bytes,
            Self::Mapped(bytes) => bytes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_kinds_are_zeros_to_be_written() {
        for bytes in [0, 1, MAPPED - 1, MAPPED, LARGE - 1, LARGE, LARGE + 64] {
            let mut pages = ZeroedBytes::zeros(bytes).unwrap();
            assert_eq!(matches!(pages, ZeroedBytes::Mapped(_)), bytes >= MAPPED);
            assert_eq!(pages.len(), bytes);
            assert!(pages.iter().all(|&byte| byte == 0));
            if let Some(last) = pages.last_mut() {
                *last = 7;
                assert_eq!(pages[bytes - 1], 7);
            }
        }
    }

    #[test]
    fn what_no_host_has_is_none() {
        for bytes in [1 << 60, usize::MAX] {
            assert!(ZeroedBytes::zeros(bytes).is_none());
        }
    }
}
