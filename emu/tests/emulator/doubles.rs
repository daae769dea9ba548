//! Tests of rounding errors, and of the time that binary64 takes.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use common::{a, load, mem, stop};
use cp2_asm::isa::{Mode, Op, Word};
use cp2_emu::{Cause, Engine, Notice, Processor};
use cp2_machine::{Class, Machine, Ticks};
use proptest::prelude::*;
use std::sync::Arc;

/// Bytes of the operands: quads 0 to 2 of a section.
const OPERANDS: usize = 3;
/// Quads of the results.
const RESULTS: [u8; 2] = [20, 21];

/// Runs one operation of operands in quads 0 to 2 of all sections, and returns the results' quads as bits.
fn run(
    machine: &Arc<Machine>,
    engine: Engine,
    quads: &[[u64; 2]; OPERANDS],
    word: Word,
) -> [[u64; 2]; 2] {
    let mut processor = Processor::new(machine.clone()).with_engine(engine);
    let mut words: Vec<Word> = (0..OPERANDS as u8)
        .map(|q| mem(Op::LdQ, q, 15, Mode::Offset(16 * i32::from(q))))
        .collect();
    words.extend([word, stop()]);
    load(&mut processor, &words);
    let bytes: Vec<u8> = quads
        .iter()
        .flatten()
        .flat_map(|bits| bits.to_le_bytes())
        .collect();
    for section in 0..4 {
        processor.poke_dmem(section, 0, &bytes).unwrap();
    }
    processor.launch(0, 0).unwrap();
    assert_eq!(processor.run_until(Ticks(u64::MAX)), Notice::KernelStopped);
    let core = processor.core();
    let double = |section, register: usize| {
        let lane = |lane| u64::from(core.register(section, register, lane).unwrap());
        lane(1) << 32 | lane(0)
    };
    let found = |section: usize| {
        RESULTS.map(|q| [0, 1].map(|half| double(section, 2 * usize::from(q) + half)))
    };
    for section in 1..4 {
        assert_eq!(found(section), found(0), "section {section}");
    }
    found(0)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// A rounded sum or product and its error are the exact value, which binary64 holds for these numbers.
    #[test]
    fn errors_complete_sums_and_products(lanes in prop::array::uniform8(-1e4f32..1e4)) {
        let machine = Arc::new(Machine::load("vm7+double-single").unwrap());
        let word = |i: usize| u64::from(lanes[i].to_bits());
        let quad = |i: usize| [word(i + 1) << 32 | word(i), word(i + 3) << 32 | word(i + 2)];
        let quads = [quad(0), quad(4), [0; 2]];
        for engine in [Engine::Reference, Engine::Fast] {
            for op in [Op::AddeQ, Op::MuleQ] {
                let found = run(&machine, engine, &quads, a(op, &[20, 0, 1], 0))[0];
                for i in 0..4 {
                    let error = f32::from_bits((found[i / 2] >> (32 * (i % 2))) as u32);
                    let (x, y) = (lanes[i], lanes[4 + i]);
                    let (exact, rounded) = match op {
                        Op::AddeQ => (f64::from(x) + f64::from(y), x + y),
                        _ => (f64::from(x) * f64::from(y), x * y),
                    };
                    prop_assert_eq!(f64::from(rounded) + f64::from(error), exact, "{:?} {}", op, i);
                }
            }
        }
    }
}

/// Results take the latency of their class, which follows from that of single precision.
#[test]
fn results_take_the_time_of_the_class() {
    let ops = [
        (Op::DaddP, Class::DoubleAdd, [4, 6]),
        (Op::DmaddP, Class::DoubleMadd, [6, 9]),
        (Op::Dbfly, Class::DoubleComplex, [9, 12]),
        (Op::AddeP, Class::Error, [4, 5]),
    ];
    for (op, class, latencies) in ops {
        for (name, latency) in ["vm7", "vm9"].into_iter().zip(latencies) {
            let machine = Arc::new(Machine::load(&format!("{name}+double+double-single")).unwrap());
            let mut processor = Processor::new(machine).with_engine(Engine::Fast);
            let words = [
                a(op, &[10, 11, 12, 13, 14], 0),
                a(Op::MovP, &[30, 20], 0),
                a(Op::MovP, &[31, 10], 0),
                stop(),
            ];
            load(&mut processor, &words);
            processor.launch(0, 0).unwrap();
            assert_eq!(processor.run_until(Ticks(u64::MAX)), Notice::KernelStopped);
            let causes = &processor.counters().causes;
            let waited = causes.get(Cause::Operand(class));
            let before = if class == Class::DoubleComplex { 1 } else { 2 };
            assert_eq!(waited, latency - before, "{op:?} {name}");
        }
    }
}
