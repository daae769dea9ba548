//! Tests of a transfer that the library does not have: a list of runs.
//!
//! The type is defined here only. It is validated, copied, timed and watched for races like a
//! descriptor.
#![allow(clippy::unwrap_used, clippy::panic, reason = "test helpers")]

use crate::common;

use common::{m, machine, mem, stop};
use cp2_asm::isa::{Mode, Op};
use cp2_dma::{
    Descriptor, Direction, LocalMemory, Recipient, Run, Target, Transfer, copy, transfer_time,
};
use cp2_emu::{Notice, Objection, Processor, SystemRam};
use cp2_machine::{Cycles, Machine, Ticks};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

fn changed(name: &str, change: impl FnOnce(&mut Machine)) -> Arc<Machine> {
    let mut machine = Machine::builtin(name).unwrap();
    change(&mut machine);
    Arc::new(machine)
}

/// Runs (system address, local address, bytes) of one section.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct List {
    direction: Direction,
    section: u32,
    runs: Vec<(u64, u32, u64)>,
    event: Option<u32>,
}

impl Transfer for List {
    fn direction(&self) -> Direction {
        self.direction
    }

    fn event(&self) -> Option<u32> {
        self.event
    }

    fn runs(&self, _machine: &Machine) -> impl Iterator<Item = Run> {
        self.runs.iter().map(|&(system, local, bytes)| Run {
            system,
            local,
            bytes,
            to: Recipient::Section(self.section),
        })
    }
}

fn list(direction: Direction, runs: &[(u64, u32, u64)]) -> List {
    List {
        direction,
        section: 2,
        runs: runs.to_vec(),
        event: Some(3),
    }
}

/// Transfer of either kind, so that the processor's queue takes both.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
enum Either {
    Strided(Descriptor),
    Listed(List),
}

impl Transfer for Either {
    fn direction(&self) -> Direction {
        match self {
            Self::Strided(d) => d.direction,
            Self::Listed(list) => list.direction,
        }
    }

    fn event(&self) -> Option<u32> {
        match self {
            Self::Strided(d) => d.event,
            Self::Listed(list) => list.event,
        }
    }

    fn runs(&self, machine: &Machine) -> impl Iterator<Item = Run> {
        let (strided, listed) = match self {
            Self::Strided(d) => (Some(d.runs(machine)), None),
            Self::Listed(list) => (None, Some(list.runs(machine))),
        };
        strided
            .into_iter()
            .flatten()
            .chain(listed.into_iter().flatten())
    }
}

/// Runs to the end of the transfer or of the kernel.
fn next(processor: &mut Processor<Either>) -> Notice<Either> {
    processor.run_until(Ticks(1 << 40))
}

#[test]
fn a_list_is_refused_as_a_descriptor_would_be() {
    let vm7 = machine("vm7");
    let mut processor = Processor::<List>::for_transfers(vm7);
    let mut refused = |direction, runs: &[(u64, u32, u64)]| {
        let result = processor.submit(list(direction, runs), 0);
        result.map_err(|e| e.to_string()).unwrap_err()
    };
    let said = refused(Direction::Load, &[(0, 0, 16), (0x1004, 16, 16)]);
    assert_eq!(
        said,
        "DMA system address of run 1 is 4100: it must be a multiple of the DMA granule, 16 bytes"
    );
    let said = refused(Direction::Store, &[(0, 0, 16), (16, 65_536, 16)]);
    assert_eq!(
        said,
        "DMA local address of run 1 is 65536: it must keep the transfer inside DMEM, 65536 bytes"
    );
    let said = refused(Direction::Load, &[(0, 0, 40_000), (0, 0, 40_000)]);
    assert!(
        said.contains("length of run 1 is 40000: it must not move more than DMEM holds"),
        "{said}"
    );
    let said = refused(Direction::Load, &[(1 << 30, 0, 16)]);
    assert!(said.contains("inside system memory"), "{said}");
    let said = refused(Direction::Load, &[(0, 0, 0)]);
    assert!(said.contains("must be at least 16"), "{said}");
    assert_eq!(processor.now(), Ticks(0));
}

proptest! {
    /// Memories and times after a list are what its runs say, on a restored processor too.
    #[test]
    fn a_list_moves_and_takes_what_its_runs_say(
        runs in prop::collection::vec((0u64..500, 1u64..6), 1..12), store: bool, gap in 0u64..4,
    ) {
        let machine = changed("vm7", |m| m.dma.run = Cycles(gap));
        let mut at = 0u32;
        let mut all = Vec::new();
        for (system, words) in runs {
            all.push((16 * system, at, 16 * words));
            at += 16 * words as u32 + 32;
        }
        let direction = if store { Direction::Store } else { Direction::Load };
        let mut processor = Processor::<List>::for_transfers(machine.clone());
        let bytes: Vec<u8> = (0..1u32 << 14).map(|i| ((i * 37) >> 3) as u8).collect();
        processor.memory_mut().write(0, &bytes).unwrap();
        let other: Vec<u8> = bytes.iter().map(|b| b ^ 0x5a).collect();
        processor.poke_dmem(2, 0, &other).unwrap();
        processor.submit(list(direction, &all), 7).unwrap();
        let saved = serde_json::to_string(&processor).unwrap();
        let done = processor.run_until(Ticks(1 << 40));
        let mut restored: Processor<List> = serde_json::from_str(&saved).unwrap();
        prop_assert_eq!(&restored.run_until(Ticks(1 << 40)), &done);
        prop_assert_eq!(restored.core(), processor.core());
        prop_assert_eq!(restored.memory(), processor.memory());
        // A granule takes one cycle, and a gap precedes each run that does not continue the last
        // one.
        let words: u64 = all.iter().map(|run| run.2 / 16).sum();
        let gaps = all.windows(2).filter(|w| w[0].0 + w[0].2 != w[1].0).count() as u64;
        let base = machine.time_base();
        let cycles = machine.dma.setup_idle.0 + words + gaps * gap;
        prop_assert_eq!(processor.now(), base.cycles(Cycles(cycles)));
        let (mut system, mut local) = (bytes, other);
        for &(from, to, len) in &all {
            let (system, local) = (from as usize..(from + len) as usize, to as usize..to as usize + len as usize)
                .map_both(&mut system, &mut local);
            match store {
                true => system.copy_from_slice(local),
                false => local.copy_from_slice(system),
            }
        }
        let mut seen = vec![0; 1 << 14];
        processor.memory().read(0, &mut seen).unwrap();
        prop_assert_eq!(&seen, &system);
        processor.core().read_dmem(2, 0, &mut seen).unwrap();
        prop_assert_eq!(&seen, &local);
    }

    /// The runs of a descriptor, written as a list, give equal results, on machines with one port
    /// too, where every granule has its time.
    #[test]
    fn a_descriptor_written_as_a_list_is_the_same(
        rows in 1u32..6, stride in 0i64..5, words in 1u64..4, store: bool, one_port: bool,
    ) {
        let machine = changed("vm9", |m| m.cp2.dmem_ports = if one_port { 1 } else { 2 });
        let d = match store {
            true => Descriptor::store(Target::Section(2), 0x400, 0x100, 16 * words),
            false => Descriptor::load(Target::Section(2), 0x400, 0x100, 16 * words),
        };
        let d = d.level(rows, 16 * (words as i64 + stride), 48).event(3);
        let runs: Vec<_> = d.runs(&machine).map(|run| (run.system, run.local, run.bytes)).collect();
        let listed = List { direction: d.direction, section: 2, runs, event: Some(3) };
        prop_assert_eq!(transfer_time(&d, &machine), transfer_time(&listed, &machine));
        let run = |transfer: Either| {
            let mut processor = loaded(&machine);
            processor.submit(transfer, 1).unwrap();
            processor.launch(0, 0x100).unwrap();
            let mut ends = Vec::new();
            for _ in 0..2 {
                next(&mut processor);
                ends.push(processor.now());
            }
            let found: Vec<_> = processor.findings().iter().map(|f| (f.pc, f.cycle, f.count, f.objection)).collect();
            let mut local = vec![0; 1024];
            processor.core().read_dmem(2, 0, &mut local).unwrap();
            (ends, found, local, processor.counters().causes)
        };
        prop_assert_eq!(run(Either::Strided(d)), run(Either::Listed(listed)));
    }
}

trait Both {
    /// Returns a part of each of two arrays.
    fn map_both<'a>(self, a: &'a mut [u8], b: &'a mut [u8]) -> (&'a mut [u8], &'a mut [u8]);
}

impl Both for (std::ops::Range<usize>, std::ops::Range<usize>) {
    fn map_both<'a>(self, a: &'a mut [u8], b: &'a mut [u8]) -> (&'a mut [u8], &'a mut [u8]) {
        (&mut a[self.0], &mut b[self.1])
    }
}

/// Returns a processor with a kernel that loads 64 times from an address that a transfer may write,
/// then stops.
fn loaded(machine: &Arc<Machine>) -> Processor<Either> {
    let words = [
        m(Op::LoopI, &[], 64, 1),
        mem(Op::LdP, 1, 15, Mode::Offset(8)),
        stop(),
    ];
    let mut bytes: Vec<u8> = words
        .iter()
        .flat_map(|w| w.encode().to_le_bytes())
        .collect();
    bytes.resize(bytes.len().next_multiple_of(16), 0);
    let mut processor = Processor::for_transfers(machine.clone()).with_checks();
    for section in 0..4 {
        processor.poke_dmem(section, 0, &[1; 1024]).unwrap();
    }
    processor.memory_mut().write(0x10_0000, &bytes).unwrap();
    let program = Descriptor::load(Target::Program, 0x10_0000, 0, bytes.len() as u64);
    processor.submit(Either::Strided(program), 0).unwrap();
    assert!(matches!(next(&mut processor), Notice::TransferDone(_)));
    processor
}

#[test]
fn races_with_a_list_are_found_and_those_beside_it_are_not() {
    let race = |local| {
        let mut processor = loaded(&machine("vm7"));
        let runs = [(0x400, 0x300, 64), (0x800, local, 1024), (0x400, 0x340, 16)];
        let load = list(Direction::Load, &runs);
        processor.submit(Either::Listed(load), 9).unwrap();
        processor.launch(0, 0x100).unwrap();
        while next(&mut processor) != Notice::KernelStopped {}
        let kinds = processor.findings().iter().map(|f| f.objection);
        kinds.collect::<Vec<_>>()
    };
    assert_eq!(race(0x400), []);
    let race = race(0x100);
    assert!(
        matches!(
            race[..],
            [Objection::Race {
                section: 2,
                address: 0x108,
                write: false,
                tag: 9,
                direction: Direction::Load
            }]
        ),
        "{race:?}"
    );
}

/// Shared memory keeps the stores of a list apart, as it does any store.
#[test]
fn stores_of_a_list_are_kept_apart() {
    let vm7 = machine("vm7");
    let base = Arc::new(SystemRam::new(1 << 20));
    let mut apart = SystemRam::sharing(base, Default::default());
    let mut local = Filled;
    let runs = [(0x80, 0, 16), (0x90, 64, 16), (0x10, 32, 32)];
    copy(&list(Direction::Store, &runs), &vm7, &mut local, &mut apart).unwrap();
    let mut seen = [9; 0xa0];
    apart.read(0, &mut seen).unwrap();
    assert_eq!(seen, [0; 0xa0]);
    let stores = apart.end_sharing().unwrap().stores;
    let mut memory = SystemRam::new(1 << 20);
    memory.carry_out(&[&stores]).unwrap();
    memory.read(0, &mut seen).unwrap();
    for (system, local, bytes) in runs {
        let at = system as usize;
        assert!(
            seen[at..at + bytes as usize]
                .iter()
                .all(|&b| b == local as u8 + 1)
        );
    }
}

/// DMEM that is read as runs of one value: the run's first address plus one.
struct Filled;

impl LocalMemory for Filled {
    fn read(&self, _: u32, address: u32, out: &mut [u8]) -> Result<(), cp2_dma::AccessError> {
        out.fill(address as u8 + 1);
        Ok(())
    }

    fn write(&mut self, _: u32, _: u32, _: &[u8]) -> Result<(), cp2_dma::AccessError> {
        Ok(())
    }

    fn write_program(&mut self, _: u32, _: &[u8]) -> Result<(), cp2_dma::AccessError> {
        Ok(())
    }
}
