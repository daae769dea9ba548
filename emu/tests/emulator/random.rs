//! Tests of random programs: no panics, and every cycle has a cause.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use common::{descriptor, load, machine};
use cp2_asm::isa::{Scalar, Word};
use cp2_asm::testing::any_word_on;
use cp2_dma::{Direction, Target};
use cp2_emu::{Notice, Processor};
use cp2_machine::{Cycles, Machine, Ticks};
use proptest::prelude::*;
use std::sync::Arc;

/// Cycles that a random program may run; most loop or fault long before.
const BUDGET: Cycles = Cycles(3_000);

fn run(machine: &Arc<Machine>, words: &[Word], dmem: &[u8]) -> (Processor, Notice) {
    let mut processor = Processor::new(machine.clone()).with_checks();
    load(&mut processor, words);
    for section in 0..machine.cp2.sections {
        processor.poke_dmem(section, 0, dmem).unwrap();
    }
    processor.launch(0, 0x40).unwrap();
    let limit = processor.now() + machine.time_base().cycles(BUDGET);
    loop {
        match processor.run_until(limit) {
            Notice::Signal { event } => processor.post(event).unwrap(),
            notice => return (processor, notice),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn every_cycle_of_any_program_has_a_cause(
        words in prop::collection::vec(any_word_on(machine("vm9").cp2.extensions), 1..60),
        dmem in prop::collection::vec(any::<u8>(), 256),
        one_port: bool,
    ) {
        let mut machine = Machine::clone(&machine("vm9"));
        machine.cp2.dmem_ports = if one_port { 1 } else { 2 };
        let machine = Arc::new(machine);
        let (processor, notice) = run(&machine, &words, &dmem);
        let counters = processor.counters();
        let per_word: u64 = counters.per_word.iter().map(|w| w.causes.total()).sum();
        prop_assert_eq!(per_word, counters.causes.total());
        prop_assert_eq!(counters.causes.to_map().get("issue").copied().unwrap_or(0), counters.words);
        if notice == Notice::KernelStopped {
            let begin = begin(&machine, &words);
            let end = processor.time_base().ceil_cycles(processor.now());
            prop_assert_eq!(counters.causes.total(), (end - begin).0);
        }
        let (again, second) = run(&machine, &words, &dmem);
        prop_assert_eq!(&again, &processor);
        prop_assert_eq!(second, notice);
    }
}

/// Returns the first cycle in which the program's first word may issue.
fn begin(machine: &Arc<Machine>, words: &[Word]) -> Cycles {
    let mut processor = Processor::new(machine.clone());
    load(&mut processor, words);
    processor.time_base().ceil_cycles(processor.now()) + machine.host.launch
}

#[test]
fn a_one_port_dmem_costs_at_most_one_slot_per_granule_and_changes_no_bit() {
    use cp2_asm::isa::{Mode, Op};
    let words: Vec<Word> = [
        common::set(Scalar::address(0), 0x400),
        common::m(Op::LoopI, &[], 400, 2),
    ]
    .into_iter()
    .chain([
        common::mem(Op::StP, 2, 0, Mode::Offset(0)),
        common::mem(Op::StP, 2, 0, Mode::Offset(8)),
    ])
    .chain([common::stop()])
    .collect();
    let finish = |ports| {
        let mut machine = Machine::clone(&machine("vm7"));
        machine.cp2.dmem_ports = ports;
        let machine = Arc::new(machine);
        let mut processor = Processor::new(machine);
        load(&mut processor, &words);
        processor.launch(0, 0).unwrap();
        // The transfer has 4 blocks of 100 granules, for one section after the other.
        processor
            .submit(
                descriptor(
                    Direction::Load,
                    Target::Blocks { stride: 1600 },
                    0,
                    0x1000,
                    1600,
                ),
                1,
            )
            .unwrap();
        while processor.run_until(Ticks(u64::MAX)) != Notice::KernelStopped {}
        processor
    };
    let (two, one) = (finish(2), finish(1));
    assert_eq!(two.core(), one.core());
    let port = one.counters().causes.to_map()["memory-port"];
    assert!(!two.counters().causes.to_map().contains_key("memory-port"));
    // One granule arrives per cycle, 100 for each section in turn. A memory word in every cycle
    // gives way every other cycle. After its 100 cycles a section still owes 50, which it pays
    // while the next one receives. Only the last section's 50 add to the 400 / 2. The first 10 or
    // so granules arrive before the first memory word and cost nothing.
    assert!((240..=250).contains(&port), "{port} slots for 400 granules");
}
