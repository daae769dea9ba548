//! Tests of `cp2 network`: times beside formulas, on both transports.

use crate::bench::Bench;
use serde_json::Value;

/// Every figure is that of its formula; all benchmarks, topologies and lengths are there.
#[test]
fn times_are_those_of_the_formulas() {
    let bench = Bench::new();
    for topology in ["ring", "mesh", "torus", "switch", "fat-tree"] {
        let line = format!("network --procs 16 --topology {topology} --json");
        let json = bench.cp2(&line).works().json();
        assert_eq!(json["schema"], "cp2-network/1");
        assert_eq!(json["topology"], topology);
        assert_eq!(json["agrees"], true);
        let rows = json["benchmarks"].as_array().unwrap();
        assert_eq!(rows.len(), 5 * 3);
        let exact = rows
            .iter()
            .filter(|row| !row["expected_picoseconds"].is_null());
        let mut count = 0;
        for row in exact {
            count += 1;
            assert_eq!(row["difference_picoseconds"], 0, "{row}");
            assert_eq!(row["expected_picoseconds"], row["picoseconds"], "{row}");
        }
        // Three ping-pongs, two lengths of flows and hot spots; halos and all to all where they have a formula.
        let more = match topology {
            "switch" => 4,
            "mesh" => 0,
            _ => 2,
        };
        assert_eq!(count, 7 + more, "{topology}");
        for row in rows.iter().filter(|row| !row["ratio_to_bound"].is_null()) {
            let ratio = row["ratio_to_bound"].as_f64().unwrap();
            assert!((1.0..=1.3).contains(&ratio), "{row}");
        }
    }
}

/// A ping-pong by hand: two hops of 100 ns, 28 bytes of 800 ps, 300 cycles of 5 ns; the machine file counts.
#[test]
fn machine_files_and_lengths_count() {
    let bench = Bench::new();
    let file = "base = \"vm7\"\n[network]\ntopology = \"switch\"\nlanes = { value = 1, unit = \"lanes\" }\n";
    bench.write("narrow.toml", file);
    let first = |rest: &str| -> Value {
        let line = format!("network --procs 2 --bytes 8 --json {rest}");
        bench.cp2(&line).works().json()["benchmarks"][0].clone()
    };
    let wide = first("--topology switch");
    assert_eq!(wide["picoseconds"], 2 * 100_000 + 28 * 800 + 300 * 5_000);
    assert_eq!(wide["messages"], 10);
    let narrow = first("--machine narrow.toml");
    assert_eq!(
        narrow["picoseconds"],
        2 * 100_000 + 28 * 3_200 + 300 * 5_000
    );
    let text = bench.cp2("network --procs 4 --bytes 256 --topology ring");
    text.works();
    for words in [
        "4 processors, ring",
        "ping-pong",
        "at least",
        "0 ps",
        "router",
    ] {
        assert!(text.out.contains(words), "{words}: {}", text.out);
    }
    let help = bench.cp2("network --help");
    assert!(help.works().out.contains("Example: cp2 network"));
}

#[test]
fn networks_of_nobody_are_refused() {
    let bench = Bench::new();
    bench.refuses(&[
        ("network --procs 1", &["1", "2..=1024"]),
        ("network --topology cube", &["cube", "fat-tree"]),
        ("network --procs 1024 --bytes 1000000000", &["memory"]),
    ]);
}
