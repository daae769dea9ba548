//! Records which tier of an engine ran which words, for tests.
//!
//! In builds with tests the record is `crate::testing::ExecutedWords`; other builds keep nothing.

#[cfg(not(any(test, feature = "testing")))]
use crate::core::decoded::Decoded;

/// Part of a block engine that ran a word.
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

/// Stand-in for the record in builds without tests: keeps nothing.
#[cfg(not(any(test, feature = "testing")))]
#[derive(Debug, Default)]
pub(crate) struct Account;

#[cfg(not(any(test, feature = "testing")))]
impl Account {
    /// True if the record keeps anything.
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
