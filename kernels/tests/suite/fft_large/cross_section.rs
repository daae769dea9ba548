//! Tests the FFT that sections compute together by exchanging registers.

use super::{DIRECTIONS, error, machine, random, run};
use cp2_emu::Cause;
use cp2_kernels::fft::{
    CrossSectionFft, Fft, FftPlanner, FourStepFft, TransformDirection, error_bound, reference,
};
use cp2_machine::{Class, Machine};
use std::sync::Arc;

fn exchanging(text: &str) -> Arc<Machine> {
    Arc::new(Machine::load(text).unwrap())
}

fn plan(n: usize, direction: TransformDirection, machine: &Arc<Machine>) -> CrossSectionFft {
    CrossSectionFft::new(n, direction, machine)
        .unwrap()
        .unwrap()
}

/// Transforms of every length that fits are those of the definition, priced exactly enough, and wait for no
/// operand of the loop across the sections.
#[test]
fn transforms_across_sections_equal_the_definition() {
    for name in ["vm7+exchange", "vm9+exchange", "vm9+exchange+cp2.dmem=x2"] {
        let machine = exchanging(name);
        let lengths = (11..=14).map(|bits| 1usize << bits);
        for n in lengths.filter(|n| *n <= machine.cp2.dmem.0 as usize / 8) {
            for direction in DIRECTIONS {
                for batch in [1, 3] {
                    let fft = plan(n, direction, &machine);
                    let x = random(batch * n, n as u64);
                    let done = run(&fft, &x, true);
                    let exact = reference(&x, n, direction);
                    let found = error(&exact, done.output.as_ref().unwrap());
                    assert!(found <= error_bound(n), "{n} x {batch} {name}: {found:.2e}");
                    let report = &done.run.report;
                    let priced = fft.expected(batch).unwrap().0 as f64 / report.cycles as f64;
                    assert!(
                        (0.99..=1.01).contains(&priced),
                        "{n} x {batch}: priced {priced}"
                    );
                    assert_eq!(report.causes.get(Cause::Operand(Class::Exchange)), 0);
                    assert!(done.efficiency() <= 1.0, "{}", done.efficiency());
                }
            }
        }
    }
}

/// Batches of 8192 gain what a pass over system memory costs: by about 1.2 on vm7 and 1.4 on vm9, as documented.
#[test]
fn batches_of_8192_gain() {
    for (name, least) in [("vm7", 1.2), ("vm9", 1.4)] {
        let n = 8192;
        let x = random(8 * n, 1);
        let passes = FourStepFft::new(n, TransformDirection::Forward, machine(name)).unwrap();
        let before = run(&passes, &x, false).run.report.cycles;
        let machine = exchanging(&format!("{name}+exchange"));
        let fft = FftPlanner::with_batch(machine, 8).plan_forward(n).unwrap();
        assert!(fft.recipe().contains("across sections"), "{}", fft.recipe());
        let cycles = run(&*fft, &x, false).run.report.cycles;
        let gain = before as f64 / cycles as f64;
        println!("8192 x 8 {name}: {before} -> {cycles}, {gain:.3}");
        assert!(gain >= least, "{name}: {gain}");
        let row = format!("| {name} | {before} | {cycles} | {gain:.3} |");
        assert!(
            include_str!("../../../../docs/fft-large.md").contains(&row),
            "{row}"
        );
    }
}
