//! Short channels, each filtered by blocks of several lengths.
//!
//! This pays where blocks of one length would compute many more outputs than are wanted.

use super::block_filter::{BlockFilter, FilterPasses, FilterSample};
use super::error::ConvError;
use super::overlap_save::{self, BlockCover, LENGTH_BITS, issues, lead, unit};
use super::overlap_save_ring;
use super::request::FilterRequest;
use super::tail::skip_numbers;
use crate::job::{Job, JobError, image, load};
use cp2_host::Buffer;
use cp2_machine::{Class, Machine};
use cp2_problems::ProblemError;
use num_complex::Complex32;
use std::sync::Arc;

/// Most blocks of a channel: each is a pass over all channels.
const MOST_BLOCKS: usize = 3;
/// Most combinations that are made and priced; those whose arithmetic takes the least come first. It bounds
/// the time of planning.
const MOST_PRICED_COMBINATIONS: usize = 3;

/// A filter by one block of each of several lengths for every channel.
#[derive(Debug)]
struct MixedBlockLengths {
    /// Filter of one block of every channel, and the number of the channel that the block begins with.
    parts: Vec<(BlockFilter, usize)>,
}

impl MixedBlockLengths {
    fn cycles(&self, channels: usize) -> Result<Option<f64>, ConvError> {
        let mut all = 0.0;
        for (i, (filter, _)) in self.parts.iter().enumerate() {
            let Some(cycles) = filter.estimate(channels)? else {
                return Ok(None);
            };
            all += cycles;
            if i > 0 {
                all += load(image(&filter.program), &filter.machine);
            }
        }
        Ok(Some(all))
    }
}

impl FilterPasses for MixedBlockLengths {
    fn append(
        &self,
        job: &mut Job,
        x: Buffer<Complex32>,
        y: Buffer<Complex32>,
        channels: usize,
    ) -> Result<(), JobError> {
        let mut parts = self.parts.iter();
        parts.try_for_each(|(filter, first)| {
            filter.append(
                job,
                skip_numbers(x, *first),
                skip_numbers(y, *first),
                channels,
            )
        })
    }

    fn bytes(&self, _channels: usize) -> u64 {
        self.parts.iter().map(|(f, _)| image(&f.program)).sum()
    }

    fn estimate(&self, channels: usize) -> Option<f64> {
        self.cycles(channels).ok().flatten()
    }

    fn operations(&self, channels: usize) -> Vec<Vec<(Class, u64)>> {
        let parts = self.parts.iter();
        parts.flat_map(|(f, _)| f.operations(channels)).collect()
    }
}

/// Returns combinations of block lengths, in descending order, that have `outputs` outputs together and would
/// have fewer without the last.
fn lengths(before: usize, outputs: usize) -> Vec<Vec<usize>> {
    let all: Vec<usize> = LENGTH_BITS
        .rev()
        .map(|bits| 1usize << bits)
        .filter(|&n| n < overlap_save_ring::N && n > before)
        .collect();
    let (mut found, mut open) = (Vec::new(), vec![(Vec::new(), outputs)]);
    while let Some((lengths, left)) = open.pop() {
        let last = lengths.last().copied().unwrap_or(usize::MAX);
        for &n in all.iter().filter(|&&n| n <= last) {
            let lengths = [lengths.as_slice(), &[n]].concat();
            match left.saturating_sub(n - before) {
                0 => found.push(lengths),
                left if lengths.len() < MOST_BLOCKS => open.push((lengths, left)),
                _ => {}
            }
        }
    }
    found
}

/// Returns the fastest filter of this kind, if it takes less than `best` cycles.
pub(super) fn faster<T: FilterSample>(
    wanted: &FilterRequest<'_>,
    mut best: f64,
    machine: &Arc<Machine>,
) -> Result<Option<(f64, BlockFilter)>, ConvError> {
    let outputs = wanted.outputs();
    let before = lead(wanted.taps.len(), machine);
    let channels = wanted.channels;
    let rounds = channels.div_ceil(machine.cp2.sections) as f64;
    let least = |lengths: &[usize]| {
        let issues: u64 = lengths.iter().map(|&n| issues(n)).sum();
        rounds * issues as f64
    };
    let mut ways = lengths(before, outputs.len());
    ways.retain(|lengths| lengths.len() > 1 && least(lengths) < best);
    ways.sort_by(|a, b| least(a).total_cmp(&least(b)));
    let mut found = None;
    for lengths in ways.into_iter().take(MOST_PRICED_COMBINATIONS) {
        let filter = match filter(wanted, &lengths, machine) {
            Ok(filter) => filter,
            Err(ConvError::Unfit(_)) => continue,
            Err(error) => return Err(error),
        };
        let fits = filter.check_room::<T>(&wanted.extent::<T>(), machine);
        let cycles = filter.estimate(channels)?.filter(|_| fits.is_ok());
        if let Some(cycles) = cycles.filter(|&cycles| cycles < best) {
            best = cycles;
            found = Some((cycles, filter));
        }
    }
    Ok(found)
}

/// Returns the filter whose channels have blocks of these lengths.
fn filter(
    wanted: &FilterRequest<'_>,
    lengths: &[usize],
    machine: &Arc<Machine>,
) -> Result<BlockFilter, ConvError> {
    let outputs = wanted.outputs();
    let before = lead(wanted.taps.len(), machine);
    let out: usize = lengths.iter().map(|n| n - before).sum();
    // A channel begins where the first output wanted is the first of a block; its blocks end before the next
    // channel does.
    let zeros = before - outputs.start;
    let hop = (out + outputs.start).max(wanted.samples + zeros);
    let hop = hop.next_multiple_of(unit(machine));
    let (mut first, mut made) = (0, Vec::new());
    for &n in lengths {
        let cover = BlockCover::new_overlapping(before, n);
        let block =
            overlap_save::filter(wanted.taps, n, cover, &format!("overlap-save {n}"), machine)?;
        made.push((
            BlockFilter {
                hop,
                apart: out,
                ..block
            },
            first,
        ));
        first += n - before;
    }
    let names: Vec<String> = lengths.iter().map(|n| format!("of {n}")).collect();
    let filter = made.first().map(|(main, _)| BlockFilter {
        title: format!("blocks {} a channel", names.join(" and ")),
        lead: zeros,
        window: out + before,
        rows: None,
        out,
        skip: 0,
        first: outputs.start,
        fixed: true,
        deal: 1,
        operations: Vec::new(),
        cycles_per_block: 0,
        ..main.clone()
    });
    let parts = MixedBlockLengths { parts: made };
    filter
        .map(|filter| filter.with_passes(parts))
        .ok_or_else(|| ProblemError::Empty.into())
}
