//! Tests of the text of diagnostics.
//!
//! Each `errors/NAME.s` is assembled, and the messages are compared with `errors/NAME.txt`.
//! `BLESS=1 cargo test -p cp2-asm --test assembler errors` writes the expectations anew, to be read before
//! committing.

use cp2_asm::{Options, Source, assemble};
use cp2_machine::Machine;
use std::fs;
use std::path::Path;

/// Returns the machine that the first line of a source asks for.
fn machine(text: &str) -> Option<Machine> {
    let name = text.lines().next()?.strip_prefix("; machine: ")?;
    if name != "small" {
        return Machine::builtin(name);
    }
    let mut small = Machine::builtin("vm7")?;
    small.name = name.to_owned();
    small.cp2.registers = 32;
    small.cp2.events = 4;
    small.cp2.program.0 = 48;
    small.cp2.dmem.0 = 4096;
    Some(small)
}

fn outcome(name: &str, text: &str) -> String {
    let machine = machine(text);
    let options = Options {
        machine: machine.as_ref(),
        ..Options::default()
    };
    match assemble(&Source::new(name, text), &options) {
        Ok(assembly) => assembly.warnings.to_string(),
        Err(errors) => errors.to_string(),
    }
}

#[test]
fn every_source_gives_its_text() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/assembler/errors");
    let mut names: Vec<_> = fs::read_dir(&folder)
        .unwrap()
        .filter_map(|entry| {
            entry
                .unwrap()
                .file_name()
                .into_string()
                .unwrap()
                .strip_suffix(".s")
                .map(str::to_owned)
        })
        .collect();
    names.sort();
    assert!(names.len() >= 14, "sources are missing: {names:?}");
    let mut wrong = Vec::new();
    for name in names {
        let source = format!("{name}.s");
        let text = fs::read_to_string(folder.join(&source)).unwrap();
        let found = outcome(&source, &text);
        let expected = folder.join(format!("{name}.txt"));
        if std::env::var_os("BLESS").is_some() {
            fs::write(&expected, &found).unwrap();
        }
        if fs::read_to_string(&expected).unwrap_or_default() != found {
            wrong.push(format!("{name}:\n{found}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "these differ (BLESS=1 accepts them):\n{}",
        wrong.join("\n")
    );
}

#[test]
fn diagnostics_serialise() {
    let text = ".macro m\n        adn r0, r1, r2\n.endm\n        m\n        stop\n";
    let errors = assemble(&Source::new("t.s", text), &Options::default()).unwrap_err();
    let json = serde_json::to_value(&errors).unwrap();
    let expected = serde_json::json!([{
        "severity": "error",
        "code": "unknown-instruction",
        "message": "unknown instruction `adn`",
        "at": {"file": "t.s", "line": 2, "column": 9, "end_line": 2, "end_column": 12},
        "source": "        adn r0, r1, r2",
        "expansion": [{
            "what": "macro `m`, called",
            "at": {"file": "t.s", "line": 4, "column": 9, "end_line": 4, "end_column": 10},
        }],
        "help": ["did you mean `add`?"],
    }]);
    assert_eq!(json, expected);
}
