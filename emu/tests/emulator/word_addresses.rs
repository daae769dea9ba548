//! Tests of loads and stores at word addresses.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use common::{a, both, load, mem, set, stop};
use cp2_asm::isa::{Mode, Op, Scalar, Word};
use cp2_emu::{Engine, Notice, Processor};
use cp2_machine::{Class, Machine, Ticks};
use proptest::prelude::*;
use proptest::sample::select;
use std::sync::Arc;

/// DMEM bytes that the tests use.
const BYTES: usize = 512;

fn extended() -> Arc<Machine> {
    Arc::new(Machine::load("vm7+word-addressing").unwrap())
}

/// Runs the words from a DMEM of `bytes` in each section, whose first byte is the section's number.
fn run(engine: Engine, bytes: &[u8], words: &[Word]) -> (Processor, Notice) {
    let mut processor = Processor::new(extended()).with_engine(engine);
    load(&mut processor, words);
    for section in 0..4 {
        let own = [&[section as u8], &bytes[1..]].concat();
        processor.poke_dmem(section, 0, &own).unwrap();
    }
    processor.launch(0, 0).unwrap();
    let notice = processor.run_until(Ticks(u64::MAX));
    (processor, notice)
}

/// Returns the first lane and the number of lanes that an operation moves, as the manual describes it, and its
/// register operand.
fn lanes(op: Op) -> (usize, u8) {
    match op {
        Op::LdW | Op::StW => (1, 6),
        Op::LdPU | Op::StPU => (2, 6),
        _ => (4, 3),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Each row moves the bytes at its address, whichever multiple of 4 that is, and updates the address register.
    #[test]
    fn any_word_address_serves(
        bytes in prop::collection::vec(any::<u8>(), BYTES),
        op in select(vec![Op::LdW, Op::StW, Op::LdPU, Op::LdQU, Op::StPU, Op::StQU]),
        base in (8i32..100).prop_map(|i| 4 * i),
        step in (-8i32..8).prop_map(|i| 4 * i),
        post in any::<bool>(),
    ) {
        let (count, register) = lanes(op);
        let mode = if post { Mode::Post(step) } else { Mode::Offset(step) };
        let at = (base + if post { 0 } else { step }) as usize;
        let stores = matches!(op, Op::StW | Op::StPU | Op::StQU);
        let words = [
            set(Scalar::address(0), base),
            mem(Op::LdQ, 3, 15, Mode::Offset(16)),
            // The arithmetic beside it writes a register that is stored: the word found the old one.
            both(a(Op::Lii, &[if stores { 6 } else { 20 }], 5), mem(op, register, 0, mode)),
            stop(),
        ];
        for engine in [Engine::Reference, Engine::Fast] {
            let (processor, notice) = run(engine, &bytes, &words);
            prop_assert_eq!(notice, Notice::KernelStopped);
            let next = if post { base + step } else { base };
            prop_assert_eq!(processor.core().scalar(Scalar::address(0)), next as u32);
            for section in 0..4usize {
                let mut own = bytes.clone();
                own[0] = section as u8;
                let word = |own: &[u8], at: usize| u32::from_le_bytes(own[at..at + 4].try_into().unwrap());
                if stores {
                    // A store writes the words that were loaded before, also where it overwrites them.
                    let before = own.clone();
                    for lane in 0..count {
                        let value = word(&before, 16 + 4 * lane);
                        own[at + 4 * lane..][..4].copy_from_slice(&value.to_le_bytes());
                    }
                } else {
                    for lane in 0..4 {
                        let expected = match (op, lane) {
                            (Op::LdW, 0 | 1) => word(&own, at),
                            _ if lane < count => word(&own, at + 4 * lane),
                            _ => word(&own, 16 + 4 * lane),
                        };
                        let found = processor.core().register(section, 6 + lane / 2, lane % 2);
                        prop_assert_eq!(found, Some(expected), "section {} lane {}", section, lane);
                    }
                }
                let mut after = vec![0; BYTES];
                processor.core().read_dmem(section, 0, &mut after).unwrap();
                prop_assert_eq!(after, own);
            }
        }
    }
}

#[test]
fn addresses_between_words_and_behind_the_end_fault() {
    let end = extended().cp2.dmem.0 as i32;
    for op in [Op::LdW, Op::StW, Op::LdPU, Op::LdQU, Op::StPU, Op::StQU] {
        let (count, register) = lanes(op);
        let last = end - 4 * count as i32;
        for engine in [Engine::Reference, Engine::Fast] {
            let go = |address: i32| {
                let words = [
                    set(Scalar::address(0), address),
                    mem(op, register, 0, Mode::Post(4)),
                    stop(),
                ];
                run(engine, &[0; BYTES], &words).1
            };
            assert_eq!(go(last), Notice::KernelStopped, "{op:?}");
            for (address, kind) in [(last + 4, "OutOfRange"), (6, "Unaligned")] {
                let Notice::Fault(fault) = go(address) else {
                    panic!("{op:?} at {address}");
                };
                assert!(format!("{:?}", fault.kind).starts_with(kind), "{fault:?}");
            }
        }
    }
}

#[test]
fn loads_take_the_time_of_the_class() {
    let latency = extended().cp2.latency[Class::Unaligned].0;
    let words = [
        Word::NOP,
        mem(Op::LdPU, 4, 15, Mode::Offset(4)),
        a(Op::MovP, &[6, 4], 0),
        stop(),
    ];
    let (processor, _) = run(Engine::Fast, &[0; BYTES], &words);
    let causes = &processor.counters().causes;
    assert_eq!(
        (
            latency,
            causes.get(cp2_emu::Cause::Operand(Class::Unaligned))
        ),
        (4, latency - 1)
    );
}
