//! Helpers of tests: programs word by word, and processors that run them.
#![allow(dead_code)]
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers")]

use cp2_asm::isa::{Address, AddressOperand, Inst, Mode, Op, Scalar, Word};
use cp2_dma::{Descriptor, Direction, Target};
use cp2_emu::{Engine, Notice, Processor};
use cp2_machine::{Machine, Ticks};
use std::sync::Arc;

pub(crate) fn machine(name: &str) -> Arc<Machine> {
    Arc::new(Machine::builtin(name).unwrap())
}

/// Returns a word with an empty memory slot.
pub(crate) fn a(op: Op, r: &[u8], imm: i32) -> Word {
    Word {
        arith: inst(op, r, imm, 0),
        mem: Word::NOP.mem,
    }
}

/// Returns a word with an empty arithmetic slot.
pub(crate) fn m(op: Op, r: &[u8], imm: i32, target: u16) -> Word {
    Word {
        arith: Word::NOP.arith,
        mem: inst(op, r, imm, target),
    }
}

/// Returns a word with a memory access through address register `base`.
pub(crate) fn mem(op: Op, r: u8, base: u8, mode: Mode) -> Word {
    let mut word = m(op, &[r], 0, 0);
    word.mem.place = AddressOperand::Shared(Address { base, mode });
    word
}

/// Returns a word with the arithmetic slot of one word and the memory slot of another.
pub(crate) fn both(arith: Word, mem: Word) -> Word {
    Word {
        arith: arith.arith,
        mem: mem.mem,
    }
}

fn inst(op: Op, r: &[u8], imm: i32, target: u16) -> Inst {
    let mut inst = Inst::new(op);
    inst.r[..r.len()].copy_from_slice(r);
    inst.imm = imm;
    inst.target = target;
    inst
}

/// Returns a `movi` of a shared scalar.
pub(crate) fn set(scalar: Scalar, value: i32) -> Word {
    m(Op::Movi, &[scalar.0], value, 0)
}

pub(crate) fn stop() -> Word {
    m(Op::Stop, &[], 0, 0)
}

/// Returns the descriptor of one contiguous run.
pub(crate) fn descriptor(
    direction: Direction,
    target: Target,
    system: u64,
    local: u32,
    run: u64,
) -> Descriptor {
    Descriptor {
        direction,
        target,
        system,
        local,
        run,
        levels: Default::default(),
        event: None,
    }
}

/// Loads a program by DMA and returns at the transfer's completion.
pub(crate) fn load(processor: &mut Processor, words: &[Word]) {
    let mut bytes: Vec<u8> = words
        .iter()
        .flat_map(|w| w.encode().to_le_bytes())
        .collect();
    bytes.resize(bytes.len().next_multiple_of(16), 0);
    processor.memory_mut().write(0x10_0000, &bytes).unwrap();
    let program = descriptor(
        Direction::Load,
        Target::Program,
        0x10_0000,
        0,
        bytes.len() as u64,
    );
    processor.submit(program, 0).unwrap();
    assert!(matches!(
        processor.run_until(Ticks(u64::MAX)),
        Notice::TransferDone(_)
    ));
}

/// Runs a program until it stops on an engine, from a DMEM of these bytes in each section.
pub(crate) fn run_on(
    machine: &Arc<Machine>,
    engine: Engine,
    dmem: &[Vec<u8>],
    words: impl Iterator<Item = Word>,
) -> Processor {
    let mut processor = Processor::new(machine.clone()).with_engine(engine);
    load(&mut processor, &words.collect::<Vec<_>>());
    for (section, bytes) in dmem.iter().enumerate() {
        processor.poke_dmem(section, 0, bytes).unwrap();
    }
    processor.launch(0, 0).unwrap();
    assert_eq!(processor.run_until(Ticks(u64::MAX)), Notice::KernelStopped);
    processor
}

/// Runs a program from word 0 until it stops; also returns the instant of its launch.
pub(crate) fn run(machine: &Arc<Machine>, words: &[Word]) -> (Processor, Ticks) {
    let mut processor = Processor::new(machine.clone());
    load(&mut processor, words);
    let launched = processor.now();
    processor.launch(0, 0).unwrap();
    assert_eq!(processor.run_until(Ticks(u64::MAX)), Notice::KernelStopped);
    (processor, launched)
}
