//! Generates `docs/machine.md` from the parameter table.

use crate::table::{EXTENSION_ROWS, NETWORK_ROWS, ROWS};
use crate::{Extensions, Machine, Primitive, RowForm};
use std::fmt::Write;

/// Returns the text of `docs/machine.md`.
#[must_use]
pub fn manual() -> String {
    let extensions: Vec<String> = Extensions::all()
        .names()
        .map(|n| format!("`{n}`"))
        .collect();
    include_str!("manual.md")
        .replace("{parameters}", parameter_tables().trim_end())
        .replace("{extensions}", &extensions.join(", "))
        .replace("{of-extensions}", extension_table().trim_end())
        .replace("{row-forms}", &row_forms())
        .replace("{primitives}", primitive_table().trim_end())
}

fn row_forms() -> String {
    RowForm::ALL
        .map(|form| format!("`{}`", form.name()))
        .join(", ")
}

/// Returns the table of the primitives that rows are made of.
fn primitive_table() -> String {
    let mut out = "| primitive | multiplies | adds | value |\n|---|---|---|---|\n".to_owned();
    for one in Primitive::ALL {
        let (call, muls, adds) = (one.call(), one.muls(), one.adds());
        // Writing to a String cannot fail.
        let _ = writeln!(out, "| `{call}` | {muls} | {adds} | {} |", one.doc());
    }
    out
}

/// Returns the table of the parameters that extensions bring, with their values on the built-in machines.
fn extension_table() -> String {
    let mut out = String::new();
    let names = Machine::names();
    // Writing to a String cannot fail.
    let _ = writeln!(
        out,
        "| key | brought by | {} | range | meaning |",
        names.join(" | ")
    );
    let _ = writeln!(out, "|---|---|{}---|---|", "---|".repeat(names.len()));
    for row in EXTENSION_ROWS {
        let flags = row.brought_by();
        let _ = write!(out, "| `{}` | `{flags}` ", row.key);
        for name in &names {
            let machine = Machine::load(&format!("{name}+{flags}"));
            let value = machine.map(|machine| row.quantity.format((row.get)(&machine)));
            let (text, unit) = value.unwrap_or_default();
            let _ = write!(out, "| {} ", format!("{text} {unit}").trim_end());
        }
        let range = row.range.describe(row.quantity);
        let _ = writeln!(out, "| {range} | {} |", row.doc);
    }
    out
}

fn parameter_tables() -> String {
    let machines: Vec<Machine> = Machine::names()
        .into_iter()
        .filter_map(Machine::builtin)
        .collect();
    let mut out = String::new();
    let mut section = "";
    // Writing to a String cannot fail.
    let mut rows = ROWS.iter().chain(NETWORK_ROWS).enumerate().peekable();
    while let Some((index, row)) = rows.next() {
        let (top, _) = row.key.split_once('.').unwrap_or((row.key, ""));
        if top != section {
            section = top;
            let title = match top {
                "cp2" => "The coprocessor",
                "dma" => "The DMA controller",
                "host" => "The control CPU and system memory",
                _ => "The network between processors",
            };
            let names: Vec<&str> = machines.iter().map(|m| m.name.as_str()).collect();
            let _ = writeln!(out, "### {title}: `[{top}]`\n");
            let _ = writeln!(
                out,
                "| key | {} | source | reference | range | meaning |",
                names.join(" | ")
            );
            let _ = writeln!(out, "|---|{}---|---|---|---|", "---|".repeat(names.len()));
        }
        let _ = write!(out, "| `{}` ", row.key);
        for machine in &machines {
            let (text, unit) = row.quantity.format((row.get)(machine));
            let shown = if text.is_empty() {
                "none".to_owned()
            } else {
                format!("{text} {unit}")
            };
            let _ = write!(out, "| {} ", shown.trim_end());
        }
        let origin = machines.first().map(|m| &m.provenance.0[index]);
        let source = origin.map_or("", |o| o.source.name());
        let reference = origin.map_or("", |o| o.reference.as_str());
        let range = row.range.describe(row.quantity);
        let _ = writeln!(out, "| {source} | {reference} | {range} | {} |", row.doc);
        if rows
            .peek()
            .is_none_or(|(_, next)| !next.key.starts_with(&format!("{top}.")))
        {
            out.push('\n');
        }
    }
    out
}
