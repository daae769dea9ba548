//! The ways through an array, and which is the fastest.

use super::FftNd;
use crate::fft::error::{FftError, NoShape};
use crate::fft::large::axis::Axis;
use crate::fft::large::pair::Pair;
use crate::fft::large::split::Split;
use crate::fft::plan::butterfly_floor;
use crate::fft::transform::Fft as _;
use crate::job::{by_price, image, load};
use cp2_host::paging::Expected;
use cp2_machine::Cycles;
use std::ops::Range;

/// How the last axis is transformed, and another with it.
#[derive(Debug)]
pub(super) enum Way<'a> {
    /// Alone.
    Rows,
    /// Alone, then this one and the next in one pass.
    Pair(usize, &'a Pair),
    /// Planes of it and of this one as wholes.
    Whole(usize, &'a Axis),
    /// With the last but one or two, one of them divided between two passes.
    Split(&'a Split),
}

/// The fastest way for a batch.
pub(super) struct Fastest<'a> {
    pub way: Way<'a>,
    /// The axes that have passes of their own.
    pub others: Vec<&'a Axis>,
    /// Where the tables of the only one are in DMEM if its program comes while planes are transformed.
    pub tables: Option<u64>,
    pub expected: Expected,
}

impl FftNd {
    /// The axes that have passes of their own, the last ones first; none if one of them has no kernel.
    fn others(&self, way: &Way<'_>) -> Option<Vec<&Axis>> {
        let taken = self.taken(way);
        let axes = self.axes.iter().enumerate().rev();
        let others = axes.filter(|(i, _)| !taken.contains(i));
        others.map(|(_, axis)| axis.as_ref()).collect()
    }

    /// The axes that a way transforms together with the last, or with each other.
    pub(super) fn taken(&self, way: &Way<'_>) -> Range<usize> {
        let axes = self.axes.len();
        match way {
            Way::Rows => axes..axes,
            Way::Whole(i, _) => *i..i + 1,
            Way::Pair(i, _) => *i..i + 2,
            Way::Split(split) => axes + 1 - split.axes()..axes,
        }
    }

    /// All ways, with the axes that have passes of their own.
    pub(super) fn ways(&self) -> Vec<(Way<'_>, Vec<&Axis>)> {
        let whole = self.whole.iter().map(|(i, axis)| Way::Whole(*i, axis));
        let pairs = self.pairs.iter().map(|(i, pair)| Way::Pair(*i, pair));
        let splits = self.splits.iter().map(Way::Split);
        let ways = std::iter::once(Way::Rows).chain(pairs).chain(splits);
        let ways = ways.chain(whole);
        ways.filter_map(|way| {
            let others = self.others(&way)?;
            let wanted = |only: &String| *only == self.in_words(&way, &others);
            self.only
                .as_ref()
                .is_none_or(wanted)
                .then_some((way, others))
        })
        .collect()
    }

    /// Its ways one by one, that which should take the least time for `batch` arrays first.
    ///
    /// # Errors
    /// Rows that cannot be paged.
    pub fn plans(&self, batch: usize) -> Result<Vec<Self>, FftError> {
        let batch = batch.clamp(1, self.max_batch().max(1));
        let mut plans: Vec<(Cycles, Self)> = Vec::new();
        for (way, others) in self.ways() {
            let words = self.in_words(&way, &others);
            // Those that differ in pieces alone are one.
            if plans
                .iter()
                .all(|(_, plan)| plan.only.as_ref() != Some(&words))
            {
                let plan = Self {
                    only: Some(words),
                    ..self.clone()
                };
                plans.push((plan.estimate(batch)?, plan));
            }
        }
        plans.sort_by_key(|(estimate, _)| *estimate);
        let price = |(_, plan): &(Cycles, Self)| plan.expected(batch).ok().map(|price| price.0);
        by_price(&mut plans, |(estimate, _)| estimate.0 as f64, price);
        Ok(plans.into_iter().map(|(_, plan)| plan).collect())
    }

    /// What the rows alone should take.
    fn rows_alone(&self, batch: usize) -> Result<Expected, FftError> {
        let rows = batch.saturating_mul(self.len() / self.rows.len());
        let kernel = load(image(self.rows.kernel()), &self.machine);
        Ok(Expected {
            cycles: self.rows.estimate(rows)?.0 as f64,
            least: butterfly_floor(self.rows.len(), rows, &self.machine).0 as f64 + kernel,
        })
    }

    /// The fastest way for a batch, and what it should take.
    pub(super) fn way(&self, batch: usize) -> Result<Fastest<'_>, FftError> {
        let mut fastest: Option<Fastest<'_>> = None;
        for (way, others) in self.ways() {
            let own = match &way {
                Way::Rows => Some(self.rows_alone(batch)?),
                Way::Pair(_, pair) => {
                    let rows = self.rows_alone(batch)?;
                    let pair = pair.expect(&self.machine, batch as u64);
                    pair.map(|pair| rows.and(pair))
                }
                Way::Whole(_, axis) => Some(axis.expect(&self.machine, batch as u64)),
                Way::Split(split) => split.expect(&self.machine, self.parts(batch, split)),
            };
            let passes = others.iter();
            let passes = passes.map(|axis| axis.expect(&self.machine, batch as u64));
            let Some(mut expected) = own.map(|own| passes.fold(own, Expected::and)) else {
                continue;
            };
            let mut tables = None;
            if let (Way::Whole(_, whole), [next]) = (&way, &others[..])
                && let Some((at, both)) = whole.followed(next, &self.machine, batch as u64)
                && both.cycles < expected.cycles
            {
                (tables, expected) = (Some(at), both);
            }
            let slower = |fastest: &Fastest<'_>| expected.cycles < fastest.expected.cycles;
            if fastest.as_ref().is_none_or(slower) {
                fastest = Some(Fastest {
                    way,
                    others,
                    tables,
                    expected,
                });
            }
        }
        fastest.ok_or_else(|| FftError::Shape {
            shape: self.shape.clone(),
            machine: self.machine.name.clone(),
            cause: NoShape::Pages {
                sections: self.machine.cp2.sections,
            },
        })
    }

    /// A way in words.
    pub(super) fn in_words(&self, way: &Way<'_>, others: &[&Axis]) -> String {
        let first = match way {
            Way::Rows => format!("rows by {}", self.rows.recipe()),
            Way::Pair(_, pair) => format!("rows by {}, {}", self.rows.recipe(), pair.name()),
            Way::Split(split) => split.recipe(),
            Way::Whole(i, _) => {
                let sections = self.machine.cp2.sections;
                let what = match self.axes.len() {
                    1 => "of many arrays".to_owned(),
                    n if n == i + 1 => "planes".to_owned(),
                    n => format!("planes of axes {} and {}", i + 1, n + 1),
                };
                format!("{what} {sections} at a time, one a section and page")
            }
        };
        let others = others.iter().map(|axis| {
            let (length, per) = (axis.lines().len(), axis.lines().per_section());
            format!(", columns of {length}, {per} a section and page")
        });
        first + &others.collect::<String>()
    }
}
