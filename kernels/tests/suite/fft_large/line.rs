//! Tests FFTs of one axis in two or three passes.

use super::{DIRECTIONS, bits, counted, error, machine, output, random, run};
use cp2_host::DeviceOptions;
use cp2_host::testing::on_both_engines;
use cp2_kernels::Random;
use cp2_kernels::fft::{
    Fft, FourStepFft, FourStepRecipe, TransformDirection, error_bound, reference,
};
use cp2_machine::Machine;
use num_complex::{Complex32, Complex64};
use std::sync::Arc;

/// Returns the cycles in the table of `docs/fft-large.md`.
fn documented_cycles(bits: u32, batch: usize, machine: &str) -> u64 {
    let start = format!("| 2^{bits} | {batch} | {machine} | ");
    let row = include_str!("../../../../docs/fft-large.md")
        .lines()
        .find_map(|line| line.strip_prefix(&start))
        .unwrap();
    row.split(" | ").nth(1).unwrap().parse().unwrap()
}

/// Checks that transforms are about as accurate as rustfft's scalar code, and as fast as documented and
/// promised.
fn accurate_and_fast(lengths: &[u32], batch: usize, name: &str, check: bool) {
    for &b in lengths {
        let n = 1 << b;
        let fft = FourStepFft::new(n, TransformDirection::Forward, machine(name)).unwrap();
        let x = random(batch * n, u64::from(b));
        let done = run(&fft, &x, check);
        let exact = reference(&x, n, TransformDirection::Forward);
        let ours = error(&exact, done.output.as_ref().unwrap());
        let mut scalar = x.clone();
        cp2_rustfft::scalar_single(n, cp2_rustfft::FftDirection::Forward).process(&mut scalar);
        let theirs = error(&exact, &scalar);
        assert!(
            ours <= 1.5 * theirs && ours <= error_bound(n),
            "2^{b}: {ours:.2e}, rustfft {theirs:.2e}"
        );
        let floor = match (b, batch, name) {
            (21.., _, _) => 0.90,
            (17.., _, _) => 0.82,
            (_, 4.., _) => 0.80,
            _ => 0.75,
        };
        let cycles = done.run.report.cycles;
        let own = fft.recipe_floor(batch).unwrap().0 / cycles as f64;
        let share = counted(n, batch, &machine(name)) as f64 / cycles as f64;
        println!(
            "2^{b} x {batch} {name}: {cycles} cycles, efficiency {:.3}, of two passes {share:.3}, of the recipe's floor {own:.3}, rms {ours:.2e} ({:.2} of rustfft's)",
            done.efficiency(),
            ours / theirs
        );
        assert!(
            share >= floor && done.efficiency() <= 1.0,
            "2^{b} x {batch} on {name}: {share}"
        );
        assert!(
            (0.92..=1.0).contains(&own),
            "2^{b} x {batch} on {name}: {own}"
        );
        let priced = fft.expected(batch).unwrap().0 as f64 / cycles as f64;
        assert!(
            (0.995..=1.002).contains(&priced),
            "2^{b} x {batch} on {name}: priced {priced}"
        );
        assert_eq!(
            cycles,
            documented_cycles(b, batch, name),
            "2^{b} x {batch} on {name}"
        );
    }
}

#[test]
fn single_transforms_on_vm7() {
    accurate_and_fast(&[13, 14, 15, 16], 1, "vm7", true);
    accurate_and_fast(&[17, 18], 1, "vm7", false);
}

#[test]
fn single_transforms_on_vm9() {
    accurate_and_fast(&[13, 14, 15, 16], 1, "vm9", true);
    accurate_and_fast(&[17], 1, "vm9", false);
}

/// Columns and rows go through the channel in runs of at least 128 bytes.
#[test]
fn runs_are_long() {
    for name in ["vm7", "vm9"] {
        for bits in 13..=20 {
            let machine = machine(name);
            let recipe =
                FourStepRecipe::new(1 << bits, TransformDirection::Forward, &machine).unwrap();
            for lines in [recipe.columns(), recipe.rows()] {
                let run = lines.per_section() * machine.cp2.sections * size_of::<Complex32>();
                assert!(run >= 128, "{recipe} on {name}: runs of {run} bytes");
            }
        }
    }
}

#[test]
fn batches() {
    for name in ["vm7", "vm9"] {
        accurate_and_fast(&[13, 14, 15], 4, name, false);
    }
}

/// Lines of 1024 numbers in eighths of a page are combined with whole pages and with each other.
#[test]
fn a_million_numbers() {
    accurate_and_fast(&[19], 1, "vm7", true);
    accurate_and_fast(&[20], 1, "vm7", false);
    accurate_and_fast(&[19, 20], 1, "vm9", false);
}

/// Lines of 2048 numbers in eighths of a page are combined with lines of 1024, and inverted for a batch.
#[test]
fn four_million_numbers() {
    accurate_and_fast(&[21], 1, "vm7", true);
    accurate_and_fast(&[22], 1, "vm7", false);
    accurate_and_fast(&[21, 22], 1, "vm9", false);
    let n = 1 << 21;
    let fft = FourStepFft::new(n, TransformDirection::Inverse, machine("vm7")).unwrap();
    let x = random(2 * n, 21);
    let done = run(&fft, &x, false);
    let exact = reference(&x, n, TransformDirection::Inverse);
    let error = error(&exact, done.output.as_ref().unwrap());
    assert!(error <= error_bound(n) / 8.0, "{error:.2e}");
}

/// Eighths also work on other numbers of sections, where a row of a tile is another part of a digit.
#[test]
fn eighths_on_other_sections() {
    for (sections, bits) in [(2, 19), (8, 21), (16, 21)] {
        let text = format!(
            "base = \"vm7\"\n[cp2]\nsections = {{ value = {sections}, unit = \"sections\" }}"
        );
        let machine = Arc::new(Machine::parse("sections.toml", &text).unwrap());
        let n = 1 << bits;
        let fft = FourStepFft::new(n, TransformDirection::Forward, machine).unwrap();
        assert!(fft.outer().is_none(), "{sections} sections");
        let x = random(n, sections);
        let done = run(&fft, &x, false);
        let exact = reference(&x, n, TransformDirection::Forward);
        let error = error(&exact, done.output.as_ref().unwrap());
        assert!(error <= error_bound(n), "{sections} sections: {error:.2e}");
    }
}

/// If DMEM has no room for the ring of eighths, there are three passes, on both engines.
#[test]
fn three_passes_in_a_small_memory() {
    let text = "base = \"vm9\"\n[cp2]\ndmem = { value = 56, unit = \"KiB\" }";
    let small = Arc::new(Machine::parse("small.toml", text).unwrap());
    let n = 1 << 21;
    let fft = FourStepFft::new(n, TransformDirection::Forward, small).unwrap();
    assert!(fft.outer().is_some());
    let x = random(n, 3);
    let process = |options| fft.process_with(&x, options);
    let [done, fast] =
        on_both_engines(&DeviceOptions::default(), process, |d| &d.run.report).unwrap();
    assert_eq!(done.run.report.findings, []);
    let output = done.output.unwrap();
    assert_eq!(bits(&output), bits(&fast.output.unwrap()));
    let error = error(&reference(&x, n, TransformDirection::Forward), &output);
    assert!(error <= error_bound(n) / 8.0, "{error:.2e}");
}

/// An impulse shows every factor, a tone sums them all.
#[test]
fn impulses_and_tones() {
    let vm7 = machine("vm7");
    for direction in DIRECTIONS {
        for n in [2048, 8192, 32768] {
            let fft = FourStepFft::new(n, direction, vm7.clone()).unwrap();
            let at = (Random::new(n as u64).next_u64() % n as u64) as usize;
            let mut x = vec![Complex32::default(); n];
            x[at] = Complex32::from(1.0);
            x.extend((0..n).map(|j| {
                let turns = (j * at % n) as f64 / n as f64;
                let z = Complex64::from_polar(1.0e-5, std::f64::consts::TAU * turns);
                Complex32::new(z.re as f32, z.im as f32)
            }));
            let y = output(&fft, &x);
            let exact = reference(&x, n, direction);
            for (exact, y) in exact.chunks(n).zip(y.chunks(n)) {
                let error = error(exact, y);
                assert!(error <= error_bound(n), "{n} {direction}: {error:.2e}");
            }
        }
    }
}

/// The inverse equals the conjugated forward transform of the conjugate, and a power of two scales every
/// output, both to the last bit.
#[test]
fn exact_symmetries() {
    let vm7 = machine("vm7");
    for n in [2048, 16384] {
        let [forward, inverse] = DIRECTIONS.map(|d| FourStepFft::new(n, d, vm7.clone()).unwrap());
        let x = random(n, n as u64);
        let y = output(&inverse, &x);
        let mirrored: Vec<Complex32> = x.iter().map(Complex32::conj).collect();
        let back: Vec<Complex32> = output(&forward, &mirrored)
            .iter()
            .map(Complex32::conj)
            .collect();
        assert_eq!(y, back, "{n}");
        let scale = 2.0f32.powi(-37);
        let scaled: Vec<Complex32> = x.iter().map(|z| z * scale).collect();
        let y: Vec<Complex32> = y.iter().map(|z| z * scale).collect();
        assert_eq!(bits(&output(&inverse, &scaled)), bits(&y), "{n}");
    }
}

/// Neither the batch nor other parameters of the machine change a bit, as long as the division is unchanged.
#[test]
fn a_transform_does_not_depend_on_its_neighbours() {
    let n = 4096;
    let x = random(5 * n, 5);
    let vm7 = machine("vm7");
    let fft = FourStepFft::new(n, TransformDirection::Forward, vm7.clone()).unwrap();
    let y = bits(&output(&fft, &x));
    for batch in [1, 3] {
        assert_eq!(bits(&output(&fft, &x[..batch * n])), y[..batch * n]);
    }
    let exact = reference(&x, n, TransformDirection::Forward);
    for changed in [
        "[cp2]\nsections = { value = 1, unit = \"sections\" }",
        "[cp2]\nsections = { value = 8, unit = \"sections\" }",
        "[cp2]\ndmem-ports = { value = 1, unit = \"ports\" }",
        "[cp2]\ndmem = { value = 24, unit = \"KiB\" }",
        "[dma]\nqueue = { value = 1, unit = \"descriptors\" }",
    ] {
        let text = format!("base = \"vm7\"\n{changed}");
        let machine = Arc::new(Machine::parse("changed.toml", &text).unwrap());
        let fft = FourStepFft::new(n, TransformDirection::Forward, machine).unwrap();
        let y = output(&fft, &x);
        assert!(error(&exact, &y) <= error_bound(n), "{changed}");
    }
}

#[test]
fn what_cannot_be_done_is_said() {
    let vm7 = machine("vm7");
    for n in [0, 1, 512, 3000, 1 << 23, usize::MAX] {
        let error = FourStepFft::new(n, TransformDirection::Forward, vm7.clone()).unwrap_err();
        assert!(error.to_string().contains(&n.to_string()), "{error}");
    }
    let three = "base = \"vm7\"\n[cp2]\nsections = { value = 3, unit = \"sections\" }";
    let wide = "base = \"vm7\"\n[dma]\ngranule = { value = 32, unit = \"B\" }";
    let small = "base = \"vm7\"\n[cp2]\ndmem = { value = 4, unit = \"KiB\" }";
    let refusals = [
        (three, "its 3 sections share the lines of powers of two"),
        (
            wide,
            "its DMA deals 32 bytes to a section at a time, expected 16",
        ),
        (small, "4096 bytes of DMEM have no room"),
    ];
    for (text, words) in refusals {
        let machine = Arc::new(Machine::parse("changed.toml", text).unwrap());
        let error = FourStepFft::new(8192, TransformDirection::Forward, machine).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    let fft = FourStepFft::new(8192, TransformDirection::Forward, vm7).unwrap();
    assert!(fft.process(&random(100, 1)).is_err());
    assert!(fft.process(&[]).is_err());
}
