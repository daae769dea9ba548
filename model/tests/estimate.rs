//! Estimates agree with sums done by hand, and have their properties.
#![allow(missing_docs, clippy::unwrap_used, reason = "tests")]

use cp2_machine::{Class, Machine};
use cp2_model::{Demand, ModelError, Phase, Procedure, Roofline, System, cp2, estimate};
use proptest::prelude::*;

fn vm7() -> System {
    System::from_machine(&Machine::builtin("vm7").unwrap())
}

/// A node of the cluster of seed 000: one GPU, PCIe 1.1 x8, InfiniBand 4x SDR.
const NODE: &str = include_str!("../systems/gpu-node.toml");

fn cycles(procedure: &Procedure, system: &System) -> f64 {
    system.cycles(estimate(procedure, system).unwrap().seconds)
}

#[test]
fn a_paged_pass_on_vm7_by_hand() {
    // Load 1024 bytes: descriptor 8, set-up 32, 1024 / 16 = 64. Then 6400
    // butterflies on four sections = 1600, against 16 KiB in 8 transfers with
    // 3 more runs each = 1024 + 32 + 24 = 1080. Then the CPU notices (40),
    // builds (8), stores (32 + 64), notices (40).
    let transfer = |bytes, transfers, runs, latencies| Demand::Transfer {
        channel: cp2::DMA.to_owned(),
        bytes,
        transfers,
        runs,
        latencies,
    };
    let pass = Procedure::new("pass").phase(
        Phase::new("pages")
            .add_serial([
                Demand::action(cp2::DESCRIPTOR, 2),
                transfer(1024, 0, 0, 1),
                Demand::action(cp2::COMPLETION, 2),
                transfer(1024, 0, 0, 1),
            ])
            .branch([Demand::operations(
                cp2::ARITHMETIC,
                Class::Butterfly.name(),
                6400,
            )])
            .branch([transfer(16 << 10, 8, 24, 0)]),
    );
    let expected = 8 + 32 + 64 + 1600 + 40 + 8 + 32 + 64 + 40;
    assert!((cycles(&pass, &vm7()) - f64::from(expected)).abs() < 1e-6);
    let detail = estimate(&pass, &vm7()).unwrap();
    assert_eq!(detail.limit, "arithmetic");
    // The channel is busy 1080 + 2 x 64 of the 1600 cycles of arithmetic.
    assert!((detail.balance[0].factor.unwrap() - 1208.0 / 1600.0).abs() < 1e-12);
}

#[test]
fn classes_have_the_rates_of_the_machine_file() {
    // Elementary operations start every second cycle; four sections.
    let elementary = |count| {
        Procedure::new("e").phase(Phase::new("e").branch([Demand::operations(
            cp2::ARITHMETIC,
            Class::Elementary.name(),
            count,
        )]))
    };
    assert!((cycles(&elementary(1000), &vm7()) - 500.0).abs() < 1e-9);
    // Multiply-adds use the slots that elementary operations leave free: 1000 of them take no longer, and
    // with 3000 all 4000 take 1000 cycles, 4 a cycle.
    for (madds, expected) in [(1000, 500.0), (3000, 1000.0)] {
        let mixed = Demand::operations(cp2::ARITHMETIC, Class::Madd.name(), madds);
        let mut both = elementary(1000);
        both.phases[0].branches[0].push(mixed);
        assert!((cycles(&both, &vm7()) - expected).abs() < 1e-9);
        // Two phases do not overlap, and neither do their terms.
        both.phases.push(elementary(1000).phases.remove(0));
        assert!((cycles(&both, &vm7()) - expected - 500.0).abs() < 1e-9);
        let terms = estimate(&both, &vm7()).unwrap().terms;
        assert!((vm7().cycles(terms[0].seconds) - expected - 500.0).abs() < 1e-9);
    }
    // 12.8 bytes a cycle on vm9.
    let vm9 = System::from_machine(&Machine::builtin("vm9").unwrap());
    let copy =
        Procedure::new("c").phase(Phase::new("c").branch([Demand::transfer(cp2::DMA, 1280)]));
    assert!((cycles(&copy, &vm9) - 100.0).abs() < 1e-9);
}

#[test]
fn himeno_on_a_gpu_node() {
    // XL', 16 GPUs: 1025 x 513 x 513 points / 16, 13 reads and a write of 4
    // bytes each; 513 x 513 plane of 4 bytes both ways through the host.
    let points = 1025 * 513 * 513 / 16u64;
    let plane = 513 * 513 * 4u64;
    let text = format!(
        r#"
        name = "himeno"
        [[phases]]
        name = "iteration"
        branches = [
            [{{ transfer = {{ channel = "memory", bytes = {} }} }}],
            [{{ transfer = {{ channel = "pcie", bytes = {} }} }}],
            [{{ transfer = {{ channel = "network", bytes = {} }} }}],
        ]
        "#,
        points * 56,
        4 * plane,
        2 * plane
    );
    let node = System::from_toml(NODE).unwrap();
    let e = estimate(&Procedure::from_toml(&text).unwrap(), &node).unwrap();
    assert_eq!(e.limit, "memory");
    // 944 MB at 102.4 GB/s; the seed measured 15.7 ms, since caches hold less
    // than the count of 14 words assumes nothing is read twice.
    assert!((e.seconds - 9.22e-3).abs() < 0.01e-3, "{}", e.seconds);
}

#[test]
fn what_excludes_one_another_adds_up() {
    let text = "name = 'two'\nclock_hz = 1.0\nexclusive = [['a', 'b']]\n\
                [[channels]]\nname = 'a'\nbytes_per_second = 1.0\n\
                [[channels]]\nname = 'b'\nbytes_per_second = 1.0\n\
                [[channels]]\nname = 'c'\nbytes_per_second = 1.0\n";
    let system = System::from_toml(text).unwrap();
    let bytes = |a, b, c| {
        let all = [("a", a), ("b", b), ("c", c)];
        let branch = |p: Phase, (n, bytes)| p.branch([Demand::transfer(n, bytes)]);
        Procedure::new("p").phase(all.into_iter().fold(Phase::new("p").times(3), branch))
    };
    assert!((cycles(&bytes(2, 3, 4), &system) - 15.0).abs() < 1e-12);
    assert!((cycles(&bytes(2, 3, 6), &system) - 18.0).abs() < 1e-12);
}

#[test]
fn a_branch_is_a_sequence_and_shared_resources_serialise() {
    let madd = |n| Demand::operations(cp2::ARITHMETIC, Class::Madd.name(), n);
    let dma = |n| Demand::transfer(cp2::DMA, n);
    // 100 then 10 cycles against 50 + 10 of the channel.
    let p = |more: u64| {
        Procedure::new("p").phase(
            Phase::new("p")
                .branch([madd(400), dma(160)])
                .branch([dma(800 + more)]),
        )
    };
    assert!((cycles(&p(0), &vm7()) - 110.0).abs() < 1e-9);
    // 10 + 150 of the channel are more than any branch.
    let e = estimate(&p(1600), &vm7()).unwrap();
    assert!((vm7().cycles(e.seconds) - 160.0).abs() < 1e-9);
    assert_eq!(e.limit, "dma");
}

#[test]
fn errors_say_what_there_is() {
    let unknown = Procedure::new("p").phase(Phase::new("first").branch([Demand::operations(
        cp2::ARITHMETIC,
        "gather",
        1,
    )]));
    let error = estimate(&unknown, &vm7()).unwrap_err().to_string();
    assert!(
        error.contains("first") && error.contains("gather") && error.contains("`butterfly`"),
        "{error}"
    );
    for (from, to, wanted) in [
        ("102.4e9", "0.0", "positive"),
        ("102.4e9", "nan", "positive"),
        ("name = \"network\"", "name = \"pcie\"", "twice"),
        ("clock_hz", "clock", "clock"),
        ("[\"pcie\", \"network\"]", "[\"pci\"]", "pci"),
    ] {
        let text = NODE.replace(from, to);
        assert_ne!(text, NODE, "{from}");
        let error = System::from_toml(&text).unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
    }
    assert!(matches!(
        Procedure::from_toml("nmae = 'x'"),
        Err(ModelError::File(_))
    ));
    let long = format!("name = '{}", "x".repeat(100_000));
    let error = Procedure::from_toml(&long).unwrap_err().to_string();
    assert!(error.len() < 1000, "{}", error.len());
    let empty = Procedure::from_toml("name = 'nothing'\nphases = []").unwrap();
    assert_eq!(
        estimate(&empty, &vm7()),
        Err(ModelError::Empty("nothing".to_owned()))
    );
    assert!(matches!(
        Procedure::from_toml(
            "name = '\\u001b[31m'\nphases = []"
                .replace('\'', "\"")
                .as_str()
        ),
        Err(ModelError::Name { .. })
    ));
    let slow = NODE.replace("102.4e9", "1e-320");
    let copy = Procedure::new("c").phase(Phase::new("c").branch([Demand::transfer("memory", 1)]));
    assert!(matches!(
        estimate(&copy, &System::from_toml(&slow).unwrap()),
        Err(ModelError::Endless { .. })
    ));
}

#[test]
fn without_arithmetic_there_is_no_balance() {
    let copy = Procedure::new("c").phase(
        Phase::new("c")
            .branch([Demand::transfer(cp2::DMA, 1600)])
            .branch([Demand::operations(cp2::CPU, cp2::DESCRIPTORS, 1)]),
    );
    let e = estimate(&copy, &vm7()).unwrap();
    assert_eq!(
        (e.balance[0].channel.as_str(), e.balance[0].factor),
        ("dma", None)
    );
}

#[test]
fn the_roofline_of_a_balanced_fft() {
    let fft = Procedure::new("fft").phase(
        Phase::new("all")
            .branch([Demand::operations(
                cp2::ARITHMETIC,
                Class::Butterfly.name(),
                5120,
            )])
            .branch([Demand::transfer(cp2::DMA, 16384)]),
    );
    let roofline = Roofline::new(&fft, &vm7()).unwrap();
    // 10 flops a butterfly; 40 flops a cycle at 200 MHz.
    assert_eq!(roofline.ceilings[0].name, "butterfly");
    assert!((roofline.ceilings[0].flops_per_second - 8e9).abs() < 1.0);
    assert!((roofline.points[0].intensity - 51200.0 / 16384.0).abs() < 1e-12);
    assert!((roofline.points[0].flops_per_second - 8e9).abs() < 1.0);
}

proptest! {
    /// The estimate is never shorter than any of its terms, never longer than their sum, and more work takes
    /// no less time.
    #[test]
    fn the_estimate_lies_between_the_largest_and_the_sum(
        ops in 0u64..1_000_000, bytes in 0u64..1_000_000, first in 0u64..10_000, more in 0u64..1000, times in 1u64..50,
    ) {
        let make = |ops, bytes, first| Procedure::new("p").phase(
            Phase::new("p").times(times)
                .add_serial([Demand::transfer(cp2::DMA, first), Demand::action(cp2::LAUNCH, 1)])
                .branch([Demand::operations(cp2::ARITHMETIC, Class::Madd.name(), ops)])
                .branch([Demand::transfer(cp2::DMA, bytes)]),
        );
        let system = vm7();
        let e = estimate(&make(ops, bytes, first), &system).unwrap();
        let sum: f64 = e.terms.iter().map(|t| t.seconds).sum::<f64>() + e.actions;
        for term in &e.terms {
            prop_assert!(e.seconds >= term.seconds * (1.0 - 1e-12));
        }
        prop_assert!(e.seconds <= sum * (1.0 + 1e-12));
        let base = e.seconds;
        for larger in [make(ops + more, bytes, first), make(ops, bytes + more, first), make(ops, bytes, first + more)] {
            prop_assert!(estimate(&larger, &system).unwrap().seconds >= base * (1.0 - 1e-12));
        }
    }
}
