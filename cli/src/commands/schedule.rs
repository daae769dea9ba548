//! `cp2 schedule`: the linear blocks of a source as they are scheduled.

mod report;
mod written;

use super::{AssemblerArgs, MachinesArg, read_text};
use crate::io::{Outputs, display_path, write_whole};
use crate::outcome::{CommandFailure, CommandOutcome};
use cp2_asm::Assembly;
use cp2_machine::Machine;
use serde_json::json;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  cp2 schedule heat.s --machine vm7 -o scheduled.s")]
pub(crate) struct Args {
    /// Assembly source
    input: PathBuf,
    /// Write the whole program for the first machine as assembly without linear blocks: the same words, with the
    /// source line of each [default: not written]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    machines: MachinesArg,
    #[command(flatten)]
    assembler: AssemblerArgs,
}

/// A program as it was assembled for a machine.
struct ScheduledProgram {
    machine: Arc<Machine>,
    assembly: Assembly,
}

/// Runs `cp2 schedule`.
pub(crate) fn run(args: &Args) -> Result<CommandOutcome, CommandFailure> {
    let machines = args.machines.load()?;
    let inputs = [args.input.as_path()].into_iter();
    let inputs = inputs.chain(args.machines.files());
    if let Some(output) = &args.output {
        Outputs::from_inputs(inputs).check(output)?;
    }
    // The source is read once, since it may be a pipe.
    let source = read_text(&args.input)?;
    let mut programs = Vec::new();
    for machine in machines {
        let assembly = args
            .assembler
            .assemble_text(&args.input, source.clone(), &machine)?;
        programs.push(ScheduledProgram { machine, assembly });
    }
    let mut text = report::text(&programs);
    if let (Some(output), Some(first)) = (&args.output, programs.first()) {
        let files = first.assembly.program.files.iter();
        Outputs::from_inputs(files.map(Path::new)).check(output)?;
        let in_file = |error| CommandFailure::in_file(&args.input, error);
        let listing = written::write(first).map_err(in_file)?;
        write_whole(output, listing.as_bytes())?;
        text += &format!(
            "{}: {} words for {}\n",
            output.display(),
            first.assembly.program.words.len(),
            first.machine.name
        );
    }
    let json = json!({
        "schema": "cp2-schedule/1",
        "tool_version": env!("CARGO_PKG_VERSION"),
        "input": display_path(&args.input),
        "output": args.output.as_deref().map(display_path),
        "blocks": report::json(&programs),
    });
    Ok(CommandOutcome {
        text,
        json,
        ..CommandOutcome::default()
    })
}
