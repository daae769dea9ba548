//! Stand-in for the hot tier on hosts that no code is emitted for.

use crate::core::Guest;
use crate::core::decoded::Decoded;
use crate::core::simd::Simd;

/// State of emitted code: none is needed.
#[derive(Debug, Default)]
pub(crate) struct CodeFrame {
    /// Always [`Simd::None`].
    pub(crate) simd: Simd,
}

impl CodeFrame {
    /// Returns the number of blocks compiled for this frame: none.
    #[allow(clippy::unused_self, reason = "the interface of hosts with code")]
    pub(crate) fn compiled(&self) -> usize {
        0
    }
}

/// State of a block in this tier: there is none.
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
