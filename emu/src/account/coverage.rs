//! Where an engine tells who ran which words. Tests want to know
//! (`crate::testing::Ran`); other builds have nothing to keep.

#[cfg(not(any(test, feature = "testing")))]
use crate::core::decoded::Decoded;

/// Who ran a word of an engine that runs blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EngineTier {
    /// The reference engine's step.
    Step,
    /// The portable tier.
    Portable,
    /// Emitted code.
    Emitted,
}

#[cfg(any(test, feature = "testing"))]
pub(crate) use crate::testing::ExecutedWords as Account;

/// Keeps nothing.
#[cfg(not(any(test, feature = "testing")))]
#[derive(Debug, Default)]
pub(crate) struct Account;

#[cfg(not(any(test, feature = "testing")))]
impl Account {
    /// Whether there is anything to tell.
    pub(crate) const KEPT: bool = false;

    #[inline(always)]
    pub(crate) fn block(&mut self, _: &[Decoded], _: u64, _: usize, _: EngineTier, _: usize) {}

    #[inline(always)]
    pub(crate) fn word(&mut self, _: &Decoded, _: EngineTier, _: usize) {}

    #[inline(always)]
    pub(crate) fn not_emitted(&mut self, _: &Decoded) {}

    #[inline(always)]
    pub(crate) fn take(&mut self, _: &mut Self) {}
}
