//! NaNs and infinities among the values of an array, noted as they are given: no array is read for them alone.

use cp2_host::{SourceError, ValueSource};
use num_complex::Complex32;

/// A value that may be a NaN or an infinity.
pub(crate) trait MaybeNonFinite {
    /// Whether all of its parts are finite.
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

/// Which values of an array are not finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct NonFinite {
    /// Values seen.
    all: u64,
    /// How many of them are not finite.
    pub(crate) count: u64,
    /// The place of the first that is not.
    first: u64,
}

impl NonFinite {
    /// Those of an array that is there.
    pub(crate) fn count_values<T: MaybeNonFinite>(values: &[T]) -> Self {
        let mut seen = Self::default();
        seen.note(values);
        seen
    }

    /// Goes on with the values that follow.
    fn note<T: MaybeNonFinite>(&mut self, values: &[T]) {
        for (at, _) in (self.all..).zip(values).filter(|(_, v)| !v.is_finite()) {
            if self.count == 0 {
                self.first = at;
            }
            self.count += 1;
        }
        self.all += values.len() as u64;
    }

    /// The place of the first, if there is one.
    pub(crate) fn first(&self) -> Option<u64> {
        (self.count > 0).then_some(self.first)
    }

    /// `1 of 20000 samples is not finite`, as far as there is one.
    pub(crate) fn text(&self, what: &str) -> String {
        let is = if self.count == 1 { "is" } else { "are" };
        format!("{} of {} {what} {is} not finite", self.count, self.all)
    }
}

/// A source whose values are looked at as they are given.
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
