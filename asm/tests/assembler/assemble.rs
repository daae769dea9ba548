//! Tests that assemble whole sources and check the programs.
#![allow(
    clippy::disallowed_methods,
    reason = "oracles may use the host's functions"
)]
#![allow(clippy::unwrap_used, clippy::panic)] // Helpers of tests are tests.

use cp2_asm::isa::{AddressOperand, Mode, Op, OwnAddress, Word};
use cp2_asm::{Options, Program, Source, Value, assemble, parse_define};

fn program(text: &str) -> Program {
    match assemble(&Source::new("t.s", text), &Options::default()) {
        Ok(assembly) => assembly.program,
        Err(errors) => panic!("{errors}"),
    }
}

fn words(text: &str) -> Vec<Word> {
    program(text).decode().unwrap()
}

#[test]
fn both_slots_labels_and_blocks() {
    let p = program(
        "; a kernel
        start:  movi a0, table      // DMEM address
                loop 8 {
                  ldq q0, [a0]+16
                  add q1, q0, q0 || stq q1, [a0 - 32]
                }
                nop
        .loop:  addi c0, c0, -1
                bnz c0, .loop
                stop
        .dmem 64
        table:  .complex 1, -2, 0.5, 0
                .cis 1, 4
        ",
    );
    let w = p.decode().unwrap();
    assert_eq!(w.len(), 8);
    assert_eq!((w[0].mem.op, w[0].mem.imm), (Op::Movi, 64));
    assert_eq!(
        (w[1].mem.op, w[1].mem.imm, w[1].mem.target),
        (Op::LoopI, 8, 2)
    );
    assert_eq!(w[3].arith.op, Op::AddQ);
    assert_eq!(w[6].mem.target, 5);
    assert_eq!(p.symbol("start.loop"), Some(5));
    assert_eq!(p.dmem.len(), 1);
    assert_eq!(p.dmem[0].address, 64);
    let floats: Vec<f32> = p.dmem[0]
        .bytes
        .chunks(4)
        .map(|b| f32::from_le_bytes(b.try_into().unwrap()))
        .collect();
    assert_eq!(floats, [1.0, -2.0, 0.5, 0.0, 0.0, 1.0]);
    assert_eq!(p.location(3).as_deref(), Some("t.s:5"));
}

#[test]
fn repetition_macros_and_computed_registers() {
    let w = words(
        ".equ N, 6
        .equ HALF, N / 2
        .macro pair i, base=a0
          ldp r{\\i}, [\\base + 8 * \\i]
        .endm
        .rept 3, k
        .alias x{k}, r{k + 10}
        .endr
        .rept HALF, k
          .if k != 1
            pair k
          .else
            pair k + 1, a3
          .endif
        .endr
        bfly x0, x1, x2, r{3}, r4 || stop",
    );
    let loads: Vec<_> = w[..3]
        .iter()
        .map(|w| match w.mem.place {
            AddressOperand::Shared(address) => (w.mem.op, w.mem.r[0], address.base, address.mode),
            AddressOperand::Own(own) => panic!("{own:?}"),
        })
        .collect();
    assert_eq!(
        loads,
        [
            (Op::LdP, 0, 0, Mode::Offset(0)),
            (Op::LdP, 2, 3, Mode::Offset(16)),
            (Op::LdP, 2, 0, Mode::Offset(16)),
        ]
    );
    assert_eq!(w[3].arith.r, [10, 11, 12, 3, 4]);
}

#[test]
fn the_caller_overrides_constants() {
    let options = Options {
        defines: vec![("N".into(), Value::Int(5))],
        ..Options::default()
    };
    let p = assemble(
        &Source::new("t.s", ".equ N, 3\n.rept N\nnop\n.endr\nstop"),
        &options,
    )
    .unwrap()
    .program;
    assert_eq!(p.words.len(), 6);
}

/// Evaluates a constant expression.
fn value(expr: &str) -> Value {
    match parse_define(&format!("x={expr}")) {
        Ok((_, value)) => value,
        Err(errors) => panic!("{errors}"),
    }
}

#[test]
fn expressions_follow_c() {
    for (expr, expected) in [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("10 - 4 - 3", 3),
        ("-7 / 2", -3),
        ("-7 % 2", -1),
        ("1 << 4 | 3", 19),
        ("6 & 3 == 3", 0),
        ("~0 ^ 5", -6),
        ("-16 >> 2", -4),
        ("!0 + !7", 1),
        ("1 < 2 && 2 <= 2 && !(3 > 4)", 1),
        ("0 && 1 / 0", 0),
        ("1 || 1 / 0", 1),
        ("0 ? 1 : 2 ? 3 : 4", 3),
        ("1.5 < 2", 1),
        ("0x_ff + 0b1_0 + 0o17 + 1_000", 255 + 2 + 15 + 1000),
        ("bitrev(0b0011, 4)", 0b1100),
        ("bitrev(1, 62)", 1 << 61),
        ("log2(4096)", 12),
        ("min(3, -1, 2) + max(3, -1, 2)", 2),
        ("int(-1.5)", -1),
        ("floor(-1.5)", -2),
        ("ceil(1.25)", 2),
        ("round(2.5)", 2),
        ("abs(-3)", 3),
    ] {
        assert_eq!(value(expr), Value::Int(expected), "{expr}");
    }
    for (expr, expected) in [
        ("7 / 2.0", 3.5),
        ("sqrt(2)", std::f64::consts::SQRT_2),
        ("sin(0.25) + cos(0.5)", 0.0),
        ("sin(1.0 / 12)", 0.5),
        ("exp2(-1)", 0.5),
        ("log2(0.5)", -1.0),
        ("float(3)", 3.0),
        ("bits(0x40490fdb)", f64::from(std::f32::consts::PI)),
        (".5e1 + 1e-1", 5.1),
    ] {
        let Value::Float(found) = value(expr) else {
            panic!("{expr} is no float")
        };
        assert!((found - expected).abs() < 1e-15, "{expr}: {found}");
    }
}

#[test]
fn data_is_little_endian_and_rounded_once() {
    let p = program(
        "stop
        .dmem 16
        .float 0.1, -0.0
        .int -1, 0x80000000
        .align 32
        .space 8, 7
        .space 4, 1.0
        .cis 1, 8",
    );
    let eighth = std::f64::consts::FRAC_1_SQRT_2 as f32;
    let first = [0.1f32.to_bits(), 0x8000_0000, 0xffff_ffff, 0x8000_0000];
    let all = [
        &first[..],
        &[7, 7, 1.0f32.to_bits(), eighth.to_bits(), eighth.to_bits()],
    ]
    .concat();
    assert_eq!(p.dmem.len(), 1, "{:?}", p.dmem);
    assert_eq!(p.dmem[0].address, 16);
    let words: Vec<u32> = p.dmem[0]
        .bytes
        .chunks(4)
        .map(|b| u32::from_le_bytes(b.try_into().unwrap()))
        .collect();
    assert_eq!(words, all);
}

#[test]
fn twiddles_keep_the_symmetries_of_the_circle() {
    let n = 64;
    let p = program(&format!(
        ".dmem\n.rept {n}, k\n.cis k, {n}\n.endr\n.program\nstop"
    ));
    let word = |i: usize| f32::from_le_bytes(p.dmem[0].bytes[4 * i..4 * i + 4].try_into().unwrap());
    for k in 0..n {
        let (re, im) = (word(2 * k), word(2 * k + 1));
        let quarter = (k + n / 4) % n;
        assert_eq!((word(2 * quarter), word(2 * quarter + 1)), (-im, re), "{k}");
        let exact = std::f64::consts::TAU * k as f64 / n as f64;
        assert!(
            (f64::from(re) - exact.cos()).abs() < 3e-8
                && (f64::from(im) - exact.sin()).abs() < 3e-8
        );
    }
}

#[test]
fn local_labels_belong_to_the_label_or_the_expansion() {
    let p = program(
        ".macro spin c
        .top: bnz \\c, .top
        .endm
        a:  nop
        .x: jmp .x
        b:  nop
        .x: jmp .x
            spin c0
            spin c1
            jmp a.x
            jmp .x
            stop",
    );
    let targets: Vec<u16> = p
        .decode()
        .unwrap()
        .iter()
        .filter(|w| matches!(w.mem.op, Op::Jmp | Op::Bnz))
        .map(|w| w.mem.target)
        .collect();
    assert_eq!(targets, [1, 3, 4, 5, 1, 3]);
    let names: Vec<&str> = p.symbols.iter().map(|s| s.name.as_str()).collect();
    assert_eq!(names, ["a", "a.x", "b", "b.x"]);
}

#[test]
fn macro_arguments_keep_the_callers_names() {
    let w = words(
        ".macro twice v
        .rept 2, i
        movi c0, 10 * \\v + i
        .endr
        .endm
        .rept 2, i
        twice i + 1
        .endr
        stop",
    );
    let values: Vec<i32> = w[..4].iter().map(|w| w.mem.imm).collect();
    assert_eq!(values, [10, 11, 20, 21]);
}

#[test]
fn aliases_come_and_go() {
    let w = words(
        ".alias x, q3
        mov x, q0
        .unalias x
        .alias x, r5
        mov x, r0
        .alias y, x
        .alias base, a3
        ldp y, [base]+8
        stop",
    );
    assert_eq!((w[0].arith.op, w[0].arith.r[0]), (Op::MovQ, 3));
    assert_eq!((w[1].arith.op, w[1].arith.r[0]), (Op::MovP, 5));
    assert_eq!((w[2].mem.r[0], w[2].mem.place.base()), (5, 3));
}

#[test]
fn included_files_share_names_and_the_line_table() {
    let include = |name: &str, from: &str| {
        assert_eq!(from, "main.s");
        match name {
            "lib.s" => Ok(Source::new("lib.s", "SIX: nop\n.equ NINE, 9\n")),
            _ => Err("there is none".to_owned()),
        }
    };
    let options = Options {
        include: Some(&include),
        ..Options::default()
    };
    let text = "nop\n.include \"lib.s\"\nmovi c0, NINE + SIX\nstop";
    let p = assemble(&Source::new("main.s", text), &options)
        .unwrap()
        .program;
    assert_eq!(p.files, ["main.s", "lib.s"]);
    assert_eq!(p.location(1).as_deref(), Some("lib.s:1"));
    assert_eq!(p.decode().unwrap()[2].mem.imm, 10);

    let missing = assemble(
        &Source::new("main.s", ".include \"other.s\"\nstop"),
        &options,
    )
    .unwrap_err();
    assert!(missing.to_string().contains("there is none"));
    let without = assemble(
        &Source::new("main.s", ".include \"lib.s\"\nstop"),
        &Options::default(),
    );
    assert!(without.is_err());
}

#[test]
fn the_entry_and_the_conditions() {
    let text = ".if !defined(FAST)\n.equ FAST, 0\n.endif\n.entry go\nnop\ngo:\n.if FAST\nnop\n.elif FAST == 0\nstop\n.else\n.error \"no\"\n.endif\nstop";
    let slow = program(text);
    assert_eq!((slow.entry, slow.words.len()), (1, 3));
    let options = Options {
        defines: vec![("FAST".into(), Value::Int(1))],
        ..Options::default()
    };
    let fast = assemble(&Source::new("t.s", text), &options)
        .unwrap()
        .program;
    assert_eq!(fast.decode().unwrap()[1], Word::NOP);
}

/// A label before a directive means the same as on a line of its own before it.
#[test]
fn a_label_may_stand_before_any_directive() {
    for text in [
        "@.program\n nop\n stop\n",
        " stop\n@.dmem\n .int 1\n",
        " stop\n@.dmem 64\n .int 1\n",
        "@.entry b\n nop\nb: stop\n",
        "@.equ N, 3\n movi c0, N\n stop\n",
        "@.alias X, r1\n add X, X, X\n@.unalias X\n stop\n",
        " stop\n.dmem\n@.float 1\n@.int 2\n@.complex 1, 2\n@.cis 1, 4\n@.space 8\n@.align 64\n@.int 3\n",
        "@.rept 2, i\n add r{i}, r1, r1\n .endr\n stop\n",
        " .rept 1\n nop\n@.endr\n stop\n",
        "@.macro m p\n add \\p, r1, r1\n .endm\n m r2\n stop\n",
        " .macro m\n nop\n@.endm\n m\n stop\n",
        "@.if 0\n nop\n@.elif 1\n nop\n nop\n@.else\n stop\n .endif\n stop\n",
        " .if 1\n nop\n@.else\n@.endif\n stop\n",
        "@.include \"page.s\"\n stop\n",
        " .rept 2, j\npart{j}: .rept 2\n nop\n .endr\n .endr\n@.rept 1\n jmp part1\n .endr\n stop\n",
        " .macro m name\n\\name: .rept 2\n nop\n .endr\n .endm\n m here\n jmp here\n stop\n",
        "@ lab{1 + 1}: .rept 1\n jmp lab2\n .endr\n stop\n",
    ] {
        let labelled = |behind: &str| {
            let mut parts = text.split('@');
            let first = parts.next().unwrap_or_default().to_owned();
            let labels = parts.enumerate();
            labels.fold(first, |all, (i, part)| {
                format!("{all}here{i}:{behind}{part}")
            })
        };
        let (beside, before) = (program(&labelled(" ")), program(&labelled("\n")));
        assert_eq!(beside.words, before.words, "{text}");
        assert_eq!(beside.dmem, before.dmem, "{text}");
        assert_eq!(beside.entry, before.entry, "{text}");
        for i in 0..text.matches('@').count() {
            let label = format!("here{i}");
            assert_eq!(beside.symbol(&label), before.symbol(&label), "{text}");
        }
    }
}

/// One error behind a label is reported once; a name followed by a colon elsewhere is no label.
#[test]
fn a_label_before_a_block_hides_no_error() {
    let errors = |text: &str| {
        assemble(&Source::new("t.s", text), &Options::default())
            .unwrap_err()
            .len()
    };
    assert_eq!(errors("a: .rept 2\n nop\n"), 1);
    assert_eq!(errors("a: .endr\n nop\n"), 1);
    assert_eq!(errors("a: a: .rept 1\n nop\n .endr\n"), 1);
    let chosen = program(".equ N, 1\n.rept N ? 2 : 3\n nop\n.endr\n stop\n");
    assert_eq!(chosen.words.len(), 3);
}

/// Words of a linked program keep their macros and counters.
#[test]
fn chains_are_kept_when_programs_are_linked() {
    let text =
        ".macro step k\nadd r1, r0, r{\\k}\n.endm\n.program\n.rept 2, i\nstep i\n.endr\nstop\n";
    let second = program(text);
    assert_eq!(
        second.describe_chain(1),
        "macro `step`, called at t.s:6, `.rept` with i = 1 at t.s:5"
    );
    assert_eq!(second.describe_chain(2), "");
    let all = program(text).linked(&second, 4).unwrap();
    for pc in 0..3 {
        assert_eq!(all.describe_chain(4 + pc), second.describe_chain(pc));
        assert_eq!(all.describe_chain(pc), second.describe_chain(pc));
    }
}

/// Own addresses are read with aliases and computed names, and make the program require the extension.
#[test]
fn own_addresses() {
    let text = "
        .alias index, r9
        .alias pointer, a3
        ldp r1, [a2 + r63.h0]
        ldq q1, [pointer + index.h3]
        .macro take \\p, \\h
        ldd q2, [a0 + r{\\p}.h{\\h}]
        .endm
        take 5, 2
        ldp r1, [a2 + 8]
        stop";
    let text = text
        .replace("\\\\", "\\")
        .replace(".macro take \\p, \\h", ".macro take p, h");
    let p = program(&text);
    let own = |base, register, half| {
        AddressOperand::Own(OwnAddress {
            base,
            register,
            half,
        })
    };
    let w = p.decode().unwrap();
    let found: Vec<_> = w[..4].iter().map(|w| (w.mem.op, w.mem.place)).collect();
    assert_eq!(
        found[..3],
        [
            (Op::LdOwnP, own(2, 63, 0)),
            (Op::LdOwnQ, own(3, 9, 3)),
            (Op::LdOwnDup, own(0, 5, 2)),
        ]
    );
    assert_eq!(found[3].0, Op::LdP);
    assert_eq!(
        p.requires.names().collect::<Vec<_>>(),
        ["section-addressing"]
    );
    assert_eq!(w[1].to_string(), "ldq q1, [a3 + r9.h3]");
}

/// Word addresses have offsets of any multiple of 4, in a range of a quarter of a quad's.
#[test]
fn word_addresses() {
    let text = "
        ldw r1, [a2 + 4]
        ldqu q1, [a3 - 8192]
        stpu r5, [a4]+8188
        stw r5, [a4]+s1%
        ldw r1, [a2 + r9.h1]
        stop";
    let p = program(text);
    let w = p.decode().unwrap();
    let ops: Vec<_> = w.iter().map(|w| w.mem.op).collect();
    assert_eq!(
        ops,
        [Op::LdW, Op::LdQU, Op::StPU, Op::StW, Op::LdOwnW, Op::Stop]
    );
    assert_eq!(
        p.requires.names().collect::<Vec<_>>(),
        ["section-addressing", "word-addressing"]
    );
    for (line, what) in [
        ("ldqu q1, [a3 + 8192]", "-8192"),
        ("ldw r1, [a0 + 2]", "multiple of 4"),
    ] {
        let errors = assemble(&Source::new("t.s", line), &Options::default()).unwrap_err();
        assert!(errors.to_string().contains(what), "{errors}");
    }
}

/// Movements between sections name a distance, and an exchange writes both registers.
#[test]
fn exchanges_between_sections() {
    let p = program("rot q1, q2, 3\nxchg r4, r5, 2\nstop");
    let w = p.decode().unwrap();
    assert_eq!((w[0].mem.op, w[0].mem.imm), (Op::RotQ, 3));
    assert_eq!(w[1].mem.op, Op::XchgP);
    assert_eq!(w[1].mem.writes(), w[1].mem.reads());
    assert_eq!(w[1].to_string(), "xchg r4, r5, 2");
    assert_eq!(p.requires.names().collect::<Vec<_>>(), ["exchange"]);
    for line in [
        "xchg r4, r4, 1",
        "rot r4, r5, 0",
        "add r4, r1, r2 || xchg r3, r4, 1",
    ] {
        assert!(
            assemble(&Source::new("t.s", line), &Options::default()).is_err(),
            "{line}"
        );
    }
}
