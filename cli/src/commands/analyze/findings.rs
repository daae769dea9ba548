//! Flaws in the use of registers, as `cp2 analyze` reports them.

use crate::expansion::expansion_json;
use cp2_asm::analysis::check_registers;
use cp2_asm::flow::FlowError;
use cp2_asm::{Diagnostics, Problem, Program};
use serde_json::{Value, json};

/// A flaw for people and as JSON.
pub(super) struct ReportedFlaw {
    pub(super) text: String,
    pub(super) json: Value,
}

/// Returns the flaws among the warnings of an assembly.
pub(super) fn of_source(warnings: &Diagnostics) -> Vec<ReportedFlaw> {
    let flaws = warnings
        .iter()
        .filter(|warning| matches!(warning.problem, Problem::RegisterUse { .. }));
    flaws
        .map(|warning| {
            let frames = warning.expansion.iter().map(
                |frame| json!({ "what": frame.what, "file": frame.at.file, "line": frame.at.line }),
            );
            ReportedFlaw {
                text: format!("{warning}\n"),
                json: json!({
                    "code": warning.code,
                    "message": warning.message,
                    "file": warning.at.file,
                    "line": warning.at.line,
                    "expansion": frames.collect::<Vec<_>>(),
                }),
            }
        })
        .collect()
}

/// Finds the flaws of an object, which has no source text.
pub(super) fn of_object(program: &Program) -> Result<Vec<ReportedFlaw>, FlowError> {
    let found = check_registers(program)?.into_iter().map(|found| {
        let problem = Problem::RegisterUse {
            register: found.register.to_string(),
            flaw: found.flaw,
        };
        let place = program.describe_place(found.pc);
        let place = place.unwrap_or_else(|| format!("word {:#06x}", found.pc));
        let line = program.lines.get(found.pc).copied().unwrap_or_default();
        ReportedFlaw {
            text: format!("warning: {place}: {problem}\n"),
            json: json!({
                "code": problem.code(),
                "message": problem.to_string(),
                "file": program.files.get(line.file as usize),
                "line": Some(line.line).filter(|line| *line > 0),
                "expansion": expansion_json(program, found.pc),
            }),
        }
    });
    Ok(found.collect())
}
