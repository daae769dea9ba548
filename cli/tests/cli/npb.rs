//! Tests of `cp2 npb`: official values, figures, and ends.

use crate::bench::Bench;
use crate::npb_tables::{BENCHMARKS, DOCUMENT, MACHINES, line, replaced};

/// The tables of the document match the figures of the smallest classes.
#[test]
fn the_document_has_the_figures_of_now() {
    let bench = Bench::new();
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let text = std::fs::read_to_string(root.join(DOCUMENT)).unwrap();
    for (benchmark, _, _) in BENCHMARKS {
        assert!(replaced(&text, benchmark, "").is_some(), "{benchmark}");
        for machine in MACHINES {
            let run = format!("npb {benchmark} --class S --machine {machine} --json");
            let json = bench.cp2(&run).works().json();
            let line = line(benchmark, "S", machine, &json);
            assert!(
                text.contains(&line),
                "{DOCUMENT} lacks `{line}`: make its tables again"
            );
        }
    }
}

#[test]
fn ft_of_class_s_is_verified_on_every_machine() {
    let bench = Bench::new();
    let mut sums = Vec::new();
    for machine in ["vm7", "vm9"] {
        let line = format!("npb ft --class S --machine {machine} --json");
        let json = bench.cp2(&line).works().json();
        assert_eq!(json["schema"], "cp2-npb/1");
        assert_eq!(
            (&json["benchmark"], &json["class"]),
            (&"FT".into(), &"S".into())
        );
        assert_eq!(json["machine"], machine);
        assert_eq!(json["passed"], true);
        assert_eq!(json["tolerance"], 1e-6);
        assert!(json["relative_difference"].as_f64().unwrap() < 2e-7);
        assert!(json["field_error"].as_f64().unwrap() < 4e-7);
        // The last checksum that is published for the class.
        assert_eq!(json["official"][5][0], 554.268_341_190_2);
        let ours = json["value"][5][1].as_f64().unwrap();
        assert!((ours / 493.259_724_494_1 - 1.0).abs() < 1e-6);
        assert_eq!(json["value"].as_array().unwrap().len(), 6);
        let number = |key: &str| json[key].as_u64().unwrap();
        let apart = number("expected_cycles").abs_diff(number("cycles"));
        assert!(apart < number("cycles") / 50_000, "{apart}");
        assert!(number("bound_cycles") < number("reference_cycles"));
        assert!(number("reference_cycles") < number("cycles"));
        let least = if machine == "vm7" { 0.76 } else { 0.66 };
        assert!(json["efficiency"].as_f64().unwrap() > least);
        assert!(json["mops"].as_f64().unwrap() > 6000.0);
        assert!(json["host_seconds"].as_f64().unwrap() > 0.0);
        assert_eq!(json["outside_time"].as_array().unwrap().len(), 2);
        // The operators' cycles and the causes' cycles both add up to the run's.
        let operators = json["operators"].as_array().unwrap();
        let names: Vec<_> = operators
            .iter()
            .map(|o| o["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["transform", "evolve", "checksum"]);
        let cycles = operators.iter().map(|o| o["cycles"].as_u64().unwrap());
        assert_eq!(cycles.sum::<u64>(), number("cycles"));
        let causes = json["causes"].as_object().unwrap().values();
        let causes = causes.map(|cycles| cycles.as_u64().unwrap());
        assert_eq!(causes.sum::<u64>(), number("cycles"));
        for operator in &operators[..2] {
            let efficiency = operator["efficiency"].as_f64().unwrap();
            assert!((0.64..1.0).contains(&efficiency), "{operator}");
        }
        sums.push(json["value"].clone());
    }
    // Each machine divides the transform in the way that is fastest there, so that the last bits differ.
    let numbers = |sums: &serde_json::Value| -> Vec<f64> {
        let all = sums.as_array().unwrap().iter();
        let all = all.flat_map(|sum| sum.as_array().unwrap().iter());
        all.map(|number| number.as_f64().unwrap()).collect()
    };
    for (a, b) in numbers(&sums[0]).into_iter().zip(numbers(&sums[1])) {
        assert!((a / b - 1.0).abs() < 1e-6, "{a} {b}");
    }
    let text = bench.cp2("npb ft --class s").works().out.clone();
    for words in [
        "class S",
        "step 6",
        "reference",
        "verified",
        "evolve",
        "Mop/s",
        "not in the time",
    ] {
        assert!(text.contains(words), "`{words}` is missing in: {text}");
    }
}

#[test]
fn what_is_no_benchmark_is_refused() {
    let bench = Bench::new();
    bench.cp2("npb ft").fails(2, &["--class"]);
    bench
        .cp2("npb ft --class D")
        .fails(2, &["expected S, W, A, B or C"]);
    bench
        .cp2("npb ft --class S --machine none.toml")
        .fails(2, &["none.toml"]);
    for benchmark in ["ft", "mg"] {
        let line = format!("npb {benchmark} --class C");
        bench
            .cp2(&line)
            .fails(2, &["vm7", "system memory", "1073741824 B"]);
    }
    // A run that was stopped has no value and has not passed.
    let stopped = bench.cp2("npb ft --class S --max-cycles 1000000 --json");
    assert_eq!(stopped.code, 3, "{}", stopped.err);
    let json = stopped.json();
    assert_eq!(
        (&json["passed"], &json["value"]),
        (&false.into(), &serde_json::Value::Null)
    );
    assert!(json["efficiency"].is_null() && json["mops"].is_null());
    assert!(json["relative_difference"].is_null());
}

/// The memory of this machine is too small for three fields.
#[test]
fn ft_without_room_is_refused() {
    let bench = Bench::new();
    bench.write(
        "small.toml",
        "base = \"vm7\"\n[host]\nmemory = { value = 4, unit = \"MiB\", source = \"assumed\", ref = \"M16\" }\n",
    );
    let ended = bench.cp2("npb ft --class S --machine small.toml");
    ended.fails(2, &["memory"]);
}

/// The first result of a recorded run are its checksums, in double precision.
#[test]
fn results_of_a_recorded_ft_are_written() {
    let bench = Bench::new();
    bench.cp2("npb ft --class S --emit run").works();
    bench.cp2("run run --output sums.npy").works();
    let sums = std::fs::read(bench.path("sums.npy")).unwrap();
    let header = String::from_utf8_lossy(&sums[10..128]).into_owned();
    assert!(header.contains("'<f8'"), "{header}");
    let last = sums.len() - 16;
    let [re, im] = [last, last + 8].map(|at| {
        let bytes = sums[at..at + 8].try_into().unwrap();
        f64::from_le_bytes(bytes)
    });
    assert!((re / 554.268_341_190_2 - 1.0).abs() < 1e-6, "{re}");
    assert!((im / 493.259_724_494_1 - 1.0).abs() < 1e-6, "{im}");
    bench.cp2("run run --output field.npy --result w").works();
}

#[test]
fn mg_of_class_s_is_verified() {
    let bench = Bench::new();
    let json = bench.cp2("npb mg --class S --json").works().json();
    assert_eq!(
        (&json["benchmark"], &json["class"]),
        (&"MG".into(), &"S".into())
    );
    assert_eq!(json["passed"], true);
    assert_eq!(json["official"], 0.530_770_700_573_4e-4);
    assert!(json["relative_difference"].as_f64().unwrap() < 1e-5);
    let number = |key: &str| json[key].as_u64().unwrap();
    assert!(number("bound_cycles") < number("reference_cycles"));
    assert!(number("reference_cycles") < number("cycles"));
    // Goal for the cycles of the class.
    assert!(number("cycles") < 620_000);
    let operators = json["operators"].as_array().unwrap();
    let cycles = operators.iter().map(|o| o["cycles"].as_u64().unwrap());
    assert!(cycles.sum::<u64>() <= number("cycles"));
    for operator in operators {
        let efficiency = operator["efficiency"].as_f64().unwrap();
        assert!(efficiency < 1.0, "{operator}");
    }
    let text = bench.cp2("npb mg --class s").works().out.clone();
    for words in [
        "norm of the residual",
        "verified",
        "correction, residual, smoother 32",
        "Mop/s",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    bench.cp2("npb mg --class D").fails(2, &["--class"]);
}

#[test]
fn cg_of_class_s_is_verified() {
    let bench = Bench::new();
    let json = bench.cp2("npb cg --class S --json").works().json();
    assert_eq!(
        (&json["benchmark"], &json["class"]),
        (&"CG".into(), &"S".into())
    );
    assert_eq!(json["passed"], true);
    assert_eq!(json["official"], 8.597_177_507_864_8);
    assert!(json["relative_difference"].as_f64().unwrap() < 1e-7);
    assert!(json["rnorm"].as_f64().unwrap() < 5e-6);
    assert!(json["csr_ratio"].as_f64().unwrap() > 0.45);
    assert_eq!(json["format"], "gather");
    let number = |key: &str| json[key].as_u64().unwrap();
    assert!(number("bound_cycles") < number("reference_cycles"));
    assert!(number("reference_cycles") < number("cycles"));
    assert_eq!(number("expected_cycles"), number("cycles"));
    let operators = json["operators"].as_array().unwrap();
    let times = operators.iter().map(|o| o["times"].as_u64().unwrap());
    let mut times: Vec<u64> = times.collect();
    times.sort_unstable();
    // Each of 15 iterations has products, passes over vectors and steps of the control CPU; the first x and
    // its norm come in addition.
    assert_eq!(
        times,
        [15 * 26, 15 * (25 * 2 + 2) + 2, 15 * (25 * 3 + 2) + 1]
    );
    let cycles = operators.iter().map(|o| o["cycles"].as_u64().unwrap());
    assert_eq!(cycles.sum::<u64>(), number("cycles"));
    bench.cp2("npb cg --class D").fails(2, &["--class"]);
    bench.cp2("npb cg --class C").fails(2, &["memory"]);
}

/// CG in double precision reaches the benchmark's own tolerance; a machine without it says what to take.
#[test]
fn cg_in_double_precision_is_verified() {
    let bench = Bench::new();
    let command = "npb cg --class S --precision double --machine vm7+double --json";
    let json = bench.cp2(command).works().json();
    assert_eq!(json["passed"], true);
    assert_eq!(json["precision"], "double");
    assert_eq!(json["tolerance"], 1e-10);
    assert!(json["relative_difference"].as_f64().unwrap() < 1e-10);
    assert_eq!(json["expected_cycles"], json["cycles"]);
    let refused = "npb cg --class S --precision double";
    bench.cp2(refused).fails(2, &["--machine vm7+double"]);
}

/// MG and CG in double-single precision reach the benchmark's own tolerances, and the expected cycles; FT, and machines
/// without the rounding errors of sums and products, say what to take.
#[test]
fn double_single_precision_is_verified_or_refused() {
    let bench = Bench::new();
    for (name, tolerance) in [("mg", 1e-8), ("cg", 1e-10)] {
        let command = format!("npb {name} --class S --precision double-single");
        let line = format!("{command} --machine vm7+double-single --json");
        let json = bench.cp2(&line).works().json();
        assert_eq!(json["passed"], true);
        assert_eq!(json["precision"], "double-single");
        assert_eq!(json["tolerance"], tolerance);
        assert!(json["relative_difference"].as_f64().unwrap() < 1e-11);
        assert_eq!(json["expected_cycles"], json["cycles"]);
        assert!(json["efficiency"].as_f64().unwrap() < 1.0);
        let refused = bench.cp2(&command);
        refused.fails(2, &["extension `double-single`", "vm7+double-single"]);
    }
    let ft = "npb ft --class S --precision double-single";
    for where_to in ["--machine vm7+double-single", "--backend native"] {
        let refused = bench.cp2(&format!("{ft} {where_to}"));
        refused.fails(2, &["take single"]);
    }
    let native = "npb mg --class S --precision double-single --backend native --json";
    assert_eq!(bench.cp2(native).works().json()["passed"], true);
}

/// The result of a tuning search is used; a file changed by hand is verified or refused.
#[test]
fn mg_is_tuned_by_a_file() {
    let bench = Bench::new();
    let tuned = "tune mg --class S --output s.toml --json";
    let found = bench.cp2(tuned).works().json();
    assert_eq!(found["schema"], "cp2-tune/1");
    let number = |json: &serde_json::Value, key: &str| json[key].as_u64().unwrap();
    assert!(number(&found, "cycles") <= number(&found, "cycles_by_price"));
    assert!(number(&found, "tried") > 50);
    let run = |file: &str| bench.cp2(&format!("npb mg --class S --tuned {file} --json"));
    let json = run("s.toml").works().json();
    assert_eq!(json["passed"], true);
    assert_eq!(json["cycles"], json["expected_cycles"]);
    let least = number(&json, "cycles");
    let plain = bench.cp2("npb mg --class S --json").works().json();
    assert!(least <= number(&plain, "cycles"));

    // Other blocks give an equal result in more cycles.
    let text = String::from_utf8(bench.read("s.toml")).unwrap();
    let own = "operator = \"residual, projection\"\npoints = 32\nrows = 8\n";
    assert!(text.contains(own), "{text}");
    let with = |rows: u64| text.replace(own, &own.replace("= 8", &format!("= {rows}")));
    bench.write("lower.toml", with(4));
    let json = run("lower.toml").works().json();
    assert_eq!(json["passed"], true);
    assert_eq!(json["cycles"], json["expected_cycles"]);
    assert!(number(&json, "cycles") > least);

    let refused = |name: &str, text: &str, words: &[&str]| {
        bench.write(name, text);
        run(name).fails(2, words);
    };
    refused(
        "odd.toml",
        &with(3),
        &["odd.toml", "residual, projection", "3 rows", "[2, 4, 6, 8]"],
    );
    let without = text.replace(&format!("[[pass]]\n{own}"), "");
    refused("without.toml", &without, &["missing", "expected the rows"]);
    let twice = format!("{text}\n[[pass]]\n{own}");
    refused("twice.toml", &twice, &["no such pass beside the others"]);
    refused(
        "class.toml",
        &text.replace("class = \"S\"", "class = \"W\""),
        &["made for class W", "--class S"],
    );
    refused(
        "words.toml",
        &text.replace("rows =", "lines ="),
        &["words.toml", "lines"],
    );
    let other = bench.cp2("npb mg --class S --machine vm9 --tuned s.toml");
    other.fails(2, &["machine-hash", "vm9", "cp2 tune mg --class S"]);
    bench
        .cp2("npb mg --class S --tuned none.toml")
        .fails(2, &["none.toml"]);
    bench.cp2("tune mg").fails(2, &["--class"]);
    bench
        .cp2("tune mg --class S --output none/s.toml")
        .fails(2, &["none"]);
}
