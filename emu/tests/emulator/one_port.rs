//! Tests of a DMEM with one port: which word gives way, to the cycle.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]
use crate::common;

use common::{descriptor, load, machine, mem, stop};
use cp2_asm::isa::{Mode, Op, Word};
use cp2_dma::{Direction, Target};
use cp2_emu::{Cause, Notice, Processor};
use cp2_machine::{Machine, Ticks};
use std::sync::Arc;

/// Cycles from the launch to the first word of a kernel on vm7.
const LAUNCH: u64 = 40;
/// Cycles of set-up of a transfer that finds the channel idle.
const SETUP: u64 = 32;
/// Number of words of the kernel: enough for all granules to arrive while it runs.
const WORDS: u64 = 40;

/// Returns the cycles that the load in word `at` of a kernel gives way, if `granules` granules for
/// a section are submitted `behind` cycles after the launch. All other words do nothing, so that
/// word k issues in cycle `LAUNCH` + k from the launch.
fn given_way(machine: &Arc<Machine>, at: u64, (behind, granules): (u64, u64)) -> u64 {
    let access = |k| k == at;
    let words = (0..WORDS).map(|k| match access(k) {
        // The address comes from `a15`, which the launch sets.
        true => mem(Op::LdP, 2, 15, Mode::Offset(0)),
        false => Word::NOP,
    });
    let words: Vec<Word> = words.chain([stop()]).collect();
    let mut processor = Processor::new(machine.clone());
    load(&mut processor, &words);
    // On vm7 a tick is a cycle, and so is a granule.
    let launched = processor.now();
    processor.launch(0, 0).unwrap();
    assert_eq!(processor.run_until(launched + Ticks(behind)), Notice::Limit);
    let transfer = descriptor(Direction::Load, Target::Section(1), 0, 0x40, 16 * granules);
    processor.submit(transfer, 1).unwrap();
    let done = processor.run_until(Ticks(u64::MAX));
    assert!(matches!(done, Notice::TransferDone(_)), "{done:?}");
    // Each granule takes a cycle after the set-up, and arrives at its end.
    assert_eq!(processor.now(), launched + Ticks(behind + SETUP + granules));
    assert_eq!(processor.run_until(Ticks(u64::MAX)), Notice::KernelStopped);
    let counters = processor.counters();
    let causes = &counters.causes;
    assert_eq!(counters.words, WORDS + 1);
    causes.get(Cause::MemoryPort)
}

/// The granules of a transfer submitted s cycles after the launch arrive in cycles s + 33, s + 34,
/// and so on: after 32 cycles of set-up and one cycle each. A word that loads in one of these
/// cycles gives way once. In any other cycle the buffer is empty, for every cycle without a load
/// drains what arrived in it.
#[test]
fn a_granule_takes_the_port_in_the_cycle_of_its_arrival() {
    let mut one = Machine::clone(&machine("vm7"));
    one.cp2.dmem_ports = 1;
    let (one, two) = (Arc::new(one), machine("vm7"));
    for (behind, granules) in [(10, 1), (20, 1), (20, 3), (25, 6)] {
        let first = behind + SETUP + 1 - LAUNCH;
        for at in 0..WORDS {
            let arrives = (first..first + granules).contains(&at);
            let lost = given_way(&one, at, (behind, granules));
            assert_eq!(
                lost,
                u64::from(arrives),
                "word {at}, {granules} from {first}"
            );
            assert_eq!(given_way(&two, at, (behind, granules)), 0);
        }
    }
}
