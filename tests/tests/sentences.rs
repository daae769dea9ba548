//! Comments and documents are plain sentences in lines that a screen holds.
#![allow(clippy::unwrap_used, missing_docs, reason = "tests")]

use std::path::{Path, PathBuf};

/// Widest line of a comment or of prose, in columns.
const WIDEST: usize = 120;
/// Widest first `//!` line of a module, in columns of its text.
const WIDEST_PURPOSE: usize = 80;
/// Words that a reader without the neighbouring comment cannot make sense of at the beginning of one.
const VAGUE: [&str; 5] = ["Of", "What", "Where", "Whether", "That"];
fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    own.canonicalize().unwrap()
}

/// Collects the files with an extension below a folder, with their paths from the root on. Build outputs are left out.
fn list_files(folder: &Path, extension: &str, found: &mut Vec<(String, String)>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        if path.is_dir() {
            let output = path.join("CACHEDIR.TAG").exists() || name == "target";
            if !name.starts_with('.') && !output {
                list_files(&path, extension, found);
            }
        } else if path.extension().is_some_and(|e| e == extension) {
            let name = path.strip_prefix(root()).unwrap().display().to_string();
            found.push((name, std::fs::read_to_string(&path).unwrap()));
        }
    }
}

fn files(extension: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    list_files(&root(), extension, &mut found);
    found.sort();
    found
}

/// Returns the marks that begin a comment of a whole line: the longer ones first.
fn mark(extension: &str) -> &'static [&'static str] {
    match extension {
        "rs" => &["//!", "///", "//"],
        _ => &[";"],
    }
}

/// Returns the first lines of all comments of a file: number of the line, its mark, its text.
fn comments(text: &str, extension: &str) -> Vec<(usize, &'static str, String)> {
    let mut before = None;
    let mut found = Vec::new();
    for (at, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let own = mark(extension).iter().find(|mark| line.starts_with(**mark));
        if let Some(mark) = own.filter(|_| own != before) {
            found.push((at + 1, *mark, line[mark.len()..].trim().to_owned()));
        }
        before = own;
    }
    found
}

/// Returns true if a text begins with these words, and not with a longer one.
fn begins(text: &str, words: &str) -> bool {
    let rest = text.strip_prefix(words);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

#[test]
fn no_comment_begins_with_the_same() {
    let mut found = Vec::new();
    for extension in ["rs", "s"] {
        for (path, text) in files(extension) {
            let own = comments(&text, extension).into_iter();
            let own = own.filter(|(_, _, text)| begins(text, "The same"));
            found.extend(own.map(|(at, _, text)| format!("{path}:{at}: {text}")));
        }
    }
    assert!(found.is_empty(), "say the same as what: {found:#?}");
}

#[test]
fn no_comment_begins_with_a_vague_word() {
    let mut found = Vec::new();
    for extension in ["rs", "s"] {
        for (path, text) in files(extension) {
            let own = comments(&text, extension).into_iter();
            let own = own.filter(|(_, _, text)| VAGUE.iter().any(|word| begins(text, word)));
            found.extend(own.map(|(at, _, text)| format!("{path}:{at}: {text}")));
        }
    }
    assert!(
        found.is_empty(),
        "begin with the subject, not with one of {VAGUE:?}: {found:#?}"
    );
}

#[test]
fn modules_say_their_purpose_in_their_first_line() {
    let mut wrong = Vec::new();
    let all = files("rs");
    assert!(all.len() > 900, "only {} files were found", all.len());
    for (path, text) in &all {
        let purpose = text.lines().find_map(|line| line.strip_prefix("//! "));
        match purpose {
            None => wrong.push(format!("{path}: no //! line")),
            Some(line) if line.chars().count() > WIDEST_PURPOSE || !line.ends_with('.') => {
                wrong.push(format!("{path}: {line}"));
            }
            Some(_) => (),
        }
    }
    assert!(
        wrong.is_empty(),
        "the first //! line is a whole phrase of at most {WIDEST_PURPOSE} columns: {wrong:#?}"
    );
}

#[test]
fn comments_are_not_wider_than_a_screen() {
    let mut wide = Vec::new();
    for (path, text) in files("rs") {
        for (at, line) in text.lines().enumerate() {
            let comment = line.trim_start().starts_with("//");
            let table = line.contains("// |") || line.contains("//! |") || line.contains("/// |");
            if comment && !table && line.chars().count() > WIDEST {
                wide.push(format!("{path}:{}", at + 1));
            }
        }
    }
    assert!(wide.is_empty(), "wider than {WIDEST} columns: {wide:#?}");
}

/// Returns a line of Markdown without the addresses of its links, which cannot be broken.
fn strip_addresses(line: &str) -> String {
    let mut parts = line.split("](");
    let first = parts.next().unwrap_or("").to_owned();
    parts.fold(first, |text, part| {
        let rest = part.split_once(')').map_or("", |(_, rest)| rest);
        text + "]" + rest
    })
}

#[test]
fn prose_is_not_wider_than_a_screen() {
    let mut wide = Vec::new();
    let all = files("md");
    assert!(all.len() > 30, "only {} documents were found", all.len());
    // The sources of generated documents are checked, not what is printed from them.
    let generated = |text: &str| text.lines().take(5).any(|line| line.contains("Generated"));
    for (path, text) in all
        .into_iter()
        .filter(|(path, text)| !(path.starts_with("docs/") && generated(text)))
    {
        let mut code = false;
        for (at, line) in text.lines().enumerate() {
            let start = line.trim_start();
            code ^= start.starts_with("```");
            let exempt = code || start.starts_with('|') || start.starts_with("<!--");
            if !exempt && strip_addresses(line).chars().count() > WIDEST {
                wide.push(format!("{path}:{}", at + 1));
            }
        }
    }
    assert!(wide.is_empty(), "wider than {WIDEST} columns: {wide:#?}");
}

#[test]
fn comments_are_found() {
    let text = "//! A.\n//! B.\nfn f() {\n    // Of c.\n    /// d\n    let x = 1; // no\n}\n";
    let own = comments(text, "rs");
    let own: Vec<_> = own
        .iter()
        .map(|(at, mark, text)| (*at, *mark, text.as_str()))
        .collect();
    assert_eq!(own, [(1, "//!", "A."), (4, "//", "Of c."), (5, "///", "d")]);
    assert!(begins("Of c.", "Of") && !begins("Offset", "Of"));
}
