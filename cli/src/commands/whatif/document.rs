//! The page `docs/proposals.md`: tables as Markdown, and a hash of their inputs.

use super::measured::{RowName, hash};
use super::proposals::Proposal;
use super::show::{COLUMNS, WhatifReport, cells, description, ratio, title};
use cp2_machine::Machine;

/// Text in front of the tables.
const HEAD: &str = include_str!("head.md");

/// Begin of the line with the hash of the inputs.
const INPUTS: &str = "Inputs: ";

/// Returns the hash of what a page comes from: proposals, rows, and machines without and with every proposal.
fn hash_inputs<'a>(
    machines: impl Iterator<Item = (&'a Proposal, [&'a Machine; 2])>,
    rows: impl Iterator<Item = &'a RowName>,
) -> String {
    let mut text = String::new();
    for (proposal, [before, after]) in machines {
        let Proposal {
            name,
            about,
            fact,
            inferred,
            precision,
            ..
        } = proposal;
        let precision = precision.map_or(String::new(), |p| p.to_string());
        text += &format!(
            "{name}\n{precision}\n{about}\n{fact}\n{inferred}\n{}\n{}\n",
            before.hash, after.hash
        );
    }
    for row in rows {
        text += &format!("{row}\n");
    }
    hash(&[text.as_bytes()])
}

fn row<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let cells: Vec<String> = cells
        .into_iter()
        .map(|cell| cell.replace('|', "\\|"))
        .collect();
    format!("| {} |\n", cells.join(" | "))
}

/// Returns the report as a page.
pub(super) fn markdown(report: &WhatifReport<'_>) -> String {
    let trials = report.trials;
    let machines = trials
        .iter()
        .map(|t| (&t.proposal, [&*t.base, &*t.machine]));
    let rows = trials.first().map_or(&[][..], |trial| &trial.lines);
    let inputs = hash_inputs(machines, rows.iter().map(|line| &line.row));
    let mut out = format!("{HEAD}\n{INPUTS}`{inputs}`\n");
    let mut bases: Vec<&Machine> = Vec::new();
    for trial in trials {
        if !bases.iter().any(|base| base.hash == trial.base.hash) {
            bases.push(&trial.base);
        }
    }
    for base in bases {
        let of_base: Vec<_> = trials.iter().filter(|t| t.base.hash == base.hash).collect();
        out += &format!("\n## Speed-ups on {}\n\n", base.name);
        let names = of_base.iter().map(|trial| trial.proposal.name.as_str());
        out += &row(["kernel"].into_iter().chain(names));
        out += &format!("|---|{}\n", "--:|".repeat(of_base.len()));
        for (at, line) in rows.iter().enumerate() {
            let speedups = of_base
                .iter()
                .map(|trial| ratio(trial.lines[at].judgement.speedup));
            let cells: Vec<String> = std::iter::once(line.row.to_string())
                .chain(speedups)
                .collect();
            out += &row(cells.iter().map(String::as_str));
        }
    }
    for trial in trials {
        out += &format!("\n## {}\n\n", title(trial));
        for line in description(trial, report.weights) {
            out += &format!("* {line}\n");
        }
        let shown = |at: &usize| !trial.proposal.parts.is_empty() || COLUMNS[*at] != "interaction";
        let columns: Vec<usize> = (0..COLUMNS.len()).filter(shown).collect();
        out += "\n";
        out += &row(columns.iter().map(|&at| COLUMNS[at]));
        let aligned = columns.iter().map(|&at| match COLUMNS[at] {
            "kernel" | "limit before" | "limit" | "verdict" => "---",
            _ => "--:",
        });
        out += &format!("|{}|\n", aligned.collect::<Vec<_>>().join("|"));
        for line in &trial.lines {
            let cells = cells(line);
            out += &row(columns.iter().map(|&at| cells[at].as_str()));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::measured::select_rows;
    use super::super::proposals::catalogue;
    use super::*;
    use std::collections::BTreeMap;
    use std::path::Path;

    fn document(name: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../docs")
            .join(name);
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    const AGAIN: &str = "generate docs/proposals.md again with `cp2 whatif --machine vm7 --machine vm9 --sensitivity=vm7 --markdown > docs/proposals.md`";

    #[test]
    fn the_page_is_of_the_catalogue_rows_and_machines_of_today() {
        let proposals = catalogue().unwrap_or_else(|e| panic!("{}", e.message));
        let rows = select_rows(None).unwrap_or_else(|e| panic!("{}", e.message));
        let machines: Vec<Machine> = Machine::names()
            .into_iter()
            .filter_map(Machine::builtin)
            .collect();
        let mut all = Vec::new();
        for proposal in &proposals {
            for machine in &machines {
                let changed = machine.with_changes(&proposal.changes);
                all.push((proposal, machine, changed.unwrap_or_else(|e| panic!("{e}"))));
            }
        }
        let pairs = all
            .iter()
            .map(|(proposal, before, after)| (*proposal, [*before, after]));
        let expected = format!("{INPUTS}`{}`", hash_inputs(pairs, rows.iter()));
        let page = document("proposals.md");
        assert!(page.starts_with(HEAD), "{AGAIN}");
        assert!(
            page.lines().any(|line| line == expected),
            "{expected} is missing: {AGAIN}"
        );
    }

    /// Most by which cycles before a proposal may differ from the table of all kernels, as a divisor: a kernel that
    /// is a little faster does not change what a proposal gains.
    const APART: u64 = 25;

    /// Cycles before a proposal are those of the table of all kernels, where that has the row, or near them.
    #[test]
    fn cycles_before_are_near_those_of_the_performance_table() {
        let mut measured = BTreeMap::new();
        for part in document("performance.md").split("\n### ").skip(1) {
            let kernel = part.lines().next().unwrap_or_default();
            for line in part.lines() {
                let cells: Vec<&str> = line.split('|').map(str::trim).collect();
                if let [_, size, machine, cycles, ..] = cells[..] {
                    measured.insert(
                        (format!("{kernel} {size}"), machine.to_owned()),
                        cycles.to_owned(),
                    );
                }
            }
        }
        let mut compared = 0;
        let page = document("proposals.md");
        let parts = page.split("\n## ").skip(1);
        for part in parts.filter(|part| !part.starts_with("Speed-ups")) {
            let machine = part
                .lines()
                .next()
                .and_then(|line| line.rsplit(' ').next())
                .unwrap_or_default();
            for line in part.lines().skip(1) {
                let cells: Vec<&str> = line.split('|').map(str::trim).collect();
                if cells.len() < 12 {
                    continue;
                }
                if let Some(cycles) = measured.get(&(cells[1].to_owned(), machine.to_owned())) {
                    let [found, cycles] =
                        [cells[2], cycles].map(|text| text.parse::<u64>().unwrap());
                    let near = found.abs_diff(cycles) * APART <= cycles;
                    assert!(near, "{} on {machine}: {AGAIN}", cells[1]);
                    compared += 1;
                }
            }
        }
        assert!(compared >= 100, "{compared} rows are in both tables");
    }
}
