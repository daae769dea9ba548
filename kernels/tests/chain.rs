//! The receivers against double precision, against what is in their scenes, and
//! against scenes made from the physics alone.
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

mod common;

use cp2_host::{End, Options};
use cp2_kernels::Random;
use cp2_kernels::chain::{
    Accuracy, ChainError, Radar, RadarSpec, Received, Receiver as _, Sonar, SonarSpec,
};
use cp2_machine::Machine;
use num_complex::{Complex32, Complex64};
use std::f64::consts::{PI, TAU};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

fn machines() -> Vec<Arc<Machine>> {
    Machine::names().into_iter().map(common::machine).collect()
}

fn vm7() -> Arc<Machine> {
    common::machine("vm7")
}

fn narrow(z: Complex64) -> Complex32 {
    Complex32::new(z.re as f32, z.im as f32)
}

/// A radar whose blocks simulate quickly.
fn small_radar() -> RadarSpec {
    RadarSpec {
        pulses: 16,
        ranges: 64,
        chirp: 16,
        ..RadarSpec::default()
    }
}

/// Every target has its detection, and every detection its target.
fn sees(radar: &Radar, map: &Received) {
    let spec = radar.spec();
    let detections = radar.detections(map);
    let found: Vec<_> = detections
        .iter()
        .map(|d| (d.range_m, d.speed_m_s))
        .collect();
    let there = spec.targets().map(|t| (t.range_m, t.speed_m_s));
    for target in there {
        let seen = found.iter().any(|d| spec.near(target, *d, 1.5));
        assert!(seen, "{spec:?}: {target:?} is missing in {detections:?}");
    }
    for detection in found {
        let real = there.iter().any(|t| spec.near(*t, detection, 1.5));
        assert!(real, "{spec:?}: nothing is at {detection:?}");
    }
}

/// Every source has its contact, and every contact its source.
fn hears(sonar: &Sonar, picture: &Received) {
    let spec = sonar.spec();
    let contacts = sonar.contacts(picture);
    for source in spec.sources() {
        let heard = contacts.iter().any(|c| spec.near(&source, c));
        assert!(heard, "{spec:?}: {source:?} is missing in {contacts:?}");
    }
    for contact in contacts {
        let real = spec.sources().iter().any(|s| spec.near(s, &contact));
        assert!(real, "{spec:?}: nothing is at {contact:?}");
    }
}

#[test]
fn the_radar_sees_its_targets_and_is_faster_than_real_time() {
    let spec = RadarSpec {
        ranges: 256,
        ..RadarSpec::default()
    };
    for machine in machines() {
        let radar = Radar::new(spec.clone(), &machine).unwrap();
        let echoes = spec.echoes(5);
        let map = radar.process(&echoes, &Options::default()).unwrap();
        let accuracy = Accuracy::of(&map, &radar.reference(&echoes));
        assert!(
            accuracy.rel_error < 1e-6 && accuracy.holds(),
            "{accuracy:?}"
        );
        sees(&radar, &map);
        let cycles: u64 = map.stages.iter().map(|s| s.cycles).sum();
        let seconds = cycles as f64 / machine.cp2.clock_hz as f64;
        assert!(
            seconds < spec.seconds(),
            "{seconds} s for {} s",
            spec.seconds()
        );
        for stage in &map.stages {
            assert!(stage.bound_cycles <= stage.cycles, "{stage:?}");
            assert!(!stage.programs.is_empty(), "{stage:?}");
        }
    }
}

#[test]
fn the_sonar_hears_its_sources() {
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
        let accuracy = Accuracy::of(&picture, &sonar.reference(&sound));
        assert!(
            accuracy.rel_error < 1e-6 && accuracy.holds(),
            "{accuracy:?}"
        );
        assert_eq!(picture.decibels.len(), spec.beams * spec.filtered());
        assert_eq!(sonar.bearings(&picture).len(), spec.beams * spec.points);
        hears(&sonar, &picture);
    }
}

/// What is found does not depend on the sizes: the detectors see the spectra,
/// here those of double precision, which need no simulation.
#[test]
fn scenes_of_every_size_are_resolved() {
    let vm7 = vm7();
    let received = |reference: Vec<Complex64>| Received {
        decibels: reference
            .iter()
            .map(|z| (10.0 * z.norm_sqr().log10()) as f32)
            .collect(),
        spectra: reference.into_iter().map(narrow).collect(),
        stages: Vec::new(),
    };
    for (pulses, ranges, chirp) in [
        (16, 64, 16),
        (64, 128, 64),
        (32, 512, 4),
        (128, 2, 64),
        (16, 1024, 200),
    ] {
        let spec = RadarSpec {
            pulses,
            ranges,
            chirp,
            ..RadarSpec::default()
        };
        assert!(spec.resolves_targets());
        let radar = Radar::new(spec.clone(), &vm7).unwrap();
        for seed in 1..3 {
            sees(&radar, &received(radar.reference(&spec.echoes(seed))));
        }
    }
    for (hydrophones, beams, samples, points, decimate) in [
        (32, 32, 1024, 256, 4),
        (16, 64, 4096, 64, 1),
        (64, 16, 8192, 128, 8),
        (8, 8, 2048, 512, 4),
    ] {
        let spec = SonarSpec {
            hydrophones,
            beams,
            samples,
            points,
            decimate,
            ..SonarSpec::default()
        };
        assert!(spec.resolves_sources());
        let sonar = Sonar::new(spec.clone(), &vm7).unwrap();
        for seed in 1..3 {
            hears(&sonar, &received(sonar.reference(&spec.sound(seed))));
        }
    }
    let tiny = RadarSpec {
        pulses: 2,
        ..RadarSpec::default()
    };
    assert!(!tiny.resolves_targets());
    let pair = SonarSpec {
        hydrophones: 2,
        ..SonarSpec::default()
    };
    assert!(!pair.resolves_sources());
}

/// What an antenna receives: the wave that left 2 R / c before, R the range at
/// that moment, mixed with the carrier. Of the radar only its specification.
fn flight(spec: &RadarSpec, range: f64, speed: f64) -> Vec<Complex32> {
    let light = 299_792_458.0;
    let chirp = spec.chirp as f64;
    let mut random = Random::new(77);
    let mut received = Vec::new();
    for p in 0..spec.pulses {
        for i in 0..spec.samples() {
            let since = i as f64 / spec.sample_rate;
            let time = p as f64 / spec.pulse_rate + since;
            let delay = 2.0 * (range + speed * time) / light;
            let sample = (since - delay) * spec.sample_rate;
            let mut z = Complex64::new(random.normal().into(), random.normal().into()) * 0.01;
            if (0.0..chirp).contains(&sample) {
                let sent = PI * (sample - chirp / 2.0).powi(2) / chirp;
                z += Complex64::cis(sent - TAU * spec.carrier * delay);
            }
            received.push(narrow(z));
        }
    }
    received
}

#[test]
fn a_target_that_moves_away_has_a_positive_speed() {
    let spec = RadarSpec {
        pulses: 32,
        ranges: 64,
        chirp: 32,
        sample_rate: 5e6,
        pulse_rate: 10e3,
        carrier: 3e9,
    };
    let radar = Radar::new(spec.clone(), &vm7()).unwrap();
    for (range, speed) in [(600.0, 95.0), (1100.0, -140.0), (300.0, 0.0)] {
        let map = radar
            .process(&flight(&spec, range, speed), &Options::default())
            .unwrap();
        let detections = radar.detections(&map);
        assert_eq!(detections.len(), 1, "{detections:?}");
        let (away, sideways) = (
            detections[0].speed_m_s - speed,
            detections[0].range_m - range,
        );
        assert!(
            away.abs() <= 0.6 * spec.speed_cell(),
            "{speed}: {detections:?}"
        );
        assert!(
            sideways.abs() <= 0.6 * spec.range_cell(),
            "{range}: {detections:?}"
        );
    }
    let speeds: Vec<f64> = spec.by_speed().map(|d| spec.speed(d)).collect();
    assert!(speeds.windows(2).all(|w| w[0] < w[1]), "{speeds:?}");
}

#[test]
fn a_pulse_of_ones_own_is_matched() {
    let spec = small_radar();
    // Barker's code of 13, with a phase, filled up.
    let code = [1, 1, 1, 1, 1, -1, -1, 1, 1, -1, 1, -1, 1, 0, 0, 0];
    let pulse: Vec<Complex32> = code.map(|c| Complex32::new(0.6, 0.8) * c as f32).to_vec();
    let radar = Radar::with_pulse(spec.clone(), pulse.clone(), &vm7()).unwrap();
    let mut random = Random::new(3);
    let mut echoes: Vec<Complex32> = (0..spec.pulses * spec.samples())
        .map(|_| random.complex() * 0.2)
        .collect();
    for row in echoes.chunks_mut(spec.samples()) {
        for (x, h) in row[20..].iter_mut().zip(&pulse) {
            *x += h;
        }
    }
    let map = radar.process(&echoes, &Options::default()).unwrap();
    assert!(Accuracy::of(&map, &radar.reference(&echoes)).holds());
    let detections = radar.detections(&map);
    assert_eq!(detections.len(), 1, "{detections:?}");
    assert!((detections[0].range_m - 20.0 * spec.range_cell()).abs() < 1e-6);
    for wrong in [
        &pulse[1..],
        &[Complex32::default(); 16],
        &[f32::NAN.into(); 16],
    ] {
        assert!(Radar::with_pulse(spec.clone(), wrong.to_vec(), &vm7()).is_err());
    }
}

/// Hydrophones half a wavelength apart; a tone from a bearing reaches those of
/// higher number first.
#[test]
fn a_plane_wave_comes_from_its_bearing() {
    let spec = SonarSpec {
        hydrophones: 16,
        beams: 16,
        samples: 2048,
        points: 128,
        ..SonarSpec::default()
    };
    let (centre, sound) = (20e3, 1500.0);
    let apart = sound / centre / 2.0;
    let sonar = Sonar::new(spec.clone(), &vm7()).unwrap();
    for (bearing, offset) in [(30.0f64, 41.0), (-14.5, -60.0), (0.0, 9.0)] {
        let mut random = Random::new(5);
        let mut data = Vec::new();
        for e in 0..spec.hydrophones {
            let early = e as f64 * apart * bearing.to_radians().sin() / sound;
            for i in 0..spec.samples {
                let time = i as f64 / spec.sample_rate;
                let phase = TAU * ((centre + offset) * (time + early) - centre * time);
                let noise = Complex64::new(random.normal().into(), random.normal().into());
                data.push(narrow(Complex64::cis(phase) + noise * 0.1));
            }
        }
        let contacts = sonar.contacts(&sonar.process(&data, &Options::default()).unwrap());
        assert_eq!(contacts.len(), 1, "{contacts:?}");
        let sines = [contacts[0].bearing_deg, bearing].map(|b| b.to_radians().sin());
        assert!((sines[0] - sines[1]).abs() <= 1.0 / 16.0, "{contacts:?}");
        let off = contacts[0].frequency_hz - offset;
        assert!(off.abs() <= 0.6 * spec.frequency_cell(), "{contacts:?}");
    }
}

/// The window of 4096 points leaves no room in DMEM for a row.
#[test]
fn rows_may_be_long() {
    let spec = SonarSpec {
        hydrophones: 2,
        beams: 4,
        samples: 8192,
        decimate: 2,
        points: 4096,
        ..SonarSpec::default()
    };
    let sonar = Sonar::new(spec.clone(), &vm7()).unwrap();
    let sound = spec.sound(1);
    let picture = sonar.process(&sound, &Options::default()).unwrap();
    assert!(Accuracy::of(&picture, &sonar.reference(&sound)).holds());
}

#[test]
fn wrong_decibels_and_overflow_are_seen() {
    let spec = small_radar();
    let radar = Radar::new(spec.clone(), &vm7()).unwrap();
    let echoes = spec.echoes(1);
    let scaled = |scale: f32| -> (Received, Accuracy) {
        let data: Vec<Complex32> = echoes.iter().map(|z| z * scale).collect();
        let map = radar.process(&data, &Options::default()).unwrap();
        let accuracy = Accuracy::of(&map, &radar.reference(&data));
        (map, accuracy)
    };
    let (mut map, right) = scaled(1.0);
    assert!(right.holds() && right.decibels_error > 0.0, "{right:?}");
    for tiny_or_large in [1e-12, 1e12] {
        assert!(scaled(tiny_or_large).1.holds());
    }
    // The power overflows or is lost; the spectra are right.
    for lost in [1e30, 1e-30] {
        let (_, accuracy) = scaled(lost);
        assert!(
            accuracy.rel_error < 1e-6 && !accuracy.holds(),
            "{accuracy:?}"
        );
    }
    // The spectra overflow.
    assert_eq!(scaled(2e37).1.rel_error, f64::INFINITY);
    let reference = radar.reference(&echoes);
    map.decibels[77] += 1e-3;
    assert!(!Accuracy::of(&map, &reference).holds());
    map.decibels[77] = f32::NAN;
    assert!(!Accuracy::of(&map, &reference).holds());
    map.decibels.pop();
    assert!(!Accuracy::of(&map, &reference).holds());
    assert!(!right.worst(Accuracy::of(&map, &reference)).holds());
}

#[test]
fn noise_alone_is_no_target() {
    let spec = RadarSpec {
        pulses: 64,
        ranges: 256,
        ..RadarSpec::default()
    };
    let radar = Radar::new(spec.clone(), &vm7()).unwrap();
    let mut random = Random::new(9);
    let noise: Vec<Complex32> = (0..spec.pulses * spec.samples())
        .map(|_| Complex32::new(random.normal(), random.normal()))
        .collect();
    let map = radar.process(&noise, &Options::default()).unwrap();
    assert!(radar.detections(&map).is_empty());
    let silence = vec![Complex32::default(); noise.len()];
    let map = radar.process(&silence, &Options::default()).unwrap();
    assert!(Accuracy::of(&map, &radar.reference(&silence)).holds());
    assert!(radar.detections(&map).is_empty());
}

#[test]
fn stages_that_do_not_finish_say_how_they_ended() {
    let spec = small_radar();
    let radar = Radar::new(spec.clone(), &vm7()).unwrap();
    let stopped = Options {
        interrupt: Some(Arc::new(AtomicBool::new(true))),
        ..Options::default()
    };
    let limited = Options {
        max_cycles: Some(1000),
        ..Options::default()
    };
    for (options, expected) in [
        (stopped, End::Interrupted),
        (limited, End::MaxCycles { limit: 1000 }),
    ] {
        match radar.process(&spec.echoes(1), &options) {
            Err(ChainError::Unfinished { stage, end }) => {
                assert_eq!((stage, end), ("pulse compression", expected));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn what_makes_no_sense_is_refused_by_name() {
    let radar = RadarSpec::default;
    let refused = [
        (
            RadarSpec {
                pulses: 0,
                ..radar()
            },
            "pulses: 0 ",
        ),
        (
            RadarSpec {
                pulses: 3,
                ..radar()
            },
            "pulses: 3 ",
        ),
        (
            RadarSpec {
                pulses: usize::MAX,
                ..radar()
            },
            "pulses: ",
        ),
        (
            RadarSpec {
                ranges: 101,
                ..radar()
            },
            "ranges: 101 ",
        ),
        (
            RadarSpec {
                ranges: usize::MAX,
                ..radar()
            },
            "ranges: ",
        ),
        (
            RadarSpec {
                chirp: 0,
                ..radar()
            },
            "chirp: 0 ",
        ),
        (
            RadarSpec {
                carrier: f64::NAN,
                ..radar()
            },
            "carrier: NaN ",
        ),
        (
            RadarSpec {
                sample_rate: 0.0,
                ..radar()
            },
            "sample rate: 0 ",
        ),
        (
            RadarSpec {
                pulse_rate: 2000.0,
                ..radar()
            },
            "pulse rate: 2000 Hz ",
        ),
    ];
    for (spec, words) in refused {
        let error = Radar::new(spec, &vm7()).err().map(|e| e.to_string());
        let error = error.expect(words);
        assert!(error.contains(words), "{error}");
    }
    let sonar = SonarSpec::default;
    let refused = [
        (
            SonarSpec {
                samples: 1023,
                ..sonar()
            },
            "samples: 1023 ",
        ),
        (
            SonarSpec {
                samples: usize::MAX,
                ..sonar()
            },
            "samples: ",
        ),
        (
            SonarSpec {
                hydrophones: 5,
                ..sonar()
            },
            "hydrophones: 5 ",
        ),
        (
            SonarSpec {
                beams: 1,
                ..sonar()
            },
            "beams: 1 ",
        ),
        (
            SonarSpec {
                decimate: 0,
                ..sonar()
            },
            "decimate: 0 ",
        ),
        (SonarSpec { taps: 0, ..sonar() }, "taps: 0 "),
        (
            SonarSpec {
                points: 33,
                ..sonar()
            },
            "points: 33 ",
        ),
        (
            SonarSpec {
                sample_rate: -1.0,
                ..sonar()
            },
            "sample rate: -1 ",
        ),
    ];
    for (spec, words) in refused {
        let error = Sonar::new(spec, &vm7()).err().map(|e| e.to_string());
        let error = error.expect(words);
        assert!(error.contains(words), "{error}");
    }
    let radar = Radar::new(small_radar(), &vm7()).unwrap();
    assert!(matches!(
        radar.process(&[], &Options::default()),
        Err(ChainError::Shape { .. })
    ));
}
