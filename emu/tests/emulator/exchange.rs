//! Tests of movements of registers between sections.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use common::{a, both, load, m, mem, stop};
use cp2_asm::isa::{Mode, Op, Word};
use cp2_emu::{Cause, Engine, Notice, Processor};
use cp2_machine::{Class, Machine, Ticks};
use proptest::prelude::*;
use proptest::sample::select;
use std::sync::Arc;

/// Runs the words behind loads of quads 1 and 2 from `dmem[section]`.
fn run(machine: &Arc<Machine>, engine: Engine, dmem: &[Vec<u8>], words: &[Word]) -> Processor {
    let first = [1, 2].map(|q| mem(Op::LdQ, q, 15, Mode::Offset(16 * i32::from(q) - 16)));
    common::run_on(machine, engine, dmem, first.iter().chain(words).copied())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Each row moves what the manual says, between any number of sections, while the arithmetic beside it reads
    /// the old registers.
    #[test]
    fn registers_go_where_the_manual_says(
        dmem in prop::collection::vec(prop::collection::vec(any::<u8>(), 32), 6),
        sections in select(vec![4usize, 4, 4, 1, 2, 3, 6]),
        op in select(vec![Op::RotP, Op::RotQ, Op::XchgP, Op::XchgQ]),
        n in prop_oneof![3 => 1i32..8, 1 => 8i32..64],
    ) {
        let mut machine = Machine::load("vm7+exchange").unwrap();
        machine.cp2.sections = sections;
        let machine = Arc::new(machine);
        let dmem = &dmem[..sections];
        let quad = matches!(op, Op::RotQ | Op::XchgQ);
        // Quads 1 and 2 are registers 2, 3 and 4, 5.
        let (first, second) = if quad { (1, 2) } else { (2, 4) };
        let words = [both(a(Op::MovQ, &[10, 2], 0), m(op, &[first, second], n, 0)), stop()];
        let old = |section: usize, register: usize, lane: usize| {
            let at = 16 * (register / 2 - 1) + 8 * (register % 2) + 4 * lane;
            u32::from_le_bytes(dmem[section][at..at + 4].try_into().unwrap())
        };
        let n = n as usize;
        for engine in [Engine::Reference, Engine::Fast] {
            let processor = run(&machine, engine, dmem, &words);
            for s in 0..sections {
                for (register, lane) in [(2, 0), (2, 1), (3, 0), (3, 1), (4, 0), (4, 1), (5, 0), (5, 1)] {
                    let moves = quad || register % 2 == 0;
                    let is_first = register < 4;
                    let partner = s ^ n;
                    let expected = match op {
                        _ if !moves => old(s, register, lane),
                        Op::RotP | Op::RotQ if is_first => old((s + n) % sections, register + 2, lane),
                        Op::RotP | Op::RotQ => old(s, register, lane),
                        _ if partner >= sections => old(s, register, lane),
                        // The smaller section gives its second register for the first of its partner.
                        _ if s < partner && !is_first => old(partner, register - 2, lane),
                        _ if s > partner && is_first => old(partner, register + 2, lane),
                        _ => old(s, register, lane),
                    };
                    let found = processor.core().register(s, register, lane);
                    prop_assert_eq!(found, Some(expected), "section {} r{}", s, register);
                    if !is_first {
                        let copied = processor.core().register(s, register + 16, lane);
                        prop_assert_eq!(copied, Some(old(s, register, lane)));
                    }
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A load from a neighbour is a load of the section's own, and then a rotation by one or by one less than all.
    #[test]
    fn loads_from_a_neighbour_are_loads_that_are_rotated(
        dmem in prop::collection::vec(prop::collection::vec(any::<u8>(), 64), 6),
        sections in select(vec![4usize, 4, 4, 1, 2, 3, 6]),
        op in select(vec![Op::LdNextP, Op::LdNextQ, Op::LdPrevP, Op::LdPrevQ]),
        place in 0u8..2,
    ) {
        let mut machine = Machine::load("vm7+exchange").unwrap();
        machine.cp2.sections = sections;
        let machine = Arc::new(machine);
        let dmem = &dmem[..sections];
        let quad = matches!(op, Op::LdNextQ | Op::LdPrevQ);
        let bytes = if quad { 16 } else { 8 };
        let destination = if quad { 1 } else { 2 };
        let mode = Mode::Post(bytes * i32::from(place));
        let base = m(Op::Movi, &[4], 16, 0);
        // The arithmetic beside it reads the old register.
        let beside = both(a(Op::MovQ, &[10, 1], 0), mem(op, destination, 4, mode));
        let last = mem(op, destination + 20, 4, Mode::Offset(0));
        let words = [base, beside, last, stop()];
        for engine in [Engine::Reference, Engine::Fast] {
            let processor = run(&machine, engine, dmem, &words);
            for s in 0..sections {
                let from = match op {
                    Op::LdNextP | Op::LdNextQ => (s + 1) % sections,
                    _ => (s + sections - 1) % sections,
                };
                let word = |section: usize, at: usize| {
                    let bytes = dmem[section][at..at + 4].try_into().unwrap();
                    Some(u32::from_le_bytes(bytes))
                };
                let first = 16 + usize::from(place) * bytes as usize;
                for i in 0..bytes as usize / 4 {
                    let read = |register: usize| processor.core().register(s, register + i / 2, i % 2);
                    prop_assert_eq!(read(2), word(from, 16 + 4 * i));
                    prop_assert_eq!(read(if quad { 42 } else { 22 }), word(from, first + 4 * i));
                    prop_assert_eq!(read(20), word(s, 4 * i));
                }
            }
        }
    }
}

#[test]
fn loads_from_a_neighbour_fault_as_loads_do() {
    let machine = Arc::new(Machine::load("vm9+exchange").unwrap());
    for (op, at) in [(Op::LdNextP, 12), (Op::LdPrevQ, 8), (Op::LdNextQ, 1 << 16)] {
        for engine in [Engine::Reference, Engine::Fast] {
            let mut processor = Processor::new(machine.clone()).with_engine(engine);
            let words = [
                m(Op::Movi, &[0], at, 0),
                mem(op, 1, 0, Mode::Offset(0)),
                stop(),
            ];
            load(&mut processor, &words);
            processor.launch(0, 0).unwrap();
            let notice = processor.run_until(Ticks(u64::MAX));
            assert!(matches!(notice, Notice::Fault(_)), "{op:?}: {notice:?}");
        }
    }
}

#[test]
fn results_take_the_time_of_the_class() {
    for (name, latency) in [("vm7", 2), ("vm9", 3)] {
        let machine = Arc::new(Machine::load(&format!("{name}+exchange")).unwrap());
        let words = [
            m(Op::RotP, &[20, 21], 1, 0),
            a(Op::MovP, &[22, 20], 0),
            stop(),
        ];
        let processor = run(&machine, Engine::Fast, &[], &words);
        let causes = &processor.counters().causes;
        assert_eq!(causes.get(Cause::Operand(Class::Exchange)), latency - 1);
        // Two cycles more than a load of the section's own.
        let words = [
            mem(Op::LdNextP, 20, 15, Mode::Offset(0)),
            a(Op::MovP, &[22, 20], 0),
            stop(),
        ];
        let processor = run(&machine, Engine::Fast, &[], &words);
        let causes = &processor.counters().causes;
        let neighbour = machine.cp2.latency[Class::Load].0 + 2;
        assert_eq!(causes.get(Cause::Operand(Class::Neighbour)), neighbour - 1);
    }
}
