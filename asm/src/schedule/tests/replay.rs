//! Compares the words of a loop with the operations of its iterations.
//!
//! Numbers stand for terms: of an operation and its operands, of what memory and registers held at first. Words are
//! carried out as the machine does: both slots read before either writes.

use super::super::dataflow::{DataOperand, Dataflow, PointerStep};
use super::super::placement::ModuloSchedule;
use crate::isa::Word;
use crate::issue::{Scoreboard, WordTiming};
use crate::{Options, Source, assemble};
use cp2_machine::Machine;
use std::collections::BTreeMap;

/// Returns the number of a term: of its name and its parts.
fn term(name: &str, parts: &[u64]) -> u64 {
    let bytes = name.bytes().map(u64::from).chain(parts.iter().copied());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, part| {
        (hash ^ part)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29)
            ^ part
    })
}

/// The state that a loop leaves: memory by pair, and registers that it writes itself.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    memory: BTreeMap<(u8, i64), u64>,
    fixed: BTreeMap<u8, u64>,
    /// Pairs of the values that are kept.
    kept: Vec<u64>,
}

/// Memory of each address register by the number of the pair, filled with symbols.
#[derive(Default)]
struct Memory(BTreeMap<(u8, i64), u64>);

impl Memory {
    fn read(&self, register: u8, place: i64) -> u64 {
        let first = term("memory", &[u64::from(register), place as u64]);
        self.0.get(&(register, place)).copied().unwrap_or(first)
    }
}

/// Returns the place of an access of an iteration in units of a pair. Steps that are not a number of bytes lead
/// to places that no other iteration goes to.
fn place(step: PointerStep, iteration: i64, offset: i64) -> i64 {
    let bytes = match step {
        PointerStep::Bytes(n) => n,
        _ => 1 << 20,
    };
    (iteration * bytes + offset) / 8
}

/// Returns the register that holds pair `half` of a value before the first iteration: of the iteration `before`
/// before it.
fn early(value: usize, before: i64, half: u64) -> u64 {
    term("early", &[value as u64, before as u64, half])
}

/// Carries out the operations of all iterations one after the other.
pub(super) fn define(body: &Dataflow, iterations: i64) -> Outcome {
    let mut values: BTreeMap<(usize, i64), [u64; 2]> = BTreeMap::new();
    let mut fixed: BTreeMap<u8, u64> = BTreeMap::new();
    let mut memory = Memory::default();
    for iteration in 0..iterations {
        for op in &body.ops {
            let mut parts = Vec::new();
            for (operand, distance) in op.reads() {
                let of = iteration - i64::from(distance);
                let pairs = |value: usize| {
                    let found = values.get(&(value, of)).copied();
                    found.unwrap_or([0, 1].map(|half| early(value, -of, half)))
                };
                let register = |r: u8| fixed.get(&r).copied().unwrap_or(term("r", &[u64::from(r)]));
                match operand {
                    DataOperand::Whole(v) if body.quads[v.0] => parts.extend(pairs(v.0)),
                    DataOperand::Whole(v) | DataOperand::Lo(v) => parts.push(pairs(v.0)[0]),
                    DataOperand::Hi(v) => parts.push(pairs(v.0)[1]),
                    DataOperand::Pair(r) => parts.push(register(r)),
                    DataOperand::Scalar(s) => parts.push(register(64 + s)),
                    DataOperand::Quad(q) => parts.extend([register(2 * q), register(2 * q + 1)]),
                }
            }
            let mut results = Vec::new();
            if let Some(access) = op.access {
                let (register, step) = body.pointers[access.pointer];
                let first = place(step, iteration, access.offset);
                if op.defs.is_empty() {
                    for (pair, part) in (0..).zip(parts) {
                        memory.0.insert((register, first + pair), part);
                    }
                    continue;
                }
                results.extend((0..2).map(|pair| memory.read(register, first + pair)));
            } else {
                let all = term(op.name, &parts);
                results.extend((0..4).map(|pair| term("result", &[all, pair])));
            }
            let mut results = results.into_iter();
            for &def in &op.defs {
                let mut result = || results.next().unwrap();
                let mut set = |value: usize, half: usize, result| {
                    values.entry((value, iteration)).or_default()[half] = result;
                };
                match def {
                    DataOperand::Whole(v) if body.quads[v.0] => {
                        set(v.0, 0, result());
                        set(v.0, 1, result());
                    }
                    DataOperand::Whole(v) | DataOperand::Lo(v) => set(v.0, 0, result()),
                    DataOperand::Hi(v) => set(v.0, 1, result()),
                    DataOperand::Pair(r) => _ = fixed.insert(r, result()),
                    DataOperand::Scalar(s) => _ = fixed.insert(64 + s, result()),
                    DataOperand::Quad(q) => {
                        fixed.insert(2 * q, result());
                        fixed.insert(2 * q + 1, result());
                    }
                }
            }
        }
    }
    let kept = body.outputs.iter().flat_map(|value| {
        let pairs = values[&(value.0, iterations - 1)];
        pairs[..1 + usize::from(body.quads[value.0])].to_vec()
    });
    Outcome {
        kept: kept.collect(),
        memory: memory.0,
        fixed,
    }
}

/// Returns the words of a text one after the other, those of loops as often as they are carried out.
pub(super) fn unroll(text: &str) -> Vec<&str> {
    let (mut words, mut turns, mut looped) = (Vec::new(), None, Vec::new());
    for line in text.lines().map(str::trim) {
        if let Some(count) = line.strip_prefix("loop ") {
            turns = count
                .strip_suffix(" {")
                .map(|count| count.parse::<usize>().unwrap());
        } else if line == "}" {
            let once = std::mem::take(&mut looped);
            words.extend(once.repeat(turns.take().unwrap()));
        } else if turns.is_some() {
            looped.push(line);
        } else {
            words.push(line);
        }
    }
    words
}

/// The state of the machine, in symbols.
struct State<'a> {
    schedule: &'a ModuloSchedule,
    registers: Vec<u64>,
    memory: Memory,
    /// Steps that each address register has made.
    stepped: BTreeMap<u8, i64>,
    /// Place in its table of the step that each step register holds.
    steps: BTreeMap<u8, i64>,
}

impl State<'_> {
    /// Returns the pair registers of an operand of a word, if it is one.
    fn pairs(operand: &str) -> Option<std::ops::Range<u8>> {
        let (kind, number) = operand.split_at_checked(1)?;
        let number: u8 = number.parse().ok()?;
        match kind {
            "r" => Some(number..number + 1),
            "q" => Some(2 * number..2 * number + 2),
            _ => None,
        }
    }

    /// Returns the address register and the place of an address, and makes its step.
    fn address(&mut self, address: &str) -> (u8, i64) {
        let (inside, step) = address.strip_prefix("[a").unwrap().split_once(']').unwrap();
        let (register, offset) = match inside.split_once(' ') {
            None => (inside, 0),
            Some((register, offset)) => (register, offset.replace(' ', "").parse().unwrap()),
        };
        let register: u8 = register.parse().unwrap();
        let body = &self.schedule.body;
        let number = body
            .pointers
            .iter()
            .position(|&(own, _)| own == register)
            .unwrap();
        let bias = body.ops[self.schedule.last[number]].access.unwrap().offset;
        let passed = self.stepped.entry(register).or_default();
        let (kind, before) = (body.pointers[number].1, *passed);
        if !step.is_empty() {
            *passed += 1;
            if let PointerStep::Table { step, .. } = kind {
                assert_eq!(
                    self.steps.get(&step),
                    Some(&before),
                    "the step of a{register}"
                );
            }
        }
        (register, place(kind, before, offset + bias))
    }

    /// Carries out a word.
    fn carry_out(&mut self, word: &str) {
        let before = self.registers.clone();
        let mut stores = Vec::new();
        for operation in word.split(" || ").filter(|&operation| operation != "nop") {
            let (name, operands) = operation.split_once(' ').unwrap();
            let operands: Vec<&str> = operands.split(", ").collect();
            if name == "ldx" {
                let step: u8 = operands[0][1..].parse().unwrap();
                let next = self.steps.get(&step).map_or(0, |last| last + 1);
                self.steps.insert(step, next);
                continue;
            }
            let results = match name {
                "stq" | "stp" => 0,
                "bfly" | "bflyn" => 2,
                _ => 1,
            };
            let (defs, uses) = operands.split_at(results);
            let parts = uses
                .iter()
                .filter_map(|operand| Self::pairs(operand))
                .flatten();
            let parts: Vec<u64> = parts.map(|r| before[usize::from(r)]).collect();
            let access = operands.iter().find(|operand| operand.starts_with('['));
            let access = access.map(|address| self.address(address));
            let found = |pair: u64| match access {
                Some((register, first)) => self.memory.read(register, first + pair as i64),
                None => term("result", &[term(name, &parts), pair]),
            };
            let found: Vec<u64> = (0..4).map(found).collect();
            let pairs = defs
                .iter()
                .filter_map(|operand| Self::pairs(operand))
                .flatten();
            for (r, result) in pairs.zip(found) {
                self.registers[usize::from(r)] = result;
            }
            if let (0, Some((register, first))) = (results, access) {
                stores.extend(
                    (0..)
                        .zip(parts)
                        .map(|(pair, part)| ((register, first + pair), part)),
                );
            }
        }
        self.memory.0.extend(stores);
    }
}

/// Carries out the words of a schedule's text.
pub(super) fn replay(schedule: &ModuloSchedule, iterations: i64) -> Outcome {
    let body = &schedule.body;
    let mut state = State {
        schedule,
        registers: (0..64).map(|r| term("r", &[r])).collect(),
        memory: Memory::default(),
        stepped: BTreeMap::new(),
        steps: BTreeMap::new(),
    };
    let register = |value: usize, iteration: i64| {
        let copy = iteration.rem_euclid(i64::from(schedule.registers.unroll));
        usize::from(schedule.registers.base[value][copy as usize])
    };
    for (operand, distance) in body.ops.iter().flat_map(|op| op.reads()) {
        let value = operand.value().map(|(value, _)| value.0);
        for before in 1..=i64::from(distance) {
            let value = value.unwrap();
            let first = register(value, -before);
            for half in 0..1 + usize::from(body.quads[value]) {
                state.registers[first + half] = early(value, before, half as u64);
            }
        }
    }
    let text = schedule.emit(iterations as u64).text();
    for word in unroll(&text) {
        state.carry_out(word);
    }
    let fixed = body.ops.iter().flat_map(|op| &op.defs);
    let fixed = fixed.flat_map(|&def| super::super::check::pairs_of(def));
    let fixed = fixed
        .map(|r| (r, state.registers[usize::from(r)]))
        .collect();
    let kept = body.outputs.iter().flat_map(|value| {
        let first = register(value.0, iterations - 1);
        state.registers[first..=first + usize::from(body.quads[value.0])].to_vec()
    });
    Outcome {
        kept: kept.collect(),
        memory: state.memory.0,
        fixed,
    }
}

/// Asserts that no word of a schedule's text waits, by the issue rule.
pub(super) fn assert_no_wait(schedule: &ModuloSchedule, machine: &Machine, iterations: u64) {
    let made = schedule.emit(iterations);
    assert_eq!(schedule.count_cycles(iterations), made.cycles);
    let made_text = made.text();
    let words = unroll(&made_text);
    let text = format!(".program\n{}\nstop\n", words.join("\n"));
    let options = Options {
        machine: Some(machine),
        ..Options::default()
    };
    let assembly = assemble(&Source::new("test.s", text), &options);
    let assembly = assembly.unwrap_or_else(|error| panic!("{error}\n{}", made.text()));
    let mut board = Scoreboard::default();
    for (now, (&word, line)) in assembly.program.words.iter().zip(&words).enumerate() {
        let timing = WordTiming::new(&Word::decode(word).unwrap(), &machine.cp2);
        let (at, wait) = board.earliest(&timing, now as u64);
        assert_eq!(at, now as u64, "{line}: {wait:?}\n{}", made.text());
        board.issue(&timing, at);
    }
}
