//! Tests of listings: labels, constants, data, addresses and source lines.

use super::disassemble;
use crate::isa::{Address, AddressOperand, Inst, Mode, Op, Word};
use crate::{Line, Program, Segment, Symbol, SymbolKind};
use cp2_machine::Extensions;

fn symbol(name: &str, kind: SymbolKind, value: i64) -> Symbol {
    Symbol {
        name: name.into(),
        kind,
        value,
    }
}

/// Makes a program with a loop over a load, a branch back, and a call beyond the end.
fn sample() -> Program {
    let mem = |inst| {
        Word {
            mem: inst,
            ..Word::NOP
        }
        .encode()
    };
    let load = Inst {
        place: AddressOperand::Shared(Address {
            base: 2,
            mode: Mode::Post(16),
        }),
        ..Inst::new(Op::LdQ)
    };
    let loop_head = Inst {
        imm: 8,
        target: 2,
        ..Inst::new(Op::LoopI)
    };
    let add = Inst {
        r: [2, 3, 4, 0, 0],
        ..Inst::new(Op::AddP)
    };
    let branch = Inst {
        r: [32, 0, 0, 0, 0],
        target: 1,
        ..Inst::new(Op::Bnz)
    };
    let call = Inst {
        target: 500,
        ..Inst::new(Op::Call)
    };
    Program {
        words: vec![
            0,
            mem(loop_head),
            mem(load),
            Word {
                arith: add,
                mem: load,
            }
            .encode(),
            mem(branch),
            mem(call),
        ],
        dmem: vec![Segment {
            address: 0x20,
            bytes: [vec![0, 0, 0x80, 0x3f], vec![0; 32], vec![1; 4]].concat(),
        }],
        symbols: vec![
            symbol("start", SymbolKind::Program, 1),
            symbol("start.again", SymbolKind::Program, 1),
            symbol("table", SymbolKind::Dmem, 0x24),
            symbol("after", SymbolKind::Dmem, 0x100),
            symbol("N", SymbolKind::Absolute, -16),
            symbol("r5", SymbolKind::Absolute, 5),
            symbol("two\nlines", SymbolKind::Absolute, 2),
        ],
        files: vec!["k.s".into()],
        lines: (0..6).map(|i| Line::new(0, i / 2)).collect(),
        expansions: Vec::new(),
        entry: 0,
        requires: Extensions::DOUBLE_SINGLE,
        rows: Vec::new(),
    }
}

#[test]
fn a_listing_names_its_places() {
    let expected = "\
.require double-single
.equ N, -16
; Absolute symbol r5 = 0x5
; Absolute symbol two lines = 0x2
.program
.entry L_0000
L_0000:
    nop
start:
start.again:
    loop 8, L_0003
    ldq q0, [a2]+16
L_0003:
    add r2, r3, r4 || ldq q0, [a2]+16
    bnz c0, start
    call 0x01f4
.dmem 0x20
    .int 0x3f800000                                     ; 1.0
table:
    .space 32, 0
    .int 0x01010101                                     ; 2.3694278e-38
.dmem 0x100
after:
";
    assert_eq!(disassemble(&sample()).unwrap().to_string(), expected);
}

#[test]
fn addresses_and_sources_are_comments() {
    let program = sample();
    let plain = disassemble(&program).unwrap();
    let mut asked = Vec::new();
    let full = disassemble(&program)
        .unwrap()
        .addresses(true)
        .sources(|file| {
            asked.push(file.to_owned());
            Some("first line\n  second line  ".to_owned())
        });
    let text = full.to_string();
    assert!(text.contains("    ; k.s:1 | first line\n"), "{text}");
    assert!(text.contains("    ; k.s:2 | second line\n"), "{text}");
    assert!(
        text.contains(&format!("; 0001: {:016x}\n", program.words[1])),
        "{text}"
    );
    let bare = |text: &str| -> Vec<String> {
        let code = text
            .lines()
            .map(|line| line.split(';').next().unwrap_or("").trim_end().to_owned());
        code.filter(|line| !line.is_empty()).collect()
    };
    assert_eq!(bare(&text), bare(&plain.to_string()));
    drop(full);
    assert_eq!(asked, ["k.s"]);
}

#[test]
fn words_that_are_none_are_named() {
    let program = Program {
        words: vec![0, !0],
        ..Program::default()
    };
    assert!(matches!(disassemble(&program), Err((1, _))));
}

#[test]
fn made_up_labels_avoid_symbols() {
    let jump = Inst {
        target: 0,
        ..Inst::new(Op::Jmp)
    };
    let program = Program {
        words: vec![
            Word {
                mem: jump,
                ..Word::NOP
            }
            .encode(),
        ],
        symbols: vec![symbol("L_0000", SymbolKind::Absolute, 7)],
        ..Program::default()
    };
    let listing = disassemble(&program).unwrap();
    assert_eq!(listing.word(0), "jmp L_0000_");
    assert_eq!(listing.labels(0), ["L_0000_"]);
}

/// Comments stand behind their word and remarks before it; neither ends its line, whatever its text holds.
#[test]
fn comments_and_remarks_stay_comments() {
    let program = sample();
    let text = disassemble(&program)
        .unwrap()
        .comment(2, "k.s:1\nstop")
        .remark(2, "first\nstop")
        .remark(2, "second")
        .to_string();
    let lines: Vec<&str> = text.lines().map(str::trim).collect();
    let at = lines.iter().position(|line| line.starts_with("ldq"));
    let at = at.unwrap();
    assert!(lines[at].ends_with("; k.s:1 stop"), "{text}");
    assert_eq!(lines[at - 2..at], ["; first stop", "; second"]);
    let addressed = disassemble(&program).unwrap().addresses(true);
    let addressed = addressed.comment(2, "k.s:1").to_string();
    let bits = format!("; 0002: {:016x} | k.s:1", program.words[2]);
    assert!(addressed.contains(&bits), "{addressed}");
}
