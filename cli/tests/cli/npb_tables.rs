//! The tables of `docs/npb.md`: columns, rows, and the line of a run.
//!
//! `cargo run --release -p cp2 --example npb_tables` makes all of them; a test compares the lines of the
//! smallest classes.

use serde_json::Value;

/// Path of the document with the tables.
pub(crate) const DOCUMENT: &str = "docs/npb.md";

/// Machines in every table.
pub(crate) const MACHINES: [&str; 2] = ["vm7", "vm9"];

/// Benchmarks, each with its classes and the head of its table.
pub(crate) const BENCHMARKS: [(&str, &[&str], &str); 3] = [
    (
        "ft",
        &["S", "W", "A", "B"],
        "| class | nx x ny x nz, steps | machine | cycles | reference | efficiency | Mop/s | worst checksum | field |\n|---|---|---|--:|--:|--:|--:|--:|--:|\n",
    ),
    (
        "mg",
        &["S", "W", "A", "B"],
        "| class | n, cycles | machine | cycles | reference | efficiency | Mop/s | from the official norm |\n|---|---|---|--:|--:|--:|--:|--:|\n",
    ),
    (
        "cg",
        &["S", "W", "A"],
        "| class | rows, entries, iterations | machine | cycles | reference | efficiency | Mop/s | from the official zeta |\n|---|---|---|--:|--:|--:|--:|--:|\n",
    ),
];

/// Returns the size of a class as the tables show it.
fn size(benchmark: &str, class: &str) -> &'static str {
    match (benchmark, class) {
        ("ft", "S") => "64 x 64 x 64, 6",
        ("ft", "W") => "128 x 128 x 32, 6",
        ("ft", "A") => "256 x 256 x 128, 6",
        ("ft", "B") => "512 x 256 x 256, 20",
        ("mg", "S") => "32, 4",
        ("mg", "W") => "128, 4",
        ("mg", "A") => "256, 4",
        ("mg", "B") => "256, 20",
        ("cg", "S") => "1400, 78,148, 15",
        ("cg", "W") => "7000, 508,402, 15",
        ("cg", "A") => "14,000, 1,853,104, 15",
        _ => "",
    }
}

/// Formats a number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Returns a number of a report; NaN if it is missing.
pub(crate) fn number(json: &Value, key: &str) -> f64 {
    json[key].as_f64().unwrap_or(f64::NAN)
}

/// Formats a whole number of a report; empty if it is missing.
pub(crate) fn whole(json: &Value, key: &str) -> String {
    json[key].as_u64().map_or_else(String::new, grouped)
}

/// Returns the line of a run, from its report.
pub(crate) fn line(benchmark: &str, class: &str, machine: &str, json: &Value) -> String {
    let mut cells = vec![
        class.to_owned(),
        size(benchmark, class).to_owned(),
        machine.to_owned(),
        whole(json, "cycles"),
        whole(json, "reference_cycles"),
        format!("{:.3}", number(json, "efficiency")),
        grouped(number(json, "mops").round() as u64),
        format!("{:.1e}", number(json, "relative_difference")),
    ];
    if benchmark == "ft" {
        cells.push(format!("{:.1e}", number(json, "field_error")));
    }
    format!("| {} |\n", cells.join(" | "))
}

/// Replaces the table between the marks of its name; returns the new text.
pub(crate) fn replaced(text: &str, name: &str, table: &str) -> Option<String> {
    let begin = format!("<!-- table {name} -->\n");
    let end = "<!-- end of table -->";
    let at = text.find(&begin)? + begin.len();
    let behind = at + text[at..].find(end)?;
    Some(format!("{}{table}{}", &text[..at], &text[behind..]))
}
