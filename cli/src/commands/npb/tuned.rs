//! Files of `cp2 tune mg`: which passes V-cycles are made of, in which blocks.

use crate::commands::text;
use crate::io::read_small;
use crate::outcome::CommandFailure;
use cp2_kernels::npb::mg::{MultigridPlan, PassShape};
use cp2_machine::Machine;
use cp2_problems::npb::NpbClass;
use cp2_problems::npb::mg::MgClass;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// Largest file accepted.
const LIMIT: u64 = 1 << 20;

/// What a file is made for.
const BENCHMARK: &str = "MG";

/// A file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct TuningFile {
    benchmark: String,
    class: String,
    /// Name of the machine, for readers.
    machine: String,
    /// What decides whether it is the same machine.
    machine_hash: String,
    pub(crate) pass: Vec<PassShape>,
}

impl TuningFile {
    /// Passes of a class on a machine.
    pub(crate) fn new(class: NpbClass, machine: &Machine, pass: Vec<PassShape>) -> Self {
        Self {
            benchmark: BENCHMARK.to_owned(),
            class: class.to_string(),
            machine: machine.name.clone(),
            machine_hash: machine.hash.clone(),
            pass,
        }
    }

    /// Its text.
    pub(crate) fn text(&self) -> Result<String, CommandFailure> {
        let head = format!(
            "# Passes and blocks of `cp2 npb mg --class {}`, found by `cp2 tune mg`; used with `--tuned`.\n",
            self.class
        );
        Ok(head + &toml::to_string(self).map_err(CommandFailure::input)?)
    }

    /// Refuses what is made for another benchmark, class or machine.
    fn check(&self, class: NpbClass, machine: &Machine) -> Result<(), String> {
        let again = format!("`cp2 tune mg --class {class}` makes one for this run");
        if self.benchmark != BENCHMARK {
            return Err(format!(
                "`benchmark`: made for {}; expected {BENCHMARK}: {again}",
                self.benchmark
            ));
        }
        if self.class != class.name() {
            return Err(format!(
                "`class`: made for class {}; expected {class}: {again}",
                self.class
            ));
        }
        if self.machine_hash != machine.hash {
            return Err(format!(
                "`machine-hash`: made for the machine {} with the hash {}; expected that of {}, {}: {again} with this `--machine`",
                self.machine, self.machine_hash, machine.name, machine.hash
            ));
        }
        Ok(())
    }
}

/// The plan that a file says.
pub(super) fn plan(
    path: &Path,
    class: NpbClass,
    machine: &Arc<Machine>,
) -> Result<MultigridPlan, CommandFailure> {
    let source = text(path, read_small(path, LIMIT)?)?;
    let file: TuningFile = toml::from_str(&source).map_err(|e| CommandFailure::in_file(path, e))?;
    let checked = file.check(class, machine);
    checked.map_err(|e| CommandFailure::in_file(path, e))?;
    let problem = MgClass::of(class).problem();
    MultigridPlan::tuned(problem, &file.pass, machine).map_err(|e| CommandFailure::in_file(path, e))
}
