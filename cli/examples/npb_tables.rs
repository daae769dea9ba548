//! Makes the tables of `docs/npb.md`.
//!
//! `cargo run --release -p cp2 --example npb_tables [NAME]` makes all tables, or those with NAME in their
//! names. It runs every class of every benchmark on both machines, which takes some minutes and 2 GB. Nothing
//! is written before the last run of a table is verified.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a tool for those who work on cp2"
)]

#[path = "../tests/cli/npb_tables.rs"]
mod npb_tables;

use npb_tables::{BENCHMARKS, DOCUMENT, MACHINES, line, number, replaced, whole};
use serde_json::Value;
use std::path::Path;
use std::process::Command;

/// Points of the finest level of MG's class W, in units of sixteen.
const POINTS: f64 = (128 * 128 * 128 / 16) as f64;

fn main() {
    let part = std::env::args().nth(1).unwrap_or_default();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut build = Command::new(env!("CARGO"));
    build
        .args(["build", "--release", "-p", "cp2"])
        .current_dir(root);
    assert!(build.status().unwrap().success(), "cp2 does not build");
    let cp2 = std::env::current_exe().unwrap();
    let cp2 = cp2.ancestors().nth(2).unwrap().join("cp2");
    for (benchmark, classes, head) in BENCHMARKS {
        if benchmark.contains(&part) {
            let mut table = head.to_owned();
            for class in classes {
                for machine in MACHINES {
                    let run = run(&cp2, &format!("{benchmark} --class {class}"), machine);
                    table += &line(benchmark, class, machine, &run);
                }
            }
            write(root, benchmark, &table);
        }
    }
    let on_both = |line: &str| MACHINES.map(|machine| run(&cp2, line, machine));
    if "ft-operators".contains(&part) {
        let table = operators(&on_both("ft --class A"), "", None);
        write(root, "ft-operators", &table);
    }
    if "mg-operators".contains(&part) {
        let table = operators(&on_both("mg --class W"), " 128", Some(POINTS));
        write(root, "mg-operators", &table);
    }
    if "mg-single".contains(&part) {
        let runs = MACHINES.map(|machine| {
            let file = std::env::temp_dir().join(format!("cp2-single-{machine}.toml"));
            let mut tune = Command::new(&cp2);
            tune.args([
                "tune",
                "mg",
                "--class",
                "W",
                "--single",
                "--machine",
                machine,
            ]);
            let tuned = tune.arg("--output").arg(&file).output().unwrap();
            assert!(tuned.status.success(), "{tuned:?}");
            let run = run(
                &cp2,
                &format!("mg --class W --tuned {}", file.display()),
                machine,
            );
            std::fs::remove_file(&file).unwrap();
            run
        });
        write(root, "mg-single", &operators(&runs, " 128", Some(POINTS)));
    }
}

/// Makes a table of the operators whose names end with `end`: number of occurrences and, for each machine,
/// cycles, efficiency and, if `of` is given, the cycles per unit of work, of which an operator does `of` each
/// time.
fn operators(runs: &[Value], end: &str, of: Option<f64>) -> String {
    let mut text = "| operator | times |".to_owned();
    let mut rule = "|---|--:|".to_owned();
    for machine in MACHINES {
        text += &format!(" {machine} |");
        rule += "--:|";
        if of.is_some() {
            text += " for 16 points |";
            rule += "--:|";
        }
        text += " efficiency |";
        rule += "--:|";
    }
    text += &format!("\n{rule}\n");
    let all = |run: &Value| run["operators"].as_array().cloned().unwrap_or_default();
    let Some(first) = runs.first() else {
        return text;
    };
    for operator in all(first) {
        let name = operator["name"].as_str().unwrap_or_default();
        let Some(short) = name.strip_suffix(end) else {
            continue;
        };
        text += &format!("| {} | {} |", short.trim_end(), whole(&operator, "times"));
        for run in runs {
            let Some(own) = all(run).into_iter().find(|own| own["name"] == *name) else {
                continue;
            };
            text += &format!(" {} |", whole(&own, "cycles"));
            if let Some(of) = of {
                let each = number(&own, "cycles") / number(&own, "times") / of;
                text += &format!(" {each:.2} |");
            }
            text += &match own["efficiency"].as_f64() {
                Some(efficiency) => format!(" {efficiency:.3} |"),
                None => " |".to_owned(),
            };
        }
        text.push('\n');
    }
    text
}

/// Runs a command line on a machine and returns its JSON report.
fn run(cp2: &Path, line: &str, machine: &str) -> Value {
    println!("cp2 npb {line} --machine {machine}");
    let mut command = Command::new(cp2);
    command.arg("npb").args(line.split(' '));
    let ended = command.args(["--machine", machine, "--json"]).output();
    let ended = ended.unwrap();
    let said = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{line}: {said}");
    serde_json::from_slice(&ended.stdout).unwrap()
}

fn write(root: &Path, name: &str, table: &str) {
    let file = root.join(DOCUMENT);
    let text = std::fs::read_to_string(&file).unwrap();
    let text = replaced(&text, name, table);
    let text = text.unwrap_or_else(|| panic!("{DOCUMENT} has no table {name}"));
    std::fs::write(&file, text).unwrap();
}
