//! Tests of rows of the instruction table in machine files.

use cp2_machine::{Machine, RowForm};

/// A multiply-add, as a file would define it.
const MINE: &str = "base = \"vm7\"\n[[row]]\nmnemonic = \"mine\"\nform = \"P4\"\nclass = \"madd\"\n\
    lanes = \"t = fmul(a[i], b[i]); d[i] = fadd(t, c[i])\"\n";

fn parse(text: &str) -> Machine {
    Machine::parse("my.toml", text).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

/// Returns a file with one row of these fields, `;` between them; those left out are those of a row that is right.
fn file(fields: &[(&str, &str)]) -> String {
    let usual = [
        ("mnemonic", "\"mine\""),
        ("form", "\"P3\""),
        ("class", "\"add\""),
        ("lanes", "\"d[i] = fadd(a[i], b[i])\""),
    ];
    let mut text = "base = \"vm7\"\n[[row]]\n".to_owned();
    let kept = usual
        .iter()
        .filter(|(key, _)| fields.iter().all(|(other, _)| other != key));
    for (key, value) in kept.chain(fields).filter(|(_, value)| !value.is_empty()) {
        text += &format!("{key} = {value}\n");
    }
    text
}

#[test]
fn a_row_is_part_of_its_machine() {
    let machine = parse(MINE);
    let [row] = machine.cp2.rows[..] else {
        panic!("{machine:?}");
    };
    let row = row.definition();
    assert_eq!((row.form, row.opcode, row.latency), (RowForm::P4, 0, None));
    assert_eq!((row.flow.muls(), row.flow.adds()), (2, 2));
    let vm7 = Machine::builtin("vm7").unwrap();
    assert_ne!(machine.hash, vm7.hash);
    assert_eq!(machine.description, "vm7 with rows of its own: 1");
    assert_eq!(machine.to_json()["rows"][0]["lanes"], row.lanes.as_str());
    let changed = machine
        .with_changes("section-addressing+cp2.dmem=x2")
        .unwrap();
    assert_eq!(changed.cp2.rows, machine.cp2.rows);
    assert_eq!(changed.cp2.units(), (4, 6));
    for machine in [machine, changed] {
        assert_eq!(
            Machine::parse("again.toml", &machine.to_toml()).as_ref(),
            Ok(&machine)
        );
    }
}

/// Equal rows are one row, and what decides the result enters the hash; documentation does not.
#[test]
fn the_hash_is_of_what_a_row_does() {
    let hash = |fields: &[(&str, &str)]| parse(&file(fields)).hash;
    assert_eq!(parse(MINE).cp2.rows, parse(MINE).cp2.rows);
    let base = hash(&[]);
    assert_eq!(
        base,
        hash(&[
            ("doc", "\"A sum.\""),
            ("opcode", "0"),
            ("source", "\"measured\"")
        ])
    );
    assert_eq!(
        base,
        hash(&[("lanes", "\"  d [ i ]=fadd( a[i],b[i] ) ;\"")])
    );
    for other in [
        ("lanes", "\"d[i] = fsub(a[i], b[i])\""),
        ("opcode", "7"),
        ("class", "\"madd\""),
        ("latency", "9"),
        ("adders", "8"),
        ("mnemonic", "\"other\""),
    ] {
        assert_ne!(base, hash(&[other]), "{other:?}");
    }
}

#[test]
fn rows_replace_those_of_the_base_and_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    write("first.toml", &file(&[("opcode", "5")]));
    let second = file(&[("lanes", "\"d[i] = fsub(a[i], b[i])\"")]);
    let more = "[[row]]\nmnemonic = \"more\"\nform = \"Q2\"\nclass = \"integer\"\nlanes = \"d[i] = a[i^2]\"\n";
    let second = second.replace("\"vm7\"", "\"first.toml\"") + more;
    let machine = Machine::load(&write("second.toml", &second)).unwrap();
    let rows: Vec<_> = machine
        .cp2
        .rows
        .iter()
        .map(|row| row.definition())
        .collect();
    let names: Vec<_> = rows
        .iter()
        .map(|row| (row.mnemonic.as_str(), row.opcode))
        .collect();
    assert_eq!(names, [("more", 0), ("mine", 5)]);
    assert_eq!(rows[1].lanes, "d[i] = fsub(a[i], b[i])");
    assert_eq!(
        rows[1].origin.reference,
        "changed from d[i] = fadd(a[i], b[i])"
    );
    let both = Machine::load(&format!(
        "{}+double",
        folder.path().join("second.toml").display()
    ));
    assert_eq!(both.unwrap().cp2.rows, machine.cp2.rows);
    let only = Machine::load(&format!(
        "vm9+rows={}",
        folder.path().join("second.toml").display()
    ));
    let only = only.unwrap();
    assert_eq!(
        (&only.cp2.rows, only.cp2.clock_hz),
        (&machine.cp2.rows, 1_000_000_000)
    );
}

/// Rows of two files are taken one behind the other; a base takes none, so that files cannot name each other.
#[test]
fn rows_of_several_files_are_taken_by_changes_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    for name in ["one", "two"] {
        let text = MINE.replace("mine", name);
        std::fs::write(path(&format!("{name}.toml")), text).unwrap();
    }
    let both = format!("vm7+rows={}+rows={}", path("one.toml"), path("two.toml"));
    let rows = Machine::load(&both).unwrap().cp2.rows;
    let rows = rows.iter().map(|row| row.definition());
    let found: Vec<_> = rows
        .map(|row| (row.mnemonic.as_str(), row.opcode))
        .collect();
    assert_eq!(found, [("one", 0), ("two", 1)]);
    let text = MINE.replace("vm7", "vm7+rows=ring.toml");
    std::fs::write(path("ring.toml"), text).unwrap();
    let error = Machine::load(&path("ring.toml")).unwrap_err().to_string();
    assert!(
        error.contains("`base` takes the rows of another file") && error.contains("ring.toml:1:"),
        "{error}"
    );
}

/// Each message says what is wrong and what is expected, at the place.
#[test]
fn what_is_wrong_is_said() {
    let check = |fields: &[(&str, &str)], messages: &[&str]| {
        let text = file(fields);
        let error = Machine::parse("my.toml", &text)
            .expect_err(&text)
            .to_string();
        for message in messages {
            assert!(error.contains(message), "{message}\n{error}");
        }
    };
    let lanes = |text: &str, messages: &[&str]| {
        check(&[("lanes", &format!("\"{text}\""))], messages);
    };
    check(
        &[("mnemonic", "")],
        &["the row has no `mnemonic`", "my.toml:2:1"],
    );
    check(
        &[("mnemonic", "\"r12\"")],
        &["`mnemonic` cannot be `r12`", "small letters"],
    );
    check(
        &[("form", "\"Butterfly\"")],
        &["`form` cannot be `Butterfly`", "P2, Q2, P3"],
    );
    check(
        &[("class", "\"elementary\"")],
        &["`class` cannot be", "integer, add, madd, butterfly"],
    );
    check(&[("opcode", "64")], &["`opcode` cannot be `64`", "0 to 63"]);
    check(&[("latency", "0")], &["1 to 1000 cycles"]);
    check(
        &[("multipliers", "2")],
        &["`multipliers` cannot be `2`", "4 to 64"],
    );
    check(
        &[("lane", "3")],
        &["unknown key `row.lane`", "did you mean `lanes`?"],
    );
    check(&[("source", "\"guess\"")], &["fact, assumed, measured"]);
    lanes(
        "d[i] = a[i] + b[i]",
        &[
            "column 13 of `lanes`: `+`",
            "my.toml:6:22",
            "fadd(a[i], b[i])",
        ],
    );
    lanes(
        "d[i] = fadd(a[i], b[i]",
        &["the end where `,` or `)` is expected"],
    );
    lanes(
        "d[i] = fad(a[i], b[i])",
        &["`fad` is no primitive", "did you mean `fadd`?"],
    );
    lanes(
        "d[i] = fadd(a[i], bb[i])",
        &["`bb` is no operand of the form P3", "did you mean `b`?"],
    );
    lanes(
        "d[i] = fadd(a[i])",
        &["`fadd` has 1 arguments", "expected 2"],
    );
    lanes(
        "d[i] = fadd(a[i], b[2])",
        &["`b[2]`: the form P3 has lanes 0 to 1"],
    );
    lanes(
        "d[i] = fadd(a[i], fmul(b[i], 2))",
        &["takes a float such as 2.0, and `2` is none"],
    );
    lanes(
        "d[i] = iadd(a[i], iadd(b[i], 2.0))",
        &["takes an integer such as 2"],
    );
    lanes("d[0] = fadd(a[i], b[i])", &["`d[1]` is never given"]);
    lanes(
        "d[i] = fadd(a[i], b[i]); d[0] = a[0]",
        &["`d[0]` is given twice"],
    );
    lanes(
        "d[i] = fadd(a[i], 1.0)",
        &["`b` is never used", "fewer operands"],
    );
    lanes("t = a[i]; d[i] = fadd(a[i], b[i])", &["`t` is never used"]);
    lanes(
        "d[i] = fadd(a, b[i])",
        &["`a` without a lane", "expected a[i]"],
    );
    lanes(
        "d[i] = fadd(a[i], fadd(b[i], 1.0))",
        &["a chain of 2 stages", "class add", "`latency`"],
    );
    // Things that cannot be said.
    lanes(
        "d[i] = fadd(ldp(a[i]), b[i])",
        &["a row cannot say `ldp`: rows have no access to memory"],
    );
    lanes("d[i] = fadd(a[i], dmem[0])", &["no access to memory"]);
    lanes(
        "if (a[i]) d[i] = b[i]",
        &["a row cannot say `if`: rows have no branches"],
    );
    lanes(
        "d[i] = fadd(d[i], fadd(a[i], b[i]))",
        &["never read, a row keeps no state"],
    );
    lanes("a[i] = b[i]; d[i] = b[i]", &["a row keeps no state"]);
    lanes("d[i] = fadd(a[i, 1], b[i])", &["sees only the section"]);
    lanes("d[i] = fadd(a[b], b[i])", &["cannot come from a register"]);
    lanes(
        "d[i] = rcp(fadd(a[i], b[i]))",
        &["elementary functions have a unit of their own"],
    );
    lanes("d[i] = fadd(a[i], 1e99)", &["cannot be 1e99", "binary32"]);
    lanes(
        "",
        &["the end where a result with a lane, or a name is expected"],
    );
}

/// A section has four multipliers and six adders, unless the file says that it has more.
#[test]
fn a_row_takes_the_units_that_there_are() {
    let squares = "\"d[i] = fadd(fmul(a[i], a[i]), fmul(b[i], b[i]))\"";
    let fields = |form, more: &[(&'static str, &'static str)]| {
        let fields = [("form", form), ("class", "\"madd\""), ("lanes", squares)];
        file(&[&fields[..], more].concat())
    };
    assert_eq!(parse(&fields("\"P3\"", &[])).cp2.units(), (4, 6));
    let error = Machine::parse("my.toml", &fields("\"Q3\"", &[]))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("the row takes 8 multipliers, a section has 4"),
        "{error}"
    );
    assert!(error.contains("multipliers = 8"), "{error}");
    let error = Machine::parse("my.toml", &fields("\"Q3\"", &[("multipliers", "7")]));
    assert!(error.unwrap_err().to_string().contains("a section has 7"));
    let machine = parse(&fields("\"Q3\"", &[("multipliers", "8")]));
    assert_eq!(machine.cp2.units(), (8, 6));
    assert_eq!(machine.cp2.flops_per_cycle(), 12.0);
    let adds = "\"d[i] = fadd(fadd(a[i], b[i]), 1.0)\"";
    let text = file(&[("form", "\"Q3\""), ("class", "\"madd\""), ("lanes", adds)]);
    let error = Machine::parse("my.toml", &text).unwrap_err().to_string();
    assert!(
        error.contains("the row takes 8 adders, a section has 6"),
        "{error}"
    );
}

#[test]
fn opcodes_and_operands_tell_rows_apart() {
    let row = |mnemonic: &str, form: &str, opcode: &str| {
        let lanes = match form {
            "P22" => "d[i] = a[i]; e[i] = b[i]",
            "P4" => "d[i] = select(a[i], b[i], c[i])",
            _ => "d[i] = and(a[i], b[i])",
        };
        format!(
            "[[row]]\nmnemonic = \"{mnemonic}\"\nform = \"{form}\"\nclass = \"integer\"\n{opcode}\nlanes = \"{lanes}\"\n"
        )
    };
    let all =
        |rows: &[String]| Machine::parse("my.toml", &format!("base = \"vm7\"\n{}", rows.concat()));
    let two = all(&[row("one", "P3", ""), row("one", "Q3", "opcode = 0")]).unwrap();
    let codes: Vec<_> = two
        .cp2
        .rows
        .iter()
        .map(|r| (r.definition().form, r.definition().opcode))
        .collect();
    assert_eq!(codes, [(RowForm::Q3, 0), (RowForm::P3, 1)]);
    let error = all(&[row("one", "P4", ""), row("one", "P22", "")]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("`one` is also a row of the form P4"),
        "{error}"
    );
    let error = all(&[row("one", "P3", ""), row("one", "P3", "")]).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("`one` is also a row of the form P3"),
        "{error}"
    );
    let error = all(&[
        row("one", "P3", "opcode = 3"),
        row("two", "P3", "opcode = 3"),
    ])
    .unwrap_err();
    assert!(
        error.to_string().contains("opcode 3 is that of `one`"),
        "{error}"
    );
    let many: Vec<_> = (0..65).map(|i| row(&format!("row{i}"), "P3", "")).collect();
    assert!(all(&many[..64]).is_ok());
    let error = all(&many).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("no room for one more row, of at most 64"),
        "{error}"
    );
}

/// Rows that documents show are machine files.
#[test]
fn rows_of_documents_are_read() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for document in ["../CONTRIBUTING.md", "src/manual.md"] {
        let text = std::fs::read_to_string(folder.join(document)).unwrap();
        for block in text.split("```toml\n").skip(1) {
            let block = block.split("```").next().unwrap_or("");
            let rows = parse(block).cp2.rows;
            found.extend(rows.iter().map(|row| row.definition().mnemonic.as_str()));
        }
    }
    assert_eq!(found, ["relu", "axpy"]);
}
