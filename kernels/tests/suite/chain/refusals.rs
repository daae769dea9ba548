//! Tests of impossible specifications, and of wrong results that are detected.

use super::*;

#[test]
fn wrong_decibels_and_overflow_are_seen() {
    let problem = radar(&small_radar());
    let radar = RadarPlan::new(problem.clone(), &vm7()).unwrap();
    let echoes = problem.scene(1);
    let scaled = |scale: f32| -> (Received, Accuracy) {
        let data: Vec<Complex32> = echoes.iter().map(|z| z * scale).collect();
        let map = radar.process(&data, &DeviceOptions::default()).unwrap();
        let accuracy = accuracy(&problem, &data, &map);
        (map, accuracy)
    };
    let (mut map, right) = scaled(1.0);
    assert!(right.is_right() && right.decibels_error > 0.0, "{right:?}");
    for tiny_or_large in [1e-12, 1e12] {
        assert!(scaled(tiny_or_large).1.is_right());
    }
    // The power overflows or underflows, while the spectra are right.
    for lost in [1e30, 1e-30] {
        let (_, accuracy) = scaled(lost);
        assert!(
            accuracy.rel_error < 1e-6 && !accuracy.is_right(),
            "{accuracy:?}"
        );
    }
    // The spectra overflow.
    assert_eq!(scaled(2e37).1.rel_error, f64::INFINITY);
    let exact: ExactSpectra = problem.exact(&echoes);
    map.decibels[77] += 1e-3;
    assert!(!map.accuracy(&exact).is_right());
    map.decibels[77] = f32::NAN;
    assert!(!map.accuracy(&exact).is_right());
    map.decibels.pop();
    assert!(!map.accuracy(&exact).is_right());
    assert!(!right.worst(map.accuracy(&exact)).is_right());
}

#[test]
fn stages_that_do_not_finish_say_how_they_ended() {
    let problem = radar(&small_radar());
    let radar = RadarPlan::new(problem.clone(), &vm7()).unwrap();
    let stopped = DeviceOptions {
        interrupt: Some(Arc::new(AtomicBool::new(true))),
        ..DeviceOptions::default()
    };
    let limited = DeviceOptions {
        max_cycles: Some(1000),
        ..DeviceOptions::default()
    };
    for (options, expected) in [
        (stopped, RunEnd::Interrupted),
        (limited, RunEnd::MaxCycles { limit: 1000 }),
    ] {
        match radar.process(&problem.scene(1), &options) {
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
        let error = RadarProblem::new(spec).err().map(|e| e.to_string());
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
        let error = SonarProblem::new(spec).err().map(|e| e.to_string());
        let error = error.expect(words);
        assert!(error.contains(words), "{error}");
    }
    let radar = RadarPlan::new(super::radar(&small_radar()), &vm7()).unwrap();
    assert!(matches!(
        radar.process(&[], &DeviceOptions::default()),
        Err(ChainError::Shape { .. })
    ));
}
