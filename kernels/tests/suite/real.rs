//! Tests real transforms through the whole machine, under the checkers.

#![allow(
    clippy::disallowed_methods,
    reason = "oracles may use the host's functions"
)]
#![allow(clippy::unwrap_used, clippy::panic)]

use crate::common::{by_halves, clean, complex, from_halves};
use cp2_kernels::fft::{FftPlanner, TransformDirection, hermitian, reference};
use cp2_machine::Machine;
use num_complex::{Complex32, Complex64};
use proptest::prelude::*;
use std::collections::HashMap;
use std::sync::Arc;

fn planner(machine: &str) -> FftPlanner {
    FftPlanner::new(crate::common::machine(machine))
}

fn random(n: usize, batch: usize, seed: u64) -> Vec<f32> {
    complex(seed, n * batch).iter().map(|z| z.re).collect()
}

/// Computes the first half of the transforms in double precision.
fn spectra(x: &[f32], n: usize) -> Vec<Complex64> {
    let x: Vec<Complex32> = x.iter().map(|&x| x.into()).collect();
    let all = reference(&x, n, TransformDirection::Forward);
    all.chunks(n)
        .flat_map(|row| row[..=n / 2].to_vec())
        .collect()
}

fn rms<'a>(got: impl Iterator<Item = f64>, exact: impl Iterator<Item = &'a f64>) -> f64 {
    let (mut error, mut norm) = (0.0, 0.0);
    for (e, x) in got.zip(exact) {
        error += (e - x) * (e - x);
        norm += x * x;
    }
    (error / norm).sqrt()
}

fn parts(z: &[Complex64]) -> Vec<f64> {
    z.iter().flat_map(|z| [z.re, z.im]).collect()
}

fn widen(z: &[Complex32]) -> Vec<f64> {
    z.iter()
        .flat_map(|z| [f64::from(z.re), f64::from(z.im)])
        .collect()
}

/// Returns the error of rustfft's scalar code used as realfft does.
fn scalar(x: &[f32], n: usize) -> f64 {
    rms(
        widen(&by_halves(x, n)).into_iter(),
        parts(&spectra(x, n)).iter(),
    )
}

fn forward(n: usize, x: &[f32]) -> Vec<Complex32> {
    let fft = planner("vm7").plan_real_forward(n).unwrap();
    clean(|options| fft.process_with(x, options))
        .output
        .unwrap()
}

fn inverse(n: usize, x: &[Complex32]) -> Vec<f32> {
    let fft = planner("vm7").plan_real_inverse(n).unwrap();
    clean(|options| fft.process_with(x, options))
        .output
        .unwrap()
}

#[test]
fn every_even_length_is_accurate_there_and_back() {
    // Odd lengths are in `any_length.rs`.
    let even = (2..=64).step_by(2);
    for n in even.chain([
        90, 98, 100, 128, 210, 256, 486, 512, 2048, 2160, 2304, 2500, 3000, 3080, 3840, 4096, 4116,
    ]) {
        let x = random(n, 5, n as u64);
        let y = forward(n, &x);
        let exact = parts(&spectra(&x, n));
        let ours = rms(widen(&y).into_iter(), exact.iter());
        let theirs = scalar(&x, n).max(4.0e-8);
        assert!(ours <= 1.5 * theirs, "{n}: {ours:e}, rustfft {theirs:e}");
        for row in y.chunks(n / 2 + 1) {
            assert_eq!((row[0].im, row[n / 2].im), (0.0, 0.0), "{n}");
        }
        let z = inverse(n, &y);
        let back: Vec<f64> = x.iter().map(|&x| f64::from(x) * n as f64).collect();
        let ours = rms(z.iter().map(|&z| f64::from(z)), back.iter());
        assert!(ours <= 3.0 * theirs, "{n}: {ours:e} back");
    }
}

/// 1024 transforms, or 4096 short ones, are efficient in both directions on both machines: the reference is
/// N/4 log2 N issues or the DMA.
#[test]
fn powers_of_two_are_fast() {
    let mut slow = Vec::new();
    // By columns, half spectra begin at granules, and a pass makes half of them contiguous.
    let mut check = |machine: &str, recipe: String, cycles: u64, reference: u64, expected: u64| {
        let floor = if recipe.contains("by columns") {
            0.62
        } else {
            0.78
        };
        let efficiency = reference as f64 / cycles as f64;
        let expected = expected as f64 / cycles as f64;
        let line = format!(
            "{machine}, {recipe}: {cycles} cycles, reference {reference}, efficiency {efficiency:.3}, expected {expected:.3}"
        );
        println!("{line}");
        if !(floor..=1.0).contains(&efficiency) || !(0.9..=1.1).contains(&expected) {
            slow.push(line);
        }
    };
    for machine in ["vm7", "vm9"] {
        for n in [128, 256, 512, 1024, 2048, 4096] {
            // The first load and the last store of short transforms weigh much in a short batch.
            let batch = if n <= 256 { 4096 } else { 1024 };
            let x = random(n, batch, n as u64);
            let fft = planner(machine).plan_real_forward(n).unwrap();
            let done = fft.process(&x).unwrap();
            let (cycles, reference) = (done.run.report.cycles, done.figures.reference.0);
            check(
                machine,
                fft.recipe(),
                cycles,
                reference,
                fft.expected(batch).unwrap().0,
            );
            let fft = planner(machine).plan_real_inverse(n).unwrap();
            let done = fft.process(done.output.as_ref().unwrap()).unwrap();
            let (cycles, reference) = (done.run.report.cycles, done.figures.reference.0);
            check(
                machine,
                fft.recipe(),
                cycles,
                reference,
                fft.expected(batch).unwrap().0,
            );
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

/// Describes a run: `Ok` if its efficiency is at least `floor` and its price is right, else `Err`.
fn fast(
    floor: f64,
    (cycles, reference, expected): (u64, u64, u64),
    what: &str,
) -> Result<String, String> {
    let of = |part: u64| part as f64 / cycles as f64;
    let line = format!(
        "{what}: {cycles} cycles, reference {reference}, efficiency {:.3}, expected {:.4}",
        of(reference),
        of(expected)
    );
    println!("{line}");
    let good = (floor..=1.0).contains(&of(reference)) && (0.97..=1.04).contains(&of(expected));
    if good { Ok(line) } else { Err(line) }
}

/// Lengths by columns are fast, with and without a radix in the joint pass, and with rows that begin between
/// quads; one length is faster as a pair of transforms.
///
/// Joint radices of 1 and 2 have at least as many memory slots as arithmetic.
#[test]
fn lengths_by_columns_are_fast() {
    let mut slow = Vec::new();
    for (n, columns, floor) in [
        (2016, false, 0.80),
        (2100, true, 0.62),
        (3000, true, 0.66),
        (4000, true, 0.69),
    ] {
        let batch = 512;
        let x = random(n, batch, n as u64);
        let fft = planner("vm7").plan_real_forward(n).unwrap();
        let by_columns = fft.recipe().contains("by columns");
        assert_eq!(by_columns, columns, "{}", fft.recipe());
        let there = fft.process(&x).unwrap();
        let counts = (there.run.report.cycles, there.figures.reference.0);
        let expected = fft.expected(batch).unwrap().0;
        slow.extend(fast(floor, (counts.0, counts.1, expected), &fft.recipe()).err());
        let fft = planner("vm7").plan_real_inverse(n).unwrap();
        let back = fft.process(there.output.as_ref().unwrap()).unwrap();
        let counts = (back.run.report.cycles, back.figures.reference.0);
        let expected = fft.expected(batch).unwrap().0;
        slow.extend(fast(floor, (counts.0, counts.1, expected), &fft.recipe()).err());
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

/// Length 8192 in local memory, in place, is fast and accurate.
///
/// It reaches at most 0.87 of half a complex transform's butterflies, and filling and draining the sections
/// weighs in a batch of 13.
#[test]
fn the_longest_in_local_memory_is_fast_and_accurate() {
    let n = 8192;
    for (machine, floors) in [("vm7", [0.57, 0.66]), ("vm9", [0.49, 0.61])] {
        for (batch, floor) in [13, 128].into_iter().zip(floors) {
            let x = random(n, batch, 5);
            let planner = FftPlanner::with_batch(crate::common::machine(machine), batch);
            let fft = planner.plan_real_forward(n).unwrap();
            let done = match batch {
                128 => fft.process(&x).unwrap(),
                _ => clean(|options| fft.process_with(&x, options)),
            };
            let (cycles, efficiency) = (done.run.report.cycles as f64, done.efficiency());
            let expected = fft.expected(batch).unwrap().0 as f64 / cycles;
            let y = done.output.unwrap();
            let exact = parts(&spectra(&x, n));
            let ours = rms(widen(&y).into_iter(), exact.iter());
            let theirs = scalar(&x, n);
            println!(
                "{machine}, {}, {batch} of them: {cycles} cycles, efficiency {efficiency:.3}, expected {expected:.4}, {:.3} of rustfft's error",
                fft.recipe(),
                ours / theirs
            );
            assert!(
                (floor..=1.0).contains(&efficiency),
                "{machine}: {efficiency}"
            );
            assert!((0.95..=1.04).contains(&expected), "{machine}: {expected}");
            assert!(
                ours <= 1.5 * theirs,
                "{machine}: {ours:e}, rustfft {theirs:e}"
            );
            for row in y.chunks(n / 2 + 1) {
                assert_eq!((row[0].im, row[n / 2].im), (0.0, 0.0));
            }
        }
    }
}

/// Length 8192 back to reals, in place, is fast and accurate.
///
/// Without the conjugations and halves it reaches at most 0.91 of half a complex transform's butterflies.
#[test]
fn the_longest_in_local_memory_is_fast_and_accurate_back() {
    let n = 8192;
    let mut slow = Vec::new();
    for (machine, floors) in [
        ("vm7", [0.53, 0.52, 0.56, 0.69]),
        ("vm9", [0.47, 0.45, 0.50, 0.65]),
    ] {
        for (batch, floor) in [3, 4, 13, 128].into_iter().zip(floors) {
            let half = complex(batch as u64, (n / 2 + 1) * batch);
            let planner = FftPlanner::with_batch(crate::common::machine(machine), batch);
            let fft = planner.plan_real_inverse(n).unwrap();
            let done = match batch {
                128 => fft.process(&half).unwrap(),
                _ => clean(|options| fft.process_with(&half, options)),
            };
            let expected = fft.expected(batch).unwrap().0;
            let what = format!("{machine}, {}, {batch} of them", fft.recipe());
            let cycles = (done.run.report.cycles, done.figures.reference.0, expected);
            slow.extend(fast(floor, cycles, &what).err());
            let exact = reference(&hermitian(&half, n), n, TransformDirection::Inverse);
            let exact: Vec<f64> = exact.iter().map(|z| z.re).collect();
            let error = |x: &[f32]| rms(x.iter().map(|&x| f64::from(x)), exact.iter());
            let (ours, theirs) = (error(&done.output.unwrap()), error(&from_halves(&half, n)));
            println!("{:.3} of rustfft's error", ours / theirs);
            assert!(ours <= 1.5 * theirs, "{what}: {ours:e}, rustfft {theirs:e}");
        }
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

/// Returns the rows with cycles in the tables of a section of `docs/fft-real.md`: length, batch, machine and
/// cycles.
fn documented(from: &str, to: &str) -> Vec<(usize, usize, String, u64)> {
    let section = include_str!("../../../docs/fft-real.md").split_once(from);
    let section = section.unwrap().1.split_once(to).unwrap().0;
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| 2^")?.split(" | ");
        let n = 1usize << cells.next()?.parse::<u32>().ok()?;
        let batch = cells.next()?.parse().ok()?;
        let machine = cells.next()?.to_owned();
        let cycles = cells.find_map(|cell| cell.parse().ok())?;
        Some((n, batch, machine, cycles))
    };
    section.lines().filter_map(row).collect()
}

/// Checks that two passes take the documented and expected cycles, and no less than the least.
fn as_documented(
    what: &str,
    (cycles, reference, expected): (u64, u64, u64),
    own: f64,
    documented: u64,
) -> Result<String, String> {
    let what = format!("{what}, recipe's floor {own:.0}");
    let line = fast(0.0, (cycles, reference, expected), &what)?;
    match own <= cycles as f64 && cycles == documented {
        true => Ok(line),
        false => Err(format!("{line}; documented {documented}")),
    }
}

/// Two passes forward are limited by the arithmetic or by the transfers of two passes, alone and in batches.
#[test]
fn two_passes_are_fast() {
    let (mut slow, mut plans) = (Vec::new(), HashMap::new());
    let rows = documented("\n## There", "\n## Back");
    assert!(rows.len() >= 24, "{rows:?}");
    for (n, batch, machine, cycles) in rows {
        let x = random(n, batch, 5);
        // Batches of one length have one plan.
        let plan = || planner(&machine).plan_real_forward(n).unwrap();
        let fft = plans.entry((machine.clone(), n)).or_insert_with(plan);
        let done = fft.process(&x).unwrap();
        let expected = fft.expected(batch).unwrap().0;
        let took = (done.run.report.cycles, done.figures.reference.0, expected);
        let own = fft.recipe_floor(batch).unwrap().0;
        let what = format!("{machine}, {n} x {batch}, {}", fft.recipe());
        slow.extend(as_documented(&what, took, own, cycles).err());
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

/// Two passes back are limited by the arithmetic or by the transfers of two passes, alone and in batches.
#[test]
fn two_passes_back_are_fast() {
    let (mut slow, mut plans) = (Vec::new(), HashMap::new());
    let rows = documented("\n## Back", "\n## Limits");
    assert!(rows.len() >= 26, "{rows:?}");
    for (n, batch, machine, cycles) in rows {
        let half = complex(5, (n / 2 + 1) * batch);
        // Batches of one length have one plan.
        let plan = || planner(&machine).plan_real_inverse(n).unwrap();
        let fft = plans.entry((machine.clone(), n)).or_insert_with(plan);
        let done = fft.process(&half).unwrap();
        let expected = fft.expected(batch).unwrap().0;
        let took = (done.run.report.cycles, done.figures.reference.0, expected);
        let own = fft.recipe_floor(batch).unwrap().0;
        let what = format!("{machine}, {n} x {batch}, {}", fft.recipe());
        slow.extend(as_documented(&what, took, own, cycles).err());
    }
    assert!(slow.is_empty(), "{slow:#?}");
}

/// Two passes back are accurate, from spectra whose first and last numbers have imaginary parts, which count
/// as 0.
#[test]
fn two_passes_back_are_accurate() {
    for (n, batch) in [
        (16_384, 3),
        (32_768, 2),
        (65_536, 1),
        (131_072, 1),
        (262_144, 3),
        (524_288, 1),
        (1_048_576, 1),
        (2_097_152, 1),
    ] {
        let half = complex(n as u64, (n / 2 + 1) * batch);
        let exact = reference(&hermitian(&half, n), n, TransformDirection::Inverse);
        let exact: Vec<f64> = exact.iter().map(|z| z.re).collect();
        let error = |x: &[f32]| rms(x.iter().map(|&x| f64::from(x)), exact.iter());
        let theirs = error(&from_halves(&half, n));
        for machine in ["vm7", "vm9"] {
            let fft = planner(machine).plan_real_inverse(n).unwrap();
            // The longest is under the checkers on one machine only.
            let y = if (n, machine) == (2_097_152, "vm9") {
                fft.process(&half).unwrap().output.unwrap()
            } else {
                clean(|options| fft.process_with(&half, options))
                    .output
                    .unwrap()
            };
            let ours = error(&y);
            println!("{}: {:.3} of rustfft's error", fft.recipe(), ours / theirs);
            assert!(ours <= 1.5 * theirs, "{n}: {ours:e}, rustfft {theirs:e}");
        }
    }
}

/// Two passes over memory are accurate on both machines, whose divisions into rows and columns differ.
#[test]
fn two_passes_are_accurate() {
    for (n, batch) in [
        (16_384, 32),
        (32_768, 2),
        (65_536, 5),
        (524_288, 1),
        (1_048_576, 1),
        (2_097_152, 1),
    ] {
        let x = random(n, batch, n as u64);
        let exact = parts(&spectra(&x, n));
        let theirs = rms(widen(&by_halves(&x, n)).into_iter(), exact.iter());
        for machine in ["vm7", "vm9"] {
            let fft = planner(machine).plan_real_forward(n).unwrap();
            // The longest is under the checkers on one machine only: its kernels are those of half the
            // length.
            let y = if (n, machine) == (2_097_152, "vm9") {
                fft.process(&x).unwrap().output.unwrap()
            } else {
                clean(|options| fft.process_with(&x, options))
                    .output
                    .unwrap()
            };
            let ours = rms(widen(&y).into_iter(), exact.iter());
            println!("{}: {:.3} of rustfft's error", fft.recipe(), ours / theirs);
            assert!(ours <= 1.5 * theirs, "{n}: {ours:e}, rustfft {theirs:e}");
            for row in y.chunks(n / 2 + 1) {
                assert_eq!((row[0].im, row[n / 2].im), (0.0, 0.0), "{n}");
            }
        }
    }
}

/// Pages are as long as DMEM allows, and no longer than their addresses reach.
#[test]
fn other_sizes_of_local_memory() {
    let x = random(16_384, 1, 3);
    let there = forward(16_384, &x);
    for size in ["32, unit = \"KiB\"", "16, unit = \"MiB\""] {
        let text = format!("base = \"vm7\"\n[cp2]\ndmem = {{ value = {size} }}\n");
        let machine = Arc::new(Machine::parse("dmem", &text).unwrap());
        let fft = FftPlanner::new(machine.clone())
            .plan_real_forward(16_384)
            .unwrap();
        let done = clean(|options| fft.process_with(&x, options))
            .output
            .unwrap();
        for (a, b) in there.iter().zip(&done) {
            assert!((a - b).norm() <= 1.0e-3, "{size}: {a} {b}");
        }
        let fft = FftPlanner::new(machine).plan_real_inverse(16_384).unwrap();
        let done = clean(|options| fft.process_with(&there, options));
        for (a, b) in x.iter().zip(done.output.unwrap()) {
            assert!((a * 16_384.0 - b).abs() <= 0.05, "{size}: {a} {b}");
        }
    }
}

#[test]
fn machines_and_batches_do_not_change_the_bits() {
    for n in [30, 128, 252] {
        let x = random(n, 19, 7);
        let y = forward(n, &x);
        for batch in [1, 2, 8] {
            let z = forward(n, &x[..batch * n]);
            assert_eq!(z, y[..batch * (n / 2 + 1)], "{n} x {batch}");
        }
        let there = planner("vm9").plan_real_forward(n).unwrap();
        assert_eq!(
            clean(|options| there.process_with(&x, options))
                .output
                .unwrap(),
            y,
            "{n}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn scaling_and_round_trips((a, b, c) in (1u32..7, 0u32..3, 0u32..2), batch in 1usize..6, seed in any::<u64>(), k in -60i32..60) {
        let n = 2usize.pow(a) * 3usize.pow(b) * 5usize.pow(c);
        let x = random(n, batch, seed);
        let y = forward(n, &x);
        let scale = 2.0f32.powi(k);
        let scaled: Vec<f32> = x.iter().map(|x| x * scale).collect();
        let expected: Vec<Complex32> = y.iter().map(|y| y * scale).collect();
        prop_assert_eq!(forward(n, &scaled), expected);
        for (x, z) in x.iter().zip(inverse(n, &y)) {
            prop_assert!((x * n as f32 - z).abs() <= 4.0e-6 * n as f32, "{} {}", x, z);
        }
    }

    /// In two passes over memory every transform of a batch equals the transform alone, at every scale, and a
    /// single number of the input is a rotating phase in the spectrum.
    #[test]
    fn two_passes_are_linear(at in 0usize..16_384, batch in 2usize..5, seed in any::<u64>(), k in -60i32..60) {
        let n = 16_384;
        let mut x = random(n, batch, seed);
        x[..n].fill(0.0);
        x[at] = 2.0f32.powi(k);
        let y = forward(n, &x);
        for (k1, y) in y[..=n / 2].iter().enumerate() {
            let turns = -std::f64::consts::TAU * ((k1 * at % n) as f64) / n as f64;
            let exact = Complex64::from_polar(f64::from(x[at]), turns);
            let got = Complex64::new(y.re.into(), y.im.into());
            prop_assert!((got - exact).norm() <= 1.0e-6 * exact.norm(), "{} {}: {} {}", at, k1, got, exact);
        }
        let scaled: Vec<f32> = x[n..].iter().map(|x| x * 2.0f32.powi(k)).collect();
        let expected: Vec<Complex32> = y[n / 2 + 1..].iter().map(|y| y * 2.0f32.powi(k)).collect();
        prop_assert_eq!(forward(n, &scaled), expected);
    }

    /// In two passes back every transform of a batch equals the transform alone, at every scale, and a single
    /// number of the spectrum is a wave.
    #[test]
    fn two_passes_back_are_linear(at in 0usize..=8192, batch in 2usize..5, seed in any::<u64>(), k in -60i32..60) {
        let (n, row) = (16_384, 8193);
        let mut half = complex(seed, row * batch);
        half[..row].fill(Complex32::default());
        half[at] = Complex32::new(2.0f32.powi(k), -0.5 * 2.0f32.powi(k));
        let x = inverse(n, &half);
        let number = match at {
            0 | 8192 => Complex64::new(2.0f64.powi(k), 0.0),
            _ => 2.0 * Complex64::new(2.0f64.powi(k), -0.5 * 2.0f64.powi(k)),
        };
        for (t, x) in x[..n].iter().enumerate() {
            let turns = std::f64::consts::TAU * ((t * at % n) as f64) / n as f64;
            let exact = (number * Complex64::from_polar(1.0, turns)).re;
            prop_assert!((f64::from(*x) - exact).abs() <= 1.0e-6 * number.norm(), "{} {}: {} {}", at, t, x, exact);
        }
        let scaled: Vec<Complex32> = half[row..].iter().map(|x| x * 2.0f32.powi(k)).collect();
        let expected: Vec<f32> = x[n..].iter().map(|x| x * 2.0f32.powi(k)).collect();
        prop_assert_eq!(inverse(n, &scaled), expected);
    }
}
