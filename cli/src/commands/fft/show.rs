//! `cp2 fft --plan`: what the planner chooses from.

use super::Planned;
use crate::outcome::{Failure, Outcome};
use crate::provenance::Provenance;
use crate::table::{Align, Table};
use cp2_kernels::fft::{Direction, FftPlanner, TYPICAL_BATCH};
use cp2_machine::Machine;
use serde_json::json;
use std::sync::Arc;

/// Lists the recipes for transforms of `n` numbers, the chosen one first.
pub(super) fn show(
    machine: &Arc<Machine>,
    n: usize,
    direction: Direction,
    real: bool,
) -> Result<Outcome, Failure> {
    let plans: Vec<Planned> = if real {
        vec![Planned::new(machine, n, direction, true)?]
    } else {
        let found = FftPlanner::new(machine.clone())
            .candidates(n, direction)
            .map_err(Failure::input)?;
        found.into_iter().map(|c| Planned::Complex(c.fft)).collect()
    };
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right]);
    table.row(["recipe", "expected cycles", "bound", "bound/expected"]);
    let mut candidates = Vec::new();
    for plan in &plans {
        let (expected, bound) = (plan.expected(TYPICAL_BATCH)?.0, plan.bound(TYPICAL_BATCH).0);
        let ratio = bound as f64 / expected.max(1) as f64;
        table.row([
            plan.recipe(),
            expected.to_string(),
            bound.to_string(),
            format!("{ratio:.3}"),
        ]);
        candidates.push(json!({
            "recipe": plan.recipe(),
            "expected_cycles": expected,
            "bound_cycles": bound,
        }));
    }
    let chosen = plans.first().map(Planned::recipe).unwrap_or_default();
    let why = match plans.len() {
        1 => "the only recipe there is",
        _ => "the smallest expected time",
    };
    let text = format!(
        "{TYPICAL_BATCH} transforms on {}:\n{table}chosen: {chosen}, {why}\n",
        machine.name
    );
    let figures = json!({
        "n": n,
        "batch": TYPICAL_BATCH,
        "real": real,
        "inverse": direction == Direction::Inverse,
        "candidates": candidates,
        "chosen": chosen,
        "why": why,
    });
    Ok(Outcome {
        text,
        json: Provenance::new("cp2-fft-plan/1", machine, None).with(figures),
        ..Outcome::default()
    })
}
