//! `cp2 disasm`: turns an object file back into assembly text.

use super::{load_machine, read_object, source_text};
use crate::io::{Outputs, display_path, write_whole};
use crate::outcome::{CommandFailure, CommandOutcome};
use serde_json::json;
use std::path::PathBuf;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Object file
    input: PathBuf,
    /// File to write the text to [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Machine that must be able to run the program, by name or file [default: none is asked, the object has the rows
    /// of machine files that it uses]
    #[arg(long, value_name = "NAME|FILE")]
    machine: Option<String>,
    /// Show address and bits of every word [default: not shown]
    #[arg(long)]
    addresses: bool,
    /// Show the source lines, where the source files are found [default: not shown]
    #[arg(long)]
    sources: bool,
}

/// Runs `cp2 disasm`.
pub(crate) fn run(args: &Args) -> Result<CommandOutcome, CommandFailure> {
    let program = read_object(&args.input)?;
    if let Some(machine) = &args.machine {
        let machine = load_machine(machine)?;
        program
            .check_machine(&machine)
            .map_err(|e| CommandFailure::in_file(&args.input, e))?;
    }
    let listing = cp2_asm::disassemble(&program)
        .map_err(|(pc, e)| CommandFailure::in_file(&args.input, format!("word {pc}: {e}")))?
        .addresses(args.addresses);
    let words: Vec<_> = (0..program.words.len())
        .map(|pc| {
            json!({
                "pc": pc,
                "bits": format!("{:016x}", program.words[pc]),
                "text": listing.word(pc),
                "labels": listing.labels(pc),
                "source": program.location(pc),
            })
        })
        .collect();
    let json = json!({
        "schema": "cp2-disasm/1",
        "tool_version": env!("CARGO_PKG_VERSION"),
        "input": display_path(&args.input),
        "entry": program.entry,
        "words": words,
    });
    let listing = if args.sources {
        listing.sources(source_text)
    } else {
        listing
    };
    let mut text = listing.to_string();
    if let Some(output) = &args.output {
        Outputs::from_inputs([args.input.as_path()]).check(output)?;
        write_whole(output, text.as_bytes())?;
        text = format!("{}: {} words\n", output.display(), program.words.len());
    }
    Ok(CommandOutcome {
        text,
        json,
        ..CommandOutcome::default()
    })
}
