//! Tests of whole receivers on both machines.

use super::*;

#[test]
fn the_radar_sees_its_targets_and_is_faster_than_real_time() {
    let spec = RadarSpec {
        ranges: 256,
        ..RadarSpec::default()
    };
    for machine in machines() {
        let problem = radar(&spec);
        let radar = RadarPlan::new(problem.clone(), &machine).unwrap();
        let echoes = problem.scene(5);
        let map = radar.process(&echoes, &DeviceOptions::default()).unwrap();
        let accuracy = accuracy(&problem, &echoes, &map);
        assert!(
            accuracy.rel_error < 1e-6 && accuracy.is_right(),
            "{accuracy:?}"
        );
        sees(&problem, &map.decibels);
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
        let problem = sonar(&spec);
        let sonar = SonarPlan::new(problem.clone(), &machine).unwrap();
        let sound = problem.scene(3);
        let picture = sonar.process(&sound, &DeviceOptions::default()).unwrap();
        let accuracy = accuracy(&problem, &sound, &picture);
        assert!(
            accuracy.rel_error < 1e-6 && accuracy.is_right(),
            "{accuracy:?}"
        );
        assert_eq!(picture.decibels.len(), spec.beams * spec.filtered());
        let bearings = problem.bearings(&picture.spectra);
        assert_eq!(bearings.len(), spec.beams * spec.points);
        hears(&problem, &picture.spectra);
    }
}

/// A chain is one job: the cycles and causes of its stages add up to those of the run, and each stage takes
/// the time that it takes alone, on a device of its own.
#[test]
fn stages_are_parts_of_one_run() {
    let spec = small_radar();
    let (rows, columns) = (spec.ranges, spec.pulses);
    for machine in machines() {
        let problem = radar(&spec);
        let radar = RadarPlan::new(problem.clone(), &machine).unwrap();
        let (map, run) = radar
            .job(&problem.scene(1), &DeviceOptions::default())
            .unwrap()
            .run()
            .unwrap();
        let report = &run.report;
        assert_eq!(
            map.stages.iter().map(|s| s.cycles).sum::<u64>(),
            report.cycles
        );
        for stage in &map.stages {
            assert_eq!(
                stage.causes.values().sum::<u64>(),
                stage.cycles,
                "{stage:?}"
            );
        }
        for (cause, cycles) in report.causes.to_map() {
            let sum = map.stages.iter().filter_map(|s| s.causes.get(&cause));
            assert_eq!(sum.sum::<u64>(), cycles, "{cause}");
        }
        let cycles = |name: &str| map.stages.iter().find(|s| s.name == name).unwrap().cycles;
        let zeros = vec![Complex32::default(); rows * columns];
        let floats = vec![1.0f32; 2 * rows * columns];
        let turn = TransposePlan::new(columns, rows, machine.clone()).unwrap();
        assert_eq!(
            cycles("corner turn"),
            turn.process(&zeros).unwrap().run.report.cycles
        );
        let fft = FftPlanner::with_batch(machine.clone(), rows)
            .plan_forward(columns)
            .unwrap();
        assert_eq!(
            cycles("spectra"),
            fft.process(&zeros).unwrap().run.report.cycles
        );
        let decibels =
            ElementwisePlan::new(MapOp::Decibels, floats.len(), machine.clone()).unwrap();
        let alone = decibels.process(&[&floats]).unwrap();
        assert_eq!(cycles("decibels"), alone.run.report.cycles);
    }
}

/// A window of 4096 points leaves no room in DMEM for a row, and still works.
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
    let problem = sonar(&spec);
    let sonar = SonarPlan::new(problem.clone(), &vm7()).unwrap();
    let sound = problem.scene(1);
    let picture = sonar.process(&sound, &DeviceOptions::default()).unwrap();
    assert!(accuracy(&problem, &sound, &picture).is_right());
}

/// Frames, window and transforms of a recording are one job, with the bits that frames cut by the host give,
/// and parts that add up.
#[test]
fn spectrograms_are_one_job() {
    let machine = vm7();
    for (samples, n, hop, window) in [
        (1000, 64, 32, WindowFunction::Hann),
        (1003, 64, 64, WindowFunction::Rectangular),
        (997, 60, 13, WindowFunction::Hamming),
        (40, 64, 48, WindowFunction::Blackman),
        (300, 45, 7, WindowFunction::Hann),
    ] {
        let what = format!("{samples} samples, {n} every {hop}");
        let sound: Vec<f32> = Random::new(9).uniforms(samples);
        let frames = Frames { samples, n, hop };
        let weights = window.coefficients(n);
        let cut: Vec<f32> = (0..frames.count())
            .flat_map(|f| {
                let sample = |i: usize| sound.get(f * hop + i).copied().unwrap_or(0.0);
                let weighted = (0..n).map(|i| sample(i) * weights[i]);
                weighted.collect::<Vec<_>>()
            })
            .collect();
        let wide: Vec<Complex32> = cut.iter().map(|x| Complex32::from(*x)).collect();
        let mut planner = FftPlanner::with_batch(machine.clone(), frames.count());
        let complex = planner.plan_forward(n).unwrap();
        let real = planner.plan_real_forward(n).unwrap();
        let alone = [complex.process(&wide), real.process(&cut)];
        let plans = [Transform::Complex(complex), Transform::Real(real)];
        for (transform, alone) in plans.into_iter().zip(alone) {
            let alone = alone.unwrap();
            let plan = Spectrogram::new(frames, window, transform).unwrap();
            let done = plan.job(&sound, checked()).unwrap().run().unwrap();
            let report = &done.run.report;
            assert!(report.findings.is_empty(), "{what}: {:?}", report.findings);
            let spectra = done.run.read(done.output.unwrap()).unwrap();
            assert!(Some(&spectra) == alone.output.as_ref(), "{what}");
            let parts = &report.parts;
            let sum: u64 = parts.iter().map(|part| part.cycles).sum();
            assert_eq!(sum, report.cycles, "{what}");
            let last = parts.last().unwrap();
            assert_eq!(last.cycles, alone.run.report.cycles, "{what}");
            assert_eq!(
                parts.len() == 2,
                window == WindowFunction::Rectangular,
                "{what}"
            );
        }
    }
    let refused = Frames {
        samples: 100,
        n: 16,
        hop: 17,
    };
    let fft = FftPlanner::new(machine).plan_forward(16).unwrap();
    let error =
        Spectrogram::new(refused, WindowFunction::Hann, Transform::Complex(fft)).unwrap_err();
    assert!(error.to_string().contains("hop: 17"), "{error}");
}
