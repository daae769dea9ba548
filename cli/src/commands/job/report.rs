//! The report of a job, pass by pass.

use super::super::map::margins;
use super::RunArgs;
use crate::io::display_path;
use crate::simulation::{figures, heading, limits, merge, name, table};
use crate::table::{Align, TextTable, percent};
use cp2_host::{FinishedRun, ProgramStage};
use cp2_kernels::Pass;
use cp2_kernels::map::Mapped;
use serde_json::{Value, json};

/// Returns the report as text.
pub(super) fn text(args: &RunArgs, done: &Mapped) -> String {
    let report = &done.run.report;
    let mut text = format!("{} passes of {}\n", passes(done), args.job.display());
    let relayouts = done.relayouts() - done.clamps;
    if relayouts > 0 {
        text += &format!(
            "{relayouts} more put arrays into another layout: rows or edges are no multiple of 16 bytes\n"
        );
    }
    text += &margins(done);
    text += &table(report);
    text += &format_stages(&done.run);
    text += &limits(&done.figures, done.expected, &done.run).text;
    if args.plan {
        for (stage, pass) in first_passes(done) {
            let plan = pass.nest().map(ToString::to_string).unwrap_or_default();
            let heading = heading(&done.run, "plan", &stage);
            text += &format!("\n{heading}\n{}\n", plan.trim_end());
        }
    }
    text
}

/// Returns the report as JSON fields.
pub(super) fn fields(args: &RunArgs, done: &Mapped) -> Value {
    let report = &done.run.report;
    let mut fields = merge(
        figures(report),
        json!({
            "job": display_path(&args.job),
            "passes": passes(done),
            "relayouts": done.relayouts(),
            "clamped_edges": done.clamps,
        }),
    );
    fields = merge(fields, limits(&done.figures, done.expected, &done.run).json);
    if args.plan {
        let plan = |(stage, pass): (ProgramStage, &Pass)| json!({ "pass": stage.pass, "program": name(&done.run, &stage), "plan": pass.nest() });
        fields["plans"] = first_passes(done).into_iter().map(plan).collect();
    }
    fields
}

/// Returns the number of kernel passes that were carried out, without changes of layout.
fn passes(done: &Mapped) -> usize {
    done.passes.len() - done.relayouts()
}

/// Formats time and launches of each pass. Passes that change the layout of arrays have no name and share a
/// line for each program.
fn format_stages(run: &FinishedRun) -> String {
    let mut rows = TextTable::new(&[
        Align::Left,
        Align::Left,
        Align::Right,
        Align::Left,
        Align::Left,
    ]);
    let mut sums: Vec<(&ProgramStage, u64, u64)> = Vec::new();
    for report in &run.report.stages {
        let alike = |known: &ProgramStage| {
            known.pass == report.stage.pass && name(run, known) == name(run, &report.stage)
        };
        let (cycles, launches) = (report.cycles, report.counters.kernels);
        match sums.iter_mut().find(|(known, ..)| alike(known)) {
            Some(sum) => (sum.1, sum.2) = (sum.1 + cycles, sum.2 + launches),
            None => sums.push((&report.stage, cycles, launches)),
        }
    }
    sums.sort_by_key(|(stage, ..)| stage.pass.is_none());
    for (stage, cycles, launches) in sums {
        let plural = if launches == 1 { "" } else { "es" };
        rows.row([
            stage.pass.as_deref().unwrap_or("layout"),
            name(run, stage),
            &cycles.to_string(),
            "cycles",
            &format!(
                "{}, {launches} launch{plural}",
                percent(cycles, run.report.cycles)
            ),
        ]);
    }
    rows.to_string()
}

/// Returns the first pass of each name; passes of one name are paged alike.
fn first_passes(done: &Mapped) -> Vec<(ProgramStage, &Pass)> {
    let mut plans: Vec<(ProgramStage, &Pass)> = Vec::new();
    for pass in done.passes.iter().filter(|pass| pass.nest().is_some()) {
        let programs = done.run.programs();
        let stage = ProgramStage {
            program: programs
                .iter()
                .position(|p| p.image == pass.program().image),
            pass: pass.called().map(Into::into),
        };
        if plans.iter().all(|(known, _)| known.pass != stage.pass) {
            plans.push((stage, pass));
        }
    }
    plans
}
