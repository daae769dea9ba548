//! The provenance of figures: the head of every JSON object about a run.

use cp2_emu::Engine;
use cp2_machine::Machine;
use serde::Serialize;

/// Schema, tool and machine of a report.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct ReportProvenance {
    /// Name and version of the object's layout.
    pub(crate) schema: &'static str,
    /// Version of this tool.
    pub(crate) tool_version: &'static str,
    /// Machine name.
    pub(crate) machine: String,
    /// Hash of the machine's resolved parameters.
    pub(crate) machine_hash: String,
    /// Engine that ran the kernels; absent where none ran.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) engine: Option<Engine>,
    /// Seed of generated input; null where the input came from a file.
    pub(crate) seed: Option<u64>,
}

impl ReportProvenance {
    /// Makes the provenance of a run on `machine`.
    pub(crate) fn new(schema: &'static str, machine: &Machine, seed: Option<u64>) -> Self {
        Self {
            schema,
            tool_version: env!("CARGO_PKG_VERSION"),
            machine: machine.name.clone(),
            machine_hash: machine.hash.clone(),
            engine: None,
            seed,
        }
    }

    /// Adds the engine that ran the kernels.
    pub(crate) fn engine(mut self, engine: Engine) -> Self {
        self.engine = Some(engine);
        self
    }

    /// Combines the provenance and the figures to one object.
    pub(crate) fn add_figures(&self, figures: serde_json::Value) -> serde_json::Value {
        let mut object = serde_json::to_value(self).unwrap_or_default();
        if let (Some(object), serde_json::Value::Object(figures)) =
            (object.as_object_mut(), figures)
        {
            object.extend(figures);
        }
        object
    }
}
