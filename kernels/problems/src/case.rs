//! Kinds of inputs: random numbers, and extreme ones that break programs.

use crate::random::Random;
use num_complex::Complex32;
use std::fmt;

/// A kind of input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Case {
    /// Uniform numbers in [-1, 1).
    Random,
    /// Zeros only.
    Zeros,
    /// A single 1 in each row, at a random place.
    Impulse,
    /// Random numbers, as large as possible without overflow of a result or an intermediate sum.
    Large,
    /// Random numbers of size 2^-40, whose squares are still normal numbers.
    Small,
    /// Alternating 1 and -1, whose sums cancel.
    Alternating,
    /// Random numbers with one in each row that is 2^20 times as large and hides the rounded rest of the
    /// others.
    Outlier,
    /// Random numbers of size 2^-130, all of them subnormal.
    Subnormal,
    /// Random numbers with an infinity of either sign and a NaN in each row, as far as the row has room for
    /// them.
    NotFinite,
}

impl Case {
    /// All cases.
    pub const ALL: [Self; 9] = [
        Self::Random,
        Self::Zeros,
        Self::Impulse,
        Self::Large,
        Self::Small,
        Self::Alternating,
        Self::Outlier,
        Self::Subnormal,
        Self::NotFinite,
    ];

    /// Cases of finite numbers.
    pub const FINITE: [Self; 8] = [
        Self::Random,
        Self::Zeros,
        Self::Impulse,
        Self::Large,
        Self::Small,
        Self::Alternating,
        Self::Outlier,
        Self::Subnormal,
    ];

    /// Cases whose numbers, and products of two of them, are normal numbers or 0.
    pub const NORMAL: [Self; 7] = [
        Self::Random,
        Self::Zeros,
        Self::Impulse,
        Self::Large,
        Self::Small,
        Self::Alternating,
        Self::Outlier,
    ];

    /// Returns the name of the case.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Zeros => "zeros",
            Self::Impulse => "impulse",
            Self::Large => "large",
            Self::Small => "small",
            Self::Alternating => "alternating",
            Self::Outlier => "outlier",
            Self::Subnormal => "subnormal",
            Self::NotFinite => "not-finite",
        }
    }

    /// Returns the case of a name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|case| case.name() == name)
    }

    /// Returns `count` floats in rows of `row`. [`Case::Large`] numbers are of size `2^most`.
    #[must_use]
    pub fn floats(self, random: &mut Random, count: usize, row: usize, most: i32) -> Vec<f32> {
        let scaled = |exponent: i32, random: &mut Random| {
            let scale = libm::ldexp(1.0, exponent);
            let all = random.uniforms(count).into_iter();
            // Subnormal numbers are rounded, as their products with a power of two are not exact.
            all.map(|x| (f64::from(x) * scale) as f32).collect()
        };
        let row = row.max(1);
        let single = |mut all: Vec<f32>, random: &mut Random, set: &dyn Fn(&mut f32)| {
            for row in all.chunks_mut(row) {
                let place = random.next_u64() % row.len() as u64;
                row.iter_mut().skip(place as usize).take(1).for_each(set);
            }
            all
        };
        match self {
            Self::Random => random.uniforms(count),
            Self::Zeros => vec![0.0; count],
            Self::Impulse => single(vec![0.0; count], random, &|x| *x = 1.0),
            Self::Large => scaled(most, random),
            Self::Small => scaled(-40, random),
            Self::Alternating => {
                let sign = |i: usize| if i.is_multiple_of(2) { 1.0 } else { -1.0 };
                (0..count).map(|i| sign(i % row)).collect()
            }
            Self::Outlier => {
                let all = random.uniforms(count);
                single(all, random, &|x| *x *= 1_048_576.0)
            }
            Self::Subnormal => scaled(-130, random),
            Self::NotFinite => {
                let mut all = random.uniforms(count);
                for special in [f32::INFINITY, f32::NEG_INFINITY, f32::NAN] {
                    all = single(all, random, &|x| *x = special);
                }
                all
            }
        }
    }

    /// Returns `count` complex numbers in rows of `row`. [`Case::Large`] numbers are of size `2^most`.
    #[must_use]
    pub fn complexes(
        self,
        random: &mut Random,
        count: usize,
        row: usize,
        most: i32,
    ) -> Vec<Complex32> {
        if self == Self::Alternating {
            let real = self.floats(random, count, row, most).into_iter();
            return real.map(|x| Complex32::new(x, -x)).collect();
        }
        let (count, row) = (2 * count, 2 * row);
        let parts = self.floats(random, count, row, most);
        let pairs = parts.chunks_exact(2);
        pairs.map(|z| Complex32::new(z[0], z[1])).collect()
    }
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cases_are_what_they_are_called() {
        let make = |case: Case| case.floats(&mut Random::new(3), 60, 20, 50);
        for case in Case::ALL {
            let x = make(case);
            assert_eq!(x.len(), 60);
            assert_eq!(Case::find(case.name()), Some(case));
            let largest = x.iter().fold(0.0f32, |most, x| most.max(x.abs()));
            match case {
                Case::Zeros => assert_eq!(largest, 0.0),
                Case::Subnormal => assert!(x.iter().all(|x| x.is_subnormal() || *x == 0.0)),
                Case::Large => assert!(largest > 2.0f32.powi(48)),
                Case::Small => assert!(largest < 2.0f32.powi(-39)),
                Case::Outlier => {
                    let beyond = |row: &[f32]| row.iter().filter(|x| x.abs() > 1.0).count();
                    assert!(x.chunks(20).all(|row| beyond(row) <= 1));
                    assert!(largest > 1000.0);
                }
                Case::Impulse => {
                    assert!(x.chunks(20).all(|row| row.iter().sum::<f32>() == 1.0));
                }
                Case::Alternating => assert_eq!(x.iter().sum::<f32>(), 0.0),
                Case::Random => assert!(largest < 1.0),
                Case::NotFinite => {
                    let beyond = |row: &[f32]| row.iter().filter(|x| !x.is_finite()).count();
                    assert!(x.chunks(20).all(|row| (1..=3).contains(&beyond(row))));
                }
            }
        }
    }
}
