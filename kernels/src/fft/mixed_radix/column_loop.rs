//! Loops over columns, and how their pointers step through a block.

use super::assembly_text::AssemblyText;
use super::radix_constants::RadixConstant;
use super::radix_operands::RadixOperands;
use crate::pipeline::{BlockBody, BlockWriter, BodyPointer, PointerDeclaration};

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

/// A pointer of a loop: where it begins and how it steps.
#[derive(Debug)]
struct PointerStream {
    pointer: BodyPointer,
    base: PointerBase,
    walk: PointerWalk,
    /// Bytes from the start of the modulo range to the pointer's start.
    inside: i64,
}

/// A loop over the columns of a block.
#[derive(Debug, Default)]
pub(super) struct ColumnLoop {
    pub(super) body: BlockBody,
    streams: Vec<PointerStream>,
    /// True if the arithmetic is issued in the order given.
    in_order: bool,
    /// The loop may use the pair registers below this one even if words before it name them.
    free: u8,
}

impl ColumnLoop {
    /// Makes a loop whose arithmetic is issued in the order given.
    pub(super) fn in_order() -> Self {
        Self {
            in_order: true,
            ..Self::default()
        }
    }

    /// Makes a loop that may use the pair registers below `first`, and the address registers of loops, even if words
    /// before it name them.
    pub(super) fn with_free_registers(first: u8) -> Self {
        Self {
            free: first,
            ..Self::default()
        }
    }

    /// Declares constants.
    pub(super) fn constants(&mut self, constants: Vec<RadixConstant>) -> RadixOperands {
        RadixOperands::declare(constants, &mut self.body)
    }

    /// Adds a pointer, whose modulo range, if any, begins at its start.
    pub(super) fn stream(&mut self, base: PointerBase, walk: PointerWalk) -> BodyPointer {
        self.stream_inside(base, walk, 0)
    }

    /// Adds a pointer that begins `inside` bytes behind the start of its modulo range.
    pub(super) fn stream_inside(
        &mut self,
        base: PointerBase,
        walk: PointerWalk,
        inside: i64,
    ) -> BodyPointer {
        let pointer = self.body.pointer();
        self.streams.push(PointerStream {
            pointer,
            base,
            walk,
            inside,
        });
        pointer
    }

    /// Writes the loop as a linear block with so many iterations, and its tables; `name` is unique.
    pub(super) fn write(self, text: &mut AssemblyText, iterations: usize, name: &str) {
        let mut block = BlockWriter::default();
        let pointers: Vec<PointerDeclaration> = self
            .streams
            .iter()
            .enumerate()
            .map(|(number, stream)| self.declare(text, (number, stream), name))
            .collect();
        if self.in_order {
            block.declare(".order");
        }
        if pointers.len() > 1 {
            // A store depends on all that its iteration loads from its place, and other iterations have other places.
            let names: Vec<&str> = pointers.iter().map(|own| own.name.as_str()).collect();
            block.declare(&format!(".apart {}", names.join(", ")));
        }
        if self.free > 0 {
            block.declare(&format!(".rept {}, n", self.free / 2));
            block.declare(".free q{n}");
            block.declare(".endr");
            block.declare(&format!(".free {FREE_ADDRESSES}"));
        }
        self.body.write(&pointers, &mut block);
        let (name, iterations) = (format!("columns{name}"), iterations as u64);
        text.block(&block.text(&name, iterations), &name, iterations);
    }

    /// Makes the declaration of a pointer, and its table of steps if it has one.
    fn declare(
        &self,
        text: &mut AssemblyText,
        (number, stream): (usize, &PointerStream),
        name: &str,
    ) -> PointerDeclaration {
        let round = match stream.walk {
            PointerWalk::Bytes(_) | PointerWalk::Table(_, None) => None,
            PointerWalk::Modulo(_, length) | PointerWalk::Table(_, Some(length)) => Some(length),
        };
        let step = match &stream.walk {
            PointerWalk::Bytes(bytes) | PointerWalk::Modulo(bytes, _) => bytes.to_string(),
            PointerWalk::Table(steps, _) => {
                let label = text.steps(&format!("steps{number}_{name}"), steps);
                format!("table {label} round {}", 8 * steps.len())
            }
        };
        // A range begins at the register or label itself: accesses add what lies between.
        let (base, start, own) = match &stream.base {
            PointerBase::Register(register, offset) => {
                let own = if self.body.loads(stream.pointer) {
                    format!("in{number}")
                } else {
                    format!("out{number}")
                };
                (format!("a{register}"), *offset, own)
            }
            PointerBase::Table(label) => (label.clone(), 0, format!("{label}_{number}")),
        };
        let (first, offset) = match round {
            None => (start, 0),
            Some(_) => (stream.inside, start - stream.inside),
        };
        let first = match first {
            0 => String::new(),
            bytes if bytes < 0 => format!(" - {}", bytes.unsigned_abs()),
            bytes => format!(" + {bytes}"),
        };
        let round = round.map_or_else(String::new, |length| format!(" round {length}"));
        PointerDeclaration {
            name: own,
            walk: format!("{base}{first} by {step}{round}"),
            offset,
        }
    }
}

/// Address registers that loops use where other words name them too.
const FREE_ADDRESSES: &str = "a0, a1, a2, a3, a12, a13, a14";
