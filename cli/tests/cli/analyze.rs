//! Tests of `cp2 analyze`.

use crate::bench::Bench;
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
