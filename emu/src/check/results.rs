//! Stream buffers of pages and stored rows, for the checkers of results.

use crate::check::protection::Area;
use serde::{Deserialize, Serialize};

/// Streams of a page kernel.
///
/// The content of an output's block is undefined when a page begins: a kernel must read there only
/// what it has written at this page, and must write everything that is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Results {
    /// Bytes of an argument block before the address that the kernel gets; the last 16 of them
    /// belong to the page loop. 0 if there is no page loop.
    pub head: u32,
    /// Buffers of each stream that has its own, for page 0, page 1 and so on; the page after the
    /// last buffer takes the first again. Inputs come first.
    pub streams: Vec<Vec<Area>>,
    /// Number of streams that are inputs.
    pub inputs: usize,
    /// Number of pages.
    pub pages: u64,
    /// Places in system memory where results are stored.
    pub rows: Vec<StoredRows>,
}

/// Rows of a result in system memory. Behind each row lie bytes that are stored with it but belong
/// to no array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredRows {
    /// Address of the first row.
    pub system: u64,
    /// Bytes of all rows together.
    pub bytes: u64,
    /// Bytes from one plane to the next.
    pub plane: u64,
    /// Bytes from one row to the next.
    pub pitch: u64,
    /// Bytes of a row that belong to the array.
    pub row: u64,
}

impl StoredRows {
    /// Returns the row, and the byte in it, at an address of system memory, if it lies in these
    /// rows.
    fn place(&self, system: u64) -> Option<(u64, u64)> {
        let at = system.checked_sub(self.system)?;
        let (plane, pitch) = (self.plane.max(1), self.pitch.max(1));
        let row = at / plane * (plane / pitch) + at % plane / pitch;
        (at < self.bytes).then_some((row, at % plane % pitch))
    }
}

impl Results {
    /// True if the argument word at `offset` (from the block's first byte) is an address of a
    /// stream's block: every word from the kernel's address on but the third, which is the number
    /// of blocks.
    pub(crate) fn is_address(&self, offset: u32) -> bool {
        offset >= self.head && offset - self.head != 8
    }

    /// Returns the stream that has a buffer at an address.
    pub(crate) fn stream(&self, address: u32) -> Option<usize> {
        let mut streams = self.streams.iter();
        streams.position(|areas| areas.iter().any(|area| area.overlaps(address, 1)))
    }

    /// Returns the stream whose buffer of page `page` an access touches.
    pub(crate) fn find_touched_stream(&self, page: u64, address: u32, bytes: u32) -> Option<usize> {
        if page >= self.pages {
            return None;
        }
        let mut streams = self.streams.iter();
        streams.position(|areas| {
            let own = areas.get((page % areas.len().max(1) as u64) as usize);
            own.is_some_and(|area| area.overlaps(address, bytes))
        })
    }

    /// True if a stream is an output.
    pub(crate) fn is_output(&self, stream: usize) -> bool {
        stream >= self.inputs
    }

    /// Returns the last page before `page` that had the output buffer at an address.
    pub(crate) fn owner(&self, page: u64, address: u32) -> Option<u64> {
        let outputs = self.streams.get(self.inputs..)?;
        outputs.iter().find_map(|areas| {
            let turn = areas.iter().position(|area| area.overlaps(address, 1))? as u64;
            let (count, last) = (areas.len() as u64, page.min(self.pages).checked_sub(1)?);
            // The largest page that is not after `last` and has this buffer.
            let back = (last % count + count - turn) % count;
            last.checked_sub(back)
        })
    }

    /// Returns the row and byte of a result at an address of system memory, or says that there is
    /// none.
    pub(crate) fn place(&self, system: u64) -> ResultLocation {
        let found = self
            .rows
            .iter()
            .find_map(|rows| Some((rows, rows.place(system)?)));
        match found {
            None => ResultLocation::Elsewhere,
            Some((rows, (_, byte))) if byte >= rows.row => ResultLocation::Behind,
            Some((_, (row, byte))) => ResultLocation::Result { row, byte },
        }
    }
}

/// Kind of data that is stored at an address of system memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultLocation {
    /// An element of a result.
    Result {
        /// Row of the element, counted through all planes.
        row: u64,
        /// First byte of the element in its row.
        byte: u64,
    },
    /// Bytes behind a row that belong to no array.
    Behind,
    /// Memory outside of all results.
    Elsewhere,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn areas(addresses: &[u32]) -> Vec<Area> {
        let area = |&address: &u32| Area { address, bytes: 32 };
        addresses.iter().map(area).collect()
    }

    #[test]
    fn buffers_belong_to_pages_in_turn() {
        let results = Results {
            head: 96,
            streams: vec![areas(&[0, 32]), areas(&[64, 96])],
            inputs: 1,
            pages: 5,
            rows: vec![StoredRows {
                system: 1000,
                bytes: 96,
                plane: 96,
                pitch: 32,
                row: 20,
            }],
        };
        assert_eq!(
            [0, 40, 64, 127, 128].map(|at| results.stream(at)),
            [Some(0), Some(0), Some(1), Some(1), None]
        );
        assert_eq!(results.find_touched_stream(1, 96, 16), Some(1));
        assert_eq!(results.find_touched_stream(0, 96, 16), None);
        assert_eq!(results.find_touched_stream(5, 96, 16), None);
        // At first there is none; later, the last page with that buffer.
        assert_eq!(
            [0, 1, 2, 3, 5, 7].map(|page| results.owner(page, 96)),
            [None, None, Some(1), Some(1), Some(3), Some(3)]
        );
        assert_eq!(
            [1, 2, 3, 5].map(|page| results.owner(page, 64)),
            [Some(0), Some(0), Some(2), Some(4)]
        );
        assert_eq!(results.owner(3, 0), None);
        assert_eq!(results.place(1052), ResultLocation::Behind);
        assert_eq!(
            results.place(1048),
            ResultLocation::Result { row: 1, byte: 16 }
        );
        assert_eq!(results.place(1096), ResultLocation::Elsewhere);
        assert!(results.is_address(96) && results.is_address(112));
        assert!(!results.is_address(104) && !results.is_address(32));
    }
}
