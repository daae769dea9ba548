//! Convolutions and filters of real and complex numbers, at any rate.

use crate::bound::Traffic;
use crate::count::Count;
use crate::fft::{COMPLEX, REAL};
use crate::figures::{Figures, Known, Plan};
use crate::short_filter;
use crate::transforms::{Means, Search, searches};
use cp2_machine::Machine;
use std::ops::Range;

/// Outputs of a filter that are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rate {
    /// A range of outputs of the full convolution.
    Same {
        /// First output of the range.
        from: usize,
        /// Number of outputs.
        count: usize,
    },
    /// Every `every`-th output of the full convolution, from the first.
    Decimate {
        /// Distance between outputs in the full convolution.
        every: usize,
        /// Number of outputs.
        count: usize,
    },
    /// As many outputs for every sample, as if zeros were inserted between samples.
    Interpolate(usize),
}

/// A filter of known taps over channels of samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Filter {
    /// Number of taps.
    pub taps: usize,
    /// True if all taps are real numbers.
    pub real_taps: bool,
    /// Samples of a channel.
    pub samples: usize,
    /// Number of channels.
    pub channels: usize,
    /// True if samples and outputs are real numbers.
    pub real: bool,
    /// Outputs that are computed.
    pub rate: Rate,
}

const DIRECT: (&str, &str) = ("directly", "definition");
const SHORT: &str = "Mou, Duhamel, Short-length FIR filters and their use in fast nonrecursive filtering, IEEE Trans. SP 39 (1991)";
const SAVE: &str = "Stockham, High-speed convolution and correlation, AFIPS 28 (1966)";
const POLYPHASE: &str =
    "Crochiere, Rabiner, Multirate Digital Signal Processing (1983); Stockham (1966)";
const FOLDED: &str = "Borgerding, Turning overlap-save into a multiband mixing, downsampling filter bank, IEEE SP Magazine 23 (2006)";

/// Exponents of two of the block lengths that are searched; the odd factors follow.
const BLOCKS: Range<u32> = 0..26;
const ODD_PARTS: [u64; 3] = [1, 3, 5];

impl Filter {
    /// Returns the outputs of a channel.
    #[must_use]
    pub fn outputs(&self) -> usize {
        let full = |samples: usize| samples.saturating_add(self.taps).saturating_sub(1);
        match self.rate {
            Rate::Same { count, .. } | Rate::Decimate { count, .. } => count,
            Rate::Interpolate(i) => full(self.samples.saturating_sub(1).saturating_mul(i) + 1),
        }
    }

    /// Returns bound and reference.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        let outputs = self.outputs() as u128 * self.channels as u128 * self.number();
        let must = self.read(machine) + Traffic::bytes(outputs);
        Figures::least(machine, must, &Plan::once(must), self.known())
    }

    /// Returns the known algorithms for all channels.
    pub(crate) fn known(&self) -> Vec<Known> {
        let mut known = vec![self.direct(), self.fast()];
        for search in &mut searches() {
            self.blocks(search, &mut known);
        }
        // A pair of real samples is handled as a complex one.
        let times = self.channels as f64 * if self.real { 0.5 } else { 1.0 };
        let all = known.into_iter().map(|way| Known {
            count: way.count * times,
            ..way
        });
        all.collect()
    }

    /// Counts the direct filter: a multiply-add for each pair of a tap and a sample that it meets, complex,
    /// or for real taps two in a quad.
    fn direct(&self) -> Known {
        Known {
            count: self.multiplied(self.pairs()),
            method: DIRECT.0.to_owned(),
            source: DIRECT.1.to_owned(),
        }
    }

    fn multiplied(&self, pairs: f64) -> Count {
        match self.real_taps {
            true => Count {
                madds: pairs / 2.0,
                ..Count::default()
            },
            false => Count {
                products: pairs,
                ..Count::default()
            },
        }
    }

    /// Returns the number of products of a tap and a sample in all outputs of a channel.
    fn pairs(&self) -> f64 {
        let (l, n) = (self.taps as u128, self.samples as u128);
        match self.rate {
            Rate::Interpolate(_) => (l * n) as f64,
            Rate::Decimate { every, count } => {
                let (every, count) = (every.max(1) as u128, count as u128);
                // Number of outputs `k` for which sample `k * every - tap` exists.
                let met = |tap: u128| {
                    let before = |sample: u128| (sample + tap).div_ceil(every).min(count);
                    before(n) - before(0)
                };
                (0..l).map(met).sum::<u128>() as f64
            }
            Rate::Same { from, count } => {
                // Products in the first k outputs of the full convolution: their number per output rises to
                // the shorter of taps and samples, stays there, and falls.
                let before = |k: u128| {
                    let (short, long) = (l.min(n), l.max(n));
                    let rise = k.min(short);
                    let flat = k.clamp(short, long) - short;
                    let fall = k.min(l + n - 1).saturating_sub(long);
                    let falling = fall * short - fall * (fall + 1) / 2;
                    rise * (rise + 1) / 2 + flat * short + falling
                };
                let (from, to) = (from as u128, from as u128 + count as u128);
                (before(to) - before(from)) as f64
            }
        }
    }

    /// Counts short filters whose phases share products: at the samples' rate one filter, at another rate one
    /// for each phase of the taps.
    fn fast(&self) -> Known {
        let (phases, outputs) = match self.rate {
            Rate::Same { count, .. } => (1, count as f64),
            Rate::Decimate { every, count } => (every.max(1), count as f64),
            Rate::Interpolate(i) => (i.max(1), self.samples as f64),
        };
        let mut all = Count::default();
        for phase in 0..phases.min(self.taps.max(1)) {
            let taps = (self.taps - phase.min(self.taps)).div_ceil(phases);
            all = all + short_filter::output(taps, self.real_taps);
        }
        Known {
            count: all * outputs,
            method: "short filters that share products".to_owned(),
            source: SHORT.to_owned(),
        }
    }

    /// Adds the algorithms by transforms of overlapping blocks.
    fn blocks(&self, search: &mut Search, known: &mut Vec<Known>) {
        let l = self.taps as u64;
        let lengths = ODD_PARTS
            .into_iter()
            .flat_map(|odd| BLOCKS.map(move |b| odd << b));
        // Blocks much longer than all samples and taps gain nothing.
        let spread = match self.rate {
            Rate::Interpolate(i) => self.samples.saturating_mul(i),
            _ => self.samples,
        };
        let most = 4 * (spread as u64).saturating_add(l);
        for k in lengths.filter(|&k| k <= most) {
            match self.rate {
                Rate::Same { from, count } if k >= l && k % 2 == 0 => {
                    let forward = search.plain(k);
                    let back = search.scaled(k);
                    // A single block may hold everything if wrapped-around terms fall on unwanted outputs
                    // only.
                    let full = (self.samples as u64 + l).saturating_sub(1);
                    let whole = k >= self.samples as u64
                        && k >= (from + count) as u64
                        && k >= full - (from as u64).min(full);
                    let blocks = match whole {
                        true => 1.0,
                        false => count as f64 / (k - l + 1) as f64,
                    };
                    known.push(Known {
                        count: (forward.count + back.count) * blocks,
                        method: format!("overlap-save in blocks of {k}"),
                        source: source(SAVE, forward.means.with(back.means)),
                    });
                }
                Rate::Decimate { every, .. } if every > 1 => {
                    self.decimated(search, k, every as u64, known);
                }
                Rate::Interpolate(i) if i > 1 => {
                    let each = l.div_ceil(i as u64);
                    if k < each {
                        continue;
                    }
                    let (forward, back) = (search.plain(k), search.scaled(k));
                    let blocks = self.samples as f64 / (k - each + 1) as f64;
                    known.push(Known {
                        count: (forward.count + back.count * i as f64) * blocks,
                        method: format!("overlap-save by phases in blocks of {k}"),
                        source: source(POLYPHASE, forward.means.with(back.means)),
                    });
                }
                _ => {}
            }
        }
    }

    /// Adds decimation in blocks of `k` outputs, of which those free of wrap-around are used: with a
    /// transform for each phase, or with one transform of all samples, whose products are folded.
    fn decimated(&self, search: &mut Search, k: u64, m: u64, known: &mut Vec<Known>) {
        let each = (self.taps as u64).div_ceil(m);
        if k < each {
            return;
        }
        let blocks = self.outputs() as f64 / (k - each + 1) as f64;
        let folded = Count {
            products: (k * m) as f64,
            ..Count::default()
        };
        let (phase, back) = (search.plain(k), search.plain(k));
        known.push(Known {
            count: (phase.count * m as f64 + folded + back.count) * blocks,
            method: format!("overlap-save by phases in blocks of {m} x {k}"),
            source: source(POLYPHASE, phase.means),
        });
        let whole = search.plain(k * m);
        // Number of outputs at the end of a block all of whose samples are in the block.
        let l = self.taps as u64;
        let used = if k * m >= l { (k * m - l) / m + 1 } else { 0 };
        if used > 0 {
            known.push(Known {
                count: (whole.count + folded + back.count) * (self.outputs() as f64 / used as f64),
                method: format!("decimated overlap-save in blocks of {}", k * m),
                source: source(FOLDED, whole.means.with(back.means)),
            });
        }
    }

    /// Returns the bytes of a sample, which are those of an output too.
    fn number(&self) -> u128 {
        if self.real { REAL } else { COMPLEX }
    }

    /// Returns the traffic of the samples that must cross the channel.
    pub(crate) fn read(&self, machine: &Machine) -> Traffic {
        let (every, last) = match self.rate {
            Rate::Decimate { every, count } => {
                let every = every.max(1);
                (every, every.saturating_mul(count.saturating_sub(1)))
            }
            _ => (1, usize::MAX),
        };
        // Samples behind that of the last output are not needed.
        let samples = self.samples.min(last.saturating_add(1));
        let channels = self.channels as u128;
        if self.taps >= every {
            return Traffic::bytes(channels * samples as u128 * self.number());
        }
        // All windows but the first lie entirely in the samples.
        let windows = samples.saturating_sub(1) / every;
        let couples = Windows::new(self.taps, every, 2 * REAL as usize, machine);
        let held = if self.real {
            // Two real channels may be interleaved as pairs, or each channel may be contiguous.
            let each = Windows::new(self.taps, every, REAL as usize, machine);
            let both = [couples.moved(windows / 2), each.moved(windows)];
            both.into_iter().min_by_key(|m| couples.ticks(*m))
        } else {
            Some(couples.moved(windows))
        };
        let (granules, gaps) = held.unwrap_or_default();
        Traffic {
            bytes: channels * granules * couples.granule,
            gaps: channels * gaps,
        }
    }
}

fn source(of: &str, means: Means) -> String {
    match means.source() {
        fft if fft.is_empty() => of.to_owned(),
        fft => format!("{of}; {fft}"),
    }
}

/// Traffic of samples in system memory for decimated outputs that need fewer samples than lie between
/// outputs.
///
/// The window of an output lies in as many granules as hold it. Whole granules between two windows are either
/// moved too, or skipped by a new run, whichever takes less.
struct Windows {
    /// Number of windows after which their positions within granules repeat; `each` has the granules and the
    /// new runs of so many windows.
    period: u128,
    each: (u128, u128),
    granule: u128,
    /// Ticks of a granule and of a new run.
    times: [u128; 2],
}

impl Windows {
    fn new(l: usize, every: usize, number: usize, machine: &Machine) -> Self {
        let dma = &machine.dma;
        let granule = u128::from(dma.granule.0).max(1);
        let in_one = (granule as usize / number).max(1);
        let mut windows = Self {
            period: in_one as u128,
            each: (0, 0),
            granule,
            times: [
                granule * u128::from(dma.bandwidth.den),
                u128::from(dma.run.0.min(dma.setup_queued.0)) * u128::from(dma.bandwidth.num),
            ],
        };
        // The first window may begin at any place of a granule; the best place counts.
        let all = (0..in_one).map(|first| windows.from(first, (l, every), in_one));
        let best = all.min_by_key(|&moved| windows.ticks(moved));
        windows.each = best.unwrap_or_default();
        windows
    }

    /// Returns granules and new runs of a period whose first window begins at place `first` of a granule.
    fn from(&self, first: usize, (l, every): (usize, usize), in_one: usize) -> (u128, u128) {
        let (mut granules, mut gaps) = (0, 0);
        for window in 0..in_one {
            let begin = first + window * every;
            let (own, last) = (begin / in_one, (begin + l - 1) / in_one);
            let next = (begin + every) / in_one;
            granules += (last.min(next.saturating_sub(1)) + 1 - own) as u128;
            let between = next.saturating_sub(last + 1) as u128;
            if between * self.times[0] <= self.times[1] {
                granules += between;
            } else {
                gaps += 1;
            }
        }
        (granules, gaps)
    }

    fn ticks(&self, (granules, gaps): (u128, u128)) -> u128 {
        granules * self.times[0] + gaps * self.times[1]
    }

    /// Returns granules and new runs of so many windows; no run begins behind the last window.
    fn moved(&self, windows: usize) -> (u128, u128) {
        let periods = windows as u128 / self.period;
        let (granules, gaps) = self.each;
        (periods * granules, (periods * gaps).saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with the cheapest choice of runs over the granules of some windows, found by dynamic
    /// programming.
    #[test]
    fn windows_cost_what_the_cheapest_runs_do() {
        for name in ["vm7", "vm9"] {
            let machine = Machine::builtin(name).unwrap();
            for (l, every) in (1..12).flat_map(|l| (l + 1..l + 9).map(move |every| (l, every))) {
                let windows = Windows::new(l, every, 8, &machine);
                let count = 24;
                let (granules, gaps) = windows.moved(count);
                let least = [0, 1].map(|first| {
                    // Cheapest costs so far: with the last granule moved, and with it skipped.
                    let (mut moved, mut left) = (windows.times[1], 0);
                    for granule in 0..(first + count * every) / 2 + 1 {
                        let needed = (0..count).any(|w| {
                            let begin = first + w * every;
                            (begin / 2..=(begin + l - 1) / 2).contains(&granule)
                        });
                        let on = windows.times[0] + moved.min(left + windows.times[1]);
                        left = if needed {
                            u128::MAX / 4
                        } else {
                            left.min(moved)
                        };
                        moved = on;
                    }
                    moved.min(left)
                });
                let least = least[0].min(least[1]);
                let counted = windows.ticks((granules, gaps));
                assert!(
                    counted <= least,
                    "{l} of {every} on {name}: {counted} {least}"
                );
                let slack = 4 * (windows.times[0] + windows.times[1]);
                assert!(
                    counted + slack >= least,
                    "{l} of {every}: {counted} {least}"
                );
            }
        }
    }
}
