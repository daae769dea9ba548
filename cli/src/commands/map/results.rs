//! Results of kernels over arrays, and where they go.

use super::compare::Comparison;
use super::tolerance::MapTolerance;
use crate::io::{Kind, NpyArray, shown, write_whole};
use crate::outcome::{CommandFailure, CommandOutcome, UNVERIFIED};
use serde_json::json;
use std::path::PathBuf;

/// A result: its file, what it holds, and what it is compared with.
pub(crate) struct ExpectedResult {
    pub(crate) path: PathBuf,
    pub(crate) kind: Kind,
    pub(crate) shape: Vec<usize>,
    /// The array that it should be, and its file.
    pub(crate) expected: Option<(PathBuf, NpyArray)>,
    /// How far it may be from that.
    pub(crate) tolerance: MapTolerance,
}

/// Writes results, whose bytes are there if the run finished, and says of each how far it is from what is expected.
pub(crate) fn deliver(
    results: &[ExpectedResult],
    made: Option<&[Vec<u8>]>,
    outcome: &mut CommandOutcome,
) -> Result<(), CommandFailure> {
    // Where there is no result, nobody has compared one.
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
            bytes: bytes.clone(),
        };
        write_whole(&result.path, &array.to_npy())?;
        let verdict = match &result.expected {
            Some((file, expected)) => {
                let compared = Comparison::new(&array, expected, result.tolerance);
                let compared = compared.map_err(|e| CommandFailure::in_file(file, e))?;
                if !compared.is_close() {
                    outcome.exit = UNVERIFIED;
                }
                judged.push(compared.json());
                format!(", {compared}")
            }
            None => String::new(),
        };
        outcome.text += &format!("output: {}{verdict}\n", result.path.display());
        written.push(json!(shown(&result.path)));
    }
    outcome.json["outputs"] = json!(written);
    outcome.json["compared"] = json!(judged);
    Ok(())
}
