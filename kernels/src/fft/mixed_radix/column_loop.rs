//! Loops over columns, and how their pointers step through a block.

use super::assembly_text::{AssemblyText, ConstantRegisters};
use cp2_asm::schedule::{DataPointer, Dataflow, PointerSetup, PointerStep, Unschedulable};
use cp2_machine::Machine;

/// Bytes of a complex number.
pub(super) const COMPLEX: i64 = 8;
/// Bytes of a quad: a number of each of two transforms.
pub(super) const QUAD: i64 = 16;

/// Step of a pointer from an iteration to the next.
#[derive(Clone, Debug)]
pub(super) enum PointerWalk {
    /// A constant step in bytes.
    Bytes(i64),
    /// A step in bytes, modulo a length.
    Modulo(i64, i64),
    /// A circular table of steps, and the length of their modulo range, if any.
    Table(Vec<i64>, Option<i64>),
}

impl PointerWalk {
    /// Returns the walk through consecutive transforms of `n` numbers: pair after pair, `at_once` of them in
    /// an iteration, then `step` bytes on.
    pub(super) fn step_consecutive(n: usize, (pairs, at_once): (usize, usize), step: i64) -> Self {
        let pair = QUAD * n as i64;
        if pairs == at_once {
            return Self::Bytes(step);
        }
        Self::Modulo(pair * at_once as i64, pair * pairs as i64 - step)
    }

    /// Returns the walk through data that all pairs share: `pairs` iterations in one place, then `step` bytes
    /// on.
    pub(super) fn step_shared(pairs: usize, step: i64, round: Option<i64>) -> Self {
        match (pairs, round) {
            (1, None) => Self::Bytes(step),
            (1, Some(round)) => Self::Modulo(step, round),
            _ => Self::Table(Self::periodic_steps(pairs, 0, step), round),
        }
    }

    /// Returns the walk through quads of interleaved pairs: pair after pair, `at_once` of them in an
    /// iteration, then from the first pair of a number to that of the number `numbers` further on.
    pub(super) fn step_interleaved((pairs, at_once): (usize, usize), numbers: i64) -> Self {
        let near = QUAD * at_once as i64;
        let far = near + QUAD * pairs as i64 * (numbers - 1);
        if pairs == at_once || numbers == 1 {
            return Self::Bytes(far);
        }
        Self::Table(Self::periodic_steps(pairs / at_once, near, far), None)
    }

    /// Lists the steps of a period: `step`, and `other` as the last.
    pub(super) fn periodic_steps(period: usize, step: i64, other: i64) -> Vec<i64> {
        (1..=period)
            .map(|i| if i == period { other } else { step })
            .collect()
    }
}

/// Start address of a pointer.
#[derive(Clone, Debug)]
pub(super) enum PointerBase {
    /// An offset in bytes from an address register.
    Register(u8, i64),
    /// A table, by its label.
    Table(String),
}

#[derive(Debug)]
struct PointerStream {
    pointer: DataPointer,
    register: u8,
    base: PointerBase,
    walk: PointerWalk,
    /// Step register.
    step: u8,
    /// Address register of the table of steps.
    table: u8,
    /// Bytes from the start of the modulo range to the pointer's start.
    inside: i64,
}

/// A loop over the columns of a block.
#[derive(Debug)]
pub(super) struct ColumnLoop {
    pub(super) body: Dataflow,
    streams: Vec<PointerStream>,
    /// Free address registers that have a modulo range.
    modulo: Vec<u8>,
    /// Free address registers without a modulo range.
    plain: Vec<u8>,
}

impl ColumnLoop {
    pub(super) fn new() -> Self {
        Self {
            body: Dataflow::default(),
            streams: Vec::new(),
            // Registers are taken from the end.
            modulo: (0..8).rev().collect(),
            plain: vec![14, 13, 12],
        }
    }

    /// Makes a loop whose arithmetic is issued in the order given.
    pub(super) fn in_order() -> Self {
        Self {
            body: Dataflow::in_order(),
            ..Self::new()
        }
    }

    /// Adds a pointer, whose modulo range, if any, begins at its start.
    pub(super) fn stream(&mut self, base: PointerBase, walk: PointerWalk) -> DataPointer {
        self.stream_inside(base, walk, 0)
    }

    /// Adds a pointer that begins `inside` bytes behind the start of its modulo range.
    pub(super) fn stream_inside(
        &mut self,
        base: PointerBase,
        walk: PointerWalk,
        inside: i64,
    ) -> DataPointer {
        // More pointers than registers are a bug, which the assembler finds: there is no register of that
        // number.
        let mut take = |modulo: bool| {
            let plain = if modulo { None } else { self.plain.pop() };
            plain.or_else(|| self.modulo.pop()).unwrap_or(u8::MAX)
        };
        let (register, table) = match &walk {
            PointerWalk::Bytes(_) => (take(false), u8::MAX),
            PointerWalk::Modulo(..) => (take(true), u8::MAX),
            PointerWalk::Table(_, round) => (take(round.is_some()), take(true)),
        };
        let step = self.streams.len() as u8;
        let pointer = self.body.pointer(
            register,
            match &walk {
                PointerWalk::Bytes(n) => PointerStep::Bytes(*n),
                PointerWalk::Modulo(..) => PointerStep::Modulo(step),
                PointerWalk::Table(_, round) => PointerStep::Table {
                    step,
                    table,
                    by: AssemblyText::EIGHT,
                    modulo: round.is_some(),
                },
            },
        );
        self.streams.push(PointerStream {
            pointer,
            register,
            base,
            walk,
            step,
            table,
            inside,
        });
        pointer
    }

    /// Schedules the loop and writes its words and tables; `name` is unique.
    pub(super) fn write(
        self,
        text: &mut AssemblyText,
        machine: &Machine,
        constants: &ConstantRegisters,
        iterations: usize,
        name: &str,
    ) -> Result<(), Unschedulable> {
        let schedule = self.body.schedule(machine, constants.first)?;
        let mut setups = Vec::new();
        for stream in &self.streams {
            let (a, bias) = (stream.register, schedule.bias(stream.pointer));
            let words = text.capture_words(|text| {
                match &stream.base {
                    PointerBase::Register(from, offset) => text.address(a, *from, offset + bias),
                    PointerBase::Table(label) => text.word(&format!("movi a{a}, {label} + {bias}")),
                }
                if let PointerWalk::Modulo(_, length) | PointerWalk::Table(_, Some(length)) =
                    stream.walk
                {
                    text.circular(a, stream.inside, length);
                }
                match &stream.walk {
                    PointerWalk::Bytes(_) => {}
                    PointerWalk::Modulo(bytes, _) => {
                        text.word(&format!("movi s{}, {bytes}", stream.step))
                    }
                    PointerWalk::Table(steps, _) => {
                        text.steps(stream.table, &format!("steps{}_{name}", stream.step), steps);
                    }
                }
            });
            setups.push(PointerSetup {
                words,
                registers: vec![a, stream.table],
            });
        }
        let iterations = iterations as u64;
        text.operations.add(&self.body, iterations, machine);
        let made = schedule.emit(iterations).set_up(setups);
        text.words += &made.text();
        text.cycles += made.cycles;
        Ok(())
    }
}
