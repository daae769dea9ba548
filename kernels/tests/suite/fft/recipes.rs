//! Tests that planners take the cheapest recipe.

use super::*;
use cp2_kernels::fft::FourStepFft;

/// A batch that leaves sections without work, or is short, may be cheaper in passes over system memory.
#[test]
fn short_batches_take_what_takes_them_less() {
    for (name, n, batch) in [
        ("vm7", 2048, 4),
        ("vm7", 2048, 5),
        ("vm9", 2048, 5),
        ("vm7", 4096, 5),
        ("vm9", 4096, 9),
        ("vm9", 4096, 12),
    ] {
        let machine = machine(name);
        let mut x = vec![Complex32::new(0.0, 0.0); n * batch];
        x[1].re = 1.0;
        let planner = FftPlanner::with_batch(machine.clone(), batch);
        let taken = planner.choice(n, TransformDirection::Forward).unwrap().fft;
        let taken = taken.process(&x).unwrap().run.report.cycles;
        let local = planner.plan_local(n, TransformDirection::Forward).unwrap();
        let large = FourStepFft::new(n, TransformDirection::Forward, machine).unwrap();
        for other in [&*local as &dyn Fft, &large] {
            let cycles = other.process(&x).unwrap().run.report.cycles;
            // Similar recipes are told apart as well as the model can.
            assert!(
                taken as f64 <= 1.02 * cycles as f64,
                "{batch} transforms of {n} on {name}: {taken} cycles, {} takes {cycles}",
                other.recipe()
            );
        }
    }
}
