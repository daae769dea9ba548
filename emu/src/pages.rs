//! Zeros that the host need not write before somebody touches them.

use memmap2::MmapMut;
use std::ops::{Deref, DerefMut};

/// Bytes from which memory is mapped in huge pages, where the host has them: its kernel then has five hundred times fewer pages to find.
/// What is touched is rounded up to 2 MiB, which is little beside as much.
const LARGE: usize = 1 << 24;

/// Bytes that were all zero.
#[derive(Debug)]
pub(crate) enum Pages {
    Allocated(Vec<u8>),
    Mapped(MmapMut),
}

impl Pages {
    /// So many zeros.
    pub(crate) fn zeros(bytes: usize) -> Self {
        let mapped = (bytes >= LARGE).then(|| MmapMut::map_anon(bytes).ok());
        match mapped.flatten() {
            Some(mapped) => {
                // A host that has none gives its own pages.
                #[cfg(target_os = "linux")]
                let _ = mapped.advise(memmap2::Advice::HugePage);
                Self::Mapped(mapped)
            }
            None => Self::Allocated(vec![0; bytes]),
        }
    }
}

impl Default for Pages {
    fn default() -> Self {
        Self::Allocated(Vec::new())
    }
}

impl Deref for Pages {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::Allocated(bytes) => bytes,
            Self::Mapped(bytes) => bytes,
        }
    }
}

impl DerefMut for Pages {
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
        for bytes in [0, 1, LARGE - 1, LARGE, LARGE + 64] {
            let mut pages = Pages::zeros(bytes);
            assert_eq!(matches!(pages, Pages::Mapped(_)), bytes >= LARGE);
            assert_eq!(pages.len(), bytes);
            assert!(pages.iter().all(|&byte| byte == 0));
            if let Some(last) = pages.last_mut() {
                *last = 7;
                assert_eq!(pages[bytes - 1], 7);
            }
        }
    }
}
