//! Receivers: filters, products and transforms one behind the other.
//!
//! What is between two stages is neither input nor output: no program has to move it, and none of it is in a bound. The
//! reference is the arithmetic of all stages, each by the best of its ways, with nothing moved between them; the reference of
//! stages that each fetch and leave their arrays is the sum of theirs.

use crate::bound::Traffic;
use crate::count::Count;
use crate::fft::{COMPLEX, Fft, REAL};
use crate::figures::{Figures, Known, Plan};
use crate::filter::{Filter, Rate};
use crate::matrix::MatrixTimesVectors;
use crate::vector::{Map, MapOperation};
use cp2_machine::Machine;

/// A pulse-Doppler radar: of every pulse the correlation with what was sent, over the pulses of every range a window and a
/// transform, the decibels of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Radar {
    /// Pulses, each of `ranges` + `pulse` - 1 complex samples.
    pub pulses: usize,
    /// Outputs of a correlation.
    pub ranges: usize,
    /// Samples of the pulse that is sent.
    pub pulse: usize,
    /// Whether all of them are real numbers.
    pub real_pulse: bool,
}

/// A passive sonar: of every hydrophone a decimating filter of real taps, beams of all hydrophones, over the frames of every beam a
/// window and a transform, the decibels of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sonar {
    /// Hydrophones.
    pub hydrophones: usize,
    /// Complex samples of each.
    pub samples: usize,
    /// Taps of the filter.
    pub taps: usize,
    /// Samples for an output of it.
    pub decimate: usize,
    /// Beams.
    pub beams: usize,
    /// Frames of a beam.
    pub frames: usize,
    /// Points of a frame.
    pub points: usize,
}

impl Radar {
    /// Bound and reference.
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
    /// Bound and reference. Filter and phases of the beams are of the program's tables and not counted; samples behind the last whole
    /// frame are not looked at.
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

/// How receivers end: of `rows` rows of `points` a window, a transform, decibels.
fn spectra(points: usize, rows: usize) -> [Vec<Known>; 3] {
    let map = |operation| Map::new(operation, 1, 2 * points * rows).known();
    [
        map(MapOperation::Multiply),
        Fft::new(points, rows).known(),
        map(MapOperation::Decibels),
    ]
}

/// What stages take that read so much and leave spectra of so many numbers, and their decibels.
fn figures(
    machine: &Machine,
    read: Traffic,
    numbers: usize,
    stages: impl Iterator<Item = Vec<Known>>,
) -> Figures {
    let must = read + Traffic::bytes((COMPLEX + REAL) * numbers as u128);
    // The best of each stage alone need not be the best of all: stages share the units.
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

/// Each once.
fn joined<'a>(names: impl Iterator<Item = &'a String>, between: &str) -> String {
    let mut all: Vec<&str> = Vec::new();
    for name in names {
        if !all.contains(&name.as_str()) {
            all.push(name);
        }
    }
    all.join(between)
}
