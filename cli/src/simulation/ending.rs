//! Exit code, notes, profiles and trace of a command, from the end of its run.

use super::{FINDINGS, SimulationArgs, write_trace};
use crate::expansion::expansion_json;
use crate::io::display_path;
use crate::outcome::{BAD_INPUT, CommandFailure, CommandOutcome, GUEST_FAULT, UNVERIFIED};
use cp2_asm::Program;
use cp2_emu::{Finding, Objection, Owner};
use cp2_host::profile::Profile;
use cp2_host::{FinishedRun, ProgramStage, StageReport};
use serde_json::{Value, json};

/// Adds everything to a command's outcome that follows from the run alone: the exit code and notes of a run
/// that did not finish or that the checkers object to, profiles, and the trace, which is written in any case.
pub(crate) fn conclude(
    args: &SimulationArgs,
    run: &FinishedRun,
    title: &str,
    source: impl FnMut(&str) -> Option<String>,
    outcome: &mut CommandOutcome,
) -> Result<(), CommandFailure> {
    if let Some(early) = early_end(args.check, run) {
        outcome.exit = early.exit;
        outcome.notes += &early.notes;
        outcome.json["place"] = early.place;
    } else if !run.report.findings.is_empty() {
        outcome.exit = UNVERIFIED;
    }
    outcome.notes += args.host.engine.note(args.check);
    findings(run, outcome);
    stages(args, run, source, outcome);
    if let Some(path) = &args.trace {
        write_trace(path, &run.report, title)?;
        outcome.text += &format!("timeline: {}\n", path.display());
        outcome.json["trace"] = json!(display_path(path));
    }
    Ok(())
}

/// Reasons and place of the end of a run that has not finished.
pub(crate) struct EarlyEnd {
    /// Exit code.
    pub(crate) exit: u8,
    /// Message for people, with the state at the end.
    pub(crate) notes: String,
    /// Place in a program as JSON.
    pub(crate) place: Value,
}

/// Returns why a run ended early; none for one that has finished.
pub(crate) fn early_end(checked: bool, run: &FinishedRun) -> Option<EarlyEnd> {
    let report = &run.report;
    if report.end.is_finished() {
        return None;
    }
    // If the data differ from those of the recording, no kernel is at fault.
    let diverged = matches!(report.end, cp2_host::RunEnd::Diverged { .. });
    let pc = match &report.end {
        cp2_host::RunEnd::Fault(fault) => Some(fault.pc),
        cp2_host::RunEnd::Deadlock { kernel, .. } => kernel.map(|(_, pc)| pc),
        _ => None,
    };
    let place = FaultSite::new(run, report.stage.as_ref(), pc);
    let mut notes = format!("error: {}{place}\n", report.end);
    let overwritten = |f: &Finding| {
        matches!(
            f.objection,
            Objection::Outside {
                owner: Owner::Arguments,
                ..
            }
        )
    };
    // The page loop uses only the argument blocks, which also hold the addresses of pages: the fault was
    // caused elsewhere.
    let looped = place.file.as_deref() == Some("page.s");
    if looped || report.overwritten_arguments.is_some() {
        notes += match report.findings.iter().any(overwritten) {
            true => "the page loop had its argument blocks overwritten: see the check below\n",
            false if checked => "",
            false if looped => {
                "the page loop works by argument blocks; --check names a store that overwrites one\n"
            }
            false => {
                "its argument block was overwritten, from which it has the addresses of its pages; --check names the store\n"
            }
        };
    }
    if let Some(dump) = report.dump.as_ref().filter(|_| !diverged) {
        notes += dump;
    }
    Some(EarlyEnd {
        exit: if diverged { BAD_INPUT } else { GUEST_FAULT },
        notes,
        place: place.json(),
    })
}

/// Reports the checkers' findings, each with its place.
fn findings(run: &FinishedRun, outcome: &mut CommandOutcome) {
    let found = findings_of(run);
    for (text, _) in found.iter().take(FINDINGS) {
        outcome.notes += &format!("check: {text}\n");
    }
    if found.len() > FINDINGS {
        let more = found.len() - FINDINGS;
        let plural = if more == 1 { "" } else { "s" };
        outcome.notes += &format!("check: and {more} more finding{plural}\n");
    }
    let all: Vec<Value> = found.into_iter().map(|(_, json)| json).collect();
    outcome.json["findings"] = json!(all);
}

/// Returns the checkers' findings with their places, as people read them and as JSON.
pub(crate) fn findings_of(run: &FinishedRun) -> Vec<(String, Value)> {
    let found = run.report.findings.iter().map(|finding| {
        let stage = run.report.stages.get(finding.launched as usize);
        let place = FaultSite::new(run, stage.map(|report| &report.stage), finding.pc);
        let json = super::merge(json!(finding), json!({ "place": place.json() }));
        (format!("{finding}{place}"), json)
    });
    found.collect()
}

/// Reports the figures of each program in each pass, with its profile if requested.
fn stages(
    args: &SimulationArgs,
    run: &FinishedRun,
    mut source: impl FnMut(&str) -> Option<String>,
    outcome: &mut CommandOutcome,
) {
    let stages = &run.report.stages;
    if stages.is_empty() {
        return;
    }
    // If passes have names, those without one only change the layout of arrays.
    let named = stages.iter().any(|report| report.stage.pass.is_some());
    let profiled = |report: &&StageReport| {
        args.profile.is_some()
            && report.counters.words > 0
            && (report.stage.pass.is_some() || !named)
    };
    let several = stages.iter().filter(profiled).count() > 1;
    let mut all = Vec::new();
    for report in stages {
        let mut object = object(run, report);
        let program = program(run, &report.stage).filter(|_| profiled(&report));
        if let Some((program, by)) = program.zip(args.profile) {
            let profile = Profile::new(program, &report.counters, by.into());
            if several {
                outcome.text += &format!("\n{}\n", heading(run, "profile", &report.stage));
            }
            outcome.text += &format!("\n{}", profile.listing(program, &mut source));
            object["profile"] = json!(profile);
            if !several {
                outcome.json["profile"] = json!(profile);
            }
        }
        all.push(object);
    }
    outcome.json["stages"] = json!(all);
}

/// Returns the heading of a part of the report about one stage.
pub(crate) fn heading(run: &FinishedRun, what: &str, stage: &ProgramStage) -> String {
    match &stage.pass {
        Some(pass) => format!("{what} of {pass}, {}", name(run, stage)),
        None => format!("{what} of {}", name(run, stage)),
    }
}

/// Returns the name of a stage's program.
pub(crate) fn name<'a>(run: &'a FinishedRun, stage: &ProgramStage) -> &'a str {
    let placed = stage
        .program
        .and_then(|program| run.programs().get(program));
    placed.map_or("", |placed| &placed.name)
}

fn program<'a>(run: &'a FinishedRun, stage: &ProgramStage) -> Option<&'a Program> {
    let placed = run.programs().get(stage.program?)?;
    Some(&placed.program)
}

/// Returns a stage as JSON.
fn object(run: &FinishedRun, report: &StageReport) -> Value {
    json!({
        "pass": report.stage.pass,
        "program": name(run, &report.stage),
        "launches": report.counters.kernels,
        "cycles": report.cycles,
        "causes": report.causes.to_map(),
        "words": report.counters.words,
        "flops": report.counters.work.flops,
        "dma": {
            "transfers": report.dma.transfers,
            "bytes_loaded": report.dma.loaded,
            "bytes_stored": report.dma.stored,
        },
    })
}

/// Place of an event in a program, as far as it is known.
struct FaultSite {
    file: Option<String>,
    line: Option<u32>,
    /// Macros and counters that the word came from, as a phrase and as JSON.
    chain: String,
    expansion: Value,
    program: Option<String>,
    pass: Option<String>,
}

impl FaultSite {
    fn new(run: &FinishedRun, stage: Option<&ProgramStage>, pc: Option<u32>) -> Self {
        let program = stage.and_then(|stage| program(run, stage));
        let word = program.zip(pc).map(|(program, pc)| (program, pc as usize));
        let location = word.and_then(|(program, pc)| program.location(pc));
        let location = location.as_ref().and_then(|place| place.rsplit_once(':'));
        Self {
            file: location.map(|(file, _)| file.to_owned()),
            line: location.and_then(|(_, line)| line.parse().ok()),
            chain: word.map_or(String::new(), |(program, pc)| program.describe_chain(pc)),
            expansion: word.map_or(json!([]), |(program, pc)| expansion_json(program, pc)),
            program: stage.map(|stage| name(run, stage).to_owned()),
            pass: stage.and_then(|stage| stage.pass.as_deref().map(str::to_owned)),
        }
    }

    fn json(&self) -> Value {
        json!({
            "pass": self.pass,
            "program": self.program,
            "file": self.file,
            "line": self.line,
            "expansion": self.expansion,
        })
    }
}

impl std::fmt::Display for FaultSite {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        if let Some((file, line)) = self.file.as_ref().zip(self.line) {
            write!(f, " at {file}:{line}")?;
        }
        if !self.chain.is_empty() {
            write!(f, " ({})", self.chain)?;
        }
        match &self.pass {
            Some(pass) => write!(f, ", {pass}"),
            None => Ok(()),
        }
    }
}
