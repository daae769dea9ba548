//! Tests of the reported cost of packing a sparse matrix.
//!
//! Every command that packs a matrix gives equal figures, as text and as JSON.

use crate::bench::{Bench, bytes, npy};
use cp2_machine::Machine;
use serde_json::Value;

/// Makes the matrix of a row of points, coupled with the neighbours and with the points at these distances.
fn chain(n: usize, distances: &[usize]) -> String {
    let mut entries = Vec::new();
    for i in 1..=n {
        entries.push(format!("{i} {i} 9.5"));
        let before = distances.iter().filter(|&&distance| distance < i);
        entries.extend(before.map(|distance| format!("{i} {} -1", i - distance)));
    }
    format!(
        "%%MatrixMarket matrix coordinate real symmetric\n{n} {n} {}\n{}\n",
        entries.len(),
        entries.join("\n")
    )
}

/// Returns the number between two texts, and the text after the first blank behind it.
fn between<'a>(text: &'a str, from: &str, to: &str) -> (f64, &'a str) {
    let (_, rest) = text
        .split_once(from)
        .unwrap_or_else(|| panic!("`{from}`: {text}"));
    let (found, _) = rest
        .split_once(to)
        .unwrap_or_else(|| panic!("`{to}`: {rest}"));
    let (number, unit) = found.split_once(' ').unwrap_or((found, ""));
    (number.parse().unwrap(), unit)
}

/// Checks that the text and the JSON object have the same figures.
fn agree(text: &str, json: &Value) {
    let (number, unit) = between(text, "the control CPU would take ", ", which");
    let unit = match unit {
        "s" => 1.0,
        "ms" => 1e-3,
        _ => 1e-6,
    };
    let seconds = json["pack_seconds_simulated"].as_f64().unwrap();
    assert!((number * unit - seconds).abs() <= 5.1e-4 * unit, "{text}");
    assert!(json["pack_seconds"].as_f64() > Some(0.0));
    match json["pays_after"].as_u64() {
        Some(products) => {
            let said = between(text, "which pays after ", " product").0;
            assert!(said == products as f64, "{said} {products}");
        }
        None => assert!(text.contains("which never pays"), "{text}"),
    }
}

/// Computes the control CPU's cycles of a product with compressed rows from its definition. An entry takes a
/// value, a column and a number of x, of four bytes each, and two operations; a row takes its start and a
/// number of y.
fn compressed(json: &Value, machine: &Machine) -> f64 {
    let [entries, rows] = ["nnz", "rows"].map(|key| json[key].as_f64().unwrap());
    let moved = 12.0 * entries + 8.0 * rows;
    moved / machine.host.copy.as_f64() + 2.0 * entries * machine.host.scalar.0 as f64
}

/// The savings of `pays_after` products reach the cost of packing, and those of one product fewer do not.
#[test]
fn packing_pays_when_products_have_saved_what_it_took() {
    let bench = Bench::new();
    bench.write("a.mtx", chain(500, &[1, 3, 20, 177]));
    for (name, formats) in [
        ("vm7", &["gather", "diagonal"][..]),
        ("vm9", &["gather", "diagonal"]),
        ("vm9+section-addressing", &["gather", "diagonal", "sell"]),
        (
            "vm9+section-addressing+word-addressing",
            &["sell", "sell-words"],
        ),
    ] {
        let machine = Machine::load(name).unwrap();
        for format in formats {
            let line = format!("spmv --matrix a.mtx --plan --machine {name} --format {format}");
            let json = bench.cp2(&format!("{line} --json")).works().json();
            agree(&bench.cp2(&line).works().out, &json);
            let seconds = json["pack_seconds_simulated"].as_f64().unwrap();
            let cycles = seconds * machine.cp2.clock_hz as f64;
            let nnz = json["nnz"].as_f64().unwrap();
            // Packing takes at least 100 operations per entry, of which slices of rows need fewer.
            let operations = if format.starts_with("sell") {
                20.0
            } else {
                100.0
            };
            let least = operations * nnz * machine.host.scalar.0 as f64;
            assert!(cycles > least, "{name} {format}: {cycles}");
            let expected = json["expected_cycles"].as_f64().unwrap();
            let saved = compressed(&json, &machine) - expected;
            let products = json["pays_after"].as_f64().unwrap();
            assert!(products * saved >= cycles * (1.0 - 1e-9), "{name} {format}");
            assert!((products - 1.0) * saved < cycles, "{name} {format}");
        }
    }
}

/// Checks that the documents have the figures of the benchmark.
fn documented(json: &Value) {
    let seconds = json["pack_seconds_simulated"].as_f64().unwrap();
    let products = json["pays_after"].as_u64().unwrap();
    let products = format!("{},{:03}", products / 1000, products % 1000);
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs");
    for (page, figures) in [
        ("npb.md", format!("{seconds:.0} s and {products} products")),
        ("sparse.md", format!("| {products} |")),
    ] {
        let text = std::fs::read_to_string(docs.join(page)).unwrap();
        assert!(text.contains(&figures), "{page} lacks `{figures}`");
    }
}

/// Iterations report the cost of packing their matrix, and so does the benchmark that consists of them.
#[test]
fn every_command_says_what_packing_takes() {
    let bench = Bench::new();
    bench.write("a.mtx", chain(200, &[1, 14]));
    bench.write("b.npy", npy("<f4", "False", "(200,)", &bytes(&[1.0; 200])));
    let lines = [
        "spmv --matrix a.mtx --vectors 3",
        "spmv --matrix a.mtx --iterations 3",
        "solve --matrix a.mtx --rhs b.npy --method cg",
        "solve --matrix a.mtx --rhs b.npy --method bicgstab --machine vm9",
        "npb cg --class S",
    ];
    for line in lines {
        let json = bench.cp2(&format!("{line} --json")).works().json();
        agree(&bench.cp2(line).works().out, &json);
        if line.starts_with("npb") {
            documented(&json);
        }
    }
    // Iterations pack their matrix as a product does.
    let of = |line: &str| {
        let json = bench.cp2(line).works().json();
        json["pack_seconds_simulated"].as_f64().unwrap()
    };
    let product = of("spmv --matrix a.mtx --plan --json");
    for line in &lines[1..3] {
        assert!(of(&format!("{line} --json")) == product, "{line}");
    }
}
