//! `cp2 asm`: assembles a source file into an object file.

mod listing;

use super::{AssemblerArgs, MachineArg};
use crate::io::{Outputs, display_path, lends_its_name, write_whole};
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::provenance::ReportProvenance;
use listing::IssueListing;
use serde_json::{json, to_value};
use std::path::{Path, PathBuf};

/// Arguments.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:
  cp2 asm heat.s --machine vm7 --listing")]
pub(crate) struct Args {
    /// Assembly source
    input: PathBuf,
    /// Object file to write [default: the source's name with the ending .elf; of a pipe there is none]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// List every word: both slots, its cycle in its loop, its line, the macros and counters that it came from
    /// [default: not listed]
    #[arg(long)]
    listing: bool,
    #[command(flatten)]
    machine: MachineArg,
    #[command(flatten)]
    assembler: AssemblerArgs,
}

/// Runs `cp2 asm`.
pub(crate) fn run(args: &Args) -> Result<CommandOutcome, CommandFailure> {
    let machine = args.machine.load()?;
    let output = match &args.output {
        Some(output) => output.clone(),
        None if lends_its_name(&args.input) => args.input.with_extension("elf"),
        None => {
            let message =
                "is no file that the object could be named after; name the object with -o FILE";
            return Err(CommandFailure::in_file(&args.input, message));
        }
    };
    Outputs::from_inputs(
        [args.input.as_path()]
            .into_iter()
            .chain(args.machine.file()),
    )
    .check(&output)?;
    let assembly = args.assembler.assemble(&args.input, &machine)?;
    let program = &assembly.program;
    Outputs::from_inputs(program.files.iter().map(Path::new)).check(&output)?;
    write_whole(&output, &program.to_elf())?;
    let data: usize = program.dmem.iter().map(|s| s.bytes.len()).sum();
    let listing = args.listing.then(|| IssueListing::new(program, &machine));
    let mut text = listing.as_ref().map_or(String::new(), IssueListing::text);
    text += &format!(
        "{}: {} words, {data} B of data, entry {}, {} warning{}\n",
        output.display(),
        program.words.len(),
        program.entry,
        assembly.warnings.len(),
        if assembly.warnings.len() == 1 {
            ""
        } else {
            "s"
        }
    );
    let json = ReportProvenance::new("cp2-asm/1", &machine, None).add_figures(json!({
        "input": display_path(&args.input),
        "output": display_path(&output),
        "words": program.words.len(),
        "dmem_bytes": data,
        "entry": program.entry,
        "requires": program.requires.names().collect::<Vec<_>>(),
        "warnings": to_value(&assembly.warnings).unwrap_or_default(),
        "listing": listing.as_ref().map(IssueListing::json),
    }));
    Ok(CommandOutcome {
        text,
        json,
        notes: assembly.warnings.to_string(),
        exit: 0,
    })
}
