//! Judges channels one after the other, a block of samples at a time.

use super::exact::ExactConvolution;
use super::{ConvProblem, Sample};
use crate::verdict::PartVerdict;
use crate::widen;
use num_complex::Complex64;
use std::ops::Range;

/// Compares the channels of a convolution with the reference in double precision, without holding a whole
/// channel or its reference in memory.
#[derive(Clone, Debug)]
pub struct ChannelJudge {
    exact: ExactConvolution,
    /// Distance between samples after zeros are inserted; `step` is the distance between outputs that are
    /// kept.
    spread: usize,
    step: usize,
    /// Range of the full convolution from which outputs are taken.
    wanted: Range<usize>,
    /// Error that a channel may have: relative to the norm of its samples, and absolute.
    allowed: [f64; 2],
    /// True if no channel is judged, as the taps are not finite.
    nothing: bool,
    finite: bool,
}

/// Reasons to end the judging of a channel early.
enum Ended<E> {
    NotFinite,
    Failed(E),
}

impl ChannelJudge {
    pub(super) fn new(problem: &ConvProblem, finite: bool) -> Self {
        let (taps, allowed) = problem.tolerance();
        let rate = problem.rate();
        let (spread, step) = (rate.interpolate(), rate.decimate());
        let samples = (problem.samples().max(1) - 1) * spread + 1;
        Self {
            wanted: problem.wanted(),
            allowed,
            exact: ExactConvolution::new(samples, &taps),
            spread,
            step,
            nothing: finite && !problem.taps().iter().all(|h| h.is_finite()),
            finite,
        }
    }

    /// Compares a channel: `samples` and `outputs` fetch values from a position on. Returns none if samples
    /// or taps are not finite and only finite ones are judged.
    ///
    /// # Errors
    /// The errors of `samples` and `outputs`.
    pub fn judge<T: Sample, E>(
        &mut self,
        mut samples: impl FnMut(usize, &mut [T]) -> Result<(), E>,
        mut outputs: impl FnMut(usize, &mut [T]) -> Result<(), E>,
    ) -> Result<Option<PartVerdict>, E> {
        if self.nothing {
            return Ok(None);
        }
        let (mut x, mut y): (Vec<T>, Vec<T>) = (Vec::new(), Vec::new());
        let (mut error, mut norm, mut loudness) = (0.0, 0.0, 0.0);
        let (spread, step, finite) = (self.spread, self.step, self.finite);
        let fill = |range: Range<usize>, block: &mut [Complex64]| {
            let first = range.start.div_ceil(spread);
            x.resize(range.end.div_ceil(spread) - first, T::default());
            samples(first, &mut x).map_err(Ended::Failed)?;
            if finite && !x.iter().all(|x| x.complex().is_finite()) {
                return Err(Ended::NotFinite);
            }
            let places = block.iter_mut().skip(first * spread - range.start);
            for (place, x) in places.step_by(spread).zip(&x) {
                *place = widen(x.complex());
                loudness += place.norm_sqr();
            }
            Ok(())
        };
        let wanted = &self.wanted;
        let take = |at: usize, exact: &[Complex64]| {
            let from = wanted.start.max(at);
            let to = wanted.end.min(at + exact.len());
            // The first output from this position on that is kept.
            let first = from.saturating_sub(wanted.start).div_ceil(step);
            let start = wanted.start + first * step;
            let exact = exact.get(start - at.min(start)..to.saturating_sub(at));
            let exact = exact.unwrap_or_default();
            y.resize(exact.len().div_ceil(step), T::default());
            outputs(first, &mut y).map_err(Ended::Failed)?;
            for (a, y) in exact.iter().step_by(step).zip(&y) {
                error += (a - widen(y.complex())).norm_sqr();
                norm += a.norm_sqr();
            }
            Ok(())
        };
        match self.exact.convolve(fill, take) {
            Ok(()) => Ok(Some(PartVerdict {
                error,
                norm,
                allowed: f64::sqrt(loudness) * self.allowed[0] + self.allowed[1],
            })),
            Err(Ended::NotFinite) => Ok(None),
            Err(Ended::Failed(error)) => Err(error),
        }
    }
}
