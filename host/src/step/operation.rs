//! The operations of a step, and the words of system memory they access.

use crate::device::MemoryElement;
use cp2_emu::{OutOfMemory, SystemRam};
use serde::{Deserialize, Serialize};

/// Number that an operation of a step gave, by the operation's position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StepScalar(pub(super) u32);

/// Number format of a word in system memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum WordKind {
    /// A float of 4 bytes; stored numbers are rounded to the nearest, ties to even.
    Float32,
    /// A float of 8 bytes.
    Float64,
    /// An unsigned integer of 4 bytes; stored numbers are truncated towards 0 and saturated, and NaN gives 0.
    Uint32,
}

impl WordKind {
    pub(super) fn bytes(self) -> u64 {
        match self {
            Self::Float32 | Self::Uint32 => 4,
            Self::Float64 => 8,
        }
    }

    fn read(self, memory: &SystemRam, address: u64) -> Result<f64, OutOfMemory> {
        let mut bytes = [0; 8];
        let all = self.bytes() as usize;
        memory.read(address, &mut bytes[..all])?;
        Ok(match self {
            Self::Float32 => f32::get(&bytes).into(),
            Self::Float64 => f64::get(&bytes),
            Self::Uint32 => u32::get(&bytes).into(),
        })
    }

    fn write(self, memory: &mut SystemRam, address: u64, number: f64) -> Result<(), OutOfMemory> {
        let mut bytes = [0; 8];
        // Every NaN is stored as the one that kernels produce.
        match self {
            Self::Float32 if number.is_nan() => f32::from_bits(0x7fc0_0000).put(&mut bytes),
            Self::Float64 if number.is_nan() => f64::from_bits(0x7ff8 << 48).put(&mut bytes),
            Self::Float32 => (number as f32).put(&mut bytes),
            Self::Float64 => number.put(&mut bytes),
            Self::Uint32 => (number as u32).put(&mut bytes),
        }
        memory.write(address, &bytes[..self.bytes() as usize])
    }
}

/// A type that a step reads and writes.
pub trait StepNumber: MemoryElement {
    /// Format of its words.
    const WORD: WordKind;
}

impl StepNumber for f32 {
    const WORD: WordKind = WordKind::Float32;
}
impl StepNumber for f64 {
    const WORD: WordKind = WordKind::Float64;
}
impl StepNumber for u32 {
    const WORD: WordKind = WordKind::Uint32;
}

/// An operation on one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnaryOperation {
    /// The negative.
    Negate,
    /// The magnitude.
    Magnitude,
    /// The square root.
    SquareRoot,
    /// The largest whole number that is not larger.
    Floor,
}

/// An operation on two numbers a and b.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BinaryOperation {
    /// a + b.
    Add,
    /// a - b.
    Subtract,
    /// a b.
    Multiply,
    /// a / b.
    Divide,
    /// b if b < a, else a.
    Least,
    /// b if b > a, else a.
    Largest,
    /// 1 if a < b, else 0.
    Less,
    /// 1 if a and b are not 0, else 0.
    Both,
    /// 1 if a or b is not 0, else 0.
    Either,
}

/// Operation of a step. Each gives a number that later ones can use; a store gives the number that it stores.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Operation {
    /// Gives a constant.
    Constant {
        /// Bits of the constant as an f64.
        bits: u64,
    },
    /// Loads a word of system memory.
    Load {
        /// Format of the word.
        word: WordKind,
        /// Byte address of the word.
        address: u64,
    },
    /// An operation on a number.
    Unary {
        /// Operation.
        operation: UnaryOperation,
        /// Operand.
        of: StepScalar,
    },
    /// An operation on two numbers.
    Binary {
        /// Operation.
        operation: BinaryOperation,
        /// Operands a and b.
        of: [StepScalar; 2],
    },
    /// Selects one of two numbers.
    Select {
        /// Condition: the first number is selected unless this is 0.
        by: StepScalar,
        /// Numbers to select from.
        of: [StepScalar; 2],
    },
    /// Writes a word of system memory.
    Store {
        /// Format of the word.
        word: WordKind,
        /// Byte address of the word.
        address: u64,
        /// Number to store.
        of: StepScalar,
    },
    /// Writes one of several words of system memory.
    Put {
        /// Format of the words.
        word: WordKind,
        /// Byte address of the first word.
        address: u64,
        /// Number of words.
        count: u64,
        /// Index of the word, rounded down; an index that is out of range writes nothing.
        index: StepScalar,
        /// Number to store.
        of: StepScalar,
    },
}

impl Operation {
    /// Returns the numbers that the operation uses.
    pub(super) fn uses(&self) -> impl Iterator<Item = StepScalar> {
        let of = match *self {
            Self::Constant { .. } | Self::Load { .. } => [None; 3],
            Self::Unary { of, .. } | Self::Store { of, .. } => [Some(of), None, None],
            Self::Binary { of: [a, b], .. } => [Some(a), Some(b), None],
            Self::Put { index, of, .. } => [Some(index), Some(of), None],
            Self::Select { by, of: [a, b] } => [Some(by), Some(a), Some(b)],
        };
        of.into_iter().flatten()
    }

    /// Returns the words of system memory that the operation may access, if any: their format, the address of
    /// the first, and their number.
    pub(super) fn place(&self) -> Option<(WordKind, u64, u64)> {
        match *self {
            Self::Load { word, address } | Self::Store { word, address, .. } => {
                Some((word, address, 1))
            }
            Self::Put {
                word,
                address,
                count,
                ..
            } => Some((word, address, count)),
            _ => None,
        }
    }

    /// Returns true if the operation costs `host.scalar` cycles.
    pub(super) fn computes(&self) -> bool {
        matches!(
            self,
            Self::Unary { .. } | Self::Binary { .. } | Self::Select { .. } | Self::Put { .. }
        )
    }

    /// Carries the operation out with the numbers of those before it, and returns its own.
    pub(super) fn run(&self, numbers: &[f64], memory: &mut SystemRam) -> Result<f64, OutOfMemory> {
        // A reference to a number that does not come before is refused when the step is given.
        let number = |of: StepScalar| numbers.get(of.0 as usize).copied().unwrap_or(f64::NAN);
        let truth = |is: bool| f64::from(u8::from(is));
        Ok(match *self {
            Self::Constant { bits } => f64::from_bits(bits),
            Self::Load { word, address } => word.read(memory, address)?,
            Self::Unary { operation, of } => match operation {
                UnaryOperation::Negate => -number(of),
                UnaryOperation::Magnitude => number(of).abs(),
                UnaryOperation::SquareRoot => number(of).sqrt(),
                UnaryOperation::Floor => number(of).floor(),
            },
            Self::Binary { operation, of } => {
                let [a, b] = of.map(number);
                match operation {
                    BinaryOperation::Add => a + b,
                    BinaryOperation::Subtract => a - b,
                    BinaryOperation::Multiply => a * b,
                    BinaryOperation::Divide => a / b,
                    BinaryOperation::Least if b < a => b,
                    BinaryOperation::Largest if b > a => b,
                    BinaryOperation::Least | BinaryOperation::Largest => a,
                    BinaryOperation::Less => truth(a < b),
                    BinaryOperation::Both => truth(a != 0.0 && b != 0.0),
                    BinaryOperation::Either => truth(a != 0.0 || b != 0.0),
                }
            }
            Self::Select { by, of } => {
                let [a, b] = of.map(number);
                if number(by) == 0.0 { b } else { a }
            }
            Self::Store { word, address, of } => {
                word.write(memory, address, number(of))?;
                number(of)
            }
            Self::Put {
                word,
                address,
                count,
                index,
                of,
            } => {
                let index = number(index);
                // NaN lies in no range.
                if (0.0..count as f64).contains(&index) {
                    let at = address + word.bytes() * index as u64;
                    word.write(memory, at, number(of))?;
                }
                number(of)
            }
        })
    }
}
