//! What pages leave to be stored, and the buffers of their streams: what the checkers hold results against.

use crate::check::protection::Area;
use serde::{Deserialize, Serialize};

/// The streams of a page kernel.
///
/// What a block of an output holds when a page begins is undefined: a kernel reads there only what it has written at this page, and writes all that is stored.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Results {
    /// Bytes of an argument block before the address that the kernel gets, of which the last 16 are the page loop's; 0 where there is no page loop.
    pub head: u32,
    /// Of each stream with buffers of its own the one of page 0, of page 1, ...; that behind the last is the first again. Inputs first.
    pub streams: Vec<Vec<Area>>,
    /// How many of these are inputs.
    pub inputs: usize,
    /// Number of pages.
    pub pages: u64,
    /// Where results are stored.
    pub rows: Vec<StoredRows>,
}

/// Rows of a result in system memory, and what lies behind each, which is stored with it and is nobody's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredRows {
    /// Address of the first row.
    pub system: u64,
    /// Bytes of all.
    pub bytes: u64,
    /// Bytes from a plane to the next.
    pub plane: u64,
    /// Bytes from a row to the next.
    pub pitch: u64,
    /// Bytes of a row that are the array's.
    pub row: u64,
}

impl StoredRows {
    /// The row and the byte in it that an address of system memory is, if it is among them.
    fn place(&self, system: u64) -> Option<(u64, u64)> {
        let at = system.checked_sub(self.system)?;
        let (plane, pitch) = (self.plane.max(1), self.pitch.max(1));
        let row = at / plane * (plane / pitch) + at % plane / pitch;
        (at < self.bytes).then_some((row, at % plane % pitch))
    }
}

impl Results {
    /// Whether an argument word is an address of a block: those behind the kernel's address but for the number of blocks. `offset` counts from the block's first byte.
    pub(crate) fn is_address(&self, offset: u32) -> bool {
        offset >= self.head && offset - self.head != 8
    }

    /// The stream in one of whose buffers an address lies.
    pub(crate) fn stream(&self, address: u32) -> Option<usize> {
        let mut streams = self.streams.iter();
        streams.position(|areas| areas.iter().any(|area| area.meets(address, 1)))
    }

    /// The stream whose buffer of page `page` an access meets.
    pub(crate) fn met(&self, page: u64, address: u32, bytes: u32) -> Option<usize> {
        if page >= self.pages {
            return None;
        }
        let mut streams = self.streams.iter();
        streams.position(|areas| {
            let own = areas.get((page % areas.len().max(1) as u64) as usize);
            own.is_some_and(|area| area.meets(address, bytes))
        })
    }

    /// Whether a stream is an output.
    pub(crate) fn is_output(&self, stream: usize) -> bool {
        stream >= self.inputs
    }

    /// The page before `page` that was the last one to have the output's buffer at an address.
    pub(crate) fn owner(&self, page: u64, address: u32) -> Option<u64> {
        let outputs = self.streams.get(self.inputs..)?;
        outputs.iter().find_map(|areas| {
            let turn = areas.iter().position(|area| area.meets(address, 1))? as u64;
            let (count, last) = (areas.len() as u64, page.min(self.pages).checked_sub(1)?);
            // The largest that is not behind the last, and has this turn.
            let back = (last % count + count - turn) % count;
            last.checked_sub(back)
        })
    }

    /// Row and byte of a result that an address of system memory has; none of what is stored beside it, or is no result.
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

/// What is stored at an address of system memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ResultLocation {
    /// An element of a result.
    Result {
        /// Its row, those of all planes counted.
        row: u64,
        /// Its first byte in the row.
        byte: u64,
    },
    /// What a row ends with that is nobody's.
    Behind,
    /// No result.
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
        assert_eq!(results.met(1, 96, 16), Some(1));
        assert_eq!(results.met(0, 96, 16), None);
        assert_eq!(results.met(5, 96, 16), None);
        // Nothing was there yet, and then what the last page with that buffer left.
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
