//! Tests emitted code against the semantics, word by word.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod columns;

use super::CodeFrame;
use super::code_form::CodeForm;
use super::compile;
use crate::core::decoded::{Decoded, decode};
use crate::core::execute;
use crate::core::simd::Simd;
use crate::core::{Core, Guest};
use crate::engines::blocks::portable::{self, WordCall};
use crate::processor::observer::Unobserved;
use crate::semantics::action::Action;
use cp2_asm::isa::{AddressOperand, Inst, Mode, Op, Scalar, Slot, Word};
use cp2_asm::testing::{any_extension_inst, any_inst_on, any_operands};
use cp2_machine::{Extensions, Machine};
use proptest::prop_oneof;
use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use proptest::test_runner::TestRunner;

/// Pseudo-random bits (xorshift), equal in every run.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as u32
    }

    fn draw_below(&mut self, n: u32) -> u32 {
        self.next() % n
    }

    /// Returns bits that are often special: NaN, infinities, zeros, subnormals.
    fn bits(&mut self) -> u32 {
        const SPECIAL: [u32; 16] = [
            0,
            1 << 31,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0000,
            0xffc0_0000,
            0x7f80_0001,
            0xffab_cdef,
            1,
            0x8000_0001,
            0x007f_ffff,
            0x3f80_0000,
            0xbf80_0000,
            0x4f00_0000,
            0x7f7f_ffff,
            31,
        ];
        match self.draw_below(4) {
            0 => SPECIAL[self.draw_below(16) as usize],
            1 => self.next(),
            // Moderate numbers, and differences that cancel.
            2 => ((self.draw_below(64) as f32 - 32.0) / 4.0).to_bits(),
            _ => (self.next() as i32 as f32 * 1e-8).to_bits(),
        }
    }
}

fn sample<T: std::fmt::Debug>(strategy: &BoxedStrategy<T>, runner: &mut TestRunner) -> T {
    strategy.new_tree(runner).unwrap().current()
}

/// Returns a core with random registers and DMEM, its address registers well inside DMEM.
fn core(machine: &Machine, random: &mut Random) -> Core {
    let mut core = Core::new(machine);
    for section in 0..4 {
        for register in 0..64 {
            for lane in 0..2 {
                *core.lane_mut(section, register, lane) = random.bits();
            }
        }
        let bytes: Vec<u8> = (0..0x4000)
            .flat_map(|_| random.bits().to_le_bytes())
            .collect();
        core.write_dmem(section, 0, &bytes).unwrap();
    }
    for i in 0..64 {
        let value = match i {
            0..16 => 0x4000 + 16 * random.draw_below(0x100),
            16..24 => 8 * random.draw_below(12),
            24..32 => (16 * random.draw_below(16)).wrapping_sub(128),
            48..56 => core
                .scalar(Scalar(i - 48))
                .wrapping_sub(16 * random.draw_below(4)),
            56..64 => 16 * random.draw_below(16),
            _ => random.next(),
        };
        core.set_scalar(Scalar(i), value);
    }
    core
}

/// Passes that loops are compiled for: so many that code which runs once does not count.
const MANY: u64 = 1000;

/// Runs `words` one after the other `passes` times; returns how many completed.
fn reference(core: &mut Core, machine: &Machine, words: &[Decoded], passes: u64) -> u64 {
    let mut done = 0;
    for _ in 0..passes {
        for word in words {
            core.pc = 0;
            if execute::word(core, machine, word, 0, &mut Unobserved).is_err() {
                return done;
            }
            done += 1;
        }
    }
    done
}

/// Outcome of a block's test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    /// No code was made.
    Refused,
    Ran,
    /// The code stopped before a word that does not fault. This is allowed where an address
    /// register itself points outside DMEM.
    GaveUp,
}

/// Does what [`check`] does; a block that fails is first shortened as long as it still fails.
fn compare(
    form: CodeForm,
    machine: &Machine,
    words: &[Word],
    start: &Core,
    passes: u64,
    looping: bool,
) -> Outcome {
    use std::panic::{AssertUnwindSafe, catch_unwind};
    let fails = |words: &[Word]| {
        catch_unwind(AssertUnwindSafe(|| {
            check(form, machine, words, start, passes, looping)
        }))
        .is_err()
    };
    if let Ok(compiled) = catch_unwind(AssertUnwindSafe(|| {
        check(form, machine, words, start, passes, looping)
    })) {
        return compiled;
    }
    let mut words = words.to_vec();
    let mut i = 0;
    while i < words.len() {
        let mut fewer = words.clone();
        fewer.remove(i);
        if !fewer.is_empty() && fails(&fewer) {
            words = fewer;
        } else {
            i += 1;
        }
    }
    for i in 0..words.len() {
        for slot in 0..2 {
            let mut simpler = words.clone();
            if slot == 0 {
                simpler[i].arith = Word::NOP.arith;
            } else {
                simpler[i].mem = Word::NOP.mem;
            }
            if fails(&simpler) {
                words = simpler;
            }
        }
    }
    check(form, machine, &words, start, passes, looping)
}

/// Compares the code with the reference on the same initial state.
fn check(
    form: CodeForm,
    machine: &Machine,
    words: &[Word],
    start: &Core,
    passes: u64,
    looping: bool,
) -> Outcome {
    let decoded: Vec<Decoded> = words
        .iter()
        .map(|word| decode(word.encode(), machine).unwrap())
        .collect();
    let text = || {
        let show = |i: &Inst| format!("{:?} {:?} {} {:?}", i.op, i.r, i.imm, i.place);
        let lines = words
            .iter()
            .map(|w| format!("  {} || {}\n", show(&w.arith), show(&w.mem)));
        format!(
            "{form:?} passes {passes} looping {looping}\n{}",
            lines.collect::<String>()
        )
    };
    let dmem_bytes = machine.cp2.dmem.0 as u32;
    let mut hot = start.clone();
    let scalars = hot.guest().unwrap().registers.scalars.clone();
    let Some(code) = compile(&decoded, looping, dmem_bytes, Some(&scalars), &[form], MANY) else {
        return Outcome::Refused;
    };
    let mut frame = CodeFrame::default();
    let steps: Vec<WordCall> = decoded
        .iter()
        .map(|word| WordCall::new(word, 0, 0))
        .collect();
    let mut word =
        |i: usize, guest: &mut Guest<'_>| portable::run_words_once(&steps[i..=i], guest) == 1;
    let mut done = code.run(&mut hot.guest().unwrap(), &mut frame, passes, &mut word);
    if done == 0 && code.assumes {
        assert!(hot == *start, "changed something without running");
        let code = compile(&decoded, looping, dmem_bytes, None, &[form], MANY).unwrap();
        done = code.run(&mut hot.guest().unwrap(), &mut frame, passes, &mut word);
    }
    let mut cold = start.clone();
    let all = passes * words.len() as u64;
    assert!(done <= all);
    let completed = reference(&mut cold, machine, &decoded, passes);
    assert!(done <= completed, "ran beyond a fault");
    if done < completed {
        cold = start.clone();
        let (whole, rest) = (done / words.len() as u64, done as usize % words.len());
        reference(&mut cold, machine, &decoded, whole);
        reference(&mut cold, machine, &decoded[..rest], 1);
    }
    hot.pc = cold.pc;
    for section in 0..4 {
        for register in 0..64 {
            for lane in 0..2 {
                let (h, c) = (
                    hot.lane(section, register, lane),
                    cold.lane(section, register, lane),
                );
                assert_eq!(
                    h,
                    c,
                    "section {section} r{register} lane {lane}: {h:#x}, expected {c:#x}, after {done}: {}",
                    text()
                );
            }
        }
    }
    for i in 0..64 {
        assert_eq!(
            hot.scalar(Scalar(i)),
            cold.scalar(Scalar(i)),
            "scalar {i}: {}",
            text()
        );
    }
    assert!(hot == cold, "DMEM differs: {}", text());
    if done < all && completed == all {
        Outcome::GaveUp
    } else {
        Outcome::Ran
    }
}

/// Returns the forms that this host can run.
fn forms() -> Vec<CodeForm> {
    match Simd::best() {
        Simd::None => Vec::new(),
        Simd::Avx2 => vec![CodeForm::Avx2],
        Simd::Avx512 => vec![CodeForm::Wide, CodeForm::Narrow, CodeForm::Avx2],
    }
}

/// Returns vm7 with all extensions: the code of every row is tested, whether or not a built-in
/// machine has the row.
fn vm7() -> Machine {
    let mut machine = Machine::builtin("vm7").unwrap();
    machine.cp2.extensions = cp2_machine::Extensions::all();
    machine
}

/// Tests every arithmetic row, in blocks of several on few registers, so that operations are paired
/// and depend on each other, straight and in a loop.
#[test]
fn every_arithmetic_row_equals_the_semantics() {
    for form in forms() {
        arithmetic_row(form);
    }
}

fn arithmetic_row(form: CodeForm) {
    let machine = vm7();
    let (mut runner, mut random) = (TestRunner::deterministic(), Random(0x9e37_79b9_7f4a_7c15));
    let mut start = core(&machine, &mut random);
    let rows = Op::ALL.iter().filter(|op| op.row().slot() == Slot::Arith);
    for &op in rows {
        let mut compiled = 0;
        let strategy = any_operands(op);
        for round in 0..60 {
            if round % 12 == 0 {
                start = core(&machine, &mut random);
            }
            let few = [64, 16, 8][round % 3];
            let words: Vec<Word> = (0..3 + round % 6)
                .map(|_| {
                    let mut arith = sample(&strategy, &mut runner);
                    narrow(&mut arith, few);
                    Word { arith, ..Word::NOP }
                })
                .filter(|word| word.written_twice().is_none())
                .collect();
            if words.len() < 3 {
                continue;
            }
            let looping = round % 2 == 1;
            let passes = if looping {
                1 + u64::from(random.draw_below(4))
            } else {
                1
            };
            let outcome = compare(form, &machine, &words, &start, passes, looping);
            compiled += usize::from(outcome == Outcome::Ran);
        }
        let elementary = matches!(op, Op::Rsqrt | Op::Exp2 | Op::Log2 | Op::Sin | Op::Cos);
        let emitted = !elementary && op.row().requires.is_empty();
        assert_eq!(compiled > 40, emitted, "{op:?}: {compiled} blocks compiled");
    }
}

/// Restricts the section registers of an operation to the first `few` pairs.
fn narrow(inst: &mut Inst, few: u8) {
    use cp2_asm::isa::Kind;
    let mut n = 0;
    for operand in inst.row().form.operands() {
        match operand.kind {
            Kind::Pair => inst.r[n] %= few,
            Kind::Quad => inst.r[n] %= few / 2,
            _ => {}
        }
        n += usize::from(operand.kind.is_register());
    }
}

/// Makes a memory operation access memory inside DMEM most of the time.
fn tame(inst: &mut Inst, random: &mut Random) {
    if random.draw_below(200) == 0 {
        return;
    }
    let pointer = inst.r[0] < 16 || (48..64).contains(&inst.r[0]);
    match inst.op {
        Op::LdX | Op::LdX2 => inst.r[0] = 32 + inst.r[0] % 14,
        Op::LdP | Op::LdQ | Op::LdDup | Op::StP | Op::StQ => {}
        // Scalar operations leave the pointers unchanged most of the time.
        _ if pointer && random.draw_below(10) != 0 => *inst = Inst::new(Op::MemNop),
        _ => return,
    }
    let unit = 16;
    let AddressOperand::Shared(address) = &mut inst.place else {
        return;
    };
    address.base %= 8;
    address.mode = match address.mode {
        Mode::Step(s) | Mode::Reverse(s) if random.draw_below(2) == 0 => Mode::Modulo(s % 8),
        Mode::Offset(_) => Mode::Offset(unit * (random.draw_below(64) as i32 - 32)),
        Mode::Post(_) => Mode::Post(unit * (random.draw_below(8) as i32 - 4)),
        other => other,
    };
    if matches!(inst.op, Op::LdP | Op::StP | Op::LdDup)
        && random.draw_below(2) == 0
        && let Mode::Offset(offset) = &mut address.mode
    {
        *offset += 8;
    }
}

#[test]
fn random_blocks_equal_the_reference() {
    for form in forms() {
        random_blocks(form);
    }
}

fn random_blocks(form: CodeForm) {
    let machine = vm7();
    let (mut runner, mut random) = (TestRunner::deterministic(), Random(0x0123_4567_89ab_cdef));
    // Emitted code ends at rows of extensions: a block of many words should meet few of them.
    let mostly_base = |slot| {
        prop_oneof![
            40 => any_inst_on(slot, Extensions::empty()),
            1 => any_extension_inst(slot),
        ]
        .boxed()
    };
    let (arith, mem) = (mostly_base(Slot::Arith), mostly_base(Slot::Mem));
    let (mut compiled, mut start) = (0, core(&machine, &mut random));
    let rounds = 800;
    for round in 0..rounds {
        if round % 20 == 0 {
            start = core(&machine, &mut random);
        }
        let few = [64, 24, 12][round % 3];
        let mut words = Vec::new();
        while words.len() < 1 + round % 50 {
            let mut word = Word {
                arith: sample(&arith, &mut runner),
                mem: sample(&mem, &mut runner),
            };
            narrow(&mut word.arith, few);
            narrow(&mut word.mem, few);
            tame(&mut word.mem, &mut random);
            let decoded = decode(word.encode(), &machine);
            let control = |d: &Decoded| matches!(d.action, Action::Control(_));
            if word.written_twice().is_none() && decoded.is_ok_and(|d| !control(&d)) {
                words.push(word);
            }
        }
        let looping = round % 2 == 1;
        let passes = if looping {
            1 + u64::from(random.draw_below(6))
        } else {
            1
        };
        let outcome = compare(form, &machine, &words, &start, passes, looping);
        compiled += usize::from(outcome == Outcome::Ran);
    }
    assert!(
        compiled * 10 > rounds * 8,
        "{compiled} of {rounds} blocks compiled"
    );
}
