//! Tests of `cp2 npb mg --procs` and `cp2 tune mg --procs`.

use crate::bench::Bench;
use serde_json::Value;

/// A run on four processors.
const FOUR: &str = "npb mg --class S --procs 4 --json";

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

/// The benchmark is verified, its price is what it takes, and every cycle has a cause.
#[test]
fn processors_are_verified_and_priced_to_the_cycle() {
    let bench = Bench::new();
    let one = bench.cp2("npb mg --class S --json").works().json();
    let four = bench.cp2(FOUR).works().json();
    assert_eq!(four["schema"], "cp2-npb/1");
    assert_eq!(four["class"], "S");
    assert_eq!(four["passed"], true);
    assert_eq!(four["expected_cycles"], four["cycles"]);
    assert!(number(&four["bound_cycles"]) < number(&four["reference_cycles"]));
    assert!(number(&four["reference_cycles"]) < number(&four["cycles"]));
    assert!(number(&four["cycles"]) < number(&one["cycles"]) / 2);
    let [planes, rows] = ["planes", "rows"].map(|axis| number(&four["split"][axis]));
    assert_eq!(planes * rows, 4);
    let processors = four["processors"].as_array().unwrap();
    assert_eq!(processors.len(), 4);
    for processor in processors {
        let causes = processor["causes"].as_object().unwrap().values();
        assert_eq!(
            causes.map(number).sum::<u64>(),
            number(&processor["cycles"])
        );
        assert!(number(&processor["causes"]["wait-message"]) > 0);
    }
    // Results have the bits of one processor, and so has a norm that is added up in its order.
    let line = format!("{FOUR} --sum ordered --split 1x4");
    let ordered = bench.cp2(&line).works().json();
    assert_eq!(ordered["value"], one["value"]);
    assert_eq!(ordered["sum"], "ordered");
    assert_eq!(ordered["split"]["planes"], 4);
    let text = bench.cp2("npb mg --class S --procs 2").works().out.clone();
    for words in [
        "verified",
        "halo 32",
        "gather",
        "wait-message",
        "2 processors, a torus",
    ] {
        assert!(text.contains(words), "`{words}` is missing in {text}");
    }
}

/// A network of half the rate is slower, by messages alone.
#[test]
fn a_slow_network_is_waited_for() {
    let bench = Bench::new();
    bench.write(
        "slow.toml",
        "name = \"slow\"\nbase = \"vm7\"\n[network]\nlane-rate = { value = 1250, unit = \"Mbaud\" }\n",
    );
    let line = "npb mg --class S --procs 4 --split 1x4 --gather 8 --json";
    let usual = bench.cp2(line).works().json();
    let slow = bench
        .cp2(&format!("{line} --machine slow.toml"))
        .works()
        .json();
    let waits = |json: &Value| number(&json["processors"][0]["causes"]["wait-message"]);
    let [before, after] = [&usual, &slow].map(|json| number(&json["processors"][0]["cycles"]));
    assert_eq!(after - before, waits(&slow) - waits(&usual));
    assert!(waits(&slow) > 2 * waits(&usual));
    assert_eq!(usual["value"], slow["value"]);
}

/// A grid of one's own has no official value and is judged against double precision.
#[test]
fn grids_of_ones_own_are_judged() {
    let bench = Bench::new();
    let run = |more: &str| {
        let line = format!("npb mg --grid 32x16x32 --cycles 2 {more} --json");
        bench.cp2(&line).works().json()
    };
    let [one, four] = [run(""), run("--procs 4 --sum ordered --split 1x4")];
    for json in [&one, &four] {
        assert_eq!(json["passed"], true);
        assert_eq!(json["class"], Value::Null);
        assert_eq!(json["official"], Value::Null);
        assert_eq!(json["value"], one["value"]);
    }
    assert!(number(&four["cycles"]) < number(&one["cycles"]));
}

/// The table has all splits, the cheapest first, which is the one that runs take.
#[test]
fn splits_are_compared_by_price() {
    let bench = Bench::new();
    let json = bench
        .cp2("tune mg --class S --procs 4 --json")
        .works()
        .json();
    let splits = json["splits"].as_array().unwrap();
    assert_eq!(json["tried"], splits.len());
    let prices: Vec<u64> = splits
        .iter()
        .map(|split| number(&split["cycles"]))
        .collect();
    assert!(prices.is_sorted());
    let ran = bench.cp2(FOUR).works().json();
    assert_eq!(ran["split"], splits[0]["split"]);
    // Norms are what the table leaves out.
    assert!(number(&ran["cycles"]).abs_diff(prices[0]) < prices[0] / 20);
    let text = bench.cp2("tune mg --class S --procs 2").works().out.clone();
    assert!(
        text.contains("rows x planes") && text.contains("1x2"),
        "{text}"
    );
}

#[test]
fn what_cannot_be_divided_is_refused() {
    let bench = Bench::new();
    for (line, words) in [
        (
            "npb mg --class S --procs 6",
            "the nearest that fit are 4 and 8",
        ),
        ("npb mg --class S --procs 512", "expected at most 256"),
        (
            "npb mg --class S --procs 4 --split 1x2x2",
            "rows (x) are not cut",
        ),
        (
            "npb mg --class S --procs 4 --split 1x2",
            "whose product is 4",
        ),
        ("npb mg --class S --procs 4 --gather 32", "from 2 to 16"),
        (
            "npb mg --class S --procs 4 --split 1x4 --gather 2",
            "or gather a finer level",
        ),
        ("npb mg --class S --gather 4", "--procs P"),
        ("npb mg --grid 32x32 --procs 2", "planes x rows x columns"),
        ("npb mg --grid 32x24x32", "power of two from 16 to 1024"),
        (
            "npb mg --class S --procs 8 --split 8x1 --sum ordered",
            "--sum tree",
        ),
    ] {
        bench.cp2(line).fails(2, &[words]);
    }
}

/// The report is that of one process, but for what is the host's.
#[cfg(feature = "mpi")]
#[test]
fn ranks_change_nothing() {
    use crate::processors::ranks::mpirun;
    let bench = Bench::new();
    let mut alone = bench.cp2(FOUR).works().json();
    alone["host_seconds"].take();
    for ranks in [1, 2, 3, 4] {
        let mut own = mpirun(&bench, ranks, FOUR).works().json();
        assert_eq!(own["transport"], "mpi");
        assert_eq!(own["ranks"].as_u64(), Some(ranks as u64));
        own["host_seconds"].take();
        for field in ["ranks", "transport"] {
            own[field] = alone[field].clone();
        }
        assert_eq!(own, alone, "{ranks}");
    }
}

/// In double precision the benchmark's own tolerance is kept, with the same norm on one processor and on four that add
/// up in its order.
#[test]
fn double_precision_is_verified_on_any_number_of_processors() {
    let bench = Bench::new();
    let line = "npb mg --class S --precision double --machine vm7+double --json";
    let one = bench.cp2(line).works().json();
    let four = bench.cp2(&format!("{line} --procs 4 --sum ordered"));
    let four = four.works().json();
    for json in [&one, &four] {
        assert_eq!(json["precision"], "double");
        assert_eq!(
            (&json["passed"], &json["tolerance"]),
            (&true.into(), &1e-8.into())
        );
        assert!(json["relative_difference"].as_f64().unwrap() < 1e-11);
    }
    assert_eq!(one["value"], four["value"]);
    let single = bench.cp2("npb mg --class S --json").works().json();
    assert_eq!(single["precision"], "single");
    bench
        .cp2("npb mg --class S --precision double")
        .fails(2, &["extension `double`", "vm7+double"]);
    bench
        .cp2("npb mg --class S --precision double --backend gpu")
        .fails(2, &["shaders compute in single precision"]);
    bench
        .cp2("npb mg --class S --precision double --tuned s.toml")
        .fails(2, &["--precision", "--tuned"]);
}
