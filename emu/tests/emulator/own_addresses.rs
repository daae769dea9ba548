//! Tests of loads at addresses that the sections form themselves.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use common::{a, both, load, m, mem, set, stop};
use cp2_asm::isa::{AddressOperand, Mode, Op, OwnAddress, Scalar, Word};
use cp2_emu::{Cause, Engine, Notice, Processor};
use cp2_machine::{Class, Machine, Ticks};
use proptest::prelude::*;
use proptest::sample::select;
use std::sync::Arc;

/// Pair register that holds the half-words.
const INDEX: u8 = 40;
/// DMEM bytes that the test writes; what lies behind them is zero.
const BYTES: u32 = 0x2000;

fn extended(name: &str) -> Arc<Machine> {
    Arc::new(Machine::load(&format!("{name}+section-addressing+word-addressing")).unwrap())
}

/// Returns the load of register `r` from `[a0 + r40.h]`.
fn own(op: Op, r: u8, half: u8) -> Word {
    let mut word = m(op, &[r], 0, 0);
    word.mem.place = AddressOperand::Own(OwnAddress {
        base: 0,
        register: INDEX,
        half,
    });
    word
}

/// Runs the words on sections whose DMEM holds `dmem` each, from the pair of half-words at address 0.
fn run(
    machine: &Arc<Machine>,
    engine: Engine,
    dmem: &[Vec<u8>],
    words: &[Word],
) -> (Processor, Notice) {
    let mut processor = Processor::new(machine.clone()).with_engine(engine);
    let first = mem(Op::LdP, INDEX, 15, Mode::Offset(0));
    let words: Vec<Word> = [first].iter().chain(words).copied().collect();
    load(&mut processor, &words);
    for (section, bytes) in dmem.iter().enumerate() {
        processor.poke_dmem(section, 0, bytes).unwrap();
    }
    processor.launch(0, 0).unwrap();
    let notice = processor.run_until(Ticks(u64::MAX));
    (processor, notice)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// A load is compared with the bytes at the address that the manual describes. The word's arithmetic writes
    /// the register with the half-words, or one that is loaded.
    #[test]
    fn each_section_loads_from_its_own_address(
        seed in any::<u64>(),
        halves in prop::collection::vec(prop::collection::vec(0u16..200, 4), 5),
        base in (0u32..256).prop_map(|i| 16 * i),
        op in select(vec![Op::LdOwnP, Op::LdOwnQ, Op::LdOwnDup, Op::LdOwnW]),
        half in 0u8..4,
        beside in 0u8..3,
        sections in select(vec![4usize, 4, 1, 5]),
    ) {
        let mut machine = Machine::clone(&extended("vm7"));
        machine.cp2.sections = sections;
        let machine = Arc::new(machine);
        let mut state = seed | 1;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 56) as u8
        };
        let dmem: Vec<Vec<u8>> = halves[..sections].iter().map(|halves| {
            let index = halves.iter().flat_map(|half| half.to_le_bytes());
            index.chain((8..BYTES).map(|_| random())).collect()
        }).collect();
        // A quad is register 4, 5.
        let target = if matches!(op, Op::LdOwnP | Op::LdOwnW) { 4 } else { 2 };
        let arith = match beside {
            0 => Word::NOP,
            1 => a(Op::Lii, &[INDEX], 77),
            _ => a(Op::MovP, &[9, INDEX], 0),
        };
        let words = [
            set(Scalar::address(0), base as i32),
            both(arith, own(op, target, half)),
            stop(),
        ];
        let size = match op {
            Op::LdOwnQ => 16,
            Op::LdOwnW => 4,
            _ => 8,
        };
        for engine in [Engine::Reference, Engine::Fast] {
            let (processor, notice) = run(&machine, engine, &dmem, &words);
            prop_assert_eq!(notice, Notice::KernelStopped);
            for (section, bytes) in dmem.iter().enumerate() {
                let at = base as usize + size * usize::from(halves[section][usize::from(half)]);
                let lane = |i: usize| {
                    let word = bytes.get(at + 4 * i..at + 4 * i + 4).unwrap_or(&[0; 4]);
                    Some(u32::from_le_bytes(word.try_into().unwrap()))
                };
                let expected: Vec<_> = match op {
                    Op::LdOwnP => vec![lane(0), lane(1)],
                    Op::LdOwnQ => (0..4).map(lane).collect(),
                    Op::LdOwnW => vec![lane(0), lane(0)],
                    _ => vec![lane(0), lane(1), lane(0), lane(1)],
                };
                let found: Vec<_> = (0..expected.len())
                    .map(|i| processor.core().register(section, 4 + i / 2, i % 2))
                    .collect();
                prop_assert_eq!(found, expected, "section {}", section);
            }
            if beside == 2 {
                let pair = u32::from(halves[0][1]) << 16 | u32::from(halves[0][0]);
                prop_assert_eq!(processor.core().register(0, 9, 0), Some(pair));
            }
        }
    }
}

#[test]
fn a_fault_names_its_section_and_changes_nothing() {
    let machine = extended("vm7");
    let pair = |half: u16| [half.to_le_bytes(), [0; 2], [0; 2], [0; 2]].concat();
    // Section 2 alone leaves DMEM: 8191 pairs are 64 KiB less one pair, from 16 on.
    let dmem: Vec<_> = [3, 5, 8190, 0].map(pair).to_vec();
    for engine in [Engine::Reference, Engine::Fast] {
        let go = |base| {
            let words = [
                set(Scalar::address(0), base),
                a(Op::Lii, &[4], 9),
                both(a(Op::Lii, &[7], 1), own(Op::LdOwnP, 4, 0)),
                stop(),
            ];
            run(&machine, engine, &dmem, &words)
        };
        assert_eq!(go(8).1, Notice::KernelStopped);
        for (base, kind) in [(16, "OutOfRange"), (4, "Unaligned")] {
            let (processor, notice) = go(base);
            let Notice::Fault(fault) = notice else {
                panic!("{notice:?}");
            };
            // An address that is unaligned is so in all sections; the first is named.
            assert_eq!(fault.section, Some(if base == 16 { 2 } else { 0 }));
            assert!(format!("{:?}", fault.kind).starts_with(kind), "{fault:?}");
            let register = |r| processor.core().register(0, r, 0);
            assert_eq!((register(4), register(7)), (Some(9), Some(0)));
        }
    }
}

/// The word that uses the result waits for the latency of the class `gather`, and its interval holds.
#[test]
fn results_take_the_time_of_the_class() {
    for (name, latency, interval) in [("vm7", 4, 1), ("vm9", 5, 1), ("vm7", 7, 3)] {
        let mut machine = Machine::clone(&extended(name));
        if interval > 1 {
            machine.cp2.latency[Class::Gather].0 = latency;
            machine.cp2.interval[Class::Gather].0 = interval;
        }
        let machine = Arc::new(machine);
        let dmem = vec![vec![0; 64]; 4];
        let twice = [
            set(Scalar::address(0), 0),
            Word::NOP,
            Word::NOP,
            Word::NOP,
            own(Op::LdOwnP, 4, 0),
            own(Op::LdOwnP, 5, 1),
            a(Op::MovP, &[6, 5], 0),
            stop(),
        ];
        let (processor, notice) = run(&machine, Engine::Fast, &dmem, &twice);
        assert_eq!(notice, Notice::KernelStopped);
        let causes = &processor.counters().causes;
        assert_eq!(causes.get(Cause::UnitBusy), interval - 1);
        assert_eq!(causes.get(Cause::Operand(Class::Gather)), latency - 1);
    }
}

#[test]
fn machines_without_the_extension_refuse_the_word() {
    let machine = common::machine("vm7");
    let dmem = vec![vec![0; 64]; 4];
    let (_, notice) = run(
        &machine,
        Engine::Fast,
        &dmem,
        &[own(Op::LdOwnP, 4, 0), stop()],
    );
    let Notice::Fault(fault) = notice else {
        panic!("{notice:?}");
    };
    assert!(
        fault.kind.to_string().contains("section-addressing"),
        "{fault:?}"
    );
}
