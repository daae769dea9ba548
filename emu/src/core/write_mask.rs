//! The mask that says which lanes of a section words write.

use serde::{Deserialize, Serialize};

/// Lanes of a quad: bits of a section's mask.
const LANES: usize = 4;

/// Mask of lanes in each section, as the extension `conditional` has it.
///
/// Lane `i` of a quad has bit `i`, lane `i` of a pair too. A kernel begins with all lanes written.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct WriteMask {
    /// `[section]`: a bit for each lane that is written; empty where all lanes of all sections are.
    written: Vec<u8>,
}

impl WriteMask {
    /// True if all lanes of all sections are written.
    pub(crate) fn is_full(&self) -> bool {
        self.written.is_empty()
    }

    /// True if a lane of a pair or a quad is written.
    #[inline]
    pub(crate) fn has(&self, section: usize, lane: usize) -> bool {
        let lanes = self.written.get(section);
        lanes.is_none_or(|lanes| lanes >> lane & 1 != 0)
    }

    /// Writes all lanes from now on.
    pub(crate) fn clear(&mut self) {
        self.written.clear();
    }

    /// Writes those lanes from now on whose word in a quad has its sign bit set: `lanes[section][lane]`.
    pub(crate) fn set_signs(&mut self, lanes: impl Iterator<Item = [u32; LANES]>) {
        self.written.clear();
        self.written.extend(lanes.map(|lanes| {
            let bits = (0..LANES).map(|i| (lanes[i] >> 31) << i);
            bits.sum::<u32>() as u8
        }));
        let full = (1 << LANES) - 1;
        if self.written.iter().all(|&lanes| lanes == full) {
            self.written.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn signs_choose_lanes() {
        let mut mask = WriteMask::default();
        assert!(mask.is_full() && mask.has(3, 3));
        let minus = (-1.0f32).to_bits();
        mask.set_signs([[minus, 0, 0, u32::MAX], [0; 4]].into_iter());
        let lanes = |section| [0, 1, 2, 3].map(|lane| mask.has(section, lane));
        assert_eq!(lanes(0), [true, false, false, true]);
        assert_eq!(lanes(1), [false; 4]);
        assert!(!mask.is_full());
        // A mask of all lanes is the state at launch, so that fast engines take over again.
        mask.set_signs([[minus; 4]; 2].into_iter());
        assert_eq!(mask, WriteMask::default());
    }
}
