//! DMEM of all sections at once: a line is a transposed square of words, so
//! that a block for each section goes in and out in whole lines.

use crate::layout::{COLUMNS, LINE_BYTES, LINE_LANES, Lane, Line};
use cp2_dma::Spread;
use cp2_machine::LANE_BYTES;

/// Lines of DMEM and where their bytes lie in a buffer.
pub(crate) struct Lines {
    /// The first line.
    pub first: usize,
    /// How many.
    pub count: usize,
    /// Bytes from one section's part of a line to the next section's, in the buffer.
    section: usize,
    /// Bytes from one line to the next.
    step: usize,
}

impl Lines {
    /// The lines of a run, where it is whole lines of [`COLUMNS`] sections.
    pub(crate) fn of(address: u32, bytes: usize, spread: Spread) -> Option<Self> {
        let whole = |n: usize| n % LINE_BYTES == 0;
        let step = match spread.piece {
            LINE_BYTES => spread.step,
            piece if piece == spread.step && whole(piece) => LINE_BYTES,
            _ => return None,
        };
        let lines = whole(address as usize) && whole(bytes);
        (lines && spread.sections as usize == COLUMNS).then_some(Self {
            first: address as usize / LINE_BYTES,
            count: bytes / LINE_BYTES,
            section: spread.section,
            step,
        })
    }

    /// Copies from the buffer into DMEM.
    pub(crate) fn write(&self, dmem: &mut [Line], data: &[u8]) {
        for (i, line) in dmem.iter_mut().enumerate() {
            let row = |s: usize| row(data, i * self.step + s * self.section);
            line.0 = transposed([row(0), row(1), row(2), row(3)]);
        }
    }

    /// Copies from DMEM into the buffer.
    pub(crate) fn read(&self, dmem: &[Line], out: &mut [u8]) {
        for (i, line) in dmem.iter().enumerate() {
            for (s, words) in transposed(line.0).into_iter().enumerate() {
                let at = i * self.step + s * self.section;
                if let Some(to) = out.get_mut(at..at + LINE_BYTES) {
                    for (to, word) in to.chunks_exact_mut(LANE_BYTES).zip(words) {
                        to.copy_from_slice(&word.to_le_bytes());
                    }
                }
            }
        }
    }
}

/// Four words of a buffer; zeros beyond its end.
#[inline]
fn row(data: &[u8], at: usize) -> Lane {
    let bytes = data.get(at..).and_then(<[u8]>::first_chunk::<LINE_BYTES>);
    let bytes = bytes.unwrap_or(&[0; LINE_BYTES]);
    std::array::from_fn(|i| {
        let [a, b, c, d] = [0, 1, 2, 3].map(|j| bytes[LANE_BYTES * i + j]);
        u32::from_le_bytes([a, b, c, d])
    })
}

/// Rows and columns exchanged, in two steps of pairs, which compilers turn into
/// vector operations.
#[inline]
fn transposed([a, b, c, d]: [Lane; LINE_LANES]) -> [Lane; LINE_LANES] {
    let low = |x: Lane, y: Lane| [x[0], y[0], x[1], y[1]];
    let high = |x: Lane, y: Lane| [x[2], y[2], x[3], y[3]];
    let (ac, bd) = (low(a, c), low(b, d));
    let (ac_high, bd_high) = (high(a, c), high(b, d));
    [
        low(ac, bd),
        high(ac, bd),
        low(ac_high, bd_high),
        high(ac_high, bd_high),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::core::Core;
    use cp2_machine::{Bytes, Machine};
    use proptest::prelude::*;

    fn core(sections: usize) -> Core {
        let mut machine = Machine::builtin("vm7").unwrap();
        machine.cp2.sections = sections;
        machine.cp2.dmem = Bytes(512);
        Core::new(&machine)
    }

    #[test]
    fn transposing() {
        let rows: [Lane; 4] = std::array::from_fn(|r| std::array::from_fn(|c| (10 * r + c) as u32));
        let turned = transposed(rows);
        for r in 0..4 {
            for c in 0..4 {
                assert_eq!(turned[r][c], rows[c][r]);
            }
        }
    }

    proptest! {
        #[test]
        fn all_sections_at_once_are_one_after_the_other(
            sections in 1usize..=6, at in 0u32..8, words in 1usize..20, unit in prop::sample::select(vec![4usize, 8, 16, 32]),
            dealt: bool, data in prop::collection::vec(any::<u8>(), 6 * 80 * 4),
        ) {
            let bytes = (words * 4).next_multiple_of(unit);
            let spread = if dealt {
                Spread { sections: sections as u32, section: unit, piece: unit, step: sections * unit }
            } else {
                Spread { sections: sections as u32, section: bytes, piece: bytes, step: bytes }
            };
            let address = at * unit as u32;
            let (mut together, mut apart) = (core(sections), core(sections));
            together.write_each(address, bytes, spread, &data).unwrap();
            for (s, at, range) in spread.pieces(address, bytes) {
                apart.write_dmem(s as usize, at, &data[range]).unwrap();
            }
            prop_assert_eq!(&together, &apart);
            let mut back = vec![0; sections * bytes];
            together.read_each(address, bytes, spread, &mut back).unwrap();
            prop_assert_eq!(&back[..], &data[..sections * bytes]);
            prop_assert!(together.write_each(512, 16, spread, &data).is_err());
        }
    }
}
