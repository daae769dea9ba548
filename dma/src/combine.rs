//! Combinations of what a transfer moves with what its destination holds.

use serde::{Deserialize, Serialize};

/// Effect of a transfer on the bytes of its destination.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Combine {
    /// The bytes that move take the place of those that were there.
    #[default]
    Replace,
    /// The numbers that move are added to those that are there: elements of 4 bytes, binary32, rounded to
    /// nearest even, every NaN 7fc00000. A sum of numbers with one place takes them in the order of the runs.
    Add,
}

/// Bytes of a number that is added.
pub(crate) const SUMMAND: usize = 4;

impl Combine {
    /// Combines the bytes of a destination with those that move there.
    pub fn apply(self, kept: &mut [u8], moved: &[u8]) {
        match self {
            Self::Replace => kept.copy_from_slice(moved),
            Self::Add => {
                let (kept, _) = kept.as_chunks_mut::<SUMMAND>();
                let (moved, _) = moved.as_chunks::<SUMMAND>();
                for (kept, moved) in kept.iter_mut().zip(moved) {
                    let sum = f32::from_le_bytes(*kept) + f32::from_le_bytes(*moved);
                    let bits = if sum.is_nan() {
                        0x7fc0_0000
                    } else {
                        sum.to_bits()
                    };
                    *kept = bits.to_le_bytes();
                }
            }
        }
    }

    /// Returns the name in errors.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Replace => "replace",
            Self::Add => "add",
        }
    }
}
