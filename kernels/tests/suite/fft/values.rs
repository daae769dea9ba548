//! Tests FFTs of signals whose spectra are known, in all batches.

use super::*;

#[test]
fn inverse_batches_are_accurate() {
    for n in lengths() {
        let problem = FftProblem::new(n, TransformDirection::Inverse, 100).unwrap();
        let x = problem.random(1000 + n as u64);
        let ours = problem.verdict(&x, &output(plan(n, TransformDirection::Inverse), &x));
        let mut scalar = x.clone();
        cp2_rustfft::scalar_single(n, cp2_rustfft::FftDirection::Inverse).process(&mut scalar);
        let theirs = problem.verdict(&x, &scalar);
        assert!(
            ours.is_within_tolerance() && ours.rms <= 1.5 * theirs.rms,
            "{n}: {ours:?}, rustfft {theirs:?}"
        );
    }
}

/// Wrong twiddle factors with small errors would pass a random test; an impulse shows each factor, a tone
/// sums them all.
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
                            // Neighbours differ by nine powers of ten.
                            _ => tone * if j % 2 == 0 { 1.0e9 } else { 1.0 },
                        }
                }));
            }
            let verdict = judge(n, direction, &x, &output(plan(n, direction), &x));
            assert!(
                verdict.is_within_tolerance(),
                "{n} {direction}: {verdict:?}"
            );
        }
    }
}

/// The result does not depend on the pages into which a batch is divided.
#[test]
fn any_batch_gives_the_same_rows() {
    for n in [16, 64, 256, 2048, 4096] {
        let fft = plan(n, TransformDirection::Forward);
        let x = FftProblem::new(n, TransformDirection::Forward, 9)
            .unwrap()
            .random(9);
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
        let fft = plan(n, TransformDirection::Inverse);
        let x = FftProblem::new(n, TransformDirection::Inverse, 80)
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

/// A machine file changes cycles and never bits; if the transform does not fit, the error says so.
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
            let x = FftProblem::new(n, TransformDirection::Forward, 6)
                .unwrap()
                .random(3);
            let fft = planner.plan_local(n, TransformDirection::Forward);
            // Sizes that do not fit, and machines that cannot move the 16-byte pieces in which the ring is
            // stored.
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
            let (a, b) = (run(plan(n, TransformDirection::Forward), &x), run(&fft, &x));
            let same = bits(&a.output.unwrap()) == bits(&b.output.unwrap());
            assert!(same, "{n} on {}", machine.cp2.sections);
        }
    }
}
