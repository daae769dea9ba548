//! Recordings of several processors: a directory with one for each.

use super::report::JobRuns;
use crate::io::display_path;
use crate::outcome::{CommandFailure, CommandOutcome};
use crate::simulation::SimulationArgs;
use cp2_host::emit::EmitError;
use cp2_host::files::write_directory;
use cp2_kernels::ProcessorRun;
use serde_json::json;
use std::path::Path;

/// File that tells a directory of recordings from others.
const MARKER: &str = "processors.json";

/// Checks that recordings could be written to a directory; to be asked before the run.
pub(crate) fn check_recordings(path: &Path) -> Result<(), EmitError> {
    Ok(cp2_host::files::check_directory(path, MARKER)?)
}

/// Writes the recording of each processor to a directory of its own, `processor-N`, all of them or none. What came to a
/// processor is in its recording, which replays alone.
///
/// # Errors
/// A run was not recorded, or the directory could not be written.
pub(super) fn write_recordings(
    args: &SimulationArgs,
    jobs: &JobRuns,
) -> Result<WrittenRecordings, CommandFailure> {
    let mut written = WrittenRecordings::default();
    let Some(folder) = &args.emit else {
        return Ok(written);
    };
    let runs = &jobs.runs;
    if !jobs.is_finished() {
        written.notes = format!(
            "warning: --emit {}: nothing was written, for the run has not finished\n",
            folder.display()
        );
        return Ok(written);
    }
    let names: Vec<String> = (0..runs.len())
        .map(|number| format!("processor-{number}"))
        .collect();
    let done = write_directory(folder, MARKER, |new| {
        for (name, ProcessorRun { run, .. }) in names.iter().zip(runs) {
            run.emit(&new.join(name)).map_err(std::io::Error::other)?;
        }
        let list = json!({ "schema": "cp2-processors/1", "processors": names });
        std::fs::write(new.join(MARKER), format!("{list}\n"))
    });
    done.map_err(CommandFailure::input)?;
    written.text = format!(
        "emitted: {} recordings in {}, each for cp2 run\n",
        runs.len(),
        folder.display()
    );
    written.folder = Some(display_path(folder));
    Ok(written)
}

/// Report on the recordings of a command.
#[derive(Debug, Default)]
pub(super) struct WrittenRecordings {
    text: String,
    notes: String,
    folder: Option<String>,
}

impl WrittenRecordings {
    /// Adds the report to a command's outcome.
    pub(super) fn report(&self, outcome: &mut CommandOutcome) {
        outcome.text += &self.text;
        outcome.notes += &self.notes;
        if let Some(folder) = &self.folder {
            outcome.json["emit"] = json!(folder);
        }
    }
}
