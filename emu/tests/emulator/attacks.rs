//! Tests of programs, machines and hosts that exploit gaps between the rules.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers")]

use crate::common;

use common::{a, descriptor, load, m, machine, mem, run, set, stop};
use cp2_asm::isa::{Mode, Op, Scalar, Word};
use cp2_dma::{Descriptor, Direction, Target};
use cp2_emu::{Cause, Fault, FaultKind, Notice, Objection, Processor, Quiet};
use cp2_machine::{Class, Cycles, Machine, Ticks};
use std::sync::Arc;

/// Returns a built-in machine with changes.
fn changed(name: &str, change: impl FnOnce(&mut Machine)) -> Arc<Machine> {
    let mut machine = Machine::builtin(name).unwrap();
    change(&mut machine);
    Arc::new(machine)
}

/// Loads the words, launches them, and runs to the fault.
fn fault(machine: &Arc<Machine>, words: &[Word]) -> (Processor, Fault) {
    let mut processor = Processor::new(machine.clone());
    load(&mut processor, words);
    processor.launch(0, 0).unwrap();
    match processor.run_until(Ticks(u64::MAX)) {
        Notice::Fault(fault) => (processor, fault),
        other => panic!("no fault: {other:?}"),
    }
}

fn cause(processor: &Processor, cause: Cause) -> u64 {
    processor.counters().causes.get(cause)
}

#[test]
fn a_program_may_arrive_while_the_launch_is_under_way() {
    // Launched at 0, first issue in cycle 40; the program lands in cycle 33.
    let mut processor = Processor::new(machine("vm7"));
    let bytes: Vec<u8> = [stop(), stop()]
        .iter()
        .flat_map(|w| w.encode().to_le_bytes())
        .collect();
    processor.memory_mut().write(0, &bytes).unwrap();
    processor
        .submit(Descriptor::load(Target::Program, 0, 0, 16), 0)
        .unwrap();
    processor.launch(0, 0).unwrap();
    assert!(matches!(
        processor.run_until(Ticks(u64::MAX)),
        Notice::TransferDone(_)
    ));
    assert_eq!(processor.now(), Ticks(33));
    assert_eq!(processor.run_until(Ticks(u64::MAX)), Notice::KernelStopped);
    // No program: the fault comes when the word would issue, not before the limit.
    let mut processor = Processor::new(machine("vm7"));
    processor.launch(7, 0).unwrap();
    assert_eq!(processor.run_until(Ticks(39)), Notice::Limit);
    assert_eq!(processor.now(), Ticks(39));
    assert!(matches!(
        processor.run_until(Ticks(50)),
        Notice::Fault(Fault {
            cycle: 40,
            kind: FaultKind::NoProgram,
            ..
        })
    ));
}

#[test]
fn words_between_loaded_programs_are_no_program() {
    let machine = machine("vm7");
    let mut processor = Processor::new(machine.clone());
    load(&mut processor, &[Word::NOP, Word::NOP]);
    let far = Descriptor::load(Target::Program, 0x10_0000, 64, 16);
    processor.submit(far, 0).unwrap();
    processor.run_until(Ticks(u64::MAX));
    processor.launch(0, 0).unwrap();
    assert!(matches!(
        processor.run_until(Ticks(u64::MAX)),
        Notice::Fault(Fault {
            pc: 2,
            kind: FaultKind::NoProgram,
            ..
        })
    ));
}

#[test]
fn a_fault_is_dated_and_accounted_where_the_word_would_have_issued() {
    // movi, rcp (10), then a store of its result beyond DMEM: waits 9, then faults.
    let words = [
        set(Scalar::address(0), 0x1_0000),
        a(Op::Rcp, &[1, 0], 0),
        mem(Op::StP, 1, 0, Mode::Offset(0)),
        stop(),
    ];
    let machine = machine("vm7");
    let (mut processor, fault) = fault(&machine, &words);
    let begin =
        processor.time_base().floor_cycles(processor.now()).0 - processor.counters().causes.total();
    assert_eq!(fault.cycle, begin + 2 + 9);
    assert_eq!(cause(&processor, Cause::Operand(Class::Elementary)), 9);
    assert_eq!(processor.counters().words, 2);
    // The store changed nothing; a launch starts afresh.
    processor.launch(3, 0).unwrap();
    assert_eq!(processor.run_until(Ticks(u64::MAX)), Notice::KernelStopped);
}

#[test]
fn a_stop_at_the_end_of_a_loop_stops() {
    // The assembler refuses this program, but program memory may hold it.
    let machine = changed("vm7", |m| m.cp2.loop_back = Cycles(5));
    let (processor, _) = run(&machine, &[m(Op::LoopI, &[], 3, 2), Word::NOP, stop()]);
    assert_eq!(processor.counters().causes.total(), 1 + 2 + 2);
}

#[test]
fn an_empty_loop_that_ends_an_outer_body_ends_its_pass() {
    let words = [
        set(Scalar::control(0), 0),
        set(Scalar::address(0), 0),
        m(Op::LoopI, &[], 3, 3),
        m(Op::Addi, &[0, 0], 1, 0),
        m(Op::LoopX, &[32], 0, 1),
        Word::NOP,
        stop(),
    ];
    let (processor, _) = run(&machine("vm7"), &words);
    assert_eq!(processor.core().scalar(Scalar::address(0)), 3);
}

#[test]
fn a_function_with_loops_and_branches_can_be_called_from_a_loop() {
    // loop 3 { call f; a1 += 1 }; f: loop 2 { a0 += 1; skip over a word }, leaves another loop by ret.
    let words = [
        set(Scalar::address(0), 0),
        set(Scalar::address(1), 0),
        set(Scalar::control(0), 1),
        m(Op::LoopI, &[], 3, 2),
        m(Op::Call, &[], 0, 7),
        m(Op::Addi, &[1, 1], 1, 0),
        stop(),
        m(Op::LoopI, &[], 2, 4),
        m(Op::Addi, &[0, 0], 1, 0),
        m(Op::Bnz, &[32], 0, 11),
        Word::NOP,
        Word::NOP,
        m(Op::Jmp, &[], 0, 14),
        Word::NOP,
        m(Op::LoopI, &[], 9, 2),
        m(Op::Ret, &[], 0, 0),
        Word::NOP,
    ];
    let (processor, _) = run(&machine("vm7"), &words);
    assert_eq!(processor.core().scalar(Scalar::address(1)), 3);
    assert_eq!(processor.core().scalar(Scalar::address(0)), 6);
}

#[test]
fn the_deepest_nest_runs_and_one_more_faults() {
    let nest = |depth: u16| -> Vec<Word> {
        let loops = (0..depth).map(|i| m(Op::LoopI, &[], 2, 2 * depth - 2 * i - 1));
        loops
            .chain((0..depth).map(|_| Word::NOP))
            .chain([stop()])
            .collect()
    };
    let machine = machine("vm7");
    let (processor, _) = run(&machine, &nest(8));
    // Loop words: 1 + 2 + ... + 128; the bodies' last words 2 + 4 + ... + 256.
    assert_eq!(processor.counters().words, 255 + 510 + 1);
    let (processor, fault) = fault(&machine, &nest(9));
    assert_eq!(
        (fault.pc, fault.kind),
        (8, FaultKind::LoopDepth { depth: 8 })
    );
    assert_eq!(processor.counters().words, 8);
    let words = [m(Op::Call, &[], 0, 0)];
    let (processor, fault) = self::fault(&machine, &words);
    assert_eq!(
        (fault.pc, fault.kind),
        (0, FaultKind::CallDepth { depth: 8 })
    );
    assert_eq!(processor.counters().causes.total(), 8 * 4);
}

#[test]
fn the_last_word_of_program_memory_has_no_successor() {
    let machine = changed("vm7", |m| m.cp2.program = cp2_machine::Bytes(512 << 10));
    let mut processor = Processor::new(machine);
    let last = Descriptor::load(Target::Program, 0x10_0000, (512 << 10) - 16, 16);
    processor.submit(last, 0).unwrap();
    processor.run_until(Ticks(u64::MAX));
    processor.launch(65_535, 0).unwrap();
    let notice = processor.run_until(Ticks(u64::MAX));
    assert!(
        matches!(
            notice,
            Notice::Fault(Fault {
                pc: 65_536,
                kind: FaultKind::NoProgram,
                ..
            })
        ),
        "{notice:?}"
    );
    assert!(processor.launch(65_536, 0).is_err());
}

#[test]
fn a_program_replaced_under_a_kernel_is_found_and_one_beside_it_is_not() {
    // The transfer replaces the loop's two words, or words behind the program.
    for (address, races) in [(0, 2), (64, 0)] {
        let mut processor = Processor::new(machine("vm7")).with_checks();
        load(
            &mut processor,
            &[m(Op::LoopI, &[], 90, 1), Word::NOP, stop()],
        );
        processor.launch(0, 0).unwrap();
        let next = Descriptor::load(Target::Program, 0x10_0000, address, 16);
        processor.submit(next, 4).unwrap();
        // Lands in cycle 33, before the first issue: nothing to find.
        let done = processor.run_until(Ticks(u64::MAX));
        assert!(matches!(done, Notice::TransferDone(_)));
        assert_eq!(processor.findings(), []);
        // Under way from the launch on for 32 cycles of set-up and 20 of data.
        let next = Descriptor::load(Target::Program, 0x10_0000, address, 320);
        processor.submit(next, 4).unwrap();
        while processor.run_until(Ticks(u64::MAX)) != Notice::KernelStopped {}
        let kinds: Vec<_> = processor.findings().iter().map(|f| f.objection).collect();
        assert_eq!(kinds, vec![Objection::ProgramRace { tag: 4 }; races]);
    }
}

/// The last word that a transfer replaces is checked like the others.
#[test]
fn the_last_word_of_a_replaced_program_counts() {
    let machine = machine("vm7");
    let mut processor = Processor::new(machine.clone()).with_checks();
    load(
        &mut processor,
        &[m(Op::LoopI, &[], 90, 1), Word::NOP, stop()],
    );
    processor.launch(0, 0).unwrap();
    processor.run_until(processor.now() + machine.time_base().cycles(Cycles(50)));
    // The transfer replaces words 0 and 1; the kernel loops on word 1.
    let next = Descriptor::load(Target::Program, 0x10_0000, 0, 16);
    processor.submit(next, 4).unwrap();
    while processor.run_until(Ticks(u64::MAX)) != Notice::KernelStopped {}
    let found: Vec<_> = processor
        .findings()
        .iter()
        .map(|f| (f.pc, f.objection))
        .collect();
    assert_eq!(found, [(Some(1), Objection::ProgramRace { tag: 4 })]);
}

#[test]
fn checkers_know_scalars_lanes_and_every_target() {
    use cp2_emu::Objection as O;
    let kinds = |transfers: &[Descriptor], words: &[Word]| {
        let mut processor = Processor::new(machine("vm7")).with_checks();
        load(&mut processor, words);
        for d in transfers {
            processor.submit(d.clone(), 1).unwrap();
            processor.run_until(Ticks(u64::MAX));
        }
        processor.launch(0, 0x100).unwrap();
        processor.run_until(Ticks(u64::MAX));
        processor
            .findings()
            .iter()
            .map(|f| f.objection)
            .collect::<Vec<_>>()
    };
    let pair = |at| [mem(Op::LdP, 1, 15, Mode::Offset(at)), stop()];
    let broadcast = Descriptor::load(Target::Broadcast, 0, 0x100, 16);
    assert_eq!(kinds(&[broadcast], &pair(8)), []);
    // Three granules dealt: section 3 gets none.
    let deal = Descriptor::load(Target::Deal, 0, 0x100, 48);
    assert_eq!(
        kinds(std::slice::from_ref(&deal), &pair(0)),
        [O::UnwrittenDmem {
            section: 3,
            address: 0x100
        }]
    );
    // A scalar load looks at section 0 only.
    assert_eq!(
        kinds(&[deal], &[mem(Op::LdX, 1, 15, Mode::Offset(0)), stop()]),
        []
    );
    // The step register of an address is read; a15 is defined, a0 is not.
    let step = [mem(Op::StP, 1, 15, Mode::Step(2)), stop()];
    assert_eq!(kinds(&[], &step).len(), 1);
    let section = Descriptor::load(Target::Section(2), 0, 0x100, 16);
    let store = Descriptor::store(Target::Blocks { stride: 16 }, 0, 0x100, 16);
    assert_eq!(
        kinds(&[section, store], &[stop()]),
        [O::UnwrittenStore {
            section: 0,
            address: 0x100,
            tag: 1
        }]
    );
}

#[test]
fn a_scalar_load_reads_one_section() {
    let (processor, _) = run(
        &machine("vm7"),
        &[mem(Op::LdX, 1, 0, Mode::Offset(0)), stop()],
    );
    assert_eq!(processor.counters().work.dmem_read, 8);
}

#[test]
fn a_launch_without_latency_issues_after_the_transfer_that_ends_now() {
    let machine = changed("vm7", |m| m.host.launch = Cycles(0));
    let mut processor = Processor::new(machine);
    load(&mut processor, &[stop()]);
    let now = processor.now();
    processor.launch(0, 0).unwrap();
    processor.run_until(Ticks(u64::MAX));
    assert_eq!(processor.now(), now + Ticks(2));
}

#[test]
fn every_unit_has_its_own_interval_in_both_slots() {
    let machine = changed("vm7", |m| {
        m.cp2.interval[Class::Add] = Cycles(4);
        m.cp2.interval[Class::Load] = Cycles(3);
    });
    // rcp takes its own unit; the second add waits 3 for the first.
    let words = [
        a(Op::AddP, &[1, 0, 0], 0),
        a(Op::Rcp, &[2, 0], 0),
        a(Op::AddP, &[3, 0, 0], 0),
        stop(),
    ];
    let (processor, _) = run(&machine, &words);
    assert_eq!(cause(&processor, Cause::UnitBusy), 2);
    // Two loads: the second 2 cycles later; a store is no load.
    let words = [
        mem(Op::LdP, 1, 0, Mode::Offset(0)),
        mem(Op::LdP, 2, 0, Mode::Offset(0)),
        mem(Op::StP, 3, 0, Mode::Offset(0)),
        stop(),
    ];
    let (processor, _) = run(&machine, &words);
    assert_eq!(cause(&processor, Cause::UnitBusy), 2);
}

#[test]
fn registers_by_another_name_wait_for_the_same_cause() {
    // Two producers land in one cycle: the class listed first is charged.
    for (x, y) in [(1, 2), (2, 1)] {
        let words = [
            a(Op::MaddP, &[x, 0, 0, 0], 0),
            a(Op::AddP, &[y, 0, 0], 0),
            a(Op::AddP, &[3, 1, 2], 0),
            stop(),
        ];
        let (processor, _) = run(&machine("vm7"), &words);
        assert_eq!(cause(&processor, Cause::Operand(Class::Add)), 2);
    }
}

#[test]
fn time_has_an_end_and_nobody_falls_off_it() {
    // A run costs 2^50 ticks: the transfer would end after the 64 bits do.
    let machine = changed("vm7", |m| {
        m.dma.run = Cycles(1_000_000_000);
        m.dma.bandwidth = cp2_machine::Ratio::new(1_048_573, 65_537).unwrap();
    });
    let mut processor = Processor::new(machine);
    load(
        &mut processor,
        &[m(Op::Wait, &[], 3, 0), m(Op::Jmp, &[], 0, 1)],
    );
    let long = Descriptor::store(Target::Section(0), 0, 0, 16).level(20_000, 32, 0);
    processor.submit(long, 1).unwrap();
    processor.launch(0, 0).unwrap();
    assert_eq!(processor.run_until(Ticks(u64::MAX)), Notice::Limit);
    processor.post(3).unwrap();
    let end = processor.now();
    assert_eq!(processor.run_until(Ticks(u64::MAX)), Notice::Limit);
    assert_eq!(processor.now(), end);
    assert_eq!(processor.quiet(), None);
    // Everything happens again at the end of time, with nothing under way before.
    let mut processor = Processor::new(self::machine("vm7"));
    load(&mut processor, &[stop()]);
    assert_eq!(processor.run_until(Ticks(u64::MAX)), Notice::Limit);
    assert_eq!(processor.quiet(), Some(Quiet::Idle));
    processor.post(3).unwrap();
    processor
        .submit(descriptor(Direction::Load, Target::Broadcast, 0, 0, 16), 2)
        .unwrap();
    processor.launch(0, 0).unwrap();
    assert_eq!(processor.run_until(Ticks(u64::MAX)), Notice::Limit);
}

#[test]
fn on_one_port_granules_arrive_when_the_dma_moves_them() {
    // 64 runs of one granule, 100 cycles apart; the kernel loads in 64 successive cycles
    // and meets the first two granules at most.
    let machine = changed("vm7", |m| {
        m.cp2.dmem_ports = 1;
        m.dma.run = Cycles(99);
    });
    let mut processor = Processor::new(machine);
    load(
        &mut processor,
        &[
            m(Op::LoopI, &[], 64, 1),
            mem(Op::LdP, 1, 0, Mode::Offset(0)),
            stop(),
        ],
    );
    processor.launch(0, 0).unwrap();
    let apart = Descriptor::load(Target::Section(0), 0, 0x1000, 16).level(64, 32, 16);
    processor.submit(apart, 1).unwrap();
    // Granules in cycles 33, 133, ...; loads from cycle 43 to 106 and no further: none in between.
    assert_eq!(processor.run_until(Ticks(u64::MAX)), Notice::KernelStopped);
    assert_eq!(cause(&processor, Cause::MemoryPort), 0);
    processor.launch(0, 0).unwrap();
    // Again from about cycle 152 to 216: none, then to 325: the granule of cycle 233 is out, of 333 not yet.
    assert_eq!(processor.run_until(Ticks(u64::MAX)), Notice::KernelStopped);
    assert_eq!(cause(&processor, Cause::MemoryPort), 0);
    processor.launch(0, 0).unwrap();
    assert_eq!(processor.run_until(Ticks(u64::MAX)), Notice::KernelStopped);
    assert!(cause(&processor, Cause::MemoryPort) <= 1);
}

#[test]
fn a_one_port_machine_keeps_no_list_of_granules() {
    // 2^26 granules: announced at once they would take a gigabyte.
    let machine = changed("vm7", |m| m.cp2.dmem_ports = 1);
    let mut processor = Processor::new(machine);
    let huge = Descriptor::store(Target::Section(0), 0, 0, 1 << 16).level(1 << 14, 1 << 16, 0);
    processor.submit(huge, 1).unwrap();
    assert!(serde_json::to_string(&processor).unwrap().len() < 2_000_000);
}
