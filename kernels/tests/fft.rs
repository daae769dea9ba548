//! FFTs through the whole machine: device, scheduler, DMA, kernels, under the checkers.

#![allow(clippy::unwrap_used, clippy::panic)]

use cp2_emu::Cause;
use cp2_host::Options;
use cp2_host::testing::on_both_engines;
use cp2_kernels::fft::{Direction, Fft, FftPlanner, FftProblem, FftRun, LocalFft};
use cp2_kernels::{Problem, Random, Verdict};
use cp2_machine::Machine;
use num_complex::Complex32;
use proptest::prelude::*;
use std::sync::{Arc, LazyLock};

const DIRECTIONS: [Direction; 2] = [Direction::Forward, Direction::Inverse];

fn lengths() -> impl Iterator<Item = usize> {
    (4..=12).map(|b| 1 << b)
}

fn machine(name: &str) -> Arc<Machine> {
    Arc::new(Machine::builtin(name).unwrap())
}

/// Plans for vm7, `[direction][log2 n - 4]`.
static PLANS: LazyLock<[Vec<Arc<LocalFft>>; 2]> = LazyLock::new(|| {
    let planner = FftPlanner::new(machine("vm7"));
    DIRECTIONS.map(|d| {
        lengths()
            .map(|n| planner.plan_local(n, d).unwrap())
            .collect()
    })
});

fn plan(n: usize, direction: Direction) -> &'static LocalFft {
    &PLANS[direction as usize][n.ilog2() as usize - 4]
}

/// Runs under the checkers, which must have nothing to say, and on the fast engine.
fn run(fft: &LocalFft, x: &[Complex32]) -> FftRun {
    let process = |options| fft.process_with(x, options);
    let [done, fast] = on_both_engines(&Options::default(), process, |d| &d.run.report).unwrap();
    let output = |done: &FftRun| done.output.as_deref().map(bits);
    assert_eq!(output(&done), output(&fast), "{}", fft.recipe());
    let report = &done.run.report;
    assert!(
        report.end.is_finished(),
        "{}: {:?}",
        fft.recipe(),
        report.end
    );
    assert_eq!(report.causes.total(), report.cycles, "{}", fft.recipe());
    let findings: Vec<String> = report
        .findings
        .iter()
        .map(|f| {
            let place = f.pc.and_then(|pc| fft.kernel().location(pc as usize));
            format!("{f} at {place:?}")
        })
        .collect();
    assert!(findings.is_empty(), "{}: {findings:#?}", fft.recipe());
    done
}

fn output(fft: &LocalFft, x: &[Complex32]) -> Vec<Complex32> {
    run(fft, x).output.unwrap()
}

fn bits(x: &[Complex32]) -> Vec<(u32, u32)> {
    x.iter().map(|z| (z.re.to_bits(), z.im.to_bits())).collect()
}

fn judge(n: usize, direction: Direction, x: &[Complex32], y: &[Complex32]) -> Verdict {
    FftProblem::new(n, direction, x.len() / n)
        .unwrap()
        .judge(x, y)
}

/// The cycles of 256 transforms according to the table in `docs/fft.md`.
fn documented_cycles(n: usize) -> u64 {
    let measured = include_str!("../../docs/fft.md")
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

/// 256 random transforms: the error beside rustfft's scalar code, and the efficiency the project promises.
#[test]
fn random_batches_are_accurate_and_fast() {
    for n in lengths() {
        let problem = FftProblem::new(n, Direction::Forward, 256).unwrap();
        let x = problem.random(n as u64);
        let done = run(plan(n, Direction::Forward), &x);
        let ours = problem.judge(&x, done.output.as_ref().unwrap());
        let mut scalar = x.clone();
        rustfft::FftPlannerScalar::new()
            .plan_fft_forward(n)
            .process(&mut scalar);
        let theirs = problem.judge(&x, &scalar);
        assert!(ours.holds(), "{n}: {ours:?}");
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
        let (cycles, bound) = (done.run.report.cycles, done.bound);
        println!(
            "n {n}: {cycles} cycles, bound {bound}, efficiency {:.3}, rms {:.3e} ({:.2} of rustfft's), {} pages in {} buffers",
            done.efficiency(),
            ours.rms,
            ours.rms / theirs.rms,
            done.passes[0].pages(),
            done.passes[0].buffers(),
        );
        let documented = documented_cycles(n);
        assert!(
            cycles.abs_diff(documented) <= documented / 200,
            "{n}: {cycles} cycles, docs/fft.md says {documented}"
        );
        assert!(
            done.efficiency() >= floor,
            "{n}: efficiency {:.3} < {floor}",
            done.efficiency()
        );
    }
}

#[test]
fn inverse_batches_are_accurate() {
    for n in lengths() {
        let problem = FftProblem::new(n, Direction::Inverse, 100).unwrap();
        let x = problem.random(1000 + n as u64);
        let ours = problem.judge(&x, &output(plan(n, Direction::Inverse), &x));
        let mut scalar = x.clone();
        rustfft::FftPlannerScalar::new()
            .plan_fft_inverse(n)
            .process(&mut scalar);
        let theirs = problem.judge(&x, &scalar);
        assert!(
            ours.holds() && ours.rms <= 1.5 * theirs.rms,
            "{n}: {ours:?}, rustfft {theirs:?}"
        );
    }
}

/// Cycles of a page beside its butterflies, on either machine.
fn fill(n: usize, p: u32) -> u64 {
    let passes = plan(n, Direction::Forward).local_recipe().passes();
    let count = |radix: usize| passes.iter().filter(|p| p.radix == radix).count() as u64;
    let (fours, eights) = (count(4), count(8));
    // Arguments, counts; a branch taken, or two words to walk one transform.
    let start = 16 + if p > 1 { 3 } else { 2 };
    // Pointers, first loads and butterflies, loop, last butterflies and stores.
    let four = 9 + 12 + 3 + 14;
    // The same; between passes that run into each other only the loop.
    let eight = match n {
        16 => 0,
        64 => 2 * (6 + 20 + 2 + 12),
        _ => 6 + 20 + 2 * eights + 12,
    };
    // Two iterations are the least: their loop is skipped, which costs a cycle
    // more, and a lone transform of 16 is computed twice.
    let short = match (n, p) {
        (16, 1) => 1 + 2 * (16 + 1),
        (16, 2) | (32, 1) => 2,
        _ => 0,
    };
    start + fours * four + eight + short
}

/// Cycles of the ring's kernel for so many transforms.
fn ring(transforms: u64, butterflies: u64) -> u64 {
    // 28 loops with their set-up, the wait for the first block, the branch.
    let each = 28 * (1 + 2) + 1 + 3;
    // In the second place of the ring pass 2 lies elsewhere: two branches and a word.
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
                let fft = planner.plan_local(n, Direction::Inverse).unwrap();
                let x = FftProblem::new(n, Direction::Inverse, batch)
                    .unwrap()
                    .random(2);
                let done = run(&fft, &x);
                // `page_begin` and `page_end` take 2 words each. Once: constants, 6 words until
                // the number of pages is there, the page loop with its set-up, `stop`.
                let butterflies = fft.local_recipe().butterflies();
                let expected = match done.passes[0].plan() {
                    Some(plan) => {
                        let sizes = (0..plan.pages().len()).map(|k| plan.pages().get(k).unwrap());
                        sizes
                            .map(|page| page.per_section)
                            .map(|p| 2 + u64::from(p) * butterflies + fill(n, p) + 2)
                            .sum::<u64>()
                            + 4
                            + 6
                            + 3
                            + 1
                    }
                    None => ring(batch.div_ceil(4) as u64, butterflies),
                };
                let causes = &done.run.report.counters.causes;
                let waits = [Cause::WaitLoad, Cause::WaitStore, Cause::WaitHost];
                let waited: u64 = waits.map(|cause| causes.get(cause)).iter().sum();
                assert_eq!(causes.total() - waited, expected, "{n} x {batch} on {name}");
                // The checkers use the reference engine: the fast one must agree.
                let fast = fft.process(&x).unwrap();
                assert_eq!(fast.run.report.cycles, done.run.report.cycles);
                assert_eq!(bits(&fast.output.unwrap()), bits(&done.output.unwrap()));
            }
        }
    }
}

/// What the project promises of 1024 transforms, everything included, and of a
/// page of them alone. Nothing is faster than its bound.
#[test]
fn long_batches_come_near_the_bound() {
    for (name, floor) in [("vm7", 0.97), ("vm9", 0.96)] {
        let planner = FftPlanner::new(machine(name));
        for n in lengths() {
            let fft = planner.plan_local(n, Direction::Forward).unwrap();
            let x = FftProblem::new(n, Direction::Forward, 1024)
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
                    (u64::from(p) * butterflies, 4 + fill(n, p))
                }
                None => (butterflies, ring(1, butterflies) - butterflies),
            };
            let inside = work as f64 / (work + beside) as f64;
            assert!(n < 512 || inside >= 0.97, "{n} on {name}: {inside}");
        }
    }
}

/// Twiddle factors that are merely small in error would pass a random test; an
/// impulse shows each of them, a tone sums them all.
#[test]
fn impulses_tones_and_steps() {
    for direction in DIRECTIONS {
        for n in lengths() {
            let at = |r: &mut Random| (r.next_u64() % n as u64) as usize;
            let mut random = Random::new(n as u64);
            let mut x = Vec::new();
            for row in 0..8 {
                let (k, scale) = (at(&mut random), if row % 2 == 0 { 1.0 } else { 3.0e-7 });
                x.extend((0..n).map(|j| {
                    let tone = Complex32::from_polar(
                        1.0,
                        std::f32::consts::TAU * ((j * k) % n) as f32 / n as f32,
                    );
                    scale
                        * match row / 2 {
                            0 => Complex32::from(if j == k { 1.0 } else { 0.0 }),
                            1 => tone,
                            2 => Complex32::new(if j < k { 1.0 } else { -1.0 }, 0.25),
                            // Nine powers of ten between neighbours.
                            _ => tone * if j % 2 == 0 { 1.0e9 } else { 1.0 },
                        }
                }));
            }
            let verdict = judge(n, direction, &x, &output(plan(n, direction), &x));
            assert!(verdict.holds(), "{n} {direction}: {verdict:?}");
        }
    }
}

/// What a batch is cut into must not be seen in the result.
#[test]
fn any_batch_gives_the_same_rows() {
    for n in [16, 64, 256, 2048, 4096] {
        let fft = plan(n, Direction::Forward);
        let x = FftProblem::new(n, Direction::Forward, 9).unwrap().random(9);
        let y = bits(&output(fft, &x));
        for batch in 1..9 {
            assert_eq!(
                bits(&output(fft, &x[..batch * n])),
                y[..batch * n],
                "{n} x {batch}"
            );
        }
    }
}

#[test]
fn batches_around_a_page_boundary() {
    for n in [16, 512, 1024] {
        let fft = plan(n, Direction::Inverse);
        let x = FftProblem::new(n, Direction::Inverse, 80)
            .unwrap()
            .random(5);
        let whole = run(fft, &x);
        let page = whole.passes[0]
            .plan()
            .unwrap()
            .pages()
            .get(0)
            .unwrap()
            .blocks as usize;
        let y = bits(&whole.output.unwrap());
        for batch in [page - 1, page, page + 1, 2 * page - 1, 2 * page + 3]
            .into_iter()
            .filter(|b| (1..=80).contains(b))
        {
            assert_eq!(
                bits(&output(fft, &x[..batch * n])),
                y[..batch * n],
                "{n} x {batch}"
            );
        }
    }
}

/// A machine file changes cycles and never bits; where the transform does not fit, it says so.
#[test]
fn other_machines_give_the_bits_of_vm7() {
    let changed = |text: &str| {
        Arc::new(Machine::parse("changed.toml", &format!("base = \"vm7\"\n{text}")).unwrap())
    };
    let machines = [
        machine("vm9"),
        changed("[cp2]\nsections = { value = 1, unit = \"sections\" }"),
        changed("[cp2]\nsections = { value = 3, unit = \"sections\" }"),
        changed("[cp2]\ndmem-ports = { value = 1, unit = \"ports\" }"),
        changed(
            "[dma]\ngranule = { value = 64, unit = \"B\" }\nqueue = { value = 1, unit = \"descriptors\" }",
        ),
        changed("[dma]\nqueue = { value = 1, unit = \"descriptors\" }"),
        changed("[cp2]\ndmem = { value = 32, unit = \"KiB\" }"),
    ];
    for machine in machines {
        let planner = FftPlanner::new(machine.clone());
        for n in lengths() {
            let x = FftProblem::new(n, Direction::Forward, 6).unwrap().random(3);
            let fft = planner.plan_local(n, Direction::Forward);
            // What does not fit, and the 16-byte pieces in which the ring is stored.
            let refused = match n {
                2048.. if machine.cp2.dmem.0 < 65536 => Some("32768"),
                4096 if machine.dma.granule.0 > 16 => Some("64"),
                _ => None,
            };
            if let Some(reason) = refused {
                let error = fft.and_then(|fft| fft.process(&x)).unwrap_err().to_string();
                assert!(error.contains(reason), "{error}");
                continue;
            }
            let fft = fft.unwrap();
            let (a, b) = (run(plan(n, Direction::Forward), &x), run(&fft, &x));
            let same = bits(&a.output.unwrap()) == bits(&b.output.unwrap());
            assert!(same, "{n} on {}", machine.cp2.sections);
        }
    }
}

/// Planning does not take longer or more memory for a long batch.
#[test]
fn a_large_batch_is_planned_and_run() {
    let fft = plan(16, Direction::Forward);
    let x = FftProblem::new(16, Direction::Forward, 20_001)
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
    assert!(judge(16, Direction::Forward, &x, &done.output.unwrap()).holds());
    assert!(done.bound.0 as f64 / done.run.report.cycles as f64 > 0.95);
}

#[test]
fn wrong_shapes_are_errors() {
    let fft = plan(64, Direction::Forward);
    let zeros = vec![Complex32::default(); 100];
    assert_eq!(
        fft.process(&zeros).unwrap_err().to_string(),
        "the input holds 100 numbers, which is no multiple of the length 64"
    );
    assert!(fft.process(&[]).is_err());
    assert!(fft.process(&zeros[..63]).is_err());
}

/// Few cases where an FFT is long: one of 4096 takes 25 thousand cycles.
fn row() -> impl Strategy<Value = (usize, Direction, u64)> {
    let n = prop_oneof![8 => 4u32..8, 3 => 8u32..11, 1 => 11u32..13].prop_map(|b| 1usize << b);
    (
        n,
        prop_oneof![Just(Direction::Forward), Just(Direction::Inverse)],
        any::<u64>(),
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Finite input of any dynamic range without over- and underflow.
    #[test]
    fn the_error_bound_holds((n, direction, seed) in row(), spread in 0i32..60) {
        let mut random = Random::new(seed);
        let x: Vec<Complex32> = (0..2 * n)
            .map(|_| random.complex() * 2.0f32.powi((random.next_u64() % (spread as u64 + 1)) as i32 - spread / 2))
            .collect();
        let verdict = judge(n, direction, &x, &output(plan(n, direction), &x));
        prop_assert!(verdict.holds(), "{n} {direction}: {verdict:?}");
    }

    #[test]
    fn powers_of_two_scale_every_bit((n, direction, seed) in row(), k in -60i32..60) {
        let x = FftProblem::new(n, direction, 1).unwrap().random(seed);
        let scale = 2.0f32.powi(k);
        let scaled: Vec<Complex32> = x.iter().map(|z| z * scale).collect();
        let (a, b) = (output(plan(n, direction), &x), output(plan(n, direction), &scaled));
        let a: Vec<Complex32> = a.iter().map(|z| z * scale).collect();
        prop_assert_eq!(bits(&a), bits(&b));
    }

    /// The inverse is the forward transform of the conjugate, conjugated, to the last bit.
    #[test]
    fn the_inverse_mirrors_the_forward((n, _, seed) in row(), batch in 1usize..6) {
        let x = FftProblem::new(n, Direction::Inverse, batch).unwrap().random(seed);
        let mirrored: Vec<Complex32> = x.iter().map(Complex32::conj).collect();
        let forward: Vec<Complex32> = output(plan(n, Direction::Forward), &mirrored).iter().map(Complex32::conj).collect();
        prop_assert_eq!(output(plan(n, Direction::Inverse), &x), forward);
    }
}

/// Each run of a prepared job is the run of a new one: output, cycles, causes,
/// counters; also where programs take turns.
#[test]
fn a_prepared_job_runs_as_a_new_one() {
    for n in [256, 4096, 8192, 4099] {
        let fft = FftPlanner::new(machine("vm7")).plan_forward(n).unwrap();
        let batch = 5 * 4096usize.div_ceil(n);
        let inputs = [1, 2].map(|seed| {
            let problem = FftProblem::new(n, Direction::Forward, batch).unwrap();
            problem.random(seed)
        });
        let options = Options::default;
        let mut prepared = fft.prepare(&inputs[0], options()).unwrap();
        let [_, pitch] = fft.arrays(batch).unwrap();
        for input in [&inputs[0], &inputs[1], &inputs[0]] {
            if pitch == n {
                prepared.write(input).unwrap();
            }
            let report = prepared.run().unwrap();
            let new = fft.process_with(input, options()).unwrap();
            assert_eq!(report, new.run.report, "{}", fft.recipe());
            let mut output = vec![Complex32::default(); n * batch];
            prepared.read(&mut output).unwrap();
            if pitch == n {
                assert_eq!(Some(output), new.output, "{}", fft.recipe());
            }
        }
    }
}
