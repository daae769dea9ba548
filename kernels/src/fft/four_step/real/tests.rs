//! Tests of real four-step FFTs: every kind of page against the definition.

use super::*;
use crate::fft::{hermitian, reference};
use crate::job::KernelRun;
use cp2_host::testing::on_both_engines;
use cp2_host::{Buffer, DeviceOptions};
use cp2_problems::Random;
use cp2_reference::Figures;
use num_complex::Complex64;
use std::collections::BTreeSet;

const N: usize = 1 << 14;
/// Numbers of sections of the other machines that are tested.
const OTHERS: [usize; 3] = [2, 8, 16];

/// Makes plans with pages of every width, with every last page, and with factors that are resident or come
/// with their page: one for every kind of rows, not only those that the planner takes. With `parts` only
/// those whose columns (pass 0) or rows (pass 1) go in parts.
fn kinds(n: usize, direction: TransformDirection, parts: Option<usize>) -> Vec<FourStepReal> {
    on(4, n, direction, parts)
}

/// Makes the plans of [`kinds`] for a machine with `sections` sections.
fn on(
    sections: usize,
    n: usize,
    direction: TransformDirection,
    parts: Option<usize>,
) -> Vec<FourStepReal> {
    let mut machine = Machine::builtin("vm7").unwrap();
    machine.cp2.sections = sections;
    let machine = Arc::new(machine);
    let mut seen = BTreeSet::new();
    let mut all = Vec::new();
    for division in FourStepRealRecipe::all(n, direction, &machine, 32) {
        let other = parts.is_some_and(|pass| !division.is_in_parts(pass));
        if seen.contains(&division.describe_rows()) || other {
            continue;
        }
        let mut unfit = None;
        let placed = unless_large(division.place(&machine), &mut unfit).unwrap();
        let Some((programs, rings, ends)) = placed.flatten() else {
            continue;
        };
        seen.insert(division.describe_rows());
        let followed = division.plan_prefetch(&machine).unwrap();
        let plans = vec![FourStepRealPlan {
            batch: 32,
            ends,
            division,
            programs,
            rings,
            followed,
        }];
        all.push(FourStepReal {
            machine: machine.clone(),
            plans,
        });
    }
    all
}

/// Runs a job on both engines, and returns the output after checking that they agree and have no findings.
fn clean<T: PartialEq + std::fmt::Debug>(
    real: &FourStepReal,
    job: impl Fn(DeviceOptions) -> Result<KernelRun<T>, FftError>,
) -> T {
    let [done, fast] = on_both_engines(&DeviceOptions::default(), job, |d| &d.run.report).unwrap();
    assert_eq!(done.run.report.findings, [], "{}", real.recipe());
    assert_eq!(done.output, fast.output, "{}", real.recipe());
    done.output.unwrap()
}

/// Compares two forward transforms by each of these plans with the definition.
fn are_those_of_the_transform(n: usize, kinds: &[FourStepReal]) {
    let batch = 2;
    let mut random = Random::new(5);
    let x = random.uniforms(n * batch);
    let numbers: Vec<Complex32> = x.iter().map(|&x| x.into()).collect();
    let exact = reference(&numbers, n, TransformDirection::Forward);
    for real in kinds {
        let y: Vec<Complex32> = clean(real, |options| {
            let mut job = Job::new(real.machine.clone(), options);
            let x = job.input("x", &x, &[(n * batch) as u64])?;
            let pitch = real.pitch(batch);
            let y = job.temporary::<Complex32>((pitch * batch) as u64)?;
            real.append(&mut job, batch, [x.address(), y.address()])?;
            Ok(job.run(Figures::default(), |run| {
                let all = run.read(y)?;
                let rows = all.chunks(pitch).flat_map(|row| &row[..=n / 2]);
                Ok(rows.copied().collect())
            })?)
        });
        let rows = exact.chunks(n).flat_map(|row| &row[..=n / 2]);
        for (i, (y, exact)) in y.iter().zip(rows).enumerate() {
            let off = Complex64::new(y.re.into(), y.im.into()) - exact;
            let what = real.recipe();
            let close = 1.0e-7 * n as f64 / N as f64;
            assert!(off.norm_sqr() <= close, "{what}: {i}: {y} {exact}");
        }
    }
}

#[test]
fn all_rows_are_those_of_the_transform() {
    let kinds = kinds(N, TransformDirection::Forward, None);
    assert!(kinds.len() >= 20, "{}", kinds.len());
    are_those_of_the_transform(N, &kinds);
    for sections in OTHERS {
        let kinds = on(sections, N, TransformDirection::Forward, None);
        assert!(kinds.len() >= 5, "{sections} sections: {}", kinds.len());
        are_those_of_the_transform(N, &kinds[..5]);
    }
}

/// Pages, also the last of a matrix, begin at each third of the ring, with rows of either length.
#[test]
fn all_rows_in_parts_are_those_of_the_transform() {
    for n in [1 << 16, 1 << 17] {
        let kinds = kinds(n, TransformDirection::Forward, Some(1));
        assert_eq!(kinds.len(), 2);
        are_those_of_the_transform(n, &kinds);
    }
    // With eight sections a row of a tile has four digits n2.
    let wide = on(8, 1 << 17, TransformDirection::Forward, Some(1));
    assert_eq!(wide.len(), 1);
    are_those_of_the_transform(1 << 17, &wide);
}

/// Pages begin at each third of the ring; rows of 128 numbers have a last page of two rows and resident
/// factors.
#[test]
fn columns_in_parts_are_those_of_the_transform() {
    let all = kinds(1 << 18, TransformDirection::Forward, Some(0));
    let kinds: Vec<_> = all.into_iter().take(1).collect();
    assert_eq!(kinds.len(), 1);
    are_those_of_the_transform(1 << 18, &kinds);
    let mut wide = on(8, 1 << 17, TransformDirection::Forward, Some(0));
    wide.truncate(1);
    assert_eq!(wide.len(), 1);
    are_those_of_the_transform(1 << 17, &wide);
}

/// Compares three inverse transforms of `n` real numbers by each of these plans with the definition.
fn are_those_of_the_way_back(n: usize, kinds: &[FourStepReal]) {
    let batch = 3;
    let mut random = Random::new(6);
    let mut half = random.complexes((n / 2 + 1) * batch);
    for row in half.chunks_mut(n / 2 + 1) {
        (row[0].im, row[n / 2].im) = (0.0, 0.0);
    }
    let exact = reference(&hermitian(&half, n), n, TransformDirection::Inverse);
    for real in kinds {
        let x = clean(real, |options| {
            let mut job = Job::new(real.machine.clone(), options);
            let pitch = real.pitch(batch);
            let mut spread = vec![Complex32::default(); pitch * batch];
            for (to, from) in spread.chunks_mut(pitch).zip(half.chunks(n / 2 + 1)) {
                to[..=n / 2].copy_from_slice(from);
            }
            let from = job.input("x", &spread, &[spread.len() as u64])?;
            let x: Buffer<f32> = job.temporary((n * batch) as u64)?;
            real.append(&mut job, batch, [from.address(), x.address()])?;
            Ok(job.run(Figures::default(), |run| run.read(x))?)
        });
        for (i, (x, exact)) in x.iter().zip(&exact).enumerate() {
            let off = f64::from(*x) - exact.re;
            let what = real.recipe();
            let close = 1.0e-3 * (n as f64 / N as f64).sqrt();
            assert!(off.abs() <= close, "{what}: {i}: {x} {exact}");
        }
    }
}

#[test]
fn all_rows_back_are_those_of_the_transform() {
    let kinds = kinds(N, TransformDirection::Inverse, None);
    assert!(kinds.len() >= 12, "{}", kinds.len());
    are_those_of_the_way_back(N, &kinds);
    for (sections, n) in [(1, N), (2, N), (8, N), (16, 2 * N)] {
        let mut kinds = on(sections, n, TransformDirection::Inverse, None);
        kinds.truncate(4);
        assert!(!kinds.is_empty(), "{sections} sections");
        are_those_of_the_way_back(n, &kinds);
    }
}

/// Columns of 512 and rows of 2048 numbers in eighths of a page, on more sections than four.
#[test]
fn what_goes_back_in_parts_is_that_of_the_transform() {
    for (sections, pass, n) in [(4, 0, 1 << 16), (8, 0, 1 << 17), (8, 1, 1 << 16)] {
        let mut kinds = on(sections, n, TransformDirection::Inverse, Some(pass));
        kinds.truncate(2);
        assert!(!kinds.is_empty(), "pass {pass} of {n}");
        are_those_of_the_way_back(n, &kinds);
    }
}
