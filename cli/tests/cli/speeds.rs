//! The tables of `docs/gpu.md`: speeds of cards, from the reports in `docs/gpu`.

use crate::npb_tables::number;
use cp2_gpu::bench::SPEED_ROWS;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Columns of the table of speeds.
const SPEEDS: &str = "| row | size | ms, card's clock | GB/s | GFLOPS | x copy | library, ms, card's clock | time / library's | goal |\n\
                      |---|---|--:|--:|--:|--:|--:|--:|---|\n";

/// Columns of the table of expected times, in front of those of machines.
const EXPECTED: &str = "| row | measured, ms, card's clock | expected by data sheet, ms | expected / measured | \
                        expected by copy, ms | expected / measured |";

/// Machines of reports that name none.
const MACHINES: [&str; 2] = ["vm7", "vm9"];

/// Marks in front of the tables and behind them.
const MARKS: [&str; 2] = ["<!-- tables of speeds -->\n", "<!-- end of tables -->"];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/gpu")
}

/// Returns the row of a name.
fn find<'a>(report: &'a Value, name: &str) -> Option<&'a Value> {
    report["rows"]
        .as_array()?
        .iter()
        .find(|row| row["name"] == name)
}

/// Returns name, title and goal of all rows: the copy, those of the program, and matrices of the report.
fn rows(report: &Value) -> Vec<[String; 3]> {
    let known = SPEED_ROWS.iter().map(|row| [row.name, row.title, row.goal]);
    let mut rows: Vec<_> = std::iter::once(["copy", "copy", ""])
        .chain(known)
        .map(|row| row.map(str::to_owned))
        .collect();
    for row in report["gpu"]["rows"].as_array().into_iter().flatten() {
        if row["matrix"].is_object() {
            rows.push(["name", "title", "goal"].map(|key| row[key].as_str().unwrap().to_owned()));
        }
    }
    rows
}

/// Returns the figures of a row, if they are right.
fn find_right<'a>(report: &'a Value, name: &str) -> Option<&'a Value> {
    find(report, name).filter(|row| row["passed"] == true)
}

/// Formats a number that older reports do not have.
fn optional(value: &Value, format: impl Fn(f64) -> String) -> String {
    value
        .as_f64()
        .map_or_else(|| "unmeasured".to_owned(), format)
}

/// Returns the line of a row; without measurements it says so.
fn speed_line(report: &Value, [name, title, goal]: &[String; 3]) -> String {
    let Some(own) = find_right(&report["gpu"], name) else {
        return format!("| {title} | | unmeasured | | | | | | {goal} |\n");
    };
    let size: Vec<_> = own["size"]
        .as_array()
        .unwrap()
        .iter()
        .map(Value::to_string)
        .collect();
    let seconds = number(own, "seconds");
    let vendor = find_right(&report["vendor"], name).map_or_else(
        || " |".to_owned(),
        |row| {
            let other = number(row, "seconds");
            let library = row["library"].as_str().unwrap();
            format!("{library} {:.3} | {:.2}", other * 1e3, seconds / other)
        },
    );
    let flops = match own["operations"].as_f64() {
        Some(0.0) => String::new(),
        _ => optional(&own["gigaflops"], |rate| format!("{rate:.0}")),
    };
    format!(
        "| {title} | {} | {:.3} | {:.0} | {flops} | {:.2} | {vendor} | {goal} |\n",
        size.join(" x "),
        seconds * 1e3,
        number(own, "gigabytes_per_second"),
        number(own, "times_copy"),
    )
}

/// Returns the names of the machines of a report.
fn machines(report: &Value) -> Vec<String> {
    match report["gpu"]["machines"].as_array() {
        Some(names) => names
            .iter()
            .map(|name| name.as_str().unwrap().to_owned())
            .collect(),
        None => MACHINES.map(str::to_owned).to_vec(),
    }
}

/// Returns what a row says of a machine.
fn simulated<'a>(row: &'a Value, machine: &str) -> Option<&'a Value> {
    let mut all = row["simulated"].as_array()?.iter();
    all.find(|time| time["machine"] == machine)
}

/// Returns the line of a row in the table of expected times.
fn expected_line(report: &Value, [name, title, _]: &[String; 3]) -> String {
    let machines = machines(report);
    let Some(own) = find_right(&report["gpu"], name) else {
        return format!(
            "| {title} | unmeasured | | | | |{}\n",
            " |".repeat(machines.len())
        );
    };
    let mut line = format!("| {title} | {:.3} |", number(own, "seconds") * 1e3);
    for key in ["expected_by_data_sheet", "expected_by_copy"] {
        let time = &own[key];
        line += &match own.get(key) {
            // The card is in no list.
            Some(Value::Null) => " - | - |".to_owned(),
            None => " unmeasured | |".to_owned(),
            Some(_) => format!(
                " {:.3} | {:.2} |",
                number(time, "seconds") * 1e3,
                number(time, "over_measured")
            ),
        };
    }
    for machine in machines {
        line += &match simulated(own, &machine) {
            None => " unmeasured |".to_owned(),
            Some(time) => match time["model_seconds"].as_f64() {
                None => " - |".to_owned(),
                Some(seconds) => format!(" {:.1} |", seconds * 1e3),
            },
        };
    }
    line + "\n"
}

/// Says of every machine why rows have no time of it.
fn footnotes(report: &Value) -> String {
    let mut text = String::new();
    for machine in machines(report) {
        let mut reasons: Vec<(String, Vec<String>)> = Vec::new();
        for [name, title, _] in rows(report) {
            let own = find_right(&report["gpu"], &name);
            let reason = own.and_then(|row| simulated(row, &machine)?["reason"].as_str());
            let Some(reason) = reason else { continue };
            match reasons.iter_mut().find(|(known, _)| known == reason) {
                Some((_, titles)) => titles.push(title),
                None => reasons.push((reason.to_owned(), vec![title])),
            }
        }
        for (reason, titles) in reasons {
            let note = format!("* No time of {machine} ({reason}): {}.", titles.join("; "));
            text += &wrap(&note, "  ");
        }
    }
    match text.is_empty() {
        true => text,
        false => format!("\n{text}"),
    }
}

/// Breaks a text into lines of at most 118 columns; those behind the first begin with `indent`.
fn wrap(text: &str, indent: &str) -> String {
    let mut lines = String::new();
    let mut line = String::new();
    for word in text.split(' ') {
        if line.len() + 1 + word.len() > 118 {
            lines += &format!("{line}\n");
            line = format!("{indent}{word}");
        } else if line.is_empty() {
            line = word.to_owned();
        } else {
            line = format!("{line} {word}");
        }
    }
    format!("{lines}{line}\n")
}

/// Returns the tables of a card, with what they were measured by.
fn table(report: &Value) -> String {
    let gpu = &report["gpu"];
    let said = |key: &str| gpu[key].as_str().unwrap_or("unknown").to_owned();
    let head = format!(
        "{}, driver {}, {}, `{}`:",
        said("card"),
        said("driver"),
        said("date"),
        said("command")
    );
    let mut text = format!("\n{}\n{SPEEDS}", wrap(&head, ""));
    let rows = rows(report);
    for row in &rows {
        text += &speed_line(report, row);
    }
    let sheet = &gpu["data_sheet"];
    let sheet = match sheet["source"].as_str() {
        Some(source) => format!(
            "{} TB/s and {} TFLOPS ({source})",
            number(sheet, "memory_terabytes_per_second"),
            number(sheet, "fp32_teraflops")
        ),
        None => "not in the report".to_owned(),
    };
    let _ = write!(
        text,
        "\nExpected and measured times, and those of the model for machines with CP2.\nData sheet: {sheet}.\n\n{EXPECTED}"
    );
    let machines = machines(report);
    for machine in &machines {
        let _ = write!(text, " {machine}, ms, simulated clock |");
    }
    let _ = writeln!(text, "\n|---|{}", "--:|".repeat(5 + machines.len()));
    for row in &rows {
        text += &expected_line(report, row);
    }
    text + &footnotes(report)
}

/// Returns the tables of all cards.
fn tables() -> String {
    let mut files: Vec<_> = std::fs::read_dir(folder())
        .into_iter()
        .flatten()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    let mut text = String::new();
    for file in files {
        let report: Value = serde_json::from_slice(&std::fs::read(&file).unwrap()).unwrap();
        let _ = write!(text, "{}", table(&report));
    }
    text + "\n"
}

/// With `CP2_BLESS` set, the document is written.
#[test]
fn the_document_has_the_tables_of_the_reports() {
    let path = folder().with_extension("md");
    let document = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = document.split_once(MARKS[0]).unwrap();
    let (_, after) = rest.split_once(MARKS[1]).unwrap();
    let expected = format!("{before}{}{}{}{after}", MARKS[0], tables(), MARKS[1]);
    if std::env::var_os("CP2_BLESS").is_some() {
        std::fs::write(&path, expected).unwrap();
        return;
    }
    assert!(
        document == expected,
        "docs/gpu.md says otherwise than docs/gpu; refresh it: CP2_BLESS=1 cargo test -p cp2 --features gpu --test cli speeds"
    );
}

/// Reports of older programs have fewer keys.
#[test]
fn rows_without_measurements_say_so() {
    let report = serde_json::json!({
        "gpu": { "rows": [
            { "name": "fft-1024", "size": [2, 1024], "seconds": 2e-3, "gigabytes_per_second": 1.4, "times_copy": 0.5, "passed": true },
            { "name": "fft-4096", "passed": false },
        ] },
        "vendor": { "rows": [{ "name": "fft-1024", "library": "cuFFT", "seconds": 1e-3, "passed": true }] },
    });
    let lines = table(&report);
    assert!(
        lines.contains("| FFT 1024, batched | 2 x 1024 | 2.000 | 1 | unmeasured | 0.50 | cuFFT 1.000 | 2.00 | 1.10 x cuFFT |"),
        "{lines}"
    );
    assert!(
        lines.contains(
            "| FFT 1024, batched | 2.000 | unmeasured | | unmeasured | | unmeasured | unmeasured |"
        ),
        "{lines}"
    );
    assert!(
        lines.contains("| FFT 4096, batched | | unmeasured |"),
        "{lines}"
    );
    // The copy and all rows but one, in both tables, and five cells of that one.
    let unmeasured = 2 * SPEED_ROWS.len() + 5;
    assert_eq!(lines.matches("unmeasured").count(), unmeasured, "{lines}");
}

#[test]
fn rows_have_expected_and_simulated_times() {
    let report = serde_json::json!({
        "gpu": {
            "machines": ["vm9", "own"],
            "data_sheet": { "memory_terabytes_per_second": 3.35, "fp32_teraflops": 67.0, "source": "a sheet" },
            "rows": [
                {
                    "name": "matrix-a", "title": "SpMV, a x 3", "goal": "1.00 x cuSPARSE", "matrix": { "copies": 3 },
                    "size": [6, 6], "seconds": 2e-3, "operations": 4e6, "gigaflops": 2.0, "gigabytes_per_second": 1.4,
                    "times_copy": 0.5, "passed": true,
                    "expected_by_data_sheet": { "seconds": 1e-3, "over_measured": 0.5 },
                    "expected_by_copy": { "seconds": 1.5e-3, "over_measured": 0.75 },
                    "simulated": [
                        { "machine": "vm9", "model_seconds": 0.25, "reason": null },
                        { "machine": "own", "model_seconds": null, "reason": "too large" },
                    ],
                },
                {
                    "name": "copy", "title": "copy", "goal": "", "matrix": null, "size": [6], "seconds": 1e-3,
                    "operations": 0.0, "gigaflops": 0.0, "gigabytes_per_second": 3.0, "times_copy": 1.0, "passed": true,
                    "expected_by_data_sheet": null, "expected_by_copy": { "seconds": 1e-3, "over_measured": 1.0 },
                    "simulated": [{ "machine": "own", "model_seconds": null, "reason": "too large" }],
                },
            ],
        },
        "vendor": { "rows": [{ "name": "matrix-a", "library": "cuSPARSE", "seconds": 1e-3, "passed": true }] },
    });
    let lines = table(&report);
    for line in [
        "| SpMV, a x 3 | 6 x 6 | 2.000 | 1 | 2 | 0.50 | cuSPARSE 1.000 | 2.00 | 1.00 x cuSPARSE |\n",
        "| copy | 6 | 1.000 | 3 |  | 1.00 |  | |  |\n",
        "Data sheet: 3.35 TB/s and 67 TFLOPS (a sheet).\n",
        "| expected / measured | vm9, ms, simulated clock | own, ms, simulated clock |\n|---|--:|--:|--:|--:|--:|--:|--:|\n",
        "| SpMV, a x 3 | 2.000 | 1.000 | 0.50 | 1.500 | 0.75 | 250.0 | - |\n",
        "| copy | 1.000 | - | - | 1.000 | 1.00 | unmeasured | - |\n",
        "\n\n* No time of own (too large): copy; SpMV, a x 3.\n",
    ] {
        assert!(lines.contains(line), "{line}{lines}");
    }
}
