//! Tests that every `cp2` block in the documentation assembles.

use cp2_asm::{Options, Source, assemble, shipped};
use cp2_machine::Machine;
use std::fs;
use std::path::Path;

/// Returns the first line and the text of each fenced `cp2` block.
fn blocks(text: &str) -> Vec<(usize, String)> {
    let mut blocks = Vec::new();
    let mut open: Option<(usize, String)> = None;
    for (number, line) in text.lines().enumerate() {
        match (&mut open, line.trim_start()) {
            (None, "```cp2") => open = Some((number + 2, String::new())),
            (Some(_), "```") => blocks.extend(open.take()),
            (Some((_, block)), _) => {
                block.push_str(line);
                block.push('\n');
            }
            _ => {}
        }
    }
    blocks
}

#[test]
fn examples_assemble() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    // Files that a reader would write are taken as empty; shipped files are found.
    let include = |name: &str, _: &str| match shipped(name) {
        Some(_) => Err("not the reader's own".to_owned()),
        None => Ok(Source::new(name, "")),
    };
    for (file, least) in [
        ("docs/assembler.md", 11),
        ("docs/abi.md", 2),
        ("docs/linear.md", 3),
    ] {
        let text = fs::read_to_string(root.join(file)).unwrap();
        let blocks = blocks(&text);
        assert!(
            blocks.len() >= least,
            "{file} has only {} examples",
            blocks.len()
        );
        for (line, block) in blocks {
            // A `stop` is added, since a fragment need not end the kernel.
            let source = Source::new(
                format!("{file}, block at line {line}"),
                block + "\n.program\nstop\n",
            );
            for name in ["vm7", "vm9"] {
                let machine = Machine::builtin(name).unwrap();
                let options = Options {
                    machine: Some(&machine),
                    include: Some(&include),
                    ..Options::default()
                };
                if let Err(errors) = assemble(&source, &options) {
                    panic!("{errors}");
                }
            }
        }
    }
}

/// Every directive and function of the assembler is in the reference.
#[test]
fn the_reference_is_complete() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = fs::read_to_string(root.join("../docs/assembler.md")).unwrap();
    let quoted = |file: &str| {
        let source = fs::read_to_string(root.join(file)).unwrap();
        let names: Vec<String> = source
            .split('"')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect();
        names
    };
    let directives: Vec<_> = quoted("src/assemble/directive.rs")
        .into_iter()
        .filter(|n| {
            n.starts_with('.') && n.len() > 2 && n[1..].bytes().all(|b| b.is_ascii_lowercase())
        })
        .collect();
    assert!(directives.len() >= 23);
    for name in directives {
        assert!(text.contains(&format!("`{name}")), "{name} is undocumented");
    }
    let functions: Vec<_> = quoted("src/expr/function.rs")
        .into_iter()
        .filter(|n| {
            n.len() > 1
                && n.bytes()
                    .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        })
        .collect();
    assert!(functions.len() >= 15);
    for name in functions {
        assert!(
            text.contains(&format!("`{name}(")),
            "{name} is undocumented"
        );
    }
}
