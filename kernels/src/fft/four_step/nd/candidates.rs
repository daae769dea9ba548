//! The methods to transform an n-D array, and the choice of the fastest.

use super::FftNd;
use crate::fft::error::{FftError, NoShape};
use crate::fft::fft_trait::Fft as _;
use crate::fft::four_step::axis_pass::AxisPass;
use crate::fft::four_step::divided_axis_planner::DividedAxisPasses;
use crate::fft::four_step::two_axis_pass::TwoAxisPass;
use crate::fft::power_of_two::butterfly_floor;
use crate::job::{by_price, image, load};
use cp2_host::paging::PassEstimate;
use cp2_machine::Cycles;
use std::ops::Range;

/// Method by which the last axis is transformed, maybe with other axes.
#[derive(Debug)]
pub(super) enum NdCandidate<'a> {
    /// The last axis alone.
    Rows,
    /// The last axis alone, then the axis of this index and the next in one pass.
    Pair(usize, &'a TwoAxisPass),
    /// Whole planes of the last axis and the axis of this index.
    Whole(usize, &'a AxisPass),
    /// The last two or three axes, one of them divided between two passes.
    Split(&'a DividedAxisPasses),
}

/// The fastest method for a batch.
pub(super) struct NdChoice<'a> {
    pub way: NdCandidate<'a>,
    /// Passes of the axes that the method leaves.
    pub others: Vec<&'a AxisPass>,
    /// DMEM address of the tables of the only other pass, if its program is prefetched while planes are
    /// transformed.
    pub tables: Option<u64>,
    pub expected: PassEstimate,
}

impl FftNd {
    /// Returns the passes of the axes that a method leaves, the last axes first; none if one of them has no
    /// kernel.
    fn remaining_passes(&self, way: &NdCandidate<'_>) -> Option<Vec<&AxisPass>> {
        let taken = self.transformed_axes(way);
        let axes = self.axes.iter().enumerate().rev();
        let others = axes.filter(|(i, _)| !taken.contains(i));
        others.map(|(_, axis)| axis.as_ref()).collect()
    }

    /// Returns the axes before the last that a method transforms.
    pub(super) fn transformed_axes(&self, way: &NdCandidate<'_>) -> Range<usize> {
        let axes = self.axes.len();
        match way {
            NdCandidate::Rows => axes..axes,
            NdCandidate::Whole(i, _) => *i..i + 1,
            NdCandidate::Pair(i, _) => *i..i + 2,
            NdCandidate::Split(split) => axes + 1 - split.axes()..axes,
        }
    }

    /// Lists all methods, with the passes of the axes that they leave.
    pub(super) fn ways(&self) -> Vec<(NdCandidate<'_>, Vec<&AxisPass>)> {
        let whole = self
            .whole
            .iter()
            .map(|(i, axis)| NdCandidate::Whole(*i, axis));
        let pairs = self
            .pairs
            .iter()
            .map(|(i, pair)| NdCandidate::Pair(*i, pair));
        let splits = self.splits.iter().map(NdCandidate::Split);
        let ways = std::iter::once(NdCandidate::Rows)
            .chain(pairs)
            .chain(splits);
        let ways = ways.chain(whole);
        ways.filter_map(|way| {
            let others = self.remaining_passes(&way)?;
            let wanted = |only: &String| *only == self.describe_method(&way, &others);
            self.only
                .as_ref()
                .is_none_or(wanted)
                .then_some((way, others))
        })
        .collect()
    }

    /// Returns a plan for each method, the one with the smallest price for `batch` arrays first.
    ///
    /// # Errors
    /// Rows that cannot be paged.
    pub fn plans(&self, batch: usize) -> Result<Vec<Self>, FftError> {
        let batch = batch.clamp(1, self.max_batch().max(1));
        let mut plans: Vec<(Cycles, Self)> = Vec::new();
        for (way, others) in self.ways() {
            let words = self.describe_method(&way, &others);
            // Methods that differ only in their pieces have one description.
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

    /// Prices the pass over the rows alone.
    fn rows_alone(&self, batch: usize) -> Result<PassEstimate, FftError> {
        let rows = batch.saturating_mul(self.len() / self.rows.len());
        let kernel = load(image(self.rows.kernel()), &self.machine);
        Ok(PassEstimate {
            cycles: self.rows.estimate(rows)?.0 as f64,
            least: butterfly_floor(self.rows.len(), rows, &self.machine).0 as f64 + kernel,
        })
    }

    /// Returns the fastest method for a batch, with its price.
    pub(super) fn way(&self, batch: usize) -> Result<NdChoice<'_>, FftError> {
        let mut fastest: Option<NdChoice<'_>> = None;
        for (way, others) in self.ways() {
            let own = match &way {
                NdCandidate::Rows => Some(self.rows_alone(batch)?),
                NdCandidate::Pair(_, pair) => {
                    let rows = self.rows_alone(batch)?;
                    let pair = pair.expect(&self.machine, batch as u64);
                    pair.map(|pair| rows.and(pair))
                }
                NdCandidate::Whole(_, axis) => Some(axis.expect(&self.machine, batch as u64)),
                NdCandidate::Split(split) => split.expect(&self.machine, self.parts(batch, split)),
            };
            let passes = others.iter();
            let passes = passes.map(|axis| axis.expect(&self.machine, batch as u64));
            let Some(mut expected) = own.map(|own| passes.fold(own, PassEstimate::and)) else {
                continue;
            };
            let mut tables = None;
            if let (NdCandidate::Whole(_, whole), [next]) = (&way, &others[..])
                && let Some((at, both)) = whole.price_prefetch(next, &self.machine, batch as u64)
                && both.cycles < expected.cycles
            {
                (tables, expected) = (Some(at), both);
            }
            let slower = |fastest: &NdChoice<'_>| expected.cycles < fastest.expected.cycles;
            if fastest.as_ref().is_none_or(slower) {
                fastest = Some(NdChoice {
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

    /// Describes a method in words.
    pub(super) fn describe_method(&self, way: &NdCandidate<'_>, others: &[&AxisPass]) -> String {
        let first = match way {
            NdCandidate::Rows => format!("rows by {}", self.rows.recipe()),
            NdCandidate::Pair(_, pair) => {
                format!("rows by {}, {}", self.rows.recipe(), pair.name())
            }
            NdCandidate::Split(split) => split.recipe(),
            NdCandidate::Whole(i, _) => {
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
