//! Tests of the documents: links lead to files, no page is orphaned.
//!
//! Files that documents name must exist, and ARCHITECTURE must list the folders of the crates.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    missing_docs,
    unreachable_pub,
    reason = "helpers of tests"
)]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("..")
        .canonicalize()
        .unwrap()
}

fn pages() -> Vec<PathBuf> {
    let in_folder = |folder: PathBuf| {
        let entries = std::fs::read_dir(folder)
            .unwrap()
            .map(|e| e.unwrap().path());
        entries
            .filter(|p| p.extension().is_some_and(|e| e == "md"))
            .collect::<Vec<_>>()
    };
    let folders = ["", "docs", "docs/notes"];
    folders
        .map(|folder| in_folder(root().join(folder)))
        .concat()
}

/// Returns the targets of `[text](target)` that are files.
fn links(text: &str) -> Vec<String> {
    text.split("](")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'))
        .map(|(target, _)| target.split('#').next().unwrap_or("").to_owned())
        .filter(|target| {
            !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:")
        })
        .collect()
}

#[test]
fn links_lead_to_files() {
    let mut checked = 0;
    for page in pages() {
        for target in links(&std::fs::read_to_string(&page).unwrap()) {
            assert!(
                page.parent().unwrap().join(&target).exists(),
                "{}: dead link {target}",
                page.display()
            );
            checked += 1;
        }
    }
    assert!(
        checked > 10,
        "only {checked} links were found: is the search broken?"
    );
}

/// Collects the paths of all Rust files below a folder, relative to the root.
fn rust_files(folder: &Path, found: &mut Vec<String>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() && !name.starts_with('.') && !name.starts_with("target") {
            rust_files(&path, found);
        } else if name.ends_with(".rs") {
            found.push(format!("/{}", path.strip_prefix(root()).unwrap().display()));
        }
    }
}

/// Every Rust file that a document names exists, by its name or by the end of its path. (`foo.rs` stands for
/// any file.)
#[test]
fn files_that_are_named_exist() {
    let mut all = Vec::new();
    rust_files(&root(), &mut all);
    let mut checked = 0;
    // A list of old names has files that are gone.
    let current = pages()
        .into_iter()
        .filter(|page| !page.ends_with("renamed.md"));
    for page in current {
        let text = std::fs::read_to_string(&page).unwrap();
        let named = text.split('`').skip(1).step_by(2);
        for name in named.filter(|name| name.ends_with(".rs") && !name.contains(' ')) {
            let end = format!("/{name}");
            let exists = name == "foo.rs" || all.iter().any(|path| path.ends_with(&end));
            assert!(exists, "{}: there is no {name}", page.display());
            checked += 1;
        }
    }
    assert!(checked > 50, "only {checked} names were found");
}

/// Returns the Rust and assembly files of a folder and of its subfolders, without tests.
fn rooms(folder: &Path, deeper: bool) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap();
    let entries = entries.map(|entry| entry.unwrap().path());
    let found = entries.flat_map(|path| match path.is_dir() {
        true if deeper && !path.ends_with("tests") => rooms(&path, false),
        false if path.extension().is_some_and(|e| e == "rs" || e == "s") => vec![path],
        _ => Vec::new(),
    });
    found.filter(|path| !path.ends_with("tests.rs")).collect()
}

/// ARCHITECTURE has a row for every file of the folders that it describes, and for every folder of the
/// emulator.
#[test]
fn every_room_is_in_the_architecture() {
    let text = std::fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let listed: BTreeSet<String> = links(&text).into_iter().collect();
    let folders = ["fft", "conv", "sparse", "stencil"];
    let folders = folders.map(|folder| root().join("kernels/src").join(folder));
    let files = folders.iter().flat_map(|folder| rooms(folder, true));
    let emulator = std::fs::read_dir(root().join("emu/src")).unwrap();
    let emulator = emulator.map(|entry| entry.unwrap().path());
    let emulator = emulator.filter(|path| path.is_dir());
    let all: Vec<String> = files
        .chain(emulator)
        .map(|path| path.strip_prefix(root()).unwrap().display().to_string())
        .collect();
    assert!(all.len() > 180, "only {} were found", all.len());
    let lacking: Vec<_> = all.iter().filter(|path| !listed.contains(*path)).collect();
    assert!(lacking.is_empty(), "no row for {lacking:?}");
}

#[test]
fn every_page_of_docs_is_in_its_index() {
    let index = root().join("docs/README.md");
    let linked: BTreeSet<String> = links(&std::fs::read_to_string(&index).unwrap())
        .into_iter()
        .collect();
    for page in pages()
        .into_iter()
        .filter(|p| p.starts_with(root().join("docs")) && *p != index)
    {
        let name = page.strip_prefix(root().join("docs")).unwrap();
        let name = name.display().to_string();
        assert!(
            linked.contains(&name),
            "docs/README.md does not mention {name}"
        );
    }
}

#[test]
fn the_two_commands_of_the_readme_exist() {
    let readme = std::fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.contains("cargo run --release -- demo"));
    assert!(readme.contains("\n.ci/test\n"));
    assert!(root().join(".ci/test").is_file() && root().join(".ci/run").is_file());
    let ci = std::fs::read_to_string(root().join(".ci/run")).unwrap();
    assert!(
        ci.contains("step .ci/test"),
        ".ci/run must run the README's second command"
    );
}
