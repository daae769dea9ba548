//! The `cp2` command: a thin shell around the library crates.
//!
//! A command is a function from its arguments to an `Outcome`; this file
//! prints it and turns it into an exit code.

mod backends;
mod commands;
mod digits;
mod expansion;
mod interrupt;
mod io;
mod memory;
mod outcome;
mod packing;
mod picture;
mod processors;
mod progress;
mod provenance;
mod radar;
mod simulation;
mod table;
mod terminal;

use clap::{CommandFactory as _, FromArgMatches as _, Parser};
use outcome::{CommandFailure, CommandOutcome};
use std::borrow::Cow;
use std::io::Write;
use std::process::ExitCode;
use terminal::visible;

/// Arguments of the program, with options of every command.
#[derive(Debug, Parser)]
#[command(
    name = "cp2",
    version,
    about = "Assemble, run and measure programs for a CP2-style SIMD coprocessor",
    after_help = "Exit codes: 0 fine, 1 a verification or checker failed, 2 bad input, \
                  3 the guest faulted, deadlocked or was stopped before its end. \
                  With --json standard output is one object in any case: the figures, or, where \
                  there are none, schema cp2-error/1 with the exit code and the message, which \
                  people find on standard error."
)]
struct Cli {
    #[command(subcommand)]
    command: commands::CliCommand,
    /// Print one JSON object instead of text [default: text]
    #[arg(long, global = true)]
    json: bool,
}

/// Runs the command that the arguments of this process name, and prints its result.
#[must_use]
pub fn main() -> ExitCode {
    let mut command = numeric(Cli::command());
    let matches = command.try_get_matches_from_mut(std::env::args_os());
    let parsed = matches.and_then(|matches| {
        let cli = Cli::from_arg_matches(&matches).map_err(|e| e.format(&mut command))?;
        Ok((cli, matches))
    });
    let (cli, matches) = match parsed {
        Ok(parsed) => parsed,
        Err(e) => return usage(&e),
    };
    interrupt::outlive_large_files();
    let json = cli.json;
    interrupt::install(move |failure| print_failure(failure, json));
    let room = memory::check_memory("any command", 0).map_err(CommandFailure::from);
    let fits = room.and_then(|()| backends::refuse_simulation_options(&command, &matches));
    let run = fits.and_then(|()| cli.command.run(json));
    let done = run.and_then(|outcome| {
        if processors::is_first() {
            finish(&outcome, json)?;
        }
        Ok(outcome.exit)
    });
    let code = done.unwrap_or_else(|failure| {
        processors::wait_for_first();
        print_failure(&failure, json);
        processors::abort_ranks(failure.exit);
        failure.exit
    });
    interrupt::end_at_once();
    ExitCode::from(code)
}

/// Changes all options to take -1 as a number and not as another option; each option itself decides which
/// numbers it accepts.
fn numeric(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| match arg.get_action().takes_values() {
            true => arg.allow_negative_numbers(true),
            false => arg,
        })
        .mut_subcommands(numeric)
}

/// Prints help and version, or the error about arguments that cannot be parsed.
fn usage(e: &clap::Error) -> ExitCode {
    let asked_for = !e.use_stderr();
    if asked_for || !std::env::args_os().any(|arg| arg == "--json") {
        // Clap prints in colour, unless the arguments contain control characters.
        let message = e.render().to_string();
        let printed = match visible(&message) {
            Cow::Borrowed(_) => e.print(),
            Cow::Owned(shown) => std::io::stderr().write_all(shown.as_bytes()),
        };
        return match printed {
            Err(e) if asked_for && e.kind() != std::io::ErrorKind::BrokenPipe => {
                print_failure(&CommandFailure::input(unwritable(&e)), false);
                ExitCode::from(outcome::BAD_INPUT)
            }
            _ if asked_for => ExitCode::SUCCESS,
            _ => ExitCode::from(outcome::BAD_INPUT),
        };
    }
    print_failure(&CommandFailure::input(e.render()), true);
    ExitCode::from(outcome::BAD_INPUT)
}

fn unwritable(e: &std::io::Error) -> String {
    format!("cannot write to standard output: {e}")
}

/// Prints the result; notes (checker findings, warnings) go to standard error.
fn finish(outcome: &CommandOutcome, json: bool) -> Result<(), CommandFailure> {
    if !outcome.notes.is_empty() {
        say(outcome.notes.trim_end());
    }
    if json {
        print(&format!("{}\n", outcome.json))
    } else {
        print(&outcome.text)
    }
}

/// Prints a failure to standard error and, with `--json`, as an object to standard output.
fn print_failure(failure: &CommandFailure, json: bool) {
    let message = failure.message.trim_end();
    let prefix = if message.starts_with("error") || message.starts_with("warning") {
        ""
    } else {
        "error: "
    };
    say(&format!("{prefix}{message}"));
    if json {
        let _ = print(&format!("{}\n", failure.json()));
    }
}

/// Prints a text to standard error.
fn say(text: &str) {
    let _ = writeln!(std::io::stderr(), "{}", visible(text));
}

/// Prints the only text of standard output. A reader that has closed its end is no error.
fn print(text: &str) -> Result<(), CommandFailure> {
    if !interrupt::first_to_print() {
        return Ok(());
    }
    let mut out = std::io::stdout().lock();
    match out
        .write_all(visible(text).as_bytes())
        .and_then(|()| out.flush())
    {
        Err(e) if e.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(CommandFailure::input(unwritable(&e)))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_tree_is_consistent() {
        Cli::command().debug_assert();
    }

    /// A command that only plans refuses every option of a simulation.
    #[test]
    fn a_plan_takes_no_option_of_a_run() {
        let mut found = 0;
        let tree = Cli::command();
        for command in tree.get_subcommands() {
            let mut plans = command.get_arguments().filter(|arg| arg.get_id() == "plan");
            // `map` prints its plan and runs as well.
            let only = |arg: &&clap::Arg| {
                arg.get_help()
                    .is_some_and(|help| help.to_string().contains("nothing"))
            };
            let Some(plan) = plans.find(only) else {
                continue;
            };
            let refused = command.get_arg_conflicts_with(plan);
            for name in simulation::SIMULATED {
                assert!(
                    refused.iter().any(|arg| arg.get_id() == name),
                    "{} --plan --{name}",
                    command.get_name()
                );
            }
            found += 1;
        }
        assert!(found >= 4, "{found}");
    }

    /// Walks the tree and checks that every option says what happens without it.
    #[test]
    fn every_option_documents_its_default() {
        fn walk(command: &clap::Command, path: &str) {
            for arg in command.get_arguments().filter(|a| {
                !a.is_positional() && !["help", "version"].contains(&a.get_id().as_str())
            }) {
                let help = arg
                    .get_long_help()
                    .or(arg.get_help())
                    .map(ToString::to_string)
                    .unwrap_or_default();
                let stated = help.contains("[default")
                    || !arg.get_default_values().is_empty()
                    || arg.is_required_set();
                assert!(
                    stated,
                    "{path}: --{} does not document its default",
                    arg.get_id()
                );
            }
            for sub in command.get_subcommands() {
                walk(sub, &format!("{path} {}", sub.get_name()));
            }
        }
        walk(&Cli::command(), "cp2");
    }
}
