//! Errors in machine files: position, message and help; hostile files.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers")]

use cp2_machine::{Machine, MachineError, Problem, ROWS};
use std::fs;
use std::path::Path;

fn refuse(text: &str) -> MachineError {
    match Machine::parse("my.toml", text) {
        Ok(_) => panic!("accepted: {text}"),
        Err(e) => e,
    }
}

/// Checks that the error for vm7 with one more line contains every piece of text.
fn check(line: &str, pieces: &[&str]) {
    let shown = refuse(&format!("base = \"vm7\"\n{line}\n")).to_string();
    for piece in pieces {
        assert!(shown.contains(piece), "{line}\n--- lacks: {piece}\n{shown}");
    }
}

#[test]
fn an_error_shows_place_line_caret_and_remedy() {
    let e = refuse("base = \"vm7\"\n\n[dma]\nbandwith = { value = 8, unit = \"B/cycle\" }\n");
    assert_eq!(
        e.to_string(),
        "error: unknown key `dma.bandwith`\n\
         \u{20} ┌─ my.toml:4:1\n\
         \u{20} │\n\
         4 │ bandwith = { value = 8, unit = \"B/cycle\" }\n\
         \u{20} │ ^^^^^^^^\n\
         \u{20} │\n\
         \u{20} = did you mean `dma.bandwidth`? known here: dma.granule, dma.deal, dma.bandwidth, dma.queue, \
         dma.setup-idle, dma.setup-queued, dma.run, dma.levels, dma.beat, dma.lines, dma.entry"
    );
    let place = e.problems[0].place.as_ref().unwrap();
    assert_eq!((place.file(), place.line_column()), ("my.toml", (4, 1)));
}

#[test]
fn keys_units_and_sources() {
    check(
        "dma.sections = { value = 8, unit = \"sections\" }",
        &["my.toml:2:5", "did you mean `cp2.sections`?"],
    );
    check(
        "[cp2.latencies]",
        &["unknown key `cp2.latencies`", "did you mean `cp2.latency`?"],
    );
    check(
        "colour = \"red\"",
        &[
            "unknown key `colour`",
            "known here: name, description, note, base, row, cp2, dma, host",
        ],
    );
    check(
        "cp2.latency.fma = { value = 1, unit = \"cycles\" }",
        &["unknown key `cp2.latency.fma`"],
    );
    check(
        "cp2.dmem = { value = 32 }",
        &["`cp2.dmem` has no unit", "add unit = \"B\" or \"KiB\""],
    );
    check("cp2.dmem = 32", &["`cp2.dmem` has no unit", "my.toml:2:5"]);
    check(
        "cp2.dmem = { value = 32, unit = \"kib\" }",
        &["cannot be given in `kib`", "did you mean `KiB`?"],
    );
    check(
        "cp2.clock = { value = 32, unit = \"cycles\" }",
        &["cannot be given in `cycles`", "\"MHz\" or \"GHz\""],
    );
    check(
        "cp2.clock = { unit = \"MHz\" }",
        &["`cp2.clock` has no value"],
    );
    check(
        "cp2.clock = \"200 MHz\"",
        &[
            "`cp2.clock` is a string",
            "expected { value = ..., unit = \"...\" }",
        ],
    );
    check(
        "cp2 = 3",
        &["`cp2` is an integer", "expected a table of parameters"],
    );
    check(
        "cp2.clock = { value = \"2\", unit = \"MHz\" }",
        &["is a string", "expected a number"],
    );
    check(
        "cp2.clock = { value = 2, unit = 1 }",
        &["`cp2.clock.unit` is an integer"],
    );
    check(
        "cp2.clock = { value = 2, unit = \"MHz\", source = \"guess\" }",
        &[
            "has the source `guess`",
            "\"fact\", \"assumed\" or \"measured\"",
        ],
    );
    check(
        "cp2.clock = { value = 2, unit = \"MHz\", units = \"Hz\" }",
        &["unknown key `cp2.clock.units`", "did you mean `unit`?"],
    );
    check("cp2.extensions = [\"doubel\"]", &["did you mean `double`?"]);
    check(
        "cp2.extensions = [1]",
        &["`cp2.extensions` is an integer", "expected a string"],
    );
    check("name = \"../x\"", &["`name` cannot be `../x`"]);
    check("name = 7", &["`name` is an integer"]);
    check("[dma", &["not valid TOML", "my.toml:2:"]);
    check("base = \"vm9\"", &["not valid TOML", "duplicate key"]);
}

/// Peak rates follow from the intervals of the units, so they are not parameters of their own.
#[test]
fn derived_rates_are_no_parameters() {
    let text = "[cp2]\nbutterflies = { value = 0.25, unit = \"butterflies/cycle\" }\n";
    let said = [
        "`cp2.butterflies` is no parameter: it follows from cp2.interval.butterfly",
        "leave it out; to change the rate, set cp2.interval.butterfly",
    ];
    check(text, &said);
}

#[test]
fn impossible_values() {
    let unit = |row: &str| match row {
        "cp2.clock" => "Hz",
        "cp2.sections" => "sections",
        "cp2.registers" => "registers",
        "cp2.register-lanes" => "lanes",
        "cp2.dmem-ports" => "ports",
        "dma.bandwidth" | "host.copy" => "B/cycle",
        "dma.queue" => "descriptors",
        "cp2.latency.add" | "host.launch" => "cycles",
        _ => "B",
    };
    let bad = [
        ("cp2.clock", "0"),
        ("cp2.clock", "-1"),
        ("cp2.clock", "1e30"),
        ("cp2.clock", "1500.5"),
        ("cp2.sections", "0"),
        ("cp2.sections", "65"),
        ("cp2.sections", "99999999999999999999"),
        ("cp2.registers", "63"),
        ("cp2.registers", "0"),
        ("cp2.register-lanes", "3"),
        ("cp2.dmem", "0"),
        ("cp2.dmem", "0x7fffffffffffffff"),
        ("cp2.dmem", "65537"),
        ("cp2.dmem", "0.5"),
        ("cp2.dmem-ports", "0"),
        ("cp2.dmem-ports", "3"),
        ("cp2.program", "1025"),
        ("dma.bandwidth", "0"),
        ("dma.bandwidth", "0.0"),
        ("dma.bandwidth", "-12.8"),
        ("dma.bandwidth", "nan"),
        ("dma.bandwidth", "inf"),
        ("dma.bandwidth", "1e-30"),
        ("dma.bandwidth", "1e18"),
        ("dma.bandwidth", "12.80000001"),
        ("dma.bandwidth", "0.00001"),
        ("dma.bandwidth", "\"1/0\""),
        ("dma.bandwidth", "\"-1/2\""),
        ("dma.granule", "0"),
        // DMEM consists of 32-bit numbers, so a granule has at least 4 bytes.
        ("dma.granule", "2"),
        ("dma.granule", "24"),
        ("dma.granule", "8192"),
        ("dma.queue", "0"),
        ("cp2.latency.add", "0"),
        ("cp2.latency.add", "1001"),
        ("host.launch", "1e10"),
        ("host.copy", "0"),
        ("host.memory", "0"),
        ("host.memory", "4104"),
    ];
    for (key, value) in bad {
        let text = format!(
            "base = \"vm7\"\n{key} = {{ value = {value}, unit = \"{}\" }}\n",
            unit(key)
        );
        let e = refuse(&text);
        assert_eq!(e.problems.len(), 1, "{text}{e}");
        assert!(
            matches!(&e.problems[0].problem, Problem::Impossible { key: k, .. } if k == key),
            "{text}{e}"
        );
        let (line, _) = e.problems[0].place.as_ref().unwrap().line_column();
        assert_eq!(line, 2, "{text}{e}");
    }
    check(
        "cp2.registers = { value = 63, unit = \"registers\" }",
        &[
            "cannot be 63 registers",
            "expected a whole number: even, 2 to 64 registers",
        ],
    );
    check(
        "dma.granule = { value = 24, unit = \"B\" }",
        &["expected a whole number: a power of two, 4 B to 4 KiB"],
    );
    check(
        "cp2.dmem = { value = 1000, unit = \"B\" }",
        &["cannot be 1000 B", "a multiple of the DMA granule (16 B)"],
    );
    check(
        "dma.bandwidth = { value = 12.80000001, unit = \"B/cycle\" }",
        &["fewer digits", "ticks per cycle"],
    );
}

#[test]
fn all_problems_of_a_file_are_reported_in_its_order() {
    let e = refuse(
        "base = \"vm7\"\nhost.x = 1\ncp2.clock = 1\n[dma]\nqueue = { value = 0, unit = \"descriptors\" }\n",
    );
    let lines: Vec<_> = e
        .problems
        .iter()
        .map(|p| p.place.as_ref().unwrap().line_column().0)
        .collect();
    assert_eq!(lines, [2, 3, 5]);
}

#[test]
fn a_file_without_base_must_set_everything() {
    let e = refuse("cp2.clock = { value = 1, unit = \"MHz\" }\n");
    let Problem::Missing { keys } = &e.problems[0].problem else {
        panic!("{e}")
    };
    assert_eq!(keys.len(), ROWS.len() - 1);
    for row in ROWS {
        let whole = include_str!("../../vm7.toml");
        let (table, key) = row.key.split_once('.').unwrap();
        let start = whole.find(&format!("[{table}]")).unwrap();
        let at = start + whole[start..].find(&format!("\n{key} = ")).unwrap() + 1;
        let end = at + whole[at..].find('\n').unwrap() + 1;
        let e = refuse(&format!("{}{}", &whole[..at], &whole[end..]));
        assert_eq!(
            e.problems[0].problem,
            Problem::Missing {
                keys: vec![row.key.to_owned()]
            }
        );
    }
}

fn load(path: &Path) -> Result<Machine, MachineError> {
    Machine::load(path.to_str().unwrap())
}

fn only(result: Result<Machine, MachineError>) -> Problem {
    result.unwrap_err().problems.remove(0).problem
}

#[test]
fn names_and_files() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let e = only(Machine::load("vm77"));
    assert!(
        matches!(&e, Problem::UnknownMachine { suggestion: Some(s), .. } if s == "vm7"),
        "{e}"
    );
    assert!(matches!(
        only(Machine::load("")),
        Problem::UnknownMachine {
            suggestion: None,
            ..
        }
    ));
    assert!(matches!(
        only(load(&at("absent.toml"))),
        Problem::Unreadable { .. }
    ));
    assert!(matches!(
        only(load(folder.path())),
        Problem::Unreadable { .. }
    ));
    fs::write(at("binary.toml"), [0xff, 0xfe, 0]).unwrap();
    let e = only(load(&at("binary.toml")));
    assert!(e.to_string().contains("not UTF-8"), "{e}");
    fs::write(at("huge.toml"), "# padding\n".repeat(200_000)).unwrap();
    assert!(matches!(
        only(load(&at("huge.toml"))),
        Problem::TooLarge {
            limit: 1_048_576,
            ..
        }
    ));
    if cfg!(target_os = "linux") {
        assert!(matches!(
            only(Machine::load("/dev/zero")),
            Problem::TooLarge { .. }
        ));
    }
    fs::write(at("empty.toml"), "").unwrap();
    assert!(matches!(
        only(load(&at("empty.toml"))),
        Problem::Missing { .. }
    ));
}

#[test]
fn bases_resolve_beside_the_file_and_may_not_form_cycles() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("sub")).unwrap();
    fs::write(at("slow.toml"), "base = \"vm9\"\ncp2.latency.load = { value = 9, unit = \"cycles\", source = \"measured\" }\n").unwrap();
    fs::write(
        at("sub/slower.toml"),
        "base = \"../slow.toml\"\n[dma]\nrun = { value = 3, unit = \"cycles\" }\n",
    )
    .unwrap();
    let m = load(&at("sub/slower.toml")).unwrap();
    assert_eq!(
        (m.cp2.latency[cp2_machine::Class::Load].0, m.dma.run.0),
        (9, 3)
    );
    assert_eq!((m.name.as_str(), m.cp2.clock_hz), ("slower", 1_000_000_000));
    assert!(
        m.description
            .ends_with("slow.toml with 1 parameter changed"),
        "{}",
        m.description
    );

    fs::write(at("self.toml"), "base = \"self.toml\"\n").unwrap();
    assert!(
        matches!(only(load(&at("self.toml"))), Problem::BaseCycle { chain } if chain.len() == 2)
    );
    fs::write(at("a.toml"), "\nbase = \"./sub/../b.toml\"\n").unwrap();
    fs::write(at("b.toml"), "base = \"a.toml\"\n").unwrap();
    let e = load(&at("a.toml")).unwrap_err();
    assert!(
        matches!(&e.problems[0].problem, Problem::BaseCycle { chain } if chain.len() == 3),
        "{e}"
    );
    assert!(
        e.problems[0]
            .place
            .as_ref()
            .unwrap()
            .file()
            .ends_with("b.toml")
    );

    for i in 0..40 {
        fs::write(
            at(&format!("d{i}.toml")),
            format!("base = \"d{}.toml\"\n", i + 1),
        )
        .unwrap();
    }
    fs::write(at("d40.toml"), "base = \"vm7\"\n").unwrap();
    assert!(load(&at("d30.toml")).is_ok());
    assert!(matches!(
        only(load(&at("d0.toml"))),
        Problem::BaseTooDeep { limit: 16 }
    ));

    fs::write(at("lost.toml"), "base = \"vm8\"\n").unwrap();
    let e = load(&at("lost.toml")).unwrap_err();
    assert!(matches!(
        e.problems[0].problem,
        Problem::UnknownMachine { .. }
    ));
    assert_eq!(e.problems[0].place.as_ref().unwrap().line_column(), (1, 8));
}

#[test]
fn hostile_nesting_is_an_error() {
    for text in [
        "[".repeat(100_000),
        format!("x = {}", "[".repeat(100_000)),
        "a.".repeat(100_000),
        "x={a=".repeat(50_000),
    ] {
        refuse(&text);
    }
}

#[test]
fn a_ratio_too_fine_for_any_clock_is_an_error() {
    // 2^60 granule times would wrap to 0 in 64 bits; the second value saturates on both sides.
    for value in [
        "1/1152921504606846976",
        "1/18446744073709551615",
        "18446744073709551615/9223372036854775808",
        "18446744073709551557/18446744073709551533",
    ] {
        check(
            &format!("dma.bandwidth = {{ value = \"{value}\", unit = \"B/cycle\" }}"),
            &["`dma.bandwidth` cannot be", "fewer digits", ":2:27"],
        );
    }
}

#[test]
fn a_quoted_dot_is_no_path() {
    // Accepted, the quoted key would set the clock a second time.
    check(
        "\"cp2.clock\" = { value = 1, unit = \"GHz\" }\n[cp2]\nclock = { value = 2, unit = \"GHz\" }",
        &["unknown key `\"cp2.clock\"`", "did you mean `cp2.clock`?"],
    );
}

#[test]
fn a_file_of_errors_is_refused_at_once() {
    let keys: String = (0..100_000).map(|i| format!("k{i} = 1\n")).collect();
    let inner: String = (0..50_000).map(|i| format!(", k{i} = 1")).collect();
    for text in [
        keys,
        format!("cp2.clock = {{ value = 1, unit = \"GHz\"{inner} }}"),
        format!("cp2.extensions = [{}]", "\"x\",".repeat(100_000)),
        format!("{} = 1", "a".repeat(1_000_000)),
    ] {
        let e = refuse(&text);
        assert!((1..=20).contains(&e.problems.len()));
        assert!(e.problems[0].to_string().starts_with("error: unknown key"));
    }
}

#[test]
fn a_file_name_that_is_no_machine_name_becomes_one() {
    for (file, name) in [
        ("my machine.toml", "my-machine"),
        ("\u{fc}\n.toml", "--"),
        ("", "unnamed"),
    ] {
        let m = Machine::parse(file, "base = \"vm7\"").unwrap();
        assert_eq!(m.name, name);
        // The printed text, which a checkpoint holds too, loads again.
        assert_eq!(Machine::parse("again.toml", &m.to_toml()), Ok(m));
    }
}
