//! The least time that a filter can take, written down before any kernel.

use super::choice::Wanted;
use super::filter::Numbers;
use super::overlap;
use super::rate::Rate;
use crate::job::Least;
use cp2_machine::Machine;

/// The cheapest way of all known ones, every number moved once.
///
/// * Directly a sample meets each of L taps once, or where outputs are decimated
///   every M-th one, so that each tap meets samples/M, rounded down, at least: a complex
///   multiply-add each, one issue; two where taps are real. With fewer than M taps only so
///   many samples need be read, see `read`.
/// * Overlap-save with blocks of N takes N (log2 N + 1/2) issues for N - L + 1
///   outputs, or for a whole channel that N holds; N is any power of two,
///   whether there is a kernel or not. It has no outputs to leave out.
///
/// Two real samples count as a complex one.
pub(super) fn least<T: Numbers>(wanted: Wanted<'_>, machine: &Machine) -> Least {
    let (l, outputs) = (wanted.taps.len(), wanted.outputs());
    let (samples, channels, rate) = (wanted.samples, wanted.channels, wanted.rate);
    let used = if rate == Rate::Same {
        samples.min(outputs.len())
    } else {
        samples
    };
    let every = rate.decimate().max(1);
    let real_taps = wanted.taps.iter().all(|h| h.im == 0.0);
    let mut issues = (used / every).saturating_mul(l) as f64;
    if real_taps {
        issues /= 2.0;
    }
    if rate == Rate::Same {
        for n in (1..=30).map(|b| 1usize << b).filter(|&n| n >= l) {
            let blocks = if overlap::holds(n, samples, l, &outputs) {
                1.0
            } else {
                outputs.len() as f64 / (n - l + 1) as f64
            };
            issues = issues.min(blocks * overlap::issues(n) as f64);
        }
    }
    if T::REAL {
        issues /= 2.0;
    }
    let (read, gaps) = read::<T>(wanted, machine);
    let numbers = outputs.len() as u128 * channels as u128;
    Least {
        issues: (issues * channels as f64).floor() as u128,
        bytes: read + numbers * size_of::<T>() as u128,
        gaps,
        ..Least::default()
    }
}

/// Bytes of samples that must be moved, and places where they go on elsewhere.
fn read<T: Numbers>(wanted: Wanted<'_>, machine: &Machine) -> (u128, u128) {
    let (l, every) = (wanted.taps.len(), wanted.rate.decimate().max(1));
    let (samples, channels) = (wanted.samples, wanted.channels as u128);
    if l >= every {
        return (channels * (samples * size_of::<T>()) as u128, 0);
    }
    // All windows but the first lie in the samples.
    let windows = (samples - 1) / every;
    let couples = Windows::new(l, every, 2 * size_of::<f32>(), machine);
    let held = if T::REAL {
        // Two real numbers may lie side by side, or each channel by itself.
        let each = Windows::new(l, every, size_of::<T>(), machine);
        let both = [couples.moved(windows / 2), each.moved(windows)];
        both.into_iter().min_by_key(|m| couples.ticks(*m))
    } else {
        Some(couples.moved(windows))
    };
    let (granules, gaps) = held.unwrap_or_default();
    (channels * granules * couples.granule, channels * gaps)
}

/// The samples that outputs of fewer taps than they have samples need, in system memory: an output's lie in as many granules as hold
/// them, and where whole granules are between them and the next one's, these are moved too or a run begins behind them, whichever
/// takes less.
struct Windows {
    /// Granules and runs of so many windows, behind which they lie in granules as before.
    period: u128,
    each: (u128, u128),
    granule: u128,
    /// Times of a granule and of a run.
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
        // Whatever place of a granule the first begins at.
        let all = (0..in_one).map(|first| windows.from(first, (l, every), in_one));
        let best = all.min_by_key(|&moved| windows.ticks(moved));
        windows.each = best.unwrap_or_default();
        windows
    }

    /// Of a period whose first window begins at this place of a granule.
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

    /// Of so many windows; behind the last there is no gap.
    fn moved(&self, windows: usize) -> (u128, u128) {
        let periods = windows as u128 / self.period;
        let (granules, gaps) = self.each;
        (periods * granules, (periods * gaps).saturating_sub(1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Against every choice of runs over the granules of some windows, the cheapest found by going through them.
    #[test]
    fn windows_cost_what_the_cheapest_runs_do() {
        for name in ["vm7", "vm9"] {
            let machine = Machine::builtin(name).unwrap();
            for (l, every) in (1..12).flat_map(|l| (l + 1..l + 9).map(move |every| (l, every))) {
                let windows = Windows::new(l, every, 8, &machine);
                let count = 24;
                let (granules, gaps) = windows.moved(count);
                let least = [0, 1].map(|first| {
                    // Cheapest cost so far, if the last granule is moved or not.
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
