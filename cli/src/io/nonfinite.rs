//! Counts NaNs and infinities among values as they are read.
//!
//! No array is read for that purpose alone.

use cp2_host::{SourceError, ValueSource};
use num_complex::Complex32;

/// A value that may be a NaN or an infinity.
pub(crate) trait MaybeNonFinite {
    /// True if all parts of the value are finite.
    fn is_finite(&self) -> bool;
}

impl MaybeNonFinite for f32 {
    fn is_finite(&self) -> bool {
        f32::is_finite(*self)
    }
}

impl MaybeNonFinite for Complex32 {
    fn is_finite(&self) -> bool {
        self.re.is_finite() && self.im.is_finite()
    }
}

/// Count and first place of the values of an array that are not finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NonFinite {
    /// Number of values seen.
    all: u64,
    /// Number of values that are not finite.
    pub(crate) count: u64,
    /// Index of the first value that is not finite.
    first: u64,
}

impl NonFinite {
    /// Counts the non-finite values of an array in memory.
    pub(crate) fn count_values<T: MaybeNonFinite>(values: &[T]) -> Self {
        let mut seen = Self::default();
        seen.note(values);
        seen
    }

    /// Counts further values.
    fn note<T: MaybeNonFinite>(&mut self, values: &[T]) {
        for (at, _) in (self.all..).zip(values).filter(|(_, v)| !v.is_finite()) {
            if self.count == 0 {
                self.first = at;
            }
            self.count += 1;
        }
        self.all += values.len() as u64;
    }

    /// Returns the index of the first non-finite value, if there is one.
    pub(crate) fn first(&self) -> Option<u64> {
        (self.count > 0).then_some(self.first)
    }

    /// Formats the count, for example `1 of 20000 samples is not finite`.
    pub(crate) fn text(&self, what: &str) -> String {
        let is = if self.count == 1 { "is" } else { "are" };
        format!("{} of {} {what} {is} not finite", self.count, self.all)
    }
}

/// Source of values that are counted as they are read.
pub(crate) struct Noted<'a, T> {
    source: &'a mut dyn ValueSource<T>,
    pub(crate) seen: NonFinite,
}

impl<'a, T> Noted<'a, T> {
    pub(crate) fn new(source: &'a mut dyn ValueSource<T>) -> Self {
        Self {
            source,
            seen: NonFinite::default(),
        }
    }
}

impl<T: MaybeNonFinite> ValueSource<T> for Noted<'_, T> {
    fn count(&self) -> u64 {
        self.source.count()
    }

    fn fill_values(&mut self, values: &mut [T]) -> Result<(), SourceError> {
        self.source.fill_values(values)?;
        self.seen.note(values);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn whatever_the_parts_the_first_and_all_are_found(
            bits in proptest::collection::vec(prop_oneof![Just(f32::NAN), Just(f32::NEG_INFINITY), Just(1.0f32), Just(-0.0)], 1..200),
            part in 1_usize..50,
        ) {
            let mut source = &bits[..];
            let mut noted = Noted::new(&mut source);
            let mut out = vec![0.0; bits.len()];
            for part in out.chunks_mut(part) {
                noted.fill_values(part).unwrap();
            }
            let places: Vec<usize> = (0..bits.len()).filter(|&i| bits[i].is_nan() || bits[i].is_infinite()).collect();
            prop_assert_eq!(noted.seen.count, places.len() as u64);
            prop_assert_eq!(noted.seen.first(), places.first().map(|&i| i as u64));
            prop_assert_eq!(noted.seen, NonFinite::count_values(&bits));
        }
    }
}
