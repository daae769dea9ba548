//! Tests that FFTs are as fast as promised, and where their cycles go.

use super::*;

/// Returns the cycles of 256 transforms in the table of `docs/fft.md`.
fn documented_cycles(n: usize) -> u64 {
    let measured = include_str!("../../../../docs/fft.md")
        .split("## Measured")
        .nth(1)
        .unwrap();
    let start = format!("| {n} | ");
    let row = measured
        .lines()
        .find_map(|line| line.strip_prefix(&start))
        .unwrap();
    row.split(" |").next().unwrap().parse().unwrap()
}

/// 256 random transforms are about as accurate as rustfft's scalar code, and as efficient as promised.
#[test]
fn random_batches_are_accurate_and_fast() {
    for n in lengths() {
        let problem = FftProblem::new(n, TransformDirection::Forward, 256).unwrap();
        let x = problem.random(n as u64);
        let done = run(plan(n, TransformDirection::Forward), &x);
        let ours = problem.verdict(&x, done.output.as_ref().unwrap());
        let mut scalar = x.clone();
        cp2_rustfft::scalar_single(n, cp2_rustfft::FftDirection::Forward).process(&mut scalar);
        let theirs = problem.verdict(&x, &scalar);
        assert!(ours.is_within_tolerance(), "{n}: {ours:?}");
        assert!(
            ours.rms <= 1.5 * theirs.rms,
            "{n}: {ours:?}, rustfft {theirs:?}"
        );
        let floor = match n {
            16 => 0.945,
            256 => 0.935,
            512 | 1024 => 0.965,
            2048 | 4096 => 0.97,
            _ => 0.96,
        };
        let (cycles, bound) = (done.run.report.cycles, done.figures.reference);
        println!(
            "n {n}: {cycles} cycles, bound {bound}, efficiency {:.3}, rms {:.3e} ({:.2} of rustfft's), {} pages in {} buffers",
            done.efficiency(),
            ours.rms,
            ours.rms / theirs.rms,
            done.passes[0].pages(),
            done.passes[0].buffers(),
        );
        let documented = documented_cycles(n);
        assert_eq!(cycles, documented, "{n}: cycles, and what docs/fft.md says");
        assert!(
            done.efficiency() >= floor,
            "{n}: efficiency {:.3} < {floor}",
            done.efficiency()
        );
    }
}

/// Cycles once for all pages: a word, 6 words until the number of pages is loaded, the page loop with its set-up,
/// `stop`.
const ONCE: u64 = 1 + 6 + 3 + 1;

/// Cycles of a page besides its butterflies for 16 to 2048 numbers, on vm7 and vm9: loads of arguments, the first loads
/// and the last stores of the passes, and as much of their begins and ends as do not overlap. They do not depend on the
/// number of transforms but for 16 and 32 numbers, where these are the most.
const BESIDE: [(&str, [u64; 8]); 2] = [
    ("vm7", [50, 48, 54, 65, 64, 65, 84, 85]),
    ("vm9", [135, 68, 82, 91, 85, 101, 110, 112]),
];

/// Returns the cycles of a page of transforms of so many numbers besides its butterflies.
fn count_beside(n: usize, machine: &str) -> u64 {
    let (_, cycles) = BESIDE.iter().find(|(name, _)| *name == machine).unwrap();
    cycles[n.ilog2() as usize - 4]
}

/// Returns the cycles of the ring's kernel for so many transforms.
fn ring(transforms: u64, butterflies: u64) -> u64 {
    // 28 loops with their set-up, the wait for the first block, the branch.
    let each = 28 * (1 + 2) + 1 + 3;
    // At the second place of the ring the data of pass 2 lie elsewhere: two branches and a word.
    let second = (transforms + 1) / 3 * (3 + 1 + 3);
    // Registers, first loads and butterflies, last ones, signal and `stop`.
    transforms * (butterflies + each) + second + 41 + 20 + 12 + 2
}

/// Every arithmetic slot between fill and drain is a butterfly.
#[test]
fn kernels_take_the_cycles_they_should() {
    for name in ["vm7", "vm9"] {
        let planner = FftPlanner::new(machine(name));
        for n in lengths() {
            for batch in [1, 8, 23] {
                let fft = planner.plan_local(n, TransformDirection::Inverse).unwrap();
                let x = FftProblem::new(n, TransformDirection::Inverse, batch)
                    .unwrap()
                    .random(2);
                let done = run(&fft, &x);
                let butterflies = fft.local_recipe().butterflies();
                let expected = match done.passes[0].plan() {
                    Some(plan) => {
                        let sizes = (0..plan.pages().len()).map(|k| plan.pages().get(k).unwrap());
                        sizes
                            .map(|page| page.per_section)
                            .map(|p| u64::from(p) * butterflies + count_beside(n, name))
                            .sum::<u64>()
                            + ONCE
                    }
                    None => ring(batch.div_ceil(4) as u64, butterflies),
                };
                let causes = &done.run.report.counters.causes;
                let waits = [Cause::WaitLoad, Cause::WaitStore, Cause::WaitHost];
                let waited: u64 = waits.map(|cause| causes.get(cause)).iter().sum();
                let found = causes.total() - waited;
                let as_expected = found == expected || n < 64 && found < expected;
                assert!(as_expected, "{n} x {batch} on {name}: {found}, {expected}");
                let paid = [Cause::Issue, Cause::Loop, Cause::Branch];
                let paid: u64 = paid.map(|cause| causes.get(cause)).iter().sum();
                assert_eq!(found, paid, "{n} x {batch} on {name}: no word waits");
                // The checkers use the reference engine: the fast one must agree.
                let fast = fft.process(&x).unwrap();
                assert_eq!(fast.run.report.cycles, done.run.report.cycles);
                assert_eq!(bits(&fast.output.unwrap()), bits(&done.output.unwrap()));
            }
        }
    }
}

/// Batches of 1024 transforms keep the project's promise, everything included, and so does a page of them
/// alone. Nothing is faster than its bound.
#[test]
fn long_batches_come_near_the_bound() {
    let mut table = String::new();
    for (name, floor) in [("vm7", 0.97), ("vm9", 0.96)] {
        let planner = FftPlanner::new(machine(name));
        for n in lengths() {
            let fft = planner.plan_local(n, TransformDirection::Forward).unwrap();
            let x = FftProblem::new(n, TransformDirection::Forward, 1024)
                .unwrap()
                .random(1);
            let done = fft.process(&x).unwrap();
            let efficiency = done.efficiency();
            assert!(
                (floor..=1.0).contains(&efficiency),
                "{n} on {name}: {efficiency}"
            );
            let butterflies = fft.local_recipe().butterflies();
            let (work, beside) = match done.passes[0].plan() {
                Some(plan) => {
                    let page = plan.pages().get(plan.pages().len() / 2).unwrap();
                    let p = page.per_section;
                    (u64::from(p) * butterflies, count_beside(n, name))
                }
                None => (butterflies, ring(1, butterflies) - butterflies),
            };
            let inside = work as f64 / (work + beside) as f64;
            assert!(n < 512 || inside >= 0.97, "{n} on {name}: {inside}");
            if n < 512 || name != "vm7" {
                continue;
            }
            let alone = match done.passes[0].plan() {
                Some(_) => butterflies + count_beside(n, name) + ONCE,
                None => ring(1, butterflies),
            };
            let documented = format!(
                "| {n} | {butterflies} | {alone} | {:.3} | {} | {} | {inside:.3} |",
                butterflies as f64 / alone as f64,
                work / butterflies,
                work + beside,
            );
            table += &(documented + "\n");
        }
    }
    let docs = include_str!("../../../../docs/fft.md");
    for (name, cycles) in BESIDE {
        let cells = cycles.map(|cycles| cycles.to_string()).join(" | ");
        let row = format!("| {name} | {cells} |");
        assert!(docs.contains(&row), "docs/fft.md has no {row}");
    }
    assert!(
        docs.contains(&table),
        "docs/fft.md, \"Pages\", should have\n{table}"
    );
}
