//! Allocation of DMEM: named regions at free addresses.

use serde::{Deserialize, Serialize};

/// A named stretch of DMEM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DmemRegion {
    /// Name in listings.
    pub name: String,
    /// Byte address.
    pub address: u64,
    /// Bytes.
    pub bytes: u64,
}

/// The DMEM of one section, equal in all: disjoint regions, ascending.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DmemMap {
    /// Size of DMEM.
    pub bytes: u64,
    /// Regions that are taken.
    pub regions: Vec<DmemRegion>,
}

impl DmemMap {
    /// Creates an empty map.
    #[must_use]
    pub fn new(bytes: u64) -> Self {
        Self {
            bytes,
            regions: Vec::new(),
        }
    }

    /// Takes a fixed range; returns `false` if it overlaps another or leaves DMEM.
    #[must_use]
    pub fn reserve(&mut self, name: &str, address: u64, bytes: u64) -> bool {
        let Some(end) = address.checked_add(bytes).filter(|&end| end <= self.bytes) else {
            return false;
        };
        if self
            .regions
            .iter()
            .any(|r| address < r.address + r.bytes && r.address < end)
        {
            return false;
        }
        let at = self.regions.partition_point(|r| r.address <= address);
        self.regions.insert(
            at,
            DmemRegion {
                name: name.to_string(),
                address,
                bytes,
            },
        );
        true
    }

    /// Places `bytes` at the lowest free address that is a multiple of `align`.
    pub fn place(&mut self, name: &str, bytes: u64, align: u64) -> Option<u64> {
        let align = align.max(1);
        let mut free = 0u64;
        let mut found = None;
        for region in &self.regions {
            let start = free.checked_next_multiple_of(align)?;
            if start.checked_add(bytes)? <= region.address {
                found = Some(start);
                break;
            }
            free = free.max(region.address + region.bytes);
        }
        let start = match found {
            Some(start) => start,
            None => free.checked_next_multiple_of(align)?,
        };
        self.reserve(name, start, bytes).then_some(start)
    }

    /// Returns the bytes that are taken.
    #[must_use]
    pub fn used(&self) -> u64 {
        self.regions.iter().map(|r| r.bytes).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn gaps_are_filled_lowest_first() {
        let mut map = DmemMap::new(256);
        assert!(map.reserve("table", 32, 32));
        assert_eq!(map.place("a", 32, 16), Some(0));
        assert_eq!(map.place("b", 48, 64), Some(64));
        assert_eq!(map.place("c", 16, 16), Some(112));
        assert_eq!(map.place("d", 200, 16), None);
        assert!(
            !map.reserve("x", 40, 4)
                && !map.reserve("y", 250, 16)
                && !map.reserve("z", u64::MAX, 2)
        );
    }

    proptest! {
        #[test]
        fn regions_never_overlap(wishes in prop::collection::vec((1u64..300, 0u32..8, any::<bool>(), 0u64..1024), 1..20)) {
            let mut map = DmemMap::new(1024);
            let mut taken = vec![false; 1024];
            for (bytes, shift, fixed, address) in wishes {
                let before = map.clone();
                let at = if fixed {
                    map.reserve("r", address, bytes).then_some(address)
                } else {
                    map.place("p", bytes, 1 << shift)
                };
                if let Some(at) = at {
                    prop_assert!(fixed || at % (1 << shift) == 0);
                    for slot in &mut taken[at as usize..(at + bytes) as usize] {
                        prop_assert!(!*slot);
                        *slot = true;
                    }
                } else {
                    prop_assert_eq!(map.clone(), before);
                }
            }
        }
    }
}
