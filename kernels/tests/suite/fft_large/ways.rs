//! Tests all plans of n-D FFTs by shape, batch, direction and machine.

use super::{DIRECTIONS, bits, error, machine, output, random};
use cp2_host::DeviceOptions;
use cp2_host::testing::on_both_engines;
use cp2_kernels::fft::{Fft, FftNd, error_bound, reference_nd};
use cp2_machine::Machine;
use std::sync::Arc;

/// Arrays of all shapes, batches and directions are transformed.
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

/// The columns of narrow arrays, or the rows of low and wide ones, are divided between the two passes, for
/// all numbers of sections.
#[test]
fn narrow_arrays_are_divided() {
    let shapes: [(&[usize], &str); 8] = [
        (&[256, 32], " of 256"),
        (&[512, 16], " of 512"),
        (&[16, 1024], "16 x 8"),
        (&[32, 2048], "32 x 8"),
        // With a third axis: within the divided one, around it, and both in reverse order.
        (&[32, 32, 64], "eighths of 32"),
        (&[16, 16, 64], "quarters of 16"),
        (&[4, 32, 64], " of 32"),
        (&[4, 128, 16], " of 128"),
    ];
    for (direction, (shape, of_four)) in DIRECTIONS.into_iter().cycle().zip(shapes) {
        for sections in [1, 2, 4, 8] {
            // Eight parts of a row are pairs for four sections.
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
                on_both_engines(&DeviceOptions::default(), process, |d| &d.run.report).unwrap();
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

/// Rows are divided into 16 parts, with results that stay in place or in order, and into 32.
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
                on_both_engines(&DeviceOptions::default(), process, |d| &d.run.report).unwrap();
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

/// Three axes take two passes in several ways, and each such way, and the three fastest, give the transform.
///
/// Rows of 128 to 512 numbers, whose three passes end in the output page, share a pass with parts of another
/// axis or with all of it. There are as many parts as fit, or the halves that go with rows of 1024. Columns
/// of two axes have four passes of radix 4, or go through DMEM in eighths, where 16 x 128 have a pass along
/// both axes. Parts of rows come with two axes.
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

/// Arrays that fit a section are transformed there, one in each, for every batch.
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
            // Enough arrays to be taken as wholes, in many pieces, in few and in one.
            for batch in [8, 15, 67] {
                let x = random(batch * n, 7);
                let process = |options| fft.process_with(&x, options);
                let [done, fast] =
                    on_both_engines(&DeviceOptions::default(), process, |d| &d.run.report).unwrap();
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

/// Short axes are columns whose digits the store puts in order, and planes of short rows.
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
                    on_both_engines(&DeviceOptions::default(), process, |d| &d.run.report).unwrap();
                assert_eq!(done.run.report.findings, [], "{shape:?} on {name}");
                let cycles = done.run.report.cycles;
                assert!(done.efficiency() <= 1.0, "{shape:?} on {name}: {cycles}");
                let least = fft.least_of_plans(batch) / cycles as f64;
                // The floor of several passes is not exact to the cycle: [32, 16, 32] on vm7 takes 0.1 %
                // less.
                assert!(
                    (0.5..=1.002).contains(&least),
                    "{batch} of {shape:?} on {name}: {least}"
                );
                let priced = fft.expected(batch).unwrap().0 as f64 / cycles as f64;
                assert!(
                    (0.80..=1.02).contains(&priced),
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
