//! Writes results of kernels over arrays and compares them.

use super::compare::Comparison;
use super::places::StoredPages;
use super::tolerance::MapTolerance;
use crate::io::{Kind, NpyArray, display_path, write_npy};
use crate::outcome::{CommandFailure, CommandOutcome, UNVERIFIED};
use cp2_kernels::Pass;
use serde_json::json;
use std::path::PathBuf;

/// Result of a run: file, contents, and expected array.
pub(crate) struct ExpectedResult {
    /// Name of the array.
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    pub(crate) shape: Vec<usize>,
    /// Expected array with its file.
    pub(crate) expected: Option<(PathBuf, NpyArray)>,
    /// Tolerance of the comparison.
    pub(crate) tolerance: MapTolerance,
}

/// Writes the results and reports how far each is from the expected array, and where it is wrong in the pages of
/// `passes`. The bytes are available if the run finished.
pub(crate) fn deliver(
    results: &[ExpectedResult],
    made: Option<Vec<Vec<u8>>>,
    passes: &[Pass],
    outcome: &mut CommandOutcome,
) -> Result<(), CommandFailure> {
    // Without any result, the run counts as not judged.
    let compared = results.iter().all(|result| result.expected.is_some());
    match compared && made.is_some() && !results.is_empty() {
        true => outcome.json["judged"] = json!(true),
        false => outcome.not_judged(),
    }
    let (mut written, mut judged) = (Vec::new(), Vec::new());
    for (result, bytes) in results.iter().zip(made.unwrap_or_default()) {
        let array = NpyArray {
            kind: result.kind,
            shape: result.shape.clone(),
            bytes,
        };
        write_npy(&result.path, &array)?;
        let verdict = match &result.expected {
            Some((file, expected)) => {
                let compared = Comparison::new(&array, expected, result.tolerance);
                let mut compared = compared.map_err(|e| CommandFailure::in_file(file, e))?;
                compared.describe_places(&array.shape, StoredPages::find(passes, &result.name));
                if !compared.is_close() {
                    outcome.exit = UNVERIFIED;
                }
                judged.push(compared.json());
                format!(", {compared}")
            }
            None => String::new(),
        };
        outcome.text += &format!("output: {}{verdict}\n", result.path.display());
        written.push(json!(display_path(&result.path)));
    }
    outcome.json["outputs"] = json!(written);
    outcome.json["compared"] = json!(judged);
    Ok(())
}
