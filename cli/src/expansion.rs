//! Macros and counters that a word came from, as JSON.

use cp2_asm::Program;
use serde_json::{Value, json};

/// Returns the expansions of the word at `pc`, the innermost first, each with the place of its call.
pub(crate) fn expansion_json(program: &Program, pc: usize) -> Value {
    let frames = program.chain(pc).map(|frame| {
        json!({
            "what": frame.what.to_string(),
            "file": program.files.get(frame.at.file as usize),
            "line": frame.at.line,
        })
    });
    frames.collect()
}
