//! Tests large batches of FFTs, refusals and prepared jobs.

use super::*;

/// Planning takes no more time or memory for a long batch.
#[test]
fn a_large_batch_is_planned_and_run() {
    let fft = plan(16, TransformDirection::Forward);
    let x = FftProblem::new(16, TransformDirection::Forward, 20_001)
        .unwrap()
        .random(1);
    let started = std::time::Instant::now();
    let done = fft.process(&x).unwrap();
    println!(
        "{:?} plan {} x {}",
        started.elapsed(),
        done.passes[0].plan().unwrap().pages().size(),
        done.passes[0].plan().unwrap().degree()
    );
    assert!(
        judge(16, TransformDirection::Forward, &x, &done.output.unwrap()).is_within_tolerance()
    );
    assert!(done.figures.reference.0 as f64 / done.run.report.cycles as f64 > 0.95);
}

#[test]
fn wrong_shapes_are_errors() {
    let fft = plan(64, TransformDirection::Forward);
    let zeros = vec![Complex32::default(); 100];
    assert_eq!(
        fft.process(&zeros).unwrap_err().to_string(),
        "the input holds 100 numbers, which is no multiple of the length 64"
    );
    assert!(fft.process(&[]).is_err());
    assert!(fft.process(&zeros[..63]).is_err());
}

/// Each run of a prepared job equals that of a new one in output, cycles, causes and counters, also where
/// programs take turns.
#[test]
fn a_prepared_job_runs_as_a_new_one() {
    for n in [256, 4096, 8192, 4099] {
        let fft = FftPlanner::new(machine("vm7")).plan_forward(n).unwrap();
        let batch = 5 * 4096usize.div_ceil(n);
        let inputs = [1, 2].map(|seed| {
            let problem = FftProblem::new(n, TransformDirection::Forward, batch).unwrap();
            problem.random(seed)
        });
        let options = DeviceOptions::default;
        let mut prepared = fft.prepare(&inputs[0], options()).unwrap();
        for input in [&inputs[0], &inputs[1], &inputs[0]] {
            prepared.write("x", input).unwrap();
            let report = prepared.run().unwrap();
            let new = fft.process_with(input, options()).unwrap();
            assert_eq!(report, new.run.report, "{}", fft.recipe());
            let mut output = vec![Complex32::default(); n * batch];
            prepared.read("y", &mut output).unwrap();
            assert_eq!(Some(output), new.output, "{}", fft.recipe());
        }
    }
}
