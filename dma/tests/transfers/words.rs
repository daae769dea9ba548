//! Transpositions and interleavings by descriptors with runs of a word.
#![allow(clippy::unwrap_used, reason = "test helpers")]

use crate::common::Memories;
use cp2_dma::{Descriptor, Target, copy, transfer_time, validate};
use cp2_machine::{Bytes, Cycles, Machine};

fn machine(name: &str) -> Machine {
    let mut machine = Machine::load(name).unwrap();
    machine.host.memory = Bytes(1 << 20);
    machine
}

/// Returns the cycles of a transfer without its set-up.
fn cycles(d: &Descriptor, machine: &Machine) -> u64 {
    let Cycles(cycles) = machine
        .time_base()
        .ceil_cycles(transfer_time(d, machine).body);
    cycles
}

fn word(bytes: &[u8], index: usize) -> &[u8] {
    &bytes[4 * index..][..4]
}

/// Rows of 33 words become columns of 31: runs of a word, whose places in DMEM are a row of the result apart.
#[test]
fn a_descriptor_transposes() {
    let vm7 = machine("vm7+dma.granule=4B");
    let (rows, columns) = (31, 33);
    let transpose = |target| {
        let word = Descriptor::load(target, 0x400, 0, 4);
        word.level(columns, 4, 4 * i64::from(rows))
            .level(rows, 4 * i64::from(columns), 4)
    };
    let d = transpose(Target::Section(1));
    assert!(validate(&d, &machine("vm7")).is_err());
    let mut memories = Memories::filled(&vm7);
    copy(&d, &vm7, &mut memories.local, &mut memories.system).unwrap();
    let (source, result) = (&memories.system.0[0x400..], &memories.local.dmem[1]);
    for row in 0..rows as usize {
        for column in 0..columns as usize {
            let from = row * columns as usize + column;
            assert_eq!(
                word(result, column * rows as usize + row),
                word(source, from)
            );
        }
    }
    // All words are one contiguous range of 256 beats, and each has a line of DMEM of its own.
    assert_eq!(cycles(&d, &vm7), 31 * 33);
    assert_eq!(cycles(&d, &machine("vm7+dma.granule=4B+dma.lines=4")), 256);
    // A matrix for each section: its lines are written while those of the others are, one behind another.
    let all = transpose(Target::Blocks { stride: 4092 });
    assert_eq!(cycles(&all, &vm7), 31 * 33);
}

/// Deals give each section a column of four: a beat is a line of each of them, so that nothing waits.
#[test]
fn a_deal_of_words_transposes_at_full_rate() {
    let vm7 = machine("vm7+dma.granule=4B+dma.deal=4B");
    let d = Descriptor::load(Target::Deal, 0, 0, 4 * 1024);
    let mut memories = Memories::filled(&vm7);
    copy(&d, &vm7, &mut memories.local, &mut memories.system).unwrap();
    for (section, dmem) in memories.local.dmem.iter().enumerate() {
        for i in 0..256 {
            assert_eq!(word(dmem, i), word(&memories.system.0, 4 * i + section));
        }
    }
    assert_eq!(cycles(&d, &vm7), 256);
}

/// Two arrays become pairs, and back: a descriptor for each array, with runs of a word and gaps of one.
#[test]
fn descriptors_interleave() {
    let vm9 = machine("vm9+dma.granule=4B");
    let n = 500;
    let array = |at, local| Descriptor::load(Target::Section(0), at, local, 4).level(n, 4, 8);
    let mut memories = Memories::filled(&vm9);
    for (at, local) in [(0x1000, 0), (0x3004, 4)] {
        let d = array(at, local);
        copy(&d, &vm9, &mut memories.local, &mut memories.system).unwrap();
        // Two words of an array land in a line: the lines of DMEM take twice as long as 125 or 126 beats.
        assert_eq!(cycles(&d, &vm9), 250);
    }
    let (system, pairs) = (&memories.system.0, &memories.local.dmem[0]);
    for i in 0..n as usize {
        assert_eq!(word(pairs, 2 * i), word(&system[0x1000..], i));
        assert_eq!(word(pairs, 2 * i + 1), word(&system[0x3004..], i));
    }
}
