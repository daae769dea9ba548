//! Filters the end of a signal by other, shorter blocks than the rest.
//!
//! Most of a signal is filtered by long blocks, a few at a time. At the end these would compute numbers for
//! nothing, and shorter ones take over.
//!
//! The last outputs have no samples after the end: the last k outputs need only the last k taps. So blocks
//! for few of them can be short, whatever the number of taps.

use super::block_filter::{BlockFilter, COMPLEX, FilterPasses, FilterSample};
use super::error::ConvError;
use super::lead_in::{LeadIn, LeadInPlan};
use super::overlap_save::{self, BlockCover, LENGTH_BITS, issues, lead, unit};
use super::overlap_save_ring;
use super::request::FilterRequest;
use crate::job::{Job, JobError, image, load};
use cp2_host::Buffer;
use cp2_machine::{Class, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// Greatest ratio of the cycles of a first kernel to those of the fastest kernel alone for which second
/// kernels are tried: how much of the time a better end may save. It bounds the time of planning.
const MAX_FIRST_KERNEL_TIME_RATIO: f64 = 1.2;
/// The ratio for a first kernel with blocks in local memory, of which the last group may be almost empty.
const MAX_LOCAL_FIRST_KERNEL_TIME_RATIO: f64 = 2.0;
/// Greatest number of second kernels that are made for one purpose; those whose arithmetic takes the least
/// come first. It bounds the time of planning.
const MOST_SECOND_KERNELS: usize = 6;

/// Kernel for the end of a signal.
#[derive(Clone, Copy)]
enum TailFilter<'a> {
    /// A filter that has been made.
    Made(&'a BlockFilter),
    /// Blocks of so many numbers in local memory.
    Blocks(usize),
    /// Blocks of so many numbers in local memory with so many of the last taps alone, for the outputs that
    /// need no others.
    Last(usize, usize),
}

impl TailFilter<'_> {
    /// Returns the outputs of a block, with `before` samples before the first.
    fn outputs_per_block(self, before: usize, machine: &Machine) -> usize {
        match self {
            Self::Made(filter) => filter.hop,
            Self::Blocks(n) => n - before,
            Self::Last(n, taps) => n - lead(taps, machine),
        }
    }

    /// Returns how many samples earlier the window of these taps begins: the number of taps before them.
    fn window_offset(self, taps: usize) -> usize {
        match self {
            Self::Last(_, last) => taps - last,
            Self::Made(_) | Self::Blocks(_) => 0,
        }
    }

    /// Returns whether this kernel can follow `main` when `there` samples precede the outputs left: its
    /// blocks are shorter, and these are samples enough.
    fn can_follow(self, main: &BlockFilter, there: usize) -> bool {
        match self {
            Self::Made(filter) => filter.window < main.window && filter.lead <= there,
            Self::Blocks(_) | Self::Last(..) => true,
        }
    }

    /// Returns the least cycles of the arithmetic of `few` blocks: long ones are dealt to all sections,
    /// others are computed one in each section.
    fn least(self, few: usize, sections: usize) -> f64 {
        match self {
            Self::Made(filter) => (few as u64 * issues(filter.window)) as f64 / sections as f64,
            Self::Blocks(n) | Self::Last(n, _) => few.div_ceil(sections) as f64 * issues(n) as f64,
        }
    }

    /// Returns the combination of these blocks with the 4096-blocks of `main`, where the short ones come
    /// first, if `main` is such and both fit the machine.
    fn opening(
        self,
        taps: &[Complex32],
        before: usize,
        (main, many, few): (&BlockFilter, usize, usize),
        machine: &Arc<Machine>,
    ) -> Result<Option<LeadIn>, ConvError> {
        let (n, own, lead) = match self {
            Self::Blocks(n) => (n, taps, before),
            Self::Last(n, last) => (n, &taps[taps.len() - last..], lead(last, machine)),
            Self::Made(_) => return Ok(None),
        };
        if main.window != overlap_save_ring::N || n >= overlap_save_ring::N {
            return Ok(None);
        }
        let parts = LeadInPlan {
            main: main.clone(),
            many,
            n,
            cover: BlockCover::new_overlapping(lead, n),
            few,
            taps: own.to_vec(),
            back: self.window_offset(taps.len()),
        };
        match LeadIn::new(parts, taps, machine) {
            Err(ConvError::Unfit(_)) => Ok(None),
            made => made,
        }
    }

    /// Returns the filter under its own name; none if it does not fit the machine.
    fn filter(
        self,
        taps: &[Complex32],
        before: usize,
        machine: &Arc<Machine>,
    ) -> Result<Option<BlockFilter>, ConvError> {
        let (n, taps, before) = match self {
            Self::Made(filter) => return Ok(Some(filter.clone())),
            Self::Blocks(n) => (n, taps, before),
            Self::Last(n, last) => (n, &taps[taps.len() - last..], lead(last, machine)),
        };
        let (cover, title) = (
            BlockCover::new_overlapping(before, n),
            format!("overlap-save {n}"),
        );
        match overlap_save::filter(taps, n, cover, &title, machine) {
            Ok(filter) => Ok(Some(filter)),
            Err(ConvError::Unfit(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A filter by two kernels, each with its number of blocks of a signal.
#[derive(Debug)]
struct MainAndTail {
    parts: [(BlockFilter, usize); 2],
    /// Samples by which the window of the second kernel ends before its outputs.
    back: usize,
}

/// Returns the part of a buffer from number `first` on.
pub(super) fn skip_numbers(buffer: Buffer<Complex32>, first: usize) -> Buffer<Complex32> {
    let first = first as u64;
    Buffer::from_address(
        buffer.address() + first * COMPLEX,
        buffer.len().saturating_sub(first),
    )
}

impl MainAndTail {
    /// Returns the outputs of a signal.
    fn outputs(&self) -> usize {
        self.parts.iter().map(|(f, blocks)| f.hop * blocks).sum()
    }

    /// Returns the expected cycles of a signal.
    fn cycles(&self) -> Result<Option<f64>, ConvError> {
        let [(main, many), (rest, few)] = &self.parts;
        let (first, then) = (main.estimate(*many)?, rest.estimate(*few)?);
        let between = load(image(&rest.program), &rest.machine);
        Ok(first.zip(then).map(|(first, then)| first + between + then))
    }

    /// Returns the combination as a filter whose blocks are whole signals.
    fn filter(self) -> BlockFilter {
        let [(main, many), (rest, few)] = &self.parts;
        let hop = self.outputs();
        let filter = BlockFilter {
            title: format!("{many} blocks by {}, {few} by {}", main.title, rest.title),
            window: main.lead + hop,
            rows: None,
            hop,
            out: hop,
            apart: hop,
            skip: 0,
            fixed: true,
            deal: 1,
            operations: Vec::new(),
            cycles_per_block: 0,
            ..main.clone()
        };
        filter.with_passes(self)
    }
}

impl FilterPasses for MainAndTail {
    fn append(
        &self,
        job: &mut Job,
        x: Buffer<Complex32>,
        y: Buffer<Complex32>,
        signals: usize,
    ) -> Result<(), JobError> {
        let (all, lead) = (self.outputs(), self.parts[0].0.lead);
        let mut first = 0;
        for ((filter, blocks), back) in self.parts.iter().zip([0, self.back]) {
            for signal in 0..signals {
                let at = signal * all + first;
                let x = skip_numbers(x, at + lead - filter.lead - back);
                filter.append(job, x, skip_numbers(y, at), *blocks)?;
            }
            first += filter.hop * blocks;
        }
        Ok(())
    }

    fn bytes(&self, signals: usize) -> u64 {
        let parts = self.parts.iter();
        let each = parts.map(|(f, blocks)| f.intermediate_bytes(*blocks) + image(&f.program));
        each.sum::<u64>().saturating_mul(signals as u64)
    }

    fn estimate(&self, signals: usize) -> Option<f64> {
        let one = self.cycles().ok().flatten()?;
        Some(one * signals as f64)
    }

    fn operations(&self, signals: usize) -> Vec<Vec<(Class, u64)>> {
        let parts = self.parts.iter();
        parts
            .flat_map(|(f, blocks)| vec![f.operations(*blocks); signals])
            .flatten()
            .collect()
    }
}

/// Returns the numbers that kernels go over for all outputs of a signal, two samples at a time if it is real;
/// none if there are several channels.
fn signal<T: FilterSample>(wanted: &FilterRequest<'_>, lead: usize) -> Option<usize> {
    let all = wanted.samples.checked_add(lead)?;
    let numbers = if T::REAL { all.div_ceil(2) } else { all };
    (wanted.channels == 1).then_some(numbers)
}

/// Returns blocks with the last taps alone for the outputs from `first` on, if these need no others. Real
/// signals have none: they are paired, and the first of two halves does not end where the signal does.
fn last<'a, T: FilterSample>(
    wanted: &FilterRequest<'_>,
    first: usize,
    machine: &Machine,
) -> Vec<TailFilter<'a>> {
    let taps = wanted.taps.len();
    let outputs = (wanted.samples + taps - 1).saturating_sub(first);
    // The window of the taps begins at a granule.
    let before = taps.saturating_sub(outputs) / unit(machine) * unit(machine);
    if T::REAL || outputs == 0 || before == 0 {
        return Vec::new();
    }
    let of = |n: usize| TailFilter::Last(n, taps - before);
    let blocks = LENGTH_BITS.map(|b| 1usize << b);
    let longer = blocks.filter(|&n| n > lead(taps - before, machine));
    longer.map(of).collect()
}

/// Returns the fastest combination of two kernels, the first one from `made`, whose times are known; none if
/// one of these alone is faster.
pub(super) fn faster<T: FilterSample>(
    wanted: &FilterRequest<'_>,
    made: &[(f64, BlockFilter)],
    machine: &Arc<Machine>,
) -> Result<Option<(f64, BlockFilter)>, ConvError> {
    let sections = machine.cp2.sections;
    let before = lead(wanted.taps.len(), machine);
    let mut best = made.iter().map(|m| m.0).fold(f64::INFINITY, f64::min);
    let near = |f: &BlockFilter| {
        let in_memory = f.window <= overlap_save_ring::N;
        best * if in_memory {
            MAX_LOCAL_FIRST_KERNEL_TIME_RATIO
        } else {
            MAX_FIRST_KERNEL_TIME_RATIO
        }
    };
    let overlapping =
        |f: &BlockFilter| f.in_place && f.lead >= before && f.window == f.lead + f.hop;
    // Long blocks, which are dealt to all sections, are taken from those made. Blocks in local memory, one
    // for each section, are made here.
    let dealt = made.iter().map(|m| &m.1);
    let dealt = dealt.filter(|f| overlapping(f) && f.fixed && f.window > overlap_save_ring::N);
    let blocks = LENGTH_BITS.map(|b| 1usize << b).filter(|&n| n > before);
    let rests: Vec<TailFilter<'_>> = dealt
        .map(TailFilter::Made)
        .chain(blocks.map(TailFilter::Blocks))
        .collect();
    // Combinations: the least time of both kernels, the first kernel and its blocks, the second and its
    // blocks.
    let mut ways = Vec::new();
    for (_, main) in made
        .iter()
        .filter(|m| m.0 < near(&m.1) && overlapping(&m.1))
    {
        let Some(numbers) = signal::<T>(wanted, main.lead) else {
            return Ok(None);
        };
        // Kernels with blocks in local memory compute one in every section.
        let group = if main.fixed { 1 } else { sections };
        let most = numbers / main.hop / group * group;
        for many in [most, most.saturating_sub(group)] {
            let rest = numbers - many * main.hop;
            if many == 0 || rest == 0 {
                continue;
            }
            let Some(cycles) = main.estimate(many)? else {
                continue;
            };
            let there = main.lead + many * main.hop;
            let last = last::<T>(wanted, many * main.hop, machine);
            let all = rests.iter().copied().chain(last);
            for by in all.filter(|by| by.can_follow(main, there)) {
                let few = rest.div_ceil(by.outputs_per_block(before, machine));
                let least = cycles + by.least(few, sections);
                if least < best {
                    ways.push((least, main, many, by, few));
                }
            }
        }
    }
    ways.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut found, mut tried) = (None, 0);
    for (least, main, many, by, few) in ways {
        if least >= best {
            break;
        }
        let to_be_made = !matches!(by, TailFilter::Made(_));
        tried += usize::from(to_be_made);
        if tried > MOST_SECOND_KERNELS && to_be_made {
            continue;
        }
        let opening = by.opening(wanted.taps, before, (main, many, few), machine)?;
        let opening = opening.map(|opening| (opening.cycles(), opening));
        if let Some((cycles, opening)) = opening.filter(|opening| opening.0 < best) {
            let filter = opening.filter();
            if filter
                .check_room::<T>(&wanted.extent::<T>(), machine)
                .is_ok()
            {
                best = cycles;
                found = Some((cycles, filter));
            }
        }
        let Some(rest) = by.filter(wanted.taps, before, machine)? else {
            continue;
        };
        let joint = MainAndTail {
            parts: [(main.clone(), many), (rest, few)],
            back: by.window_offset(wanted.taps.len()),
        };
        if let Some(cycles) = joint.cycles()?.filter(|&cycles| cycles < best) {
            let filter = joint.filter();
            if filter
                .check_room::<T>(&wanted.extent::<T>(), machine)
                .is_ok()
            {
                best = cycles;
                found = Some((cycles, filter));
            }
        }
    }
    Ok(found)
}
