//! The loops of a run's programs, weighted by the cycles that they took.

use super::report::{ShownLoop, loop_json, loop_place, write_loop};
use super::{AnalyzedProgram, LoopAnalysis};
use crate::outcome::CommandOutcome;
use crate::simulation::{merge, name};
use crate::table::percent;
use cp2_asm::analysis::{LoopBody, LoopCloser};
use cp2_asm::flow::FlowError;
use cp2_emu::Counters;
use cp2_host::{FinishedRun, StageReport};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Activity of a loop in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LoopUsage {
    /// Cycles of its words that lie in no loop inside it.
    cycles: u64,
    /// Iterations of all times that it ran.
    iterations: u64,
    /// Times that it was set up; none for a loop that a branch closes.
    entries: Option<u64>,
    /// Cycles beyond the bound, which is of a loop with an interval only.
    gain: Option<u64>,
}

impl LoopUsage {
    /// Counts what loop `number` of a program did.
    fn new(program: &AnalyzedProgram, number: usize, counters: &Counters) -> Self {
        let found = &program.loops[number];
        let within = |other: &LoopAnalysis| {
            found.words.contains(other.words.start()) && found.words.contains(other.words.end())
        };
        // Outer loops come before inner ones, also where both have the same words.
        let after = program.loops.iter().skip(number + 1);
        let inside: Vec<_> = after.filter(|other| within(other)).collect();
        let own = found.words.clone();
        let own = own.filter(|pc| !inside.iter().any(|inner| inner.words.contains(pc)));
        let of_word = |pc: usize| counters.per_word.get(pc);
        let issued = |pc: usize| of_word(pc).map_or(0, |word| word.words);
        let cycles = own
            .filter_map(of_word)
            .map(|word| word.causes.total())
            .sum();
        // No loop inside ends with the last word of another.
        let iterations = issued(*found.words.end());
        let gain = match &found.body {
            LoopBody::Steady(steady) => {
                let bound = steady.bound.cycles;
                let least = u128::from(bound.cycles()) * u128::from(iterations);
                let least = least.div_ceil(bound.iterations().into());
                Some(cycles - u64::try_from(least).unwrap_or(u64::MAX).min(cycles))
            }
            LoopBody::Branching { .. } => None,
        };
        Self {
            cycles,
            iterations,
            entries: match found.closer {
                LoopCloser::Hardware { .. } => Some(issued(found.pc)),
                LoopCloser::Branch => None,
            },
            gain,
        }
    }

    /// Describes the activity in a run of `all` cycles.
    fn text(&self, pass: Option<&str>, all: u64) -> String {
        let pass = pass.map_or(String::new(), |pass| format!("{pass}: "));
        let share = percent(self.cycles, all);
        let times = |n: u64, one: &str, many: &str| match n {
            1 => format!("1 {one}"),
            _ => format!("{n} {many}"),
        };
        let iterations = times(self.iterations, "iteration", "iterations");
        let entries = self.entries.map_or(String::new(), |entries| {
            format!(", set up {}", times(entries, "time", "times"))
        });
        let gain = match self.gain {
            None | Some(0) => String::new(),
            Some(gain) => format!("; at the bound up to {gain} fewer"),
        };
        let cycles = self.cycles;
        format!(
            "{pass}{} of the run: {cycles} cycles in {iterations}{entries}{gain}",
            share.trim_start()
        )
    }

    fn json(&self, run: &FinishedRun, stage: &StageReport) -> Value {
        json!({
            "pass": stage.stage.pass,
            "program": name(run, &stage.stage),
            "cycles": self.cycles,
            "share": self.cycles as f64 / run.report.cycles.max(1) as f64,
            "iterations": self.iterations,
            "entries": self.entries,
            "gain_cycles": self.gain,
        })
    }
}

/// Adds the loops of all programs of a run to the outcome of its command, those that took most cycles first. Loops
/// that were never entered are left out.
pub(crate) fn report_loops(run: &FinishedRun, outcome: &mut CommandOutcome) {
    let machine = run.processor().machine();
    let mut programs: BTreeMap<usize, Result<AnalyzedProgram, FlowError>> = BTreeMap::new();
    let stages = &run.report.stages;
    let placed = |stage: &StageReport| {
        let number = stage.stage.program?;
        Some((number, run.programs().get(number)?))
    };
    for (number, program) in stages.iter().filter_map(placed) {
        let analyze = || AnalyzedProgram::new(program.program.clone(), machine.clone());
        programs.entry(number).or_insert_with(analyze);
    }
    let mut loops = Vec::new();
    for stage in stages {
        let Some((number, placed)) = placed(stage) else {
            continue;
        };
        match programs.get(&number) {
            Some(Ok(program)) => {
                let all = 0..program.loops.len();
                let used = all.map(|number| {
                    let usage = LoopUsage::new(program, number, &stage.counters);
                    (stage, program, &program.loops[number], usage)
                });
                loops.extend(used.filter(|(.., usage)| usage.iterations > 0));
            }
            Some(Err(error)) => {
                outcome.notes += &format!("note: no loops of {}: {error}\n", placed.name);
            }
            None => {}
        }
    }
    loops.sort_by_key(|(.., usage)| std::cmp::Reverse(usage.cycles));
    outcome.text += "\nloops, by cycles of their words outside inner loops\n";
    let mut objects = Vec::new();
    for (stage, program, found, usage) in loops {
        let pass = stage.stage.pass.as_deref();
        let shown = ShownLoop {
            place: &loop_place(&program.program, found.pc),
            machines: &machine.name,
            usage: Some(usage.text(pass, run.report.cycles)),
            draw: false,
        };
        write_loop(&mut outcome.text, program, found, &shown);
        objects.push(merge(loop_json(program, found), usage.json(run, stage)));
    }
    outcome.json["loops"] = json!(objects);
}
