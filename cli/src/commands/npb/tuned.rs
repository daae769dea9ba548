//! Files of `cp2 tune mg`: the passes of V-cycles and their blocks.

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

/// Name of the benchmark in the files.
const BENCHMARK: &str = "MG";

/// Contents of a tuning file.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(crate) struct TuningFile {
    benchmark: String,
    class: String,
    /// Name of the machine, for human readers.
    machine: String,
    /// Hash by which the machine is recognised.
    machine_hash: String,
    pub(crate) pass: Vec<PassShape>,
}

impl TuningFile {
    /// Makes the contents for a class on a machine.
    pub(crate) fn new(class: NpbClass, machine: &Machine, pass: Vec<PassShape>) -> Self {
        Self {
            benchmark: BENCHMARK.to_owned(),
            class: class.to_string(),
            machine: machine.name.clone(),
            machine_hash: machine.hash.clone(),
            pass,
        }
    }

    /// Returns the text of the file.
    pub(crate) fn text(&self) -> Result<String, CommandFailure> {
        let head = format!(
            "# Passes and blocks of `cp2 npb mg --class {}`, found by `cp2 tune mg`; used with `--tuned`.\n",
            self.class
        );
        Ok(head + &toml::to_string(self).map_err(CommandFailure::input)?)
    }

    /// Refuses a file for another benchmark, class or machine.
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

/// Makes the plan that a file describes.
pub(super) fn plan(
    path: &Path,
    class: NpbClass,
    machine: &Arc<Machine>,
) -> Result<MultigridPlan, CommandFailure> {
    let source = text(path, read_small(path, LIMIT)?)?;
    let file: TuningFile = toml::from_str(&source).map_err(|e| CommandFailure::in_file(path, e))?;
    let checked = file.check(class, machine);
    checked.map_err(|e| CommandFailure::in_file(path, e))?;
    let problem = MgClass::from_class(class).problem();
    MultigridPlan::tuned(problem, &file.pass, machine).map_err(|e| CommandFailure::in_file(path, e))
}
