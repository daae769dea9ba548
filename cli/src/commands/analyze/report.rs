//! The report of `cp2 analyze`, as text and as JSON.

use super::{AnalyzedProgram, diagram};
use crate::expansion::expansion_json;
use crate::io::display_path;
use cp2_asm::Program;
use cp2_asm::analysis::{
    CycleRatio, LoopAnalysis, LoopBody, LoopCloser, LoopLimit, LostCycles, SteadyLoop,
};
use cp2_asm::issue::Wait;
use cp2_emu::timing::Stall;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

/// Section registers, as pairs.
const PAIRS: usize = 64;

/// Returns file and line of a word, or its address.
fn location(program: &Program, pc: usize) -> String {
    let known = program.location(pc);
    known.unwrap_or_else(|| format!("word {pc:#06x}"))
}

/// Returns the place of a loop, with the macros and counters that it came from.
pub(super) fn loop_place(program: &Program, pc: usize) -> String {
    let known = program.describe_place(pc);
    known.unwrap_or_else(|| format!("word {pc:#06x}"))
}

/// Returns the place of a word of a loop, with the macros and counters that the loop itself is not in.
fn place_within(program: &Program, pc: usize, outer: usize) -> String {
    let location = location(program, pc);
    match program.describe_chain_within(pc, outer) {
        chain if chain.is_empty() => location,
        chain => format!("{location} ({chain})"),
    }
}

fn cause(lost: &LostCycles) -> String {
    let wait = Wait {
        cycles: 1,
        on: Some(lost.on),
    };
    Stall::from(wait).cause.to_string()
}

/// Writes all reports: a paragraph for each loop and for each set of machines on which it behaves alike.
pub(super) fn text(programs: &[AnalyzedProgram], only: Option<&str>, draw: bool) -> String {
    let mut text = String::new();
    // Loops of several machines belong together by their place and by how many are there before them.
    let mut shown: Vec<(String, Vec<(&AnalyzedProgram, &LoopAnalysis)>)> = Vec::new();
    for program in programs {
        let mut here: Vec<String> = Vec::new();
        for found in program.select(only) {
            let place = loop_place(&program.program, found.pc);
            let nth = here.iter().filter(|other| **other == place).count();
            here.push(place.clone());
            let mut same = shown.iter_mut().filter(|(other, _)| *other == place);
            match same.nth(nth) {
                Some((_, group))
                    if group
                        .last()
                        .is_some_and(|(last, _)| !std::ptr::eq(*last, program)) =>
                {
                    group.push((program, found));
                }
                _ => shown.push((place, vec![(program, found)])),
            }
        }
    }
    if shown.is_empty() {
        text += "the program has no loops\n";
    }
    for (place, mut group) in shown {
        while let Some((program, found)) = group.first().copied() {
            let (alike, others): (Vec<_>, Vec<_>) = group
                .into_iter()
                .partition(|(_, other)| other.body == found.body);
            group = others;
            let machines: Vec<_> = alike.iter().map(|(p, _)| p.machine.name.as_str()).collect();
            let shown = ShownLoop {
                place: &place,
                machines: &machines.join(", "),
                usage: None,
                draw,
            };
            write_loop(&mut text, program, found, &shown);
        }
    }
    if draw {
        let extensions = programs.iter().map(|p| p.machine.cp2.extensions);
        text += &diagram::explain_letters(extensions.collect());
    }
    text
}

/// Headings of a loop's paragraph.
pub(super) struct ShownLoop<'a> {
    /// Place in the source.
    pub(super) place: &'a str,
    /// Machines on which the loop behaves alike.
    pub(super) machines: &'a str,
    /// Line about the cycles that it took in a run.
    pub(super) usage: Option<String>,
    /// True if two iterations are drawn.
    pub(super) draw: bool,
}

/// Writes the paragraph of a loop.
pub(super) fn write_loop(
    text: &mut String,
    program: &AnalyzedProgram,
    found: &LoopAnalysis,
    shown: &ShownLoop<'_>,
) {
    let (place, machines) = (shown.place, shown.machines);
    let _ = match &found.body {
        LoopBody::Branching { reason, around } => writeln!(
            text,
            "loop {place}  no interval, since {reason}: {around} words outside inner loops, on {machines}"
        ),
        LoopBody::Steady(steady) if steady.is_at_bound() => writeln!(
            text,
            "loop {place}  interval {}, bound {} ({}): at the bound on {machines}",
            steady.interval,
            steady.bound.cycles,
            steady.limit()
        ),
        LoopBody::Steady(steady) => writeln!(
            text,
            "loop {place}  interval {}, bound {} ({}): {:.2} times the bound on {machines}",
            steady.interval,
            steady.bound.cycles,
            steady.limit(),
            steady.interval.as_f64() / steady.bound.cycles.as_f64()
        ),
    };
    if let Some(usage) = &shown.usage {
        let _ = writeln!(text, "  {usage}");
    }
    let LoopBody::Steady(steady) = &found.body else {
        return;
    };
    if shown.draw {
        *text += &diagram::draw(steady, &program.program);
    }
    if steady.is_at_bound() {
        return;
    }
    let words = found.words.clone().count();
    let _ = writeln!(
        text,
        "  {words} words with {} arithmetic and {} other operations, {} of {PAIRS} registers live",
        steady.bound.arithmetic, steady.bound.memory, found.registers
    );
    if steady.back > 0 {
        let _ = writeln!(text, "  {:>6} lost when the body starts again", steady.back);
    }
    for lost in &steady.lost {
        let _ = writeln!(
            text,
            "  {:>6} lost at {}: {}, made at {}",
            lost.cycles,
            place_within(&program.program, lost.pc, found.pc),
            cause(lost),
            place_within(&program.program, lost.producer, found.pc)
        );
    }
    for advice in advise(found, steady) {
        let _ = writeln!(text, "  {advice}");
    }
}

/// Says what would make a loop faster that is above its bound.
fn advise(found: &LoopAnalysis, steady: &SteadyLoop) -> Vec<String> {
    let mut advice = Vec::new();
    let words = found.words.clone().count() as u64;
    let lost: f64 = steady.lost.iter().map(|lost| lost.cycles.as_f64()).sum();
    let least = steady.bound.arithmetic.max(steady.bound.memory).max(1) as u64;
    if lost > 0.0 {
        advice.push(format!(
            "would help: work of other iterations in the {} cycles of waiting, by unrolling or software pipelining",
            trim(lost)
        ));
        let free = PAIRS.saturating_sub(found.registers);
        advice.extend(free.checked_div(found.registers).map(|times| match times {
            0 => format!("            {free} registers are free for them"),
            _ => format!(
                "            registers suffice for {} iterations at once",
                times + 1
            ),
        }));
    }
    if words > least {
        advice.push(format!(
            "would help: both slots of a word in use; the operations fit in {least} words instead of {words}"
        ));
    }
    if let LoopLimit::Recurrence { .. } = steady.limit() {
        advice.push(
            "would help: several results in turn, such as partial sums, instead of one that each iteration waits for"
                .to_owned(),
        );
    }
    advice
}

fn trim(number: f64) -> String {
    let text = format!("{number:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// Makes the report as JSON.
pub(super) fn json(input: &Path, programs: &[AnalyzedProgram], only: Option<&str>) -> Value {
    let loops: Vec<Value> = programs
        .iter()
        .flat_map(|program| {
            let found = program.select(only).into_iter();
            found.map(move |found| loop_json(program, found))
        })
        .collect();
    let machines: Vec<_> = programs
        .iter()
        .map(|p| json!({ "machine": p.machine.name, "machine_hash": p.machine.hash }))
        .collect();
    json!({
        "schema": "cp2-analyze/1",
        "tool_version": env!("CARGO_PKG_VERSION"),
        "input": display_path(input),
        "machines": machines,
        "loops": loops,
    })
}

fn number(ratio: CycleRatio) -> Value {
    match ratio.iterations() {
        1 => json!(ratio.cycles()),
        _ => json!(ratio.as_f64()),
    }
}

/// Returns a loop as JSON.
pub(super) fn loop_json(program: &AnalyzedProgram, found: &LoopAnalysis) -> Value {
    let source = &program.program;
    let at = |pc: usize| source.lines.get(pc).copied().unwrap_or_default();
    let line = |pc: usize| Some(at(pc).line).filter(|line| *line > 0);
    let file = |pc: usize| source.files.get(at(pc).file as usize);
    let kind = match found.closer {
        LoopCloser::Hardware { .. } => "hardware",
        LoopCloser::Branch => "branch",
    };
    let mut object = json!({
        "file": file(found.pc),
        "line": line(found.pc),
        "pc": found.pc,
        "expansion": expansion_json(source, found.pc),
        "machine": program.machine.name,
        "kind": kind,
        "trips": found.constant_trips(),
        "outside": found.outside,
        "words": found.words.clone().count(),
        "registers": found.registers,
        "interval": null,
        "bound": null,
        "limit": null,
        "reason": null,
        "lost": [],
    });
    match &found.body {
        LoopBody::Branching { reason, around } => {
            object["reason"] = json!(reason.to_string());
            object["words_around"] = json!(around);
        }
        LoopBody::Steady(steady) => {
            let lost = steady.lost.iter().map(|lost| {
                json!({
                    "file": file(lost.pc),
                    "line": line(lost.pc),
                    "pc": lost.pc,
                    "expansion": expansion_json(source, lost.pc),
                    "cycles": number(lost.cycles),
                    "cause": cause(lost),
                    "producer": line(lost.producer),
                    "producer_pc": lost.producer,
                })
            });
            let terms = steady.bound.terms.iter().map(
                |(limit, cycles)| json!({ "limit": limit.to_string(), "cycles": number(*cycles) }),
            );
            object["interval"] = number(steady.interval);
            object["bound"] = number(steady.bound.cycles);
            object["limit"] = json!(steady.limit().to_string());
            object["terms"] = terms.collect();
            object["arithmetic"] = json!(steady.bound.arithmetic);
            object["memory"] = json!(steady.bound.memory);
            object["loop_back"] = json!(steady.back);
            object["lost"] = lost.collect();
            object["words_around"] = json!(0);
        }
    }
    object
}
