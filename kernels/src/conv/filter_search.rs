//! The search for a filter: which kernels can, and their expected times.

use super::block_filter::{BlockFilter, COMPLEX, FilterSample};
use super::candidates::{ConvCandidate, ConvChoice};
use super::direct;
use super::error::ConvError;
use super::mixed_block_lengths;
use super::overlap_save::{self, BlockCover, LENGTH_BITS, issues, lead};
use super::overlap_save_long;
use super::overlap_save_ring;
use super::request::{AllowedMethods, FilterRequest};
use super::search_order::FoundFilters;
use super::tail;
use super::transposed_form;
use crate::job::{by_price, relayout_cycles};
use cp2_asm::Program;
use cp2_machine::Machine;
use num_complex::Complex32;
use std::sync::Arc;

/// Number of taps above which blocks longer than local memory are considered. They go over system memory
/// three times, which pays where shorter blocks are mostly overlap.
const LONG_BLOCK_TAPS: usize = 256;

/// Number of taps up to which the longest blocks of local memory (4096) are not considered: with few taps
/// shorter blocks are faster.
const MAX_SHORT_BLOCK_TAPS: usize = 128;

/// Kernels found for a request, and their expected times.
pub(super) struct FilterSearch<'a> {
    wanted: FilterRequest<'a>,
    ways: AllowedMethods,
    machine: &'a Arc<Machine>,
    /// Kernels that can be taken, with their expected cycles.
    made: Vec<(f64, BlockFilter)>,
    candidates: Vec<ConvCandidate>,
    /// Reason why a kernel was refused, for the case that none is taken.
    refused: Option<ConvError>,
}

impl<'a> FilterSearch<'a> {
    pub(super) fn new(
        wanted: FilterRequest<'a>,
        ways: AllowedMethods,
        machine: &'a Arc<Machine>,
    ) -> Self {
        Self {
            wanted,
            ways,
            machine,
            made: Vec::new(),
            candidates: Vec::new(),
            refused: None,
        }
    }

    /// Returns whether no kernel can be taken so far.
    pub(super) fn is_empty(&self) -> bool {
        self.made.is_empty()
    }

    /// Adds a kernel that keeps one of each `keep` outputs, unless its program or data are too large for the
    /// machine.
    fn enter<T: FilterSample>(
        &mut self,
        kernel: &str,
        filter: Result<BlockFilter, ConvError>,
        keep: usize,
    ) -> Result<(), ConvError> {
        let filter = match filter {
            Ok(filter) => filter.with_decimation(keep),
            Err(ConvError::Unfit(unfit)) if unfit.is_refusal() => {
                self.candidates.push(ConvCandidate {
                    kernel: kernel.to_owned(),
                    cycles: None,
                    made: true,
                });
                self.refused.get_or_insert(ConvError::Unfit(unfit));
                return Ok(());
            }
            Err(error) => return Err(error),
        };
        let layout = filter.layout::<T>(self.wanted.channels, self.wanted.samples);
        let fits = filter.check_room::<T>(&self.wanted.extent::<T>(), self.machine);
        let cycles = match fits.and_then(|()| filter.estimate(layout.total)) {
            Ok(cycles) => cycles.map(|cycles| cycles + self.selection(&filter, layout.total)),
            // A lack of memory is reported before other reasons: the user can change that more easily.
            Err(error) => {
                let memory = matches!(error, ConvError::OutOfMemory { .. });
                if memory || self.refused.is_none() {
                    self.refused = Some(error);
                }
                None
            }
        };
        self.candidates.push(ConvCandidate {
            kernel: filter.name(),
            cycles,
            made: true,
        });
        self.made.extend(cycles.map(|cycles| (cycles, filter)));
        Ok(())
    }

    /// Adds the kernel with blocks of `n` laid out by `cover`, unless even its arithmetic takes as long as a
    /// kernel that has been found: making a kernel takes longer than choosing one.
    fn enter_blocks<T: FilterSample>(
        &mut self,
        (n, cover): (usize, BlockCover),
        machine: &Arc<Machine>,
    ) -> Result<(), ConvError> {
        let name = format!("overlap-save {n}");
        let least = self.least::<T>(n, &cover, machine, usize::div_ceil);
        // Blocks of 4096 may leave the last blocks of a signal to a shorter kernel: only whole rounds count.
        let whole = self.least::<T>(n, &cover, machine, std::ops::Div::div);
        let bar = if n == overlap_save_ring::N && whole > 0.0 {
            whole
        } else {
            least
        };
        let keep = self.wanted.rate.decimate();
        if self.made.iter().any(|made| made.0 <= bar) {
            let blocks = cover.filter(n, &name, Program::default(), machine);
            self.candidates.push(ConvCandidate {
                kernel: blocks.with_decimation(keep).name(),
                cycles: Some(least),
                made: false,
            });
            return Ok(());
        }
        let filter = overlap_save::filter(self.wanted.taps, n, cover, &name, machine);
        self.enter::<T>(&name, filter, keep)
    }

    /// Returns the approximate cycles of selecting the outputs that are kept from all.
    fn selection(&self, filter: &BlockFilter, blocks: usize) -> f64 {
        if filter.keep == 1 {
            return 0.0;
        }
        let all = blocks.saturating_mul(filter.out);
        let kept = self.wanted.channels * self.wanted.outputs().len();
        relayout_cycles(all.saturating_add(kept) as u64 * COMPLEX, self.machine)
    }

    /// Adds overlap-save with blocks of all lengths that may be the fastest.
    pub(super) fn enter_transforms<T: FilterSample>(&mut self) -> Result<(), ConvError> {
        let machine = self.machine;
        // Outputs at another rate are some of those at the samples' own rate.
        let wanted = self.wanted.full();
        let (taps, samples, keep) = (wanted.taps, wanted.samples, self.wanted.rate.decimate());
        let lengths = || LENGTH_BITS.map(|b| 1usize << b);
        let lead = lead(taps.len(), machine);
        // The longest blocks are the fastest only with many taps.
        let useful =
            |n: usize| lead < n && (n < overlap_save_ring::N || taps.len() > MAX_SHORT_BLOCK_TAPS);
        let blocks = lengths().filter(|&n| useful(n));
        let mut blocks: Vec<_> = blocks
            .map(|n| (n, BlockCover::new_overlapping(lead, n)))
            .collect();
        let least =
            |(n, cover): &(usize, BlockCover)| self.least::<T>(*n, cover, machine, usize::div_ceil);
        blocks.sort_by(|a, b| least(a).total_cmp(&least(b)));
        for (n, cover) in blocks {
            self.enter_blocks::<T>((n, cover), machine)?;
        }
        // Blocks that go over system memory three times pay where shorter blocks are mostly overlap.
        let cuts = || overlap_save_long::CUTS.into_iter();
        for cut in cuts().filter(|cut| taps.len() > LONG_BLOCK_TAPS && cut.suits_taps(taps.len())) {
            let name = overlap_save_long::title(cut);
            if keep > 1
                && self
                    .made
                    .iter()
                    .any(|made| made.0 <= arithmetic::<T>(&wanted, cut.numbers(), machine))
            {
                continue;
            }
            match overlap_save_long::filters(taps, cut, machine) {
                Ok(filters) => {
                    let suited =
                        |f: &BlockFilter| f.has_enough_blocks::<T>(wanted.channels, samples);
                    for filter in filters.into_iter().filter(suited) {
                        self.enter::<T>(&name, Ok(filter), keep)?;
                    }
                }
                Err(error) => self.enter::<T>(&name, Err(error), keep)?,
            }
        }
        let whole = wanted.pair_real_samples::<T>(machine).unwrap_or(wanted);
        let (outputs, length) = (whole.outputs(), whole.samples);
        if let Some(n) =
            lengths().find(|&n| overlap_save::fits_one_block(n, length, taps.len(), &outputs))
        {
            let name = format!("one block of {n} a channel");
            let cover = BlockCover::new_single_block(n, outputs, lead, machine);
            let filter = overlap_save::filter(taps, n, cover, &name, machine);
            self.enter::<T>(&name, filter, keep)?;
        }
        Ok(())
    }

    /// Adds direct filters. If exact filters are preferred, only those are added, or where none fits, all.
    pub(super) fn enter_direct<T: FilterSample>(&mut self) -> Result<(), ConvError> {
        let every = self.wanted.rate.decimate();
        if self.ways.exact() {
            self.enter_schedules::<T>(true, every)?;
            // Outputs at another rate are some of those at a rate that divides it; at the samples' own rate
            // taps need no padding.
            for divisor in direct::divisors(every) {
                if !self.made.is_empty() {
                    break;
                }
                self.enter_schedules::<T>(true, divisor)?;
            }
        }
        if self.ways == AllowedMethods::Exact || (self.ways.exact() && !self.made.is_empty()) {
            return Ok(());
        }
        self.enter_schedules::<T>(false, every)?;
        // Padded parts may not fit where exact ones do.
        if self.made.is_empty() && !self.ways.exact() {
            self.enter_schedules::<T>(true, every)?;
        }
        Ok(())
    }

    /// Adds direct filters with an output every `every` samples, from which the outputs wanted are selected.
    fn enter_schedules<T: FilterSample>(
        &mut self,
        exact: bool,
        every: usize,
    ) -> Result<(), ConvError> {
        let FilterRequest { taps, rate, .. } = self.wanted;
        let (machine, keep) = (self.machine, rate.decimate() / every.max(1));
        for direct in direct::schedules(taps, (every, rate.interpolate()), exact, machine) {
            for tiles in direct.sizes(machine) {
                self.enter::<T>("direct", direct.filter(tiles, machine), keep)?;
            }
        }
        let suited = |f: &Result<BlockFilter, _>| !exact || f.as_ref().is_ok_and(|f| f.exact);
        for filter in transposed_form::filters(taps, every, machine) {
            if suited(&filter) {
                self.enter::<T>("direct", filter, keep)?;
            }
        }
        Ok(())
    }

    /// Adds the fastest sequence of two kernels, and the fastest division of each channel into blocks of
    /// several lengths, if they are faster than all kernels with one length.
    pub(super) fn join<T: FilterSample>(&mut self) -> Result<(), ConvError> {
        let (machine, wanted) = (self.machine, self.wanted.full());
        let joint = tail::faster::<T>(&wanted, &self.made, machine)?;
        let best = self.made.iter().map(|made| made.0);
        let best = best.fold(f64::INFINITY, f64::min);
        let lines = match wanted.pair_real_samples::<T>(machine) {
            Some(folded) => mixed_block_lengths::faster::<Complex32>(&folded, best, machine)?,
            None => mixed_block_lengths::faster::<T>(&wanted, best, machine)?,
        };
        for (cycles, filter) in joint.into_iter().chain(lines) {
            let filter = filter.with_decimation(self.wanted.rate.decimate());
            let blocks = filter.layout::<T>(wanted.channels, wanted.samples).total;
            let cycles = cycles + self.selection(&filter, blocks);
            self.candidates.push(ConvCandidate {
                kernel: filter.name(),
                cycles: Some(cycles),
                made: true,
            });
            self.made.push((cycles, filter));
        }
        Ok(())
    }

    /// Returns the least cycles of the arithmetic of blocks of `n`. `dealt` divides the blocks by the
    /// sections, rounding up or down.
    fn least<T: FilterSample>(
        &self,
        n: usize,
        cover: &BlockCover,
        machine: &Arc<Machine>,
        dealt: fn(usize, usize) -> usize,
    ) -> f64 {
        let blocks = cover.filter(n, "", Program::default(), machine);
        let layout = blocks.layout::<T>(self.wanted.channels, self.wanted.samples);
        let longest = dealt(layout.total, machine.cp2.sections.max(1));
        longest as f64 * blocks.cycles_per_block as f64
    }

    /// Replaces the estimates of the fastest filters by the prices of their jobs.
    fn reprice<T: FilterSample>(&mut self) {
        let wanted = self.wanted;
        let of = |made: &(f64, BlockFilter)| made.1.price::<T>(&wanted).map(|price| price.0);
        self.made.sort_by(|a, b| a.0.total_cmp(&b.0));
        let priced = by_price(&mut self.made, |(cycles, _)| *cycles, of);
        for ((cycles, filter), price) in self.made.iter_mut().zip(priced) {
            let estimate = std::mem::replace(cycles, price);
            let of =
                |c: &&mut ConvCandidate| c.kernel == filter.name() && c.cycles == Some(estimate);
            if let Some(candidate) = self.candidates.iter_mut().find(of) {
                candidate.cycles = Some(price);
            }
        }
    }

    /// Returns the fastest filter, the others, and the reasons.
    pub(super) fn decide<T: FilterSample>(
        mut self,
    ) -> Result<(FoundFilters, ConvChoice), ConvError> {
        self.reprice::<T>();
        let machine = self.machine;
        let refused = self.refused.take();
        let mut filters = self.made.into_iter();
        let (taken, first) = filters
            .next()
            .ok_or_else(|| explain_no_filter(&self.wanted, self.ways, refused, machine))?;
        let of = |c: &ConvCandidate| c.cycles.unwrap_or(f64::INFINITY);
        // A candidate that was not made has a lower bound, not a price, and may seem faster than the kernel
        // taken.
        let name = first.name();
        let behind = |c: &ConvCandidate| !c.made || c.kernel != name || c.cycles != Some(taken);
        let order = |a: &ConvCandidate, b: &ConvCandidate| {
            behind(a).cmp(&behind(b)).then(of(a).total_cmp(&of(b)))
        };
        self.candidates.sort_by(order);
        let choice = ConvChoice {
            channels: self.wanted.channels,
            samples: self.wanted.samples,
            candidates: self.candidates,
        };
        let found = FoundFilters {
            first: first.with_full_title(),
            others: filters
                .map(|(_, filter)| filter.with_full_title())
                .collect(),
        };
        Ok((found, choice))
    }
}

/// Returns the least cycles of the arithmetic of all outputs, at the samples' own rate, by blocks of `n`:
/// outputs / (n + 1 - taps) blocks of `issues(n)` each, divided by the sections.
fn arithmetic<T: FilterSample>(wanted: &FilterRequest<'_>, n: usize, machine: &Machine) -> f64 {
    // Two real numbers make one complex number.
    let parts = if T::REAL { 2.0 } else { 1.0 };
    let outputs = (wanted.channels * wanted.outputs().len()) as f64 / parts;
    let each = (n + 1).saturating_sub(wanted.taps.len()).max(1) as f64;
    outputs / each * issues(n) as f64 / machine.cp2.sections.max(1) as f64
}

/// Returns the error that says why there is no filter.
fn explain_no_filter(
    wanted: &FilterRequest<'_>,
    ways: AllowedMethods,
    refused: Option<ConvError>,
    machine: &Arc<Machine>,
) -> ConvError {
    let (taps, rate) = (wanted.taps.len(), wanted.rate);
    match refused {
        Some(memory @ ConvError::OutOfMemory { .. }) => memory,
        _ if ways == AllowedMethods::Exact => ConvError::NotExact { taps, rate },
        _ if ways == AllowedMethods::OverlapSave && rate.interpolate() > 1 => {
            ConvError::NoTransforms { rate }
        }
        _ if !ways.transforms() || rate.interpolate() > 1 => ConvError::NoSchedule {
            taps,
            most: direct::most_taps(wanted.taps, rate.decimate(), rate.interpolate(), machine),
            rate,
        },
        _ if taps > overlap_save_long::MOST_TAPS => ConvError::TooManyTaps {
            taps,
            most: overlap_save_long::MOST_TAPS,
        },
        why => ConvError::NoKernel {
            taps,
            machine: machine.name.clone(),
            why: why.map_or_else(|| overlap_save_long::needs(machine), |why| why.to_string()),
        },
    }
}
