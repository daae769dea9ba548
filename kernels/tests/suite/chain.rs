//! Tests the receivers against double precision, their scenes and physics.
//!
//! Scenes are made by the problems, and again from the physics alone.
#![allow(
    clippy::disallowed_methods,
    reason = "oracles may use the host's functions"
)]
#![allow(
    missing_docs,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "tests"
)]

mod refusals;
mod scenes;
mod whole;

use cp2_host::{DeviceOptions, RunEnd};
use cp2_kernels::Random;
use cp2_kernels::chain::{
    Accuracy, ChainError, ExactSpectra, Frames, RadarPlan, RadarProblem, RadarSpec, Received,
    Receiver as _, ReceiverProblem, SonarPlan, SonarProblem, SonarSpec, Spectrogram, Transform,
};
use cp2_kernels::dsp::{ElementwisePlan, MapOp, TransposePlan, WindowFunction};
use cp2_kernels::fft::FftPlanner;
use cp2_machine::Machine;
use num_complex::{Complex32, Complex64};
use std::f64::consts::{PI, TAU};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn machines() -> Vec<Arc<Machine>> {
    Machine::names()
        .into_iter()
        .map(crate::common::machine)
        .collect()
}

fn vm7() -> Arc<Machine> {
    crate::common::machine("vm7")
}

fn narrow(z: Complex64) -> Complex32 {
    Complex32::new(z.re as f32, z.im as f32)
}

/// Returns a radar whose blocks simulate quickly.
fn small_radar() -> RadarSpec {
    RadarSpec {
        pulses: 16,
        ranges: 64,
        chirp: 16,
        ..RadarSpec::default()
    }
}

fn radar(spec: &RadarSpec) -> RadarProblem {
    RadarProblem::new(spec.clone()).unwrap()
}

fn sonar(spec: &SonarSpec) -> SonarProblem {
    SonarProblem::new(spec.clone()).unwrap()
}

/// Returns the errors of a result against the problem's exact spectra.
fn accuracy(problem: &impl ReceiverProblem, block: &[Complex32], received: &Received) -> Accuracy {
    received.accuracy(&problem.exact(block))
}

/// Checks that every target has its detection, and every detection its target.
fn sees(radar: &RadarProblem, decibels: &[f32]) {
    let spec = radar.spec();
    let detections = radar.detections(decibels);
    let found: Vec<_> = detections
        .iter()
        .map(|d| (d.range_m, d.speed_m_s))
        .collect();
    let there = spec.targets().map(|t| (t.range_m, t.speed_m_s));
    for target in there {
        let seen = found.iter().any(|d| spec.is_near(target, *d, 1.5));
        assert!(seen, "{spec:?}: {target:?} is missing in {detections:?}");
    }
    for detection in found {
        let real = there.iter().any(|t| spec.is_near(*t, detection, 1.5));
        assert!(real, "{spec:?}: nothing is at {detection:?}");
    }
    assert!(radar.faults(&detections).is_empty());
    assert_eq!(radar.faults(&detections[1..]).len(), 1);
}

/// Checks that every source has its contact, and every contact its source.
fn hears(sonar: &SonarProblem, spectra: &[Complex32]) {
    let spec = sonar.spec();
    let contacts = sonar.contacts(spectra);
    for source in spec.sources() {
        let heard = contacts.iter().any(|c| spec.is_near(&source, c));
        assert!(heard, "{spec:?}: {source:?} is missing in {contacts:?}");
    }
    for contact in &contacts {
        let real = spec.sources().iter().any(|s| spec.is_near(s, contact));
        assert!(real, "{spec:?}: nothing is at {contact:?}");
    }
    assert!(sonar.faults(&contacts).is_empty());
    let ghost = [
        contacts.as_slice(),
        &[cp2_kernels::chain::Contact {
            bearing_deg: -80.0,
            ..contacts[0]
        }],
    ];
    assert_eq!(sonar.faults(&ghost.concat()).len(), 1);
}

fn checked() -> DeviceOptions {
    DeviceOptions {
        check: true,
        ..DeviceOptions::default()
    }
}
