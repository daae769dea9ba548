//! Receivers: filters, products and transforms one after the other.
//!
//! Arrays between two stages are neither input nor output: no program has to move them, and none of their
//! bytes are in a bound. The reference is the arithmetic of all stages, each by the best of its algorithms,
//! with nothing moved between them. The reference of stages that load and store their arrays is the sum of
//! the stages' references.

use crate::bound::Traffic;
use crate::count::Count;
use crate::fft::{COMPLEX, Fft, REAL};
use crate::figures::{Figures, Known, Plan};
use crate::filter::{Filter, Rate};
use crate::matrix::MatrixTimesVectors;
use crate::vector::{Map, MapOperation};
use cp2_machine::Machine;

/// A pulse-Doppler radar: each pulse is correlated with the transmitted one; over the pulses of every range a
/// window and a transform follow, then decibels of all points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Radar {
    /// Pulses, each of `ranges` + `pulse` - 1 complex samples.
    pub pulses: usize,
    /// Outputs of each correlation.
    pub ranges: usize,
    /// Samples of the transmitted pulse.
    pub pulse: usize,
    /// True if all samples of the transmitted pulse are real numbers.
    pub real_pulse: bool,
}

/// A passive sonar: a decimating filter of real taps for each hydrophone, beams from all hydrophones, a
/// window and a transform over the frames of every beam, then decibels of all points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sonar {
    /// Number of hydrophones.
    pub hydrophones: usize,
    /// Complex samples of each hydrophone.
    pub samples: usize,
    /// Taps of the filter.
    pub taps: usize,
    /// Samples for one output of the filter.
    pub decimate: usize,
    /// Number of beams.
    pub beams: usize,
    /// Frames of each beam.
    pub frames: usize,
    /// Points of a frame.
    pub points: usize,
}

impl Radar {
    /// Returns bound and reference.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        let filter = Filter {
            taps: self.pulse,
            real_taps: self.real_pulse,
            samples: (self.ranges + self.pulse).saturating_sub(1),
            channels: self.pulses,
            real: false,
            rate: Rate::Same {
                from: self.pulse.saturating_sub(1),
                count: self.ranges,
            },
        };
        let stages = [filter.known()].into_iter();
        let stages = stages.chain(spectra(self.pulses, self.ranges));
        let read = filter.read(machine);
        figures(machine, read, self.pulses * self.ranges, stages)
    }
}

impl Sonar {
    /// Returns bound and reference. Filter and beam phases belong to the program's tables and are not
    /// counted. Samples behind the last whole frame are not needed.
    #[must_use]
    pub fn figures(&self, machine: &Machine) -> Figures {
        let filtered = self.frames * self.points;
        let filter = Filter {
            taps: self.taps,
            real_taps: true,
            samples: self.samples,
            channels: self.hydrophones,
            real: false,
            rate: Rate::Decimate {
                every: self.decimate,
                count: filtered,
            },
        };
        let beams = MatrixTimesVectors::new(self.hydrophones, self.beams, filtered);
        let stages = [filter.known(), beams.known()].into_iter();
        let stages = stages.chain(spectra(self.points, self.beams * self.frames));
        let read = filter.read(machine);
        figures(machine, read, self.beams * filtered, stages)
    }
}

/// Counts the final stages of a receiver, for `rows` rows of `points`: window, transform, decibels.
fn spectra(points: usize, rows: usize) -> [Vec<Known>; 3] {
    let map = |operation| Map::new(operation, 1, 2 * points * rows).known();
    [
        map(MapOperation::Multiply),
        Fft::new(points, rows).known(),
        map(MapOperation::Decibels),
    ]
}

/// Returns the figures of stages that read `read` from system memory and store spectra of `numbers` numbers
/// with their decibels.
fn figures(
    machine: &Machine,
    read: Traffic,
    numbers: usize,
    stages: impl Iterator<Item = Vec<Known>>,
) -> Figures {
    let must = read + Traffic::bytes((COMPLEX + REAL) * numbers as u128);
    // The best algorithm of each stage alone need not be the best for all, as stages share the units: all
    // combinations are compared.
    let stages: Vec<Vec<Known>> = stages.collect();
    let mut all: Vec<Vec<&Known>> = vec![Vec::new()];
    for ways in stages.iter().filter(|ways| !ways.is_empty()) {
        let mut next = Vec::with_capacity(all.len() * ways.len());
        for before in &all {
            next.extend(ways.iter().map(|way| [&before[..], &[way]].concat()));
        }
        all = next;
    }
    let together = all.iter().map(|ways| Known {
        count: ways
            .iter()
            .fold(Count::default(), |sum, way| sum + way.count),
        method: joined(ways.iter().map(|way| &way.method), ", "),
        source: joined(ways.iter().map(|way| &way.source), "; "),
    });
    Figures::least(machine, must, &Plan::once(must), together)
}

/// Joins names, each listed once.
fn joined<'a>(names: impl Iterator<Item = &'a String>, between: &str) -> String {
    let mut all: Vec<&str> = Vec::new();
    for name in names {
        if !all.contains(&name.as_str()) {
            all.push(name);
        }
    }
    all.join(between)
}
