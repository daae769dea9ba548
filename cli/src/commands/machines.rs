//! `cp2 machines`: lists the machines, or shows one with its sources.

use crate::outcome::{CommandFailure, CommandOutcome};
use crate::table::{Align, TextTable};
use cp2_machine::Machine;
use serde_json::json;

/// Arguments.
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    action: Option<MachinesAction>,
}

/// Action on machines.
#[derive(Debug, clap::Subcommand)]
enum MachinesAction {
    /// Show every parameter of a machine with its unit and source
    Show {
        /// Name or path of a machine file
        machine: String,
        /// Print a complete machine file, which can be loaded again [default: a table]
        #[arg(long)]
        toml: bool,
    },
}

/// Runs `cp2 machines`.
pub(crate) fn run(args: &Args, json: bool) -> Result<CommandOutcome, CommandFailure> {
    match &args.action {
        None => Ok(list()),
        // Clap detects a conflict with a global option only if both follow the same subcommand.
        Some(MachinesAction::Show { toml: true, .. }) if json => Err(CommandFailure::input(
            "--toml and --json are two formats of the same; choose one",
        )),
        Some(MachinesAction::Show { machine, toml }) => show(&Machine::load(machine)?, *toml),
    }
}

fn list() -> CommandOutcome {
    let mut table = TextTable::new(&[Align::Left, Align::Left]);
    let machines: Vec<Machine> = Machine::names()
        .into_iter()
        .filter_map(Machine::builtin)
        .collect();
    for m in &machines {
        table.row([&m.name, &m.description]);
    }
    let list: Vec<_> = machines
        .iter()
        .map(|m| json!({"name": m.name, "description": m.description, "hash": m.hash}))
        .collect();
    let json = json!({"schema": "cp2-machines/1", "tool_version": env!("CARGO_PKG_VERSION"), "machines": list});
    CommandOutcome {
        text: table.to_string(),
        json,
        ..CommandOutcome::default()
    }
}

fn show(machine: &Machine, toml: bool) -> Result<CommandOutcome, CommandFailure> {
    let mut json = machine.to_json();
    json["tool_version"] = env!("CARGO_PKG_VERSION").into();
    if toml {
        return Ok(CommandOutcome {
            text: machine.to_toml(),
            json,
            ..CommandOutcome::default()
        });
    }
    let mut table = TextTable::new(&[
        Align::Left,
        Align::Right,
        Align::Left,
        Align::Left,
        Align::Left,
        Align::Left,
    ]);
    for p in machine.parameters() {
        let o = p.origin;
        table.row([
            p.row.key,
            &p.text,
            p.unit,
            o.source.name(),
            &o.reference,
            p.row.doc,
        ]);
    }
    let note = if machine.note.is_empty() {
        String::new()
    } else {
        format!("{}\n", machine.note)
    };
    let text = format!(
        "{}: {}\nhash {}\n{note}\n{table}",
        machine.name, machine.description, machine.hash
    );
    Ok(CommandOutcome {
        text,
        json,
        ..CommandOutcome::default()
    })
}
