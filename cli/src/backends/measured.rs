//! Problems on backends whose times are measured, and their reports.

use super::{BackendName, MeasuredBackend};
use crate::digits::{decimal, significant};
use crate::interrupt;
use crate::io::{Kind, NpyArray, display_path, write_npy};
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::simulation::merge;
use crate::table::seconds;
use cp2_problems::{NamedArrays, Prepared, Problem, Values, Verdict};
use serde_json::{Map, Value, json};
use std::path::Path;

/// Keys of all reports of one simulation, which are null where nothing is simulated.
pub(crate) const SIMULATED_KEYS: [&str; 26] = [
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
    "single_buffered",
    "efficiency",
    "expected_cycles",
    "bound_cycles",
    "reference_cycles",
    "reference_method",
    "reference_source",
    "reference_term",
    "host_seconds",
    "findings",
];

/// Seconds below which a native run is repeated, and the second one is measured.
const REPEATED: f64 = 5.0;

/// A problem that a backend has computed in measured time.
#[derive(Debug)]
pub(crate) struct MeasuredRun {
    /// The output of the last input.
    pub(crate) output: NamedArrays,
    /// Seconds from the input in memory to the output in memory, of all inputs together.
    pub(crate) seconds: f64,
    name: BackendName,
    prepared: Box<dyn Prepared>,
    description: String,
    fields: Value,
}

impl MeasuredRun {
    /// Computes a problem.
    ///
    /// # Errors
    /// The backend does not compute the problem, or fails.
    pub(crate) fn new(
        backend: &MeasuredBackend<'_>,
        problem: &dyn Problem,
        input: &NamedArrays,
    ) -> Result<Self, CommandFailure> {
        let open = backend.open()?;
        let prepared = interrupt::plan_interruptible(|| open.backend.prepare(problem))?;
        let own = json!({
            "backend": backend.name.name(),
            "clock": open.clock.to_string(),
            "adapter": open.fields.get("adapter"),
        });
        let mut run = Self {
            output: NamedArrays::default(),
            seconds: 0.0,
            name: backend.name,
            prepared: prepared.map_err(CommandFailure::input)?,
            description: format!("{}: {}", backend.name, open.description),
            fields: own,
        };
        run.add_input(input)?;
        // A first run may also be that of the driver's compiler, and touches memory for the first time.
        if backend.name == BackendName::Gpu || run.seconds < REPEATED {
            run.seconds = 0.0;
            run.add_input(input)?;
        }
        Ok(run)
    }

    /// Returns the name of the backend.
    pub(crate) fn backend(&self) -> &'static str {
        self.name.name()
    }

    /// Computes the problem from another input, whose time is added.
    ///
    /// # Errors
    /// The backend fails.
    pub(crate) fn add_input(&mut self, input: &NamedArrays) -> Result<(), CommandFailure> {
        let outcome = interrupt::compute_interruptible(|| self.prepared.run(input))?;
        let outcome = outcome.map_err(CommandFailure::input)?;
        self.output = outcome.output;
        self.seconds += outcome.seconds;
        Ok(())
    }

    /// Compares the output with the reference; none where the input is not finite.
    ///
    /// # Errors
    /// An interrupt.
    pub(crate) fn judge(
        &self,
        problem: &dyn Problem,
        input: &NamedArrays,
    ) -> Result<Option<Verdict>, CommandFailure> {
        let judged = is_finite(input)
            .then(|| interrupt::run_interruptible(|| problem.judge(input, &self.output)));
        judged.transpose()
    }

    /// Returns the report as text, behind a title: backend, algorithm, time, and a rate with its unit.
    pub(crate) fn text(&self, title: &str, rate: Option<(f64, &str)>) -> String {
        let recipe = self.prepared.recipe();
        let recipe = recipe.map_or_else(String::new, |recipe| format!("{recipe}\n"));
        let rate = rate.filter(|(rate, _)| rate.is_finite());
        let rate = rate.map_or_else(String::new, |(rate, unit)| {
            format!(", {} {unit}", significant(rate))
        });
        format!(
            "{title}\n{}\n{recipe}time  {} measured{rate}\n",
            self.description,
            seconds(self.seconds),
        )
    }

    /// Returns the report of a schema as JSON: `figures` are the command's own, and `nulls` are keys that only reports
    /// of simulations have a value for.
    pub(crate) fn json(
        &self,
        schema: &str,
        seed: Option<u64>,
        nulls: &[&[&str]],
        figures: Value,
    ) -> Value {
        let nulls = nulls.iter().copied().flatten();
        let nulls: Map<String, Value> = nulls.map(|key| ((*key).to_owned(), Value::Null)).collect();
        let head = json!({
            "schema": schema,
            "tool_version": env!("CARGO_PKG_VERSION"),
            "seed": seed,
            "seconds": self.seconds,
            "recipe": self.prepared.recipe(),
            "outside_time": [],
        });
        let head = merge(merge(Value::Object(nulls), head), self.fields.clone());
        merge(head, figures)
    }

    /// Writes an array of the output to a file, if there is one, in a shape, and reports it under `key`.
    ///
    /// # Errors
    /// The backend gave no such array, or the file cannot be written.
    pub(crate) fn write(
        &self,
        path: Option<&Path>,
        (name, shape): (&'static str, &[usize]),
        outcome: &mut CommandOutcome,
    ) -> Result<(), CommandFailure> {
        let Some(path) = path else {
            return Ok(());
        };
        let array = self.output.array(name).map_err(CommandFailure::input)?;
        let array = NpyArray {
            kind: match array.values {
                Values::F32(_) => Kind::Float32,
                _ => Kind::Complex64,
            },
            shape: shape.to_vec(),
            bytes: array.values.bytes(),
        };
        write_npy(path, &array)?;
        outcome.text += &format!("output: {}\n", path.display());
        outcome.json["output"] = json!(display_path(path));
        Ok(())
    }
}

/// Returns the line about the error; `reference` is what the result is compared with, `part` what has a tolerance.
pub(crate) fn error_text(verdict: Option<Verdict>, reference: &str, part: &str) -> String {
    match verdict {
        Some(v) => format!(
            "error against {reference}: {:.2e} relative RMS, worst {part} {} of the tolerance\n",
            v.rms,
            decimal(v.worst, 2, 1.0)
        ),
        None => "error: not known (an input that is not finite)\n".to_owned(),
    }
}

/// Adds the backend and its clock to a report of a simulation, or of a plan of one.
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
        Values::Complex128(x) => x.iter().all(|x| x.is_finite()),
        Values::DoubleSingle(x) => x.iter().flatten().all(|x| x.is_finite()),
        Values::ComplexDoubleSingle(x) => x.iter().flatten().flatten().all(|x| x.is_finite()),
        _ => true,
    })
}
