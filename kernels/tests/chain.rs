//! The receivers against double precision, and against what is in their scenes.
#![allow(missing_docs, clippy::unwrap_used, clippy::panic, reason = "tests")]

use cp2_host::Options;
use cp2_kernels::chain::{ChainError, Radar, RadarSpec, Sonar, SonarSpec};
use cp2_machine::Machine;
use num_complex::{Complex32, Complex64};
use std::sync::Arc;

fn machines() -> Vec<Arc<Machine>> {
    let names = Machine::names();
    let load = |name| Arc::new(Machine::builtin(name).unwrap());
    names.into_iter().map(load).collect()
}

fn relative(found: &[Complex32], reference: &[Complex64]) -> f64 {
    assert_eq!(found.len(), reference.len());
    let wide = |z: &Complex32| Complex64::new(z.re.into(), z.im.into());
    let pairs = || found.iter().map(wide).zip(reference);
    let error: f64 = pairs().map(|(z, r)| (z - r).norm_sqr()).sum();
    let all: f64 = pairs().map(|(_, r)| r.norm_sqr()).sum();
    (error / all).sqrt()
}

#[test]
fn the_radar_sees_its_targets_and_is_faster_than_real_time() {
    let spec = RadarSpec {
        ranges: 256,
        ..RadarSpec::default()
    };
    let mut maps = Vec::new();
    for machine in machines() {
        let radar = Radar::new(spec.clone(), &machine).unwrap();
        let echoes = spec.echoes(5);
        let map = radar.process(&echoes, &Options::default()).unwrap();
        assert!(relative(&map.spectra, &radar.reference(&echoes)) < 1e-6);
        let detections = radar.detections(&map);
        for target in spec.targets() {
            let found = detections.iter().any(|d| {
                (d.range_m - target.range_m).abs() <= 1.5 * spec.range_cell()
                    && (d.speed_m_s - target.speed_m_s).abs() <= 1.5 * spec.speed_cell()
            });
            assert!(found, "{target:?} in {detections:?}");
        }
        let cycles: u64 = map.stages.iter().map(|s| s.cycles).sum();
        let seconds = cycles as f64 / machine.cp2.clock_hz as f64;
        assert!(
            seconds < spec.seconds(),
            "{seconds} s for {} s",
            spec.seconds()
        );
        for stage in &map.stages {
            assert!(stage.bound_cycles <= stage.cycles, "{stage:?}");
        }
        maps.push(map.spectra);
    }
    assert!(
        maps.windows(2).all(|w| w[0] == w[1]),
        "machines differ in time only"
    );
}

#[test]
fn the_sonar_hears_its_contacts() {
    let spec = SonarSpec {
        hydrophones: 16,
        beams: 16,
        samples: 2048,
        points: 128,
        ..SonarSpec::default()
    };
    for machine in machines() {
        let sonar = Sonar::new(spec.clone(), &machine).unwrap();
        let sound = spec.sound(3);
        let picture = sonar.process(&sound, &Options::default()).unwrap();
        assert!(relative(&picture.spectra, &sonar.reference(&sound)) < 1e-6);
        assert_eq!(picture.decibels.len(), spec.beams * spec.filtered());
        assert_eq!(sonar.bearings(&picture).len(), spec.beams * spec.points);
    }
}

#[test]
fn noise_alone_is_no_target() {
    let spec = RadarSpec {
        pulses: 64,
        ranges: 256,
        ..RadarSpec::default()
    };
    let radar = Radar::new(spec.clone(), &machines()[0]).unwrap();
    let mut random = cp2_kernels::Random::new(9);
    let noise: Vec<Complex32> = (0..spec.pulses * spec.samples())
        .map(|_| Complex32::new(random.normal(), random.normal()))
        .collect();
    let map = radar.process(&noise, &Options::default()).unwrap();
    assert!(radar.detections(&map).is_empty());
}

#[test]
fn what_makes_no_sense_is_refused() {
    let machine = &machines()[0];
    for (pulses, ranges) in [
        (0, 64),
        (64, 0),
        (usize::MAX, 64),
        (64, usize::MAX),
        (3, 64),
    ] {
        let spec = RadarSpec {
            pulses,
            ranges,
            ..RadarSpec::default()
        };
        assert!(Radar::new(spec, machine).is_err(), "{pulses} x {ranges}");
    }
    let none = SonarSpec {
        samples: 10,
        ..SonarSpec::default()
    };
    assert!(matches!(
        Sonar::new(none, machine),
        Err(ChainError::Spec { .. })
    ));
    let radar = Radar::new(RadarSpec::default(), machine).unwrap();
    assert!(matches!(
        radar.process(&[], &Options::default()),
        Err(ChainError::Shape { .. })
    ));
}
