//! Tests of scenes: received signals, and the peaks detected in them.

use super::*;

/// Scenes are resolved at every size: detectors get the spectra of double precision here, which need no
/// simulation.
#[test]
fn scenes_of_every_size_are_resolved() {
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
        let radar = radar(&spec);
        for seed in 1..3 {
            let exact = radar.exact(&radar.scene(seed));
            let decibels = exact.numbers().iter().map(|z| 10.0 * z.norm_sqr().log10());
            sees(&radar, &decibels.map(|x| x as f32).collect::<Vec<_>>());
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
        let sonar = sonar(&spec);
        for seed in 1..3 {
            let exact = sonar.exact(&sonar.scene(seed));
            let spectra = exact.numbers().iter().map(|z| narrow(*z));
            hears(&sonar, &spectra.collect::<Vec<_>>());
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

/// Computes the signal that an antenna receives from the specification of the radar alone: the wave sent 2 R
/// / c before, R the range at that moment, mixed with the carrier.
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
    let radar = RadarPlan::new(radar(&spec), &vm7()).unwrap();
    for (range, speed) in [(600.0, 95.0), (1100.0, -140.0), (300.0, 0.0)] {
        let map = radar
            .process(&flight(&spec, range, speed), &DeviceOptions::default())
            .unwrap();
        let detections = radar.problem().detections(&map.decibels);
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
    let speeds: Vec<f64> = spec.list_by_speed().map(|d| spec.speed(d)).collect();
    assert!(speeds.windows(2).all(|w| w[0] < w[1]), "{speeds:?}");
}

#[test]
fn a_pulse_of_ones_own_is_matched() {
    let spec = small_radar();
    // Barker's code of 13, with a phase, padded with zeros.
    let code = [1, 1, 1, 1, 1, -1, -1, 1, 1, -1, 1, -1, 1, 0, 0, 0];
    let pulse: Vec<Complex32> = code.map(|c| Complex32::new(0.6, 0.8) * c as f32).to_vec();
    let problem = RadarProblem::with_pulse(spec.clone(), pulse.clone()).unwrap();
    let radar = RadarPlan::new(problem, &vm7()).unwrap();
    let mut random = Random::new(3);
    let mut echoes: Vec<Complex32> = (0..spec.pulses * spec.samples())
        .map(|_| random.complex() * 0.2)
        .collect();
    for row in echoes.chunks_mut(spec.samples()) {
        for (x, h) in row[20..].iter_mut().zip(&pulse) {
            *x += h;
        }
    }
    let map = radar.process(&echoes, &DeviceOptions::default()).unwrap();
    assert!(accuracy(radar.problem(), &echoes, &map).is_right());
    let detections = radar.problem().detections(&map.decibels);
    assert_eq!(detections.len(), 1, "{detections:?}");
    assert!((detections[0].range_m - 20.0 * spec.range_cell()).abs() < 1e-6);
    for wrong in [
        &pulse[1..],
        &[Complex32::default(); 16],
        &[f32::NAN.into(); 16],
    ] {
        assert!(RadarProblem::with_pulse(spec.clone(), wrong.to_vec()).is_err());
    }
}

/// Hydrophones are half a wavelength apart; a tone from a bearing reaches those of higher number first.
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
    let sonar = SonarPlan::new(sonar(&spec), &vm7()).unwrap();
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
        let picture = sonar.process(&data, &DeviceOptions::default()).unwrap();
        let contacts = sonar.problem().contacts(&picture.spectra);
        assert_eq!(contacts.len(), 1, "{contacts:?}");
        let sines = [contacts[0].bearing_deg, bearing].map(|b| b.to_radians().sin());
        assert!((sines[0] - sines[1]).abs() <= 1.0 / 16.0, "{contacts:?}");
        let off = contacts[0].frequency_hz - offset;
        assert!(off.abs() <= 0.6 * spec.frequency_cell(), "{contacts:?}");
    }
}

#[test]
fn noise_alone_is_no_target() {
    let spec = RadarSpec {
        pulses: 64,
        ranges: 256,
        ..RadarSpec::default()
    };
    let radar = RadarPlan::new(radar(&spec), &vm7()).unwrap();
    let mut random = Random::new(9);
    let noise: Vec<Complex32> = (0..spec.pulses * spec.samples())
        .map(|_| Complex32::new(random.normal(), random.normal()))
        .collect();
    let map = radar.process(&noise, &DeviceOptions::default()).unwrap();
    assert!(radar.problem().detections(&map.decibels).is_empty());
    let silence = vec![Complex32::default(); noise.len()];
    let map = radar.process(&silence, &DeviceOptions::default()).unwrap();
    assert!(accuracy(radar.problem(), &silence, &map).is_right());
    assert!(radar.problem().detections(&map.decibels).is_empty());
}
