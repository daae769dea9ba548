//! `cp2 fft --plan`: lists the recipes that the planner chooses from.

use super::FftPlan;
use crate::commands::signal::too_many;
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::provenance::ReportProvenance;
use crate::simulation::merge;
use crate::table::{Align, TextTable};
use cp2_kernels::fft::{ChoiceReason, FftPlanner, RefusedRecipe, TransformDirection};
use cp2_machine::Machine;
use serde_json::json;
use std::sync::Arc;

/// Transform whose recipes are listed.
pub(super) struct RequestedTransform<'a> {
    /// Length, if there is one axis.
    pub(super) n: usize,
    /// Lengths of the axes, if there are several.
    pub(super) axes: Option<&'a [usize]>,
    /// Forward or inverse.
    pub(super) direction: TransformDirection,
    /// True for a transform of real numbers.
    pub(super) real: bool,
}

impl RequestedTransform<'_> {
    /// Returns the count of numbers in a transform.
    pub(super) fn numbers(&self) -> usize {
        let axes = self.axes.unwrap_or(&[]);
        match axes {
            [] => self.n,
            _ => axes.iter().fold(1, |n, &d| n.saturating_mul(d)),
        }
    }

    /// Returns the recipes, the one that runs first; the reason for that choice; and the kinds of recipes
    /// that are impossible on the machine, with reasons.
    fn plans(
        &self,
        machine: &Arc<Machine>,
        batch: usize,
    ) -> Result<(Vec<FftPlan>, String, Vec<RefusedRecipe>), CommandFailure> {
        let (n, direction) = (self.n, self.direction);
        let all = match self.axes {
            Some(axes) => Some(FftPlan::arrays(machine, axes, direction, batch)?),
            None if self.real => Some(FftPlan::all_real(machine, n, direction, batch)?),
            None => None,
        };
        if let Some(plans) = all {
            let why = match plans.len() {
                1 => ChoiceReason::Only,
                _ => ChoiceReason::Cheapest,
            };
            return Ok((plans, why.to_string(), Vec::new()));
        }
        let planner = FftPlanner::with_batch(machine.clone(), batch);
        let choice = planner
            .choice(n, direction)
            .map_err(CommandFailure::input)?;
        let (found, refused) = planner.all(n, direction).map_err(CommandFailure::input)?;
        let chosen = choice.fft.recipe();
        let others = found.into_iter().map(|c| c.fft);
        let others = others.filter(|fft| fft.recipe() != chosen);
        let plans = std::iter::once(choice.fft.clone()).chain(others);
        Ok((
            plans.map(FftPlan::Complex).collect(),
            choice.why.to_string(),
            refused,
        ))
    }
}

/// Most characters on a line of a recipe in the table.
const WIDTH: usize = 100;

/// Breaks a text at spaces into lines of at most `width` characters; all lines but the first are indented.
fn wrap_text(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        if let Some(line) = lines.last_mut() {
            if line.trim().is_empty() {
                line.push_str(word);
            } else if line.chars().count() + 1 + word.chars().count() <= width {
                line.push(' ');
                line.push_str(word);
            } else {
                lines.push(format!("    {word}"));
            }
        }
    }
    lines
}

/// Lists the recipes for `batch` transforms, the chosen one first.
pub(super) fn show(
    machine: &Arc<Machine>,
    asked: &RequestedTransform<'_>,
    batch: usize,
) -> Result<CommandOutcome, CommandFailure> {
    let (plans, why, refused) = asked.plans(machine, batch)?;
    for plan in &plans {
        if batch > plan.max_batch() {
            return Err(too_many(asked.numbers(), batch, plan.max_batch()));
        }
    }
    let mut table = TextTable::new(&[Align::Left, Align::Right, Align::Right]);
    table.row(["recipe", "expected cycles", "efficiency"]);
    let mut candidates = Vec::new();
    // Bounds of the problem, equal for all recipes.
    let known = plans
        .first()
        .map(|plan| plan.figures(batch))
        .unwrap_or_default();
    for plan in &plans {
        let expected = plan.expected(batch)?.0;
        let ratio = known.efficiency(expected);
        let recipe = plan.recipe(batch);
        let mut lines = wrap_text(&recipe, WIDTH).into_iter();
        table.row([
            lines.next().unwrap_or_default(),
            expected.to_string(),
            format!("{ratio:.3}"),
        ]);
        lines.for_each(|line| table.row([line]));
        candidates.push(json!({
            "recipe": recipe,
            "expected_cycles": expected,
            "expected_efficiency": ratio,
        }));
    }
    let chosen = plans
        .first()
        .map_or_else(String::new, |plan| plan.recipe(batch));
    let transforms = if batch == 1 {
        "transform"
    } else {
        "transforms"
    };
    let mut text = format!(
        "{batch} {transforms} on {}:\n{table}chosen: {chosen}, {why}\n{}\n",
        machine.name,
        known.text()
    );
    for RefusedRecipe { kind, reason } in &refused {
        text += &format!("not taken: {kind}: {reason}\n");
    }
    let refused = refused.iter().map(|refused| {
        let (kind, reason) = (refused.kind.to_string(), refused.reason.to_string());
        json!({ "kind": kind, "reason": reason })
    });
    let refused: Vec<_> = refused.collect();
    let figures = json!({
        "n": asked.axes.is_none().then_some(asked.n),
        "shape": asked.axes,
        "batch": batch,
        "real": asked.real,
        "inverse": asked.direction == TransformDirection::Inverse,
        "candidates": candidates,
        "refused": refused,
        "chosen": chosen,
        "why": why,
    });
    Ok(CommandOutcome {
        text,
        json: ReportProvenance::new("cp2-fft-plan/1", machine, None)
            .add_figures(merge(figures, json!(known))),
        ..CommandOutcome::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_recipes_are_several_lines() {
        assert_eq!(wrap_text("columns of 64", 13), ["columns of 64"]);
        assert_eq!(wrap_text("columns of 64", 12), ["columns of", "    64"]);
        assert_eq!(wrap_text("columns", 3), ["columns"]);
        let text = "half of the rows of 32, 8 a section and page, 10 in the last";
        let lines = wrap_text(text, 20);
        assert!(lines.iter().all(|line| line.chars().count() <= 20));
        let words: Vec<&str> = lines.iter().map(|line| line.trim()).collect();
        assert_eq!(words.join(" "), text);
    }
}
