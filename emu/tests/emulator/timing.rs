//! Golden cycle counts of single timing rules, each with its arithmetic.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use common::{a, both, m, machine, mem, run, set, stop};
use cp2_asm::isa::{Mode, Op, Scalar, Word};
use cp2_emu::Cause;
use cp2_machine::Class;

fn expect(words: &[Word], expected: &[(&str, u64)]) {
    expect_on("vm7", words, expected);
}

/// Runs the program and compares its causes. Their sum must be the time from the first possible
/// issue to the stop.
fn expect_on(name: &str, words: &[Word], expected: &[(&str, u64)]) {
    let machine = machine(name);
    let (processor, launched) = run(&machine, words);
    let causes: Vec<_> = processor
        .counters()
        .causes
        .iter()
        .map(|(c, n)| (c.to_string(), n))
        .collect();
    let expected: Vec<_> = expected
        .iter()
        .map(|(c, n)| ((*c).to_string(), *n))
        .collect();
    assert_eq!(causes, expected);
    let base = machine.time_base();
    let begin = base.ceil_cycles(launched) + machine.host.launch;
    assert_eq!(
        base.ceil_cycles(processor.now()).0,
        begin.0 + processor.counters().causes.total()
    );
    let words: u64 = processor
        .counters()
        .per_word
        .iter()
        .map(|w| w.causes.total())
        .sum();
    assert_eq!(words, processor.counters().causes.total());
}

#[test]
fn dependent_operations_wait_for_their_latency() {
    // On vm7 li takes 1 cycle and add 3: the second add waits 2, and the stop drains 1.
    let words = [
        a(Op::Lii, &[0], 1),
        a(Op::AddP, &[1, 0, 0], 0),
        a(Op::AddP, &[2, 1, 1], 0),
        stop(),
    ];
    expect(&words, &[("issue", 4), ("operand-add", 2), ("drain", 1)]);
    // On vm9 add takes 4 cycles: the second add waits 3, and the stop drains 2.
    expect_on(
        "vm9",
        &words,
        &[("issue", 4), ("operand-add", 3), ("drain", 2)],
    );
}

#[test]
fn the_stop_word_itself_may_compute_and_drains_its_result() {
    // A butterfly takes 6 cycles; it issues with the stop, which drains the 5 others.
    let words = [
        a(Op::Lii, &[0], 0),
        both(a(Op::Bfly, &[1, 2, 0, 0, 0], 0), stop()),
    ];
    expect(&words, &[("issue", 2), ("drain", 5)]);
}

#[test]
fn a_short_operation_does_not_overtake_a_long_one_into_the_same_register() {
    // butterfly writes r1 at +6; li (1 cycle) issued at +1 may land at +7 at
    // the earliest, so it issues at +6: 5 cycles later than it could.
    let words = [
        a(Op::Lii, &[0], 0),
        a(Op::Bfly, &[1, 2, 0, 0, 0], 0),
        a(Op::Lii, &[1], 7),
        stop(),
    ];
    let (processor, _) = run(&machine("vm7"), &words);
    assert_eq!(
        processor
            .counters()
            .causes
            .get(Cause::Operand(Class::Butterfly)),
        5
    );
    assert_eq!(processor.core().register(3, 1, 0), Some(7));
}

#[test]
fn the_elementary_unit_takes_one_pair_every_second_cycle() {
    // three independent rcp: the 2nd and 3rd wait 1 each; the last drains 9
    // after its issue, one of which is the stop's own issue.
    let words = [
        a(Op::Lii, &[0], 1),
        a(Op::Rcp, &[1, 0], 0),
        a(Op::Rcp, &[2, 0], 0),
        a(Op::Rcp, &[3, 0], 0),
        stop(),
    ];
    expect(&words, &[("issue", 5), ("unit-busy", 2), ("drain", 8)]);
}

#[test]
fn loops_cost_their_set_up_once_and_nothing_at_the_back_edge() {
    // loop word 1 + set-up 2; 10 passes of 2 words; stop.
    let words = [m(Op::LoopI, &[], 10, 2), Word::NOP, Word::NOP, stop()];
    expect(&words, &[("issue", 22), ("loop", 2)]);
}

#[test]
fn nested_loops_multiply() {
    // outer 3 x (loop word + 4 x 1 word + 1 word), two words outside;
    // set-ups: 1 + 3, two cycles each.
    let words = [
        m(Op::LoopI, &[], 3, 3),
        m(Op::LoopI, &[], 4, 1),
        Word::NOP,
        Word::NOP,
        stop(),
    ];
    expect(&words, &[("issue", 2 + 3 * 6), ("loop", 8)]);
}

#[test]
fn an_empty_loop_is_skipped_like_a_taken_branch() {
    let words = [
        set(Scalar::control(0), 0),
        m(Op::LoopX, &[32], 0, 2),
        Word::NOP,
        Word::NOP,
        stop(),
    ];
    expect(&words, &[("issue", 3), ("branch", 3)]);
}

#[test]
fn taken_branches_lose_three_cycles_and_untaken_none() {
    // c0 counts 2, 1, 0: bnz taken twice.
    let words = [
        set(Scalar::control(0), 2),
        m(Op::Bz, &[32], 0, 5),
        m(Op::Addi, &[32, 32], -1, 0),
        m(Op::Bnz, &[32], 0, 2),
        m(Op::Bz, &[32], 0, 5),
        stop(),
    ];
    // movi, bz not taken, addi, bnz taken, addi, bnz not taken, bz taken, stop
    expect(&words, &[("issue", 8), ("branch", 6)]);
}

#[test]
fn loads_take_their_latency_and_both_slots_read_the_old_state() {
    // ldq lands at +3; the add that reads it waits 2. In the same word the
    // store reads r0 as it was before the arithmetic slot overwrites it.
    let words = [
        set(Scalar::address(0), 64),
        both(a(Op::Lii, &[0], 5), Word::NOP),
        both(a(Op::Lii, &[0], 9), mem(Op::StP, 0, 0, Mode::Offset(0))),
        mem(Op::LdP, 2, 0, Mode::Post(8)),
        a(Op::IaddP, &[3, 2, 0], 0),
        stop(),
    ];
    expect(&words, &[("issue", 6), ("operand-load", 2)]);
    let (processor, _) = run(&machine("vm7"), &words);
    assert_eq!(processor.core().register(0, 3, 1), Some(14));
    assert_eq!(processor.core().scalar(Scalar::address(0)), 72);
}

#[test]
fn an_address_register_from_dmem_takes_five_cycles() {
    let words = [
        set(Scalar::address(0), 64),
        a(Op::Lii, &[0], 128),
        mem(Op::StP, 0, 0, Mode::Offset(0)),
        mem(Op::LdX, Scalar::address(1).0, 0, Mode::Offset(0)),
        mem(Op::StP, 0, 1, Mode::Offset(0)),
        stop(),
    ];
    expect(&words, &[("issue", 6), ("operand-scalar-load", 4)]);
}

#[test]
fn work_is_counted_over_all_sections_but_scalars_come_from_one() {
    let words = [
        set(Scalar::address(0), 64),
        a(Op::Lif, &[0], 0),
        both(
            a(Op::Bfly, &[2, 3, 0, 0, 0], 0),
            mem(Op::StP, 0, 0, Mode::Offset(0)),
        ),
        mem(Op::LdDup, 2, 0, Mode::Offset(0)),
        mem(Op::LdX2, 2, 0, Mode::Offset(0)),
        stop(),
    ];
    let (processor, _) = run(&machine("vm7"), &words);
    let work = processor.counters().work;
    // Four sections: a butterfly of 10 flops, 8 bytes stored, 8 loaded; 8 more for the scalars.
    assert_eq!(
        (work.flops, work.dmem_written, work.dmem_read),
        (40, 32, 32 + 8)
    );
    assert_eq!(work.operations[cp2_machine::Class::Butterfly], 1);
}
