//! Tests that two engines agree at every instant, in all of their state.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use common::{both, load, m, machine, mem, set, stop};
use cp2_asm::isa::{Mode, Op, Scalar, Word};
use cp2_asm::testing::any_word_on;
use cp2_emu::{Engine, Notice, Processor, Quiet};
use cp2_machine::{Cycles, Machine};
use proptest::prelude::*;
use std::sync::Arc;

fn launched(machine: &Arc<Machine>, words: &[Word], dmem: &[u8], engine: Engine) -> Processor {
    let mut processor = Processor::new(machine.clone()).with_engine(engine);
    load(&mut processor, words);
    for section in 0..machine.cp2.sections {
        processor.poke_dmem(section, 0, dmem).unwrap();
    }
    processor.launch(0, 0x40).unwrap();
    processor
}

/// Runs two engines from stop to stop, `strides` cycles at a time, then to the end or to `budget`
/// cycles. They must be equal whenever they stop.
fn lockstep(machine: &Arc<Machine>, words: &[Word], dmem: &[u8], strides: &[u64], budget: u64) {
    let [mut fast, mut reference] =
        [Engine::Fast, Engine::Reference].map(|e| launched(machine, words, dmem, e));
    let base = machine.time_base();
    let end = reference.now() + base.cycles(Cycles(budget));
    for stride in strides.iter().copied().chain(std::iter::repeat(budget)) {
        let limit = (reference.now() + base.cycles(Cycles(stride))).min(end);
        let (a, b) = (fast.run_until(limit), reference.run_until(limit));
        assert_eq!(a, b);
        assert_eq!(fast, reference);
        match a {
            Notice::Signal { event } => {
                fast.post(event).unwrap();
                reference.post(event).unwrap();
            }
            Notice::Limit if limit < end => {
                // A checkpoint that is read back must go on like the processor itself.
                if stride % 5 == 0 {
                    fast = serde_json::from_str(&serde_json::to_string(&fast).unwrap()).unwrap();
                }
                if let Some(Quiet::Waiting { event, .. }) = fast.quiet() {
                    fast.post(event).unwrap();
                    reference.post(event).unwrap();
                }
            }
            _ => break,
        }
    }
}

/// Returns a strategy for words without control transfers, so that long stretches run.
fn any_straight_word() -> impl Strategy<Value = Word> {
    any_word_on(machine("vm9").cp2.extensions).prop_map(|mut word| {
        use cp2_asm::isa::Op as O;
        let control = [
            O::Stop,
            O::Ret,
            O::Wait,
            O::Jmp,
            O::Call,
            O::LoopX,
            O::LoopI,
        ];
        if control.contains(&word.mem.op) || word.mem.op >= O::Bz && word.mem.op <= O::Bpos {
            word.mem = Word::NOP.mem;
        }
        word
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn on_any_words(
        words in prop::collection::vec(any_word_on(machine("vm9").cp2.extensions), 1..60),
        dmem in prop::collection::vec(any::<u8>(), 1024),
        strides in prop::collection::vec(0u64..40, 0..12),
    ) {
        lockstep(&machine("vm9"), &words, &dmem, &strides, 2_000);
    }

    #[test]
    fn in_nested_loops(
        bodies in prop::collection::vec((prop::collection::vec(any_straight_word(), 1..20), 0i32..6), 1..4),
        dmem in prop::collection::vec(any::<u8>(), 1024),
        strides in prop::collection::vec(0u64..60, 0..12),
        wide_registers: bool,
    ) {
        // The innermost body comes last. Each loop ends where the one around it does, or one word
        // earlier.
        let mut words = vec![stop()];
        let mut inner = 0;
        for (i, (body, count)) in bodies.iter().enumerate() {
            let mut outer = body.clone();
            if i > 0 && wide_registers {
                words.insert(inner, Word::NOP);
                inner += 1;
            }
            inner += outer.len();
            outer.append(&mut words);
            outer.insert(0, m(Op::LoopI, &[], *count, inner as u16));
            inner += 1;
            words = outer;
        }
        // The start addresses stay inside DMEM for a while.
        let start: Vec<Word> = (0..15).map(|i| set(Scalar::address(i), 0x100 * i32::from(i))).collect();
        let words: Vec<Word> = start.into_iter().chain(words).collect();
        lockstep(&machine("vm7"), &words, &dmem, &strides, 20_000);
    }
}

/// Returns a loop of loads, butterflies and stores that reaches the end of DMEM and faults.
fn sweep() -> Vec<Word> {
    let bfly = common::a(Op::Bfly, &[4, 5, 0, 1, 2], 0);
    vec![
        set(Scalar::address(0), 0x100),
        set(Scalar::address(1), 0x8100),
        set(Scalar::control(0), 10_000),
        m(Op::LoopX, &[Scalar::control(0).0], 0, 4),
        both(bfly, mem(Op::LdQ, 0, 0, Mode::Post(16))),
        both(bfly, mem(Op::LdP, 3, 0, Mode::Offset(8))),
        both(bfly, mem(Op::StQ, 2, 1, Mode::Post(16))),
        both(bfly, m(Op::MemNop, &[], 0, 0)),
        stop(),
    ]
}

#[test]
fn at_every_limit() {
    let dmem: Vec<u8> = (0..0x1000u32)
        .flat_map(|i| (i as f32).to_le_bytes())
        .collect();
    for stride in 1..80 {
        lockstep(&machine("vm7"), &sweep(), &dmem, &[stride; 40], 500);
    }
}

/// Jumps inside a loop and out of it, and a function: a single block except for the branches.
const TURNS: &str = "
.program
    movi c0, 3
again:
    loop 4 {
    addi c1, c1, 1
    call f
    jmp inside
    nop
inside:
    addi c2, c2, 1
    jmp out
    nop
    }
out:
    addi c0, c0, -1
    bnz c0, again
    call f
    stop
f:
    addi c3, c3, 1
    ret
";

fn assembled(text: &str) -> Vec<Word> {
    let options = cp2_asm::Options::default();
    let assembly = cp2_asm::assemble(&cp2_asm::Source::new("test.s", text), &options);
    assembly.unwrap().program.decode().unwrap()
}

#[test]
fn at_every_limit_among_turns() {
    let words = assembled(TURNS);
    for stride in 1..30 {
        lockstep(&machine("vm7"), &words, &[0; 16], &[stride; 60], 1_000);
    }
    // A call faults if the call stack is full.
    let mut shallow = Machine::clone(&machine("vm7"));
    shallow.cp2.call_depth = 0;
    lockstep(&Arc::new(shallow), &words, &[0; 16], &[], 1_000);
}

/// The rest of a block behind its jump runs twice: first after a stop there, then as a function
/// when the call stack is full.
#[test]
fn at_every_limit_behind_a_jump_and_where_the_stack_is_full() {
    let words = assembled(
        ".program
        nop
        jmp first
        nop
    first:
        nop
    then:
        addi c0, c0, 1
        addi c1, c1, 1
        signal 0
        call then
        stop
        ",
    );
    let mut shallow = Machine::clone(&machine("vm7"));
    shallow.cp2.call_depth = 1;
    let shallow = Arc::new(shallow);
    // Strides after which a checkpoint is read back are left out: a changed machine gets another
    // hash.
    for stride in (1..30).filter(|stride| stride % 5 != 0) {
        lockstep(&shallow, &words, &[0; 16], &[stride; 60], 1_000);
    }
}

/// Branches that go either way: beside arithmetic, in a function, out of a loop, back to
/// themselves. The last of many passes stores outside DMEM.
const BRANCHES: &str = "
.program
    movi a0, 64
    movi s0, 16
    movi c0, 27
    movi c4, 300
    movi c9, 1
    movi c10, 2
    lif r0, 1.0
step:
    and c1, c0, c9
    add r1, r1, r0 || bz c1, even
    call odd
    jmp next
even:
    shr c0, c0, 1
next:
    madd q1, q0, q1, q0 || addi c2, c0, -1
    loop 3 {
    and c3, c0, c10
    bnz c3, out
    addi c5, c5, 1
    nop
    }
out:
    stq q1, [a0]+s0
    mul r4, r1, r0 || bnz c2, more
    movi c0, 27
more:
    addi c4, c4, -1
    bpos c4, step
    movi a0, -64
    jmp step
odd:
    add c3, c0, c0
    add c0, c0, c3
    and c6, c3, c10
    sub r2, r2, r0 || bnz c6, skip
    addi c7, c7, 1
skip:
    addi c0, c0, 1
    ret
";

#[test]
fn at_every_limit_among_branches() {
    let words = assembled(BRANCHES);
    for stride in 1..60 {
        // The first stride is long enough for blocks to extend behind branches; then stops follow
        // closely.
        let mut strides = vec![6_000];
        strides.extend([stride; 80]);
        lockstep(&machine("vm7"), &words, &[0; 16], &strides, 100_000);
    }
}

#[test]
fn at_a_fault_in_the_middle_of_a_loop() {
    let dmem = vec![0x7f; 0x1000];
    lockstep(&machine("vm7"), &sweep(), &dmem, &[1000], 1_000_000);
    let mut fast = launched(&machine("vm7"), &sweep(), &dmem, Engine::Fast);
    let limit = fast.now() + machine("vm7").time_base().cycles(Cycles(1_000_000));
    assert!(matches!(fast.run_until(limit), Notice::Fault(fault) if fault.pc == 6));
}
