//! Tests of instructions that a machine file defines.
#![allow(clippy::panic, clippy::unwrap_used, reason = "helpers of tests")]

use crate::common;

use common::{a, load, m, machine, mem, set, stop};
use cp2_asm::isa::{Isa, Mode, Op, Scalar, Word};
use cp2_emu::{Cause, Engine, Notice, Processor, Work};
use cp2_machine::{Class, Machine, RowForm, Ticks};
use proptest::prelude::*;
use proptest::sample::select;
use std::fmt;
use std::sync::Arc;

/// Bits of the only NaN that arithmetic returns.
const NAN: u32 = 0x7fc0_0000;

/// An expression on lanes, with a meaning of its own here.
#[derive(Clone, Debug)]
enum Tree {
    Constant(f32),
    /// Operand (0 is `a`), and its lane.
    Lane(usize, Place),
    Unary(&'static str, Box<Tree>),
    Binary(&'static str, Box<Tree>, Box<Tree>),
    /// `select(flt(a, b), c, d)`.
    Choice(Box<[Tree; 4]>),
}

#[derive(Clone, Copy, Debug)]
enum Place {
    Own,
    Xor(usize),
    Fixed(usize),
}

impl fmt::Display for Tree {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(value) => write!(f, "{value:?}"),
            Self::Lane(operand, place) => {
                let name = ["a", "b", "c"][*operand];
                match place {
                    Place::Own => write!(f, "{name}[i]"),
                    Place::Xor(with) => write!(f, "{name}[i^{with}]"),
                    Place::Fixed(lane) => write!(f, "{name}[{lane}]"),
                }
            }
            Self::Unary(name, x) => write!(f, "{name}({x})"),
            Self::Binary(name, x, y) => write!(f, "{name}({x}, {y})"),
            Self::Choice(all) => {
                let [a, b, c, d] = &**all;
                write!(f, "select(flt({a}, {b}), {c}, {d})")
            }
        }
    }
}

/// Returns the bits of a result of arithmetic.
fn bits(value: f32) -> u32 {
    if value.is_nan() { NAN } else { value.to_bits() }
}

/// Returns the smaller or the larger of two numbers, by the manual's words: -0 is below +0, NaN wins.
fn extreme(x: f32, y: f32, larger: bool) -> u32 {
    if x.is_nan() || y.is_nan() {
        return NAN;
    }
    let order =
        (x, u8::from(x.is_sign_positive())).partial_cmp(&(y, u8::from(y.is_sign_positive())));
    let first_is_larger = order == Some(std::cmp::Ordering::Greater);
    bits(if first_is_larger == larger { x } else { y })
}

/// Returns the integer toward zero, by comparisons.
fn integer(x: f32) -> u32 {
    if x.is_nan() {
        0
    } else if x >= 2_147_483_648.0 {
        i32::MAX as u32
    } else if x <= -2_147_483_648.0 {
        i32::MIN as u32
    } else {
        (f64::from(x).trunc() as i64) as u32
    }
}

impl Tree {
    /// Returns the value of a lane, from the operands' lanes.
    fn value(&self, own: usize, lanes: &[Vec<u32>]) -> u32 {
        let of = |tree: &Self| tree.value(own, lanes);
        let float = |tree: &Self| f32::from_bits(of(tree));
        match self {
            Self::Constant(value) => value.to_bits(),
            Self::Lane(operand, place) => {
                lanes[*operand][match place {
                    Place::Own => own,
                    Place::Xor(with) => own ^ with,
                    Place::Fixed(lane) => *lane,
                }]
            }
            Self::Unary(name, x) => match *name {
                "fneg" => of(x) ^ 0x8000_0000,
                "fabs" => of(x) & 0x7fff_ffff,
                "not" => u32::MAX - of(x),
                "ftoi" => integer(float(x)),
                name => panic!("{name}"),
            },
            Self::Binary(name, x, y) => match *name {
                "fadd" => bits(float(x) + float(y)),
                "fsub" => bits(float(x) - float(y)),
                "fmul" => bits(float(x) * float(y)),
                "fmin" => extreme(float(x), float(y), false),
                "fmax" => extreme(float(x), float(y), true),
                "and" => of(x) & of(y),
                "xor" => (of(x) | of(y)) - (of(x) & of(y)),
                "iadd" => ((u64::from(of(x)) + u64::from(of(y))) % (1 << 32)) as u32,
                name => panic!("{name}"),
            },
            Self::Choice(all) => {
                let [a, b, c, d] = &**all;
                if float(a) < float(b) { of(c) } else { of(d) }
            }
        }
    }
}

fn tree(operands: usize, lanes: usize) -> impl Strategy<Value = Tree> {
    let place = prop_oneof![
        3 => Just(Place::Own),
        1 => (0..lanes).prop_map(Place::Xor),
        1 => (0..lanes).prop_map(Place::Fixed),
    ];
    let lane = (0..operands, place).prop_map(|(operand, place)| Tree::Lane(operand, place));
    let constant = select(vec![0.25f32, -2.0, 1e-40, 3.4e38, -0.0, 1.5]).prop_map(Tree::Constant);
    prop_oneof![4 => lane, 1 => constant].prop_recursive(3, 10, 4, |inner| {
        let bits = inner.clone();
        let unary = select(vec!["fneg", "fabs", "not"]);
        let binary = select(vec!["fadd", "fsub", "fmul", "fmin", "fmax", "and", "xor"]);
        prop_oneof![
            2 => (unary, inner.clone()).prop_map(|(name, x)| Tree::Unary(name, Box::new(x))),
            6 => (binary, inner.clone(), inner.clone())
                .prop_map(|(name, x, y)| Tree::Binary(name, Box::new(x), Box::new(y))),
            1 => prop::array::uniform4(inner).prop_map(|all| Tree::Choice(Box::new(all))),
            // A constant must be of the primitive's kind.
            1 => bits.prop_map(|x| {
                let x = match x {
                    Tree::Constant(_) => Tree::Lane(0, Place::Own),
                    x => x,
                };
                let whole = Box::new(Tree::Unary("ftoi", Box::new(x)));
                Tree::Binary("iadd", whole.clone(), whole)
            }),
        ]
    })
}

/// A row, and what it computes: a tree for each result and lane.
#[derive(Clone, Debug)]
struct Drawn {
    form: RowForm,
    text: String,
    results: Vec<Vec<Tree>>,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    (select(RowForm::ALL.to_vec()), any::<bool>()).prop_flat_map(|(form, each)| {
        let operands = form.operands().len() - form.results();
        let count = form.results() * if each { form.lanes() } else { 1 };
        let trees = prop::collection::vec(tree(operands, form.lanes()), count);
        trees.prop_map(move |trees| {
            let (mut text, mut results) = (String::new(), Vec::new());
            for (at, trees) in trees.chunks(count / form.results()).enumerate() {
                let name = form.operands()[at];
                // Every operand is used, by bits that are thrown away.
                let keep = |tree: &Tree| {
                    let operands = 0..form.operands().len() - form.results();
                    operands.fold(tree.clone(), |tree, operand| {
                        let lane = Box::new(Tree::Lane(operand, Place::Own));
                        let none = Tree::Binary("xor", lane.clone(), lane);
                        Tree::Binary("xor", Box::new(tree), Box::new(none))
                    })
                };
                let trees: Vec<Tree> = trees.iter().map(keep).collect();
                for (lane, tree) in trees.iter().enumerate() {
                    let lane = if each {
                        lane.to_string()
                    } else {
                        "i".to_owned()
                    };
                    text += &format!("{name}[{lane}] = {tree};\n");
                }
                let of = |lane: usize| trees[if each { lane } else { 0 }].clone();
                results.push((0..form.lanes()).map(of).collect());
            }
            Drawn {
                form,
                text,
                results,
            }
        })
    })
}

/// Returns vm7 with a row of any size, or none if the row is too long.
fn machine_with(form: RowForm, lanes: &str) -> Option<Arc<Machine>> {
    let text = format!(
        "base = \"vm7\"\n[[row]]\nmnemonic = \"mine\"\nform = \"{form}\"\nclass = \"butterfly\"\nopcode = 9\n\
         latency = 7\nmultipliers = 64\nadders = 64\nlanes = \"\"\"\n{lanes}\"\"\"\n"
    );
    match Machine::parse("mine.toml", &text) {
        Ok(machine) => Some(Arc::new(machine)),
        Err(e) if e.to_string().contains("has more than 64") => None,
        Err(e) => panic!("{text}\n{e}"),
    }
}

fn op(machine: &Machine) -> Op {
    Op::User(machine.cp2.rows[0])
}

fn launched(machine: &Arc<Machine>, engine: Engine, words: &[Word], dmem: &[u8]) -> Processor {
    let mut processor = Processor::new(machine.clone()).with_engine(engine);
    load(&mut processor, words);
    for section in 0..machine.cp2.sections {
        let rotated: Vec<u8> = (0..dmem.len())
            .map(|i| dmem[(i + 4 * section) % dmem.len()])
            .collect();
        processor.poke_dmem(section, 0, &rotated).unwrap();
    }
    processor.launch(0, 0).unwrap();
    processor
}

/// Loads eight quads, the operands, from DMEM.
fn loads() -> Vec<Word> {
    let load = |q: u8| mem(Op::LdQ, q, 0, Mode::Offset(16 * i32::from(q)));
    let mut words = vec![set(Scalar::address(0), 0)];
    words.extend((0..8).map(load));
    words
}

/// A number that arithmetic finds nasty, or any.
fn nasty() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        any::<f32>().prop_map(f32::to_bits),
        select(vec![
            0,
            0x8000_0000,
            0x7f80_0000,
            0xff80_0000,
            0x7fa0_1234,
            0xffc0_0001,
            1,
            0x3f80_0000
        ]),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Random rows on nasty numbers give what their expressions say, on every engine, also in a loop in which
    /// results become operands; all engines agree in their whole state.
    #[test]
    fn rows_compute_what_they_say(
        row in drawn(),
        values in prop::collection::vec(nasty(), 32),
        sections in select(vec![4usize, 4, 3]),
        // Registers in units of the operands; results and operands may be the same.
        registers in prop::array::uniform4(0u8..8),
        times in 1i32..60,
    ) {
        let Some(machine) = machine_with(row.form, &row.text) else {
            return Ok(());
        };
        let mut machine = Machine::clone(&machine);
        machine.cp2.sections = sections;
        let machine = Arc::new(machine);
        let mut registers = registers;
        if row.form.results() == 2 && registers[0] == registers[1] {
            registers[1] ^= 1;
        }
        let word = a(op(&machine), &registers[..row.form.operands().len()], 0);
        prop_assert_eq!(Isa::of(&machine).decode(word.encode()), Ok(word));
        let dmem: Vec<u8> = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        let mut words = loads();
        words.extend([word, stop()]);
        let width = row.form.lanes();
        for engine in [Engine::Reference, Engine::Portable, Engine::Fast] {
            let mut processor = launched(&machine, engine, &words, &dmem);
            prop_assert_eq!(processor.run_until(Ticks(u64::MAX)), Notice::KernelStopped);
            for section in 0..sections {
                let file = |i: usize| values[(i + section) % values.len()];
                let read = |operand: usize| -> Vec<u32> {
                    (0..width).map(|lane| file(usize::from(registers[operand]) * width + lane)).collect()
                };
                let operands: Vec<_> = (row.form.results()..row.form.operands().len()).map(read).collect();
                for (result, trees) in row.results.iter().enumerate() {
                    for (lane, tree) in trees.iter().enumerate() {
                        let at = usize::from(registers[result]) * width + lane;
                        let found = processor.core().register(section, at / 2, at % 2);
                        let expected = tree.value(lane, &operands);
                        prop_assert_eq!(found, Some(expected), "{} lane {} of section {}", row.text, lane, section);
                    }
                }
            }
        }
        // The loop: the word itself, and beside a load, a store and an emitted operation.
        let mut words = loads();
        let pair = common::both(word, mem(Op::LdP, 60, 0, Mode::Offset(8)));
        let store = common::both(word, mem(Op::StQ, 2, 0, Mode::Offset(256)));
        words.extend([m(Op::LoopI, &[], times, 4), word, pair, a(Op::AddP, &[3, 2, 60], 0), store, stop()]);
        let run = |engine| {
            let mut processor = launched(&machine, engine, &words, &dmem);
            let notice = processor.run_until(Ticks(u64::MAX));
            (processor, notice)
        };
        let (reference, notice) = run(Engine::Reference);
        prop_assert_eq!(notice, Notice::KernelStopped);
        for engine in [Engine::Portable, Engine::Avx2, Engine::Fast] {
            let (other, notice) = run(engine);
            prop_assert_eq!(&notice, &Notice::KernelStopped);
            prop_assert!(other == reference, "{:?}: {}", engine, row.text);
        }
    }
}

const SMOOTH: &str = "l = fadd(a[1], b[1]); r = fadd(b[0], c[0]);\
    d[0] = fadd(fmul(l, 0.25), fmul(b[0], 0.5)); d[1] = fadd(fmul(r, 0.25), fmul(b[1], 0.5));";

/// Adds and multiplies of the expression are the work, in operations of the class and in flops; the word behind
/// waits for the latency of the row.
#[test]
fn work_and_time_are_those_of_the_row() {
    let machine = machine_with(RowForm::P4, SMOOTH).unwrap();
    let word = a(op(&machine), &[8, 0, 1, 2], 0);
    let work = Work::count_issue(&word, 4);
    // 4 multiplies and 4 adds, in four sections.
    assert_eq!((work.flops, work.operations[Class::Butterfly]), (4 * 8, 1));
    for engine in [Engine::Reference, Engine::Fast] {
        let words = [loads(), vec![word, a(Op::MovP, &[9, 8], 0), stop()]].concat();
        let mut processor = launched(&machine, engine, &words, &[0; 128]);
        assert_eq!(processor.run_until(Ticks(u64::MAX)), Notice::KernelStopped);
        let counters = processor.counters();
        assert_eq!(counters.work.flops, 4 * 8);
        assert_eq!(counters.causes.get(Cause::Operand(Class::Butterfly)), 7 - 1);
    }
}

/// A machine without the row faults, and so does one where its opcode is another row's that has fewer operands.
#[test]
fn words_are_decoded_by_the_machine_that_runs_them() {
    let with = machine_with(RowForm::P4, SMOOTH).unwrap();
    let word = a(op(&with), &[8, 0, 1, 2], 0);
    let other = machine_with(RowForm::P2, "d[i] = a[i^1];").unwrap();
    for (machine, message) in [
        (machine("vm7"), "no instruction has opcode 15.9"),
        (other, "reserved bits"),
    ] {
        for engine in [Engine::Reference, Engine::Fast] {
            let mut processor = launched(&machine, engine, &[word, stop()], &[0; 16]);
            let Notice::Fault(fault) = processor.run_until(Ticks(u64::MAX)) else {
                panic!("no fault");
            };
            assert!(fault.kind.to_string().contains(message), "{fault:?}");
        }
    }
}

/// A loop whose first word has a row beside is found by the engines.
#[test]
fn a_row_may_stand_beside_the_beginning_of_a_loop() {
    let machine = machine_with(RowForm::P2, "d[i] = fadd(a[i], 1.0);").unwrap();
    let add = a(op(&machine), &[0, 0], 0);
    let begin = common::both(add, m(Op::LoopI, &[], 50, 2));
    let words = [begin, add, a(Op::MovP, &[1, 0], 0), stop()];
    let run = |engine| {
        let mut processor = launched(&machine, engine, &words, &[0; 16]);
        assert_eq!(processor.run_until(Ticks(u64::MAX)), Notice::KernelStopped);
        processor
    };
    let reference = run(Engine::Reference);
    assert_eq!(reference.core().register(0, 1, 0), Some(51f32.to_bits()));
    assert!(run(Engine::Portable) == reference && run(Engine::Fast) == reference);
}
