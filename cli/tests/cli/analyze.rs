//! Tests of `cp2 analyze`.

use crate::bench::{Bench, bytes, npy};
use serde_json::Value;

/// Returns a kernel of the cookbook: the text behind `cat > NAME <<'END'`.
fn cookbook(name: &str) -> String {
    let text = include_str!("../../../docs/cookbook.md");
    let begin = format!("cat > {name} <<'END'\n");
    let (_, behind) = text.split_once(&begin).unwrap();
    behind.split_once("END\n").unwrap().0.to_owned()
}

fn innermost(bench: &Bench, line: &str) -> Vec<Value> {
    let json = bench.cp2(line).works().json();
    assert_eq!(json["schema"], "cp2-analyze/1");
    let loops = json["loops"].as_array().unwrap().clone();
    let steady = loops.into_iter().filter(|l| !l["interval"].is_null());
    steady.collect()
}

#[test]
fn loops_of_the_cookbook_are_counted() {
    let bench = Bench::new();
    bench.write("heat.s", cookbook("heat.s"));
    let loops = innermost(&bench, "analyze heat.s --machine vm7 --json");
    let [heat] = &loops[..] else {
        panic!("{loops:?}")
    };
    assert_eq!(
        (heat["interval"].as_u64(), heat["bound"].as_u64()),
        (Some(20), Some(7))
    );
    assert_eq!(heat["limit"], "arithmetic");
    // Words and waits are the interval, and each wait names the line that it waits for.
    let lost = heat["lost"].as_array().unwrap();
    let cycles: u64 = lost
        .iter()
        .map(|lost| lost["cycles"].as_u64().unwrap())
        .sum();
    assert_eq!(heat["words"].as_u64().unwrap() + cycles, 20);
    assert!(lost.iter().all(|lost| lost["producer"].as_u64().is_some()));
    // The loop over rows around it has no interval of its own.
    let all = bench
        .cp2("analyze heat.s --machine vm7 --json")
        .works()
        .json();
    let rows = all["loops"]
        .as_array()
        .unwrap()
        .iter()
        .find(|l| l["kind"] == "hardware" && l["interval"].is_null());
    assert!(
        rows.unwrap()["reason"]
            .as_str()
            .unwrap()
            .contains("loops inside")
    );
}

/// An object has the same loops as its source, and without `--machine` all built-in machines are asked.
#[test]
fn objects_are_analysed_like_their_sources() {
    let bench = Bench::new();
    bench.write("heat.s", cookbook("heat.s"));
    bench.cp2("asm heat.s").works();
    let source = innermost(&bench, "analyze heat.s --json");
    assert_eq!(source, innermost(&bench, "analyze heat.elf --json"));
    let machines: Vec<_> = source
        .iter()
        .map(|l| l["machine"].as_str().unwrap())
        .collect();
    assert!(
        machines.contains(&"vm7") && machines.contains(&"vm9"),
        "{machines:?}"
    );
}

#[test]
fn loops_that_are_not_there_are_refused() {
    let bench = Bench::new();
    bench.write("k.s", ".program\nagain: loop 4 {\nnop\n}\nstop\n");
    bench.write("none.s", ".program\nstop\n");
    for only in ["2", "again"] {
        let analysis = bench.cp2(&format!("analyze k.s --loop {only}"));
        analysis.works();
        assert!(
            analysis.out.starts_with("loop k.s:2  interval 1, bound 1"),
            "{}",
            analysis.out
        );
    }
    let refused = bench.cp2("analyze k.s --loop 7");
    assert_eq!(refused.code, 2);
    assert!(
        refused.err.contains("there are loops at k.s:2"),
        "{}",
        refused.err
    );
    let refused = bench.cp2("analyze none.s --loop 7");
    assert!(
        refused.code == 2 && refused.err.contains("has no loops"),
        "{}",
        refused.err
    );
    assert_eq!(
        bench.cp2("analyze none.s").works().out,
        "the program has no loops\n"
    );
}

/// Numbers of the array that runs of `naive.s` get: 64 blocks of eight quads for each section.
const NUMBERS: usize = 64 * 4 * 32;

/// Makes a folder with the naive kernel of the tuning page and an array of blocks of 32 numbers.
fn naive() -> Bench {
    let bench = Bench::new();
    let text = include_str!("../../../docs/tuning.md");
    let (_, behind) = text.split_once("cat > naive.s <<'END'\n").unwrap();
    bench.write("naive.s", behind.split_once("END\n").unwrap().0);
    let x = npy("<f4", "False", "(8192,)", &bytes(&vec![1.0; NUMBERS]));
    bench.write("x.npy", x);
    bench
}

/// The loops of a run have the cycles that its profile charges to their lines, and gain what lies above the bound.
#[test]
fn loops_of_a_run_have_their_cycles() {
    let bench = naive();
    let run = "map naive.s --input x.npy --output y.npy --block 32";
    let json = bench
        .cp2(&format!("{run} --analyze --profile --json"))
        .works()
        .json();
    let number = |value: &Value| value.as_u64().unwrap();
    let loops = json["loops"].as_array().unwrap();
    let cycles: Vec<u64> = loops.iter().map(|l| number(&l["cycles"])).collect();
    assert!(cycles.is_sorted_by(|a, b| a >= b), "{cycles:?}");
    // The loop over quads, and that over pages around it.
    let [inner, pages] = &loops[..] else {
        panic!("{loops:?}")
    };
    assert_eq!(
        (&inner["file"], number(&inner["line"])),
        (&json["kernel"], 12)
    );
    assert_eq!(pages["file"], "page.s");
    let lines = json["profile"].as_array().unwrap();
    let of_line = |line: &&Value| {
        line["file"] == json["kernel"] && (13..=15).contains(&number(&line["line"]))
    };
    let own = lines
        .iter()
        .filter(of_line)
        .map(|line| number(&line["cycles"]));
    assert_eq!(number(&inner["cycles"]), own.sum::<u64>());
    let iterations = NUMBERS as u64 / 4 / 4;
    assert_eq!(number(&inner["iterations"]), iterations);
    // Once for each page.
    assert_eq!(number(&inner["entries"]), number(&json["pages"]));
    assert_eq!(
        number(&inner["gain_cycles"]),
        number(&inner["cycles"]) - 2 * iterations
    );
    assert_eq!(
        (number(&inner["interval"]), number(&inner["bound"])),
        (8, 2)
    );
    let share = number(&inner["cycles"]) as f64 / number(&json["cycles"]) as f64;
    assert!((inner["share"].as_f64().unwrap() - share).abs() < 1e-9);
    assert_eq!(pages["gain_cycles"], Value::Null);
    // Text has the paragraph of `cp2 analyze`, and the line of the run in it.
    let text = bench.cp2(&format!("{run} --analyze"));
    let usage = format!(
        "cycles in {iterations} iterations, set up {} times",
        json["pages"]
    );
    let alone = bench
        .cp2("analyze naive.s --machine vm7 --loop 12")
        .works()
        .out
        .clone();
    for line in alone.lines().chain([usage.as_str()]) {
        assert!(text.works().out.contains(line), "{line}: {}", text.out);
    }
    // Nothing is printed unasked, and processors have loops of their own.
    assert_eq!(
        bench
            .cp2(&format!("{run} --json"))
            .works()
            .json()
            .get("loops"),
        None
    );
    bench.refuses(&[
        (
            &format!("{run} --analyze --procs 2"),
            &["--analyze", "--procs"],
        ),
        (
            &format!("{run} --roofline r.svg --procs 2"),
            &["--roofline", "--procs"],
        ),
    ]);
}

#[test]
fn loops_of_a_job_name_their_pass() {
    let bench = naive();
    let pass = |from: &str, to: &str| {
        format!(
            "[[pass]]\nkernel = \"naive.s\"\nblock = [32]\ninputs = [{{ array = \"{from}\" }}]\noutputs = [{{ array = \"{to}\" }}]\n"
        )
    };
    bench.write(
        "job.toml",
        format!(
            "[arrays.x]\ninput = \"x.npy\"\n[arrays.t]\nshape = [8192]\n[arrays.y]\nshape = [8192]\noutput = \"y.npy\"\n{}{}",
            pass("x", "t"),
            pass("t", "y")
        ),
    );
    let json = bench
        .cp2("job run job.toml --analyze --json")
        .works()
        .json();
    let mut passes: Vec<_> = json["loops"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|l| l["line"] == 12)
        .map(|l| l["pass"].as_str().unwrap())
        .collect();
    passes.sort_unstable();
    assert_eq!(passes, ["pass 1", "pass 2"]);
    let text = bench.cp2("job run job.toml --analyze --roofline r.svg");
    assert!(text.works().out.contains("  pass 2: "), "{}", text.out);
    assert!(bench.files().contains(&"r.svg".to_owned()));
}

/// The picture says in words what it shows: the run's rate over the bytes of both memories.
#[test]
fn a_roofline_has_the_points_of_the_run() {
    let bench = naive();
    let run = "map naive.s --input x.npy --output y.npy --block 32 --json --roofline";
    let json = bench.cp2(&format!("{run} r.svg")).works().json();
    assert_eq!(json["roofline"], "r.svg");
    let svg = String::from_utf8(bench.read("r.svg")).unwrap();
    let number = |value: &Value| value.as_f64().unwrap();
    let rate = number(&json["flops"]) / number(&json["seconds_simulated"]) / 1e9;
    let moved = number(&json["dma"]["bytes_loaded"]) + number(&json["dma"]["bytes_stored"]);
    let accessed = number(&json["dmem_bytes_read"]) + number(&json["dmem_bytes_written"]);
    for (bytes, channel) in [(moved, "dma"), (accessed, "dmem")] {
        let intensity = number(&json["flops"]) / bytes;
        let words = format!("At {intensity:.3} flops per byte of {channel}: expected ");
        assert!(svg.contains(&words), "{words}: {svg}");
    }
    assert!(
        svg.contains(&format!(", measured {rate:.2} GFLOPS.")),
        "{svg}"
    );
    assert!(svg.contains("<desc>") && !svg.contains("href"), "{svg}");
    // 16 bytes in each of four sections and 200 million cycles.
    assert!(svg.contains("dmem 12.80 GB/s"), "{svg}");
    bench
        .cp2(&format!("{run} r.png"))
        .fails(2, &["r.png", ".svg"]);
    bench.cp2(&format!("{run} y.npy")).fails(2, &["y.npy"]);
    let stopped = bench.cp2(&format!("{run} late.svg --max-cycles 900"));
    stopped.fails(3, &["late.svg", "has not finished"]);
    assert!(!bench.files().contains(&"late.svg".to_owned()));
}
