//! One kernel behind another: most of a signal by long blocks, a few of a time, and what these would
//! compute for nothing at its end by shorter ones.

use super::choice::Wanted;
use super::error::ConvError;
use super::filter::{COMPLEX, Filter, Numbers, Passes};
use super::overlap::{self, Cover, LENGTHS, issues, lead};
use super::parts;
use crate::job::{Job, JobError, image, load};
use cp2_host::Buffer;
use cp2_machine::{Class, Machine};
use num_complex::Complex32;
use std::sync::Arc;

/// How much longer than the fastest alone a kernel may take that others are tried behind.
const NEAR: f64 = 1.2;
/// Most that are made only for this, those first whose arithmetic takes the least.
const TRIED: usize = 6;

/// What can take the end of a signal.
#[derive(Clone, Copy)]
enum Rest<'a> {
    /// A filter that there is.
    Made(&'a Filter),
    /// Blocks of so many numbers in local memory.
    Blocks(usize),
}

impl Rest<'_> {
    /// Outputs of a block, with `before` samples before the first.
    fn hop(self, before: usize) -> usize {
        match self {
            Self::Made(filter) => filter.hop,
            Self::Blocks(n) => n - before,
        }
    }

    /// Whether this can follow `main`, `there` samples behind the first: with shorter blocks, before which
    /// there are samples enough.
    fn follows(self, main: &Filter, there: usize) -> bool {
        match self {
            Self::Made(filter) => filter.window < main.window && filter.lead <= there,
            Self::Blocks(_) => true,
        }
    }

    /// The least that the arithmetic of `few` blocks takes: each in one of the sections, or dealt to all.
    fn least(self, few: usize, sections: usize) -> f64 {
        match self {
            Self::Made(filter) => (few as u64 * issues(filter.window)) as f64 / sections as f64,
            Self::Blocks(n) => few.div_ceil(sections) as f64 * issues(n) as f64,
        }
    }

    /// The filter, known as what it is alone; none that does not fit the machine.
    fn filter(
        self,
        taps: &[Complex32],
        before: usize,
        machine: &Arc<Machine>,
    ) -> Result<Option<Filter>, ConvError> {
        let n = match self {
            Self::Made(filter) => return Ok(Some(filter.clone())),
            Self::Blocks(n) => n,
        };
        let (cover, title) = (Cover::overlapping(before, n), format!("overlap-save {n}"));
        match overlap::filter(taps, n, cover, &title, machine) {
            Ok(filter) => Ok(Some(filter)),
            Err(ConvError::Unfit(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

/// A signal by two kernels, each with its blocks of it.
#[derive(Debug)]
struct Joint {
    parts: [(Filter, usize); 2],
}

/// Numbers of a buffer from one on.
pub(super) fn behind(buffer: Buffer<Complex32>, first: usize) -> Buffer<Complex32> {
    let first = first as u64;
    Buffer::at(
        buffer.address() + first * COMPLEX,
        buffer.len().saturating_sub(first),
    )
}

impl Joint {
    /// Outputs of a signal.
    fn outputs(&self) -> usize {
        self.parts.iter().map(|(f, blocks)| f.hop * blocks).sum()
    }

    /// Expected cycles of a signal.
    fn cycles(&self) -> Result<Option<f64>, ConvError> {
        let [(main, many), (rest, few)] = &self.parts;
        let (first, then) = (main.estimate(*many)?, rest.estimate(*few)?);
        let between = load(image(&rest.program), &rest.machine);
        Ok(first.zip(then).map(|(first, then)| first + between + then))
    }

    /// As a filter, whose blocks are whole signals.
    fn filter(self) -> Filter {
        let [(main, many), (rest, few)] = &self.parts;
        let hop = self.outputs();
        let filter = Filter {
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
            cycles_per_page: 0,
            ..main.clone()
        };
        filter.by(self)
    }
}

impl Passes for Joint {
    fn append(
        &self,
        job: &mut Job,
        x: Buffer<Complex32>,
        y: Buffer<Complex32>,
        signals: usize,
    ) -> Result<(), JobError> {
        let (all, lead) = (self.outputs(), self.parts[0].0.lead);
        let mut first = 0;
        for (filter, blocks) in &self.parts {
            for signal in 0..signals {
                let at = signal * all + first;
                let x = behind(x, at + lead - filter.lead);
                filter.append(job, x, behind(y, at), *blocks)?;
            }
            first += filter.hop * blocks;
        }
        Ok(())
    }

    fn bytes(&self, signals: usize) -> u64 {
        let parts = self.parts.iter();
        let each = parts.map(|(f, blocks)| f.beside(*blocks) + image(&f.program));
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

/// Numbers that kernels have to go over for all outputs, where they go over one signal: of
/// a real one two at a time.
fn signal<T: Numbers>(wanted: &Wanted<'_>, lead: usize) -> Option<usize> {
    let all = wanted.samples.checked_add(lead)?;
    let numbers = if T::REAL { all.div_ceil(2) } else { all };
    (wanted.channels == 1).then_some(numbers)
}

/// The fastest of two kernels behind each other, the first one of `made`, whose times are known; none
/// where one of these alone is.
pub(super) fn faster<T: Numbers>(
    wanted: &Wanted<'_>,
    made: &[(f64, Filter)],
    machine: &Arc<Machine>,
) -> Result<Option<(f64, Filter)>, ConvError> {
    let sections = machine.cp2.sections;
    let before = lead(wanted.taps.len(), machine);
    let mut best = made.iter().map(|m| m.0).fold(f64::INFINITY, f64::min);
    let near = best * NEAR;
    let overlapping = |f: &Filter| f.in_place && f.lead >= before && f.window == f.lead + f.hop;
    // Blocks that are dealt to the sections are there; of those of one each the longest pay alone.
    let dealt = made.iter().map(|m| &m.1);
    let dealt = dealt.filter(|f| overlapping(f) && f.fixed && f.window > parts::N);
    let blocks = LENGTHS.map(|b| 1usize << b).filter(|&n| n > before);
    let rests: Vec<Rest<'_>> = dealt
        .map(Rest::Made)
        .chain(blocks.map(Rest::Blocks))
        .collect();
    // What is left, by what, and the least that both take.
    let mut ways = Vec::new();
    for (_, main) in made.iter().filter(|m| m.0 < near && overlapping(&m.1)) {
        let Some(numbers) = signal::<T>(wanted, main.lead) else {
            return Ok(None);
        };
        // Kernels of blocks in local memory compute one in every section.
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
            for &by in rests.iter().filter(|by| by.follows(main, there)) {
                let few = rest.div_ceil(by.hop(before));
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
        tried += usize::from(matches!(by, Rest::Blocks(_)));
        if tried > TRIED && matches!(by, Rest::Blocks(_)) {
            continue;
        }
        let Some(rest) = by.filter(wanted.taps, before, machine)? else {
            continue;
        };
        let joint = Joint {
            parts: [(main.clone(), many), (rest, few)],
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
