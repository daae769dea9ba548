//! Problems on backends whose times are measured, and their reports.

use super::{BackendName, OpenBackend};
use crate::digits::decimal;
use crate::interrupt;
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::simulation::{SimulationArgs, merge};
use crate::table::seconds;
use cp2_machine::Machine;
use cp2_problems::{NamedArrays, Problem, Values, Verdict};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The `--backend` option of commands that compute a problem.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct BackendArg {
    /// Backend that computes; the times of gpu and native are measured, and nothing is simulated
    #[arg(long, value_enum, value_name = "NAME", default_value = "cp2")]
    backend: BackendName,
}

impl BackendArg {
    /// Returns the backend that is not emulated, if one is asked for. `others` are options of the command that
    /// belong to emulated machines, with whether they are given.
    ///
    /// # Errors
    /// An option of a simulation is given.
    pub(crate) fn measured(
        self,
        simulation: &SimulationArgs,
        others: &[(&'static str, bool)],
    ) -> Result<Option<BackendName>, CommandFailure> {
        if self.backend == BackendName::Cp2 {
            return Ok(None);
        }
        let mut others = others.iter().filter(|(_, given)| *given);
        let given = simulation
            .find_given()
            .or(others.next().map(|(name, _)| *name));
        match given {
            None => Ok(Some(self.backend)),
            Some(option) => Err(CommandFailure::input(format!(
                "{option}: nothing is simulated with --backend {}, whose times are measured; leave it out, or take \
                 --backend cp2",
                self.backend
            ))),
        }
    }
}

/// Keys of reports of simulations that are null where nothing is simulated.
const SIMULATED_KEYS: [&str; 30] = [
    "machine",
    "machine_hash",
    "engine",
    "end",
    "end_details",
    "cycles",
    "seconds_simulated",
    "causes",
    "words",
    "operations",
    "flops",
    "dmem_bytes_read",
    "dmem_bytes_written",
    "kernels",
    "dma",
    "host",
    "host_seconds",
    "single_buffered",
    "efficiency",
    "expected_cycles",
    "bound_cycles",
    "reference_cycles",
    "reference_method",
    "reference_source",
    "reference_term",
    "stages",
    "pages",
    "passes",
    "buffering",
    "findings",
];

/// Seconds below which a native run is repeated, and the second one is measured.
const REPEATED: f64 = 5.0;

/// A problem that a backend has computed in measured time.
pub(crate) struct MeasuredRun {
    /// The output.
    pub(crate) output: NamedArrays,
    /// Seconds from the input in memory to the output in memory.
    pub(crate) seconds: f64,
    /// Comparison with the reference; none where the input is not finite.
    pub(crate) verdict: Option<Verdict>,
    /// Algorithm of the backend.
    recipe: Option<String>,
    description: String,
    fields: Value,
}

impl MeasuredRun {
    /// Computes a problem and judges the result.
    ///
    /// # Errors
    /// The backend does not compute the problem, or fails.
    pub(crate) fn new(
        name: BackendName,
        problem: &dyn Problem,
        input: &NamedArrays,
    ) -> Result<Self, CommandFailure> {
        // Backends with measured times need no machine, and are told of none.
        let machine = Arc::new(Machine::load("vm7")?);
        let open = OpenBackend::open(name, &machine)?;
        let prepared = interrupt::plan_interruptible(|| open.backend.prepare(problem))?;
        let mut prepared = prepared.map_err(CommandFailure::input)?;
        let mut run = || {
            let outcome = interrupt::compute_interruptible(|| prepared.run(input))?;
            outcome.map_err(CommandFailure::input)
        };
        // A first run may also be that of the driver's compiler, and touches memory for the first time.
        let mut outcome = run()?;
        if name == BackendName::Gpu || outcome.seconds < REPEATED {
            outcome = run()?;
        }
        let verdict = match is_finite(input) {
            true => Some(interrupt::run_interruptible(|| {
                problem.judge(input, &outcome.output)
            })?),
            false => None,
        };
        let own = json!({
            "backend": name.name(),
            "clock": open.clock.to_string(),
            "seconds": outcome.seconds,
            "adapter": null,
            "recipe": prepared.recipe(),
        });
        Ok(Self {
            fields: merge(own, open.fields.clone()),
            description: format!("{name}: {}", open.description),
            recipe: prepared.recipe(),
            output: outcome.output,
            seconds: outcome.seconds,
            verdict,
        })
    }

    /// Returns the report as text, behind a title: backend, time, algorithm. `rate` is a figure beside the time.
    pub(crate) fn text(&self, title: &str, rate: &str) -> String {
        let recipe = self.recipe.iter().map(|recipe| format!("{recipe}\n"));
        format!(
            "{title}\n{}\n{}time  {} measured{rate}\n",
            self.description,
            recipe.collect::<String>(),
            seconds(self.seconds),
        )
    }

    /// Returns the line about the error; `reference` is what it is compared with, `part` what has a tolerance.
    pub(crate) fn error_text(&self, reference: &str, part: &str) -> String {
        match self.verdict {
            Some(v) => format!(
                "error against {reference}: {:.2e} relative RMS, worst {part} {} of the tolerance\n",
                v.rms,
                decimal(v.worst, 2, 1.0)
            ),
            None => "error: not known (an input that is not finite)\n".to_owned(),
        }
    }

    /// Returns the report of a schema as JSON: keys of simulations are null, `figures` are the command's own.
    pub(crate) fn json(&self, schema: &str, seed: Option<u64>, figures: Value) -> Value {
        let nulls = SIMULATED_KEYS.map(|key| (key.to_owned(), Value::Null));
        let head = json!({
            "schema": schema,
            "tool_version": env!("CARGO_PKG_VERSION"),
            "seed": seed,
            "outside_time": [],
            "verified": self.verdict.map(|v| v.is_within_tolerance()),
            "worst_error_over_tolerance": self.verdict.map(|v| v.worst),
        });
        let nulls = Value::Object(nulls.into_iter().collect::<Map<_, _>>());
        merge(merge(merge(nulls, head), self.fields.clone()), figures)
    }
}

/// Adds the backend and its clock to a report of a simulation.
pub(crate) fn add_simulated_clock(outcome: &mut CommandOutcome) {
    let own = json!({
        "backend": BackendName::Cp2.name(),
        "clock": cp2_problems::Clock::Simulated.to_string(),
        "seconds": outcome.json["seconds_simulated"],
        "adapter": null,
    });
    outcome.json = merge(std::mem::take(&mut outcome.json), own);
}

/// True if all floats are finite.
fn is_finite(input: &NamedArrays) -> bool {
    input.arrays().iter().all(|array| match &array.values {
        Values::F32(x) => x.iter().all(|x| x.is_finite()),
        Values::F64(x) => x.iter().all(|x| x.is_finite()),
        Values::Complex64(x) => x.iter().all(|x| x.is_finite()),
        _ => true,
    })
}
