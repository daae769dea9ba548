//! Test that the examples of documents print what the documents say.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Fenced block of a document: language, line number, text.
struct Block {
    language: String,
    line: usize,
    text: String,
}

fn blocks(markdown: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut inside = false;
    for (i, line) in markdown.lines().enumerate() {
        match (line.strip_prefix("```"), inside) {
            (Some(language), false) => {
                blocks.push(Block {
                    language: language.to_owned(),
                    line: i + 2,
                    text: String::new(),
                });
                inside = true;
            }
            (Some(_), true) => inside = false,
            (None, true) => {
                let block = blocks.last_mut().unwrap();
                block.text += line;
                block.text.push('\n');
            }
            (None, false) => {}
        }
    }
    blocks
}

/// True if `line` matches `pattern`, where `[..]` stands for any text.
fn matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split("[..]");
    let first = parts.next().unwrap_or("");
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else {
        return rest.is_empty();
    };
    for part in middle {
        let Some(at) = rest.find(part) else {
            return false;
        };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

/// True if the lines match the pattern, where a line `...` stands for any number of lines.
fn all_match(pattern: &[&str], lines: &[&str]) -> bool {
    match pattern.split_first() {
        None => lines.is_empty(),
        Some((&"...", rest)) => (0..=lines.len()).any(|skip| all_match(rest, &lines[skip..])),
        Some((first, rest)) => lines
            .split_first()
            .is_some_and(|(line, after)| matches(first, line) && all_match(rest, after)),
    }
}

/// Runs the commands of a block and returns their standard output and error, in order.
fn print(name: &str, block: &Block, folder: &Path) -> String {
    let bin = PathBuf::from(env!("CARGO_BIN_EXE_cp2"));
    let path = format!(
        "{}:{}",
        bin.parent().unwrap().display(),
        std::env::var("PATH").unwrap_or_default()
    );
    let script = format!("exec 2>&1\n{}", block.text);
    let mut bash = Command::new("bash");
    let output = bash
        .args(["-euo", "pipefail", "-c", &script])
        .current_dir(folder)
        .env("PATH", &path)
        .output()
        .unwrap();
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success(),
        "{name}:{}: {}\n{printed}",
        block.line,
        output.status
    );
    printed
        .lines()
        .map(|line| line.trim_end().to_owned() + "\n")
        .collect()
}

#[test]
fn the_examples_print_what_the_readme_says() {
    check("README.md", 6);
}

#[test]
fn the_examples_print_what_the_page_of_arrays_says() {
    check("docs/arrays.md", 5);
}

#[test]
fn the_examples_print_what_the_cookbook_says() {
    check("docs/cookbook.md", 7);
}

#[test]
fn the_examples_print_what_the_page_of_tuning_says() {
    check("docs/tuning.md", 4);
}

#[test]
fn the_examples_print_what_the_page_of_linear_blocks_says() {
    check("docs/linear.md", 7);
}

#[test]
fn the_examples_print_what_the_page_of_rows_says() {
    check("docs/rows.md", 4);
}

#[test]
fn the_examples_print_what_the_page_of_stencils_says() {
    check("docs/stencil.md", 1);
}

#[test]
fn the_examples_print_what_the_page_of_the_network_says() {
    check("docs/network.md", 1);
}

/// Runs the examples of a document, of which there must be at least `least`. With `CP2_BLESS` set, blocks
/// that differ are replaced by the current output.
fn check(name: &str, least: usize) {
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name);
    let mut text = std::fs::read_to_string(&readme).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let blocks = blocks(&text);
    let mut run = 0;
    let mut wrong = Vec::new();
    for pair in blocks.windows(2).filter(|pair| pair[0].language == "sh") {
        let [commands, expected] = pair else { continue };
        assert_eq!(
            expected.language, "text",
            "{name}:{}: a text block must follow",
            commands.line
        );
        let printed = print(name, commands, folder.path());
        let (pattern, lines): (Vec<&str>, Vec<&str>) =
            (expected.text.lines().collect(), printed.lines().collect());
        if !all_match(&pattern, &lines) {
            wrong.push(format!(
                "{name}:{}: the block says\n{}\nbut this is printed\n{printed}",
                expected.line, expected.text
            ));
            text = text.replacen(
                &format!("```text\n{}```", expected.text),
                &format!("```text\n{printed}```"),
                1,
            );
        }
        run += 1;
    }
    assert!(run >= least, "only {run} examples were found");
    if std::env::var_os("CP2_BLESS").is_some() {
        std::fs::write(&readme, text).unwrap();
        return;
    }
    assert!(
        wrong.is_empty(),
        "{}refresh: CP2_BLESS=1 cargo test -p cp2 --test cli readme",
        wrong.concat()
    );
}

#[test]
fn the_patterns_can_fail() {
    assert!(matches("a [..] b", "a x y b") && matches("same", "same") && matches("[..]", ""));
    assert!(!matches("a [..] b", "a x c") && !matches("same", "same ") && !matches("x[..]y", "y"));
    assert!(all_match(&["a", "...", "b"], &["a", "x", "y", "b"]) && all_match(&["..."], &[]));
    assert!(!all_match(&["a"], &["a", "b"]) && !all_match(&["a", "...", "b"], &["a", "x"]));
}
