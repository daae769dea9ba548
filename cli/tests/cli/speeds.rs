//! The tables of `docs/gpu.md`: speeds of cards, from the reports in `docs/gpu`.

use crate::npb_tables::number;
use serde_json::Value;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

/// Rows of a table, each with the time of another library that it should reach, or the part of a copy's speed.
const ROWS: [(&str, &str, &str); 15] = [
    ("copy", "copy", ""),
    ("fft-1024", "FFT 1024, batched", "1.10 x cuFFT"),
    ("fft-4096", "FFT 4096, batched", "1.10 x cuFFT"),
    (
        "stencil-27",
        "27-point operator of MG, 512^3",
        "0.83 of a copy",
    ),
    (
        "conv-1024",
        "filter of 129 taps, blocks of 1024",
        "0.65 of a copy",
    ),
    (
        "conv-4096",
        "filter of 513 taps, blocks of 4096",
        "0.40 of a copy",
    ),
    ("spmv-27", "SpMV, 27-point grid of 128^3", "0.95 x cuSPARSE"),
    ("fft-1009", "FFT 1009, batched", "1.00 x cuFFT"),
    ("fft-10007", "FFT 10007, batched", "1.00 x cuFFT"),
    ("fft-1048576", "FFT 2^20, batched", "1.25 x cuFFT"),
    ("fft-3d", "FFT 512^3", "1.20 x cuFFT"),
    ("fft-1000", "FFT 1000, batched", "1.10 x cuFFT"),
    ("stencil-7", "7-point stencil, 512^3", ""),
    ("himeno-l", "Himeno L with gosa", "0.95 of a copy"),
    ("himeno-xl", "Himeno XL with gosa", "0.95 of a copy"),
];

/// Columns of a table.
const HEAD: &str = "| row | size | ms | GB/s | x copy | library, ms | time / library's | goal |\n|---|---|--:|--:|--:|--:|--:|---|\n";

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

/// Returns the line of a row; without measurements it says so.
fn line(report: &Value, (name, title, goal): (&str, &str, &str)) -> String {
    let Some(own) = find(&report["gpu"], name).filter(|row| row["passed"] == true) else {
        return format!("| {title} | | unmeasured | | | | | {goal} |\n");
    };
    let size: Vec<_> = own["size"]
        .as_array()
        .unwrap()
        .iter()
        .map(Value::to_string)
        .collect();
    let seconds = number(own, "seconds");
    let vendor = find(&report["vendor"], name).filter(|row| row["passed"] == true);
    let vendor = vendor.map_or_else(
        || " |".to_owned(),
        |row| {
            let other = number(row, "seconds");
            let library = row["library"].as_str().unwrap();
            format!("{library} {:.3} | {:.2}", other * 1e3, seconds / other)
        },
    );
    format!(
        "| {title} | {} | {:.3} | {:.0} | {:.2} | {vendor} | {goal} |\n",
        size.join(" x "),
        seconds * 1e3,
        number(own, "gigabytes_per_second"),
        number(own, "times_copy"),
    )
}

/// Returns the table of a card, with what it was measured by.
fn table(report: &Value) -> String {
    let gpu = &report["gpu"];
    let said = |key: &str| gpu[key].as_str().unwrap_or("unknown").to_owned();
    let mut text = format!(
        "\n{}, driver {}, {}, `{}`:\n\n{HEAD}",
        said("card"),
        said("driver"),
        said("date"),
        said("command")
    );
    for row in ROWS {
        text += &line(report, row);
    }
    text
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
        "docs/gpu.md says otherwise than docs/gpu; refresh it: CP2_BLESS=1 cargo test -p cp2 --test cli speeds"
    );
}

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
        lines.contains("| FFT 1024, batched | 2 x 1024 | 2.000 | 1 | 0.50 | cuFFT 1.000 | 2.00 | 1.10 x cuFFT |"),
        "{lines}"
    );
    assert!(
        lines.contains("| FFT 4096, batched | | unmeasured |"),
        "{lines}"
    );
    assert_eq!(lines.matches("unmeasured").count(), ROWS.len() - 1);
}
