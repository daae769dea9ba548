//! Tests that analysed intervals of loops are the emulator's cycles.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use common::{load, machine};
use cp2_asm::analysis::{LoopBody, SteadyLoop, analyze_loops};
use cp2_asm::isa::{Address, AddressOperand, Inst, Mode, Op, Slot, Word};
use cp2_asm::{Options, Program, Source, assemble, testing};
use cp2_emu::{Notice, Processor};
use cp2_machine::{Class, ClassMap, Cycles, Machine};
use proptest::prelude::*;
use proptest::sample::select;
use std::sync::Arc;

/// Returns a strategy for any arithmetic beside a scalar operation, a load or a store. Addresses stay in DMEM: they
/// are relative to a15, which nothing writes, or move a0 to a3 by steps that the loop takes back.
fn word() -> impl Strategy<Value = Word> {
    let both = machine("vm7").cp2.extensions & machine("vm9").cp2.extensions;
    let scalar = testing::any_inst_on(Slot::Mem, both).prop_map(|inst| {
        let plain = inst.row().class == Class::Scalar
            && inst.place == AddressOperand::Shared(Address::ZERO);
        // Scalars from c8 on have no other use here.
        if plain && inst.r[0] >= 40 && inst.r[0] < 48 {
            inst
        } else {
            Inst::new(Op::MemNop)
        }
    });
    let rows = select(vec![Op::LdP, Op::LdQ, Op::StP, Op::StQ, Op::LdDup]);
    let access =
        (rows, 0u8..8, 0i32..32, 0u8..4, any::<bool>()).prop_map(|(op, r, at, base, moves)| {
            let mut inst = Inst::new(op);
            inst.r[0] = r;
            inst.place = AddressOperand::Shared(match moves {
                true => Address {
                    base,
                    mode: Mode::Post(0),
                },
                false => Address {
                    base: 15,
                    mode: Mode::Offset(16 * at),
                },
            });
            inst
        });
    // Few registers are used, so that many words wait.
    let arith = testing::any_inst_on(Slot::Arith, both).prop_map(|mut inst| {
        inst.r.iter_mut().for_each(|r| *r %= 8);
        inst
    });
    (arith, prop_oneof![1 => scalar, 2 => access])
        .prop_map(|(arith, mem)| Word { arith, mem })
        .prop_filter("writes a register twice", |w| w.written_twice().is_none())
}

/// Returns a strategy for machines with any latencies, intervals and penalties of loops.
fn any_times() -> impl Strategy<Value = Arc<Machine>> {
    let any = (
        prop::array::uniform::<_, { Class::ALL.len() }>(1u64..16),
        prop::array::uniform::<_, { Class::ALL.len() }>(prop_oneof![3 => Just(1u64), 1 => 2u64..5]),
        (0u64..4, 0u64..4),
    );
    let odd = any.prop_map(|(latency, interval, (back, branch))| {
        let mut machine = Machine::clone(&machine("vm7"));
        let of = |values: [u64; Class::ALL.len()]| {
            ClassMap::from_fn(|class| Cycles(values[class as usize]))
        };
        machine.cp2.latency = of(latency);
        machine.cp2.interval = of(interval);
        machine.cp2.loop_back = Cycles(back);
        machine.cp2.branch_penalty = Cycles(branch);
        Arc::new(machine)
    });
    let builtin = select(vec!["vm7", "vm9"]).prop_map(machine);
    prop_oneof![1 => builtin, 2 => odd]
}

fn program(text: &str, machine: &Machine) -> Program {
    let options = Options {
        machine: Some(machine),
        ..Options::default()
    };
    let assembly = assemble(&Source::new("loop.s", text), &options);
    assembly.unwrap_or_else(|errors| panic!("{errors}")).program
}

/// Returns the cycles that the emulator takes for a program.
fn cycles(machine: &Arc<Machine>, program: &Program) -> u64 {
    let mut processor = Processor::new(machine.clone());
    load(&mut processor, &program.decode().unwrap());
    let first = processor.launch(0, 0).unwrap().0;
    let base = machine.time_base();
    let limit = processor.now() + base.cycles(Cycles(10_000_000));
    assert!(matches!(processor.run_until(limit), Notice::KernelStopped));
    base.ceil_cycles(processor.now()).0 - first
}

/// Compares a loop with the emulator: as many more iterations as its state takes to repeat, or twice as many, take
/// as many more cycles as its interval says.
fn compare(
    machine: &Arc<Machine>,
    text: impl Fn(u64) -> String,
) -> Result<SteadyLoop, TestCaseError> {
    let loops = analyze_loops(&program(&text(1), machine), machine).unwrap();
    prop_assert_eq!(loops.len(), 1);
    let LoopBody::Steady(steady) = &loops[0].body else {
        return Err(TestCaseError::fail(format!("{:?}", loops[0].body)));
    };
    let at = |iterations| cycles(machine, &program(&text(iterations), machine));
    // The begin may differ from the steady state for some iterations.
    let begin = 300;
    let few = at(begin);
    for turns in [1, 2] {
        let more = at(begin + turns * steady.period) - few;
        let expected =
            turns * steady.period / steady.interval.iterations() * steady.interval.cycles();
        prop_assert_eq!(
            more,
            expected,
            "{} turns of {} iterations",
            turns,
            steady.period
        );
    }
    prop_assert!(steady.bound.cycles <= steady.interval, "{steady:?}");
    // Every cycle is a word, a wait or the way back.
    let words = loops[0].words.clone().count() as f64;
    let lost: f64 = steady.lost.iter().map(|lost| lost.cycles.as_f64()).sum();
    let back = steady.back as f64;
    prop_assert!((words + lost + back - steady.interval.as_f64()).abs() < 1e-9);
    Ok(steady.as_ref().clone())
}

fn lines(words: &[Word]) -> String {
    words.iter().map(|word| format!("{word}\n")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn intervals_are_the_cycles_of_hardware_loops(
        words in prop::collection::vec(word(), 1..40),
        machine in any_times(),
    ) {
        let text = |n| format!(".program\nloop {n} {{\n{}}}\nstop\n", lines(&words));
        compare(&machine, text)?;
    }

    #[test]
    fn intervals_are_the_cycles_of_branches_backwards(
        words in prop::collection::vec(word(), 1..20),
        machine in any_times(),
    ) {
        let text = |n| {
            let body = lines(&words);
            format!(".program\nmovi c0, {n}\nagain: addi c0, c0, -1\n{body}bnz c0, again\nstop\n")
        };
        compare(&machine, text)?;
    }
}
