//! The list of mutants: `tests/mutants/list.toml`.
#![allow(clippy::unwrap_used, dead_code, reason = "tests and their tools")]

use std::path::{Path, PathBuf};

/// A wrong change, and the test that has to fail because of it.
#[derive(Debug, Clone)]
pub(crate) struct Mutant {
    pub(crate) name: String,
    /// Path of the file from the root of the workspace.
    pub(crate) file: PathBuf,
    /// Text that occurs exactly once in the file.
    pub(crate) from: String,
    /// Text that replaces it.
    pub(crate) to: String,
    /// Arguments of `cargo test`.
    pub(crate) test: String,
}

/// Returns the root of the workspace.
pub(crate) fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// Reads the list of mutants.
pub(crate) fn all() -> Vec<Mutant> {
    let text = std::fs::read_to_string(root().join("tests/mutants/list.toml")).unwrap();
    let table: toml::Table = text.parse().unwrap();
    let list = table["mutant"].as_array().unwrap();
    list.iter()
        .map(|entry| {
            let text = |key: &str| entry[key].as_str().unwrap().to_owned();
            Mutant {
                name: text("name"),
                file: text("file").into(),
                from: text("from"),
                to: text("to"),
                test: text("test"),
            }
        })
        .collect()
}
