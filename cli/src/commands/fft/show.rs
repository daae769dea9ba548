//! `cp2 fft --plan`: what the planner chooses from.

use super::Planned;
use crate::commands::signal::too_many;
use crate::outcome::{Failure, Outcome};
use crate::provenance::Provenance;
use crate::table::{Align, Table};
use cp2_kernels::fft::{Direction, FftPlanner};
use cp2_machine::Machine;
use serde_json::json;
use std::sync::Arc;

/// Lists the recipes for `batch` transforms of `n` numbers, the chosen one first.
pub(super) fn show(
    machine: &Arc<Machine>,
    n: usize,
    direction: Direction,
    real: bool,
    batch: usize,
) -> Result<Outcome, Failure> {
    let plans: Vec<Planned> = if real {
        vec![Planned::new(machine, n, direction, true, batch)?]
    } else {
        let found = FftPlanner::for_batch(machine.clone(), batch)
            .candidates(n, direction)
            .map_err(Failure::input)?;
        found.into_iter().map(|c| Planned::Complex(c.fft)).collect()
    };
    for plan in &plans {
        if batch > plan.max_batch() {
            return Err(too_many(n, batch, plan.max_batch()));
        }
    }
    let mut table = Table::new(&[Align::Left, Align::Right, Align::Right, Align::Right]);
    table.row(["recipe", "expected cycles", "bound", "bound/expected"]);
    let mut candidates = Vec::new();
    for plan in &plans {
        let (expected, bound) = (plan.expected(batch)?.0, plan.bound(batch).0);
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
        "{batch} transforms on {}:\n{table}chosen: {chosen}, {why}\n",
        machine.name
    );
    let figures = json!({
        "n": n,
        "batch": batch,
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
