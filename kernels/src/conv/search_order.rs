//! Decides which kinds of filters enter the search of `filter_search`, and when.

use super::OutputRate;
use super::block_filter::{BlockFilter, FilterSample};
use super::candidates::ConvChoice;
use super::error::ConvError;
use super::filter_search::FilterSearch;
use super::request::{AllowedMethods, FilterRequest};
use cp2_machine::Machine;
use std::sync::Arc;

/// Number of taps above which direct filters are not considered at the samples' own rate, unless nothing else
/// fits: from there on, blocks with transforms take a small part of their time.
const MAX_DIRECT_TAPS: usize = 128;

/// The filters that fit a request.
pub(super) struct FoundFilters {
    /// Fastest filter.
    pub(super) first: BlockFilter,
    /// Other filters, by their expected time.
    pub(super) others: Vec<BlockFilter>,
}

/// Enters the kinds of filters that suit a request into a search. Returns the filters that fit, and the
/// reasons why the first is taken.
pub(super) fn search_filters<T: FilterSample>(
    wanted: FilterRequest<'_>,
    ways: AllowedMethods,
    machine: &Arc<Machine>,
) -> Result<(FoundFilters, ConvChoice), ConvError> {
    let mut contest = FilterSearch::new(wanted, ways, machine);
    if wanted.rate == OutputRate::SAME {
        if ways.transforms() {
            contest.enter_transforms::<T>()?;
        }
        // With many taps, transforms take a small part of the time that multiply-adds do.
        let short = wanted.taps.len() <= MAX_DIRECT_TAPS || contest.is_empty();
        if ways.direct() && short {
            contest.enter_direct::<T>()?;
        }
        if ways.transforms() {
            contest.join::<T>()?;
        }
    } else {
        // The more samples an output has, the fewer products a direct filter computes.
        if ways.direct() {
            contest.enter_direct::<T>()?;
        }
        if ways.transforms() && wanted.rate.interpolate() == 1 {
            contest.enter_transforms::<T>()?;
            contest.join::<T>()?;
        }
    }
    contest.decide::<T>()
}

#[cfg(test)]
mod tests {
    use super::super::ConvolutionMode;
    use super::super::overlap_save::{self, BlockCover, lead};
    use super::*;
    use num_complex::Complex32;

    /// A kernel that was not made is no faster than the one taken, and its own estimate is not below the
    /// bound printed for it.
    #[test]
    fn what_is_not_made_is_not_faster() {
        let mut left = 0;
        for (name, taps, samples) in [("vm7", 40, 3000), ("vm9", 129, 65536), ("vm7", 600, 9000)] {
            let machine = Arc::new(Machine::builtin(name).unwrap());
            let taps = vec![Complex32::new(1.0, 0.5); taps];
            let wanted = FilterRequest::new(
                &taps,
                (1, samples),
                (ConvolutionMode::Full, OutputRate::SAME),
            )
            .unwrap();
            let (_, choice) =
                search_filters::<Complex32>(wanted, AllowedMethods::All, &machine).unwrap();
            let best = choice.candidates[0].cycles.unwrap();
            assert!(choice.candidates[0].made);
            for candidate in choice.candidates.iter().filter(|c| !c.made) {
                let n: usize = candidate.kernel["overlap-save ".len()..]
                    .split(',')
                    .next()
                    .and_then(|n| n.parse().ok())
                    .unwrap();
                let cover = BlockCover::new_overlapping(lead(taps.len(), &machine), n);
                let filter = overlap_save::filter(&taps, n, cover, "test", &machine).unwrap();
                let blocks = filter.layout::<Complex32>(1, samples).total;
                let cycles = filter.estimate(blocks).unwrap().unwrap();
                let least = candidate.cycles.unwrap();
                assert!(best <= least && least <= cycles, "{choice:#}");
                left += 1;
            }
        }
        assert!(left >= 5, "{left}");
    }

    /// Kernels whose blocks share their pages are offered only if there are as many blocks.
    #[test]
    fn few_blocks_are_offered_what_is_made_for_few() {
        let machine = Arc::new(Machine::builtin("vm9").unwrap());
        let taps = vec![Complex32::new(1.0, 0.5); 1300];
        for samples in [20_000, 60_000, 300_000] {
            let wanted = FilterRequest::new(
                &taps,
                (1, samples),
                (ConvolutionMode::Full, OutputRate::SAME),
            )
            .unwrap();
            let (_, choice) =
                search_filters::<Complex32>(wanted, AllowedMethods::All, &machine).unwrap();
            let mut most = 0;
            for candidate in &choice.candidates {
                let name = &candidate.kernel;
                let Some((title, rest)) = name.split_once(" blocks in turn, ") else {
                    continue;
                };
                let number = |text: &str| text.split(' ').next().unwrap().parse::<usize>();
                let (Ok(outputs), Some((_, turns))) = (number(rest), title.rsplit_once(' ')) else {
                    continue;
                };
                let (turns, blocks) = (
                    turns.parse::<usize>().unwrap(),
                    (samples + 1300).div_ceil(outputs),
                );
                assert!(
                    turns <= blocks,
                    "{samples} samples, {blocks} blocks: {name}"
                );
                most = most.max(turns);
            }
            assert!(most >= 2, "{choice:#}");
        }
    }
}
