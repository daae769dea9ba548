//! Tests of instructions that a machine file defines, in programs and objects.

use cp2_asm::isa::{Inst, Isa, Kind, Op, Word};
use cp2_asm::{
    LinkError, MachineMismatch, ObjectError, Options, Program, Source, assemble, disassemble,
    manual,
};
use cp2_machine::Machine;
use proptest::prelude::*;

/// A row of each form; the first two share a mnemonic.
const ROWS: [(&str, &str, &str); 7] = [
    ("half", "P2", "d[i] = fmul(a[i], 0.5)"),
    ("half", "Q2", "d[i] = fmul(a[i], 0.5)"),
    ("far", "P3", "d[i] = fabs(fsub(a[i], b[i]))"),
    (
        "mix",
        "Q3",
        "m = flt(a[i], b[i]); d[i] = select(m, a[i^1], b[i^2])",
    ),
    (
        "smooth",
        "P4",
        "l = fadd(a[1], b[1]); r = fadd(b[0], c[0]); \
        d[0] = fadd(fmul(l, 0.25), fmul(b[0], 0.5)); d[1] = fadd(fmul(r, 0.25), fmul(b[1], 0.5))",
    ),
    ("axpy", "Q4", "d[i] = fadd(fmul(a[i], b[i]), c[i])"),
    (
        "sort2",
        "P22",
        "d[i] = fmin(a[i], b[i]); e[i] = fmax(a[i], b[i])",
    ),
];

fn machine_with(rows: &[(&str, &str, &str)]) -> Machine {
    let mut text = "base = \"vm7\"\nname = \"mine\"\n".to_owned();
    for (mnemonic, form, lanes) in rows {
        text += &format!(
            "[[row]]\nmnemonic = \"{mnemonic}\"\nform = \"{form}\"\nclass = \"butterfly\"\n\
             doc = \"A row of the form {form}.\"\nlanes = \"{lanes}\"\n"
        );
    }
    Machine::parse("mine.toml", &text).unwrap_or_else(|e| panic!("{text}\n{e}"))
}

fn mine() -> Machine {
    machine_with(&ROWS)
}

fn program(text: &str, machine: &Machine) -> Program {
    let options = Options {
        machine: Some(machine),
        ..Options::default()
    };
    let source = Source::new("a.s", format!(".program\n{text}\nstop\n"));
    let assembly = assemble(&source, &options);
    assembly.unwrap_or_else(|e| panic!("{text}\n{e}")).program
}

fn refusal(text: &str, machine: Option<&Machine>) -> String {
    let options = Options {
        machine,
        ..Options::default()
    };
    let source = Source::new("a.s", format!(".program\n{text}\nstop\n"));
    match assemble(&source, &options) {
        Err(errors) => errors.to_string(),
        Ok(_) => panic!("{text} is accepted"),
    }
}

#[test]
fn operands_choose_among_rows_of_a_mnemonic() {
    let machine = mine();
    let all = program(
        "half r4, r5\nhalf q4, q5 || ldq q1, [a0]\nsmooth r9, r1, r2, r3",
        &machine,
    );
    let words = all.decode().unwrap();
    let used = |at: usize| words[at].user_row().map(|row| row.definition().form.name());
    assert_eq!(
        [used(0), used(1), used(2), used(3)],
        [Some("P2"), Some("Q2"), Some("P4"), None]
    );
    assert_eq!(words[2].arith.r, [9, 1, 2, 3, 0]);
    let codes: Vec<u8> = all.rows.iter().map(|row| row.definition().opcode).collect();
    assert_eq!(codes, [0, 1, 4]);
    let row = words[2].arith.row();
    assert_eq!((row.major, row.minor, row.muls, row.adds), (15, 4, 4, 4));
    assert_eq!(all.words[2] >> 59, 15);
}

/// The name of a row that the machine lacks is named; a name that is none gets the nearest.
#[test]
fn names_that_are_none_are_refused() {
    let machine = mine();
    let text = refusal("smoth r9, r1, r2, r3", Some(&machine));
    assert!(
        text.contains("`smoth`") && text.contains("did you mean `smooth`?"),
        "{text}"
    );
    for machine in [None, Machine::builtin("vm7").as_ref()] {
        let text = refusal("smooth r9, r1, r2, r3", machine);
        assert!(text.contains("unknown instruction `smooth`"), "{text}");
    }
    let text = refusal("smooth r9, r1, q2, r3", Some(&machine));
    assert!(
        text.contains("do not fit `smooth`") && text.contains("d:pair, a:pair, b:pair, c:pair"),
        "{text}"
    );
    // Sources that know nothing of a row stay as they are: a macro hides it.
    let hidden = program(".macro smooth\nnop\n.endm\nsmooth", &machine);
    assert_eq!(hidden.words[0], Word::NOP.encode());
    let clash = machine_with(&[("madd", "P4", "d[i] = fadd(fmul(a[i], b[i]), c[i])")]);
    let text = refusal("nop", Some(&clash));
    assert!(
        text.contains("has the mnemonic `madd`, which the instruction table has"),
        "{text}"
    );
}

#[test]
fn objects_carry_the_rows_that_they_use() {
    let machine = mine();
    let all = program(
        "sort2 r1, r2, r3, r4\nfar r1, r2, r3\nsort2 r5, r6, r1, r2",
        &machine,
    );
    let elf = all.to_elf();
    let again = Program::from_elf(&elf).unwrap();
    assert_eq!(again, all);
    assert_eq!(again.rows.len(), 2);
    assert_eq!(again.check_machine(&machine), Ok(()));
    let listing = disassemble(&again).unwrap().to_string();
    assert!(listing.contains("sort2 r1, r2, r3, r4"), "{listing}");
    assert!(
        listing.contains("; row `far` P3 of the machine: d[i] = fabs(fsub(a[i], b[i]))"),
        "{listing}"
    );
    let mut base = program("nop", &machine);
    assert!(base.rows.is_empty());
    // Without its rows an object's words are none.
    base.words = all.words;
    let text = Program::from_elf(&base.to_elf()).unwrap_err().to_string();
    assert!(text.contains("no instruction has opcode 15.6"), "{text}");
    // A note that is damaged is refused with what is wrong.
    let at = elf.windows(5).position(|bytes| bytes == b"fsub(").unwrap();
    let mut damaged = elf.clone();
    damaged[at..at + 4].copy_from_slice(b"fsum");
    let error = Program::from_elf(&damaged).unwrap_err();
    assert!(matches!(&error, ObjectError::Rows { .. }), "{error}");
    assert!(
        error.to_string().contains("`fsum` is no primitive"),
        "{error}"
    );
}

#[test]
fn another_machine_refuses_the_object_by_name() {
    let all = program("far r1, r2, r3", &mine());
    let check = |machine: &Machine| match all.check_machine(machine) {
        Err(error @ MachineMismatch::Row { .. }) => error.to_string(),
        other => panic!("{other:?}"),
    };
    let vm7 = Machine::builtin("vm7").unwrap();
    let text = check(&vm7);
    assert!(
        text.contains("the row `far` of opcode 2, and machine `vm7` has no such row"),
        "{text}"
    );
    let mut rows = ROWS;
    rows[2].2 = "d[i] = fabs(fsub(b[i], a[i]))";
    let text = check(&machine_with(&rows));
    assert!(
        text.contains("machine `mine` defines `far` differently")
            && text.contains("fsub(b[i], a[i])"),
        "{text}"
    );
    rows[2].0 = "other";
    let text = check(&machine_with(&rows));
    assert!(text.contains("machine `mine` has `other` there"), "{text}");
    // At another opcode it is another instruction; documentation makes no difference.
    let text = check(&machine_with(&ROWS[1..]));
    assert!(text.contains("defines `far` differently"), "{text}");
    let text = mine()
        .to_toml()
        .replace("A row of the form P3.", "Another text.");
    let same = Machine::parse("same.toml", &text).unwrap();
    assert_ne!(same.cp2.rows, mine().cp2.rows);
    assert_eq!(all.check_machine(&same), Ok(()));
}

#[test]
fn programs_are_linked_with_their_rows() {
    let machine = mine();
    let (one, two) = (
        program("far r1, r2, r3", &machine),
        program("half r1, r2\njmp 0", &machine),
    );
    let both = one.linked(&two, 2).unwrap();
    let used: Vec<_> = both
        .decode()
        .unwrap()
        .iter()
        .filter_map(Word::user_row)
        .collect();
    assert_eq!(used.len(), 2);
    let other = program(
        "half r1, r2",
        &machine_with(&[("half", "P2", "d[i] = fmul(a[i], 2.0)")]),
    );
    let error = two.linked(&other, 2).unwrap_err();
    assert!(matches!(error, LinkError::Row { opcode: 0, .. }), "{error}");
}

#[test]
fn the_manual_of_a_machine_lists_its_rows() {
    let text = manual::isa_of(&[Machine::builtin("vm9").unwrap(), mine()]);
    let line = text
        .lines()
        .find(|line| line.starts_with("| `far` |"))
        .unwrap_or_else(|| panic!("{text}"));
    assert!(
        line.contains("`01111`") && line.contains("| - | 6 | 0 | 2 |"),
        "{line}"
    );
    assert!(
        line.contains("A row of the form P3. Lanes: `d[i] = fabs(fsub(a[i], b[i]))`."),
        "{line}"
    );
    assert!(!manual::isa().contains("`far`"));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Words of rows come back from their bits and from their text; reserved bits are refused.
    #[test]
    fn words_of_rows_survive_bits_and_text(row in 0..ROWS.len(), registers in prop::array::uniform5(0u8..64), bit in 0u32..35) {
        let machine = mine();
        let isa = Isa::of(&machine);
        let op = Op::User(machine.cp2.rows[row]);
        let mut inst = Inst::new(op);
        for (at, operand) in op.row().form.operands().iter().enumerate() {
            inst.r[at] = registers[at] % if operand.kind == Kind::Quad { 32 } else { 64 };
        }
        if ROWS[row].1 == "P22" && inst.r[0] == inst.r[1] {
            inst.r[1] ^= 1;
        }
        let word = Word { arith: inst, mem: Word::NOP.mem };
        let bits = word.encode();
        prop_assert_eq!(isa.decode(bits), Ok(word));
        prop_assert!(Word::decode(bits).is_err());
        let again = program(&word.to_string(), &machine);
        prop_assert_eq!(again.words[0], bits);
        // Any other bit is another word, or none.
        let flipped = bits ^ 1 << (29 + bit);
        if let Ok(other) = isa.decode(flipped) {
            prop_assert_eq!(other.encode(), flipped);
            prop_assert!(other != word);
        }
    }
}
