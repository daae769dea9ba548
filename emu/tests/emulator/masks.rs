//! Tests of masks of lanes and of votes, the extension `conditional`.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use common::{a, both, load, m, mem, set, stop};
use cp2_asm::isa::{Inst, Mode, Op, Scalar, Slot, Word};
use cp2_asm::testing::any_inst_on;
use cp2_emu::{Cause, Engine, Notice, Processor};
use cp2_machine::{Class, Extensions, Machine, Ticks};
use proptest::prelude::*;
use proptest::sample::select;
use std::sync::Arc;

/// Bytes of DMEM that a test fills, in each of four sections.
const BYTES: usize = 640;
/// DMEM address that stores go to.
const STORED: i32 = 512;

/// Loads all registers from DMEM, and runs the words behind that.
fn run(machine: &Arc<Machine>, engine: Engine, dmem: &[Vec<u8>], words: &[Word]) -> Processor {
    let first = (0..32).map(|q| mem(Op::LdQ, q, 15, Mode::Offset(16 * i32::from(q))));
    let base = set(Scalar::address(0), STORED);
    let words = first.chain([base]).chain(words.iter().copied());
    common::run_on(machine, engine, dmem, words)
}

fn word_of(bytes: &[u8], word: usize) -> u32 {
    u32::from_le_bytes(bytes[4 * word..4 * word + 4].try_into().unwrap())
}

/// Returns a strategy for what the memory slot of a word may do under a mask.
fn any_access() -> BoxedStrategy<Word> {
    let registers = (0u8..31, 0u8..62, 1i32..8);
    let rows = select(vec![
        Op::MemNop,
        Op::LdP,
        Op::LdQ,
        Op::LdDup,
        Op::LdW,
        Op::LdPU,
        Op::LdQU,
        Op::LdNextP,
        Op::LdPrevQ,
        Op::StP,
        Op::StQ,
        Op::StW,
        Op::StPU,
        Op::StQU,
        Op::RotP,
        Op::RotQ,
        Op::XchgP,
        Op::XchgQ,
    ]);
    let word = |op: Op, (quad, pair, n): (u8, u8, i32)| match op {
        Op::MemNop => stop(),
        Op::RotQ | Op::XchgQ => m(op, &[quad, quad ^ 1], n, 0),
        Op::RotP | Op::XchgP => m(op, &[pair, pair ^ 1], n, 0),
        Op::LdQ | Op::LdDup | Op::LdQU | Op::LdPrevQ | Op::StQ | Op::StQU => {
            mem(op, quad, 0, Mode::Offset(16 * n))
        }
        _ => mem(op, pair, 0, Mode::Offset(8 * n)),
    };
    (rows, registers)
        .prop_map(move |(op, registers)| match op {
            Op::MemNop => Word::NOP,
            op => word(op, registers),
        })
        .boxed()
}

/// True if the text of an operation says that its results are quads.
fn writes_quads(inst: &Inst) -> bool {
    inst.to_string()
        .split_once(' ')
        .is_some_and(|(_, rest)| rest.starts_with('q'))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_500))]

    /// A word under a mask does what it does without, but in lanes that the mask lacks nothing changes. Lane `i` of a
    /// pair and lane `i` of a quad have bit `i`.
    #[test]
    fn masked_lanes_stay_as_they_are(
        dmem in prop::collection::vec(prop::collection::vec(any::<u8>(), BYTES), 4),
        arith in any_inst_on(Slot::Arith, Extensions::all()),
        access in any_access(),
        quad in 0u8..32,
    ) {
        let word = Word { arith, ..access };
        if word.written_twice().is_some() {
            return Ok(());
        }
        let machine = Machine::load("vm7+conditional+exchange+word-addressing+double+double-single");
        let machine = Arc::new(machine.unwrap());
        let mask = m(Op::Msk, &[quad], 0, 0);
        let free = run(&machine, Engine::Reference, &dmem, &[word, stop()]);
        for engine in [Engine::Reference, Engine::Fast] {
            let masked = run(&machine, engine, &dmem, &[mask, word, stop()]);
            for (section, before) in dmem.iter().enumerate() {
                let bit = |lane: usize| word_of(before, 4 * usize::from(quad) + lane) >> 31 != 0;
                for (register, lane) in (0..64).flat_map(|r| [(r, 0), (r, 1)]) {
                    let old = word_of(before, 2 * register + lane);
                    let new = free.core().register(section, register, lane).unwrap();
                    // The register is written by the slot that names it.
                    let by_arith = word.arith.writes().iter().any(|r| usize::from(r.0) == register);
                    let quads = writes_quads(if by_arith { &word.arith } else { &word.mem });
                    let place = if quads { 2 * (register % 2) + lane } else { lane };
                    let expected = if bit(place) { new } else { old };
                    let found = masked.core().register(section, register, lane);
                    prop_assert_eq!(found, Some(expected), "section {} r{} lane {}: {}", section, register, lane, word);
                }
                let [mut left, mut right] = [vec![0; BYTES], vec![0; BYTES]];
                free.core().read_dmem(section, 0, &mut left).unwrap();
                masked.core().read_dmem(section, 0, &mut right).unwrap();
                let stores = matches!(word.mem.op, Op::StP | Op::StQ | Op::StW | Op::StPU | Op::StQU);
                let first = match word.mem.place {
                    cp2_asm::isa::AddressOperand::Shared(address) => match address.mode {
                        Mode::Offset(offset) => (STORED + offset) as usize / 4,
                        _ => 0,
                    },
                    cp2_asm::isa::AddressOperand::Own(_) => 0,
                };
                for at in 0..BYTES / 4 {
                    let kept = !stores || at.checked_sub(first).is_none_or(|lane| lane >= 4 || !bit(lane));
                    let expected = if kept { word_of(before, at) } else { word_of(&left, at) };
                    prop_assert_eq!(word_of(&right, at), expected, "section {} word {}: {}", section, at, word);
                }
            }
        }
    }

    /// Votes see the sign bits of all sections, whatever the mask.
    #[test]
    fn votes_ask_all_sections(
        lanes in prop::collection::vec(prop_oneof![4 => Just(u32::MAX), 1 => Just(1 << 31), 1 => Just(1)], 16),
        flip in any::<bool>(),
        masked in any::<bool>(),
    ) {
        let machine = Arc::new(Machine::load("vm9+conditional").unwrap());
        let lane = |i: usize| if flip { !lanes[i] } else { lanes[i] };
        let section = |s: usize| (0..4).flat_map(|i| lane(4 * s + i).to_le_bytes()).chain([0; BYTES - 16]).collect();
        let dmem: Vec<Vec<u8>> = (0..4).map(section).collect();
        let [any, all] = [Scalar::control(3), Scalar::control(4)];
        let mut words = vec![m(Op::AnyX, &[any.0, 0], 0, 0), m(Op::AllX, &[all.0, 0], 0, 0), stop()];
        if masked {
            words.insert(0, m(Op::Msk, &[1], 0, 0));
        }
        for engine in [Engine::Reference, Engine::Fast] {
            let processor = run(&machine, engine, &dmem, &words);
            let signs: Vec<bool> = (0..16).map(|i| lane(i) >= 1 << 31).collect();
            prop_assert_eq!(processor.core().scalar(any), u32::from(signs.contains(&true)));
            prop_assert_eq!(processor.core().scalar(all), u32::from(!signs.contains(&false)));
        }
    }
}

/// A mask begins behind its word and ends with `mskall`, with a mask of all lanes, and with the kernel.
#[test]
fn masks_begin_behind_their_word_and_end() {
    let machine = Arc::new(Machine::load("vm7+conditional").unwrap());
    let none = a(Op::Lii, &[0], 0);
    let all = a(Op::Lii, &[2], -1);
    let all = [all, a(Op::MovP, &[3, 2], 0)];
    let one = |r: u8| a(Op::Lii, &[r], 1);
    let mut words = vec![none, a(Op::MovP, &[1, 0], 0), all[0], all[1]];
    words.extend([
        both(one(10), m(Op::Msk, &[0], 0, 0)),
        one(11),
        both(one(12), m(Op::MskAll, &[], 0, 0)),
        one(13),
        m(Op::Msk, &[0], 0, 0),
        m(Op::Msk, &[1], 0, 0),
        one(14),
        m(Op::Msk, &[0], 0, 0),
        stop(),
    ]);
    let dmem = vec![vec![0; BYTES]; 4];
    for engine in [Engine::Reference, Engine::Fast] {
        let mut processor = run(&machine, engine, &dmem, &words);
        let find = |p: &Processor, r: usize| p.core().register(3, r, 1);
        let found = [10, 11, 12, 13, 14].map(|r| find(&processor, r));
        assert_eq!(found, [Some(1), Some(0), Some(0), Some(1), Some(1)]);
        // The next kernel begins with all lanes.
        load(&mut processor, &[one(15), stop()]);
        processor.launch(0, 0).unwrap();
        assert_eq!(processor.run_until(Ticks(u64::MAX)), Notice::KernelStopped);
        assert_eq!(find(&processor, 15), Some(1));
    }
}

#[test]
fn votes_take_the_time_of_the_class() {
    for (name, latency) in [("vm7", 2), ("vm9", 3)] {
        let machine = Arc::new(Machine::load(&format!("{name}+conditional")).unwrap());
        let x = Scalar::control(0).0;
        let words = [m(Op::AnyX, &[x, 31], 0, 0), m(Op::Bz, &[x], 0, 0), stop()];
        // Signs are set, so that the branch to the first word is not taken.
        let dmem = vec![vec![0xff; BYTES]; 4];
        for engine in [Engine::Reference, Engine::Fast] {
            let processor = run(&machine, engine, &dmem, &words);
            let causes = &processor.counters().causes;
            assert_eq!(
                causes.get(Cause::Operand(Class::Vote)),
                latency - 1,
                "{name}"
            );
        }
    }
}
