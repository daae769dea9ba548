//! Options that choose a backend, and those that only simulations have.

use super::{BackendName, OpenBackend};
use crate::outcome::CommandFailure;
use clap::parser::ValueSource;
use clap::{ArgMatches, Command};
use cp2_machine::Machine;
use std::sync::Arc;

/// The `--backend` option of commands that compute a problem.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct BackendArg {
    /// Backend that computes; the times of gpu and native are measured, and nothing is simulated
    #[arg(long, value_enum, value_name = "NAME", default_value = "cp2")]
    backend: BackendName,
    #[command(flatten)]
    adapter: AdapterArg,
}

/// The `--adapter` option of commands that compute on graphics cards.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct AdapterArg {
    /// Graphics card that computes: a part of its name, whatever the case of letters [default: of the fastest kind
    /// that there is]
    #[arg(long, value_name = "PART")]
    adapter: Option<String>,
}

impl AdapterArg {
    /// Returns the part of a name.
    #[cfg(feature = "gpu")]
    pub(crate) fn name(&self) -> Option<&str> {
        self.adapter.as_deref()
    }

    /// Refuses the option where no graphics card computes.
    pub(crate) fn check(&self, is_used: bool) -> Result<(), CommandFailure> {
        match self.adapter.is_some() && !is_used {
            true => Err(CommandFailure::input(
                "--adapter: only graphics cards have adapters; take --backend gpu with it, or leave it out",
            )),
            false => Ok(()),
        }
    }
}

/// A chosen backend whose times are measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MeasuredBackend<'a> {
    /// Its name on the command line.
    pub(crate) name: BackendName,
    adapter: &'a AdapterArg,
}

impl BackendArg {
    /// Returns the backend that is not emulated, if one is asked for.
    ///
    /// # Errors
    /// An adapter is named for a backend that has none, or several ranks were started for one that runs in a process.
    pub(crate) fn measured(&self) -> Result<Option<MeasuredBackend<'_>>, CommandFailure> {
        self.adapter.check(self.backend == BackendName::Gpu)?;
        if self.backend == BackendName::Cp2 {
            return Ok(None);
        }
        crate::processors::refuse_ranks()?;
        Ok(Some(MeasuredBackend {
            name: self.backend,
            adapter: &self.adapter,
        }))
    }
}

impl MeasuredBackend<'_> {
    /// Returns a machine that refuses no size: only this computer's memory limits what is read.
    pub(crate) fn unlimited_machine() -> Result<Machine, CommandFailure> {
        let mut machine = Machine::load("vm7")?;
        machine.host.memory.0 = u64::MAX;
        Ok(machine)
    }

    /// Opens the backend.
    ///
    /// # Errors
    /// The program was built without it, or this computer has none.
    pub(crate) fn open(&self) -> Result<OpenBackend, CommandFailure> {
        // Backends with measured times are told of no machine.
        let machine = Arc::new(Self::unlimited_machine()?);
        OpenBackend::open(self.name, &machine, self.adapter)
    }
}

/// Identifiers of the options that say how to simulate.
const SIMULATIONS: [&str; 17] = [
    "trace",
    "profile",
    "check",
    "emit",
    "engine",
    "threads",
    "max_cycles",
    "machine",
    "plan",
    "procs",
    "split",
    "gather",
    "sum",
    "tuned",
    "format",
    "filter_method",
    "exact_nonfinite",
];

/// Refuses options of a simulation, be it with their defaults, where another backend is asked for.
///
/// # Errors
/// One is on the command line.
pub(crate) fn refuse_simulation_options(
    command: &Command,
    matches: &ArgMatches,
) -> Result<(), CommandFailure> {
    if let Some((name, inner)) = matches.subcommand() {
        let command = command.find_subcommand(name);
        return command.map_or(Ok(()), |command| refuse_simulation_options(command, inner));
    }
    let backend = matches.try_get_one::<BackendName>("backend");
    let Some(backend) = backend.ok().flatten() else {
        return Ok(());
    };
    if *backend == BackendName::Cp2 {
        return Ok(());
    }
    let is_given = |id: &str| matches.value_source(id) == Some(ValueSource::CommandLine);
    let mut given = command.get_arguments().filter(|arg| {
        let id = arg.get_id().as_str();
        SIMULATIONS.contains(&id) && is_given(id)
    });
    match given.next().and_then(clap::Arg::get_long) {
        None => Ok(()),
        Some(option) => Err(CommandFailure::input(format!(
            "--{option}: nothing is simulated with --backend {backend}, whose times are measured; leave it out, or take \
             --backend cp2"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Walks the tree of commands, and collects those that have a backend.
    fn list_commands<'a>(command: &'a Command, found: &mut Vec<&'a Command>) {
        let has = |id: &str| command.get_arguments().any(|arg| arg.get_id() == id);
        if has("backend") {
            found.push(command);
        }
        command
            .get_subcommands()
            .for_each(|inner| list_commands(inner, found));
    }

    /// Every option that is refused exists, and every command that has a backend has some of them.
    #[test]
    fn options_of_simulations_exist() {
        use clap::CommandFactory as _;
        let tree = crate::Cli::command();
        let mut commands = Vec::new();
        list_commands(&tree, &mut commands);
        assert!(commands.len() >= 11, "{}", commands.len());
        let has =
            |command: &Command, id: &str| command.get_arguments().any(|arg| arg.get_id() == id);
        for id in SIMULATIONS {
            assert!(commands.iter().any(|command| has(command, id)), "{id}");
        }
        for command in commands {
            for id in ["machine", "engine", "threads", "check", "emit", "adapter"] {
                assert!(has(command, id), "{} --{id}", command.get_name());
            }
        }
    }
}
