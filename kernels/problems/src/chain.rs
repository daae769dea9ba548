//! Receiver chains: rows of samples become spectra and maps of decibels.
//!
//! | problem | input `x` | output `spectra`, `decibels` |
//! |---|---|---|
//! | [`RadarProblem`] | pulses, and what is received of each | ranges, each a spectrum over the pulses |
//! | [`SonarProblem`] | hydrophones, and the samples of each | beams, their frames, each a spectrum |
//!
//! [`Case::Random`] is a scene that the seed determines: targets or sources in noise, which a right result
//! shows ([`RadarProblem::detections`], [`SonarProblem::contacts`]).
//!
//! # Accuracy
//!
//! *Spectra*, all together: their L2 error is at most [`Accuracy::SPECTRA`] of their norm, or of the norm
//! that white noise of the input's energy would have in the spectra, whichever is larger. Every stage rounds.
//! In units of 2^-24 of the norm of its numbers, the rounding noise of a stage is the number of roundings in
//! sequence: 4 + 6 log2 K for a filter by transforms of K points ([`conv`](crate::conv)), 4 + 2 sqrt k for a
//! sum of k products ([`vector`](crate::vector)), 1 for the window, 2 + 3 log2 N for the transform
//! ([`fft`](crate::fft)). Later stages treat it as they treat noise, and errors of different stages add up as
//! squares: 46 units for 16 pulses of 79 samples, 94 for the sonar's usual 16384 samples, if each bound is
//! reached. Measured errors are far smaller, 1 to 3 units for scenes. The limit 5e-6 is 84 units. The norm of
//! noise is included for signals that the chain removes: a tone in the stop band leaves hardly more than
//! rounding errors, which are no smaller for that.
//!
//! *Decibels*, one by one: they are 10 log10 of the squares of the very spectra they come with, to
//! [`Accuracy::DECIBELS`]. No power of binary32 is beyond 385 dB, where half a unit of the last place is
//! 1.5e-5 dB; there are three such roundings, and 1.5 units of the power are 8e-7 dB. Cells
//! [`Accuracy::DEPTH`] below the strongest may be lost: their power may be no normal number.

mod accuracy;
mod exact;
mod peaks;
mod problem;
mod radar;
mod scene;
mod sonar;

pub use accuracy::Accuracy;
pub use exact::ExactSpectra;
pub use problem::ReceiverProblem;
pub use radar::{Detection, RadarProblem, RadarSpec, RadarTarget};
pub use sonar::{Contact, SonarProblem, SonarSpec, SoundSource};

use crate::error::ProblemError;

#[cfg(doc)]
use crate::case::Case;

/// Largest count of anything in a specification.
const MOST: usize = 1 << 20;

/// Checks a count; counts that corner turns deal out in pairs must be even.
fn check_count(
    what: &'static str,
    found: usize,
    least: usize,
    even: bool,
) -> Result<(), ProblemError> {
    if (least..=MOST).contains(&found) && (!even || found.is_multiple_of(2)) {
        return Ok(());
    }
    let kind = if even { "an even number" } else { "a number" };
    let expected = format!("{kind} from {least} to {MOST}");
    Err(ProblemError::odd(what, found, expected))
}

/// Checks a frequency in Hz.
fn check_rate(what: &'static str, found: f64) -> Result<(), ProblemError> {
    if found.is_finite() && found > 0.0 {
        return Ok(());
    }
    Err(ProblemError::odd(what, found, "a frequency above 0 Hz"))
}

#[cfg(test)]
mod tests;
