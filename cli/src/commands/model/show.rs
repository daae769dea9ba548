//! The output of `cp2 model`.

use crate::outcome::{CommandOutcome, UNVERIFIED};
use crate::provenance::ReportProvenance;
use crate::table::{Align, TextTable, seconds};
use cp2_kernels::registry::{Kernel, PerformanceRow, Size};
use cp2_machine::Machine;
use cp2_model::{Estimate, PhaseEstimate, System};
use cp2_reference::Figures;
use serde_json::json;
use std::collections::BTreeMap;

/// Name and version of the layout of the JSON objects.
const SCHEMA: &str = "cp2-model/1";

/// Share of the measured time below which the report mentions what the model leaves out.
const SMALL: f64 = 0.9;

/// Reports the expected time, term by term.
pub(super) fn expected(expected: &Estimate, system: &System, title: &str) -> CommandOutcome {
    let cycles = |s: f64| system.cycles(s);
    let mut table = TextTable::new(&[Align::Left, Align::Right, Align::Right]);
    table.row(["busy time", "cycles", "time"]);
    let mut line =
        |name: &str, s: f64| table.row([name, &format!("{:.0}", cycles(s)), &seconds(s)]);
    for term in expected.terms.iter().filter(|t| t.seconds > 0.0) {
        line(&term.resource, term.seconds);
    }
    line("single actions", expected.actions);
    let mut phases = TextTable::new(&[
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Left,
    ]);
    phases.row(["phase", "cycles", "overlapped", "alone", "limit"]);
    // Consecutive phases with equal costs share a row.
    let mut rest = expected.phases.as_slice();
    while let Some(phase) = rest.first() {
        let figures = |p: &PhaseEstimate| {
            let overlapped = p.seconds - p.alone;
            [p.seconds, overlapped, p.alone].map(|s| format!("{:.0}", cycles(s)))
        };
        let alike = |p: &&PhaseEstimate| figures(p) == figures(phase) && p.limit == phase.limit;
        let count = rest.iter().take_while(alike).count();
        let name = match count {
            1 => phase.name.clone(),
            _ => format!("{} to {}, each", phase.name, rest[count - 1].name),
        };
        let [all, overlapped, alone] = figures(phase);
        phases.row([name, all, overlapped, alone, phase.limit.clone()]);
        rest = &rest[count..];
    }
    let mut text = format!(
        "{title} on {}: expected {:.0} cycles = {}, limited by {}\n\n{table}\n{phases}\n",
        system.name,
        cycles(expected.seconds),
        seconds(expected.seconds),
        expected.limit
    );
    for balance in &expected.balance {
        let channel = &balance.channel;
        text += &match balance.factor {
            None => format!("channel {channel}: nothing computes, no balance\n"),
            Some(factor) if factor <= 1.0 => {
                format!("channel {channel}: {factor:.3} of the compute time, balanced\n")
            }
            Some(factor) => format!(
                "channel {channel}: {factor:.3} of the compute time, must be {factor:.2} times faster for balance\n"
            ),
        };
    }
    let terms: Vec<_> = expected
        .terms
        .iter()
        .map(|t| json!({"resource": t.resource, "cycles": cycles(t.seconds), "seconds": t.seconds}))
        .collect();
    let phases: Vec<_> = expected
        .phases
        .iter()
        .map(|p| {
            json!({"name": p.name, "cycles": cycles(p.seconds), "alone_cycles": cycles(p.alone), "limit": p.limit})
        })
        .collect();
    CommandOutcome {
        text,
        json: json!({
            "schema": SCHEMA,
            "tool_version": env!("CARGO_PKG_VERSION"),
            "procedure": title,
            "system": system.name,
            "clock_hz": system.clock_hz,
            "expected_cycles": cycles(expected.seconds),
            "expected_seconds": expected.seconds,
            "limit": expected.limit,
            "terms": terms,
            "action_cycles": cycles(expected.actions),
            "phases": phases,
            "balance": expected.balance,
        }),
        ..CommandOutcome::default()
    }
}

/// Combines the reports of one kernel on several machines.
pub(super) fn several(machines: Vec<serde_json::Value>) -> serde_json::Value {
    json!({
        "schema": SCHEMA,
        "tool_version": env!("CARGO_PKG_VERSION"),
        "machines": machines,
    })
}

/// Adds the machine that the system was derived from.
pub(super) fn provenance(outcome: &mut CommandOutcome, machine: &Machine) {
    let figures = std::mem::take(&mut outcome.json);
    outcome.json = ReportProvenance::new(SCHEMA, machine, None).add_figures(figures);
}

/// Adds the figures that only kernels have.
pub(super) fn kernel(
    outcome: &mut CommandOutcome,
    kernel: &dyn Kernel,
    size: &Size,
    machine: &Machine,
    figures: &Figures,
    recipe: Option<&str>,
) {
    let own = json!({
        "kernel": kernel.name(),
        "size": size.to_string(),
        "parameters": size.iter().collect::<BTreeMap<_, _>>(),
        "recipe": recipe,
    });
    let own = crate::simulation::merge(own, json!(figures));
    outcome.json = crate::simulation::merge(std::mem::take(&mut outcome.json), own);
    provenance(outcome, machine);
    if let Some(recipe) = recipe {
        outcome.text += &format!("by {recipe}\n");
    }
    outcome.text += &format!("{}\n", figures.text());
}

/// Adds the emulator's measurement of a kernel.
pub(super) fn emulated(outcome: &mut CommandOutcome, row: &PerformanceRow) {
    let own = json!({
        "engine": row.engine,
        "emulated_cycles": row.emulated_cycles,
        "ratio": row.ratio,
        "efficiency": row.efficiency,
    });
    outcome.json = crate::simulation::merge(std::mem::take(&mut outcome.json), own);
    outcome.text += &format!(
        "emulated {} cycles: expected / emulated {:.3}, efficiency {:.3}\n",
        row.emulated_cycles, row.ratio, row.efficiency
    );
    if row.ratio < SMALL {
        outcome.text += "the model counts what the algorithm needs: the kernel's own start-up and rounding are the rest, and weigh in small jobs\n";
    }
    judge(outcome, row);
}

/// Row of the table for a kernel that does not fit on the machine.
#[derive(Clone, Debug, serde::Serialize)]
pub(super) struct RefusedRow {
    /// Kernel.
    pub(super) kernel: &'static str,
    /// Size.
    pub(super) size: String,
    /// Machine.
    pub(super) machine: String,
    /// Reason why the kernel does not fit.
    pub(super) reason: String,
}

/// Reports the table of all kernels.
pub(super) fn rows(rows: &[PerformanceRow], refused: &[RefusedRow]) -> CommandOutcome {
    let mut table = TextTable::new(&[
        Align::Left,
        Align::Left,
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Left,
    ]);
    table.row([
        "kernel",
        "size",
        "machine",
        "expected cycles",
        "emulated cycles",
        "ratio",
        "limit",
        "bound cycles",
        "reference cycles",
        "efficiency",
        "reference",
    ]);
    for row in rows {
        table.row([
            row.kernel.to_owned(),
            row.size.clone(),
            row.machine.clone(),
            format!("{:.0}", row.model_cycles),
            row.emulated_cycles.to_string(),
            format!("{:.3}", row.ratio),
            row.limit.clone(),
            row.figures.bound.get().to_string(),
            row.figures.reference.get().to_string(),
            format!("{:.3}", row.efficiency),
            row.figures.method.clone(),
        ]);
    }
    let mut outcome = CommandOutcome {
        text: table.to_string(),
        json: json!({
            "schema": "cp2-model-table/1",
            "tool_version": env!("CARGO_PKG_VERSION"),
            "rows": rows,
            "refused": refused,
        }),
        ..CommandOutcome::default()
    };
    for row in rows {
        judge(&mut outcome, row);
    }
    for r in refused {
        let reason = r.reason.lines().next().unwrap_or_default();
        let (kernel, size, machine) = (r.kernel, &r.size, &r.machine);
        outcome.notes += &format!("not measured: {kernel} {size} on {machine}: {reason}\n");
    }
    outcome
}

/// Reports an error if the expected time exceeds the measured one: then one of the two is wrong.
fn judge(outcome: &mut CommandOutcome, row: &PerformanceRow) {
    for (name, value) in [
        ("expected / emulated", row.ratio),
        ("efficiency", row.efficiency),
    ] {
        if value > 1.0 {
            outcome.exit = UNVERIFIED;
            outcome.notes += &format!(
                "error: {} {} on {}: {name} is {value:.4}, more than 1: the model, the reference or the emulator is wrong\n",
                row.kernel, row.size, row.machine
            );
        }
    }
}
