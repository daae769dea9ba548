//! Inputs: random numbers, those of the benchmark, those of a formula.

use super::HimenoProblem;
use crate::case::Case;
use crate::data::NamedArrays;
use crate::random::Random;

/// Data that the iterations begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HimenoData {
    /// Random numbers by the seed, pressure and source of the kind that is asked for.
    Random,
    /// Those of the benchmark, whatever the seed: b = 0, no source, no mask, p = i^2 / (planes - 1)^2.
    Standard,
    /// Numbers of a formula, whatever the seed, where every coefficient, the source and the mask count.
    General,
}

/// Exponent of the largest random numbers, whose squares and their sum are in the range of single precision.
const LARGE: i32 = 30;

impl HimenoData {
    /// All kinds of data.
    pub const ALL: [Self; 3] = [Self::Random, Self::Standard, Self::General];

    /// Returns the name of the data.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::Standard => "standard",
            Self::General => "general",
        }
    }

    /// Returns the data of a name.
    #[must_use]
    pub fn find(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|data| data.name() == name)
    }
}

/// The input arrays in the course of being made.
struct HimenoInput {
    p: Vec<f32>,
    a: Vec<f32>,
    b: Vec<f32>,
    c: Vec<f32>,
    wrk1: Vec<f32>,
    bnd: Vec<f32>,
}

impl HimenoProblem {
    /// Makes an input.
    pub(super) fn make_input(&self, case: Case, seed: u64) -> NamedArrays {
        let made = match self.data {
            HimenoData::Random => self.random(case, seed),
            HimenoData::Standard => self.standard(),
            HimenoData::General => self.general(),
        };
        let [planes, rows, columns] = self.shape;
        let boxes = |n: usize| [n, planes, rows, columns];
        NamedArrays::from_array("p", &self.shape, made.p)
            .add_array("a", &boxes(4), made.a)
            .add_array("b", &boxes(3), made.b)
            .add_array("c", &boxes(3), made.c)
            .add_array("wrk1", &self.shape, made.wrk1)
            .add_array("bnd", &self.shape, made.bnd)
    }

    /// Makes random numbers. Coefficients are near those of the benchmark, so that numbers grow little.
    fn random(&self, case: Case, seed: u64) -> HimenoInput {
        let (n, columns) = (self.count(), self.shape[2]);
        let mut random = Random::new(seed);
        let p = case.floats(&mut random, n, columns, LARGE);
        let wrk1 = case.floats(&mut random, n, columns, LARGE);
        let mut near = |count: usize, centre: f32, width: f32| -> Vec<f32> {
            let all = 0..count * n;
            all.map(|_| centre + width * random.uniform()).collect()
        };
        let mut a = near(3, 1.0, 0.25);
        a.extend(near(1, 1.0 / 6.0, 1.0 / 64.0));
        let b = near(3, 0.0, 0.125);
        let c = near(3, 1.0, 0.25);
        // A tenth of the points is kept.
        let mask = near(1, 0.0, 1.0).into_iter();
        let bnd = mask.map(|x| if x < -0.8 { 0.0 } else { 1.0 }).collect();
        HimenoInput {
            p,
            a,
            b,
            c,
            wrk1,
            bnd,
        }
    }

    fn standard(&self) -> HimenoInput {
        let (n, [planes, rows, columns]) = (self.count(), self.shape);
        let mut p = Vec::with_capacity(n);
        for i in 0..planes {
            let place = i as f64 / (planes - 1) as f64;
            p.resize(p.len() + rows * columns, (place * place) as f32);
        }
        let mut a = vec![1.0; 3 * n];
        a.resize(4 * n, 1.0 / 6.0);
        HimenoInput {
            p,
            a,
            b: vec![0.0; 3 * n],
            c: vec![1.0; 3 * n],
            wrk1: vec![0.0; n],
            bnd: vec![1.0; n],
        }
    }

    fn general(&self) -> HimenoInput {
        let mut a = self.fractions(1..4, |d| 0.75 + 0.5 * d);
        a.resize(4 * self.count(), 1.0 / 6.0);
        HimenoInput {
            p: self.fractions(0..1, |d| d),
            a,
            b: self.fractions(4..7, |d| 0.25 * (d - 0.5)),
            c: self.fractions(7..10, |d| 0.75 + 0.5 * d),
            wrk1: self.fractions(10..11, |d| 0.1 * (d - 0.5)),
            bnd: self.fractions(11..12, |d| if d < 0.1 { 0.0 } else { 1.0 }),
        }
    }

    /// Returns boxes of a function of fractions with the denominator 1021, whose numerators are polynomials of the
    /// indices.
    fn fractions(&self, boxes: std::ops::Range<u64>, of: impl Fn(f64) -> f64) -> Vec<f32> {
        let [planes, rows, columns] = self.shape.map(|n| n as u64);
        let count = boxes.end - boxes.start;
        let mut all = Vec::with_capacity(self.count() * count as usize);
        for m in boxes {
            for (i, j) in (0..planes).flat_map(|i| (0..rows).map(move |j| (i, j))) {
                let row = 31 * i * i + 37 * j * j + 43 * i * j + 59 * m + 61 * m * (i + 2 * j);
                all.extend((0..columns).map(|k| {
                    let own = 41 * k * k + 47 * j * k + 53 * k * i + 61 * m * 3 * k;
                    of(((row + own) % 1021) as f64 / 1021.0) as f32
                }));
            }
        }
        all
    }
}
