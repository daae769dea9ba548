//! `cp2 analyze`: the interval of each loop of a kernel, and its bound.

mod diagram;
mod findings;
mod report;
mod usage;

use super::{AssemblerArgs, LoadedKernel, MachinesArg};
use crate::outcome::{CommandFailure, CommandOutcome};
use cp2_asm::analysis::{LoopAnalysis, analyze_loops};
use cp2_asm::flow::FlowError;
use cp2_asm::{Program, SymbolKind};
use cp2_machine::Machine;
use std::path::PathBuf;
use std::sync::Arc;
pub(super) use usage::report_loops;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  cp2 analyze heat.s --machine vm7 --loop 23 --diagram")]
pub(crate) struct Args {
    /// Assembly source, or an object file of `cp2 asm`
    input: PathBuf,
    #[command(flatten)]
    machines: MachinesArg,
    /// Show the loop of this source line, or of this label only [default: all loops]
    #[arg(long = "loop", value_name = "LINE|LABEL")]
    only: Option<String>,
    /// Draw two iterations of each loop: a line for each word, a column for each cycle [default: not drawn]
    #[arg(long)]
    diagram: bool,
    #[command(flatten)]
    assembler: AssemblerArgs,
}

/// A program on a machine, with its loops.
struct AnalyzedProgram {
    machine: Arc<Machine>,
    program: Arc<Program>,
    loops: Vec<LoopAnalysis>,
}

impl AnalyzedProgram {
    /// Analyses the loops of a program on a machine.
    fn new(program: Arc<Program>, machine: Arc<Machine>) -> Result<Self, FlowError> {
        let loops = analyze_loops(&program, &machine)?;
        Ok(Self {
            machine,
            program,
            loops,
        })
    }

    /// Returns the loops that `--loop` asks for.
    fn select(&self, only: Option<&str>) -> Vec<&LoopAnalysis> {
        let all = self.loops.iter();
        let Some(only) = only else {
            return all.collect();
        };
        if let Ok(line) = only.parse::<u32>() {
            let line_of = |pc: usize| self.program.lines.get(pc).map(|at| at.line);
            return all.filter(|l| line_of(l.pc) == Some(line)).collect();
        }
        let symbols = self.program.symbols.iter();
        let mut labels = symbols.filter(|s| s.kind == SymbolKind::Program && s.name == only);
        let label = labels.next().and_then(|s| usize::try_from(s.value).ok());
        let has_label =
            |l: &&LoopAnalysis| label.is_some_and(|at| at == l.pc || at == *l.words.start());
        all.filter(has_label).collect()
    }
}

/// Runs `cp2 analyze`.
pub(crate) fn run(args: &Args) -> Result<CommandOutcome, CommandFailure> {
    let machines = args.machines.load()?;
    // A pipe can be read only once.
    if machines.len() > 1 && !args.input.is_file() && args.input.exists() {
        let message =
            "is no file that can be read for each machine; name one machine with --machine";
        return Err(CommandFailure::in_file(&args.input, message));
    }
    let mut programs = Vec::new();
    let mut flaws = Vec::new();
    for machine in machines {
        let LoadedKernel { program, warnings } =
            args.assembler.load_kernel(&args.input, &machine)?;
        // Flaws in the use of registers are those of the program, whatever the machine.
        let in_file = |error| CommandFailure::in_file(&args.input, error);
        flaws = match warnings {
            Some(warnings) => findings::of_source(&warnings),
            None => findings::of_object(&program).map_err(in_file)?,
        };
        programs.push(AnalyzedProgram::new(Arc::new(program), machine).map_err(in_file)?);
    }
    let only = args.only.as_deref();
    if let Some(name) = only.filter(|_| programs.iter().all(|p| p.select(only).is_empty())) {
        let mut there: Vec<_> = programs
            .iter()
            .flat_map(|p| p.loops.iter().filter_map(|l| p.program.location(l.pc)))
            .collect();
        there.sort();
        there.dedup();
        let there = match there.is_empty() {
            true => "the program has no loops".to_owned(),
            false => format!("there are loops at {}", there.join(", ")),
        };
        let message =
            format!("--loop {name}: no loop is set up there, or closed by a branch; {there}");
        return Err(CommandFailure::in_file(&args.input, message));
    }
    let mut json = report::json(&args.input, &programs, only);
    json["findings"] = flaws.iter().map(|flaw| flaw.json.clone()).collect();
    Ok(CommandOutcome {
        text: report::text(&programs, only, args.diagram),
        json,
        notes: flaws.into_iter().map(|flaw| flaw.text).collect(),
        exit: 0,
    })
}
