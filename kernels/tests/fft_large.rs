//! FFTs larger than DMEM: two or three passes over system memory.

#![allow(clippy::unwrap_used, clippy::panic)]

use cp2_emu::Cause;
use cp2_host::Options;
use cp2_host::testing::on_both_engines;
use cp2_kernels::Random;
use cp2_kernels::fft::{
    Direction, Fft, FftNd, FftRun, LargeFft, LargeRecipe, error_bound, reference, reference_nd,
};
use cp2_machine::Machine;
use num_complex::{Complex32, Complex64};
use std::sync::Arc;

const DIRECTIONS: [Direction; 2] = [Direction::Forward, Direction::Inverse];

fn machine(name: &str) -> Arc<Machine> {
    Arc::new(Machine::builtin(name).unwrap())
}

fn random(len: usize, seed: u64) -> Vec<Complex32> {
    let mut random = Random::new(seed);
    (0..len).map(|_| random.complex()).collect()
}

fn run(fft: &dyn Fft, x: &[Complex32], check: bool) -> FftRun {
    let options = Options {
        check,
        ..Options::default()
    };
    let done = fft.process_with(x, options).unwrap();
    let report = &done.run.report;
    assert!(report.end.is_finished(), "{}: {}", fft.recipe(), report.end);
    assert_eq!(report.causes.total(), report.cycles, "{}", fft.recipe());
    let findings: Vec<String> = report.findings.iter().map(ToString::to_string).collect();
    assert!(findings.is_empty(), "{}: {findings:#?}", fft.recipe());
    done
}

fn output(fft: &dyn Fft, x: &[Complex32]) -> Vec<Complex32> {
    run(fft, x, true).output.unwrap()
}

fn bits(x: &[Complex32]) -> Vec<(u32, u32)> {
    x.iter().map(|z| (z.re.to_bits(), z.im.to_bits())).collect()
}

/// RMS error relative to the RMS of the exact result.
fn error(exact: &[Complex64], y: &[Complex32]) -> f64 {
    let (mut error, mut norm) = (0.0, 0.0);
    for (x, y) in exact.iter().zip(y) {
        error += (x - Complex64::new(y.re.into(), y.im.into())).norm_sqr();
        norm += x.norm_sqr();
    }
    (error / norm).sqrt()
}

/// Cycles according to the table in `docs/fft-large.md`.
fn documented_cycles(bits: u32, batch: usize, machine: &str) -> u64 {
    let start = format!("| 2^{bits} | {batch} | {machine} | ");
    let row = include_str!("../../docs/fft-large.md")
        .lines()
        .find_map(|line| line.strip_prefix(&start))
        .unwrap();
    row.split(" | ").nth(1).unwrap().parse().unwrap()
}

/// Accurate beside rustfft's scalar code, as fast as documented and as promised.
fn accurate_and_fast(lengths: &[u32], batch: usize, name: &str, check: bool) {
    for &b in lengths {
        let n = 1 << b;
        let fft = LargeFft::new(n, Direction::Forward, machine(name)).unwrap();
        let x = random(batch * n, u64::from(b));
        let done = run(&fft, &x, check);
        let exact = reference(&x, n, Direction::Forward);
        let ours = error(&exact, done.output.as_ref().unwrap());
        let mut scalar = x.clone();
        rustfft::FftPlannerScalar::new()
            .plan_fft_forward(n)
            .process(&mut scalar);
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
        let own = fft.own_bound(batch).unwrap().0 / cycles as f64;
        println!(
            "2^{b} x {batch} {name}: {cycles} cycles, efficiency {:.3}, of own bound {own:.3}, rms {ours:.2e} ({:.2} of rustfft's)",
            done.efficiency(),
            ours / theirs
        );
        assert!(
            (floor..=1.0).contains(&done.efficiency()),
            "2^{b} x {batch} on {name}: {}",
            done.efficiency()
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

/// Columns and rows go through the channel in runs of 128 bytes at least.
#[test]
fn runs_are_long() {
    for name in ["vm7", "vm9"] {
        for bits in 13..=20 {
            let machine = machine(name);
            let recipe = LargeRecipe::new(1 << bits, Direction::Forward, &machine).unwrap();
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

/// Lines of 1024 numbers in eighths of a page, beside whole pages and each other.
#[test]
fn a_million_numbers() {
    accurate_and_fast(&[19], 1, "vm7", true);
    accurate_and_fast(&[20], 1, "vm7", false);
    accurate_and_fast(&[19, 20], 1, "vm9", false);
}

/// Lines of 2048 numbers in eighths of a page, 1024 beside them, and the way back for a batch.
#[test]
fn four_million_numbers() {
    accurate_and_fast(&[21], 1, "vm7", true);
    accurate_and_fast(&[22], 1, "vm7", false);
    accurate_and_fast(&[21, 22], 1, "vm9", false);
    let n = 1 << 21;
    let fft = LargeFft::new(n, Direction::Inverse, machine("vm7")).unwrap();
    let x = random(2 * n, 21);
    let done = run(&fft, &x, false);
    let exact = reference(&x, n, Direction::Inverse);
    let error = error(&exact, done.output.as_ref().unwrap());
    assert!(error <= error_bound(n) / 8.0, "{error:.2e}");
}

/// Where DMEM has no room for the ring of eighths, three passes, on both engines.
#[test]
fn three_passes_in_a_small_memory() {
    let text = "base = \"vm9\"\n[cp2]\ndmem = { value = 56, unit = \"KiB\" }";
    let small = Arc::new(Machine::parse("small.toml", text).unwrap());
    let n = 1 << 21;
    let fft = LargeFft::new(n, Direction::Forward, small).unwrap();
    assert!(fft.outer().is_some());
    let x = random(n, 3);
    let process = |options| fft.process_with(&x, options);
    let [done, fast] = on_both_engines(&Options::default(), process, |d| &d.run.report).unwrap();
    assert_eq!(done.run.report.findings, []);
    let output = done.output.unwrap();
    assert_eq!(bits(&output), bits(&fast.output.unwrap()));
    let error = error(&reference(&x, n, Direction::Forward), &output);
    assert!(error <= error_bound(n) / 8.0, "{error:.2e}");
}

/// An impulse shows every factor, a tone sums them all.
#[test]
fn impulses_and_tones() {
    let vm7 = machine("vm7");
    for direction in DIRECTIONS {
        for n in [2048, 8192, 32768] {
            let fft = LargeFft::new(n, direction, vm7.clone()).unwrap();
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

/// The inverse is the forward transform of the conjugate, conjugated, and a
/// power of two scales every output, both to the last bit.
#[test]
fn exact_symmetries() {
    let vm7 = machine("vm7");
    for n in [2048, 16384] {
        let [forward, inverse] = DIRECTIONS.map(|d| LargeFft::new(n, d, vm7.clone()).unwrap());
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

/// Neither the batch nor the machine's other parameters change a bit, as long as the division is the same.
#[test]
fn a_transform_does_not_depend_on_its_neighbours() {
    let n = 4096;
    let x = random(5 * n, 5);
    let vm7 = machine("vm7");
    let fft = LargeFft::new(n, Direction::Forward, vm7.clone()).unwrap();
    let y = bits(&output(&fft, &x));
    for batch in [1, 3] {
        assert_eq!(bits(&output(&fft, &x[..batch * n])), y[..batch * n]);
    }
    let exact = reference(&x, n, Direction::Forward);
    for changed in [
        "[cp2]\nsections = { value = 1, unit = \"sections\" }",
        "[cp2]\nsections = { value = 8, unit = \"sections\" }",
        "[cp2]\ndmem-ports = { value = 1, unit = \"ports\" }",
        "[cp2]\ndmem = { value = 24, unit = \"KiB\" }",
        "[dma]\nqueue = { value = 1, unit = \"descriptors\" }",
    ] {
        let text = format!("base = \"vm7\"\n{changed}");
        let machine = Arc::new(Machine::parse("changed.toml", &text).unwrap());
        let fft = LargeFft::new(n, Direction::Forward, machine).unwrap();
        let y = output(&fft, &x);
        assert!(error(&exact, &y) <= error_bound(n), "{changed}");
    }
}

#[test]
fn what_cannot_be_done_is_said() {
    let vm7 = machine("vm7");
    for n in [0, 1, 512, 3000, 1 << 23, usize::MAX] {
        let error = LargeFft::new(n, Direction::Forward, vm7.clone()).unwrap_err();
        assert!(error.to_string().contains(&n.to_string()), "{error}");
    }
    let three = "base = \"vm7\"\n[cp2]\nsections = { value = 3, unit = \"sections\" }";
    let wide = "base = \"vm7\"\n[dma]\ngranule = { value = 32, unit = \"B\" }";
    let small = "base = \"vm7\"\n[cp2]\ndmem = { value = 4, unit = \"KiB\" }";
    let refusals = [
        (three, "its 3 sections share the lines of powers of two"),
        (wide, "its DMA moves granules of 32 bytes, expected 16"),
        (small, "4096 bytes of DMEM have no room"),
    ];
    for (text, words) in refusals {
        let machine = Arc::new(Machine::parse("changed.toml", text).unwrap());
        let error = LargeFft::new(8192, Direction::Forward, machine).unwrap_err();
        assert!(error.to_string().contains(words), "{error}");
    }
    let fft = LargeFft::new(8192, Direction::Forward, vm7).unwrap();
    assert!(fft.process(&random(100, 1)).is_err());
    assert!(fft.process(&[]).is_err());
}

/// Cycles of an array according to the table in `docs/fft-arrays.md`.
fn documented_array(shape: &str, machine: &str) -> u64 {
    let start = format!("| {shape} | {machine} | ");
    let row = include_str!("../../docs/fft-arrays.md")
        .lines()
        .find_map(|line| line.strip_prefix(&start))
        .unwrap();
    row.split(" | ").next().unwrap().parse().unwrap()
}

#[test]
fn arrays_are_accurate_and_fast() {
    let shapes: [(&str, &[usize]); 29] = [
        ("4x2048", &[4, 2048]),
        ("16x16x32", &[16, 16, 32]),
        ("16x16x64", &[16, 16, 64]),
        ("32x32x64", &[32, 32, 64]),
        ("16x1024", &[16, 1024]),
        ("32x2048", &[32, 2048]),
        ("32x4096", &[32, 4096]),
        ("16x32x16", &[16, 32, 16]),
        ("32x32x32", &[32, 32, 32]),
        ("32x128x16", &[32, 128, 16]),
        ("256x32", &[256, 32]),
        ("512x16", &[512, 16]),
        ("1024x16", &[1024, 16]),
        ("2048x16", &[2048, 16]),
        ("1024x64", &[1024, 64]),
        ("128x128", &[128, 128]),
        ("256x256", &[256, 256]),
        ("512x512", &[512, 512]),
        ("64x64x64", &[64, 64, 64]),
        ("4x4x512", &[4, 4, 512]),
        ("16x16x128", &[16, 16, 128]),
        ("8x4x2048", &[8, 4, 2048]),
        ("32x32x128", &[32, 32, 128]),
        ("4x256x128", &[4, 256, 128]),
        ("4x2048x16", &[4, 2048, 16]),
        ("16x128x1024", &[16, 128, 1024]),
        ("128x128x256", &[128, 128, 256]),
        ("64x64x1024", &[64, 64, 1024]),
        ("4096x1024", &[4096, 1024]),
    ];
    for name in ["vm7", "vm9"] {
        for (text, shape) in shapes {
            let fft = FftNd::new(shape, Direction::Forward, machine(name)).unwrap();
            let x = random(fft.len(), 1);
            let done = run(&fft, &x, text == "128x128");
            let exact = reference_nd(&x, shape, Direction::Forward);
            let error = error(&exact, done.output.as_ref().unwrap());
            let cycles = done.run.report.cycles;
            println!(
                "{text} {name}: {cycles} cycles, efficiency {:.3}, rms {error:.2e}",
                done.efficiency()
            );
            assert!(error <= error_bound(fft.len()) / 8.0, "{text}: {error:.2e}");
            assert!(
                (0.80..=1.0).contains(&done.efficiency()),
                "{text} on {name}: {}",
                done.efficiency()
            );
            let documented = documented_array(text, name);
            assert!(
                cycles.abs_diff(documented) <= documented / 200,
                "{text} on {name}: docs/fft-arrays.md says {documented}"
            );
            let priced = fft.expected(1).unwrap().0 as f64 / cycles as f64;
            assert!(
                (0.92..=1.002).contains(&priced),
                "{text} on {name}: {priced}"
            );
        }
    }
}

/// No axis is empty, wherever it is.
#[test]
fn empty_arrays_are_refused() {
    let shapes: [&[usize]; 6] = [
        &[0, 16],
        &[32, 0],
        &[0, 0],
        &[0, 32, 16],
        &[32, 0, 16],
        &[32, 32, 0],
    ];
    for shape in shapes {
        let error = FftNd::new(shape, Direction::Forward, machine("vm7")).unwrap_err();
        assert!(error.to_string().contains("powers of two"), "{error}");
    }
}

/// Any shape, batch and direction.
#[test]
fn arrays_of_any_shape() {
    let vm7 = machine("vm7");
    for direction in DIRECTIONS {
        let shapes: [&[usize]; 9] = [
            &[32, 16],
            &[4, 512],
            &[8, 256],
            &[256, 32],
            &[64, 2048],
            &[2048, 16],
            &[32, 64, 16],
            &[32, 16, 256],
            &[32, 256, 16],
        ];
        for shape in shapes {
            let fft = FftNd::new(shape, direction, vm7.clone()).unwrap();
            let x = random(3 * fft.len(), 7);
            let y = output(&fft, &x);
            let exact = reference_nd(&x, shape, direction);
            let error = error(&exact, &y);
            assert!(error <= error_bound(fft.len()), "{shape:?}: {error:.2e}");
        }
    }
}

/// The columns of narrow arrays, or the rows of low and wide ones, are divided between the two passes,
/// whatever sections there are.
#[test]
fn narrow_arrays_are_divided() {
    let shapes: [(&[usize], &str); 8] = [
        (&[256, 32], " of 256"),
        (&[512, 16], " of 512"),
        (&[16, 1024], "16 x 8"),
        (&[32, 2048], "32 x 8"),
        // With a third axis: within the divided one, around it, and both in the other order.
        (&[32, 32, 64], "eighths of 32"),
        (&[16, 16, 64], "quarters of 16"),
        (&[4, 32, 64], " of 32"),
        (&[4, 128, 16], " of 128"),
    ];
    for (direction, (shape, of_four)) in DIRECTIONS.into_iter().cycle().zip(shapes) {
        for sections in [1, 2, 4, 8] {
            // Eight parts of a row are couples for four sections.
            if sections == 8 && shape[0] == 16 {
                continue;
            }
            let text = format!(
                "base = \"vm9\"\n[cp2]\nsections = {{ value = {sections}, unit = \"sections\" }}"
            );
            let machine = Arc::new(Machine::parse("changed.toml", &text).unwrap());
            let fft = FftNd::new(shape, direction, machine).unwrap();
            let n = fft.len();
            let x = random(3 * n, 7);
            let process = |options| fft.process_with(&x, options);
            let [done, fast] =
                on_both_engines(&Options::default(), process, |d| &d.run.report).unwrap();
            assert_eq!(done.run.report.findings, [], "{shape:?}, {sections}");
            let first = done.passes[0].program();
            if sections == 4 {
                assert!(first.name.contains(of_four), "{shape:?}: {}", first.name);
            }
            let y = done.output.unwrap();
            assert_eq!(bits(&y), bits(&fast.output.unwrap()));
            let error = error(&reference_nd(&x, shape, direction), &y);
            assert!(error <= error_bound(n) / 4.0, "{shape:?}: {error:.2e}");
        }
    }
}

/// Rows in 16 parts, with results that stay in place or in order, and in 32.
#[test]
fn rows_are_divided_in_many_parts() {
    let shapes = [
        ([4, 512], 3, "4 x 16"),
        ([8, 2048], 1, "8 x 16"),
        ([4, 2048], 1, "4 x 32"),
    ];
    for direction in DIRECTIONS {
        for (shape, batch, first) in shapes {
            let fft = FftNd::new(&shape, direction, machine("vm7")).unwrap();
            let x = random(batch * fft.len(), 7);
            let process = |options| fft.process_with(&x, options);
            let [done, fast] =
                on_both_engines(&Options::default(), process, |d| &d.run.report).unwrap();
            assert_eq!(done.run.report.findings, [], "{shape:?}");
            let name = &done.passes[0].program().name;
            assert!(name.starts_with(first), "{shape:?}: {name}");
            let y = done.output.unwrap();
            assert_eq!(bits(&y), bits(&fast.output.unwrap()));
            let error = error(&reference_nd(&x, &shape, direction), &y);
            assert!(
                error <= error_bound(fft.len()) / 4.0,
                "{shape:?}: {error:.2e}"
            );
        }
    }
}

/// Rows of 128 to 512 numbers, whose three passes end in the output page, share a pass with parts of another axis or with all of it;
/// parts are as many as fit, or the halves that go with rows of 1024; columns of two axes have four passes of radix 4, or go through
/// DMEM in eighths, where 16 x 128 have a pass along both axes; parts of rows come with two axes. Each such way, and the three fastest, give the transform.
#[test]
fn three_axes_take_two_passes() {
    let shapes: [(&[usize], usize, &str); 20] = [
        (&[16, 16, 128], 4, "columns of 16 x 16"),
        (&[4, 64, 256], 2, "quarters of the inner axis of 64"),
        (&[64, 4, 128], 4, "16 parts of the outer axis of 64"),
        (&[4, 16, 512], 1, "planes of axes 1 and 3"),
        (&[4, 512, 16], 1, "32 parts of the inner axis of 512"),
        (&[512, 4, 16], 8, "64 parts of the outer axis of 512"),
        (&[4, 4, 512], 4, "columns and eighths of rows"),
        (&[8, 4, 512], 2, "columns and eighths of rows"),
        (&[4, 4, 1024], 4, "columns and 16 parts of rows"),
        (&[32, 32, 16], 4, "columns of 32 x 32"),
        (&[64, 16, 32], 4, "columns of 64 x 16"),
        (&[4, 512, 16], 4, "columns of 4 x 512"),
        (&[128, 64, 16], 4, "then columns of 32 x 64"),
        (&[16, 256, 32], 4, "then columns of 64 x 16"),
        (&[16, 128, 16], 4, "columns of 16 x 128"),
        (&[128, 16, 16], 4, "columns of 128 x 16"),
        (&[64, 128, 16], 4, "then columns of 16 x 128"),
        (&[16, 512, 16], 4, "then columns of 128 x 16"),
        (&[8, 4, 1024], 2, "halves of the outer axis of 8"),
        (&[4, 16, 1024], 4, "halves of the inner axis of 16"),
    ];
    for (direction, (shape, sections, way)) in DIRECTIONS.into_iter().cycle().zip(shapes) {
        let text = format!(
            "base = \"vm7\"\n[cp2]\nsections = {{ value = {sections}, unit = \"sections\" }}"
        );
        let machine = Arc::new(Machine::parse("changed.toml", &text).unwrap());
        let fft = FftNd::new(shape, direction, machine).unwrap();
        let x = random(2 * fft.len(), 11);
        let exact = reference_nd(&x, shape, direction);
        let plans = fft.plans(2).unwrap();
        let recipes: Vec<String> = plans.iter().map(Fft::recipe).collect();
        assert!(
            recipes.iter().any(|recipe| recipe.contains(way)),
            "{sections}: {recipes:#?}"
        );
        for (i, plan) in plans.iter().enumerate() {
            if i > 2 && !recipes[i].contains(way) {
                continue;
            }
            let error = error(&exact, &output(plan, &x));
            assert!(
                error <= error_bound(fft.len()) / 4.0,
                "{}: {error:.2e}",
                recipes[i]
            );
        }
    }
}

/// Arrays that a section holds are transformed there, one in each, whatever the batch.
#[test]
fn small_arrays_stay_in_local_memory() {
    let shapes: [&[usize]; 6] = [
        &[32, 16],
        &[32, 32],
        &[32, 64],
        &[64, 16],
        &[64, 32],
        &[128, 16],
    ];
    for (direction, name) in DIRECTIONS.into_iter().zip(["vm7", "vm9"]) {
        for shape in shapes {
            let fft = FftNd::new(shape, direction, machine(name)).unwrap();
            let n = fft.len();
            // Enough for the arrays to be taken as wholes, in many pieces, in few and in one.
            for batch in [8, 15, 67] {
                let x = random(batch * n, 7);
                let process = |options| fft.process_with(&x, options);
                let [done, fast] =
                    on_both_engines(&Options::default(), process, |d| &d.run.report).unwrap();
                assert_eq!(done.run.report.findings, [], "{shape:?} on {name}");
                let pieces = done.passes[0].pages() / (batch as u64).div_ceil(4);
                let most = [8, 4, 2][usize::from(batch > 8) + usize::from(batch > 15)];
                assert!(
                    (most / 4..=most).contains(&pieces),
                    "{batch} of {shape:?}: {pieces}"
                );
                let y = done.output.unwrap();
                assert_eq!(bits(&y), bits(&fast.output.unwrap()));
                let error = error(&reference_nd(&x, shape, direction), &y);
                assert!(error <= error_bound(n) / 4.0, "{shape:?}: {error:.2e}");
                // No array depends on another, nor on the section it is in.
                assert_eq!(bits(&output(&fft, &x[n..])), bits(&y[n..]));
            }
        }
    }
}

/// Short axes are columns whose digits the store puts in order, and short rows' planes.
#[test]
fn axes_of_4_to_16_are_anywhere_but_last() {
    let shapes: [&[usize]; 8] = [
        &[4, 64],
        &[8, 32],
        &[16, 16],
        &[16, 64],
        &[16, 16, 32],
        &[16, 32, 16],
        &[4, 8, 64],
        &[32, 16, 32],
    ];
    for (direction, name) in DIRECTIONS.into_iter().zip(["vm7", "vm9"]) {
        for shape in shapes {
            let fft = FftNd::new(shape, direction, machine(name)).unwrap();
            for batch in [1, 5] {
                let x = random(batch * fft.len(), 7);
                let process = |options| fft.process_with(&x, options);
                let [done, fast] =
                    on_both_engines(&Options::default(), process, |d| &d.run.report).unwrap();
                assert_eq!(done.run.report.findings, [], "{shape:?} on {name}");
                let cycles = done.run.report.cycles;
                assert!(done.efficiency() <= 1.0, "{shape:?} on {name}: {cycles}");
                let least = fft.least_of_plans(batch) / cycles as f64;
                assert!(
                    (0.5..=1.0).contains(&least),
                    "{batch} of {shape:?} on {name}: {least}"
                );
                let priced = fft.expected(batch).unwrap().0 as f64 / cycles as f64;
                assert!(
                    (0.80..=1.01).contains(&priced),
                    "{shape:?} on {name}: {priced}"
                );
                let y = done.output.unwrap();
                assert_eq!(bits(&y), bits(&fast.output.unwrap()));
                let error = error(&reference_nd(&x, shape, direction), &y);
                assert!(error <= error_bound(fft.len()), "{shape:?}: {error:.2e}");
            }
        }
    }
}

/// Few small arrays and many, near the bound of one load and one store.
#[test]
fn small_arrays_are_fast() {
    for name in ["vm7", "vm9"] {
        for (text, shape) in [("32x32", [32, 32]), ("64x32", [64, 32])] {
            let fft = FftNd::new(&shape, Direction::Forward, machine(name)).unwrap();
            for (batch, least) in [(4, 0.60), (16, 0.80), (256, 0.94)] {
                let done = run(&fft, &random(batch * fft.len(), 1), false);
                assert_eq!(done.passes.len(), 1, "{text} on {name}");
                let (cycles, efficiency) = (done.run.report.cycles, done.efficiency());
                let text = format!("{batch} of {text}");
                println!("{text} on {name}: {cycles} cycles, efficiency {efficiency:.3}");
                assert!((least..=1.0).contains(&efficiency), "{text} on {name}");
                assert_eq!(cycles, documented_array(&text, name));
                let priced = fft.expected(batch).unwrap().0 as f64 / cycles as f64;
                assert!(
                    (0.97..=1.002).contains(&priced),
                    "{text} on {name}: {priced}"
                );
            }
        }
    }
}

/// The arrays that `docs/fft-arrays.md` says take more than 1/0.8 of the bound: as many cycles, and where they go.
#[test]
fn what_is_far_from_the_bound_is_documented() {
    let document = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/fft-arrays.md");
    let document = std::fs::read_to_string(document).unwrap();
    let (mut found, mut proved, mut open) = (0, 0, Vec::new());
    for row in document.lines() {
        let cells: Vec<&str> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [shape, batch, name, numbers @ ..] = &cells[..] else {
            continue;
        };
        if numbers.len() != 10 || !name.starts_with("vm") || !shape.contains('x') {
            continue;
        }
        let shape: Vec<usize> = shape.split('x').map(|n| n.parse().unwrap()).collect();
        let batch: usize = batch.parse().unwrap();
        let fft = FftNd::new(&shape, Direction::Forward, machine(name)).unwrap();
        let done = run(&fft, &random(batch * fft.len(), 1), false);
        let report = &done.run.report;
        let of = |cause| report.causes.get(cause);
        let (loads, stores) = (of(Cause::WaitLoad), of(Cause::WaitStore));
        let (host, launch) = (of(Cause::WaitHost), of(Cause::Launch));
        let pages: u64 = done.passes.iter().map(|pass| pass.pages()).sum();
        let words = report.cycles - loads - stores - host - launch;
        let cycles = [pages, report.cycles, done.bound.0];
        let causes = [words, loads, stores, host, launch];
        let mut measured: Vec<String> = cycles.iter().map(u64::to_string).collect();
        measured.push(format!("{:.3}", done.efficiency()));
        measured.extend(causes.iter().map(u64::to_string));
        let least = fft.least_of_plans(batch).floor();
        measured.push(least.to_string());
        assert!(
            least <= report.cycles as f64,
            "{batch} of {shape:?} on {name}"
        );
        assert_eq!(measured, numbers, "{batch} of {shape:?} on {name}");
        assert!(done.efficiency() < 0.8, "{batch} of {shape:?} on {name}");
        found += 1;
        match 0.8 * least > done.bound.0 as f64 {
            true => proved += 1,
            false => open.push(format!(
                "{} ({name}, {} cycles)",
                cells[0],
                report.cycles - least as u64
            )),
        }
    }
    assert!(found > 30, "{found} rows");
    let text = format!(
        "That is so for {proved} of the {found} rows, and takes other kernels. \
         For the others the difference to the formula is open: {}.",
        open.join(", ")
    );
    assert!(document.contains(&text), "{text}");
}

/// The reference over two axes is the definition, term by term.
#[test]
fn the_reference_of_arrays_is_the_definition() {
    let (n, m) = (4, 6);
    let x = random(n * m, 3);
    let y = reference_nd(&x, &[n, m], Direction::Forward);
    for (i, y) in y.iter().enumerate() {
        let term = |j: usize| {
            let turns = (j / m * (i / m)) as f64 / n as f64 + (j % m * (i % m)) as f64 / m as f64;
            let z = Complex64::new(x[j].re.into(), x[j].im.into());
            z * Complex64::from_polar(1.0, -std::f64::consts::TAU * turns)
        };
        let naive: Complex64 = (0..n * m).map(term).sum();
        assert!((naive - y).norm() < 1e-12);
    }
}

#[test]
fn shapes_without_kernels_are_refused() {
    let changed = |text: &str| {
        let text = format!("base = \"vm9\"\n{text}");
        Arc::new(Machine::parse("changed.toml", &text).unwrap())
    };
    let vm7 = machine("vm7");
    let three = changed("[cp2]\nsections = { value = 3, unit = \"sections\" }");
    let wide = changed("[dma]\ngranule = { value = 32, unit = \"B\" }");
    let shapes: [(&Arc<Machine>, &[usize], &str); 12] = [
        (&vm7, &[], "two axes or more"),
        (&vm7, &[64], "two axes or more"),
        (&vm7, &[64, 0], "axis 2 has 0 numbers"),
        (&vm7, &[2, 64], "axis 1 has 2 numbers"),
        (&vm7, &[64, 8], "axis 2 has 8 numbers"),
        (&vm7, &[8192, 64], "axis 1 has 8192 numbers"),
        (&vm7, &[64, 100, 64], "axis 2 has 100 numbers"),
        (
            &vm7,
            &[2048, 2048, 2048, 2048, 2048, 2048],
            "larger than memory",
        ),
        (&vm7, &[4, 16], "no pages of it fit"),
        (&vm7, &[4096, 4096], "no pages of it fit"),
        (&three, &[64, 64], "3 sections"),
        (&wide, &[64, 64], "granules of 32 bytes"),
    ];
    for (machine, shape, cause) in shapes {
        let error = FftNd::new(shape, Direction::Forward, machine.clone()).unwrap_err();
        assert!(error.to_string().contains(cause), "{error}");
    }
}
