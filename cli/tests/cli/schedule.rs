//! Tests of `cp2 schedule`: its reports, and the programs that it writes.

use crate::bench::Bench;
use serde_json::Value;

/// A sum of squares and a copy: recurrence, constants, values before and behind, counts of all kinds.
const BLOCKS: &str = ".equ COUNT, 0
.program
        movi c4, 0x400
        movi c5, 0x1000
        movi c0, COUNT
        linear_sum c0
        .linear known, 9
        .pointer x = c4 by 16
        .pointer y = c5 by 16
        .apart
        .const A = 0.5, W = cis(1, 8)
        .before x@1 = 1.0 2.0, x@2 = q12
        ldq x, [x]
        madd m, x, A, x@1
        cmul y, m, W
        add z, y, x@2
        stq z, [y]
        .endlinear
        .linear once
        .pointer out = c5 by 0
        add t, q12, q12
        stq t, [out - 16]
        .endlinear
        stop
.dmem 0x400
        .space 1024, 2.0
";

/// The macro of [`BLOCKS`] in front of it: its words come from the lines of the macro.
fn blocks() -> String {
    format!(
        ".macro linear_sum count
        .linear sum, \\count
        .pointer x = c4 by 16
        .before s@1 = 0.0
        .after q12 = s
        ldq x, [x]
        madd s, x, x, s@1
        .endlinear
.endm
{BLOCKS}"
    )
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().unwrap()
}

fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

/// Returns the cycles that a report's formulas give.
fn count_cycles(block: &Value, n: u64) -> u64 {
    let mut formulas = list(&block["cycles"]).iter();
    let own = formulas.find(|formula| {
        let (from, per) = (number(&formula["from"]), number(&formula["per"]));
        let until = formula["until"].as_u64();
        n >= from && (n - from).is_multiple_of(per) && until.is_none_or(|until| n < until)
    });
    let own = own.unwrap();
    let more = (n - number(&own["from"])) / number(&own["per"]);
    number(&own["base"]) + number(&own["slope"]) * more
}

#[test]
fn blocks_are_reported_for_each_machine() {
    let bench = Bench::new();
    bench.write("k.s", blocks());
    let json = bench.cp2("schedule k.s --json").works().json();
    assert_eq!(json["schema"], "cp2-schedule/1");
    let found = list(&json["blocks"]);
    let names: Vec<_> = found
        .iter()
        .map(|block| {
            let text = |key: &str| block[key].as_str().unwrap().to_owned();
            (text("name"), text("machine"), number(&block["line"]))
        })
        .collect();
    let of = |name: &str, machine: &str, line| (name.to_owned(), machine.to_owned(), line);
    let both = ["vm7", "vm9"].map(|machine| {
        [
            of("sum", machine, 2),
            of("known", machine, 16),
            of("once", machine, 28),
        ]
    });
    assert_eq!(names, both.concat());
    for block in found {
        assert!(number(&block["interval"]) >= number(&block["bound"]));
        assert_eq!(block["limit"], block["terms"][0]["limit"]);
        assert!(number(&block["words"]) > 0 && number(&block["copies"]) > 0);
    }
    // A sum waits for itself as long as a product takes; the machine says how long.
    for (machine, latency) in [("vm7", 4), ("vm9", 6)] {
        let mut sums = found.iter();
        let sum = sums.find(|own| own["name"] == "sum" && own["machine"] == machine);
        let sum = sum.unwrap();
        assert_eq!(
            (sum["limit"].as_str(), number(&sum["interval"])),
            (Some("recurrence"), latency)
        );
        let places = &sum["terms"][0]["places"];
        assert_eq!(*places, serde_json::json!([{"file": "k.s", "line": 7}]));
    }
    let text = bench.cp2("schedule k.s --machine vm7").works().out.clone();
    assert!(text.contains("recurrence 4 (k.s:7)"), "{text}");
    assert!(!text.contains("vm9"), "{text}");
}

/// Operations without effect are listed with their lines, once for all machines.
#[test]
fn dropped_operations_are_reported() {
    let bench = Bench::new();
    let text = ".program
        .linear row, 8
        .pointer p = c4 by 16
        ldq x, [p]
        ldq y, [p + 16]
        add z, y, y
        stq x, [p]
        .endlinear
        stop\n";
    bench.write("k.s", text);
    let json = bench
        .cp2("schedule k.s --machine vm7 --json")
        .works()
        .json();
    let place = |line: u64| serde_json::json!({"file": "k.s", "line": line});
    assert_eq!(
        json["blocks"][0]["dropped"],
        Value::from(vec![place(5), place(6)])
    );
    let text = bench.cp2("schedule k.s").works().out.clone();
    let said = "row k.s:2  2 operations without effect dropped: k.s:5, k.s:6\n";
    assert_eq!(text.matches(said).count(), 1, "{text}");
}

/// The emulator takes as many cycles more for a larger count as the formulas say.
#[test]
fn formulas_are_the_emulators_cycles() {
    let bench = Bench::new();
    bench.write("k.s", blocks());
    for machine in ["vm7", "vm9"] {
        let json = bench.cp2(&format!("schedule k.s --machine {machine} --json"));
        let json = json.works().json();
        let sum = &json["blocks"][0];
        let run = |count: u64| {
            let line = format!("run k.s -D COUNT={count} --machine {machine} --json");
            number(&bench.cp2(&line).works().json()["cycles"])
        };
        let none = run(0);
        for count in [1, 2, 3, 4, 5, 6, 7, 8, 20] {
            assert_eq!(
                run(count) + count_cycles(sum, 0),
                none + count_cycles(sum, count),
                "{count} iterations on {machine}"
            );
        }
    }
}

/// The program that is written has no blocks and assembles to the same words and data.
#[test]
fn the_scheduled_program_is_the_same_program() {
    let bench = Bench::new();
    bench.write("k.s", blocks());
    for machine in ["vm7", "vm9"] {
        let option = format!("--machine {machine}");
        let report = bench.cp2(&format!("schedule k.s -o out.s {option}"));
        assert!(report.works().out.contains("out.s: "), "{}", report.out);
        bench.cp2(&format!("asm k.s -o k.elf {option}")).works();
        bench.cp2(&format!("asm out.s -o out.elf {option}")).works();
        let [own, written] = ["k.elf", "out.elf"].map(|object| {
            let json = bench.cp2(&format!("disasm {object} --json")).works().json();
            let words = list(&json["words"]).iter();
            let bits = words.map(|word| word["bits"].clone()).collect::<Vec<_>>();
            let run = bench.cp2(&format!(
                "run {object} {option} --dump-dmem 0x400:4096 --json"
            ));
            let run = run.works().json();
            (
                bits,
                json["entry"].clone(),
                run["dmem"].clone(),
                run["cycles"].clone(),
            )
        });
        assert!(own.0.len() > 50);
        assert_eq!(own, written);
        let text = String::from_utf8(bench.read("out.s")).unwrap();
        let has_block = |line: &str| line.trim_start().starts_with(".linear");
        assert!(!text.lines().any(has_block), "{text}");
        // A comment names the source line of a word, and one the block of the words behind it.
        let product = text.lines().find(|line| line.contains("k.s:7 | madd s"));
        assert!(
            product.is_some_and(|line| line.trim().starts_with("madd q")),
            "{text}"
        );
        assert!(
            text.contains(&format!("; linear block known on {machine}: ")),
            "{text}"
        );
    }
}

#[test]
fn what_is_no_source_is_refused() {
    let bench = Bench::new();
    bench.write("k.s", "        stop\n");
    assert_eq!(bench.cp2("schedule k.s").works().out, "no linear blocks\n");
    assert_eq!(
        bench.cp2("schedule k.s --json").works().json()["blocks"],
        serde_json::json!([])
    );
    bench.refuses(&[
        ("schedule missing.s", &["missing.s"]),
        ("schedule k.s -o k.s", &["also an input"]),
        ("schedule k.s --machine vm8", &["vm8"]),
    ]);
    bench.write("k.s", ".linear bad, 4\nadd y, x, x\n.endlinear\nstop\n");
    bench.refuses(&[("schedule k.s", &["k.s:2", "`x` is no value"])]);
    assert!(bench.cp2("schedule --help").works().out.contains("Example"));
}
