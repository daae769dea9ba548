//! Tests loops in which partners stand in different passes.

use super::Outcome;
use super::Random;
use super::compare;
use super::core;
use super::forms;
use super::narrow;
use super::sample;
use super::tame;
use super::vm7;
use crate::core::decoded::{Decoded, decode};
use crate::engines::jit::code_form::CodeForm;
use crate::engines::jit::{retime, segment_steps, vector_sharing};
use cp2_asm::isa::{Inst, Op, Word};
use cp2_asm::testing::any_operands;
use proptest::test_runner::TestRunner;

/// Tests loops of two columns. The upper halves of quads follow some words behind the lower ones,
/// so that partners stand in different passes.
#[test]
fn loops_whose_columns_follow_one_another_equal_the_reference() {
    for form in forms() {
        columns(form);
    }
}

/// Returns an operation of the lower column: results in twelve quads, operands from recent results
/// or from eight quads that are loaded.
fn operation(i: usize, mut arith: Inst, random: &mut Random) -> Inst {
    let late = |i: usize| (2 * i % 12) as u8;
    let (mut n, mut results) = (0, 0);
    for operand in arith.row().form.operands() {
        if !operand.kind.is_register() {
            continue;
        }
        let quad = if operand.role.writes() {
            results += 1;
            late(i) + results - 1
        } else if i == 0 || random.draw_below(2) == 0 {
            12 + random.draw_below(8) as u8
        } else {
            late(i - 1 - (random.draw_below(3) as usize).min(i - 1))
        };
        arith.r[n] = 2 * quad;
        n += 1;
    }
    arith
}

fn columns(form: CodeForm) {
    const OPS: [Op; 8] = [
        Op::Bfly,
        Op::BflyN,
        Op::BflyYC,
        Op::CmulP,
        Op::AddP,
        Op::SubP,
        Op::Addsub,
        Op::MaddP,
    ];
    let machine = vm7();
    let (mut runner, mut random) = (TestRunner::deterministic(), Random(0x0f1e_2d3c_4b5a_6978));
    let arith = OPS.map(any_operands);
    let memory = [Op::LdQ, Op::LdQ, Op::StQ, Op::StP].map(any_operands);
    let (mut overlapping, rounds) = (0, 300);
    for _ in 0..rounds {
        let start = core(&machine, &mut random);
        let n = 3 + random.draw_below(12) as usize;
        let behind = random.draw_below(n as u32) as usize;
        let mut words = vec![Word::NOP; 2 * n];
        for i in 0..n {
            let any = sample(&arith[random.draw_below(8) as usize], &mut runner);
            let mut arith = operation(i, any, &mut random);
            words[2 * i].arith = arith;
            // Now and then the columns share a factor.
            let shared = random.draw_below(8) as usize;
            for (k, r) in arith.r.iter_mut().enumerate() {
                *r += u8::from(k != 4 || shared != 0);
            }
            words[(2 * (i + behind) + 1) % (2 * n)].arith = arith;
        }
        for word in &mut words {
            let mut mem = sample(&memory[random.draw_below(4) as usize], &mut runner);
            match mem.op {
                Op::LdQ => mem.r[0] = 12 + mem.r[0] % 8,
                _ => narrow(&mut mem, 24),
            }
            tame(&mut mem, &mut random);
            if mem.op == Op::LdQ || random.draw_below(4) == 0 {
                word.mem = mem;
            }
        }
        words.retain(|word| word.written_twice().is_none());
        let decoded: Vec<Decoded> = words
            .iter()
            .map(|word| decode(word.encode(), &machine).unwrap())
            .collect();
        let steps = segment_steps::steps(&decoded, machine.cp2.dmem.0 as u32, None);
        overlapping += steps.map_or(0, |steps| {
            let partners = vector_sharing::find(&steps, true);
            usize::from(retime::retime(&steps, &partners).is_some())
        });
        let passes = 1 + u64::from(random.draw_below(5));
        let outcome = compare(form, &machine, &words, &start, passes, true);
        assert!(outcome != Outcome::Refused, "no code");
    }
    assert!(overlapping > rounds / 3, "{overlapping} of {rounds} loops");
}
