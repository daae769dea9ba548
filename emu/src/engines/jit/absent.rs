//! The hot tier on hosts it has no code for: nothing is for it.

use crate::core::Guest;
use crate::core::decoded::Decoded;
use crate::core::simd::Simd;

/// Nothing is needed.
#[derive(Debug, Default)]
pub(crate) struct CodeFrame {
    /// Always nothing.
    pub(crate) simd: Simd,
}

/// Nothing is known of a block.
#[derive(Debug, Default)]
pub(crate) struct Tier;

impl Tier {
    pub(crate) fn run(
        &mut self,
        _: &[Decoded],
        _: bool,
        _: &mut Guest<'_>,
        _: &mut CodeFrame,
        _: u64,
        _: &mut dyn FnMut(usize, &mut Guest<'_>) -> bool,
    ) -> Option<u64> {
        None
    }
}
