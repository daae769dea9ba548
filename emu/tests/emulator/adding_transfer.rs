//! Tests of a transfer of a user that adds to its destination.
//!
//! Engines and shared memory come to one result, and the checkers see that its destination is read.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers")]

use crate::common;

use common::{m, machine, mem, stop};
use cp2_asm::isa::{Mode, Op};
use cp2_dma::{Combine, Descriptor, Direction, Run, Target, Transfer};
use cp2_emu::{Engine, Notice, Objection, Processor, StoreLog, SystemRam};
use cp2_machine::{Machine, Ticks};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// A strided transfer that replaces or adds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Combining(Descriptor, Combine);

impl Transfer for Combining {
    fn direction(&self) -> Direction {
        self.0.direction
    }

    fn event(&self) -> Option<u32> {
        self.0.event
    }

    fn runs(&self, machine: &Machine) -> impl Iterator<Item = Run> {
        self.0.runs(machine)
    }

    fn combine(&self) -> Combine {
        self.1
    }
}

const SECTIONS: usize = 4;
const WORDS: usize = 64;
const RESULT: u64 = 0x4000;

fn bytes(numbers: impl Iterator<Item = f32>) -> Vec<u8> {
    numbers.flat_map(f32::to_le_bytes).collect()
}

/// Returns a processor with a number of its own in each word of system memory and of DMEM.
fn filled(machine: &Arc<Machine>, engine: Engine) -> Processor<Combining> {
    let mut processor = Processor::for_transfers(machine.clone())
        .with_engine(engine)
        .with_checks();
    let system = bytes((0..4 * WORDS).map(|i| 0.1 * i as f32));
    processor.memory_mut().write(RESULT, &system).unwrap();
    for section in 0..SECTIONS {
        let own = bytes((0..WORDS).map(|i| 1000.0 * section as f32 + i as f32 / 3.0));
        processor.poke_dmem(section, 0, &own).unwrap();
    }
    processor
}

fn finish(processor: &mut Processor<Combining>, transfer: Combining) {
    processor.submit(transfer, 7).unwrap();
    let done = processor.run_until(Ticks(1 << 40));
    assert!(matches!(done, Notice::TransferDone(_)), "{done:?}");
}

/// Sums of all sections at one place take them in the order of the sections, in every engine.
#[test]
fn stores_of_all_sections_are_added_in_order() {
    for name in ["vm7", "vm9"] {
        let machine = machine(name);
        let blocks = Descriptor::store(Target::Blocks { stride: 0 }, RESULT, 0, 4 * WORDS as u64);
        let results = [Engine::Reference, Engine::Fast].map(|engine| {
            let mut processor = filled(&machine, engine);
            finish(&mut processor, Combining(blocks.clone(), Combine::Add));
            assert_eq!(processor.findings(), []);
            let mut seen = vec![0; 4 * 4 * WORDS];
            processor.memory().read(RESULT, &mut seen).unwrap();
            (seen, processor.now())
        });
        let expected = (0..4 * WORDS).map(|i| {
            let parts = 0..if i < WORDS { SECTIONS } else { 0 };
            parts.fold(0.1 * i as f32, |sum, s| {
                sum + (1000.0 * s as f32 + i as f32 / 3.0)
            })
        });
        assert_eq!(results[0].0, bytes(expected));
        assert_eq!(results[0], results[1]);
    }
}

/// Processors that share a memory keep their sums apart, and carry them out one behind the other.
#[test]
fn shared_memory_carries_out_sums() {
    let machine = machine("vm7");
    let store = |at| Descriptor::store(Target::Deal, at, 0, 256);
    // Two logs with one place are carried out in turn, two with places apart at once.
    for places in [[RESULT, RESULT + 64], [RESULT, RESULT + 512]] {
        let mut plain = filled(&machine, Engine::Fast);
        let base = Arc::new(plain.memory().clone());
        let logs: Vec<StoreLog> = places
            .into_iter()
            .map(|at| {
                let mut apart = filled(&machine, Engine::Fast);
                *apart.memory_mut() = SystemRam::sharing(base.clone(), StoreLog::default());
                for combine in [Combine::Add, Combine::Add, Combine::Replace, Combine::Add] {
                    // The last sum is one with what was replaced just before.
                    finish(&mut apart, Combining(store(at), combine));
                    finish(&mut plain, Combining(store(at), combine));
                }
                apart.memory_mut().end_sharing().unwrap().stores
            })
            .collect();
        let mut memory = SystemRam::clone(&base);
        memory.carry_out(&logs.iter().collect::<Vec<_>>()).unwrap();
        let read = |memory: &SystemRam| {
            let mut seen = vec![0; 1024];
            memory.read(RESULT, &mut seen).unwrap();
            seen
        };
        assert!(read(&memory) != read(&base));
        assert_eq!(read(&memory), read(plain.memory()));
    }
}

/// A load that adds reads DMEM: what was never written has no sum.
#[test]
fn sums_with_what_was_never_written_are_found() {
    let machine = machine("vm7");
    let load = |combine| {
        Combining(
            Descriptor::load(Target::Section(1), RESULT, 192, 128),
            combine,
        )
    };
    let found = |combine| {
        let mut processor = filled(&machine, Engine::Fast);
        finish(&mut processor, load(combine));
        processor
            .findings()
            .iter()
            .map(|f| (f.objection, f.to_string()))
            .collect::<Vec<_>>()
    };
    assert_eq!(found(Combine::Replace), []);
    let [(objection, text)] = &found(Combine::Add)[..] else {
        panic!("one finding");
    };
    let (section, address, tag) = (1, 256, 7);
    assert_eq!(
        *objection,
        Objection::UnwrittenSum {
            section,
            address,
            tag
        }
    );
    assert!(
        text.contains("transfer 7 adds to DMEM 0x100 of section 1, which was never written"),
        "{text}"
    );
}

/// A kernel that reads what a transfer adds to meanwhile is a race, as with any load.
#[test]
fn races_with_sums_are_found() {
    let words = [
        m(Op::LoopI, &[], 64, 1),
        mem(Op::LdP, 1, 15, Mode::Offset(8)),
        stop(),
    ];
    let mut program: Vec<u8> = words
        .iter()
        .flat_map(|w| w.encode().to_le_bytes())
        .collect();
    program.resize(program.len().next_multiple_of(16), 0);
    let race = |direction| {
        let mut processor = filled(&machine("vm7"), Engine::Fast);
        processor.memory_mut().write(0, &program).unwrap();
        let load = Descriptor::load(Target::Program, 0, 0, program.len() as u64);
        finish(&mut processor, Combining(load, Combine::Replace));
        let long = Descriptor {
            direction,
            ..Descriptor::load(Target::Section(2), RESULT, 0, 16)
        };
        let long = Combining(long.level(60, 16, 0), Combine::Add);
        processor.submit(long, 9).unwrap();
        processor.launch(0, 0).unwrap();
        while processor.run_until(Ticks(1 << 40)) != Notice::KernelStopped {}
        processor
            .findings()
            .iter()
            .map(|f| f.objection)
            .collect::<Vec<_>>()
    };
    // A kernel may read what a store reads.
    assert_eq!(race(Direction::Store), []);
    let found = race(Direction::Load);
    assert!(
        matches!(
            found[..],
            [Objection::Race {
                section: 2,
                address: 8,
                write: false,
                tag: 9,
                ..
            }]
        ),
        "{found:?}"
    );
}
