//! `cp2 machines`: lists the machines, shows one with its sources, or compares two.

use crate::commands::load_machine;
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::table::{Align, TextTable};
use cp2_machine::{Machine, Parameter, RowDefinition};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};

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
    /// List the parameters in which two machines differ, with both values and their sources
    #[command(after_help = "Example: cp2 machines diff vm7 vm9+section-addressing")]
    Diff {
        /// Name or path of the first machine file, also with changes
        first: String,
        /// Name or path of the second one
        second: String,
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
        Some(MachinesAction::Diff { first, second }) => {
            Ok(diff(&load_machine(first)?, &load_machine(second)?))
        }
        Some(MachinesAction::Show { machine, toml }) => show(&load_machine(machine)?, *toml),
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
        "{}: {}\nhash {}\n{note}\n{table}{}",
        machine.name,
        machine.description,
        machine.hash,
        list_rows(machine)
    );
    Ok(CommandOutcome {
        text,
        json,
        ..CommandOutcome::default()
    })
}

/// Returns the table of the instructions that the machine file defines; nothing where there are none.
fn list_rows(machine: &Machine) -> String {
    let rows = &machine.cp2.rows;
    if rows.is_empty() {
        return String::new();
    }
    let mut table = TextTable::new(&[
        Align::Left,
        Align::Left,
        Align::Right,
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Right,
        Align::Left,
        Align::Left,
        Align::Left,
    ]);
    let head = [
        "row",
        "form",
        "opcode",
        "class",
        "latency",
        "mul",
        "add",
        "source",
        "reference",
        "lanes",
    ];
    table.row(head);
    for row in rows.iter().map(|row| row.definition()) {
        let latency = row.latency.unwrap_or(machine.cp2.latency[row.class]);
        table.row([
            row.mnemonic.as_str(),
            row.form.name(),
            &row.opcode.to_string(),
            row.class.name(),
            &latency.0.to_string(),
            &row.flow.muls().to_string(),
            &row.flow.adds().to_string(),
            row.origin.source.name(),
            &row.origin.reference,
            &row.lanes,
        ]);
    }
    format!("\n{table}")
}

/// Lists the parameters that differ; one that a machine does not have, since it lacks the extension, is a `-`.
fn diff(first: &Machine, second: &Machine) -> CommandOutcome {
    let value = |p: &Parameter<'_>| match p.text.is_empty() {
        true => "none".to_owned(),
        false => format!("{} {}", p.text, p.unit).trim_end().to_owned(),
    };
    let source = |p: &Parameter<'_>| {
        let (source, reference) = (p.origin.source.name(), &p.origin.reference);
        format!("{source} {reference}").trim_end().to_owned()
    };
    let of = |machine| Machine::parameters(machine).map(|p| (p.row.key, p));
    let [a, b]: [BTreeMap<_, _>; 2] = [of(first).collect(), of(second).collect()];
    // The second machine's extensions may have parameters that the first lacks: they come last.
    let own = first.parameters().map(|p| p.row);
    let more = second.parameters().map(|p| p.row);
    let keys = own.chain(more.filter(|row| !a.contains_key(row.key)));
    let mut table = TextTable::new(&[
        Align::Left,
        Align::Right,
        Align::Right,
        Align::Left,
        Align::Left,
    ]);
    let sources = [first, second].map(|machine| format!("source of {}", machine.name));
    table.row([
        "parameter",
        &first.name,
        &second.name,
        &sources[0],
        &sources[1],
    ]);
    let mut rows: Vec<Value> = Vec::new();
    for row in keys {
        let both = [a.get(row.key), b.get(row.key)];
        if both[0].map(|p| p.value) == both[1].map(|p| p.value) {
            continue;
        }
        let show = |text: &dyn Fn(&Parameter<'_>) -> String| {
            both.map(|p| p.map_or_else(|| "-".to_owned(), text))
        };
        let ([x, y], [from, to]) = (show(&value), show(&source));
        table.row([row.key, &x, &y, &from, &to]);
        let object = |p: Option<&Parameter<'_>>| {
            p.map(|p| {
                json!({
                    "value": p.text,
                    "unit": p.unit,
                    "source": p.origin.source.name(),
                    "ref": p.origin.reference,
                })
            })
        };
        rows.push(json!({
            "key": row.key,
            "first": object(both[0]),
            "second": object(both[1]),
            "doc": row.doc,
        }));
    }
    // Rows are instructions: one that a machine lacks, or has otherwise, is shown as it is in each.
    let of = |machine: &Machine| -> BTreeMap<_, _> {
        let rows = machine.cp2.rows.iter().map(|row| row.definition());
        rows.map(|row| (format!("row.{}.{}", row.mnemonic, row.form), row))
            .collect()
    };
    let [a, b] = [of(first), of(second)];
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    for key in keys {
        let both = [a.get(key), b.get(key)];
        let essence = both.map(|row| row.map(|row| row.essence()));
        if essence[0] == essence[1] {
            continue;
        }
        // Rows with the same lanes differ in what else decides their meaning or their time.
        let lanes = both.map(|row| row.map(|row| &row.lanes));
        let show = |row: &RowDefinition| match lanes[0] == lanes[1] {
            true => row.essence(),
            false => row.lanes.clone(),
        };
        let [x, y] = both.map(|row| row.map_or_else(|| "-".to_owned(), |row| show(row)));
        let [from, to] = both.map(|row| {
            row.map_or_else(
                || "-".to_owned(),
                |row| format!("{} {}", row.origin.source, row.origin.reference),
            )
        });
        table.row([key, &x, &y, from.trim_end(), to.trim_end()]);
        rows.push(json!({
            "key": key,
            "first": both[0].map(|row| row.to_json()),
            "second": both[1].map(|row| row.to_json()),
            "doc": both[1].or(both[0]).map_or("", |row| &row.doc),
        }));
    }
    let text = match rows.is_empty() {
        true => format!(
            "{} and {} have the same parameters\n",
            first.name, second.name
        ),
        false => table.to_string(),
    };
    let side = |machine: &Machine| json!({"name": machine.name, "hash": machine.hash});
    CommandOutcome {
        text,
        json: json!({
            "schema": "cp2-machines-diff/1",
            "tool_version": env!("CARGO_PKG_VERSION"),
            "first": side(first),
            "second": side(second),
            "parameters": rows,
        }),
        ..CommandOutcome::default()
    }
}
