//! Reports of `cp2 whatif`: text, CSV, JSON, HTML.

use super::cost::{self, CostWeights};
use super::sensitivity::Flip;
use super::verdict::{GAIN, rules};
use super::{ProposalTrial, TrialRow};
use crate::picture::pareto::{ParetoPoint, dominated, svg};
use crate::table::{Align, TextTable};
use serde_json::{Value, json};

/// Findings of a run.
pub(super) struct WhatifReport<'a> {
    pub(super) trials: &'a [ProposalTrial],
    pub(super) weights: Option<&'a CostWeights>,
}

/// Names of the columns.
pub(super) const COLUMNS: [&str; 12] = [
    "kernel",
    "before",
    "cycles",
    "speed-up",
    "reference",
    "own",
    "interaction",
    "limit before",
    "limit",
    "balance before",
    "balance",
    "verdict",
];

pub(super) fn ratio(value: Option<f64>) -> String {
    value.map_or_else(|| "-".to_owned(), |value| format!("{value:.3}"))
}

/// Describes what changes a verdict.
fn describe_flip(flip: &Flip) -> String {
    let one = match (flip.parameter, flip.factor) {
        (Some(key), Some(factor)) => format!("flips at {key} x {factor:.3}"),
        _ => "no assumed number alone flips it".to_owned(),
    };
    match flip.all {
        Some(true) => format!("{one}; all by 1.25 together do"),
        Some(false) => format!("{one}; all by 1.25 together do not"),
        None => one,
    }
}

/// Returns the cells of a line, in the order of the columns.
pub(super) fn cells(line: &TrialRow) -> [String; 12] {
    let cycles = |result: &super::RowResult| {
        let figures = result.as_ref().map(|row| row.cycles.to_string());
        figures.unwrap_or_else(|_| "-".to_owned())
    };
    let limit = |result: &super::RowResult| {
        let figures = result.as_ref().map(|row| row.limit.clone());
        figures.unwrap_or_else(|_| "-".to_owned())
    };
    let balance =
        |result: &super::RowResult| ratio(result.as_ref().ok().and_then(|row| row.balance));
    let judged = &line.judgement;
    let reason = judged
        .refused
        .as_ref()
        .map(|reason| format!("refused: {reason}"));
    let flip = line.flip.as_ref().map(describe_flip);
    let verdict: Vec<String> = judged
        .verdict
        .iter()
        .cloned()
        .chain(reason)
        .chain(flip)
        .collect();
    [
        line.row.to_string(),
        cycles(&line.before),
        cycles(&line.after),
        ratio(judged.speedup),
        ratio(judged.reference_speedup),
        ratio(judged.own_speedup),
        ratio(line.interaction),
        limit(&line.before),
        limit(&line.after),
        balance(&line.before),
        balance(&line.after),
        verdict.join("; "),
    ]
}

/// Describes what a proposal is, who says so and what it costs, a line for each.
pub(super) fn description(trial: &ProposalTrial, weights: Option<&CostWeights>) -> Vec<String> {
    let one = &trial.proposal;
    let mut lines = Vec::new();
    let mut add = |name: &str, text: &str| {
        if !text.is_empty() {
            lines.push(format!("{name}: {text}"));
        }
    };
    add("what", &one.about);
    add("fact", &one.fact);
    add("assumed", &one.inferred);
    if let Some(precision) = one.precision {
        add(
            "rows with it",
            &format!("in {precision} precision, where the kernel has that"),
        );
    }
    for cost in &trial.costs {
        add(
            "cost",
            &format!("{} {:+} ({})", cost.key, cost.amount, cost.formula),
        );
    }
    add("cost not counted", &trial.uncounted.join(", "));
    if let Some(weights) = weights {
        add(
            "weighted cost",
            &format!("{:.0}", weights.sum(&trial.costs)),
        );
    }
    lines
}

pub(super) fn title(trial: &ProposalTrial) -> String {
    let one = &trial.proposal;
    match one.name == one.changes {
        true => format!("{} on {}", one.name, trial.base.name),
        false => format!("{} ({}) on {}", one.name, one.changes, trial.base.name),
    }
}

/// Returns the geometric mean of the speed-ups of the rows that have one.
fn mean_gain(trial: &ProposalTrial) -> Option<f64> {
    let gains: Vec<f64> = trial
        .lines
        .iter()
        .filter_map(|l| l.judgement.speedup)
        .collect();
    let sum: f64 = gains.iter().map(|gain| libm::log(*gain)).sum();
    (!gains.is_empty()).then(|| super::rounded(libm::exp(sum / gains.len() as f64)))
}

/// Returns gain over weighted cost of every trial.
fn points(report: &WhatifReport<'_>) -> Vec<ParetoPoint> {
    let Some(weights) = report.weights else {
        return Vec::new();
    };
    let point = |trial: &ProposalTrial| {
        Some(ParetoPoint {
            name: trial.proposal.name.clone(),
            machine: trial.base.name.clone(),
            cost: weights.sum(&trial.costs),
            gain: mean_gain(trial)?,
        })
    };
    report.trials.iter().filter_map(point).collect()
}

/// Returns the report as text.
pub(super) fn text(report: &WhatifReport<'_>) -> String {
    use Align::{Left, Right};
    let combined = report.trials.iter().any(|t| !t.proposal.parts.is_empty());
    let mut out = String::new();
    for trial in report.trials {
        out += &format!("{}\n", title(trial));
        for line in description(trial, report.weights) {
            out += &format!("  {line}\n");
        }
        let shown = |at: &usize| combined || COLUMNS[*at] != "interaction";
        let pick = |cells: [String; 12]| {
            let cells = cells.into_iter().enumerate();
            cells
                .filter(|(at, _)| shown(at))
                .map(|(_, cell)| cell)
                .collect::<Vec<_>>()
        };
        let align = |at: &usize| match COLUMNS[*at] {
            "kernel" | "limit before" | "limit" | "verdict" => Left,
            _ => Right,
        };
        let columns: Vec<usize> = (0..COLUMNS.len()).filter(shown).collect();
        let mut table = TextTable::new(&columns.iter().map(align).collect::<Vec<_>>());
        table.row(pick(COLUMNS.map(str::to_owned)));
        for line in &trial.lines {
            table.row(pick(cells(line)));
        }
        out += &format!("{table}\n");
    }
    let points = points(report);
    if !points.is_empty() {
        let mut table = TextTable::new(&[Left, Left, Right, Right, Left]);
        table.row([
            "proposal",
            "machine",
            "weighted cost",
            "mean speed-up",
            "dominated by",
        ]);
        for point in &points {
            let better = dominated(point, &points).map_or("-", |other| &other.name);
            table.row([
                point.name.clone(),
                point.machine.clone(),
                format!("{:.0}", point.cost),
                format!("{:.3}", point.gain),
                better.to_owned(),
            ]);
        }
        out += &format!("weights are assumed by their file\n{table}\n");
    }
    out + &rules() + "\n"
}

fn csv_cell(text: &str) -> String {
    match text.contains([',', '"', '\n']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_owned(),
    }
}

/// Joins cells to a line of comma-separated values.
pub(crate) fn csv_line<'a>(cells: impl IntoIterator<Item = &'a str>) -> String {
    let cells: Vec<String> = cells.into_iter().map(csv_cell).collect();
    cells.join(",") + "\n"
}

/// Returns the report as comma-separated values; a value that is missing is empty.
pub(super) fn csv(report: &WhatifReport<'_>) -> String {
    let head = COLUMNS.map(|column| column.replace([' ', '-'], "_"));
    let head: Vec<&str> = ["proposal", "machine"]
        .into_iter()
        .chain(head.iter().map(String::as_str))
        .collect();
    let mut out = csv_line(head);
    for trial in report.trials {
        for line in &trial.lines {
            let cells = cells(line);
            let cells = cells
                .iter()
                .map(|cell| if cell == "-" { "" } else { cell.as_str() });
            let names = [trial.proposal.name.as_str(), trial.base.name.as_str()];
            out += &csv_line(names.into_iter().chain(cells));
        }
    }
    out
}

/// Returns the report as an object of JSON.
pub(super) fn object(report: &WhatifReport<'_>) -> Value {
    let rows = report.trials.iter().flat_map(|trial| {
        trial.lines.iter().map(move |line| {
            let (before, after) = (line.before.as_ref().ok(), line.after.as_ref().ok());
            json!({
                "proposal": trial.proposal.name,
                "changes": trial.proposal.changes,
                "kernel": line.row.kernel.name(),
                "size": line.row.size.to_string(),
                "changed_size": line.changed.as_ref().map(|row| row.size.to_string()),
                "machine": trial.base.name,
                "machine_hash": trial.base.hash,
                "changed_hash": trial.machine.hash,
                "cycles_before": before.map(|row| row.cycles),
                "cycles": after.map(|row| row.cycles),
                "speedup": line.judgement.speedup,
                "reference_speedup": line.judgement.reference_speedup,
                "own_speedup": line.judgement.own_speedup,
                "interaction": line.interaction,
                "limit_before": before.map(|row| &row.limit),
                "limit": after.map(|row| &row.limit),
                "balance_before": before.and_then(|row| row.balance),
                "balance": after.and_then(|row| row.balance),
                "rival": before.and_then(|row| row.rival.as_ref()),
                "verdict": line.judgement.verdict,
                "refused": line.judgement.refused,
                "flip": line.flip,
                "cost": cost::object(&trial.costs),
                "cost_uncounted": trial.uncounted,
            })
        })
    });
    let points = points(report);
    let pareto = points.iter().map(|point| {
        json!({
            "proposal": point.name,
            "machine": point.machine,
            "weighted_cost": point.cost,
            "mean_speedup": point.gain,
            "dominated_by": dominated(point, &points).map(|other| &other.name),
        })
    });
    json!({
        "schema": "cp2-whatif/1",
        "tool_version": env!("CARGO_PKG_VERSION"),
        "gain_from": GAIN,
        "rows": rows.collect::<Vec<_>>(),
        "pareto": report.weights.map(|_| pareto.collect::<Vec<_>>()),
    })
}

/// Escapes text for HTML.
pub(crate) fn html_text(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}

/// Joins cells to a row of an HTML table.
pub(crate) fn html_row<'a>(tag: &str, cells: impl IntoIterator<Item = &'a str>) -> String {
    let cells = cells
        .into_iter()
        .map(|cell| format!("<{tag}>{}</{tag}>", html_text(cell)));
    format!("<tr>{}</tr>\n", cells.collect::<String>())
}

/// Returns a page of HTML with a title and contents.
pub(crate) fn html_page(title: &str, contents: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title>\n\
         <style>body {{ font-family: sans-serif; margin: 2em }} table {{ border-collapse: collapse }} \
         td, th {{ padding: 0.1em 0.6em; border-bottom: 1px solid #ccc; text-align: left }}</style></head>\n\
         <body><h1>{0}</h1>\n{contents}</body></html>\n",
        html_text(title)
    )
}

/// Returns the report as a page of HTML.
pub(super) fn html(report: &WhatifReport<'_>) -> String {
    let mut out = format!("<p>{}</p>\n", html_text(&rules()));
    let points = points(report);
    if !points.is_empty() {
        out += &svg(&points);
    }
    for trial in report.trials {
        out += &format!("<h2>{}</h2>\n<ul>\n", html_text(&title(trial)));
        for line in description(trial, report.weights) {
            out += &format!("<li>{}</li>\n", html_text(&line));
        }
        out += &format!("</ul>\n<table>\n{}", html_row("th", COLUMNS));
        for line in &trial.lines {
            out += &html_row("td", cells(line).iter().map(String::as_str));
        }
        out += "</table>\n";
    }
    html_page("Proposals to change the machine", &out)
}
