//! Tests that counted cycles are those of the emulator.
//!
//! This holds for any machine, as long as no transfer runs beside the kernel.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use common::machine;
use cp2_asm::isa::{Op, Scalar, Word};
use cp2_asm::testing::any_word_on;
use cp2_asm::{Options, Program, Source, assemble};
use cp2_emu::cycles::{Counter, KernelInterval, Mark, Uncounted};
use cp2_emu::{Engine, Notice, Processor};
use cp2_machine::{Class, ClassMap, Cycles, Machine};
use proptest::prelude::*;
use std::sync::Arc;

/// DMEM address of the argument block.
const ARGUMENTS: u32 = 0x400;

fn program(text: &str) -> Program {
    assemble(&Source::new("a.s", text), &Options::default())
        .unwrap()
        .program
}

/// Measures on the emulator the cycles from the first in which the kernel may issue to each signal
/// and to the end, with every event posted before.
fn measured(
    machine: &Arc<Machine>,
    words: &[u64],
    arguments: &[u32],
    posts: u64,
) -> Option<Vec<u64>> {
    let mut processor = Processor::new(machine.clone()).with_engine(Engine::Fast);
    let words: Vec<Word> = words
        .iter()
        .map(|&bits| Word::decode(bits).unwrap())
        .collect();
    common::load(&mut processor, &words);
    let block: Vec<u8> = arguments
        .iter()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    for section in 0..machine.cp2.sections {
        processor.poke_dmem(section, ARGUMENTS, &block).unwrap();
    }
    for _ in 0..posts {
        processor.post(0).unwrap();
    }
    let first = processor.launch(0, ARGUMENTS).unwrap().0;
    let base = machine.time_base();
    let mut marks = Vec::new();
    loop {
        let limit = processor.now() + base.cycles(Cycles(1_000_000));
        let notice = processor.run_until(limit);
        let now = base.ceil_cycles(processor.now()).0;
        match notice {
            Notice::Signal { .. } => marks.push(now - first),
            Notice::KernelStopped => {
                marks.push(now - first);
                return Some(marks);
            }
            _ => return None,
        }
    }
}

/// Counts the cycles from the first in which the kernel may issue to each signal and to the end.
fn counted(machine: &Machine, words: &[u64], arguments: &[u32]) -> Result<Vec<u64>, Uncounted> {
    let mut counter = Counter::new(words, 0, Vec::new(), machine)?;
    let steps = counter.count(machine, ARGUMENTS, (ARGUMENTS, arguments))?;
    let mut now = 0;
    let mut marks = Vec::new();
    for KernelInterval { cycles, mark, .. } in steps.steps() {
        let at = now + cycles;
        now = at + 1;
        if mark != Mark::Wait(0) {
            marks.push(at);
        }
    }
    assert_eq!(steps.cycles(), marks.last().copied().unwrap_or_default());
    Ok(marks)
}

/// A kernel like the library's: pages in a ring of three buffers, their number in a scalar, a
/// function, nested loops whose counts are arguments, computed, and constant, and blocks whose time
/// depends on pending results.
const RING: &str = "
.program
    ldx2 c14, [a15]
    ldx2 c2, [a15 + 8]
    addi a7, a15, 16
    addi b7, a15, 16
    movi l7, 48
    movi s7, 8
page:
    ldx2 a8, [a7]+s7%
    ldx2 a10, [a7]+s7%
    wait 0
    call work
    signal 1
    addi c14, c14, -1
    bnz c14, page
    stop
work:
    mov a0, a8
    shl c4, c2, 1
    loop c4 {
        ldq q0, [a0]+16
        bfly r4, r5, r0, r1, r2
        ; Sections form the address from half-words that nobody knows before the run.
        lii r12, 5
        ldp r13, [a8 + r12.h0]
        mul r14, r13, r13
        stw r14, [a8 + 20]
        ldpu r15, [a8 + 20]
        add r15, r15, r15
        loop 3 {
            cmadd r6, r4, r5, r6
            rcp r7, r6
        }
        add r8, r7, r7
        stq q4, [a8 + 16]
    }
    bz c3, odd
    mul r9, r8, r8
    mul r10, r9, r9
odd:
    ret
";

/// A kernel whose page loop is a hardware loop.
const LOOP: &str = "
.program
    ldx2 c14, [a15]
    ldx2 c2, [a15 + 8]
    nop
    nop
    nop
    nop
    nop
    loop c14 {
        wait 0
        loop c2 {
            ldq q0, [a8]+16
            bfly r4, r5, r0, r1, r2
        }
        mul r6, r5, r5
        movi a8, 64
        signal 1
    }
    stop
";

/// Returns a built-in machine whose sections form addresses of their own.
fn extended(name: &str) -> Machine {
    Machine::load(&format!("{name}+section-addressing+word-addressing")).unwrap()
}

fn any_times() -> impl Strategy<Value = Machine> {
    (
        prop::array::uniform::<_, { Class::ALL.len() }>(1u64..16),
        prop::array::uniform::<_, { Class::ALL.len() }>(1u64..5),
        (0u64..6, 0u64..4, 0u64..3),
    )
        .prop_map(|(latency, interval, (branch, setup, back))| {
            let mut machine = extended("vm7");
            let cp2 = &mut machine.cp2;
            cp2.latency = ClassMap::from_fn(|class| Cycles(latency[class as usize]));
            cp2.interval = ClassMap::from_fn(|class| Cycles(interval[class as usize]));
            cp2.branch_penalty = Cycles(branch);
            cp2.loop_setup = Cycles(setup);
            cp2.loop_back = Cycles(back);
            machine
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn page_kernels_take_what_is_counted(
        machine in any_times(),
        pages in 1u32..200,
        blocks in 1u32..12,
        flag in 0u32..2,
    ) {
        let machine = Arc::new(machine);
        for text in [RING, LOOP] {
            let words = program(text).words;
            let mut arguments = vec![pages, 48, blocks, flag];
            for page in 0..3 {
                arguments.extend([0x800 + 0x400 * page, 0x1800, 0, 0]);
            }
            let counted = counted(&machine, &words, &arguments).unwrap();
            prop_assert_eq!(counted.len() as u32, pages + 1);
            let measured = measured(&machine, &words, &arguments, pages.into());
            prop_assert_eq!(Some(counted), measured);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Any words take the counted cycles, if there is a count.
    #[test]
    fn any_program_that_can_be_counted_takes_what_is_counted(
        words in prop::collection::vec(any_word_on(machine("vm7").cp2.extensions), 1..40),
        machine in any_times(),
        arguments in prop::collection::vec(any::<u32>(), 16),
    ) {
        let machine = Arc::new(machine);
        let mut words: Vec<u64> = words.iter().map(|word| word.encode()).collect();
        words.push(program(".program\nstop\n").words[0]);
        // Kernels that fault, or wait for an event that nobody posts, are not compared.
        if let Ok(counted) = counted(&machine, &words, &arguments)
            && let Some(measured) = measured(&machine, &words, &arguments, 0)
        {
            prop_assert_eq!(counted, measured);
        }
    }
}

/// Returns the first steps and the cycles of all steps, or the reason why there is no count.
fn steps(
    counter: &mut Counter,
    machine: &Machine,
    arguments: &[u32],
) -> Result<(Vec<KernelInterval>, u64), Uncounted> {
    let counted = counter.count(machine, ARGUMENTS, (ARGUMENTS, arguments))?;
    Ok((counted.steps().take(1000).collect(), counted.cycles()))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// A counter that has counted other arguments counts as a new one does. The arguments differ in
    /// words that decide nothing, in words that decide the flow, and so that stores overwrite the
    /// arguments.
    #[test]
    fn what_was_counted_before_changes_nothing(
        words in prop::collection::vec(any_word_on(machine("vm7").cp2.extensions), 1..40),
        base in prop::collection::vec(prop_oneof![0u32..64, (0u32..512).prop_map(|i| 16 * i), any::<u32>()], 16),
        others in prop::collection::vec((0usize..16, prop_oneof![0u32..8, (0u32..512).prop_map(|i| 16 * i)]), 1..24),
        ring in any::<bool>(),
    ) {
        let machine = Arc::new(extended("vm7"));
        let words = if ring {
            program(RING).words
        } else {
            let mut words: Vec<u64> = words.iter().map(|word| word.encode()).collect();
            words.push(program(".program\nstop\n").words[0]);
            words
        };
        let fresh = || Counter::new(&words, 0, Vec::new(), &machine);
        if let Ok(mut counter) = fresh() {
            let mut arguments = base;
            if ring {
                for (word, most) in [(0, 40), (1, 64), (2, 12), (3, 2)] {
                    arguments[word] = 1 + arguments[word] % most;
                }
            }
            for (place, value) in others {
                let small = ring && place < 4;
                arguments[place] = if small { 1 + value % 12 } else { value };
                let alone = steps(&mut fresh().unwrap(), &machine, &arguments);
                prop_assert_eq!(steps(&mut counter, &machine, &arguments), alone);
            }
        }
    }
}

/// A store that overwrites the arguments for some of their values leads to other questions. The
/// count after it is not used for values with which the store goes elsewhere.
#[test]
fn a_store_to_the_arguments_is_no_other_way() {
    let machine = machine("vm7");
    let text = "
.program
    ldx2 c2, [a15]
    ldx2 a8, [a15 + 8]
    nop
    nop
    nop
    nop
    nop
    loop c2 {
        nop
        nop
    }
    stq q4, [a8]
    ldx2 c4, [a15 + 16]
    nop
    nop
    nop
    nop
    nop
    loop c4 {
        nop
        nop
    }
    stop
";
    let words = program(text).words;
    let fresh = || Counter::new(&words, 0, Vec::new(), &machine).unwrap();
    let mut counter = fresh();
    let own = ARGUMENTS + 16;
    for [address, passes] in [
        [0x1800, 5],
        [own, 5],
        [0x1800, own],
        [0x2000, 5],
        [own, own],
    ] {
        let arguments = [3, 0, address, 0, passes, 0, 0, 0];
        let alone = steps(&mut fresh(), &machine, &arguments);
        assert_eq!(alone.is_ok(), address != own);
        assert_eq!(steps(&mut counter, &machine, &arguments), alone);
    }
}

/// Skipped turns take the cycles that following them would give, and skipping takes no host time.
#[test]
fn many_pages_are_as_many_as_few() {
    let vm9 = extended("vm9");
    for text in [RING, LOOP] {
        let words = program(text).words;
        let cycles = |pages: u32| {
            let mut arguments = vec![pages, 48, 5, 1];
            arguments.extend([0x800, 0x1800, 0, 0].repeat(3));
            let mut counter = Counter::new(&words, 0, Vec::new(), &vm9).unwrap();
            let block = (ARGUMENTS, &arguments[..]);
            counter.count(&vm9, ARGUMENTS, block).unwrap().cycles()
        };
        let (few, more) = (cycles(1000), cycles(1001));
        let each = more - few;
        assert_eq!(cycles(3_000_001_000), few + 3_000_000_000 * each);
    }
}

#[test]
fn what_depends_on_data_says_where() {
    let vm7 = machine("vm7");
    let words = program(".program\nldx c0, [a15 + 64]\nnop\nloop c0 {\nnop\n}\nstop\n").words;
    let data = Uncounted::Data {
        pc: 2,
        register: Scalar::control(0),
    };
    assert_eq!(counted(&vm7, &words, &[1, 2]), Err(data.clone()));
    assert!(data.to_string().contains("word 0x0002"), "{data}");
    // Votes of sections are data.
    let conditional = Machine::load("vm7+conditional").unwrap();
    let vote = common::m(Op::AnyX, &[Scalar::control(0).0, 1], 0, 0);
    let branch = common::m(Op::Bnz, &[Scalar::control(0).0], 0, 2);
    let asked = [vote, branch, common::stop()].map(|word| word.encode());
    assert!(matches!(
        counted(&conditional, &asked, &[1, 2]),
        Err(Uncounted::Data { pc: 1, .. })
    ));
    // A word that the kernel itself stores is unknown data, too.
    let words = program(".program\nstq q0, [a15]\nldx c0, [a15]\nbnz c0, end\nend: stop\n").words;
    assert!(matches!(
        counted(&vm7, &words, &[1, 2]),
        Err(Uncounted::Data { pc: 2, .. })
    ));
}

#[test]
fn what_does_not_end_is_not_followed_for_ever() {
    let vm7 = machine("vm7");
    let endless = "on: wait 0\njmp on\n";
    // Loops whose passes are counted together, one in the other, and one whose passes are not.
    let nested = "movi c0, -1\nmovi c2, -1\nloop c2 {\nloop c0 {\nnop\nnop\n}\nnop\n}\nstop\n";
    let uneven = "movi c0, -1\nloop c0 {\nldq q0, [a0]+s0!\nnop\nnop\n}\nstop\n";
    for text in [endless, nested, uneven] {
        let words = program(&format!(".program\n{text}")).words;
        assert!(matches!(
            counted(&vm7, &words, &[]),
            Err(Uncounted::Long { .. })
        ));
    }
}
