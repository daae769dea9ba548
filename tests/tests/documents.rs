//! The documents hold together: links lead somewhere, no page is orphaned.
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
    [in_folder(root()), in_folder(root().join("docs"))].concat()
}

/// Targets of `[text](target)` that are files.
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
        let name = page.file_name().unwrap().to_string_lossy().into_owned();
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
