//! Whole sources to programs.
#![allow(clippy::unwrap_used, clippy::panic)] // Helpers of tests are tests.

use cp2_asm::isa::{Mode, Op, Word};
use cp2_asm::{Options, Program, Source, Value, assemble};

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
        .map(|w| (w.mem.op, w.mem.r[0], w.mem.addr.base, w.mem.addr.mode))
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
