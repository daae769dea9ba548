//! Tests of `cp2 whatif`, `cp2 sweep` and `cp2 machines diff`.

use crate::bench::Bench;
use serde_json::Value;

/// Rows that take milliseconds.
const ROWS: &str = "fft:n=64:batch=64,fft-large:n=8192:batch=1,stencil:planes=4:rows=5:columns=70";

fn rows(json: &Value) -> &Vec<Value> {
    json["rows"].as_array().unwrap()
}

/// Every ratio is that of the printed cycles, and every verdict follows from the printed ratios.
#[test]
fn verdicts_follow_from_the_figures() {
    let bench = Bench::new();
    let line = format!("whatif --kernels {ROWS} --machine vm7 --machine vm9 --json");
    let json = bench.cp2(&line).works().json();
    assert_eq!(json["schema"], "cp2-whatif/1");
    assert_eq!(rows(&json).len(), 13 * 3 * 2);
    let mut classes = std::collections::BTreeSet::new();
    for row in rows(&json) {
        // None of these kernels computes in another precision.
        if let Some(precision) = ["double", "double-single"]
            .into_iter()
            .find(|&name| row["proposal"] == name)
        {
            let refused = row["refused"].as_str().unwrap();
            let said = format!("has no kernel in {precision} precision");
            assert!(refused.contains(&said), "{row}");
            assert!(row["verdict"].is_null() && row["cycles"].is_null());
            continue;
        }
        let number = |key: &str| row[key].as_f64().unwrap();
        let speedup = number("cycles_before") / number("cycles");
        assert!((speedup - number("speedup")).abs() <= 5e-4, "{row}");
        let verdict = row["verdict"].as_str().unwrap();
        let (speedup, reference) = (number("speedup"), number("reference_speedup"));
        let own = row["own_speedup"].as_f64();
        let most = own.is_some_and(|own| own - 1.0 < (speedup - 1.0) / 3.0);
        let class = match (speedup >= 1.01, most, reference >= 1.05 * speedup) {
            (true, true, _) => "software would do",
            (true, false, _) => "gains",
            (false, _, true) => "no kernel uses it",
            (false, _, false) => "no gain",
        };
        assert!(verdict.starts_with(class), "{row}");
        if class == "no gain" {
            assert!(verdict.contains(row["limit"].as_str().unwrap()), "{row}");
        }
        assert_eq!(own.is_some(), !row["rival"].is_null(), "{row}");
        assert!(row["flip"].is_null() && row["refused"].is_null());
        assert!(!row["cost"].as_object().unwrap().is_empty(), "{row}");
        classes.insert(class);
    }
    let all = ["gains", "no gain", "no kernel uses it", "software would do"];
    assert_eq!(classes.into_iter().collect::<Vec<_>>(), all);
    // Bytes at half the time: the channel limits the small transforms, and no more than that is gained.
    let wide = rows(&json)
        .iter()
        .find(|row| row["proposal"] == "bandwidth-x2" && row["size"] == "n=64 batch=64");
    let wide = wide.unwrap();
    assert_eq!(
        (
            &wide["limit_before"],
            &wide["verdict"].as_str().unwrap()[..5]
        ),
        (&"dma".into(), "gains")
    );
    let halved = wide["balance_before"].as_f64().unwrap() / wide["balance"].as_f64().unwrap();
    assert!((1.5..=2.0).contains(&halved), "{wide}");
}

/// A proposal may change the precision of its rows: the benchmark is compared with itself in double precision. What has
/// no kernels is a cell.
#[test]
fn rows_may_compute_in_the_precision_of_a_proposal() {
    let bench = Bench::new();
    let text = "[[proposal]]\nname = \"wide\"\nchanges = \"double\"\nprecision = \"double\"\n";
    bench.write("wide.toml", text);
    let line = "whatif --kernels npb-mg:n=16:cycles=1 --json --proposals";
    let found = ["double", "wide.toml"].map(|proposals| {
        let json = bench.cp2(&format!("{line} {proposals}")).works().json();
        let [row] = &rows(&json)[..] else {
            panic!("{json}")
        };
        assert_eq!(row["size"], "n=16 cycles=1");
        assert_eq!(row["changed_size"], "n=16 cycles=1 precision=double");
        let verdict = row["verdict"].as_str().unwrap();
        assert!(
            verdict.starts_with("no gain, because it takes longer"),
            "{verdict}"
        );
        row["speedup"].as_f64().unwrap()
    });
    assert!(0.4 < found[0] && found[0] < 0.9, "{found:?}");
    assert_eq!(found[0], found[1]);
    let line = "whatif --kernels npb-mg:n=16:cycles=1,npb-ft:planes=16:rows=16:columns=16:steps=1 --json --proposals double-single";
    let json = bench.cp2(line).works().json();
    let [mg, ft] = &rows(&json)[..] else {
        panic!("{json}")
    };
    let slower = mg["speedup"].as_f64().unwrap();
    assert!(0.2 < slower && slower < 0.6, "{mg}");
    assert!(
        ft["refused"].as_str().unwrap().contains("has no kernels") && ft["cycles"].is_null(),
        "{ft}"
    );
    let said = bench.cp2("whatif --kernels npb-mg:n=16:cycles=1 --proposals double");
    assert!(
        said.works()
            .out
            .contains("rows with it: in double precision"),
        "{}",
        said.out
    );
}

/// A precision that there is not, a key that there is not, and a row that there is not are refused.
#[test]
fn precisions_are_checked_when_they_are_read() {
    let bench = Bench::new();
    for (line, found) in [
        ("precision = \"duble\"", "expected single"),
        ("sizes = \"n=16\"", "unknown field `sizes`"),
    ] {
        let text = format!("[[proposal]]\nname = \"x\"\nchanges = \"double\"\n{line}\n");
        bench.write("wrong.toml", text);
        let said = bench.cp2("whatif --kernels npb-mg:n=16 --proposals wrong.toml");
        said.fails(2, &["wrong.toml", found]);
    }
    let said = bench.cp2("whatif --proposals double --kernels npb-mg:n=16:precision=quad");
    said.fails(2, &["precision=quad"]);
}

/// A flag that no program uses yet changes nothing, and the table says so.
#[test]
fn a_combination_has_an_interaction_and_a_flag_may_do_nothing() {
    let bench = Bench::new();
    let line = "whatif --kernels fft:n=64:batch=64 --json --proposals cp2.dmem=x2,dma.bandwidth=x2,cp2.dmem=x2+dma.bandwidth=x2,exchange";
    let json = bench.cp2(line).works().json();
    let [dmem, wide, both, flag] = &rows(&json)[..] else {
        panic!("{json}")
    };
    let speedup = |row: &Value| row["speedup"].as_f64().unwrap();
    let expected = speedup(both) / (speedup(dmem) * speedup(wide));
    assert!(
        (both["interaction"].as_f64().unwrap() - expected).abs() < 2e-3,
        "{both}"
    );
    assert!(dmem["interaction"].is_null());
    assert_eq!(flag["cycles"], flag["cycles_before"]);
    assert_eq!(flag["verdict"], "no gain, because of dma: the same cycles");
    assert_eq!(flag["cost"]["multiplexer_bits"]["amount"], 2 * 4 * 3 * 128);
}

#[test]
fn refusals_are_cells_and_wrong_options_are_refused() {
    let bench = Bench::new();
    // A matrix of so many columns has no place in a memory of 1 KiB.
    let line = "whatif --kernels fft:n=64:batch=8 --proposals cp2.dmem=1KiB";
    let json = bench.cp2(&format!("{line} --json")).works().json();
    let [row] = &rows(&json)[..] else {
        panic!("{json}")
    };
    assert!(
        row["refused"].is_string() && row["cycles"].is_null() && row["verdict"].is_null(),
        "{row}"
    );
    assert!(bench.cp2(line).works().out.contains("refused: "));
    bench.write("none.toml", "proposal = []\n");
    bench.write("bad.toml", "area = 1.0\n");
    bench.refuses(&[
        ("whatif --kernels ftf", &["ftf", "npb-mg"]),
        ("whatif --kernels fft:m=4", &["fft:m=4", "n, batch"]),
        ("whatif --proposals granul-4", &["granul-4", "granule-4"]),
        ("whatif --proposals cp2.dmem=x0", &["cp2.dmem"]),
        (
            "whatif --proposals none.toml",
            &["none.toml", "no proposal"],
        ),
        (
            "whatif --weights bad.toml",
            &["bad.toml", "area", "sram_kib"],
        ),
        (
            "whatif --kernels fft:n=64:batch=8 --sensitivity=vm9",
            &["--sensitivity=vm9", "--machine: vm7"],
        ),
        ("whatif --html page.txt", &["page.txt", ".html"]),
        ("whatif --csv --json", &["choose one"]),
    ]);
}

/// The second run takes what the first one kept: a changed file changes the answer.
#[test]
fn kept_results_are_taken_again() {
    let bench = Bench::new();
    let line = "whatif --kernels fft:n=64:batch=8 --proposals dmem-x2 --keep kept --csv";
    let first = bench.cp2(line).works().out.clone();
    let files: Vec<_> = std::fs::read_dir(bench.path("kept")).unwrap().collect();
    assert_eq!(files.len(), 2);
    assert_eq!(bench.cp2(line).works().out, first);
    for file in files {
        let path = file.unwrap().path();
        let text = std::fs::read_to_string(&path).unwrap();
        let mut kept: Value = serde_json::from_str(&text).unwrap();
        kept["result"]["Ok"]["limit"] = "patience".into();
        std::fs::write(&path, kept.to_string()).unwrap();
    }
    let again = bench.cp2(line).works().out.clone();
    assert!(
        again.contains("patience") && !first.contains("patience"),
        "{again}"
    );
    let other = bench
        .cp2(&line.replace("batch=8", "batch=9"))
        .works()
        .out
        .clone();
    assert!(!other.contains("patience"), "{other}");
}

/// The flip is measured again by hand: the verdict's class changes at its factor.
#[test]
fn a_verdict_flips_at_the_number_that_is_named() {
    let bench = Bench::new();
    let line = "whatif --kernels fft:n=512:batch=64 --proposals sections-8";
    let json = bench
        .cp2(&format!("{line} --sensitivity=vm7 --json"))
        .works()
        .json();
    let row = &rows(&json)[0];
    let class = |row: &Value| {
        row["verdict"]
            .as_str()
            .unwrap()
            .split([':', ','])
            .next()
            .unwrap()
            .to_owned()
    };
    assert_eq!(class(row), "gains");
    let flip = &row["flip"];
    assert_eq!(flip["parameter"], "dma.bandwidth", "{flip}");
    let factor = flip["factor"].as_f64().unwrap();
    assert!((0.25..1.0).contains(&factor), "{flip}");
    assert_eq!(flip["all"], true, "{flip}");
    let wide = |factor: f64| {
        let machine = format!("vm7+dma.bandwidth=x{factor:.3}");
        let json = bench
            .cp2(&format!("{line} --machine {machine} --json"))
            .works()
            .json();
        class(&rows(&json)[0])
    };
    assert_eq!(wide(factor), "no gain");
    // The value of the grid before it is a quarter of an octave nearer to 1.
    assert_eq!(wide((factor * 1.189).min(1.0)), "gains");
}

#[test]
fn a_page_has_all_rows_and_weights_give_a_front() {
    let bench = Bench::new();
    bench.write("weights.toml", "multiplexer_bits = 1\nsram_kib = 100\n");
    let line = "whatif --kernels fft:n=256:batch=8 --proposals dmem-x2,granule-4 --weights weights.toml --html page.html";
    let json = bench.cp2(&format!("{line} --json")).works().json();
    let front = json["pareto"].as_array().unwrap();
    let costs: Vec<f64> = front
        .iter()
        .map(|p| p["weighted_cost"].as_f64().unwrap())
        .collect();
    assert_eq!(costs, [25_600.0, 512.0]);
    assert_eq!(front[0]["dominated_by"], "granule-4");
    let page = String::from_utf8(bench.read("page.html")).unwrap();
    assert_eq!(page.matches("<td>fft n=256 batch=8</td>").count(), 2);
    assert_eq!(page.matches("<circle").count(), 2);
}

#[test]
fn a_file_of_proposals_is_read() {
    let bench = Bench::new();
    let text = "[[proposal]]\nname = \"slow\"\nchanges = \"cp2.latency.load=20\"\nabout = \"slow loads\"\n";
    bench.write("own.toml", text);
    let done = bench.cp2("whatif --proposals own.toml --kernels fft:n=64:batch=8");
    let out = &done.works().out;
    assert!(out.contains("slow (cp2.latency.load=20) on vm7"), "{out}");
    assert!(out.contains("cost not counted: cp2.latency.load"), "{out}");
}

#[test]
fn a_sweep_names_where_the_limit_changes() {
    let bench = Bench::new();
    let line = "sweep fft:n=64:batch=64 --set cp2.dmem=32,64KiB --set dma.bandwidth=8..64";
    let json = bench
        .cp2(&format!("{line} --plot plot.html --json"))
        .works()
        .json();
    assert_eq!(json["schema"], "cp2-sweep/1");
    let points = json["points"].as_array().unwrap();
    assert_eq!(points.len(), 8);
    let set = &points[5]["set"];
    assert_eq!(
        (&set["cp2.dmem"], &set["dma.bandwidth"]),
        (&"64KiB".into(), &"16".into())
    );
    for point in points {
        let number = |key: &str| point[key].as_f64().unwrap();
        let efficiency = number("reference_cycles") / number("cycles");
        assert!((efficiency - number("efficiency")).abs() <= 5e-4, "{point}");
    }
    // Each crossover stands between two points whose limits it names.
    let crossovers = json["crossovers"].as_array().unwrap();
    assert_eq!(crossovers.len(), 2, "{json}");
    for one in crossovers {
        assert_eq!(
            (&one["key"], &one["from"], &one["to"]),
            (&"dma.bandwidth".into(), &"dma".into(), &"arithmetic".into())
        );
        let limit = |value: &Value| {
            let same = |p: &&Value| {
                p["set"]["dma.bandwidth"] == *value && p["set"]["cp2.dmem"] == one["at"]["cp2.dmem"]
            };
            points.iter().find(same).unwrap()["limit"].clone()
        };
        assert_eq!(limit(&one["between"][0]), one["from"]);
        assert_eq!(limit(&one["between"][1]), one["to"]);
    }
    let page = String::from_utf8(bench.read("plot.html")).unwrap();
    assert_eq!(
        (
            page.matches("<circle").count(),
            page.matches("<tr>").count()
        ),
        (8, 9)
    );
    let csv = bench.cp2(&format!("{line} --csv")).works().out.clone();
    assert_eq!(
        csv.lines().next(),
        Some("cp2.dmem,dma.bandwidth,cycles,reference_cycles,efficiency,limit,refused")
    );
    assert_eq!(csv.lines().count(), 9);
    assert!(
        bench
            .cp2(line)
            .works()
            .out
            .contains("limit: dma -> arithmetic between dma.bandwidth")
    );
}

#[test]
fn points_that_do_not_fit_are_refused_and_wrong_sets_too() {
    let bench = Bench::new();
    let json = bench
        .cp2("sweep fft:n=64:batch=8 --set cp2.dmem=1,64KiB --json")
        .works()
        .json();
    let points = json["points"].as_array().unwrap();
    assert!(
        points[0]["refused"].is_string() && points[0]["cycles"].is_null(),
        "{json}"
    );
    assert!(
        points[1]["refused"].is_null() && points[1]["cycles"].is_number(),
        "{json}"
    );
    bench.refuses(&[
        ("sweep fft --set cp2.dmme=32KiB", &["cp2.dmem"]),
        ("sweep fft --set cp2.dmem=", &["cp2.dmem=", "empty"]),
        ("sweep fft --set cp2.dmem=64..32", &["64 is more than 32"]),
        (
            "sweep fft --set cp2.dmem=x1 --set cp2.dmem=x2",
            &["given twice"],
        ),
        (
            "sweep fft --set cp2.dmem=x1 --plot a.png",
            &["a.png", ".svg"],
        ),
        ("sweep fft", &["--set"]),
    ]);
}

#[test]
fn differing_machines_are_listed() {
    let bench = Bench::new();
    let json = bench
        .cp2("machines diff vm7 vm7+section-addressing+dma.granule=4B --json")
        .works()
        .json();
    assert_eq!(json["schema"], "cp2-machines-diff/1");
    let all = json["parameters"].as_array().unwrap();
    let keys: Vec<&str> = all.iter().map(|p| p["key"].as_str().unwrap()).collect();
    assert_eq!(
        keys,
        [
            "cp2.extensions",
            "dma.granule",
            "cp2.latency.gather",
            "cp2.interval.gather",
            "dma.beat",
            "dma.lines"
        ]
    );
    let granule = &all[1];
    assert_eq!(
        (&granule["first"]["value"], &granule["second"]["value"]),
        (&"16".into(), &"4".into())
    );
    assert_eq!(
        (&granule["first"]["source"], &granule["second"]["source"]),
        (&"fact".into(), &"assumed".into())
    );
    assert!(all[2]["first"].is_null() && all[2]["second"]["unit"] == "cycles");
    let out = bench.cp2("machines diff vm7 vm9").works().out.clone();
    assert!(out.contains("12.8 B/cycle"), "{out}");
    let same = bench.cp2("machines diff vm7 vm7").works().out.clone();
    assert_eq!(same, "vm7 and vm7 have the same parameters\n");
    bench.refuses(&[("machines diff vm7 vm8", &["vm8"])]);
}
