//! Tests the corner cases of the language, rule by rule.

use crate::object::ObjectError;
use crate::{
    Assembly, Diagnostics, MachineMismatch, Options, Problem, Program, Source, StructureError,
    assemble, parse_define,
};
use cp2_machine::Machine;

fn try_assemble(text: &str) -> Result<Assembly, Diagnostics> {
    assemble(&Source::new("c.s", text), &Options::default())
}

fn data(text: &str) -> Vec<u32> {
    let program = try_assemble(text).unwrap().program;
    let bytes = &program.dmem.first().unwrap().bytes;
    bytes
        .chunks_exact(4)
        .map(|b| u32::from_le_bytes(b.try_into().unwrap()))
        .collect()
}

fn codes(text: &str) -> Vec<&'static str> {
    try_assemble(text)
        .err()
        .map(|errors| errors.iter().map(|e| e.code).collect())
        .unwrap_or_default()
}

#[test]
fn the_list_of_errors_says_when_it_is_cut() {
    let lines = |n: usize| -> String { (0..n).map(|i| format!(" adn{i} r0\n")).collect() };
    assert_eq!(try_assemble(&lines(99)).unwrap_err().len(), 99);
    let errors = try_assemble(&lines(250)).unwrap_err();
    assert_eq!(errors.len(), 101);
    let last = errors.iter().last().unwrap();
    assert_eq!(last.problem, Problem::MoreErrors { shown: 100 });
    assert_eq!(last.at.line, 100);
    let end = "error: reading stopped after 100 errors: there may be more";
    assert!(errors.to_string().contains(end));
}

#[test]
fn the_list_of_warnings_says_when_it_is_cut() {
    let vm7 = Machine::builtin("vm7").unwrap();
    let options = Options {
        machine: Some(&vm7),
        ..Options::default()
    };
    let text = " ldp r0, [a0]\n add r1, r0, r0\n".repeat(130) + " stop\n";
    let warnings = assemble(&Source::new("c.s", text), &options)
        .unwrap()
        .warnings;
    let last = warnings.iter().last().unwrap();
    let expected = Problem::MoreWarnings {
        shown: 100,
        more: 30,
    };
    assert_eq!(last.problem, expected);
}

#[test]
fn very_long_lines_and_names_are_not_repeated() {
    let long = "x".repeat(1 << 20);
    for text in [
        format!(" {long} r0\n"),
        format!(" add r0, r1, {long}\n"),
        format!(" movi a0, {}\n", "9".repeat(1 << 20)),
        format!("{}\n", "# ".repeat(1 << 19)),
        format!(".error \"{long}\"\n"),
        format!("{long}: nop\n"),
        format!(".macro {long}\n nop 1\n.endm\n {long}\n"),
        format!("a: nop {}\na: stop\n", ";".repeat(1 << 20)),
    ] {
        let errors = try_assemble(&text).unwrap_err();
        let shown = errors.to_string();
        assert!(shown.starts_with("error: "), "{}", &shown[..80]);
        assert!(shown.contains("--> c.s:"), "{}", &shown[..80]);
        let json = serde_json::to_string(&errors).unwrap();
        let most = 4000 * errors.len();
        assert!(shown.len() < most && json.len() < most, "{}", &shown[..80]);
    }
}

#[test]
fn help_survives_a_long_line() {
    let text = format!(" adn{}r0\n", " ".repeat(500));
    let shown = try_assemble(&text).unwrap_err().to_string();
    assert!(shown.contains("did you mean `add`?"), "{shown}");
}

#[test]
fn the_least_integer_is_a_literal() {
    assert_eq!(
        data(
            ".dmem\n.int -9223372036854775808 == -9223372036854775807 - 1\n.int -0x8000000000000000 < 0\n"
        ),
        [1, 1]
    );
    for text in [
        "9223372036854775808",
        "-9223372036854775809",
        "0xffffffffffffffff",
        "1e400",
        "- -9223372036854775808 * 0 + 9223372036854775808",
    ] {
        assert_eq!(
            codes(&format!(".equ x, {text}\n")),
            ["number-range"],
            "{text}"
        );
    }
}

#[test]
fn a_computed_nan_is_the_same_on_every_host() {
    assert_eq!(
        data(".dmem\n.float 0.0 / 0.0, (0.0 / 0.0) * 2, (1.0 / 0) - (1.0 / 0), exp2(0.0 / 0.0)\n"),
        [0x7fc0_0000; 4]
    );
    // A NaN given by its bits keeps them.
    assert_eq!(data(".dmem\n.float bits(0xff800001)\n"), [0xff80_0001]);
}

#[test]
fn what_is_finite_does_not_become_infinite() {
    assert_eq!(
        data(".dmem\n.float 3.4028235e38, 1.0 / 0\n"),
        [0x7f7f_ffff, 0x7f80_0000]
    );
    for text in [
        ".dmem\n.float 3.5e38\n",
        ".dmem\n.complex 0, -1e39\n",
        ".dmem\n.space 8, 1e39\n",
        " lif r0, 1e300\n",
    ] {
        assert_eq!(codes(text), ["float-range"], "{text}");
    }
}

#[test]
fn definitions_are_read_to_the_last_character() {
    assert!(parse_define("N=3").is_ok());
    for text in ["N=1x", "N=3é", "éN=3", "N=\"", "N=3 /*"] {
        assert!(parse_define(text).is_err(), "{text}");
    }
}

#[test]
fn texts_of_other_editors_are_read() {
    let plain = try_assemble("a: nop\n stop\n").unwrap();
    for text in ["\u{feff}a: nop\n stop\n", "a: nop ; c\r\n stop\r\n"] {
        assert_eq!(try_assemble(text).unwrap(), plain, "{text:?}");
    }
    // A carriage return without a line feed is refused; otherwise a comment would reach to the end of a file
    // with such line ends.
    assert_eq!(codes("; comment\r\n\r stop\n"), ["character"]);
}

/// Control characters in a line do not move the caret away from the place of the error.
#[test]
fn control_characters_do_not_spoil_the_caret() {
    for text in [" nop \r oops\n stop\n", " nop \u{b}\u{1b} oops\n stop\n"] {
        let error = try_assemble(text).unwrap_err().to_string();
        assert!(
            !error.contains(|c: char| c.is_control() && c != '\n'),
            "{error:?}"
        );
        let lines: Vec<&str> = error.lines().collect();
        let marks = |line: &&str| line.contains('^');
        let at = lines.iter().position(marks).unwrap();
        let column = lines[at].find('^').unwrap();
        assert!(
            lines[at - 1][column..].trim().starts_with("oops"),
            "{error}"
        );
    }
}

#[test]
fn a_foreign_word_is_one_error() {
    assert_eq!(codes("日本語 nop\n stop\n"), ["character"]);
}

#[test]
fn registers_beyond_the_last_are_explained() {
    for text in [" add r0, r1, r{64}\n", " ldq q32, [a0]\n", " movi s16, 4\n"] {
        let shown = try_assemble(text).unwrap_err().to_string();
        assert!(shown.contains("= help: registers: r0..r63, "), "{shown}");
    }
}

/// Loads an object of words that the assembler would not produce.
fn load(words: &[&str]) -> Result<Program, ObjectError> {
    let words = words
        .iter()
        .enumerate()
        .map(|(pc, text)| crate::assemble_word(text, pc as u16).unwrap().encode())
        .collect::<Vec<_>>();
    let program = Program {
        lines: vec![crate::Line::default(); words.len()],
        words,
        ..Program::default()
    };
    Program::from_elf(&program.to_elf())
}

#[test]
fn the_loader_refuses_what_the_assembler_would() {
    use StructureError as S;
    assert!(load(&["loop 2, 2", "nop", "nop", "jmp 0"]).is_ok());
    for (words, expected) in [
        (
            &["jmp 2", "stop"][..],
            S::Target {
                pc: 0,
                target: 2,
                words: 2,
            },
        ),
        (
            &["loop 2, 4095", "stop"],
            S::Target {
                pc: 0,
                target: 4095,
                words: 2,
            },
        ),
        (
            &["loop 2, 1", "bnz c0, 0", "stop"],
            S::LoopLast {
                pc: 0,
                end: 1,
                mnemonic: "bnz",
            },
        ),
        (
            &["loop 2, 2", "loop c0, 2", "nop", "stop"],
            S::LoopShared { pc: 1, outer: 0 },
        ),
        (
            &["loop 2, 2", "loop 2, 3", "nop", "nop", "stop"],
            S::LoopOverlap {
                pc: 1,
                end: 3,
                outer: 0,
                outer_end: 2,
            },
        ),
    ] {
        assert_eq!(load(words), Err(ObjectError::Structure(expected)));
    }
}

#[test]
fn the_loader_knows_how_deep_loops_may_nest() {
    let mut vm7 = Machine::builtin("vm7").unwrap();
    let program = load(&["loop 2, 4", "loop 2, 3", "nop", "nop", "nop", "stop"]).unwrap();
    vm7.cp2.loop_depth = 2;
    assert_eq!(program.check_machine(&vm7), Ok(()));
    vm7.cp2.loop_depth = 1;
    let expected = MachineMismatch::LoopDepth {
        pc: 1,
        depth: 2,
        most: 1,
        machine: "vm7".into(),
    };
    assert_eq!(program.check_machine(&vm7), Err(expected));
}

/// Addresses of DMEM are refused wherever a program address is required, even if both would be the same
/// number.
#[test]
fn an_address_of_dmem_is_no_place_in_the_program() {
    let source = |line: &str, constants: &str| {
        format!(
            "{constants}\nfirst: nop\n{line}\nlast: nop\n nop\n stop\n.dmem\n .int 7\ndata: .int 9, 8\nmore:\n"
        )
    };
    let wanting = [
        ".entry {}",
        " jmp {}",
        " call {}",
        " loop 3, {}",
        " loop c0, {}",
    ];
    let refused = [
        "data",
        "data - 1",
        "1 + data",
        "+data",
        "last - first + data",
        "data + last",
        "1 ? data : last",
        "data - last",
    ];
    let taken = [
        "last",
        "last + 0",
        "first + (more - data) / 4",
        "0 ? data : last",
        "last + more - data - 8",
        "3",
    ];
    for wants in wanting {
        for (places, code) in [(&refused[..], Some("not-program")), (&taken[..], None)] {
            for place in places {
                let named = wants.replace("{}", "place");
                for text in [
                    source(&wants.replace("{}", place), ""),
                    // Constants that are addresses, defined before their label and behind it.
                    source(&named, &format!(".equ place, {place}")),
                    source(&named, "") + &format!(".equ place, {place}\n"),
                ] {
                    let found = codes(&text);
                    assert_eq!(found.first().copied(), code, "{text}");
                    assert!(found.len() < 2, "{text}");
                }
            }
        }
    }
    // The message quotes the name that the line uses.
    let error = try_assemble(&source(" jmp place", ".equ place, data + 4")).unwrap_err();
    let said = error.to_string();
    assert!(
        said.contains("`place` is a DMEM address, not a place in the program"),
        "{said}"
    );
    assert!(codes(&source(" movi a0, data + last", ".equ N, more - data")).is_empty());
    let macros = " .macro go to\n jmp \\to\n.endm\n go data + 0\n";
    assert_eq!(codes(&source(macros, "")), ["not-program"]);
    let repeated = ".rept 3, i\n jmp data - i\n.endr\n";
    assert_eq!(
        codes(&source(repeated, "")),
        ["not-program"],
        "once for a line"
    );
}
