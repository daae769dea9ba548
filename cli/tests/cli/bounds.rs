//! Tests of the bound of the operations that a run carried out.

use crate::bench::{Bench, bytes, npy};
use serde_json::Value;

/// Numbers of the array that kernels of this file get: 1024 blocks of four, a quarter of them for each section.
const NUMBERS: usize = 4096;
/// Blocks of a section.
const BLOCKS: u64 = NUMBERS as u64 / 16;

/// Returns a kernel with `body` between the load of a block and the store of `q1`.
fn kernel(body: &str) -> String {
    format!(
        ".include \"page.s\"\n.program\npage_begin\nldx2 a0, [a15]\nldx c0, [a15 + 8]\nnop\nnop\nnop\n\
         loop c0 {{\nldq q0, [a0]\n{body}\nstq q1, [a1]+16\naddi a0, a0, 16\n}}\npage_end\nstop\n"
    )
}

fn bench() -> Bench {
    let bench = Bench::new();
    let x: Vec<f32> = (0..NUMBERS).map(|i| (i % 9) as f32).collect();
    bench.write("x.npy", npy("<f4", "False", "(4096,)", &bytes(&x)));
    bench
}

/// Returns the cycles of a term; 0 if there is none.
fn term(json: &Value, limit: &str) -> u64 {
    let terms = json["operations_bound"]["terms"].as_array().unwrap();
    let found = terms.iter().find(|term| term["limit"] == limit);
    found.map_or(0, |term| term["cycles"].as_u64().unwrap())
}

/// Checks that the bound is its largest term, and that the run took no less.
fn check_measured(json: &Value, line: &str) {
    let bound = &json["operations_bound"];
    let cycles = |value: &Value| value["cycles"].as_u64().unwrap();
    let terms = bound["terms"].as_array().unwrap();
    assert!(!terms.is_empty(), "{line}");
    assert_eq!(cycles(bound), terms.iter().map(cycles).max().unwrap());
    assert_eq!(bound["limit"], terms[0]["limit"], "{line}");
    assert!(cycles(bound) <= cycles(json), "{line}: {bound}");
    let efficiency = cycles(bound) as f64 / cycles(json) as f64;
    assert!((bound["efficiency"].as_f64().unwrap() - efficiency).abs() < 1e-9);
}

/// Each term limits some kernel, and is what a count by hand gives.
#[test]
fn every_term_can_be_the_bound() {
    let bench = bench();
    bench.write(
        "slow-cpu.toml",
        "base = \"vm7\"\nname = \"slow-cpu\"\n[host]\ndescriptor = { value = 4000, unit = \"cycles\" }\n",
    );
    let adds = "add q1, q0, q0\n".repeat(40);
    let loads = "ldq q1, [a0]\n".repeat(40);
    let reciprocals = "rcp r2, r0\nrcp r3, r1\n".repeat(12);
    for (limit, body, machine, count, by_slot) in [
        ("arithmetic", adds.as_str(), "vm7", 40 * BLOCKS, true),
        // The load, the store and the step of the address beside those of the body.
        ("memory", loads.as_str(), "vm7", 43 * BLOCKS, true),
        // An operation every other cycle, and the last one in its own.
        (
            "unit-elementary",
            reciprocals.as_str(),
            "vm7",
            (24 * BLOCKS - 1) * 2 + 1,
            false,
        ),
        (
            "dma",
            "add q1, q0, q0",
            "vm7",
            NUMBERS as u64 * 8 / 16,
            false,
        ),
        (
            "control-cpu",
            "add q1, q0, q0",
            "slow-cpu.toml",
            4000,
            false,
        ),
    ] {
        bench.write("k.s", kernel(body));
        let line =
            format!("map k.s --input x.npy --output y.npy --block 4 --machine {machine} --json");
        let json = bench.cp2(&line).works().json();
        check_measured(&json, limit);
        assert_eq!(
            json["operations_bound"]["limit"], limit,
            "{}",
            json["operations_bound"]
        );
        let causes = &json["causes"];
        let cause = |name: &str| causes[name].as_u64().unwrap_or(0);
        let lost = if by_slot {
            cause("loop") + cause("branch")
        } else {
            0
        };
        let found = term(&json, limit);
        // Control words around the loop, and descriptors that are more than one.
        assert!(found >= count + lost, "{limit}: {found} < {count} + {lost}");
        let most = match limit {
            "dma" => json["dma"]["busy_cycles"].as_f64().unwrap() as u64,
            "control-cpu" => json["host"]["busy_cycles"].as_u64().unwrap(),
            "memory" => (count + lost) * 103 / 100,
            _ => count + lost,
        };
        assert!(found <= most, "{limit}: {found} > {most}");
    }
    // Bytes and set-ups by hand: granules of 16 bytes in a cycle, 4 cycles for each transfer, and runs that touch.
    let json = bench
        .cp2("map k.s --input x.npy --output y.npy --block 4 --json")
        .works()
        .json();
    let dma = &json["dma"];
    let number = |name: &str| dma[name].as_u64().unwrap();
    let moved = (number("bytes_loaded") + number("bytes_stored")) / 16 + 4 * number("transfers");
    assert!(term(&json, "dma") >= moved, "{json}");
    assert!(term(&json, "dma") as f64 <= dma["busy_cycles"].as_f64().unwrap());
}

/// Returns the kernels of a document: names and texts behind `cat > NAME.s <<'END'`.
fn kernels(document: &str) -> Vec<(&str, &str)> {
    let begins = document.split("cat > ").skip(1);
    let named = begins.filter_map(|rest| rest.split_once(" <<'END'\n"));
    let texts = named.filter_map(|(name, rest)| Some((name, rest.split_once("\nEND\n")?.0)));
    texts.filter(|(name, _)| name.ends_with(".s")).collect()
}

/// Kernels of the documents take no less than their bounds, on all machines, on one processor and several.
#[test]
fn no_example_is_faster_than_its_operations() {
    let bench = bench();
    let documents = [
        include_str!("../../../README.md"),
        include_str!("../../../docs/arrays.md"),
        include_str!("../../../docs/tuning.md"),
    ];
    for (name, text) in documents.into_iter().flat_map(kernels) {
        bench.write(name, text);
    }
    bench.write(
        "port.toml",
        "base = \"vm7\"\nname = \"port\"\n[cp2]\ndmem-ports = { value = 1, unit = \"ports\" }\nloop-back = { value = 2, unit = \"cycles\" }\n",
    );
    let c = npy("<c8", "False", "(2048,)", &bytes(&vec![1.5; NUMBERS]));
    bench.write("c.npy", c);
    bench
        .cp2("map ones.s --shape 12x24x64 --block 2x4x32 --output u.npy")
        .works();
    for kernel in [
        "power.s --input c.npy --block 2",
        "power4.s --input c.npy --block 4",
        "naive.s --input c.npy --block 16",
        "scale.s --input c.npy --block 16",
        "scale.s --input c.npy --block 16 --page 1 --buffering single",
        "product.s --shape 40x203 --block 8x64",
        "jacobi.s --input x.npy --block 8x64 --halo 1",
        "box.s --input u.npy --block 2x4x32 --halo 1 --edge periodic",
        "star.s --input u.npy --block 1x8x64 --halo 1 --march planes",
    ] {
        if kernel.starts_with("jacobi") {
            bench
                .cp2("map product.s --shape 64x64 --block 8x64 --output x.npy")
                .works();
        }
        for how in [
            "--machine vm7",
            "--machine vm9",
            "--machine port.toml",
            "--threads 2",
            "--procs 2",
        ] {
            // Processors share blocks of kernels that need no others, and do not ask where they are.
            let alone = ["product", "jacobi", "box", "star"];
            if how == "--procs 2" && alone.iter().any(|name| kernel.starts_with(name)) {
                continue;
            }
            let line = format!("map {kernel} {how} --output y.npy --json");
            check_measured(&bench.cp2(&line).works().json(), &line);
        }
    }
    // A run that was stopped has no bound.
    let stopped = bench.cp2(
        "map jacobi.s --input x.npy --block 8x64 --halo 1 --output y.npy --max-cycles 900 --json",
    );
    assert_eq!(stopped.json().get("operations_bound"), Some(&Value::Null));
}
