//! The least time that a filter can take, written down before any kernel.

use super::choice::Wanted;
use super::filter::Numbers;
use super::overlap;
use super::rate::Rate;
use crate::job::Least;

/// The cheapest way of all known ones, every number moved once.
///
/// * Directly a sample meets each of L taps once, or where outputs are decimated
///   every M-th one, so that each tap meets samples/M, rounded down, at least: a complex
///   multiply-add each, one issue; two where taps are real. With fewer than M taps only so
///   many samples need be read.
/// * Overlap-save with blocks of N takes N (log2 N + 1/2) issues for N - L + 1
///   outputs, or for a whole channel that N holds; N is any power of two,
///   whether there is a kernel or not. It has no outputs to leave out.
///
/// Two real samples count as a complex one.
pub(super) fn least<T: Numbers>(wanted: Wanted<'_>) -> Least {
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
    // Fewer taps than an output has samples never meet some of them.
    let read = samples.min((samples / every).saturating_mul(l));
    let numbers = (read as u128 + outputs.len() as u128) * channels as u128;
    Least {
        issues: (issues * channels as f64).floor() as u128,
        bytes: numbers * size_of::<T>() as u128,
        ..Least::default()
    }
}
