//! Test that the names of types are unique in the workspace.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Names that every crate or module may have once.
const COMMON: [&str; 3] = ["Error", "Entry", "Kind"];

/// Number of names that `pub` types in different places share, and of names that types of any visibility
/// share. Both numbers may only fall.
const MOST_PUBLIC: usize = 7;
const MOST: usize = 31;

/// Collects the Rust files of the crates, without tests and generated folders.
fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            let skipped = ["target", "tests", "examples", "benches", "fuzz"];
            if !name.starts_with('.') && !skipped.contains(&name.as_str()) {
                sources(&path, found);
            }
        } else if name.ends_with(".rs") && name != "tests.rs" {
            found.push(path);
        }
    }
}

/// Returns the types that a file declares outside of functions, blocks and tests: true for `pub`, and the
/// name.
fn declared(text: &str) -> Vec<(bool, &str)> {
    let text = text.split("#[cfg(test)]\nmod tests {").next().unwrap_or("");
    let declared = text.lines().filter_map(|line| {
        let (public, rest) = match line.strip_prefix("pub ") {
            Some(rest) => (true, rest),
            None => match line.strip_prefix("pub(") {
                Some(rest) => (false, rest.split_once(") ")?.1),
                None => (false, line),
            },
        };
        let (kind, rest) = rest.split_once(' ')?;
        let end = |c: char| !c.is_ascii_alphanumeric();
        let name = rest.split(end).next().filter(|name| !name.is_empty())?;
        let kinds = ["struct", "enum", "trait", "type", "union"];
        kinds.contains(&kind).then_some((public, name))
    });
    declared.collect()
}

/// Counts all places of a name.
fn count_all(places: &[(bool, &Path)]) -> usize {
    places.len()
}

/// Returns the names that public types share, and the names that all types share, with their places.
fn shared(all: &[(PathBuf, String)]) -> [Vec<String>; 2] {
    let mut names: BTreeMap<&str, Vec<(bool, &Path)>> = BTreeMap::new();
    for (path, text) in all {
        for (public, name) in declared(text) {
            if !COMMON.contains(&name) {
                names.entry(name).or_default().push((public, path));
            }
        }
    }
    let of = |least: fn(&[(bool, &Path)]) -> usize| {
        let shared = names.iter().filter(|(_, places)| least(places) > 1);
        let line = |(name, places): (&&str, &Vec<(bool, &Path)>)| {
            let places: Vec<String> = places
                .iter()
                .map(|(_, p)| p.display().to_string())
                .collect();
            format!("{name}: {}", places.join(", "))
        };
        shared.map(line).collect()
    };
    [
        of(|places| places.iter().filter(|(public, _)| *public).count()),
        of(count_all),
    ]
}

#[test]
fn types_have_names_of_their_own() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut files = Vec::new();
    sources(root, &mut files);
    files.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).unwrap();
        (path.strip_prefix(root).unwrap().to_path_buf(), text)
    };
    let all: Vec<(PathBuf, String)> = files.into_iter().map(read).collect();
    assert!(all.len() > 400, "{} files", all.len());
    let [public, any] = shared(&all);
    assert!(
        public.len() <= MOST_PUBLIC,
        "{} names of public types, at most {MOST_PUBLIC}: choose others\n{}",
        public.len(),
        public.join("\n")
    );
    assert!(
        any.len() <= MOST,
        "{} names, at most {MOST}: choose others\n{}",
        any.len(),
        any.join("\n")
    );
}

/// The test can fail: shared names are found.
#[test]
fn shared_names_are_found() {
    let file = |name: &str, text: &str| (PathBuf::from(name), text.to_owned());
    let all = [
        file(
            "a.rs",
            "pub struct Page;\n    type Item = u8;\nstruct Own {\npub enum Error {}\n",
        ),
        file("b.rs", "pub(crate) enum Page {\npub trait Work<T> {}\n"),
        file(
            "c.rs",
            "pub type Work = u8;\npub enum Error {}\n#[cfg(test)]\nmod tests {\nstruct Own;\n",
        ),
    ];
    let [public, any] = shared(&all);
    assert_eq!(public, ["Work: b.rs, c.rs"]);
    assert_eq!(any, ["Page: a.rs, b.rs", "Work: b.rs, c.rs"]);
}
