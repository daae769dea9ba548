//! Which kernel filters fastest, and why.

use super::Mode;
use super::Rate;
use super::candidates::{Candidate, Choice};
use super::carried;
use super::direct;
use super::error::ConvError;
use super::filter::{Filter, Numbers};
use super::joint;
use super::layout::folded;
use super::lines;
use super::long;
use super::memory::Extent;
use super::overlap::{self, Cover, LENGTHS, lead};
use super::parts;
use crate::job::by_price;
use cp2_asm::Program;
use cp2_machine::Machine;
use num_complex::Complex32;
use std::ops::Range;
use std::sync::Arc;

/// Taps beyond which blocks beyond local memory are considered.
const LONG: usize = 256;

/// Taps beyond which direct filters are not, unless nothing else fits.
const SHORT: usize = 128;

/// What is to be filtered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) taps: &'a [Complex32],
    pub(super) channels: usize,
    pub(super) samples: usize,
    pub(super) mode: Mode,
    pub(super) rate: Rate,
}

impl<'a> Wanted<'a> {
    /// Taps for channels of so many samples, at a rate, as far as there is something to do.
    pub(super) fn new(
        taps: &'a [Complex32],
        (channels, samples): (usize, usize),
        (mode, rate): (Mode, Rate),
    ) -> Result<Self, ConvError> {
        cp2_problems::conv::check(taps.len(), (channels, samples), (mode, rate))?;
        Ok(Self {
            taps,
            channels,
            samples,
            mode,
            rate,
        })
    }

    /// The complex channels that transforms take for several real ones; see [`Layout`](super::layout::Layout).
    fn folded<T: Numbers>(&self, machine: &Machine) -> Option<Self> {
        let before = lead(self.taps.len(), machine);
        (T::REAL && self.channels > 1).then(|| Self {
            samples: folded(self.samples, before),
            mode: Mode::Full,
            ..*self
        })
    }

    /// The arrays, of numbers of this kind.
    pub(super) fn extent<T: Numbers>(&self) -> Extent {
        Extent {
            taps: self.taps.len(),
            channels: self.channels,
            samples: self.samples,
            mode: self.mode,
            rate: self.rate,
            number: size_of::<T>(),
        }
    }

    /// The outputs wanted of the full convolution, or of all at another rate.
    pub(super) fn outputs(&self) -> Range<usize> {
        match self.rate {
            Rate::Same => self.mode.outputs(self.samples, self.taps.len()),
            rate => 0..rate.outputs(self.samples, self.taps.len()),
        }
    }
}

/// Kernels and the times that they should take.
struct Contest<'a> {
    wanted: Wanted<'a>,
    machine: &'a Arc<Machine>,
    /// Those that can be taken, and about their times.
    made: Vec<(f64, Filter)>,
    candidates: Vec<Candidate>,
    /// Why a kernel was refused, where none is taken.
    refused: Option<ConvError>,
}

impl Contest<'_> {
    /// A kernel, unless its program or data are too large for the machine.
    fn enter<T: Numbers>(
        &mut self,
        kernel: &str,
        filter: Result<Filter, ConvError>,
    ) -> Result<(), ConvError> {
        let filter = match filter {
            Ok(filter) => filter,
            Err(ConvError::Unfit(unfit)) if unfit.is_refusal() => {
                self.candidates.push(Candidate {
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
            Ok(cycles) => cycles,
            // What may have been said of memory is nearer to what can be changed.
            Err(error) => {
                let memory = matches!(error, ConvError::OutOfMemory { .. });
                if memory || self.refused.is_none() {
                    self.refused = Some(error);
                }
                None
            }
        };
        self.candidates.push(Candidate {
            kernel: filter.name(),
            cycles,
            made: true,
        });
        self.made.extend(cycles.map(|cycles| (cycles, filter)));
        Ok(())
    }

    /// Blocks of `n` where they lie as `cover` says, unless even their arithmetic takes as long
    /// as what has been found: to make a kernel takes longer than to choose one.
    fn enter_blocks<T: Numbers>(
        &mut self,
        (n, cover): (usize, Cover),
        machine: &Arc<Machine>,
    ) -> Result<(), ConvError> {
        let name = format!("overlap-save {n}");
        let least = self.least::<T>(n, &cover, machine, usize::div_ceil);
        // The longest can be without the last blocks, which are then left to a shorter kernel.
        let whole = self.least::<T>(n, &cover, machine, std::ops::Div::div);
        let bar = if n == parts::N && whole > 0.0 {
            whole
        } else {
            least
        };
        if self.made.iter().any(|made| made.0 <= bar) {
            self.candidates.push(Candidate {
                kernel: cover.filter(n, &name, Program::default(), machine).name(),
                cycles: Some(least),
                made: false,
            });
            return Ok(());
        }
        self.enter::<T>(
            &name,
            overlap::filter(self.wanted.taps, n, cover, &name, machine),
        )
    }

    /// The fastest of two kernels behind each other, and of a few blocks of several lengths for each
    /// channel, if they are faster than all of one.
    fn join<T: Numbers>(&mut self, machine: &Arc<Machine>) -> Result<(), ConvError> {
        let joint = joint::faster::<T>(&self.wanted, &self.made, machine)?;
        let best = self.made.iter().map(|made| made.0);
        let best = best.fold(f64::INFINITY, f64::min);
        let lines = match self.wanted.folded::<T>(machine) {
            Some(folded) => lines::faster::<Complex32>(&folded, best, machine)?,
            None => lines::faster::<T>(&self.wanted, best, machine)?,
        };
        for (cycles, filter) in joint.into_iter().chain(lines) {
            self.candidates.push(Candidate {
                kernel: filter.name(),
                cycles: Some(cycles),
                made: true,
            });
            self.made.push((cycles, filter));
        }
        Ok(())
    }

    /// Cycles that the arithmetic of blocks of `n` takes at least; `dealt` says how many of all a section has.
    fn least<T: Numbers>(
        &self,
        n: usize,
        cover: &Cover,
        machine: &Arc<Machine>,
        dealt: fn(usize, usize) -> usize,
    ) -> f64 {
        let blocks = cover.filter(n, "", Program::default(), machine);
        let layout = blocks.layout::<T>(self.wanted.channels, self.wanted.samples);
        let longest = dealt(layout.total, machine.cp2.sections.max(1));
        longest as f64 * blocks.cycles_per_block as f64
    }

    /// Puts the price of a filter's job in the place of what it was estimated to take.
    fn reprice<T: Numbers>(&mut self) {
        let wanted = self.wanted;
        let of = |made: &(f64, Filter)| made.1.price::<T>(&wanted).map(|price| price.0);
        self.made.sort_by(|a, b| a.0.total_cmp(&b.0));
        let priced = by_price(&mut self.made, |(cycles, _)| *cycles, of);
        for ((cycles, filter), price) in self.made.iter_mut().zip(priced) {
            let estimate = std::mem::replace(cycles, price);
            let of = |c: &&mut Candidate| c.kernel == filter.name() && c.cycles == Some(estimate);
            if let Some(candidate) = self.candidates.iter_mut().find(of) {
                candidate.cycles = Some(price);
            }
        }
    }

    fn decide<T: Numbers>(mut self) -> Result<(Found, Choice), ConvError> {
        self.reprice::<T>();
        let machine = self.machine;
        let (taps, rate) = (self.wanted.taps.len(), self.wanted.rate);
        let refused = self.refused.take();
        let mut filters = self.made.into_iter();
        let (taken, first) = filters.next().ok_or_else(|| match (rate, refused) {
            (_, Some(memory @ ConvError::OutOfMemory { .. })) => memory,
            (Rate::Same, _) if taps > long::MOST_TAPS => ConvError::TooManyTaps {
                taps,
                most: long::MOST_TAPS,
            },
            (Rate::Same, why) => ConvError::NoKernel {
                taps,
                machine: machine.name.clone(),
                why: why.map_or_else(|| long::needs(machine), |why| why.to_string()),
            },
            (rate, _) => ConvError::NoSchedule {
                taps,
                most: direct::most_taps(
                    self.wanted.taps,
                    rate.decimate(),
                    rate.interpolate(),
                    machine,
                ),
                rate,
            },
        })?;
        let found = Found {
            first,
            others: filters.map(|(_, filter)| filter).collect(),
        };
        let of = |c: &Candidate| c.cycles.unwrap_or(f64::INFINITY);
        // What was not made is known by less than a price, and may seem to take less than what is taken.
        let name = found.first.name();
        let behind = |c: &Candidate| !c.made || c.kernel != name || c.cycles != Some(taken);
        let order =
            |a: &Candidate, b: &Candidate| behind(a).cmp(&behind(b)).then(of(a).total_cmp(&of(b)));
        self.candidates.sort_by(order);
        let choice = Choice {
            channels: self.wanted.channels,
            samples: self.wanted.samples,
            candidates: self.candidates,
        };
        Ok((found, choice))
    }
}

/// The filters that there are.
pub(super) struct Found {
    /// The fastest.
    pub(super) first: Filter,
    /// The others, by what they should take.
    pub(super) others: Vec<Filter>,
}

/// The filters that there are, and why the first is.
pub(super) fn choose<T: Numbers>(
    wanted: Wanted<'_>,
    machine: &Arc<Machine>,
) -> Result<(Found, Choice), ConvError> {
    let Wanted {
        taps,
        samples,
        rate,
        ..
    } = wanted;
    let mut contest = Contest {
        wanted,
        machine,
        made: Vec::new(),
        candidates: Vec::new(),
        refused: None,
    };
    if rate == Rate::Same {
        let lengths = || LENGTHS.map(|b| 1usize << b);
        let lead = lead(taps.len(), machine);
        // The longest are the fastest of many taps only.
        let useful = |n: usize| lead < n && (n < parts::N || taps.len() > SHORT);
        let blocks = lengths().filter(|&n| useful(n));
        let mut blocks: Vec<_> = blocks.map(|n| (n, Cover::overlapping(lead, n))).collect();
        let least =
            |(n, cover): &(usize, Cover)| contest.least::<T>(*n, cover, machine, usize::div_ceil);
        blocks.sort_by(|a, b| least(a).total_cmp(&least(b)));
        for (n, cover) in blocks {
            contest.enter_blocks::<T>((n, cover), machine)?;
        }
        // Blocks that go over memory three times pay where those of one are mostly overlap.
        let cuts = || long::CUTS.into_iter();
        for cut in cuts().filter(|cut| taps.len() > LONG && cut.takes(taps.len())) {
            let name = long::title(cut);
            match long::filters(taps, cut, machine) {
                Ok(filters) => {
                    let suited = |f: &Filter| f.suits::<T>(wanted.channels, samples);
                    for filter in filters.into_iter().filter(suited) {
                        contest.enter::<T>(&name, Ok(filter))?;
                    }
                }
                Err(error) => contest.enter::<T>(&name, Err(error))?,
            }
        }
        let whole = wanted.folded::<T>(machine).unwrap_or(wanted);
        let (outputs, length) = (whole.outputs(), whole.samples);
        if let Some(n) = lengths().find(|&n| overlap::holds(n, length, taps.len(), &outputs)) {
            let name = format!("one block of {n} a channel");
            let cover = Cover::whole(n, outputs, lead, machine);
            contest.enter::<T>(&name, overlap::filter(taps, n, cover, &name, machine))?;
        }
    }
    // Of many taps, transforms take a small part of the time that multiply-adds do.
    let short = rate != Rate::Same || taps.len() <= SHORT || contest.made.is_empty();
    let direct =
        short.then(|| direct::schedules(taps, rate.decimate(), rate.interpolate(), machine));
    for direct in direct.into_iter().flatten() {
        for tiles in direct.sizes(machine) {
            contest.enter::<T>("direct", direct.filter(tiles, machine))?;
        }
    }
    for filter in carried::filters(taps, rate.decimate(), machine) {
        contest.enter::<T>("direct", filter)?;
    }
    if rate == Rate::Same {
        contest.join::<T>(machine)?;
    }
    contest.decide::<T>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is not made would not be faster, and its arithmetic takes no more than it does.
    #[test]
    fn what_is_not_made_is_not_faster() {
        let mut left = 0;
        for (name, taps, samples) in [("vm7", 40, 3000), ("vm9", 129, 65536), ("vm7", 600, 9000)] {
            let machine = Arc::new(Machine::builtin(name).unwrap());
            let taps = vec![Complex32::new(1.0, 0.5); taps];
            let wanted = Wanted::new(&taps, (1, samples), (Mode::Full, Rate::Same)).unwrap();
            let (_, choice) = choose::<Complex32>(wanted, &machine).unwrap();
            let best = choice.candidates[0].cycles.unwrap();
            assert!(choice.candidates[0].made);
            for candidate in choice.candidates.iter().filter(|c| !c.made) {
                let n: usize = candidate.kernel["overlap-save ".len()..]
                    .split(',')
                    .next()
                    .and_then(|n| n.parse().ok())
                    .unwrap();
                let cover = Cover::overlapping(lead(taps.len(), &machine), n);
                let filter = overlap::filter(&taps, n, cover, "test", &machine).unwrap();
                let blocks = filter.layout::<Complex32>(1, samples).total;
                let cycles = filter.estimate(blocks).unwrap().unwrap();
                let least = candidate.cycles.unwrap();
                assert!(best <= least && least <= cycles, "{choice:#}");
                left += 1;
            }
        }
        assert!(left >= 5, "{left}");
    }

    /// Blocks that go through their pages together are offered where there are as many.
    #[test]
    fn few_blocks_are_offered_what_is_made_for_few() {
        let machine = Arc::new(Machine::builtin("vm9").unwrap());
        let taps = vec![Complex32::new(1.0, 0.5); 1300];
        for samples in [20_000, 60_000, 300_000] {
            let wanted = Wanted::new(&taps, (1, samples), (Mode::Full, Rate::Same)).unwrap();
            let (_, choice) = choose::<Complex32>(wanted, &machine).unwrap();
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
